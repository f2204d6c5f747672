package rollout

import (
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// TestSettledDevicesThatMustStillBeReturned uses a shard of one device that its worker did not reach before its manager shut down.
func TestSettledDevicesThatMustStillBeReturned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		undo         bool
		state        device.State
		touched      bool
		tried        bool
		left, midway bool
	}{
		"forward, waits":                         {state: device.Pending, left: true},
		"forward, half written":                  {state: device.Unknown, touched: true, left: true, midway: true},
		"forward, in sync":                       {state: device.InSync, touched: true},
		"forward, failed before a write":         {state: device.Failed},
		"forward, failed and not returned yet":   {state: device.Failed, touched: true, left: true, midway: true},
		"forward, failed and could not return":   {state: device.Failed, touched: true, tried: true},
		"forward, returned":                      {state: device.RolledBack},
		"undo, never written":                    {undo: true, state: device.Pending},
		"undo, was in sync before":               {undo: true, state: device.InSync},
		"undo, holds the new settings":           {undo: true, state: device.InSync, touched: true, left: true},
		"undo, half returned":                    {undo: true, state: device.Unknown, touched: true, tried: true, left: true, midway: true},
		"undo, failed and not tried":             {undo: true, state: device.Failed, touched: true, left: true},
		"undo, failed and could not return":      {undo: true, state: device.Failed, touched: true, tried: true},
		"undo, unsupported, written by an older": {undo: true, state: device.Unsupported, touched: true, left: true},
		"undo, returned":                         {undo: true, state: device.RolledBack, tried: true},
	} {
		d := control.RolloutDevice{State: c.state, Touched: c.touched, Device: driver.Device{ID: ident.PortID{Node: 1, Port: 1}}}
		if c.touched {
			d.Before = &driver.Settings{}
		}
		k := &claim{key: control.ShardKey{Undo: c.undo}, rows: []control.RolloutDevice{d}}
		k.index()
		k.tried[d.Device.ID] = c.tried
		left, midway := k.left(control.Rollout{Request: control.RequestPause})
		if left != c.left || midway != c.midway {
			t.Errorf("%s: left %t, midway %t; want %t, %t", name, left, midway, c.left, c.midway)
		}
	}
}
