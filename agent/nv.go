package agent

import (
	"context"
	"fmt"

	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
)

// answerNV is the result of querying a card's non-volatile configuration.
type answerNV struct {
	state *adopt.State
	err   error
	turn  uint64 // of the card at the query
}

// queryNV queries a card's non-volatile configuration when that is due. During the query it holds only the card's
// querying token, because a query takes seconds, and a hanging program takes up to its time limit. The answer is nil
// when no query was made. due is called with mu held.
func (a *Agent) queryNV(ctx context.Context, c *card, due func() bool) (*answerNV, error) {
	isDue := func() (out *answerNV) {
		a.mu.RLock()
		defer a.mu.RUnlock()
		if c.nic().NV != nil && due() {
			out = &answerNV{turn: c.nvTurn}
		}
		return out
	}
	if isDue() == nil {
		return nil, ctx.Err()
	}
	if err := acquire(ctx, c.querying); err != nil {
		return nil, err
	}
	defer release(c.querying)
	out := isDue() // another query may have been made meanwhile
	nv := c.nic().NV
	if out == nil || nv == nil {
		return nil, ctx.Err()
	}
	out.state, out.err = nv.Query(ctx)
	return out, ctx.Err()
}

// staleNV reports whether the non-volatile configuration must be queried again. The caller holds mu.
func (a *Agent) staleNV(c *card) bool {
	age := a.o.Now().Sub(c.nvAt)
	return a.o.FreshNV == 0 || c.nvAt.IsZero() || age > a.o.FreshNV || age < 0
}

// reachesNV reports whether a requested parameter is accessed through the non-volatile configuration. The caller
// holds mu.
func (c *card) reachesNV(want func(nicparam.Key) bool) bool {
	for i := range c.values {
		if c.byNV(&c.values[i]) && want(c.keys[i]) {
			return true
		}
	}
	return false
}

// current returns the answer, or nil after a later query or write. The caller holds the card's lock.
func (a *Agent) current(c *card, nv *answerNV) *answerNV {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if nv != nil && c.nvTurn != nv.turn {
		return nil
	}
	return nv
}

// noteStages stores an answer. The caller holds the card's lock.
func (a *Agent) noteStages(c *card, nv *answerNV) {
	if nv.err != nil {
		a.log.Warn("non-volatile configuration", "nic", c.nic().Name, "error", nv.err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c.stages, c.nvAt = stagesOf(nv.state), a.o.Now()
	c.nvTurn++
}

// staged returns the values of the next boot from an answer; after a failed query, those of the requested parameters. The
// caller holds the card's lock.
func (c *card) staged(nv *answerNV, want func(nicparam.Key) bool) (out []nicfiles.Reading) {
	for i := range c.values {
		if !c.byNV(&c.values[i]) || nv.err != nil && !want(c.keys[i]) {
			continue
		}
		r := nicfiles.Reading{Setting: nicparam.Setting{Key: c.keys[i]}, By: nicparam.NV, Err: nv.err}
		if nv.err == nil {
			v, ok := nv.state.Value(c.keys[i], adopt.StageNext)
			if r.Value = v; !ok {
				r.Err = fmt.Errorf("%s: %w", c.keys[i], nicfiles.ErrAbsent)
			}
		}
		out = append(out, r)
	}
	return out
}
