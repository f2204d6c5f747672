package telemetry

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// FairSource reads WRCC switches. It is called concurrently for different switches.
type FairSource interface {
	// ReadFair returns the readings of a switch's ports by number. It only reads.
	ReadFair(ctx context.Context, node ident.GUID) (map[ident.PortNum]FairReading, error)
}

// FairReading is what a WRCC switch reports of an egress port. What its program does not have is nil.
type FairReading struct {
	Rate *quantity.BitRate // fair rate, of a queue pair of weight 1
	// FCNPs, Rewrites and Pauses count fast notifications caused by the port, packets whose fair rate it lowered, and pause frames that it sent.
	FCNPs, Rewrites, Pauses *uint64

	Wall time.Time // of the reading of the counters; switches report no time
}

// fairSample is a reading of WRCC switches.
type fairSample struct {
	ports map[ident.GUID]map[ident.PortNum]FairReading
	errs  map[ident.GUID]error
}

// fairPorts sets the switch ports whose fair rates are read.
func (c *EtherCollector) fairPorts(source FairSource, ids []ident.PortID) {
	if source == nil {
		return
	}
	c.fair = source
	for _, id := range ids {
		if !c.isNIC(id) {
			c.fairAt = append(c.fairAt, id)
		}
	}
}

// sampleFair reads the WRCC switches.
func (c *EtherCollector) sampleFair(ctx context.Context) fairSample {
	s := fairSample{ports: map[ident.GUID]map[ident.PortNum]FairReading{}, errs: map[ident.GUID]error{}}
	var nodes []ident.GUID
	for _, id := range c.fairAt {
		if _, seen := s.ports[id.Node]; !seen {
			s.ports[id.Node] = nil
			nodes = append(nodes, id.Node)
		}
	}
	found, errs := make([]map[ident.PortNum]FairReading, len(nodes)), make([]error, len(nodes))
	var g errgroup.Group
	g.SetLimit(c.o.Parallel)
	for i, node := range nodes {
		g.Go(func() error {
			found[i], errs[i] = c.fair.ReadFair(ctx, node)
			return nil
		})
	}
	_ = g.Wait() // each switch has its own error
	for i, node := range nodes {
		s.ports[node], s.errs[node] = found[i], errs[i]
	}
	return s
}

// fairRate returns the fair rate of a port at the end of the window; nil when it was not read.
func (w *etherWindow) fairRate(id ident.PortID) *quantity.BitRate {
	return w.b.fair.ports[id.Node][id.Port].Rate
}

// fairCounts returns what a port of a WRCC switch counted, per second, or why nothing is known.
func (w *etherWindow) fairCounts(id ident.PortID) (list []PortCount, err error) {
	for _, s := range []*etherSample{w.b, w.a} {
		if err := s.fair.errs[id.Node]; err != nil {
			return nil, unread(err)
		}
	}
	a, okA := w.a.fair.ports[id.Node][id.Port]
	b, okB := w.b.fair.ports[id.Node][id.Port]
	if !okA || !okB {
		return nil, ErrUnread
	}
	span := w.scaled(b.Wall.Sub(a.Wall))
	if span <= 0 {
		return nil, ErrNoTime
	}
	for _, x := range []struct {
		kind CountKind
		a, b *uint64
	}{{CountFCNPs, a.FCNPs, b.FCNPs}, {CountRewrites, a.Rewrites, b.Rewrites}, {CountPausesSent, a.Pauses, b.Pauses}} {
		if x.a != nil && x.b != nil && *x.b >= *x.a { // fewer after a restart
			list = append(list, PortCount{Kind: x.kind, PerSecond: float64(*x.b-*x.a) / span.Seconds()})
		}
	}
	return list, nil
}

// senderRates returns the rates of the senders of a NIC port that were measured.
func (w *etherWindow) senderRates(id ident.PortID, a, b *NICReading) map[string]quantity.BitRate {
	out := map[string]quantity.BitRate{}
	for name, last := range b.Senders {
		if first, ok := a.Senders[name]; ok {
			if r, err := w.rate(first, last, w.linkRate(id)); err == nil {
				out[name] = r
			}
		}
	}
	return out
}
