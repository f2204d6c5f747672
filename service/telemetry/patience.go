package telemetry

import (
	"fmt"
	"time"

	"fairlane/internal/quantity"
)

// patience decides when to give up a measurement that takes longer than the time scale predicts.
type patience struct {
	window      quantity.Picoseconds
	stall, most time.Duration // limits of wall time without progress, and in total
	begun, news time.Time     // news: of the last progress
	least       quantity.Picoseconds
}

// patience starts the wait for a window of device time. Clocks may stand still for spans times ten windows plus 10 s, and
// may take Patience times as long while they advance.
func (o *Options) patience(window quantity.Picoseconds, spans int) *patience {
	stall := time.Duration(spans) * (10*o.wall(window) + 10*time.Second)
	now := time.Now()
	return &patience{window: window, stall: stall, most: time.Duration(max(o.Patience, 1)) * stall, begun: now, news: now, least: window}
}

// lost receives what is left of the window, and returns an error when the rest is not worth waiting for.
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
