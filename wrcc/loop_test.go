package wrcc_test

import (
	"container/heap"
	"fmt"
	"math"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

// bench is a small closed loop: senders, one congested port, receivers. Packets are events; the port
// is a byte counter that drains at its rate.
type bench struct {
	params  wrcc.Params
	sp      wrcc.SenderParams
	rate    float64 // of the port, bit/s
	port    wrcc.PortState
	flows   []flow
	events  events
	order   int64
	now     quantity.Picoseconds
	queue   float64 // bytes
	drained quantity.Picoseconds
	bytes   float64
	rttSum  uint64
	packets uint32
	maxQ    float64
	gate    *wrcc.Gate
	fcnps   int
	silent  bool // switches send no FCNPs
}

type flow struct {
	wrcc.Sender
	rtt       quantity.Picoseconds
	receiver  uint16 // data centre
	seq       int64
	delivered float64
	stop      quantity.Picoseconds
}

type event struct {
	at   quantity.Picoseconds
	ord  int64
	kind int
	flow int
	seq  int64
	h    wrcc.Header
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].ord < e[j].ord
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	o := *e
	x := o[len(o)-1]
	*e = o[:len(o)-1]
	return x
}

const (
	evSend = iota
	evArrive
	evLeave
	evAck
	evFCNP
	evPeriod
)

// Bytes of a packet, and the sum of the pause thresholds of the ports that feed the congested one.
const (
	packetBytes = 1048
	qMax        = 2_000_000
)

func (b *bench) push(e event) {
	b.order++
	e.ord = b.order
	heap.Push(&b.events, e)
}

func (b *bench) drain() {
	b.queue = max(0, b.queue-(b.now-b.drained).Seconds()*b.rate/8)
	b.drained = b.now
}

func (b *bench) run(until quantity.Picoseconds) {
	for len(b.events) > 0 && b.events[0].at <= until {
		e := heap.Pop(&b.events).(event)
		b.now = e.at
		b.handle(e)
	}
	b.now = until
}

func (b *bench) handle(e event) {
	if e.kind == evPeriod {
		b.drain()
		b.port.Update(&b.params, &wrcc.PeriodInput{
			RinBps: b.bytes * 8 / b.params.Period.Seconds(), Ingresses: 1, QueueBytes: int64(b.queue), QMaxBytes: qMax,
			RTTSum: b.rttSum, PktNum: b.packets,
		})
		b.bytes, b.rttSum, b.packets = 0, 0, 0
		b.push(event{at: b.now + b.params.Period, kind: evPeriod})
		return
	}
	f := &b.flows[e.flow]
	switch e.kind {
	case evSend:
		if f.stop > 0 && b.now >= f.stop {
			return
		}
		f.Settle(&b.sp, b.now)
		f.seq++
		b.push(event{at: b.now + us, kind: evArrive, flow: e.flow, seq: f.seq, h: f.Header(&b.sp)})
		gap := packetBytes * 8 / f.Rate() * 1e12
		b.push(event{at: b.now + quantity.Picoseconds(gap), kind: evSend, flow: e.flow})
	case evArrive:
		b.drain()
		b.bytes += packetBytes
		b.queue += packetBytes
		b.maxQ = max(b.maxQ, b.queue)
		e.kind = evLeave
		e.at = b.now + quantity.Picoseconds(b.queue*8/b.rate*1e12)
		b.push(e)
	case evLeave:
		b.rttSum += uint64(e.h.RTT)
		b.packets++
		f.delivered += packetBytes
		fair, above := b.port.Limit(e.h.FairRate)
		e.h.FairRate = fair
		if above && e.h.Burst() && !b.silent && b.gate.Allow(uint32(e.flow), b.now) {
			b.fcnps++
			b.push(event{at: b.now + us, kind: evFCNP, flow: e.flow, seq: e.seq, h: e.h})
		}
		e.kind, e.at = evAck, b.now+f.rtt-us
		b.push(e)
	case evAck:
		f.Settle(&b.sp, b.now)
		f.Ack(&b.sp, b.now, e.seq, float64(e.h.FairRate)*1e6, f.receiver)
	case evFCNP:
		f.Settle(&b.sp, b.now)
		f.FCNP(&b.sp, b.now, e.seq, float64(e.h.FairRate)*1e6)
	}
}

func newBench(rate quantity.BitRate, inc wrcc.Increase, weights []float64, rtts []quantity.Picoseconds) *bench {
	p := wrcc.DefaultParams(rate, 24*quantity.Microsecond)
	b := &bench{params: p, rate: float64(rate), port: wrcc.NewPortState(&p)}
	b.gate, _ = wrcc.NewGate(p.Period, 256)
	b.sp = wrcc.SenderParams{T1: p.Period, MinRate: 1e8, Increase: inc}
	for i, w := range weights {
		rtt := rtts[i%len(rtts)]
		b.flows = append(b.flows, flow{rtt: rtt, receiver: 1, Sender: wrcc.NewSender(&b.sp, wrcc.SenderFlow{
			Line: float64(rate), Weight: w, RTT: rtt, Packet: packetBytes, Domain: 1,
		}, 0)})
		b.push(event{kind: evSend, flow: i, at: quantity.Picoseconds(i) * 7777})
	}
	b.push(event{at: p.Period, kind: evPeriod})
	return b
}

// share runs the loop for a while to settle and then measures: each flow's rate, and their sum, bit/s.
func (b *bench) share(settle, count quantity.Picoseconds) (rates []float64, sum float64) {
	b.run(b.now + settle)
	for i := range b.flows {
		b.flows[i].delivered = 0
	}
	b.run(b.now + count)
	for i := range b.flows {
		r := b.flows[i].delivered * 8 / count.Seconds()
		rates = append(rates, r)
		sum += r
	}
	return rates, sum
}

