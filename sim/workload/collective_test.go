package workload

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// wire is a minimal simulator for collectives. It delivers each flow after a fixed delay plus the time of its bytes at a
// fixed rate. Flows do not affect each other.
type wire struct {
	queue  sim.Queue
	flying []Arrival
	delay  quantity.Picoseconds
	rate   quantity.BitRate
	sent   map[int32]int64 // bytes by source
	flows  int64
	most   map[int32]int // largest number of concurrent flows, by source
	now    map[int32]int
}

func newWire(rate quantity.BitRate, delay quantity.Picoseconds) *wire {
	return &wire{rate: rate, delay: delay, sent: map[int32]int64{}, most: map[int32]int{}, now: map[int32]int{}}
}

func (w *wire) launch(flows []Arrival) {
	for _, a := range flows {
		w.sent[a.Src] += a.Bytes
		w.flows++
		w.now[a.Src]++
		w.most[a.Src] = max(w.most[a.Src], w.now[a.Src])
		w.queue.Push(a.At+w.delay+quantity.Picoseconds(8e12*a.Bytes/int64(w.rate)), 0, int32(len(w.flying)), 0)
		w.flying = append(w.flying, a)
	}
}

// run runs a job to its end and returns the time of the end.
func (w *wire) run(job Reactive) (end quantity.Picoseconds) {
	w.launch(job.Start())
	for ev, ok := w.queue.Pop(); ok; ev, ok = w.queue.Pop() {
		a := w.flying[ev.A]
		w.now[a.Src]--
		w.launch(job.Done(a.Flow, ev.At))
		end = ev.At
	}
	return end
}

func hostsOf(n int) []int32 { return HostRange(0, n) }

func mustCollective(t testing.TB, o CollectiveOptions) *Collective {
	t.Helper()
	c, err := NewCollective(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRingAllReduceIsBandwidthOptimal(t *testing.T) {
	t.Parallel()
	const n, bytes, delay = 8, 8_000_000, 5 * quantity.Microsecond
	c := mustCollective(t, CollectiveOptions{Kind: RingAllReduce, Hosts: hostsOf(n), Bytes: bytes, At: 1000})
	w := newWire(100*quantity.Gbps, delay)
	end := w.run(c)
	for h, sent := range w.sent {
		if want := int64(2 * (n - 1) * bytes / n); sent != want {
			t.Errorf("rank %d sends %d bytes, want 2(N-1)/N of the vector, %d", h, sent, want)
		}
	}
	// 14 steps of 1 MB: 80 us plus the delay for each.
	want := 14 * (80*quantity.Microsecond + delay)
	if end-1000 != want {
		t.Errorf("takes %s, want %s", end-1000, want)
	}
	r, finished := c.Result()
	if !finished || r.Rounds != 1 || r.Start != 1000 || r.End != end || r.Last != want || r.Total != want {
		t.Errorf("result %+v, finished %v", r, finished)
	}
	if got, want := r.AlgorithmBandwidth(), 8*bytes/want.Seconds(); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("algorithm bandwidth %v, want %v", got, want)
	}
	// Without the delay, the bus bandwidth would be the rate of the link.
	if got, want := r.BusBandwidth(), 100e9*80/85; math.Abs(got/want-1) > 1e-12 {
		t.Errorf("bus bandwidth %v, want %v", got, want)
	}
}

func TestBytesOfEachKind(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 5, 8, 16, 17} {
		bytes := int64(n) * 1000
		share := float64(n-1) / float64(n) * float64(bytes)
		for kind, c := range map[CollectiveKind]struct{ least, most, mean float64 }{
			RingAllReduce:     {2 * share, 2 * share, 2 * share},
			RingReduceScatter: {share, share, share},
			RingAllGather:     {share, share, share},
			AllToAllExchange:  {share, share, share},
			// Every rank except the root sends the vector up once, and the vector goes down once on each edge. A rank sends to
			// its parent and to at most two children.
			TreeAllReduce: {1, 3 * float64(bytes), 2 * share},
			// A rank with two children in one tree is a leaf in the other.
			DoubleTreeAllReduce: {1, 2 * float64(bytes), 2 * share},
		} {
			t.Run(fmt.Sprintf("%s of %d", kind, n), func(t *testing.T) {
				t.Parallel()
				job := mustCollective(t, CollectiveOptions{Kind: kind, Hosts: hostsOf(n), Bytes: bytes, Chunk: 300})
				w := newWire(quantity.Gbps, quantity.Microsecond)
				w.run(job)
				var total int64
				for h := range int32(n) {
					total += w.sent[h]
					if got := float64(w.sent[h]); got < c.least-0.5 || got > c.most+0.5 {
						t.Errorf("rank %d sends %v bytes, want %v to %v", h, got, c.least, c.most)
					}
				}
				if mean := float64(total) / float64(n); math.Abs(mean-c.mean) > 0.5 {
					t.Errorf("%v bytes per rank on average, want %v", mean, c.mean)
				}
				if w.flows != job.Flows() {
					t.Errorf("%d flows, Flows returns %d", w.flows, job.Flows())
				}
				if _, finished := job.Result(); !finished {
					t.Error("not finished")
				}
			})
		}
	}
}

