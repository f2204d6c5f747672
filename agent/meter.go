package agent

import (
	"context"
	"maps"
	"slices"
	"time"

	"fairlane/ccconfig/niccount"
	"fairlane/ccconfig/nicyang"
	"fairlane/internal/gnmid"
)

// meter is the newest readings of a port's counters. Its lock is held while they are read, so that all who ask at the
// same time share a reading.
type meter struct {
	lock chan struct{}

	countersAt, functionsAt, sentAt time.Time
	counters, sent                  niccount.Counters
	functions                       []Function
	countersErr, functionsErr       error
	sentErr                         error

	setsAt  time.Time
	sets    []CounterSet
	setsErr error
}

// meter is the one of a port.
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

// due tells whether a reading is too old.
func (a *Agent) due(at time.Time) bool {
	age := a.o.Now().Sub(at)
	return at.IsZero() || a.o.FreshCounters == 0 || age > a.o.FreshCounters || age < 0
}

// count reads a port's counters.
func (a *Agent) count(ctx context.Context, c *card, p *Port) (niccount.Counters, time.Time, error) {
	m := a.meter(c, p.Number)
	if err := acquire(ctx, m.lock); err != nil {
		return nil, time.Time{}, err
	}
	defer release(m.lock)
	if a.due(m.countersAt) {
		m.counters, m.countersErr = p.Meter.Counters(ctx)
		m.countersAt = a.o.Now()
	}
	return m.counters, m.countersAt, m.countersErr
}

// functions reads a port's virtual functions.
func (a *Agent) functions(ctx context.Context, c *card, p *Port) ([]Function, time.Time, error) {
	m := a.meter(c, p.Number)
	if err := acquire(ctx, m.lock); err != nil {
		return nil, time.Time{}, err
	}
	defer release(m.lock)
	if a.due(m.functionsAt) {
		m.functions, m.functionsErr = p.Meter.Functions(ctx)
		m.functionsAt = a.o.Now()
	}
	return m.functions, m.functionsAt, m.functionsErr
}

// sent reads what a port's senders sent.
func (a *Agent) sent(ctx context.Context, c *card, p *Port) (niccount.Counters, time.Time, error) {
	m := a.meter(c, p.Number)
	if err := acquire(ctx, m.lock); err != nil {
		return nil, time.Time{}, err
	}
	defer release(m.lock)
	if a.due(m.sentAt) {
		m.sent, m.sentErr = p.WRCC.Sent(ctx)
		m.sentAt = a.o.Now()
	}
	return m.sent, m.sentAt, m.sentErr
}

// links looks at the links of a card's ports.
func (a *Agent) links(ctx context.Context, c *card) {
	var changed []gnmid.Path
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
