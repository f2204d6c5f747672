package vfshare

import (
	"context"
	"fmt"
	"sync"

	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
)

// LinkRate holds the rates of a virtual function by route netlink (linux/if_link.h, ifla_vf_rate), in Mbit/s.
type LinkRate struct {
	Function int
	Min, Max uint32 // 0 means none
}

// Links is the part of the host's route netlink for rates of virtual functions.
type Links interface {
	// Rates returns the rates of the functions of a physical function's network device.
	Rates(ctx context.Context, netdev string) ([]LinkRate, error)
	// SetRate sets both rates of one function.
	SetRate(ctx context.Context, netdev string, rate LinkRate) error
}

// Link gives access to the rates of a port's functions in legacy mode.
type Link struct {
	links     Links
	table     *nicparam.Table
	port      int
	netdev    string
	functions int
}

var _ nicfiles.Accessor = (*Link)(nil)

// NewLink returns the access to the functions of a port; functions is their number.
func NewLink(links Links, table *nicparam.Table, port int, netdev string, functions int) (*Link, error) {
	if netdev == "" || functions < 1 || functions > maxFunctions {
		return nil, fmt.Errorf("port %d: found network device %q with %d functions, want a name and 1..%d", port, nicparam.Clip(netdev), functions, maxFunctions)
	}
	return &Link{links: links, table: table, port: port, netdev: netdev, functions: functions}, nil
}

func (l *Link) Backend() nicparam.Backend { return nicparam.Link }

func (l *Link) Keys() []nicparam.Key {
	var out []nicparam.Key
	for f := range l.functions {
		out = append(out, keysOf(l.table, nicparam.Link, l.port, f)...)
	}
	return out
}

func (l *Link) Knows(k nicparam.Key) bool {
	return k.Port == l.port && k.Index < l.functions && nicfiles.ParamOf(l.table, nicparam.Link, k.Name, k.Index) != nil
}

// now reads the rates by function.
func (l *Link) now(ctx context.Context) (map[int]LinkRate, error) {
	rates, err := l.links.Rates(ctx, l.netdev)
	if err != nil {
		return nil, fmt.Errorf("rates of functions of %s: %w: %w", l.netdev, nicfiles.ErrUnreadable, err)
	}
	out := map[int]LinkRate{}
	for _, r := range rates {
		out[r.Function] = r
	}
	return out, nil
}

// Read sends one request for any number of keys.
func (l *Link) Read(ctx context.Context, keys []nicparam.Key) []nicfiles.Reading {
	out := make([]nicfiles.Reading, len(keys))
	rates, err := l.now(ctx)
	for i, k := range keys {
		out[i] = nicfiles.Reading{Setting: nicparam.Setting{Key: k}, By: nicparam.Link, Err: err}
		r, ok := rates[k.Index]
		switch {
		case err != nil:
		case ok && k.Port == l.port && k.Name == "vf_tx_share":
			out[i].Value = uint64(r.Min)
		case ok && k.Port == l.port && k.Name == "vf_tx_max":
			out[i].Value = uint64(r.Max)
		default:
			out[i].Err = fmt.Errorf("%s by link of %s: %w", k, l.netdev, nicfiles.ErrAbsent)
		}
	}
	return out
}

// Write sends one request for each function, with both of its rates.
func (l *Link) Write(ctx context.Context, set []nicparam.Setting) []error {
	now := sync.OnceValues(func() (map[int]LinkRate, error) { return l.now(ctx) })
	return byFunction(set, func(function int, set []nicparam.Setting) error {
		rates, err := now()
		if err != nil {
			return err
		}
		return l.writeFunction(ctx, rates, function, set)
	})
}

func (l *Link) writeFunction(ctx context.Context, rates map[int]LinkRate, function int, set []nicparam.Setting) error {
	r, ok := rates[function]
	if !ok {
		return fmt.Errorf("function %d of %s: %w", function, l.netdev, nicfiles.ErrAbsent)
	}
	for _, s := range set {
		switch v := uint32(min(s.Value, 1<<32-1)); s.Name {
		case "vf_tx_share":
			r.Min = v
		case "vf_tx_max":
			r.Max = v
		default:
			return fmt.Errorf("%s by link of %s: %w", s.Key, l.netdev, nicfiles.ErrAbsent)
		}
	}
	if err := l.links.SetRate(ctx, l.netdev, r); err != nil {
		return fmt.Errorf("rates of function %d of %s: %w: %w", function, l.netdev, nicfiles.ErrRefused, err)
	}
	return nil
}
