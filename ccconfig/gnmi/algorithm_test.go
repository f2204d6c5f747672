package gnmi_test

import (
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/ccalgo"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/ccconfig/prereq"
)

// reports makes a fake agent report an algorithm for its first port.
func (a *fakeAgent) reports(name ccalgo.Name, driverName string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	port, card := nicyang.Port(a.nic, 1).Child("state"), nicyang.NIC(a.nic).Child("state")
	a.extra = nil
	put := func(at gnmitree.Path, text string) {
		a.extra = append(a.extra, gnmitree.Leaf{Path: at, Value: gnmitree.String(text)})
	}
	put(port.Child("algorithm"), string(name))
	put(port.Child("algorithm-evidence"), "the evidence")
	put(port.Child("net-dev"), "ens1f0")
	put(card.Child("driver"), driverName+" 1.2")
	put(card.Child("device"), "0x1750")
}

// The algorithm may change between two accesses, and the agent reports that.
func TestTheAlgorithmIsReadWithEachAccess(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	a.reports(ccalgo.DCQCN, "mlx5_core")
	d := r.driver(t, gnmi.Agent)
	if got, err := d.Read(t.Context(), devs[0]); err != nil || got.NIC.Algorithm == nil || got.NIC.Algorithm.Name != ccalgo.DCQCN {
		t.Fatalf("%+v, %v", got.NIC, err)
	}
	a.reports(ccalgo.Programmable, "mlx5_core")
	got, err := d.Read(t.Context(), devs[0])
	if err != nil || got.NIC.Algorithm == nil || got.NIC.Algorithm.Name != ccalgo.Programmable || got.NIC.Algorithm.Model != "0x1750" {
		t.Fatalf("%+v, %v", got.NIC, err)
	}
	items := driver.Examine(t.Context(), d, devs[0], got, &prereq.Needs{RoCE: &prereq.RoCE{DSCP: 26, Priority: 3}})
	i := slices.IndexFunc(items, func(x prereq.Item) bool { return x.ID == prereq.Algorithm })
	if i < 0 || items[i].State != prereq.Wrong || items[i].Found != "programmable" || items[i].Repair != nil {
		t.Fatalf("%+v", items)
	}
	if slices.ContainsFunc(items, func(x prereq.Item) bool { return x.ID == prereq.Reaction || x.ID == prereq.PriorityMask }) {
		t.Errorf("parameters of DCQCN are prerequisites of another algorithm: %+v", items)
	}
}

// An agent of an earlier release may replace one that reports algorithms, while its host and the session go on.
func TestAnAgentThatNoLongerReportsAlgorithmsIsRead(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	a.reports(ccalgo.DCQCN, strings.Repeat("x", 100))
	d := r.driver(t, gnmi.Agent)
	got, err := d.Read(t.Context(), devs[0])
	if err != nil || got.NIC.Algorithm == nil || len(got.NIC.Algorithm.Driver) > 70 {
		t.Fatalf("%+v, %v", got.NIC, err)
	}
	a.mu.Lock()
	a.extra = nil
	a.mu.Unlock()
	if got, err = d.Read(t.Context(), devs[0]); err != nil || got.NIC.Algorithm != nil {
		t.Errorf("%+v, %v", got.NIC, err)
	}
}
