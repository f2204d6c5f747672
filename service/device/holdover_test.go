package device_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func adapter(limit uint16, sls map[int]ibcc.SLParams) driver.Settings {
	s := driver.Settings{CA: &ibcc.CASettings{Limit: limit, Table: make([]ibcc.Entry, limit+1)}}
	for sl, p := range sls {
		s.CA.SLs[sl] = p
	}
	return s
}

func TestMovingServiceLevels(t *testing.T) {
	t.Parallel()
	port := func(n uint64) ident.PortID { return ident.PortID{Node: ident.GUID(n), Port: 1} }
	before := &policy.Plan{Placements: []policy.Placement{{Tenant: "a", Port: port(1), SL: 1}, {Tenant: "a", Port: port(2), SL: 1}, {Tenant: "b", Port: port(1), SL: 15}, {Tenant: "c", Port: port(3), SL: 0}}}
	next := &policy.Plan{Placements: []policy.Placement{{Tenant: "a", Port: port(1), SL: 2}, {Tenant: "a", Port: port(2), SL: 1}, {Tenant: "b", Port: port(1), SL: 1}, {Tenant: "d", Port: port(4), SL: 5}}}
	want := map[ident.PortID]device.Levels{port(1): 1 << 15, port(2): 0, port(3): 1}
	if d := cmp.Diff(want, device.Moving(before, next)); d != "" {
		t.Errorf("levels differ (-want +got):\n%s", d)
	}
}

func TestHoldOverKeepsParametersOfMovingTraffic(t *testing.T) {
	t.Parallel()
	slow, fast := ibcc.SLParams{Timer: 90, Increase: 4}, ibcc.SLParams{Timer: 30, Increase: 1}
	for name, c := range map[string]struct {
		want, before, held driver.Settings
		moving             device.Levels
	}{
		"another service level":    {adapter(63, map[int]ibcc.SLParams{1: fast, 2: fast}), adapter(63, map[int]ibcc.SLParams{1: slow, 2: slow}), adapter(63, map[int]ibcc.SLParams{1: slow, 2: fast}), 1 << 1},
		"none":                     {adapter(63, map[int]ibcc.SLParams{1: fast}), adapter(63, map[int]ibcc.SLParams{1: slow}), adapter(63, map[int]ibcc.SLParams{1: fast}), 0},
		"the last":                 {adapter(63, nil), adapter(63, map[int]ibcc.SLParams{15: slow}), adapter(63, map[int]ibcc.SLParams{15: slow}), 1 << 15},
		"a cap over a short table": {adapter(15, nil), adapter(63, map[int]ibcc.SLParams{1: {Min: 40}}), adapter(15, map[int]ibcc.SLParams{1: {Min: 15}}), 1 << 1},
		"a switch":                 {driver.Settings{Switch: &driver.SwitchState{}}, driver.Settings{Switch: &driver.SwitchState{Defaults: ibcc.SwitchSettings{Threshold: 4}}}, driver.Settings{Switch: &driver.SwitchState{}}, 0xffff},
		"a port that is new":       {adapter(63, map[int]ibcc.SLParams{2: fast}), driver.Settings{}, adapter(63, map[int]ibcc.SLParams{2: fast}), 0xffff},
	} {
		want := c.want.Clone()
		got := device.HoldOver(c.want, c.before, c.moving)
		if !got.Equal(c.held) {
			t.Errorf("%s: held %+v, want %+v", name, got.CA, c.held.CA)
		}
		if got.CA != nil {
			dev := driver.Device{Plane: "ib", ID: ident.PortID{Node: 1, Port: 1}, Name: "h", Kind: subnet.KindCA, LID: 1}
			if err := got.Validate(dev); err != nil {
				t.Errorf("%s: what is held is not legal: %v", name, err)
			}
		}
		if !c.want.Equal(want) {
			t.Errorf("%s: what is wanted was changed", name)
		}
	}
}
