package control

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"fairlane/tenants"
)

// reduced is a fabric as those see it who have something on it and do not run it: that it is there.
// Source, topology, versions and times of changes are about everybody.
func (f Fabric) reduced() Fabric {
	return Fabric{Name: f.Name, Plane: f.Plane, TimeScale: f.TimeScale, CreatedAt: f.CreatedAt, UpdatedAt: f.CreatedAt}
}

// reduced is a measurement as the named tenants see it: their own shares. Links carry everybody's
// traffic, the plan's name changes when anybody changes, and Jain's index counts all.
func (sh Shares) reduced(names []string) Shares {
	out := Shares{Requested: sh.Requested, Window: sh.Window, MeasuredAt: sh.MeasuredAt, Tenants: []TenantShare{}, Links: []LinkUse{}}
	for _, t := range sh.Tenants {
		if slices.Contains(names, t.Tenant) {
			if t.Problem != "" { // it may tell of who else is there
				t.Problem = "could not be measured"
			}
			out.Tenants = append(out.Tenants, t)
			out.MaxShareError = max(out.MaxShareError, t.ShareError)
		}
	}
	return out
}

// reducedFault hides from the caller what a fault tells of devices and plans.
func reducedFault(err error) error {
	var away *UnavailableError
	switch {
	case errors.As(err, &away):
		return &UnavailableError{Code: away.Code, Detail: "shares could not be measured now"}
	case errors.Is(err, ErrConflict):
		return &ConflictError{Code: "no-plan", Detail: "no plan is in force yet"}
	}
	return err
}

// reduced is an event as its tenant sees it: who did it is told of its own members only.
func (e Event) reduced(own map[string]bool) Event {
	if !own[e.Actor] {
		e.Actor = "operator"
	}
	e.Rollout = 0
	return e
}

// tenantEvents lists events about the named tenants. rollout must be 0: rollouts are not theirs.
func tenantEvents(ctx context.Context, r Repos, fabric string, names []string, rollout int64, p Page) ([]Event, string, error) {
	if rollout != 0 {
		return nil, "", &NotFoundError{Kind: "rollout", Name: strconv.FormatInt(rollout, 10)}
	}
	list, next, err := r.TenantEvents(ctx, fabric, names, p)
	if err != nil {
		return nil, "", err
	}
	own, err := fellows(ctx, r, fabric, names)
	if err != nil {
		return nil, "", err
	}
	for i := range list {
		list[i] = list[i].reduced(own)
	}
	return list, next, nil
}

// maxFellows bounds the tenants whose members are looked up to name them in events.
const maxFellows = 16

// fellows are the names that may be told in events about the named tenants: their members'.
func fellows(ctx context.Context, r Repos, fabric string, names []string) (map[string]bool, error) {
	own := map[string]bool{}
	if who, ok := PrincipalFrom(ctx); ok {
		own[who.Name] = true
	}
	for _, name := range names[:min(len(names), maxFellows)] {
		members, _, err := r.ListMembers(ctx, tenants.Domain{Fabric: fabric, Tenant: name}, Page{Limit: MaxPageLimit})
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		for _, m := range members {
			own[m.User] = true
		}
	}
	return own, nil
}

// refresh returns a context with the caller's rights as they are at a time, for what outlives a request's beginning.
// It fails with ErrUnauthorized when the account is gone or disabled, or what the caller came with has ended: its
// token was revoked or expired (the OpenID provider's too), its session was ended or is too old. Waiting for events keeps no session alive.
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
	if p.external() { // what it claims is stored nowhere; what is stored may be of another sign-in
		if present, err = claimed(ctx, r, a, p.Claims); err != nil {
			return ctx, err
		}
	}
	p.Grants = present.Grants
	return WithPrincipal(ctx, p), nil
}

// stillHeld is ErrUnauthorized when the token or the session that a principal came with has ended.
func stillHeld(ctx context.Context, r Repos, p Principal, now time.Time) error {
	switch {
	case p.external():
		if !now.Before(p.ExpiresAt) {
			return ErrUnauthorized
		}
	case p.Token != "":
		list, err := r.ListTokens(ctx, p.Account)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(t Token) bool { return t.Name == p.Token })
		if i < 0 || !list[i].ExpiresAt.IsZero() && !now.Before(list[i].ExpiresAt) {
			return ErrUnauthorized
		}
	case p.Session != 0:
		ses, err := r.SessionByID(ctx, p.Session)
		if errors.Is(err, ErrNotFound) || err == nil && !ses.valid(now) {
			return ErrUnauthorized
		}
		return err
	}
	return nil
}
