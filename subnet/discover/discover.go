// Package discover sweeps a live fabric into the model of package subnet.
//
// The sweep walks outwards from the local node by directed routes, which work before any LID exists, with many concurrent
// requests:
//
//	NodeInfo ──► new node ──► NodeDescription
//	   ▲              ├─► channel adapter: PortInfo of the port it was reached by
//	   │              └─► switch: SwitchInfo ──► forwarding table blocks
//	   │                          PortInfo of every port
//	   └── through each port whose link is up and whose far end is unknown
//
//	Options.Tables ──► lanes, arbitration and partitions of each port, congestion control of each node
//	at the end     ──► SwitchInfo of every switch: did ports change meanwhile? then NodeInfo behind them
//
// Nodes are identified by GUID, so loops and parallel links end the walk. The workers exchange packets concurrently
// and share one locked state. The result does not depend on the order of the answers, unless several nodes claim one
// GUID: the model then holds the first to answer.
package discover

import (
	"context"
	"fmt"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Options configure a sweep; the zero value is the default.
type Options struct {
	// Name becomes the fabric's name.
	Name string
	// Parallel bounds the concurrent requests: 1 to 1024; 0 means 64. More than the transport allows has no effect.
	Parallel int
	// MKey is sent with every request; nodes with another M_Key and protection do not answer.
	MKey mad.Key
	// SkipRoutes omits the forwarding tables.
	SkipRoutes bool
	// Tables also reads the tables of Result.Details: lanes, arbitration and partitions, and whether each node answers
	// congestion control. This needs many requests: one for every pair of ports of a switch.
	Tables bool
	// CCKey is sent with requests for congestion control.
	CCKey mad.Key
	// Progress, when not nil, is called after every answered or lost request, one call at a time. The sweep waits for it.
	Progress func(Progress)
}

// Limits of Options.Parallel.
const (
	DefaultParallel = 64
	MaxParallel     = 1024
)

// Progress describes how far a sweep is.
type Progress struct {
	Nodes   int // found, each counted once
	MADs    int // requests sent
	Pending int // requests waiting or in flight
}

// Result is a swept fabric.
type Result struct {
	Fabric *subnet.Fabric
	// Details are the devices' properties beyond the model. Values that were not read, or not answered, are marked.
	Details  *subnet.Details
	MADs     int       // requests sent, without the transport's repetitions
	Warnings []Warning // sorted by node, port and text; empty when everything answered

	nodes  map[ident.GUID]*node // internal state of the sweep, not changed any more
	tables bool
}

// Warning is a value that is missing in the model or cannot be correct.
type Warning struct {
	Kind WarningKind     `json:"kind"`
	Node ident.GUID      `json:"node"` // the node concerned; without an answer, the last known one on the path
	Port ident.PortNum   `json:"port"`
	Path []ident.PortNum `json:"path"` // directed route from the local node
	// Text is the fault in a sentence: "no NodeInfo: what is plugged in there is not in the model".
	Text string `json:"text"`
	Err  error  `json:"-"` // cause; nil for an anomaly
	// Said is Text in localisable form.
	Said phrase.Text `json:"-"`
}

// WarningKind is a stable code.
type WarningKind string

// Kinds of warnings.
const (
	// WarnUnresponsive means that a request got no answer.
	WarnUnresponsive WarningKind = "unresponsive"
	// WarnRefused means that a request was answered with an error status.
	WarnRefused WarningKind = "refused"
	// WarnDuplicateGUID means that two nodes, or two ports, claim one GUID.
	WarnDuplicateGUID WarningKind = "duplicate-guid"
	// WarnDuplicateLID means that two ports claim one LID.
	WarnDuplicateLID WarningKind = "duplicate-lid"
	// WarnInvalid means that an answer is not valid; its value was left out.
	WarnInvalid WarningKind = "invalid"
	// WarnMismatch means that the two ends of a link disagree.
	WarnMismatch WarningKind = "mismatch"
	// WarnTooFar means that a node is beyond the longest directed route, or that the fabric has more nodes than the
	// model can hold.
	WarnTooFar WarningKind = "too-far"
)

// Sentence returns the warning in one line.
func (w Warning) Sentence() phrase.Text {
	s := phrase.Of("discovery.warning", "kind", w.Kind, "node", w.Node, "port", w.Port, "path", mad.Target{Path: w.Path}, "text", w.Said)
	if w.Err != nil {
		return phrase.Of("labelled", "label", s, "text", w.Err)
	}
	return s
}

// String returns the warning in one line of English.
func (w Warning) String() string { return w.Sentence().String() }

// At returns the warning with the name of its port or node in the fabric.
func (w Warning) At(f *subnet.Fabric) phrase.Text {
	return phrase.Of("labelled", "label", w.place(f), "text", w.Said)
}

// place names the port or node concerned.
func (w Warning) place(f *subnet.Fabric) string {
	n, ok := f.NodeByGUID(w.Node)
	if !ok {
		return w.Node.String()
	}
	if w.Port == 0 {
		return f.Nodes[n].Label()
	}
	return f.PortName(subnet.PortRef{Node: n, Port: w.Port})
}

// check sets defaults and rejects values out of range.
func (o *Options) check() error {
	if o.Parallel == 0 {
		o.Parallel = DefaultParallel
	}
	if o.Parallel < 1 || o.Parallel > MaxParallel {
		return fmt.Errorf("discover: %d requests in parallel: want 1 to %d", o.Parallel, MaxParallel)
	}
	return nil
}

// Sweep discovers the fabric that the transport reaches. A node that does not answer becomes a warning, and the rest is
// still discovered. It fails when the local node does not answer, when ctx ends, and on any failure of the transport
// other than a lost packet.
func Sweep(ctx context.Context, t mad.Transport, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := newSweep(o)
	s.push(job{attr: mad.AttrNodeInfo})
	if err := s.run(ctx, t); err != nil {
		return nil, fmt.Errorf("discover: %w", err)
	}
	if o.Tables {
		s.pushTables()
		if err := s.run(ctx, t); err != nil {
			return nil, fmt.Errorf("discover: %w", err)
		}
	}
	return s.finish(ctx, t)
}

// finish checks whether the fabric changed during the sweep, and assembles the result.
func (s *sweep) finish(ctx context.Context, t mad.Transport) (*Result, error) {
	s.close()
	if err := s.run(ctx, t); err != nil {
		return nil, fmt.Errorf("discover: %w", err)
	}
	return s.result()
}

// result assembles the result.
func (s *sweep) result() (*Result, error) {
	if s.opts.Tables {
		s.warnUnread()
	}
	f, err := s.assemble()
	if err != nil {
		return nil, fmt.Errorf("discover: assemble: %w", err)
	}
	s.sortWarnings()
	return &Result{Fabric: f, Details: s.details(f), MADs: s.mads, Warnings: s.warnings, nodes: s.nodes, tables: s.opts.Tables}, nil
}
