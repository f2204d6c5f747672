package agent_test

import (
	"errors"
	"testing"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicyang"
)

func TestOneCounterSetIsAskedFor(t *testing.T) {
	t.Parallel()
	a := newRig(t).agent(t)
	set := func(id uint32, names ...string) gnmitree.Path {
		p := nicyang.CounterSet("eth-a", 1, id)
		for _, n := range names {
			p = p.Child(n)
		}
		return p
	}
	counter := set(3, "counters").Child("counter", gnmitree.Key{Name: "name", Value: "rdma_tx_bytes"}).Child("state")
	for _, c := range []struct {
		path gnmitree.Path
		want string
	}{
		{set(3, "state", "mode"), "auto"},
		{set(3, "state", "process"), "trainer"},
		{set(3, "state", "pid"), "4711"},
		{set(3, "state", "qp-count"), "2"},
		{set(9, "state", "mode"), "manual"},
		{set(9, "state", "process"), "absent"},
		{set(9, "state", "pid"), "absent"},
		{set(9, "state", "qps"), "absent"},
		{set(9, "state", "qp-count"), "0"},
		{set(4, "state", "mode"), "absent"},
		{counter.Child("value"), "1099511627776"},
		{counter.Child("problem"), "absent"},
		{nicyang.CounterSets("eth-a", 1).Child("state").Child("problem"), "absent"},
	} {
		if got := leaf(t, a, c.path); got != c.want {
			t.Errorf("%s is %s, want %s", c.path, got, c.want)
		}
	}
}

func TestWhyAPortHasNoCounterSets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.broken = errors.New("counter sets are not offered")
	a := r.agent(t)
	if got := leaf(t, a, nicyang.CounterSets("eth-a", 1).Child("state").Child("problem")); got != "counter sets are not offered" {
		t.Error(got)
	}
	if got := leaf(t, a, nicyang.CounterSet("eth-a", 1, 3).Child("state").Child("mode")); got != "absent" {
		t.Error(got)
	}
}
