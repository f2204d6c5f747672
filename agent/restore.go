package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/wrcc"
)

// Restoration is one card's part of a Restore.
type Restoration struct {
	Name     string // of the card
	Identity string // node GUID, or the name of a card without one
	// Here reports whether the card is reachable now.
	Here   bool
	Params []Return
	WRCC   []int // ports whose senders are restored
	Err    error // what was not restored; nil otherwise
}

// Return is one parameter that returns to its value from before the agent first wrote it.
type Return struct {
	nicparam.Key
	Now      uint64
	Readable bool // whether Now is valid
	Original uint64
}

// Restore returns everything that was ever set to its earlier value, and removes it from the memory. Failures stay in the
// journal for another attempt. With dry nothing is written. The error joins those of the cards.
func (a *Agent) Restore(ctx context.Context, dry bool) ([]Restoration, error) {
	if err := acquire(ctx, a.sets); err != nil {
		return nil, err
	}
	defer release(a.sets)
	var errs []error
	if !dry {
		// An unfinished transaction that cannot be undone blocks nothing else.
		errs = append(errs, a.recover(ctx))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	byIdentity := map[string]*card{}
	for _, c := range a.list() {
		byIdentity[c.nic().identity()] = c
	}
	a.mu.RLock()
	remembered, halfway := maps.Clone(a.memory.Cards), maps.Clone(a.memory.Intent)
	a.mu.RUnlock()
	for _, id := range slices.Sorted(maps.Keys(halfway)) {
		if c := byIdentity[id]; c == nil || c.nic().Device == nil {
			errs = append(errs, fmt.Errorf("card %s: a transaction on it is unfinished, and the card is absent or unreachable: it may not have its earlier values", id))
		} else if dry {
			remembered[id] = cmp.Or(remembered[id], &cardMemory{Name: c.nic().Name}).with(halfway[id])
		}
	}
	var out []Restoration
	for _, id := range slices.Sorted(maps.Keys(remembered)) {
		r := a.restoreCard(ctx, byIdentity[id], id, remembered[id], dry)
		if r.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Name, r.Err))
		}
		out = append(out, r)
	}
	if !dry && len(out) > 0 {
		errs = append(errs, a.save(context.WithoutCancel(ctx)))
		a.Changed()
	}
	return out, errors.Join(errs...)
}

// with returns the memory plus the earlier values of an unfinished transaction, where no earlier ones are known.
func (m *cardMemory) with(b *before) *cardMemory {
	m = m.clone()
	for _, s := range b.Params {
		if _, known := m.Original.value(s.Key); !known {
			m.Original.put(s.Key, s.Value)
		}
	}
	for port, cfg := range b.WRCC {
		if w := m.WRCC[port]; w == nil || w.Original == nil {
			m.WRCC[port] = &wrccOfAPort{Original: cfg}
		}
	}
	return m
}

// keepOriginals stores, for a transaction that was not undone completely, the earlier values of the parameters that
// still differ, so that Restore and deletes try again, although nothing counts as set. The caller holds sets.
func (a *Agent) keepOriginals(ctx context.Context, c *card, b *before) {
	nic := c.nic()
	a.mu.RLock()
	m := a.memory.of(nic.identity()).clone()
	a.mu.RUnlock()
	keys := make([]nicparam.Key, len(b.Params))
	for i, s := range b.Params {
		keys[i] = s.Key
	}
	for i, r := range nic.Device.Read(ctx, keys) {
		if _, known := m.Original.value(r.Key); !known && (r.Err != nil || r.Value != b.Params[i].Value) {
			m.Original.put(r.Key, b.Params[i].Value)
		}
	}
	for port, cfg := range b.WRCC {
		if on, ok := nic.port(port); ok && on.WRCC != nil && m.WRCC[port] == nil {
			if now, err := on.WRCC.Read(ctx); err != nil || !sameWRCC(now, cfg) {
				m.WRCC[port] = &wrccOfAPort{Original: cfg}
			}
		}
	}
	if m.empty() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	m.nodes(nic)
	if m.Name = nic.Name; m.Boot == "" {
		m.Boot, m.Incarnation = a.boot, nic.Incarnation
	}
	a.memory.Cards[nic.identity()] = m
}

func (a *Agent) restoreCard(ctx context.Context, c *card, id string, m *cardMemory, dry bool) Restoration {
	r := Restoration{Name: m.Name, Identity: id}
	b := &before{Params: m.Original, WRCC: map[int]*wrcc.NICConfig{}}
	for _, port := range slices.Sorted(maps.Keys(m.WRCC)) {
		if w := m.WRCC[port]; w.Original != nil {
			r.WRCC, b.WRCC[port] = append(r.WRCC, port), w.Original
		}
	}
	r.Here = c != nil && c.nic().Device != nil
	now := map[nicparam.Key]uint64{}
	if r.Here {
		if err := acquire(ctx, c.lock); err != nil {
			r.Err = err
			return r
		}
		defer release(c.lock)
		keys := make([]nicparam.Key, len(m.Original))
		for i, s := range m.Original {
			keys[i] = s.Key
		}
		for _, one := range c.nic().Device.Read(ctx, keys) {
			if one.Err == nil {
				now[one.Key] = one.Value
			}
		}
	}
	for _, s := range m.Original {
		v, ok := now[s.Key]
		r.Params = append(r.Params, Return{Key: s.Key, Now: v, Readable: ok, Original: s.Value})
	}
	switch {
	case dry:
		return r
	case !r.Here:
		r.Err = fmt.Errorf("the card is not there, or cannot be reached: %d parameters stay as they are", len(r.Params))
		return r
	}
	if problems := a.putBack(ctx, c, b); len(problems) > 0 {
		r.Err = errors.Join(problems...)
		return r
	}
	a.mu.Lock()
	delete(a.memory.Cards, id)
	a.memory.Generation++
	clear(c.outcomes)
	clear(c.wrcc)
	a.mu.Unlock()
	a.Changed(nicyang.NIC(c.nic().Name))
	return r
}