func TestPartsOfAVectorThatDoesNotDivide(t *testing.T) {
	t.Parallel()
	for _, kind := range []CollectiveKind{RingAllReduce, AllToAllExchange, TreeAllReduce, DoubleTreeAllReduce} {
		c := mustCollective(t, CollectiveOptions{Kind: kind, Hosts: hostsOf(7), Bytes: 100, Chunk: 9})
		w := newWire(quantity.Gbps, quantity.Microsecond)
		w.run(c)
		var total int64
		for _, b := range w.sent {
			total += b
		}
		want := int64(2 * 6 * 100)
		if kind == AllToAllExchange {
			want = 600 // 7 vectors, of which each rank keeps its own part: 700 - 100
		}
		if total != want {
			t.Errorf("%s: %d bytes in total, want %d", kind, total, want)
		}
		if _, finished := c.Result(); !finished {
			t.Errorf("%s: not finished", kind)
		}
	}
}

func TestTreesAreBinaryAndHaveAllRanks(t *testing.T) {
	t.Parallel()
	for n := 2; n < 70; n++ {
		leaf := make([]int, n) // number of trees in which the rank is a leaf
		for _, second := range []bool{false, true} {
			tr := newTree(n, second, 10, 10)
			roots := 0
			for r := range n {
				depth := 0
				for p := tr.parent[r]; p >= 0; p = tr.parent[p] {
					if depth++; depth > 8 {
						t.Fatalf("n %d: rank %d is too deep", n, r)
					}
				}
				if tr.parent[r] < 0 {
					roots++
				} else if p := tr.parent[r]; !slices.Contains(tr.children[p][:], int32(r)) {
					t.Errorf("n %d: rank %d is not a child of its parent %d", n, r, p)
				}
				if tr.children[r] == [2]int32{-1, -1} {
					leaf[r]++
				}
			}
			if roots != 1 {
				t.Errorf("n %d: %d roots", n, roots)
			}
		}
		inner := 0
		for _, trees := range leaf {
			if trees == 0 {
				inner++
			}
		}
		if n%2 == 0 && inner > 0 || inner > 1 {
			t.Errorf("n %d: %d ranks are inner ranks of both trees", n, inner)
		}
	}
}

func TestDoubleTreeBeatsASingleOne(t *testing.T) {
	t.Parallel()
	var took [2]quantity.Picoseconds
	for i, kind := range []CollectiveKind{TreeAllReduce, DoubleTreeAllReduce} {
		c := mustCollective(t, CollectiveOptions{Kind: kind, Hosts: hostsOf(16), Bytes: 64 << 20})
		newWire(100*quantity.Gbps, quantity.Microsecond).run(c)
		r, _ := c.Result()
		took[i] = r.Last
		// The chunks of a long vector form a pipeline through the tree. The time is that of all chunks plus the path up and
		// down.
		chunk := quantity.Microsecond + quantity.Picoseconds(8e12*(1<<20)/100e9)
		if want := quantity.Picoseconds(64>>i+7) * chunk; r.Last > want || r.Last < want-2*chunk {
			t.Errorf("%s takes %s, want about %s", kind, r.Last, want)
		}
	}
	if took[1] >= took[0] {
		t.Errorf("%s with two trees, %s with one", took[1], took[0])
	}
}

