package nicfiles

import (
	"context"
	"fmt"

	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/nicparam"
)

// Runner runs mstconfig, or mlxconfig, with arguments and returns what it printed. An error of the program itself is an
// error here, with what it printed.
type Runner interface {
	Run(ctx context.Context, args []string) (stdout []byte, err error)
}

// NV is the way by the non-volatile configuration of a card. What is written acts after a firmware reset; what Read
// tells, and a set therefore compares, is the value of the next boot.
type NV struct {
	run    Runner
	table  *nicparam.Table
	device string
	ports  int
}

// NewNV makes the way to a card with so many ports, by its PCI address or the name of its device.
func NewNV(run Runner, table *nicparam.Table, device string, ports int) (*NV, error) {
	if ports < 1 || ports > nicparam.MaxPorts {
		return nil, fmt.Errorf("device %q: found %d ports, want 1..%d", device, ports, nicparam.MaxPorts)
	}
	return &NV{run: run, table: table, device: device, ports: ports}, nil
}

var _ Way = (*NV)(nil)

func (n *NV) Backend() nicparam.Backend { return nicparam.NV }

func (n *NV) Keys() []nicparam.Key {
	var out []nicparam.Key
	for _, p := range n.table.By(nicparam.NV) {
		if p.Scope == nicparam.ScopeDevice {
			out = append(out, nicparam.Key{Name: p.Name})
			continue
		}
		for port := 1; port <= n.ports; port++ {
			out = append(out, nicparam.Key{Port: port, Name: p.Name})
		}
	}
	return out
}

func (n *NV) Knows(k nicparam.Key) bool {
	p := LeadsTo(n.table, nicparam.NV, k.Name, k.Index)
	if p == nil || k.Index != 0 {
		return false
	}
	if p.Scope == nicparam.ScopeDevice {
		return k.Port == 0
	}
	return k.Port >= 1 && k.Port <= n.ports
}

// Query asks the card for all of its parameters: default, current and next.
func (n *NV) Query(ctx context.Context) (*adopt.State, error) {
	out, err := n.run.Run(ctx, adopt.QueryArgs(n.device))
	if err != nil {
		return nil, fmt.Errorf("query non-volatile configuration of %s: %w: %w", n.device, ErrUnreadable, err)
	}
	s, err := adopt.Mlxconfig("mstconfig "+n.device, string(out), n.table)
	if err != nil {
		return nil, fmt.Errorf("query non-volatile configuration: %w: %w", ErrUnreadable, err)
	}
	return s, nil
}

// Read implements Way: one query, whatever the number of keys.
func (n *NV) Read(ctx context.Context, keys []nicparam.Key) []Reading {
	s, err := n.Query(ctx)
	return n.readings(s, err, keys)
}

// Answered is the way as a Query with that result has it: reading by it asks the card no more.
func (n *NV) Answered(s *adopt.State, err error) Way { return &answered{n, s, err} }

type answered struct {
	*NV
	state *adopt.State
	err   error
}

var _ Way = (*answered)(nil)

func (n *answered) Read(_ context.Context, keys []nicparam.Key) []Reading {
	return n.readings(n.state, n.err, keys)
}

// readings are what the result of a query says of keys.
func (n *NV) readings(s *adopt.State, err error, keys []nicparam.Key) []Reading {
	out := make([]Reading, len(keys))
	for i, k := range keys {
		out[i] = Reading{Setting: nicparam.Setting{Key: k}, By: nicparam.NV, Err: err}
		if err != nil {
			continue
		}
		v, ok := s.Value(k, adopt.StageNext)
		if !ok {
			out[i].Err = fmt.Errorf("%s in the non-volatile configuration of %s: %w", k, n.device, ErrAbsent)
		}
		out[i].Value = v
	}
	return out
}

// Write implements Way: one command that sets all, or none when it fails. Once it runs, the end of the context does not end
// it: a program that is killed while it has the card's semaphore leaves that taken.
func (n *NV) Write(ctx context.Context, set []nicparam.Setting) []error {
	errs := make([]error, len(set))
	if err := ctx.Err(); err != nil {
		for i := range errs {
			errs[i] = fmt.Errorf("%w: %w", ErrSkipped, err)
		}
		return errs
	}
	args, err := adopt.SetArgs(n.device, set, n.table)
	if err == nil {
		_, err = n.run.Run(context.WithoutCancel(ctx), args)
	}
	for i := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("set non-volatile configuration of %s: %w: %w", n.device, ErrRefused, err)
		}
	}
	return errs
}

// Pending lists the parameters whose value changes at the next firmware reset.
func (n *NV) Pending(ctx context.Context) ([]adopt.Drift, error) {
	s, err := n.Query(ctx)
	if err != nil {
		return nil, err
	}
	return s.Drift(nil), nil
}
