package vfshare

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
)

// mbit is the bytes/s of 1 Mbit/s.
const mbit = 125_000

// Devlink gives access to the rates of a port's functions in switchdev mode. A write is one command for each function; the
// shares of all its traffic classes are in the same command, as the kernel requires.
type Devlink struct {
	tool      Tool
	table     *nicparam.Table
	port      int
	functions map[int]Function
	keys      []nicparam.Key
}

var _ nicfiles.Accessor = (*Devlink)(nil)

// NewDevlink returns the access to the functions of a port.
func NewDevlink(tool Tool, table *nicparam.Table, port int, functions []Function) (*Devlink, error) {
	d := &Devlink{tool: tool, table: table, port: port, functions: map[int]Function{}}
	for _, f := range functions {
		if f.Index < 0 || f.Index >= maxFunctions || f.Handle == "" {
			return nil, fmt.Errorf("port %d: found function %d with handle %q, want 0..%d and a handle", port, f.Index, nicparam.Clip(f.Handle), maxFunctions-1)
		}
		d.functions[f.Index] = f
		d.keys = append(d.keys, keysOf(table, nicparam.Devlink, port, f.Index)...)
	}
	return d, nil
}

// keysOf returns a back end's keys of one function.
func keysOf(table *nicparam.Table, b nicparam.Backend, port, function int) []nicparam.Key {
	var out []nicparam.Key
	for _, p := range table.By(b) {
		if p.Scope != nicparam.ScopeFunctionTC {
			out = append(out, nicparam.Key{Port: port, Name: p.Name, Index: function})
			continue
		}
		for class := range classes {
			out = append(out, nicparam.Key{Port: port, Name: p.Name, Index: function*classes + class})
		}
	}
	return out
}

// functionOf splits an index into the function and, if it has classes, the class.
func functionOf(k nicparam.Key) (function, class int) {
	if k.Name == "vf_tc_bw" {
		return k.Index / classes, k.Index % classes
	}
	return k.Index, 0
}

func (d *Devlink) Backend() nicparam.Backend { return nicparam.Devlink }

func (d *Devlink) Keys() []nicparam.Key { return d.keys }

func (d *Devlink) Knows(k nicparam.Key) bool {
	function, _ := functionOf(k)
	_, ok := d.functions[function]
	return ok && k.Port == d.port && nicfiles.ParamOf(d.table, nicparam.Devlink, k.Name, k.Index) != nil
}

// rates reads all rates.
func (d *Devlink) rates(ctx context.Context) (map[string]Rate, error) {
	out, err := d.tool.Run(ctx, RateArgs())
	if err != nil {
		return nil, fmt.Errorf("rates of functions: %w: %w", nicfiles.ErrUnreadable, err)
	}
	rates, err := ParseRates(out)
	if err != nil {
		return nil, fmt.Errorf("rates of functions: %w: %w", nicfiles.ErrUnreadable, err)
	}
	return rates, nil
}

// Read sends one command for any number of keys.
func (d *Devlink) Read(ctx context.Context, keys []nicparam.Key) []nicfiles.Reading {
	out := make([]nicfiles.Reading, len(keys))
	rates, err := d.rates(ctx)
	for i, k := range keys {
		out[i] = nicfiles.Reading{Setting: nicparam.Setting{Key: k}, By: nicparam.Devlink, Err: err}
		if err == nil {
			out[i].Value, out[i].Err = d.value(rates, k)
		}
	}
	return out
}

// value returns the value of a key.
func (d *Devlink) value(rates map[string]Rate, k nicparam.Key) (uint64, error) {
	function, class := functionOf(k)
	f, ok := d.functions[function]
	r, has := rates[f.Handle]
	if !ok || !has || k.Port != d.port {
		return 0, fmt.Errorf("%s by devlink: %w", k, nicfiles.ErrAbsent)
	}
	switch k.Name {
	case "vf_tx_share":
		return wholeMbit(k, r.TxShare)
	case "vf_tx_max":
		return wholeMbit(k, r.TxMax)
	case "vf_tx_weight":
		return r.Weight, nil
	case "vf_tc_bw":
		if r.TCBW != nil {
			return r.TCBW[class], nil
		}
	}
	return 0, fmt.Errorf("%s by devlink: %w", k, nicfiles.ErrAbsent)
}

