package series

import (
	"log/slog"
	"sync"
	"time"
)

// Clock gives the times of samples and of evaluations of rules. They never run back: samples at times that already have some would mix
// with those, and counters would seem to restart at each. When the wall clock is set back, the times go on at half speed until it catches
// up.
type Clock struct {
	now func() time.Time
	log *slog.Logger

	mu     sync.Mutex
	last   time.Time // returned, without the monotonic clock
	read   time.Time // of now
	behind bool      // the wall clock is, and the log says so
}

// leastStep keeps two samples of a series apart.
const leastStep = time.Millisecond

// loggedStep is the shortest setback that is logged: time services correct less all the time.
const loggedStep = time.Second

// NewClock returns a clock that begins at the later of now and the time of the latest sample that is stored, zero for none.
func NewClock(now func() time.Time, latest time.Time, log *slog.Logger) *Clock {
	return &Clock{now: now, log: log, last: latest, read: now()}
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := c.now()
	passed := read.Sub(c.read) // by the monotonic clock, where there is one
	c.read = read
	wall := read.Round(0)
	behind := c.last.Sub(wall)
	if behind <= 0 {
		if c.behind {
			c.behind = false
			c.log.Info("the clock has caught up with the time series")
		}
		c.last = wall
		return wall
	}
	if !c.behind && behind >= loggedStep {
		c.behind = true
		c.log.Warn("the clock is behind the latest time series, such as after it was set back: their times go on at half speed until it catches up", "seconds", behind.Seconds())
	}
	c.last = c.last.Add(max(passed/2, leastStep))
	return c.last
}
