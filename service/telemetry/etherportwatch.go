package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// EtherPortWatch is a PortWatch of an Ethernet fabric.
type EtherPortWatch struct {
	c *EtherCollector

	mu   sync.Mutex
	last *etherSample // nil before the first
}

// NewEtherPortWatch prepares a watch of ports of a fabric. A reading of a device may take within; 0 means no limit. It fails on options out of
// range, without ports, and for a port that is not on the fabric.
func NewEtherPortWatch(source EtherSource, ids []ident.PortID, f *subnet.Fabric, within time.Duration, o EtherOptions) (*EtherPortWatch, error) {
	common := Options{Parallel: o.Parallel, TimeScale: o.TimeScale, Patience: o.Patience}
	if err := common.complete(); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, errors.New("no ports to watch: want at least one")
	}
	c := &EtherCollector{source: limitedSource{source, within}, o: common, topo: f}
	for _, id := range ids {
		switch _, ok := f.PortByID(id); {
		case !ok:
			return nil, fmt.Errorf("port %s: not on fabric %q", id, f.Name)
		case c.isNIC(id):
			c.nics = append(c.nics, id)
		default:
			c.ports = append(c.ports, id)
		}
	}
	if o.Fair != nil {
		c.fairPorts(limitedFair{o.Fair, limitedSource{within: within}}, ids)
	}
	return &EtherPortWatch{c: c}, nil
}

// Read is PortWatch.Read.
func (e *EtherPortWatch) Read(ctx context.Context) ([]PortActivity, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last, err := e.c.sample(ctx)
	if err != nil {
		e.last = nil
		return nil, err
	}
	first := e.last
	e.last = last
	if first == nil {
		first = &etherSample{ports: map[ident.PortID]Octets{}}
		for _, id := range e.c.ports {
			first.ports[id] = Octets{Err: ErrUnread}
		}
	}
	w := etherWindow{c: e.c, a: first, b: last}
	out := w.activity()
	slices.SortFunc(out, func(a, b PortActivity) int { return a.Port.Compare(b.Port) })
	return out, nil
}

// limitedSource limits the time of a reading of a device.
type limitedSource struct {
	EtherSource

	within time.Duration
}

var _ EtherSource = limitedSource{}

func (s limitedSource) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.within <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.within)
}

func (s limitedSource) ReadNIC(ctx context.Context, port ident.PortID) (NICReading, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	return s.EtherSource.ReadNIC(ctx, port)
}

func (s limitedSource) ReadSwitch(ctx context.Context, port ident.PortID) (Octets, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	return s.EtherSource.ReadSwitch(ctx, port)
}

// limitedFair limits the time of a reading of a WRCC switch.
type limitedFair struct {
	FairSource

	to limitedSource
}

var _ FairSource = limitedFair{}

func (s limitedFair) ReadFair(ctx context.Context, node ident.GUID) (map[ident.PortNum]FairReading, error) {
	ctx, cancel := s.to.limit(ctx)
	defer cancel()
	return s.FairSource.ReadFair(ctx, node)
}