// TestRingDataIsComplete tracks the parts of the vector. A rank may send only parts that it has. At the end every rank has
// every part with the contributions of all ranks.
func TestRingDataIsComplete(t *testing.T) {
	t.Parallel()
	const n = 6
	const full = 1<<n - 1
	c := mustCollective(t, CollectiveOptions{Kind: RingAllReduce, Hosts: hostsOf(n), Bytes: 600})
	ring := c.plan.(*ring)
	var have [n][n]uint // contributions, by rank and part
	for r := range have {
		for p := range have[r] {
			have[r][p] = 1 << r
		}
	}
	carried := map[int64]uint{}
	note := func(flows []Arrival) []Arrival {
		for _, a := range flows {
			part := ring.part(int(a.Src), int(a.Flow%10))
			carried[a.Flow] = have[a.Src][part]
			if step := int(a.Flow % 10); bits.OnesCount(carried[a.Flow]) != min(step+1, n) {
				t.Errorf("rank %d, step %d: carries %b", a.Src, step, carried[a.Flow])
			}
		}
		return flows
	}
	pending := slices.Clone(note(c.Start()))
	for len(pending) > 0 {
		a := pending[0]
		pending = pending[1:]
		have[a.Dst][ring.part(int(a.Src), int(a.Flow%10))] |= carried[a.Flow]
		pending = append(pending, note(c.Done(a.Flow, a.At+1))...)
	}
	for r := range have {
		for p, who := range have[r] {
			if who != full {
				t.Errorf("rank %d has part %d with contributions of ranks %b", r, p, who)
			}
		}
	}
}

// TestTreeDataIsComplete tracks the chunks of trees. A chunk goes up with the contributions of a whole subtree, and down with
// the contributions of all ranks.
func TestTreeDataIsComplete(t *testing.T) {
	t.Parallel()
	for n := 2; n < 20; n++ {
		c := mustCollective(t, CollectiveOptions{Kind: DoubleTreeAllReduce, Hosts: hostsOf(n), Bytes: 100, Chunk: 10})
		plan := c.plan.(*trees)
		const chunks = 5 // chunks of each tree
		full := uint(1)<<n - 1
		have := make(map[[3]int]uint) // by tree, rank, chunk: contributions of other ranks
		place := func(flow int64) (tree, dir, chunk int) {
			e := int(flow / plan.most)
			return e / (2 * n), e / n % 2, int(flow % plan.most)
		}
		carried := map[int64]uint{}
		note := func(flows []Arrival) []Arrival {
			for _, a := range flows {
				tree, dir, chunk := place(a.Flow)
				carried[a.Flow] = have[[3]int{tree, int(a.Src), chunk}] | 1<<a.Src
				if dir == down && carried[a.Flow] != full {
					t.Errorf("n %d: rank %d sends down %b", n, a.Src, carried[a.Flow])
				}
			}
			return flows
		}
		pending := slices.Clone(note(c.Start()))
		for len(pending) > 0 {
			last := len(pending) - 1 // the newest first, in contrast to the other tests
			a := pending[last]
			pending = pending[:last]
			tree, _, chunk := place(a.Flow)
			have[[3]int{tree, int(a.Dst), chunk}] |= carried[a.Flow]
			pending = append(pending, note(c.Done(a.Flow, a.At+1))...)
		}
		for tree := range 2 {
			for r := range n {
				for chunk := range chunks {
					if got := have[[3]int{tree, r, chunk}] | 1<<r; got != full {
						t.Errorf("n %d: rank %d has chunk %d with contributions of %b", n, r, chunk, got)
					}
				}
			}
		}
	}
}

