package workload_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/workload"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

// must returns the value of a constructor, and ends the test on its error: must(t)(build()).
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// take returns the next n flows of a source, or all when n is 0.
func take(s workload.Source, n int) []workload.Arrival {
	var out []workload.Arrival
	for n == 0 || len(out) < n {
		a, ok := s.Next()
		if !ok {
			break
		}
		out = append(out, a)
	}
	return out
}

func anyPair(t testing.TB, hosts int) *workload.Pairs {
	return must[*workload.Pairs](t)(workload.AnyPair(workload.HostRange(0, hosts)))
}

// fatTree320 returns the background traffic of HPCC's fat tree.
func fatTree320(t testing.TB, seed uint64) workload.PoissonOptions {
	return workload.PoissonOptions{
		Seed: seed, Pairs: anyPair(t, 320), Sizes: workload.FacebookHadoop(),
		Capacity: 320 * 100 * quantity.Gbps, Load: 0.3, Until: 3 * quantity.Millisecond,
	}
}

func TestPoissonOffersItsLoad(t *testing.T) {
	t.Parallel()
	o := fatTree320(t, 1)
	o.Until = 0
	p := must[*workload.Poisson](t)(workload.NewPoisson(o))
	const n = 1_000_000
	var bytes, last float64
	var squares float64 // sum of the squared gaps
	for range n {
		a, _ := p.Next()
		bytes += float64(a.Bytes)
		gap := float64(a.At) - last
		squares += gap * gap
		last = float64(a.At)
	}
	load := 8 * bytes / (last / 1e12) / float64(o.Capacity)
	if math.Abs(load/o.Load-1) > 0.01 {
		t.Errorf("load %.4f, want %.2f within 1 %%", load, o.Load)
	}
	if rate := n / (last / 1e12); math.Abs(rate/p.FlowsPerSecond()-1) > 0.005 {
		t.Errorf("%.0f flows per second, want %.0f", rate, p.FlowsPerSecond())
	}
	// Gaps of a Poisson process are exponential: their mean square is twice the square of the mean.
	if r := squares / n / (last / n * last / n); math.Abs(r-2) > 0.02 {
		t.Errorf("mean square of the gaps %.3f of their squared mean, want 2", r)
	}
}

func TestFatTree320HasAbout30000Flows(t *testing.T) {
	t.Parallel()
	p := must[*workload.Poisson](t)(workload.NewPoisson(fatTree320(t, 1)))
	flows := take(p, 0)
	// 0.3 x 32 Tbit/s / (8 x 120,420.75 bytes) x 3 ms = 29,895 flows on average, standard deviation 173.
	if n := float64(len(flows)); math.Abs(n-29_895) > 4*173 {
		t.Errorf("%.0f flows, want about 29,895", n)
	}
	if last := flows[len(flows)-1]; last.At >= 3*quantity.Millisecond {
		t.Errorf("a flow starts at %s, want before 3 ms", last.At)
	}
	if _, ok := p.Next(); ok {
		t.Error("Next returned a flow after the end")
	}
}

func TestPoissonFlowsAreNumberedLabelledAndInOrder(t *testing.T) {
	t.Parallel()
	o := fatTree320(t, 3)
	o.From, o.Until, o.Count, o.Label = quantity.Millisecond, 0, 500, workload.Label{Tenant: 4, Tag: 9}
	flows := take(must[*workload.Poisson](t)(workload.NewPoisson(o)), 0)
	if len(flows) != 500 {
		t.Fatalf("%d flows, want 500", len(flows))
	}
	last := o.From
	for i, a := range flows {
		if a.At < last || a.Flow != int64(i) || a.Label != o.Label || a.Src == a.Dst || a.Bytes < 1 {
			t.Fatalf("flow %d: %+v", i, a)
		}
		last = a.At
	}
}

