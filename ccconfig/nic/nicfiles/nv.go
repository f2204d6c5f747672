package nicfiles

import (
	"context"
	"fmt"

	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/nicparam"
)

// Runner runs mstconfig, or mlxconfig, with arguments and returns its output. If the program fails, it returns an error with
// the output.
type Runner interface {
	Run(ctx context.Context, args []string) (stdout []byte, err error)
}

// NV accesses the non-volatile configuration of a card. Written values take effect after a firmware reset. Read returns the
// values of the next boot, and a set compares with these.
type NV struct {
	run    Runner
	table  *nicparam.Table
	device string
	ports  int
}

// NewNV returns the access to a card with a number of ports, by its PCI address or the name of its device.
func NewNV(run Runner, table *nicparam.Table, device string, ports int) (*NV, error) {
	if ports < 1 || ports > nicparam.MaxPorts {
		return nil, fmt.Errorf("device %q: found %d ports, want 1..%d", device, ports, nicparam.MaxPorts)
	}
	return &NV{run: run, table: table, device: device, ports: ports}, nil
}

var _ Accessor = (*NV)(nil)

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
	p := ParamOf(n.table, nicparam.NV, k.Name, k.Index)
	if p == nil || k.Index != 0 {
		return false
	}
	if p.Scope == nicparam.ScopeDevice {
		return k.Port == 0
	}
	return k.Port >= 1 && k.Port <= n.ports
}

// Query reads all parameters of the card: default, current and next values.
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

// Read runs one query for any number of keys.
func (n *NV) Read(ctx context.Context, keys []nicparam.Key) []Reading {
	s, err := n.Query(ctx)
	return n.readings(s, err, keys)
}

// Answered returns an accessor that reads from the result of an earlier Query instead of the card.
func (n *NV) Answered(s *adopt.State, err error) Accessor { return &answered{n, s, err} }

type answered struct {
	*NV
	state *adopt.State
	err   error
}

var _ Accessor = (*answered)(nil)

func (n *answered) Read(_ context.Context, keys []nicparam.Key) []Reading {
	return n.readings(n.state, n.err, keys)
}

// readings returns the values of keys from the result of a query.
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

// Write runs one command, which sets all values, or none if it fails. The end of the context does not stop a running
// command, because a killed program would leave the card's semaphore locked.
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

// Pending returns the parameters whose values change at the next firmware reset.
func (n *NV) Pending(ctx context.Context) ([]adopt.Drift, error) {
	s, err := n.Query(ctx)
	if err != nil {
		return nil, err
	}
	return s.Drift(nil), nil
}
