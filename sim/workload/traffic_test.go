package workload_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/workload"
)

// drawLists draws lists of flows with many equal starts; each list's label is its number.
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
	// All flows source by source, so that a stable sort by start alone is the order of Merge.
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
	// 8 bursts of 60 on average.
	if tags[0] < 29_000 || tags[1] == 0 || tags[1]%60 != 0 || tags[1] > 20*60 {
		t.Errorf("%d background flows and %d of incasts", tags[0], tags[1])
	}
	if diff := cmp.Diff(flows, take(build(), 0)); diff != "" {
		t.Error("the same options give other flows")
	}
}

func TestMergeTellsTheErrorOfATrace(t *testing.T) {
	t.Parallel()
	bad := must[*workload.Trace](t)(workload.NewTrace(strings.NewReader(header+"0,0,1,5,0\n1,0,1,5,x\n"), 2))
	m := workload.NewTraffic(workload.Merge(bad))
	if got := len(take(m, 0)); got != 1 {
		t.Errorf("%d flows, want 1", got)
	}
	if err := m.Err(); err == nil || !strings.Contains(err.Error(), "line 3: column start_ns") {
		t.Error(err)
	}
	if err := workload.NewTraffic(nil).Err(); err != nil {
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
		t.Error("the argument was sorted in place")
	}
}

// chain is a job whose k-th flow starts wait after the delivery of the one before; the first at 10.
type chain struct {
	left int
	wait quantity.Picoseconds
}

func (c *chain) Start() []workload.Arrival {
	return []workload.Arrival{{At: 10, Dst: 1, Bytes: 1}, {At: 10, Flow: 1, Dst: 2, Bytes: 1}}
}

func (c *chain) Done(flow int64, at quantity.Picoseconds) []workload.Arrival {
	if c.left == 0 {
		return nil
	}
	c.left--
	return []workload.Arrival{{At: at + c.wait, Flow: flow + 2, Dst: 1, Bytes: 1}}
}

func TestTrafficMergesJobsAndOpenFlows(t *testing.T) {
	t.Parallel()
	open := must[*workload.List](t)(workload.NewList([]workload.Arrival{{At: 10, Flow: 100, Dst: 1}, {At: 12, Flow: 101, Dst: 1}, {At: 40, Flow: 102, Dst: 1}}))
	tr := workload.NewTraffic(open, &chain{left: 2, wait: 5}, &chain{left: 0})
	type seen struct {
		At   quantity.Picoseconds
		Job  int32
		Flow int64
	}
	var got []seen
	for tr.NextAt() != sim.Never {
		at := tr.NextAt()
		a, ok := tr.Next()
		if !ok || a.At != at {
			t.Fatalf("%+v, %v at %s", a, ok, at)
		}
		got = append(got, seen{a.At, a.Job, a.Flow})
		tr.Done(a.Job, a.Flow, a.At+7)
	}
	want := []seen{
		{10, 0, 100},           // open flows first
		{10, 1, 0}, {10, 1, 1}, // then jobs in their order
		{10, 2, 0}, {10, 2, 1}, {12, 0, 101}, {22, 1, 2}, {22, 1, 3}, // 10 + 7 + 5
		{40, 0, 102},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, ok := tr.Next(); ok {
		t.Error("a flow after the last")
	}
}

func TestTrafficIgnoresJobsThatDoNotExist(t *testing.T) {
	t.Parallel()
	tr := workload.NewTraffic(nil, &chain{left: 9})
	take(tr, 0)
	for _, job := range []int32{-1, 0, 2} {
		tr.Done(job, 0, 50)
	}
	if at := tr.NextAt(); at != sim.Never {
		t.Errorf("a flow at %s", at)
	}
	tr.Done(1, 0, 50)
	if a, ok := tr.Next(); !ok || a.At != 50 || a.Job != 1 {
		t.Errorf("%+v, %v", a, ok)
	}
}

func TestNoFlowStartsBeforeTheDeliveryThatFreedIt(t *testing.T) {
	t.Parallel()
	tr := workload.NewTraffic(nil, &chain{left: 1, wait: -30})
	take(tr, 0)
	tr.Done(1, 0, 50)
	if a, _ := tr.Next(); a.At != 50 {
		t.Errorf("starts at %s, want 50 ps", a.At)
	}
}
