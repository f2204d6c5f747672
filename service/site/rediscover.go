package site

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/ident"
)

// keepScans is the minimum time for which the latest scan is kept; twice the rescan interval if that is longer.
const keepScans = time.Hour

// routesEvery is how often a sweep reads all routes, in sweeps: a subnet manager may change these and nothing else.
const routesEvery = 10

// rescans keeps the latest scan of each fabric, so that the next scan sends fewer requests. The zero value is empty.
type rescans struct {
	mu      sync.Mutex
	fabrics map[string]*swept
}

// swept is the result of the latest scan of a fabric.
type swept struct {
	source string
	mu     sync.Mutex // one scan at a time
	last   *discover.Result
	scans  int
	asked  time.Time // last request, guarded by the mutex of rescans
}

// of returns the latest scan of a fabric, empty when the source changed or the scan is older than keep. It also removes entries of
// deleted fabrics.
func (l *rescans) of(f control.Fabric, now time.Time, keep time.Duration) *swept {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fabrics == nil {
		l.fabrics = map[string]*swept{}
	}
	if s := l.fabrics[f.Name]; s == nil || s.source != f.Source {
		l.fabrics[f.Name] = &swept{source: f.Source}
	}
	l.fabrics[f.Name].asked = now
	maps.DeleteFunc(l.fabrics, func(_ string, s *swept) bool { return now.Sub(s.asked) > keep })
	return l.fabrics[f.Name]
}

// Rescan scans a fabric again and compares the result with its known state. The transport lasts for one sweep, so traps
// are not received.
func (p *Access) Rescan(ctx context.Context, f control.Fabric, known *subnet.Fabric, manager ident.PortID) (out control.Rescan, err error) {
	begun := time.Now()
	s := p.rescans.of(f, begun, max(keepScans, 2*p.RescanInterval))
	s.mu.Lock()
	defer s.mu.Unlock()
	settings := p.Settings()
	now, err := s.sweep(ctx, settings.source)
	if err != nil {
		return out, fmt.Errorf("sweep fabric %s: %w", f.Source, err)
	}
	before := &discover.Result{Fabric: known, Details: &subnet.Details{}}
	if ref, ok := known.PortByID(manager); ok {
		before.Details.SM = known.Port(ref).LID
	}
	if ref, ok := now.Fabric.PortByLID(now.Details.SM); ok {
		out.Manager = now.Fabric.PortID(ref)
	}
	out.Topology = now.Fabric
	out.Stats = control.DiscoverStats{Wall: time.Since(begun), MADsSent: int64(now.MADs)}
	for _, w := range now.Warnings {
		out.Stats.Warnings = append(out.Stats.Warnings, w.Sentence())
	}
	for _, e := range discover.Changes(before, now) {
		out.Changes = append(out.Changes, control.FabricChange{
			Kind: string(e.Kind), Port: ident.PortID{Node: e.Node, Port: e.Port}, Peer: e.Peer, Node: nodeLabel(e.Node, now.Fabric, known), Said: e.Said,
		})
	}
	return out, nil
}

// sweep discovers the whole fabric the first time, and later only changes.
func (s *swept) sweep(ctx context.Context, parse func(string) (Source, error)) (*discover.Result, error) {
	from, err := parse(s.source)
	if err != nil {
		return nil, err
	}
	c, err := from.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // the slot is released in any case
	o := discover.AgainOptions{Options: discover.Options{Parallel: SweepParallel}, Routes: s.scans%routesEvery == routesEvery-1}
	var r *discover.Result
	if s.last == nil {
		r, err = discover.Sweep(ctx, c, o.Options)
	} else {
		r, err = discover.Again(ctx, c, s.last, o)
	}
	if err != nil {
		return nil, err
	}
	s.last = r
	s.scans++
	return r, nil
}

// nodeLabel returns a node's name in the first of the fabrics that contains it.
func nodeLabel(g ident.GUID, fabrics ...*subnet.Fabric) string {
	for _, f := range fabrics {
		if n, ok := f.NodeByGUID(g); ok {
			return f.Nodes[n].Label()
		}
	}
	return g.String()
}