// In equilibrium the sum of the weights times the fair rate is the target, so each flow has its weight's share and
// the port is full.
func TestLoopRestsWhereWeightsTimesTheFairRateFillThePort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		weights []float64
		rtts    []quantity.Picoseconds
	}{
		{[]float64{1, 1}, []quantity.Picoseconds{12 * us}},
		{[]float64{1, 1, 1, 1, 1, 1, 1, 1}, []quantity.Picoseconds{5 * us, 12 * us}},
		{[]float64{1, 4}, []quantity.Picoseconds{12 * us}},
		{[]float64{1, 2, 3, 4}, []quantity.Picoseconds{12 * us, 5 * us}},
		{[]float64{1, 1, 1, 1, 8, 8, 8, 8}, []quantity.Picoseconds{12 * us}},
		{[]float64{0.25, 1, 16}, []quantity.Picoseconds{12 * us}},
	} {
		t.Run(fmt.Sprint(c.weights, c.rtts), func(t *testing.T) {
			t.Parallel()
			b := newBench(100*quantity.Gbps, wrcc.IncreaseAsk, c.weights, c.rtts)
			rates, sum := b.share(4*quantity.Millisecond, 4*quantity.Millisecond)
			total := 0.0
			for _, w := range c.weights {
				total += w
			}
			if sum < 0.99*b.rate {
				t.Errorf("the port carries %.2f Gbit/s", sum/1e9)
			}
			if at := total * b.port.FairRate; math.Abs(at/b.rate-1) > 0.01 {
				t.Errorf("weights of %v times a fair rate of %.3f Gbit/s: want 100", total, b.port.FairRate/1e9)
			}
			for i, w := range c.weights {
				if want := b.rate * w / total; math.Abs(rates[i]/want-1) > 0.01 {
					t.Errorf("flow %d of weight %v has %.3f Gbit/s, want %.3f", i, w, rates[i]/1e9, want/1e9)
				}
			}
		})
	}
}

// Flows with round trips of 12 us and 2 ms share a port: both get their weight's share.
func TestLocalAndLongHaulFlowsShareByWeight(t *testing.T) {
	t.Parallel()
	weights := []float64{1, 2, 3, 4}
	b := newBench(10*quantity.Gbps, wrcc.IncreaseAsk, weights, []quantity.Picoseconds{12 * us, 2000 * us})
	rates, sum := b.share(60*quantity.Millisecond, 20*quantity.Millisecond)
	if sum < 0.95*b.rate {
		t.Errorf("the port carries %.2f of 10 Gbit/s", sum/1e9)
	}
	for i, w := range weights {
		if want := sum * w / 10; math.Abs(rates[i]/want-1) > 0.01 {
			t.Errorf("flow %d has %.3f Gbit/s, want %.3f", i, rates[i]/1e9, want/1e9)
		}
	}
}

// Algorithm 2 as printed: the port is full and equal flows share it, at the price of a queue of up to
// QRatioMax·Qmax.
func TestTimerReadingFillsThePortWithAQueue(t *testing.T) {
	t.Parallel()
	b := newBench(100*quantity.Gbps, wrcc.IncreaseTimer, []float64{1, 1}, []quantity.Picoseconds{12 * us})
	b.run(4 * quantity.Millisecond)
	b.maxQ = 0
	rates, sum := b.share(0, 8*quantity.Millisecond)
	if sum < 0.99*b.rate || math.Abs(rates[0]/rates[1]-1) > 0.05 {
		t.Errorf("rates %v", rates)
	}
	if b.maxQ < qMax/10 || b.maxQ > 0.7*qMax {
		t.Errorf("queue of %.0f bytes: want near half of %d", b.maxQ, qMax)
	}
}

// When a flow ends, the other takes over its rate: most of it within a few periods, and the rest with formula (2)'s
// smallest factor.
func TestRemainingFlowTakesOverThePort(t *testing.T) {
	t.Parallel()
	b := newBench(100*quantity.Gbps, wrcc.IncreaseAsk, []float64{3, 1}, []quantity.Picoseconds{12 * us})
	b.flows[0].stop = 2 * quantity.Millisecond
	rates, _ := b.share(3*quantity.Millisecond, quantity.Millisecond)
	if rates[1] < 0.97*b.rate {
		t.Errorf("the flow that stayed has %.2f Gbit/s", rates[1]/1e9)
	}
}

// Eight flows of a 2 ms round trip start at line rate. With FCNPs their own data centre slows them within
// microseconds. Without FCNPs the queue receives the excess, seven times the port's rate, for one round trip.
func TestFCNPsLimitABurstOfLongHaulFlows(t *testing.T) {
	t.Parallel()
	peak := map[bool]float64{}
	for _, fast := range []bool{true, false} {
		b := newBench(10*quantity.Gbps, wrcc.IncreaseTimer, []float64{1, 1, 1, 1, 1, 1, 1, 1}, []quantity.Picoseconds{2000 * us})
		b.silent = !fast
		for i := range b.flows {
			b.flows[i].receiver = 2
		}
		b.run(4 * quantity.Millisecond)
		peak[fast] = b.maxQ
		if (b.fcnps > 0) != fast {
			t.Errorf("%d FCNPs", b.fcnps)
		}
	}
	if full := 7 * 10e9 / 8 * 2e-3; peak[false] < 0.9*full || peak[true] > full/20 {
		t.Errorf("peak queue %.0f bytes with FCNPs, %.0f without; a round trip's excess is %.0f", peak[true], peak[false], full)
	}
}