func TestTheSameSeedGivesTheSameFlows(t *testing.T) {
	t.Parallel()
	first := take(must[*workload.Poisson](t)(workload.NewPoisson(fatTree320(t, 5))), 1000)
	again := take(must[*workload.Poisson](t)(workload.NewPoisson(fatTree320(t, 5))), 1000)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("(-first +again)\n%s", diff)
	}
	other := take(must[*workload.Poisson](t)(workload.NewPoisson(fatTree320(t, 6))), 1000)
	same := 0
	for i := range first {
		if first[i].At == other[i].At || first[i].Src == other[i].Src && first[i].Dst == other[i].Dst {
			same++
		}
	}
	if same > 5 {
		t.Errorf("a different seed repeats %d of 1000 flows", same)
	}
	// The values are pinned: a change of any generator fails here.
	pinned := []workload.Arrival{
		{At: 49_028, Flow: 0, Bytes: 1090, Src: 153, Dst: 26},
		{At: 76_372, Flow: 1, Bytes: 271, Src: 73, Dst: 177},
	}
	if diff := cmp.Diff(pinned, first[:2]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTheLoadChangesOnlyTheStarts(t *testing.T) {
	t.Parallel()
	low, high := fatTree320(t, 5), fatTree320(t, 5)
	high.Load = 0.6
	a := take(must[*workload.Poisson](t)(workload.NewPoisson(low)), 1000)
	b := take(must[*workload.Poisson](t)(workload.NewPoisson(high)), 1000)
	for i := range a {
		if ratio := float64(a[i].At) / float64(b[i].At); math.Abs(ratio-2) > 0.01 {
			t.Fatalf("flow %d starts at %s and %s: want twice the time at half the load", i, a[i].At, b[i].At)
		}
		a[i].At, b[i].At = 0, 0
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-low +high)\n%s", diff)
	}
}

func TestSourcesNeedNoMemoryForFlows(t *testing.T) { // not parallel: it counts allocations
	hosts := workload.HostRange(0, 320)
	o := fatTree320(t, 1)
	o.Until = 0
	incast := must[*workload.Incast](t)(workload.NewIncast(workload.IncastOptions{
		Hosts: hosts, FanIn: 60, Bytes: 500_000, Capacity: o.Capacity, Load: 0.02,
	}))
	all := must[workload.Source](t)(workload.AllToAll(workload.PatternOptions{Hosts: hosts, Bytes: 1}))
	batch := must[*workload.Batch](t)(workload.NewBatch(workload.BatchOptions{Pairs: o.Pairs, Count: 1 << 40, Sizes: o.Sizes}))
	s := workload.Merge(must[*workload.Poisson](t)(workload.NewPoisson(o)), incast, all, batch)
	if n := testing.AllocsPerRun(1000, func() { s.Next() }); n != 0 {
		t.Errorf("%v allocations per flow, want none", n)
	}
}

func TestPairsAreEvenAndNeverEqual(t *testing.T) {
	t.Parallel()
	const hosts, n = 8, 56_000
	p := anyPair(t, hosts)
	rng := sim.NewRNG(11)
	var counts [hosts][hosts]int
	for range n {
		src, dst := p.Draw(&rng)
		counts[src][dst]++
	}
	// 1000 flows of each of the 56 pairs on average, standard deviation 31.
	for a := range counts {
		for b, c := range counts[a] {
			if a == b && c != 0 || a != b && math.Abs(float64(c)-1000) > 5*31 {
				t.Errorf("pair %d to %d: %d times", a, b, c)
			}
		}
	}
}

func TestGroupPairs(t *testing.T) {
	t.Parallel()
	groups := [][]int32{{0, 1, 2, 3}, {4, 5}, {6, 7, 8, 9, 10, 11}}
	of := []int{0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2}
	const n = 60_000
	for _, cross := range []float64{0, 1. / 6, 5. / 6, 1} {
		p := must[*workload.Pairs](t)(workload.GroupPairs(groups, cross))
		rng := sim.NewRNG(3)
		between := 0
		var from, to [12]int
		for range n {
			src, dst := p.Draw(&rng)
			if src == dst {
				t.Fatalf("host %d to itself", src)
			}
			from[src]++
			to[dst]++
			if of[src] != of[dst] {
				between++
			}
		}
		if got := float64(between) / n; math.Abs(got-cross) > 0.008 {
			t.Errorf("fraction of flows between groups %.4f, want %.4f", got, cross)
		}
		for h := range from {
			if math.Abs(float64(from[h])-5000) > 5*71 || to[h] == 0 {
				t.Errorf("cross %v: host %d sends %d times and receives %d times", cross, h, from[h], to[h])
			}
		}
	}
}

func TestWrongPairsAreRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		groups [][]int32
		cross  float64
	}{
		"group 1 has 1 hosts: want at least 2":              {[][]int32{{4}}, 0},
		"group 2 has 1 hosts: want at least 2":              {[][]int32{{4, 5}, {6}}, 0.5},
		"group 2 has 0 hosts":                               {[][]int32{{4, 5}, {}}, 1},
		"1 groups: want at least 2":                         {[][]int32{{4, 5}}, 0.5},
		"fraction of flows between groups 1.1: want 0 to 1": {[][]int32{{4, 5}, {6, 7}}, 1.1},
		"fraction of flows between groups NaN: want 0 to 1": {[][]int32{{4, 5}, {6, 7}}, math.NaN()},
		"host 5 appears twice":                              {[][]int32{{4, 5}, {6, 5}}, 0.5},
		"host -4: want 0 to 65535":                          {[][]int32{{-4, 5}}, 0},
		"host 65536: want 0 to 65535":                       {[][]int32{{0, 65536}}, 0},
		"too many hosts: want at most 65536":                {[][]int32{make([]int32, 65537)}, 0},
		"number of hosts 0: want 2 to 65536":                {nil, 0},
	} {
		if _, err := workload.GroupPairs(c.groups, c.cross); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestWrongPoissonOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*workload.PoissonOptions){
		"no pairs or no sizes":                    func(o *workload.PoissonOptions) { o.Pairs = nil },
		"want both":                               func(o *workload.PoissonOptions) { o.Sizes = nil },
		"capacity 0 bit/s: want more than 0":      func(o *workload.PoissonOptions) { o.Capacity = 0 },
		"load 0: want more than 0 and at most 10": func(o *workload.PoissonOptions) { o.Load = 0 },
		"load NaN":                                func(o *workload.PoissonOptions) { o.Load = math.NaN() },
		"load 11":                                 func(o *workload.PoissonOptions) { o.Load = 11 },
		"-1 flows":                                func(o *workload.PoissonOptions) { o.Count = -1 },
		"start -1 ps: want 0 to 1000000 s":        func(o *workload.PoissonOptions) { o.From = -1 },
		"end -1 ps":                               func(o *workload.PoissonOptions) { o.Until = -1 },
		"want at most one per picosecond": func(o *workload.PoissonOptions) {
			o.Sizes, _ = workload.FixedSize(1)
			o.Capacity = 320 * 100 * quantity.Gbps
		},
	} {
		o := fatTree320(t, 1)
		change(&o)
		if _, err := workload.NewPoisson(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func incastOptions() workload.IncastOptions {
	return workload.IncastOptions{
		Seed: 2, Hosts: workload.HostRange(0, 320), FanIn: 60, Bytes: 500_000,
		Capacity: 320 * 100 * quantity.Gbps, Load: 0.02,
	}
}

func TestIncastBursts(t *testing.T) {
	t.Parallel()
	o := incastOptions()
	o.Bursts, o.Label = 20_000, workload.Label{Tag: 1}
	s := must[*workload.Incast](t)(workload.NewIncast(o))
	var received [320]int
	var last workload.Arrival
	repeats := 0 // number of bursts with the same last sender as the burst before
	for burst := range o.Bursts {
		before := last.Src
		seen := map[int32]bool{}
		for i := range o.FanIn {
			a, ok := s.Next()
			if !ok || a.Flow != burst*int64(o.FanIn)+int64(i) || a.Bytes != o.Bytes || a.Label != o.Label {
				t.Fatalf("burst %d: %+v, %v", burst, a, ok)
			}
			if i == 0 {
				seen[a.Dst] = true
				received[a.Dst]++
			} else if a.At != last.At || a.Dst != last.Dst {
				t.Fatalf("burst %d: %+v after %+v", burst, a, last)
			}
			if seen[a.Src] {
				t.Fatalf("burst %d: host %d appears twice", burst, a.Src)
			}
			seen[a.Src] = true
			last = a
		}
		if last.Src == before {
			repeats++
		}
	}
	if math.Abs(float64(repeats)-62.5) > 5*7.9 { // expected by chance: 20,000 / 320
		t.Errorf("the last sender repeats %d times, want about 62", repeats)
	}
	if _, ok := s.Next(); ok {
		t.Error("one burst too many")
	}
	sent := float64(o.Bursts) * float64(o.FanIn) * float64(o.Bytes) * 8
	if load := sent / last.At.Seconds() / float64(o.Capacity); math.Abs(load/o.Load-1) > 0.02 {
		t.Errorf("load %.5f, want %v", load, o.Load)
	}
	for h, n := range received { // 62.5 on average, standard deviation 7.9
		if math.Abs(float64(n)-62.5) > 5*7.9 {
			t.Errorf("host %d receives %d bursts", h, n)
		}
	}
}

func TestPeriodicIncast(t *testing.T) {
	t.Parallel()
	o := incastOptions()
	o.Periodic, o.From, o.Until = true, quantity.Microsecond, quantity.Millisecond
	flows := take(must[*workload.Incast](t)(workload.NewIncast(o)), 0)
	// 60 x 500 KB at 640 Gbit/s give a burst every 375 us: at 1, 376 and 751 us.
	if len(flows) != 3*60 {
		t.Fatalf("%d flows, want 180", len(flows))
	}
	for i, a := range flows {
		if want := quantity.Microsecond * quantity.Picoseconds(1+i/60*375); a.At != want {
			t.Fatalf("flow %d at %s, want %s", i, a.At, want)
		}
	}
}

func TestWrongIncastOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*workload.IncastOptions){
		"number of hosts 1: want 2":       func(o *workload.IncastOptions) { o.Hosts = o.Hosts[:1] },
		"fan-in 320: want 1 to 319":       func(o *workload.IncastOptions) { o.FanIn = 320 },
		"fan-in 0: want 1 to 319":         func(o *workload.IncastOptions) { o.FanIn = 0 },
		"size 0: want 1 to":               func(o *workload.IncastOptions) { o.Bytes = 0 },
		"-5 bursts: want 0":               func(o *workload.IncastOptions) { o.Bursts = -5 },
		"incast: load -1: want more":      func(o *workload.IncastOptions) { o.Load = -1 },
		"host 3 appears twice: want each": func(o *workload.IncastOptions) { o.Hosts = []int32{1, 2, 3, 3} },
	} {
		o := incastOptions()
		change(&o)
		if _, err := workload.NewIncast(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestPermutationMovesEveryHost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 200).Draw(rt, "hosts")
		first := rapid.Int32Range(0, 1000).Draw(rt, "first")
		o := workload.PatternOptions{
			Seed: rapid.Uint64().Draw(rt, "seed"), Hosts: workload.HostRange(first, n), Bytes: 10_000_000, At: 5,
		}
		s, err := workload.Permutation(o)
		if err != nil {
			rt.Fatal(err)
		}
		flows := take(s, 0)
		to := map[int32]bool{}
		for i, a := range flows {
			if a.Src != first+int32(i) || a.Src == a.Dst || a.Dst < first || a.Dst >= first+int32(n) || to[a.Dst] {
				rt.Fatalf("flow %d: %+v", i, a)
			}
			if a.At != 5 || a.Bytes != 10_000_000 || a.Flow != int64(i) {
				rt.Fatalf("flow %d: %+v", i, a)
			}
			to[a.Dst] = true
		}
		if len(flows) != n {
			rt.Fatalf("%d flows, want %d", len(flows), n)
		}
	})
}

