package agent

import (
	"context"
	"maps"
	"slices"
	"time"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicyang"
)

// meter holds the newest readings of a port's counters. Its lock is held during a reading, so that concurrent queries
// share it.
type meter struct {
	lock chan struct{}

	counters, sent reading[niccount.Counters]
	functions      reading[[]Function]
	sets           reading[[]CounterSet]
}

// reading is the last reading of one kind of counters.
type reading[T any] struct {
	value T
	at    time.Time
	err   error
}

// meter returns the meter of a port.
func (a *Agent) meter(c *card, port int) *meter {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := c.meters[port]
	if m == nil {
		m = &meter{lock: make(chan struct{}, 1)}
		c.meters[port] = m
	}
	return m
}

// due reports whether a reading is too old.
func (a *Agent) due(at time.Time) bool {
	age := a.o.Now().Sub(at)
	return at.IsZero() || a.o.FreshCounters == 0 || age > a.o.FreshCounters || age < 0
}

// read returns the last reading, or a new one when that is too old. A reading that the caller's cancellation interrupted
// is discarded.
func (r *reading[T]) read(ctx context.Context, a *Agent, m *meter, from func(context.Context) (T, error)) (value T, at time.Time, err error) {
	if err := acquire(ctx, m.lock); err != nil {
		return value, at, err
	}
	defer release(m.lock)
	if a.due(r.at) {
		value, err := from(ctx)
		if gone := ctx.Err(); gone != nil {
			return value, at, gone
		}
		*r = reading[T]{value, a.o.Now(), err}
	}
	return r.value, r.at, r.err
}

// links reads the links of a card's ports.
func (a *Agent) links(ctx context.Context, c *card) {
	var changed []gnmitree.Path
	for i := range c.nic().Ports {
		p := &c.nic().Ports[i]
		if p.Meter == nil {
			continue
		}
		l, err := p.Meter.Link(ctx)
		if err != nil {
			l = Link{}
		}
		a.mu.Lock()
		if c.links[p.Number] != l {
			changed = append(changed, nicyang.Port(c.nic().Name, p.Number).Child("state"))
		}
		c.links[p.Number] = l
		a.mu.Unlock()
	}
	if len(changed) > 0 {
		a.Changed(changed...)
	}
}

func sortedNames(all niccount.Counters) []string { return slices.Sorted(maps.Keys(all)) }
