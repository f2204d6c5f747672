package live

import (
	"context"
	"time"

	"fairlane/internal/quantity"
)

// Clock is the time of a live simulated fabric.
type Clock interface{ Now() quantity.Picoseconds }

// waitFor returns when the clock has reached the given time.
func waitFor(ctx context.Context, c Clock, until quantity.Picoseconds) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for c.Now() < until {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
