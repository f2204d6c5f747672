package gnmidev

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"

	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
)

// rates gives access to the rates of a card's virtual functions, which are devlink parameters on real hosts, for the existing
// functions.
type rates struct {
	card *card
	keys []nicparam.Key
}

func newRates(c *card) *rates {
	r := &rates{card: c}
	for _, row := range c.layout.table.By(nicparam.Devlink) {
		for _, p := range c.ports {
			n := p.functions
			if row.Scope == nicparam.ScopeFunctionTC {
				n *= 8
			}
			for i := range n {
				r.keys = append(r.keys, nicparam.Key{Port: p.number, Name: row.Name, Index: i})
			}
		}
	}
	return r
}

var _ nicfiles.Accessor = (*rates)(nil)

func (r *rates) Backend() nicparam.Backend { return nicparam.Devlink }

func (r *rates) Keys() []nicparam.Key { return r.keys }

func (r *rates) Knows(k nicparam.Key) bool {
	_, _, err := r.find(k)
	return err == nil
}

func (r *rates) Read(ctx context.Context, keys []nicparam.Key) []nicfiles.Reading {
	out := make([]nicfiles.Reading, len(keys))
	r.card.mu.Lock()
	defer r.card.mu.Unlock()
	for i, k := range keys {
		out[i] = nicfiles.Reading{Setting: nicparam.Setting{Key: k}, By: nicparam.Devlink, Err: ctx.Err()}
		if out[i].Err != nil {
			continue
		}
		p, row, err := r.find(k)
		if err == nil {
			err = p.faults.readable(k.Name)
		}
		if err != nil {
			out[i].Err = fmt.Errorf("devlink rate of function %d: %s: %w", k.Index, k, rateError(err, nicfiles.ErrUnreadable))
			continue
		}
		out[i].Value = p.rate(row, k.Index)
	}
	return out
}

// rateError wraps an error with a kind that callers check.
func rateError(err, kind error) error {
	if err == fs.ErrNotExist { //nolint:errorlint // our own
		kind = nicfiles.ErrAbsent
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// find returns the port and row of a rate, It reads only immutable properties of the card.
func (r *rates) find(k nicparam.Key) (*port, *nicparam.Param, error) {
	p, err := r.card.port(k.Port)
	if err != nil {
		return nil, nil, fs.ErrNotExist
	}
	row, ok := r.card.layout.table.Find(k.Name)
	if !ok {
		return nil, nil, fs.ErrNotExist
	}
	n := p.functions
	if row.Scope == nicparam.ScopeFunctionTC {
		n *= 8
	}
	if _, is := row.Source(nicparam.Devlink); !is || k.Index < 0 || k.Index >= n || !r.card.layout.table.Caps().Has(row.Needs) {
		return nil, nil, fs.ErrNotExist
	}
	return p, row, nil
}

// rate returns a rate of a function: the configured or the initial one.
func (p *port) rate(row *nicparam.Param, index int) uint64 {
	if v, ok := p.rates[rateKey{row.Name, index}]; ok {
		return v
	}
	return row.Min
}

func (r *rates) Write(ctx context.Context, set []nicparam.Setting) []error {
	errs := make([]error, len(set))
	r.card.mu.Lock()
	defer r.card.mu.Unlock()
	var failed error
	touched := map[*port]bool{}
	for i, s := range set {
		if failed != nil {
			errs[i] = fmt.Errorf("%s: %w", s.Key, nicfiles.ErrSkipped)
			continue
		}
		if failed = ctx.Err(); failed == nil {
			failed = r.write(s, touched)
		}
		errs[i] = failed
	}
	for p := range touched {
		p.configure()
		r.card.written()
	}
	return errs
}

func (r *rates) write(s nicparam.Setting, touched map[*port]bool) error {
	p, row, err := r.find(s.Key)
	skip := false
	if err == nil {
		skip, err = p.faults.writable(s.Name)
	}
	if err == nil && !row.Legal(s.Value) {
		err = fmt.Errorf("found %s, want %s", strconv.FormatUint(s.Value, 10), row.Allowed())
	}
	if err != nil {
		return fmt.Errorf("devlink rate of function %d: %s: %w", s.Index, s.Key, rateError(err, nicfiles.ErrRefused))
	}
	if skip {
		return nil
	}
	if p.rates == nil {
		p.rates = map[rateKey]uint64{}
	}
	p.rates[rateKey{s.Name, s.Index}] = p.faults.keep(row, s.Value)
	touched[p] = true
	return nil
}
