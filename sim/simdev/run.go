package simdev

import (
	"context"

	"fairlane/sim/fabric"
	"fairlane/sim/pace"
)

// Pace says how the live run keeps up.
type Pace = pace.Pace

// counted is a network as a clock sees it.
type counted struct{ *fabric.Network }

func (c counted) Events() uint64 { return c.Stats().Events }

// Pace returns how the live run keeps up; zero before Run has measured anything.
func (d *Devices) Pace() Pace { return d.clock.Pace() }

// Run advances simulated time until ctx ends, at Options.TimeScale simulated seconds per wall
// second, or as fast as the machine can when that is 0 (pace.Clock). It returns nil when ctx ends.
func (d *Devices) Run(ctx context.Context) error { return d.clock.Run(ctx) }
