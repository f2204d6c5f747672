package ether

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/wrcc"
)

// FairRate makes switches compute fair rates (WRCC, S0 algorithm 1).
type FairRate struct {
	// Period is WRCCT: the update period of a switch's ports, and the minimum gap between two fast notifications of one flow.
	// If Params gives another Period, the same for all ports of a switch, that one applies.
	Period quantity.Picoseconds
	// Params returns the settings of an egress port; nil selects wrcc.DefaultParams for the rate of its link. The defaults suit
	// flows of weight 1 and more whose weights sum to at most 1000 on a port: a single flow of weight w gets at most w times
	// the rate, and flows with a total weight of 1000 are never limited below the port's rate. wrcc.Derive computes settings
	// for other weights.
	Params func(port subnet.PortRef, rate quantity.BitRate) wrcc.Params
	// Margin is the fraction, 0 to 1, by which a packet's rate must exceed the port's fair rate for a fast notification. S0
	// prints 0 (any excess); its text mentions bursts that meet congestion.
	Margin float64
}

// fairSwitch holds the counters of one switch in a period. Ports are numbered within the switch.
type fairSwitch struct {
	ports  []fairPort
	from   []uint64   // [input][output]: bytes since the last update
	used   []uint8    // [input][output]: classes of those bytes
	gate   *wrcc.Gate // senders that were notified recently
	period quantity.Picoseconds
	next   quantity.Picoseconds // length of the next period
	margin float64              // 1 + FairRate.Margin
	first  int32
	domain uint8
}

// fairPort is one port of a WRCC switch.
type fairPort struct {
	params  wrcc.Params
	state   wrcc.PortState
	rttSum  uint64 // sum of the RTTs in the packets sent in this period, us
	packets uint32
	pauses  uint64 // pause frames sent by this port as an ingress, until the last update
	// classWeighted means that the switch applies class weights itself: at least one entry of weights is not zero.
	classWeighted bool
	weights       [MaxClasses]wrcc.ClassWeight
	stats         FairStats
	off           bool  // the port does not compute a fair rate
	domain        int16 // data centre whose senders receive fast notifications, or -1
}

// gateRows is the size of the table of recently notified flows.
const gateRows = 1 << 12

// prepareFairRate creates the state of WRCC switches and starts their periods.
func (n *Network) prepareFairRate() error {
	c := n.cfg.FairRate
	if c == nil {
		return nil
	}
	if c.Period < wrcc.MinPeriod || c.Period > wrcc.MaxPeriod {
		return fmt.Errorf("fair rate period %s: want %s to %s", c.Period, wrcc.MinPeriod, wrcc.MaxPeriod)
	}
	if !(c.Margin >= 0 && c.Margin <= 1) {
		return fmt.Errorf("fair rate margin %g: want 0 to 1", c.Margin)
	}
	n.fair = make([]fairSwitch, len(n.switches))
	for i := range n.switches {
		node := n.switches[i].node
		if !n.owns(node) {
			continue
		}
		first, end := n.first[node], n.first[node+1]
		f := fairSwitch{
			ports: make([]fairPort, end-first), from: make([]uint64, (end-first)*(end-first)), used: make([]uint8, (end-first)*(end-first)),
			margin: 1 + c.Margin, first: first, domain: n.switches[i].domain,
		}
		if err := n.prepareFairPorts(&f, c); err != nil {
			return err
		}
		f.next = f.period
		gate, err := wrcc.NewGate(f.period, gateRows)
		if err != nil {
			return err
		}
		f.gate = gate
		n.fair[i] = f
		n.eng.Schedule(f.period, evFair, int32(i), 0)
		n.periodic++
	}
	return nil
}

// prepareFairPorts sets up the ports of a WRCC switch, and takes the switch's period from its ports.
func (n *Network) prepareFairPorts(f *fairSwitch, c *FairRate) error {
	for k := range f.ports {
		ref := n.ref(f.first + int32(k))
		p := &n.ports[f.first+int32(k)]
		if p.peer == none {
			continue
		}
		prm := wrcc.DefaultParams(p.rate, c.Period)
		if c.Params != nil {
			prm = c.Params(ref, p.rate)
		}
		if err := prm.Validate(); err != nil {
			return fmt.Errorf("port %s: %w", n.PortName(ref), err)
		}
		if f.period != 0 && f.period != prm.Period {
			return fmt.Errorf("port %s: sampling period %s: want %s, the period of the other ports of the switch", n.PortName(ref), prm.Period, f.period)
		}
		f.period = prm.Period
		f.ports[k] = fairPort{params: prm, state: wrcc.NewPortState(&prm), domain: int16(f.domain)}
	}
	if f.period == 0 {
		f.period = c.Period // no port has a link
	}
	return nil
}