func TestAllPermutationsAreEquallyLikely(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	const n = 9000
	for seed := range uint64(n) {
		s := must[workload.Source](t)(workload.Permutation(workload.PatternOptions{Seed: seed, Hosts: []int32{0, 1, 2, 3}}))
		var to strings.Builder
		for _, a := range take(s, 0) {
			to.WriteByte('0' + byte(a.Dst))
		}
		counts[to.String()]++
	}
	if len(counts) != 9 {
		t.Fatalf("%d derangements of four, want 9: %v", len(counts), counts)
	}
	for p, c := range counts { // 1000 on average, standard deviation 30
		if math.Abs(float64(c)-1000) > 5*30 {
			t.Errorf("%s: %d times of %d", p, c, n)
		}
	}
}

func TestMeanPathOfAPermutationOnTheFatTree(t *testing.T) {
	t.Parallel()
	f := must[*subnet.Fabric](t)(topogen.FatTree(topogen.FatTreeOptions{K: 8}))
	hosts := f.Hosts()
	links, n := 0, 0
	for seed := range uint64(5) {
		s := must[workload.Source](t)(workload.Permutation(workload.PatternOptions{Seed: seed, Hosts: workload.HostRange(0, len(hosts)), Bytes: 10_000_000}))
		for _, a := range take(s, 0) {
			p, err := subnet.Path(f, subnet.PortRef{Node: hosts[a.Src], Port: 1}, f.Nodes[hosts[a.Dst]].Ports[1].LID)
			if err != nil {
				t.Fatal(err)
			}
			links += len(p)
			n++
		}
	}
	// (3 x 2 + 12 x 4 + 112 x 6) / 127 = 5.72 links
	if mean := float64(links) / float64(n); n != 5*128 || math.Abs(mean-5.72) > 0.08 {
		t.Errorf("%d flows over %.3f links on average, want 640 over 5.72", n, mean)
	}
}

