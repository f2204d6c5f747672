package telemetry

import (
	"fmt"
	"time"

	"fairlane/internal/quantity"
)

// slowest is how many times slower than the time scale a device clock may be, as that of a simulated fabric on a busy machine is. A clock that
// stands still is given up much sooner.
const slowest = 20

// patience decides when a measurement that takes longer than the time scale says is given up.
type patience struct {
	window      quantity.Picoseconds
	stall, most time.Duration // of wall time without progress, and in all
	begun, news time.Time     // news: of the last progress
	least       quantity.Picoseconds
}

// patience begins to wait for a window of device time. Clocks may stand still for spans times ten windows and 10 s.
func (o *Options) patience(window quantity.Picoseconds, spans int) *patience {
	stall := time.Duration(spans) * (10*o.wall(window) + 10*time.Second)
	now := time.Now()
	return &patience{window: window, stall: stall, most: slowest * stall, begun: now, news: now, least: window}
}

// lost is told what is left of the window, and returns an error when the rest is not worth waiting for.
func (p *patience) lost(left quantity.Picoseconds) error {
	now := time.Now()
	if left < p.least {
		p.least, p.news = left, now
	}
	if now.Sub(p.news) <= p.stall && now.Sub(p.begun) <= p.most {
		return nil
	}
	return fmt.Errorf("%s of device time in %s, want %s: %w", p.window-p.least, now.Sub(p.begun).Round(time.Millisecond), p.window, ErrNoTime)
}