// updateFair ends a period of a switch: every port that sent packets gets a new fair rate.
func (n *Network) updateFair(sw int32) {
	f := &n.fair[sw]
	seconds := f.period.Seconds()
	ports := int32(len(f.ports))
	for out := range ports {
		fp := &f.ports[out]
		p := &n.ports[f.first+out]
		if p.peer == none {
			continue
		}
		in := wrcc.PeriodInput{RTTSum: fp.rttSum, PktNum: fp.packets}
		for from := range ports {
			bytes := f.from[from*ports+out]
			if bytes == 0 {
				continue
			}
			fp.stats.InBytes += bytes
			in.RinBps += float64(bytes) * 8 / seconds
			in.SumPFC += uint32(n.pausesOf(f, from))
			in.Ingresses++
		}
		if fp.off {
			fp.rttSum, fp.packets = 0, 0
			continue
		}
		in.QueueBytes, in.QMaxBytes = n.queueOf(sw, out)
		fp.state.Update(&fp.params, &in)
		fp.rttSum, fp.packets = 0, 0
		fp.stats.Periods++
		fp.stats.FairRateSum += uint64(fp.state.Mbps())
	}
	clear(f.from)
	clear(f.used)
	for k := range f.ports {
		f.ports[k].pauses = n.ports[f.first+int32(k)].stats.Pauses
	}
	if f.next != f.period {
		f.adoptPeriod()
	}
	n.eng.Schedule(n.eng.Now()+f.period, evFair, sw, 0)
}

// queueOf returns the bytes that an output holds of the classes that sent to it in this period, and the limit of these bytes:
// the sum of the pause threshold of each such (input, lossless class) and of the queue limit of each lossy class.
func (n *Network) queueOf(sw, out int32) (held, most int64) {
	f, s := &n.fair[sw], &n.switches[sw]
	ports := int32(len(f.ports))
	all := uint8(0)
	for from := range ports {
		used := f.used[from*ports+out]
		all |= used
		for c := range n.classes {
			if used&^n.lossy>>c&1 != 0 {
				most += s.threshold(&n.ingress[int(f.first+from)*n.classes+c])
			}
		}
	}
	for c := range n.classes {
		if all>>c&1 == 0 {
			continue
		}
		held += n.queues[int(f.first+out)*n.classes+c].bytes
		if n.lossy>>c&1 != 0 {
			most += s.bound()
		}
	}
	return held, most
}

// pausesOf returns the pause frames that an ingress port sent in this period. A lasting pause counts once per period, because a
// real port repeats the frame before its quanta expire.
func (n *Network) pausesOf(f *fairSwitch, port int32) uint64 {
	sent := n.ports[f.first+port].stats.Pauses - f.ports[port].pauses
	if sent > 0 {
		return sent
	}
	for c := range n.classes {
		if n.ingress[int(f.first+port)*n.classes+c].paused {
			return 1
		}
	}
	return 0
}

// fairIn counts a packet from an input to an output.
func (n *Network) fairIn(sw, in, out int32, k *packet) {
	f := &n.fair[sw]
	at := (in-f.first)*int32(len(f.ports)) + out - f.first
	f.from[at] += uint64(k.wire)
	f.used[at] |= 1 << k.cls
	f.ports[out-f.first].stats.InPackets++
}

// fairOut lowers the rate in a departing packet, and reports whether to notify its sender immediately. Packets without a rate
// belong to flows without a fair rate. They count as input but carry no round trip time.
func (n *Network) fairOut(sw, out int32, k *packet) (notify bool) {
	f := &n.fair[sw]
	fp := &f.ports[out-f.first]
	if k.fair == 0 {
		return false
	}
	fp.rttSum += uint64(k.rtt)
	fp.packets++
	asked := k.fair
	rate, lowered := fp.limit(asked, k.cls)
	k.fair = rate
	if lowered {
		fp.stats.Rewrites++
	}
	if !lowered || float64(asked) <= f.margin*float64(rate) || k.flag&flagBurst == 0 || int16(k.dom) != fp.domain {
		return false
	}
	if !f.gate.Allow(k.hash, n.eng.Now()) {
		return false
	}
	fp.stats.FCNPs++
	return true
}

// fastNotify sends the fair rate in a departed data packet to the packet's sender.
func (n *Network) fastNotify(sw, slot int32, gen uint16, seq int64, fair uint32) {
	f := n.flow(slot)
	note := packet{
		seq: seq, flow: slot, gen: gen, dst: f.src, hash: f.back, tel: none, in: none,
		wire: uint16(n.cfg.Headers.CNP), kind: kindFCNP, cls: n.cfg.CNPClass, fair: fair, dom: n.fair[sw].domain,
	}
	oi := n.route(sw, &note)
	if oi == none || f.gen != gen {
		return
	}
	if n.ports[oi].down {
		return
	}
	n.totals.FCNPs++
	pk := n.pool.get()
	*n.pool.at(pk) = note
	n.enqueue(oi, &n.ports[oi], pk)
}
