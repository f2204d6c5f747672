package control

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// watchTick bounds how long a watcher may miss events of other managers.
const watchTick = time.Second

// watchPage is how many events a watcher reads at once.
const watchPage = 200

// Watch follows events. It reads the store, so it sees events of every manager, keeps only its position, and a slow
// reader does not delay others. It is not safe for concurrent use.
type Watch struct {
	s      *Base
	filter EventFilter
	after  int64
}

// WatchEvents returns a watch of the events after the one with the number after; a negative number starts with new
// events. It fails with *NotFoundError when the filter names a fabric that does not exist. Callers limited to single
// tenants follow only their events, with times in place of numbers.
func (s *Base) WatchEvents(ctx context.Context, f EventFilter, after int64) (*Watch, error) {
	w := &Watch{s: s, filter: f, after: after}
	err := s.Store.View(ctx, func(r Repos) error {
		if f.Fabric != "" {
			if _, err := r.Fabric(ctx, f.Fabric); err != nil {
				return err
			}
		}
		last, err := r.LastEvent(ctx)
		if names := VisibleTenants(ctx, f.Fabric); names != nil && err == nil {
			last, err = lastHeard(ctx, r, f.Fabric, names, s.Now())
		}
		if after < 0 || after > last {
			w.after = last
		}
		return err
	})
	return w, err
}

// Next waits for events and returns them in the order they happened, 1 to watchPage of them. It returns an empty list and
// no error when patience has passed without events, and the context's error when the context ended.
func (w *Watch) Next(ctx context.Context, patience time.Duration) ([]Event, error) {
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	for {
		changed := w.s.changed.wait() // before the read, so that no event is missed
		list, err := w.read(ctx)
		if err != nil || len(list) > 0 {
			return list, err
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-end.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *Watch) read(ctx context.Context) (list []Event, err error) {
	p := Page{Limit: watchPage}
	if w.after > 0 {
		p.After = strconv.FormatInt(w.after, 10)
	}
	err = w.s.Store.View(ctx, func(r Repos) error {
		ctx, err := refresh(ctx, r, w.s.Now()) // a caller that lost its rights receives no more events
		if err != nil {
			return err
		}
		if names := VisibleTenants(ctx, w.filter.Fabric); names != nil {
			list, _, err = TenantEvents(ctx, r, w.filter, names, p)
			return err
		}
		filter := w.filter
		if who, ok := PrincipalFrom(ctx); ok && !who.Wide() { // another fabric may have this name by now
			f, err := r.Fabric(ctx, filter.Fabric)
			if err != nil {
				return err
			}
			filter.Since = VisibleSince(ctx, f)
		}
		list, _, err = r.ListEvents(ctx, filter, p)
		return err
	})
	if len(list) > 0 {
		w.after = list[len(list)-1].ID
	}
	return list, err
}

// refresh returns a context with the caller's current rights, for work that outlives the start of a request. It fails
// with ErrUnauthorized when the account is deleted or disabled, or its credential has ended: its token was revoked or
// expired (the OpenID provider's too), its session was ended or is too old. Waiting for events does not keep a session
// alive.
func refresh(ctx context.Context, r Repos, now time.Time) (context.Context, error) {
	p, ok := PrincipalFrom(ctx)
	if !ok || p.Account == 0 {
		return ctx, nil
	}
	a, err := r.AccountByID(ctx, p.Account)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && a.Disabled:
		return ctx, ErrUnauthorized
	case err != nil:
		return ctx, err
	}
	if err := stillHeld(ctx, r, p, now); err != nil {
		return ctx, err
	}
	present := a.Principal()
	if p.External() { // its claims are not stored; the stored roles may be of another sign-in
		if present, err = Claimed(ctx, r, a, p.Claims); err != nil {
			return ctx, err
		}
	}
	p.Grants = present.Grants
	return WithPrincipal(ctx, p), nil
}

// stillHeld returns ErrUnauthorized when the token or the session of a principal has ended.
func stillHeld(ctx context.Context, r Repos, p Principal, now time.Time) error {
	switch {
	case p.External():
		if !now.Before(p.ExpiresAt) {
			return ErrUnauthorized
		}
	case p.Token != "":
		t, err := HeldToken(ctx, r, p)
		if err == nil && t.Ended(now) {
			err = ErrUnauthorized
		}
		return err
	case p.Session != 0:
		ses, err := r.SessionByID(ctx, p.Session)
		if errors.Is(err, ErrNotFound) || err == nil && !ses.Valid(now) {
			return ErrUnauthorized
		}
		return err
	}
	return nil
}