func TestAllToAllHasEveryPairOnce(t *testing.T) {
	t.Parallel()
	s := must[workload.Source](t)(workload.AllToAll(workload.PatternOptions{Hosts: []int32{7, 3, 9, 4, 0}, Bytes: 64, At: 12}))
	seen := map[[2]int32]bool{}
	flows := take(s, 0)
	for i, a := range flows {
		if a.Src == a.Dst || a.Flow != int64(i) || a.Bytes != 64 || a.At != 12 {
			t.Errorf("flow %+v", a)
		}
		seen[[2]int32{a.Src, a.Dst}] = true
	}
	if len(flows) != 20 || len(seen) != 20 {
		t.Errorf("%d flows of %d pairs, want 20 of each", len(flows), len(seen))
	}
	for round := range 4 { // in each round every host receives once
		to := map[int32]bool{}
		for _, a := range flows[round*5 : round*5+5] {
			to[a.Dst] = true
		}
		if len(to) != 5 {
			t.Errorf("round %d: %d receivers, want 5", round, len(to))
		}
	}
}

func TestBatchOf10000FlowsOn20Hosts(t *testing.T) {
	t.Parallel()
	s := must[*workload.Batch](t)(workload.NewBatch(workload.BatchOptions{
		Pairs: anyPair(t, 20), Count: 10_000, Sizes: must[*workload.Sizes](t)(workload.FixedSize(20_000)), At: 3,
	}))
	flows := take(s, 0)
	for i, a := range flows {
		if a.At != 3 || a.Bytes != 20_000 || a.Flow != int64(i) || a.Src == a.Dst {
			t.Fatalf("flow %d: %+v", i, a)
		}
	}
	if len(flows) != 10_000 {
		t.Errorf("%d flows, want 10,000", len(flows))
	}
	endless := must[*workload.Batch](t)(workload.NewBatch(workload.BatchOptions{Pairs: anyPair(t, 20), Count: 1}))
	if a, _ := endless.Next(); a.Bytes != 0 {
		t.Errorf("without sizes: %+v, want an unlimited flow", a)
	}
}

func TestWrongPatternsAreRefused(t *testing.T) {
	t.Parallel()
	batch := func(o workload.BatchOptions) error { _, err := workload.NewBatch(o); return err }
	permutation := func(o workload.PatternOptions) error { _, err := workload.Permutation(o); return err }
	all := func(o workload.PatternOptions) error { _, err := workload.AllToAll(o); return err }
	list := func(a ...workload.Arrival) error { _, err := workload.NewList(a); return err }
	for want, err := range map[string]error{
		"batch: pairs are missing":                         batch(workload.BatchOptions{Count: 1}),
		"batch: 0 flows: want 1 or more":                   batch(workload.BatchOptions{Pairs: anyPair(t, 2)}),
		"batch: start -1 ps":                               batch(workload.BatchOptions{Pairs: anyPair(t, 2), Count: 1, At: -1}),
		"permutation: number of hosts 1: want 2":           permutation(workload.PatternOptions{Hosts: []int32{1}}),
		"permutation: size -1: want 0":                     permutation(workload.PatternOptions{Hosts: []int32{1, 2}, Bytes: -1}),
		"all-to-all: host 2 appears twice":                 all(workload.PatternOptions{Hosts: []int32{2, 2}}),
		"all-to-all: start 2000000 s: want 0 to 1000000 s": all(workload.PatternOptions{Hosts: []int32{1, 2}, At: 2_000_000 * quantity.Second}),
		"flow 2: source -1: want 0 to 65535":               list(workload.Arrival{Dst: 1}, workload.Arrival{Src: -1}),
		"flow 1: destination 70000: want 0 to 65535":       list(workload.Arrival{Dst: 70_000}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
