package telemetry

import (
	"context"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// timekeeper follows the clock of a device.
type timekeeper struct {
	lid    ident.LID
	clock  deviceClock
	noTime bool                 // has no TimeStamp
	wall   quantity.Picoseconds // scaled wall time of the last TimeStamp
}

// read reads the clock. jump is ErrReset with its place when the clock was set since the last reading: times of before and after cannot be
// compared.
func (d *timekeeper) read(ctx context.Context, x *agents) (now quantity.Picoseconds, jump, err error) {
	wall := x.elapsed()
	if d.noTime {
		return wall, nil, nil
	}
	var ts mad.TimeStamp
	err = x.congestion(ctx, d.lid, mad.AttrTimeStamp, &ts)
	if unsupported(err) && !d.clock.seen {
		d.noTime = true
		return wall, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	passed := wall - d.wall
	if d.clock.seen && jumped(uint32(ts)-d.clock.last, passed) {
		jump = phrase.Because(ErrReset, phrase.Of("measure.clock-reset-at", "lid", d.lid))
		d.clock.seen = false // the length of the jump is unknown
	}
	d.wall = wall
	return d.clock.advance(uint32(ts)), jump, nil
}
