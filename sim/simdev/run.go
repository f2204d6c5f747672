package simdev

import (
	"context"

	"fairlane/sim/fabric"
	"fairlane/sim/pace"
)

// Pace describes how well the live run keeps its time scale.
type Pace = pace.Pace

// counted adapts a network to the clock's interface.
type counted struct{ *fabric.Network }

func (c counted) Events() uint64 { return c.Stats().Events }

// Pace returns the current pace of the live run; it is zero before the first measurement.
func (d *Devices) Pace() Pace { return d.clock.Pace() }

// Run advances simulated time until ctx ends, at Options.TimeScale simulated seconds per wall
// second, or as fast as the machine can when that is 0 (pace.Clock). It returns nil when ctx ends.
func (d *Devices) Run(ctx context.Context) error { return d.clock.Run(ctx) }
