// Package discover sweeps a live fabric into the model of package subnet.
//
// The sweep walks outwards from the local node by directed routes, which work before any
// LID exists, with many requests under way at once:
//
//	NodeInfo ──► new node ──► NodeDescription
//	   ▲              ├─► channel adapter: PortInfo of the port it was reached by
//	   │              └─► switch: SwitchInfo ──► forwarding table blocks
//	   │                          PortInfo of every port
//	   └── through each port whose link is up and whose far end is not known yet
//
//	Options.Tables ──► lanes, arbitration and partitions of each port, congestion control of each node
//	at the end     ──► SwitchInfo of every switch: did ports change meanwhile? then NodeInfo behind them
//
// A node is known by its GUID, so loops and parallel links end the walk by themselves. The
// workers take turns at what is known and exchange packets at the same time. The result does
// not depend on the order of the answers, unless several nodes claim one GUID: then the one
// that answers first is in the model.
package discover

import (
	"context"
	"fmt"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Options tune a sweep; the zero value is good.
type Options struct {
	// Name becomes the fabric's name.
	Name string
	// Parallel bounds the requests under way at once: 1 to 1024; 0 is 64. More than the
	// transport allows is of no use.
	Parallel int
	// MKey is sent with every request; nodes with another M_Key and protection do not answer.
	MKey mad.Key
	// SkipRoutes leaves out the forwarding tables.
	SkipRoutes bool
	// Tables also reads what Result.Details has beside the ports: lanes, arbitration and partitions, and whether each
	// node answers congestion control. That is many requests: one for every pair of ports of a switch.
	Tables bool
	// CCKey is sent with requests for congestion control.
	CCKey mad.Key
	// Progress, when not nil, is called after every answered or lost request, never twice at
	// once. The sweep waits for it.
	Progress func(Progress)
}

// Limits of Options.Parallel.
const (
	DefaultParallel = 64
	MaxParallel     = 1024
)

// Progress says how far a sweep is.
type Progress struct {
	Nodes   int // found, each counted once
	MADs    int // requests sent
	Pending int // requests waiting or under way
}

// Result is a swept fabric.
type Result struct {
	Fabric *subnet.Fabric
	// Details are what the devices said beside the model. What was not read, or not answered, says so.
	Details  *subnet.Details
	MADs     int       // requests sent, without the transport's repetitions
	Warnings []Warning // sorted by node, port and text; empty when everything answered

	nodes  map[ident.GUID]*node // as the sweep knew them; nothing changes them any more
	tables bool
}

// Warning is something that the model lacks or that cannot be right.
type Warning struct {
	Kind WarningKind     `json:"kind"`
	Node ident.GUID      `json:"node"` // the node concerned; the last one known on the way when it did not answer
	Port ident.PortNum   `json:"port"`
	Path []ident.PortNum `json:"path"` // directed route from the local node
	// Missing or wrong, for people: "no NodeInfo: what is plugged in there is not in the model".
	Text string `json:"text"`
	Err  error  `json:"-"` // cause; nil for an anomaly
	// Said is Text for readers of other languages.
	Said phrase.Text `json:"-"`
}

// WarningKind is a stable code.
type WarningKind string

// Kinds of warnings.
const (
	// WarnUnresponsive: a request got no answer.
	WarnUnresponsive WarningKind = "unresponsive"
	// WarnRefused: a request was answered with an error status.
	WarnRefused WarningKind = "refused"
	// WarnDuplicateGUID: two nodes, or two ports, claim one GUID.
	WarnDuplicateGUID WarningKind = "duplicate-guid"
	// WarnDuplicateLID: two ports claim one LID.
	WarnDuplicateLID WarningKind = "duplicate-lid"
	// WarnInvalid: an answer that no device may give; the value was left out.
	WarnInvalid WarningKind = "invalid"
	// WarnMismatch: the two ends of a link disagree.
	WarnMismatch WarningKind = "mismatch"
	// WarnTooFar: a node lies behind more hops, or the fabric has more nodes, than the model
	// or a directed route can hold.
	WarnTooFar WarningKind = "too-far"
)

// Sentence is the warning in one line.
func (w Warning) Sentence() phrase.Text {
	s := phrase.Of("discovery.warning", "kind", w.Kind, "node", w.Node, "port", w.Port, "path", mad.Target{Path: w.Path}, "text", w.Said)
	if w.Err != nil {
		return phrase.Of("labelled", "label", s, "text", w.Err)
	}
	return s
}

// String is the warning in one line of English.
func (w Warning) String() string { return w.Sentence().String() }

// At is what is wrong, with the port concerned.
func (w Warning) At(f *subnet.Fabric) phrase.Text {
	return phrase.Of("labelled", "label", w.place(f), "text", w.Said)
}

// place names the port concerned for people, as the fabric that was found knows it.
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

// check fills in defaults and refuses what is out of range.
func (o *Options) check() error {
	if o.Parallel == 0 {
		o.Parallel = DefaultParallel
	}
	if o.Parallel < 1 || o.Parallel > MaxParallel {
		return fmt.Errorf("discover: %d requests in parallel: want 1 to %d", o.Parallel, MaxParallel)
	}
	return nil
}

// Sweep discovers the fabric that the transport reaches. A node that does not answer becomes
// a warning and the rest is still discovered. It fails when the local node does not answer,
// when ctx ends, and when the transport fails in another way than losing a packet.
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

// finish looks whether the fabric changed meanwhile, and assembles what is known.
func (s *sweep) finish(ctx context.Context, t mad.Transport) (*Result, error) {
	s.close()
	if err := s.run(ctx, t); err != nil {
		return nil, fmt.Errorf("discover: %w", err)
	}
	return s.result()
}

// result assembles what is known.
func (s *sweep) result() (*Result, error) {
	if s.opts.Tables {
		s.sayUnread()
	}
	f, err := s.assemble()
	if err != nil {
		return nil, fmt.Errorf("discover: assemble: %w", err)
	}
	s.sortWarnings()
	return &Result{Fabric: f, Details: s.details(f), MADs: s.mads, Warnings: s.warnings, nodes: s.nodes, tables: s.opts.Tables}, nil
}
