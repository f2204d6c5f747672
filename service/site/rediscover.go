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

// keepLooks is how long the result of a fabric's latest sweep is kept without another one; longer where sweeps are far apart.
const keepLooks = time.Hour

// routesEvery is how often a sweep reads all routes, in sweeps: a subnet manager may change these and nothing else.
const routesEvery = 10

// lookouts remembers the sweeps of fabrics, so that the next ones ask for less. Its zero value remembers nothing.
type lookouts struct {
	mu      sync.Mutex
	fabrics map[string]*swept
}

// swept is what the latest sweep of a fabric found.
type swept struct {
	source string
	mu     sync.Mutex // one sweep at a time
	last   *discover.Result
	looks  int
	asked  time.Time // when it was last swept, under the mutex of lookouts
}

// of returns what is remembered of a fabric: nothing when its source changed, or its latest sweep is long ago, by which entries of
// deleted fabrics are removed.
func (l *lookouts) of(f control.Fabric, now time.Time, keep time.Duration) *swept {
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

// Look sweeps a fabric again and compares it with what is known of it. The transport lives for one sweep, so traps are not received.
func (p *Access) Look(ctx context.Context, f control.Fabric, known *subnet.Fabric, manager ident.PortID) (out control.Look, err error) {
	begun := time.Now()
	s := p.lookouts.of(f, begun, max(keepLooks, 2*p.Relook))
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
		out.Stats.Warnings = append(out.Stats.Warnings, w.String())
	}
	for _, e := range discover.Changes(before, now) {
		out.Changes = append(out.Changes, control.FabricChange{
			Kind: string(e.Kind), Port: ident.PortID{Node: e.Node, Port: e.Port}, Peer: e.Peer, Node: nodeLabel(e.Node, now.Fabric, known), Said: e.Said,
		})
	}
	return out, nil
}

// sweep finds the whole fabric the first time, and later what is other than before.
func (s *swept) sweep(ctx context.Context, parse func(string) (Source, error)) (*discover.Result, error) {
	from, err := parse(s.source)
	if err != nil {
		return nil, err
	}
	c, err := from.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // the slot is gone either way
	o := discover.AgainOptions{Options: discover.Options{Parallel: SweepParallel}, Routes: s.looks%routesEvery == routesEvery-1}
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
	s.looks++
	return r, nil
}

// nodeLabel is a node's name in the first of some fabrics that has it.
func nodeLabel(g ident.GUID, fabrics ...*subnet.Fabric) string {
	for _, f := range fabrics {
		if n, ok := f.NodeByGUID(g); ok {
			return f.Nodes[n].Label()
		}
	}
	return g.String()
}