// TestCollectivesEndInAnyOrder delivers flows in random order, and some of them twice.
func TestCollectivesEndInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(rt, "ranks")
		o := CollectiveOptions{
			Kind: CollectiveKind(rapid.Uint8Range(0, uint8(collectiveKinds)-1).Draw(rt, "kind")), Hosts: HostRange(5, n),
			Bytes: rapid.Int64Range(int64(n), 60).Draw(rt, "bytes"), Chunk: rapid.Int64Range(0, 20).Draw(rt, "chunk"),
			Window: rapid.IntRange(0, 3).Draw(rt, "window"), Rounds: rapid.IntRange(0, 2).Draw(rt, "rounds"), Gap: 100,
			Label: Label{Tenant: 2, Tag: 3},
		}
		c, err := NewCollective(o)
		if err != nil {
			rt.Fatal(err)
		}
		seen := map[int64]bool{}
		flying := slices.Clone(c.Start())
		var now quantity.Picoseconds
		for ; len(flying) > 0; now++ {
			i := rapid.IntRange(0, len(flying)-1).Draw(rt, "next")
			a := flying[i]
			flying = slices.Delete(flying, i, i+1)
			if seen[a.Flow] || a.Src == a.Dst || a.Bytes < 1 || a.Label != o.Label || min(a.Src, a.Dst) < 5 || max(a.Src, a.Dst) >= 5+int32(n) {
				rt.Fatalf("flow %+v", a)
			}
			seen[a.Flow] = true
			now = max(now, a.At)
			free := slices.Clone(c.Done(a.Flow, now))
			for _, b := range free {
				if b.At < now {
					rt.Fatalf("flow %+v may start at %s", b, now)
				}
			}
			if again := c.Done(a.Flow, now); len(again) > 0 {
				rt.Fatalf("the second delivery of %+v releases %+v", a, again)
			}
			flying = append(flying, free...)
		}
		r, finished := c.Result()
		rounds := max(o.Rounds, 1)
		if !finished || r.Rounds != rounds || int64(len(seen)) != int64(rounds)*c.Flows() {
			rt.Fatalf("result %+v, finished %v, %d flows, want %d per round", r, finished, len(seen), c.Flows())
		}
		if r.End != now-1 || r.Total+quantity.Picoseconds(rounds-1)*o.Gap != r.End-r.Start {
			rt.Fatalf("result %+v, last delivery at %s", r, now-1)
		}
	})
}

func TestDeliveriesThatCannotBeAreIgnored(t *testing.T) {
	t.Parallel()
	for kind := range collectiveKinds {
		c := mustCollective(t, CollectiveOptions{Kind: kind, Hosts: hostsOf(4), Bytes: 4000, Chunk: 100, Window: 1})
		started := map[int64]bool{}
		for _, a := range c.Start() {
			started[a.Flow] = true
		}
		for flow := int64(-3); flow < c.plan.numbers()+3; flow++ {
			if started[flow] {
				continue
			}
			if free := c.Done(flow, 5); len(free) > 0 {
				t.Errorf("%s: flow %d, which has not started, releases %+v", kind, flow, free)
			}
		}
		if free := c.Done(math.MaxInt64, 5); len(free) > 0 {
			t.Errorf("%s: %+v", kind, free)
		}
		w := newWire(quantity.Gbps, 0)
		c = mustCollective(t, CollectiveOptions{Kind: kind, Hosts: hostsOf(4), Bytes: 4000})
		w.run(c)
		if free := c.Done(0, 5); len(free) > 0 {
			t.Errorf("%s: releases %+v after the end", kind, free)
		}
	}
}

func TestTheWindowBoundsAnExchange(t *testing.T) {
	t.Parallel()
	for window, want := range map[int]int{1: 1, 3: 3, 0: DefaultWindow, 64: 15} {
		w := newWire(quantity.Gbps, quantity.Microsecond)
		w.run(mustCollective(t, CollectiveOptions{Kind: AllToAllExchange, Hosts: hostsOf(16), Bytes: 16_000, Window: window}))
		for h, most := range w.most {
			if most != want {
				t.Errorf("window %d: host %d has at most %d messages in flight, want %d", window, h, most, want)
			}
		}
	}
}

