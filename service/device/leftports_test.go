package device_test

import (
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

func TestAdaptersThatLeaveAPlanStopAnsweringNotifications(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(4, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	plan := func(min uint8, hosts ...string) *policy.Plan {
		p := &policy.Plan{Plane: policy.PlaneIB}
		for _, h := range hosts {
			ref, err := f.ResolvePort(h)
			if err != nil {
				t.Fatal(err)
			}
			c := policy.CAPlan{Port: f.PortID(ref), Name: h, Settings: ibcc.CASettings{Limit: 15, Table: make([]ibcc.Entry, 16)}}
			c.Settings.SLs[2].Min = min
			p.CAs = append(p.CAs, c)
		}
		return p
	}
	after, err := device.Desired(plan(1, "h1", "h3"), f)
	if err != nil {
		t.Fatal(err)
	}
	got := device.Left(plan(1, "h1", "h2", "h3"), f, after)
	if len(got) != 1 || got[0].Device.Name != "h2/P1" || got[0].Device.LID == 0 {
		t.Fatalf("left are %v, want the port of h2", got)
	}
	if err := got[0].Want.Validate(got[0].Device); err != nil {
		t.Error(err)
	}
	if c := got[0].Want.CA; c.Reacts() || c.HighestMin() > 0 || c.Limit != 0 || len(c.Table) != 1 || c.Table[0] != (ibcc.Entry{}) {
		t.Errorf("it is to be %+v", c)
	}
	if got := device.Left(plan(0, "h1", "h2"), f, after); len(got) > 0 {
		t.Errorf("ports without settings: %v", got)
	}
	gone, err := subnet.New("empty", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := device.Left(plan(1, "h2"), gone, nil); len(got) > 0 {
		t.Errorf("ports that the fabric does not have: %v", got)
	}
}
