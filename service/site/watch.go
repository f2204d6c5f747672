package site

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"fairlane/service/control"
	"fairlane/service/telemetry"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// WatchPorts opens a session for a watch. It does not take the turn of measurements: it clears no counter, and learns when they do.
func (p *Access) WatchPorts(ctx context.Context, t control.Target, ports []ident.PortID, within time.Duration) (control.PortWatch, error) {
	now := p.Settings()
	s, err := p.open(ctx, &now, t)
	if err != nil {
		return nil, err
	}
	r, err := s.watch(ports, within)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return &portWatch{session: s, reader: r, allowed: func() error {
		now := p.Settings()
		_, err := now.source(t.Fabric.Source)
		return err
	}}, nil
}

// portReader reads ports.
type portReader interface {
	Read(ctx context.Context) ([]telemetry.PortActivity, error)
}

// portWatch reads ports in one session.
type portWatch struct {
	session *session
	reader  portReader
	allowed func() error // whether the settings still allow the source
	last    control.Cost
}

var _ control.PortWatch = (*portWatch)(nil)

func (w *portWatch) Read(ctx context.Context) (control.PortReading, error) {
	if err := w.allowed(); err != nil {
		return control.PortReading{}, err
	}
	list, err := w.reader.Read(ctx)
	if err != nil {
		return control.PortReading{}, err
	}
	cost := w.session.cost()
	r := control.PortReading{Ports: portsOf(list), Cost: control.Cost{Requests: cost.Requests - w.last.Requests, Bytes: cost.Bytes - w.last.Bytes}}
	w.last = cost
	return r, nil
}

func (w *portWatch) Close() error { return w.session.close() }

// etherReader reads while the inventory is the one that it was opened with.
type etherReader struct {
	*telemetry.EtherPortWatch

	inventory *Inventory
}

func (r etherReader) Read(ctx context.Context) ([]telemetry.PortActivity, error) {
	if !r.inventory.unchanged() {
		return nil, errors.New("the inventory has changed")
	}
	return r.EtherPortWatch.Read(ctx)
}

// clears has, by source, which counters measurements have cleared. The zero value is ready.
type clears struct {
	mu sync.Mutex
	by map[string]*telemetry.Clears
}

func (c *clears) of(source string) *telemetry.Clears {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[source] == nil {
		if c.by == nil {
			c.by = map[string]*telemetry.Clears{}
		}
		c.by[source] = &telemetry.Clears{}
	}
	return c.by[source]
}

// costOf counts requests.
type costOf struct{ requests atomic.Uint64 }

// total returns the cost so far: a request and its response are a datagram each.
func (c *costOf) total() control.Cost {
	n := c.requests.Load()
	return control.Cost{Requests: n, Bytes: 2 * mad.Size * n}
}

// countedTransport counts the requests of a transport.
type countedTransport struct {
	mad.Transport

	cost *costOf
}

func (c countedTransport) Exchange(ctx context.Context, to mad.Target, request *mad.Packet) (mad.Packet, error) {
	c.cost.requests.Add(1)
	return c.Transport.Exchange(ctx, to, request)
}
