package workload_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/workload"
)

func loopOptions(t testing.TB) workload.ClosedLoopOptions {
	return workload.ClosedLoopOptions{
		Seed: 1, Pairs: anyPair(t, 20), Sizes: must[*workload.Sizes](t)(workload.FixedSize(20_000)), Depth: 10,
	}
}

func TestAClosedLoopKeepsItsDepth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		o := loopOptions(t)
		o.Depth = rapid.IntRange(1, 12).Draw(rt, "depth")
		o.Count = rapid.Int64Range(1, 60).Draw(rt, "count")
		o.At, o.Think, o.Label = 100, 7, workload.Label{Tenant: 1, Tag: 2}
		job, err := workload.NewClosedLoop(o)
		if err != nil {
			rt.Fatal(err)
		}
		tr := workload.NewTraffic(nil, job)
		var flying []workload.Arrival
		seen := map[int64]bool{}
		for tr.NextAt() != sim.Never || len(flying) > 0 {
			for a, ok := tr.Next(); ok; a, ok = tr.Next() {
				if seen[a.Flow] || a.Bytes != 20_000 || a.Label != o.Label || a.Src == a.Dst {
					rt.Fatalf("flow %+v", a)
				}
				seen[a.Flow] = true
				flying = append(flying, a)
			}
			if want := min(int64(o.Depth), o.Count-int64(len(seen)-len(flying))); int64(len(flying)) != want {
				rt.Fatalf("%d under way after %d, want %d", len(flying), len(seen), want)
			}
			i := rapid.IntRange(0, len(flying)-1).Draw(rt, "next")
			a := flying[i]
			flying = append(flying[:i], flying[i+1:]...)
			tr.Done(1, a.Flow, a.At+50)
			if at := tr.NextAt(); at != sim.Never && at != a.At+57 {
				rt.Fatalf("replaced at %s, want %s", at, a.At+57)
			}
			tr.Done(1, a.Flow, a.At+50) // told twice
		}
		if int64(len(seen)) != o.Count {
			rt.Fatalf("%d flows, want %d", len(seen), o.Count)
		}
	})
}

func TestAClosedLoopIgnoresWhatIsNotUnderWay(t *testing.T) {
	t.Parallel()
	job := must[*workload.ClosedLoop](t)(workload.NewClosedLoop(loopOptions(t)))
	if free := job.Done(0, 1); len(free) > 0 {
		t.Errorf("before the start: %+v", free)
	}
	job.Start()
	for _, flow := range []int64{-1, 10, 25, 1 << 62} {
		if free := job.Done(flow, 1); len(free) > 0 {
			t.Errorf("flow %d: %+v", flow, free)
		}
	}
	if free := job.Done(3, 1); len(free) != 1 || free[0].Flow != 13 {
		t.Errorf("flow 3: %+v, want flow 13", free)
	}
}

func TestWrongClosedLoopsAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*workload.ClosedLoopOptions){
		"no pairs or no sizes":          func(o *workload.ClosedLoopOptions) { o.Sizes = nil },
		"depth 0: want 1 to 1048576":    func(o *workload.ClosedLoopOptions) { o.Depth = 0 },
		"-1 flows: want 0 (no end)":     func(o *workload.ClosedLoopOptions) { o.Count = -1 },
		"start -1 ps: want 0":           func(o *workload.ClosedLoopOptions) { o.At = -1 },
		"think time 2000000 s: want 0 ": func(o *workload.ClosedLoopOptions) { o.Think = 2_000_000 * quantity.Second },
	} {
		o := loopOptions(t)
		change(&o)
		if _, err := workload.NewClosedLoop(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
