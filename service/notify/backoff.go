package notify

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pauses between attempts: the first one, and the longest.
const (
	firstPause = time.Second
	lastPause  = 2 * time.Minute
)

// pause returns the pause after a number of failed attempts in a row, from 1: doubled each time, and by chance down to half of that, so that
// receivers of many managers are not asked in step.
func pause(attempts int) time.Duration {
	d := min(firstPause<<min(attempts-1, 20), lastPause)
	return d/2 + rand.N(d/2+1)
}

// rest waits until the time has passed or the context ends.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