// wholeMbit converts bytes/s to Mbit/s. A rate that is not a whole number of Mbit/s cannot be represented, and so not be
// restored.
func wholeMbit(k nicparam.Key, rate uint64) (uint64, error) {
	if rate%mbit != 0 {
		return 0, fmt.Errorf("%s by devlink: %w: found %d bytes/s, want a multiple of %d (1 Mbit/s)", k, nicfiles.ErrUnreadable, rate, mbit)
	}
	return rate / mbit, nil
}

func (d *Devlink) Write(ctx context.Context, set []nicparam.Setting) []error {
	now := sync.OnceValues(func() (map[string]Rate, error) { return d.rates(ctx) })
	return byFunction(set, func(function int, set []nicparam.Setting) error { return d.writeFunction(ctx, function, set, now) })
}

// byFunction writes settings function by function, in the order of their first occurrence, and stops at the first failure.
func byFunction(set []nicparam.Setting, write func(function int, set []nicparam.Setting) error) []error {
	groups, index := map[int][]nicparam.Setting{}, map[int][]int{}
	var order []int
	for i, s := range set {
		f, _ := functionOf(s.Key)
		if index[f] == nil {
			order = append(order, f)
		}
		groups[f], index[f] = append(groups[f], s), append(index[f], i)
	}
	errs := make([]error, len(set))
	var failed error
	for _, f := range order {
		err := fmt.Errorf("function %d: %w", f, nicfiles.ErrSkipped)
		if failed == nil {
			failed = write(f, groups[f])
			err = failed
		}
		for _, i := range index[f] {
			errs[i] = err
		}
	}
	return errs
}

// writeFunction writes the values of one function. Classes that are not in the set keep their current values.
func (d *Devlink) writeFunction(ctx context.Context, function int, set []nicparam.Setting, now func() (map[string]Rate, error)) error {
	f, ok := d.functions[function]
	if !ok {
		return fmt.Errorf("function %d of port %d by devlink: %w", function, d.port, nicfiles.ErrAbsent)
	}
	var attributes []Attribute
	var shares *[classes]uint64
	for _, s := range set {
		switch s.Name {
		case "vf_tx_share", "vf_tx_max":
			attributes = append(attributes, Attribute{s.Name[len("vf_"):], []string{strconv.FormatUint(s.Value, 10) + "mbit"}})
		case "vf_tx_weight":
			attributes = append(attributes, Attribute{"tx_weight", []string{strconv.FormatUint(s.Value, 10)}})
		case "vf_tc_bw":
			if shares == nil {
				rates, err := now()
				if err != nil {
					return err
				}
				r := rates[f.Handle]
				if r.TCBW == nil {
					return fmt.Errorf("shares of classes of function %d by devlink: %w", f.Index, nicfiles.ErrAbsent)
				}
				shares = new(*r.TCBW)
			}
			_, class := functionOf(s.Key)
			shares[class] = s.Value
		default:
			return fmt.Errorf("%s by devlink: %w", s.Key, nicfiles.ErrAbsent)
		}
	}
	if shares != nil {
		a := Attribute{Name: "tc-bw"}
		for class, v := range shares {
			a.Words = append(a.Words, strconv.Itoa(class)+":"+strconv.FormatUint(v, 10))
		}
		attributes = append(attributes, a)
	}
	if _, err := d.tool.Run(ctx, SetArgs(f.Handle, attributes)); err != nil {
		return fmt.Errorf("rates of function %d (%s): %w: %w", function, f.Handle, nicfiles.ErrRefused, err)
	}
	return nil
}
