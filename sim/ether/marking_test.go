package ether

import (
	"math"
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

// Marking never occurs at or below Min, always above Max, and in between with the configured probability.
func TestMarkFrequencyFollowsTheRule(t *testing.T) {
	t.Parallel()
	n, _ := star(t, 2, Config{Seed: 3, ECN: ECN{Min: 100_000, Max: 400_000, RatePer: 100 * quantity.Gbps, PMax: 0.2}})
	pi, p := n.outTo(1)
	q := &n.queues[int(pi)*n.classes]
	const draws = 50_000
	for queued, want := range map[int64]float64{
		0: 0, 100_000: 0, 100_001: 0.2 / 300_000, 175_000: 0.05, 250_000: 0.1, 400_000: 0.2, 400_001: 1, 1 << 40: 1,
	} {
		marked := 0
		for range draws {
			k := packet{kind: kindData, flag: flagCapable}
			q.bytes = queued
			if n.mark(p, q, &k); k.flag&flagMarked != 0 {
				marked++
			}
		}
		// Five standard deviations of a binomial: a correct program fails once in two million runs.
		if off := math.Abs(float64(marked) - want*draws); off > 5*math.Sqrt(draws*want*(1-want)) {
			t.Errorf("%d bytes: %d of %d marked, want %.0f", queued, marked, draws, want*draws)
		}
	}
	for _, k := range []packet{{kind: kindData}, {kind: kindAck, flag: flagCapable}, {kind: kindCNP, flag: flagCapable}} {
		q.bytes = 1 << 40
		if n.mark(p, q, &k); k.flag&flagMarked != 0 {
			t.Errorf("packet of kind %d with flags %b is marked", k.kind, k.flag)
		}
	}
}

// Thresholds grow with the rate of the link.
func TestMarkingThresholdsScaleWithTheLink(t *testing.T) {
	t.Parallel()
	g := quantity.Gbps
	n, _ := on(t, chain(t, 10*g, 25*g, 100*g, 400*g, 25*g), Config{})
	for i, want := range [][2]int64{{40_000, 160_000}, {100_000, 400_000}, {400_000, 1_600_000}, {1_600_000, 6_400_000}} {
		pi := n.first[i] + 2
		if i == 0 {
			pi = n.first[0] + 1
		}
		if p, q := &n.ports[pi], &n.queues[int(pi)*n.classes]; q.kmin != want[0] || q.kmax != want[1] {
			t.Errorf("%s: thresholds %d and %d, want %v", p.rate, q.kmin, q.kmax, want)
		}
	}
}

// Absolute thresholds and a fixed alpha are the same at every link rate.
func TestAbsoluteThresholdsApplyToEveryLink(t *testing.T) {
	t.Parallel()
	g := quantity.Gbps
	n, _ := on(t, chain(t, 10*g, 25*g, 100*g, 10*g), Config{ECN: ECN{Min: 7000, Max: 9000, PMax: 1, Absolute: true}, Buffer: Buffer{AlphaFixed: true}})
	for i := range n.queues {
		if q := &n.queues[i]; n.ports[i].peer != none && (q.kmin != 7000 || q.kmax != 9000) {
			t.Errorf("%s: thresholds %d and %d", n.ports[i].rate, q.kmin, q.kmax)
		}
		if p := &n.ports[i]; p.peer != none && p.sw != none && n.ingress[i].alphaNum != 128 {
			t.Errorf("%s: alpha of %d/1024", p.rate, n.ingress[i].alphaNum)
		}
	}
}

// Twelve packets wait at a port that marks above 5000 bytes. Marked at departure, the first seven have at least five behind
// them; marked at arrival, the last seven had at least five before them.
func TestMarkingAtEnqueueOrDequeue(t *testing.T) {
	t.Parallel()
	for _, enqueue := range []bool{false, true} {
		n, r := star(t, 2, Config{ECN: ECN{Min: 5000, Max: 5000, RatePer: 100 * quantity.Gbps, AtEnqueue: enqueue}}, FlowSpec{Src: 0, Dst: 1, Bytes: 12_000})
		n.block(1, true)
		n.RunUntil(5 * us)
		n.block(1, false)
		n.RunUntil(ms)
		for _, a := range r.acks { // the last one ends the flow and is not recorded
			number := a.Seq / 1000
			if want := !enqueue && number <= 7 || enqueue && number >= 6; (a.Marked == 1) != want {
				t.Errorf("at enqueue %v: packet %d marked %d times, want %v", enqueue, number, a.Marked, want)
			}
		}
		if n.Stats().Marks != 7 || len(r.acks) != 11 {
			t.Errorf("at enqueue %v: %d marks, %d acknowledgements; want 7 and 11", enqueue, n.Stats().Marks, len(r.acks))
		}
	}
}

// With a queue that marks everything, two senders get at most one notification per gap.
func TestNotificationsRespectMinimumGap(t *testing.T) {
	t.Parallel()
	const gap = 50 * us
	a, b := &recorder{traits: cc.Traits{ECN: true, CNP: true}}, &recorder{traits: cc.Traits{ECN: true, CNP: true}}
	cfg := Config{Algorithms: []cc.Algorithm{a, b}, CNPs: true, CNPGap: gap, ECN: ECN{Min: 1, Max: 1}, Classes: make([]Class, 2), CNPClass: 1}
	n, _ := star(t, 3, cfg, FlowSpec{Src: 0, Dst: 2}, FlowSpec{Src: 1, Dst: 2, Algorithm: 1})
	n.RunUntil(10 * ms)
	for i, r := range []*recorder{a, b} {
		if len(r.notes) < 195 || len(r.notes) > 201 {
			t.Errorf("flow %d received %d notifications in 10 ms", i, len(r.notes))
		}
		for k := 1; k < len(r.notes); k++ {
			if d := r.notes[k].Now - r.notes[k-1].Now; d < gap-100*quantity.Nanosecond || r.notes[k].Kind != cc.NotifyCNP {
				t.Fatalf("flow %d: notifications %s apart", i, d)
			}
		}
	}
	if st := n.Stats(); st.CNPs < uint64(len(a.notes)+len(b.notes)) {
		t.Errorf("%d notifications sent, %d arrived", st.CNPs, len(a.notes)+len(b.notes))
	}
}

// settled is a recorder that also records the calls of Settle and Sent.
type settled struct {
	*recorder
	settles, sent []quantity.Picoseconds
}

func (s *settled) Settle(_ int32, now quantity.Picoseconds, _ *cc.Control) {
	s.settles = append(s.settles, now)
}

func (s *settled) Sent(_ int32, now quantity.Picoseconds, _ int, _ *cc.Control) {
	s.sent = append(s.sent, now)
}

// The first packets of a flow are not marked: a quiet algorithm gets calls of Settle and Sent from the first mark, or
// notification, on; any other algorithm from the first packet.
func TestQuietAlgorithmsAreCalledFromTheFirstMarkOn(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{false, true} {
		for _, notify := range []bool{false, true} {
			s := &settled{recorder: &recorder{traits: cc.Traits{ECN: true, CNP: true, Sent: true, Quiet: quiet}}}
			cfg := Config{Algorithms: []cc.Algorithm{s}, CNPs: notify, ECN: ECN{Min: 5000, Max: 5000, RatePer: 100 * quantity.Gbps, AtEnqueue: true}}
			n, _ := star(t, 2, cfg, FlowSpec{Src: 0, Dst: 1, Bytes: 200_000})
			n.block(1, true)
			n.RunUntil(2 * us)
			for range n.Flows { // reading a quiet flow does not end its quiet state
			}
			n.block(1, false)
			n.RunUntil(ms)
			first := slices.IndexFunc(s.acks, func(a cc.Ack) bool { return a.Marked > 0 })
			var activated quantity.Picoseconds
			switch {
			case notify && len(s.notes) > 0:
				activated = s.notes[0].Now
			case !notify && first > 0:
				activated = s.acks[first].Now
			default:
				t.Fatalf("notify %v: %d notifications, first mark on acknowledgement %d: want a notification or mark after the first packets", notify, len(s.notes), first)
			}
			if !quiet {
				activated = 0
			}
			if len(s.settles) == 0 || s.settles[0] != activated {
				t.Errorf("quiet %v, notify %v: settled %d times, first at %v; want the first at %s", quiet, notify, len(s.settles), s.settles[:min(1, len(s.settles))], activated)
			}
			if len(s.sent) == 0 || s.sent[0] < activated || len(s.sent) == 200 == quiet {
				t.Errorf("quiet %v, notify %v: %d calls of Sent, the first at %v; want calls from %s on", quiet, notify, len(s.sent), s.sent[:min(1, len(s.sent))], activated)
			}
		}
	}
}