func TestRoundsHaveGaps(t *testing.T) {
	t.Parallel()
	o := CollectiveOptions{Kind: RingAllGather, Hosts: []int32{9, 4}, Bytes: 2000, At: 50, Rounds: 3, Gap: 1000}
	c := mustCollective(t, o)
	w := newWire(8*quantity.Gbps, 100)
	// A round is one step of 1000 bytes: 1 us plus the delay.
	const round = quantity.Microsecond + 100
	if end, want := w.run(c), 50+3*round+2*1000; end != want {
		t.Errorf("ends at %s, want %s", end, want)
	}
	r, finished := c.Result()
	if !finished || r.Total != 3*round || r.Last != round || math.Abs(r.AlgorithmBandwidth()-16e3/round.Seconds()) > 1 {
		t.Errorf("result %+v", r)
	}
	if w.flows != 6 || w.sent[9] != 3000 || w.sent[4] != 3000 {
		t.Errorf("%d flows, %v", w.flows, w.sent)
	}
}

func TestNoEstimateBeforeTheFirstRound(t *testing.T) {
	t.Parallel()
	c := mustCollective(t, CollectiveOptions{Hosts: hostsOf(2), Bytes: 2})
	if r, finished := c.Result(); finished || r.AlgorithmBandwidth() != 0 || r.BusBandwidth() != 0 {
		t.Errorf("%+v, %v", r, finished)
	}
	if b := (CollectiveResult{}).BusBandwidth(); b != 0 {
		t.Errorf("bus bandwidth %v without ranks", b)
	}
}

func TestWrongCollectivesAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]CollectiveOptions{
		"number of hosts 1: want 2 to 65536":        {Hosts: hostsOf(1), Bytes: 100},
		"host 3 appears twice":                      {Hosts: []int32{3, 3}, Bytes: 100},
		"size 3: want 4 to 1125899906842624":        {Hosts: hostsOf(4), Bytes: 3},
		"start -1 ps":                               {Hosts: hostsOf(4), Bytes: 100, At: -1},
		"gap -1 ps":                                 {Hosts: hostsOf(4), Bytes: 100, Gap: -1},
		"rounds 1000001: want 0 to 1000000":         {Hosts: hostsOf(4), Bytes: 100, Rounds: 1_000_001},
		"window 65: want 0 to 64":                   {Hosts: hostsOf(4), Bytes: 100, Window: 65},
		"chunk -1: want 0":                          {Hosts: hostsOf(4), Bytes: 100, Chunk: -1},
		"chunk 1: want at least 5 for 5000000 byte": {Hosts: hostsOf(4), Bytes: 5_000_000, Chunk: 1},
		"collective: collective(9): want one of":    {Kind: 9, Hosts: hostsOf(4), Bytes: 100},
	} {
		if _, err := NewCollective(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestNamesOfCollectives(t *testing.T) {
	t.Parallel()
	for k := range collectiveKinds {
		if got, err := ParseCollectiveKind(k.String()); err != nil || got != k {
			t.Errorf("%s: %v, %v", k, got, err)
		}
	}
	if _, err := ParseCollectiveKind("gossip"); err == nil || !strings.Contains(err.Error(), `"gossip": want one of ring-all-reduce, `) {
		t.Error(err)
	}
}

func TestALargeCollectiveIsCheapToPlan(t *testing.T) {
	t.Parallel()
	c := mustCollective(t, CollectiveOptions{Kind: RingAllReduce, Hosts: hostsOf(MaxHosts), Bytes: 1 << 40, Rounds: maxRounds})
	if got, want := c.Flows(), int64(MaxHosts)*2*(MaxHosts-1); got != want {
		t.Errorf("%d flows, want %d", got, want)
	}
	if got := len(c.Start()); got != MaxHosts {
		t.Errorf("%d flows start, want one per rank", got)
	}
}
