package workload_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/workload"
)

// drawLists draws lists of flows with many equal starts; the label of a list is its number.
func drawLists(rt *rapid.T) (lists []workload.Source, all []workload.Arrival) {
	for i := range rapid.IntRange(0, 6).Draw(rt, "sources") {
		var flows []workload.Arrival
		for j := range rapid.IntRange(0, 10).Draw(rt, "flows") {
			flows = append(flows, workload.Arrival{
				At:   quantity.Picoseconds(rapid.IntRange(0, 5).Draw(rt, "at")),
				Flow: int64(j), Dst: 1, Label: workload.Label{Tenant: int32(i)},
			})
		}
		l, err := workload.NewList(flows)
		if err != nil {
			rt.Fatal(err)
		}
		lists, all = append(lists, l), append(all, flows...)
	}
	// The flows are appended source by source, so a stable sort by start gives the order of Merge.
	slices.SortStableFunc(all, func(a, b workload.Arrival) int { return int(a.At - b.At) })
	return lists, all
}

func TestMergeIsAStableSort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		lists, want := drawLists(rt)
		m := workload.Merge(lists...)
		if diff := cmp.Diff(want, take(m, 0)); diff != "" {
			rt.Fatalf("(-want +got)\n%s", diff)
		}
		if _, ok := m.Next(); ok || m.Err() != nil {
			rt.Fatalf("after the end: %v, %v", ok, m.Err())
		}
	})
}

func TestMergeOfBackgroundAndIncast(t *testing.T) {
	t.Parallel()
	build := func() workload.Source {
		in := incastOptions()
		in.Until, in.Label.Tag = 3*quantity.Millisecond, 1
		return workload.Merge(
			must[*workload.Poisson](t)(workload.NewPoisson(fatTree320(t, 1))),
			must[*workload.Incast](t)(workload.NewIncast(in)),
		)
	}
	flows := take(build(), 0)
	var tags [2]int
	for i, a := range flows {
		if i > 0 && a.At < flows[i-1].At {
			t.Fatalf("flow at %s after one at %s", a.At, flows[i-1].At)
		}
		tags[a.Tag]++
	}
	// 8 bursts of 60 flows on average.
	if tags[0] < 29_000 || tags[1] == 0 || tags[1]%60 != 0 || tags[1] > 20*60 {
		t.Errorf("%d background flows and %d flows of incasts", tags[0], tags[1])
	}
	if diff := cmp.Diff(flows, take(build(), 0)); diff != "" {
		t.Error("the same options give different flows")
	}
}

func TestMergeReturnsTheErrorOfATrace(t *testing.T) {
	t.Parallel()
	bad := must[*workload.Trace](t)(workload.NewTrace(strings.NewReader(header+"0,0,1,5,0\n1,0,1,5,x\n"), 2))
	m := workload.Merge(bad)
	if got := len(take(m, 0)); got != 1 {
		t.Errorf("%d flows, want 1", got)
	}
	if err := m.Err(); err == nil || !strings.Contains(err.Error(), "line 3: column start_ns") {
		t.Error(err)
	}
	if err := workload.Merge().Err(); err != nil {
		t.Error(err)
	}
}

func TestListKeepsTheOrderOfEqualStarts(t *testing.T) {
	t.Parallel()
	flows := []workload.Arrival{{At: 5, Dst: 1}, {At: 3, Flow: 1, Dst: 1}, {At: 5, Flow: 2, Dst: 1}, {At: 3, Flow: 3, Dst: 1}}
	l := must[*workload.List](t)(workload.NewList(flows))
	var order []int64
	for _, a := range take(l, 0) {
		order = append(order, a.Flow)
	}
	if diff := cmp.Diff([]int64{1, 3, 0, 2}, order); diff != "" {
		t.Error(diff)
	}
	if flows[0].At != 5 {
		t.Error("NewList sorted its argument")
	}
}
