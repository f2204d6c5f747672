package control

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlane/internal/phrase"
)

// Reduced is a fabric as those see it who have something on it and do not run it: that it is there.
// Source, topology, versions and times of changes are about everybody.
func (f Fabric) Reduced() Fabric {
	return Fabric{Name: f.Name, Plane: f.Plane, TimeScale: f.TimeScale, CreatedAt: f.CreatedAt, UpdatedAt: f.CreatedAt}
}

// Reduced is a measurement as the named tenants see it: their own shares. Links carry everybody's
// traffic, the plan's name changes when anybody changes, Jain's index counts all, and coverage is that of any port.
func (sh Shares) Reduced(names []string) Shares {
	out := Shares{Requested: sh.Requested, Window: sh.Window, MeasuredAt: sh.MeasuredAt, Limit: sh.Limit, Tenants: []TenantShare{}, Links: []LinkUse{}}
	for _, t := range sh.Tenants {
		if slices.Contains(names, t.Tenant) {
			if t.Problem != "" { // it may tell of who else is there
				said := phrase.Of("measure.failed")
				t.Problem, t.Said = said.String(), &said
			}
			t.AtSenders, t.Ambiguous = false, nil // others are there
			out.Tenants = append(out.Tenants, t)
			if e := t.ShareError; e != nil && (out.MaxShareError == nil || *e > *out.MaxShareError) {
				out.MaxShareError = e
			}
		}
	}
	return out
}

// ReducedFault hides from the caller what a fault tells of devices and plans.
func ReducedFault(err error) error {
	var away *UnavailableError
	switch {
	case errors.As(err, &away):
		return &UnavailableError{Code: away.Code, Said: phrase.Of("problem.shares-now")}
	case errors.Is(err, ErrConflict):
		return &ConflictError{Code: "no-plan", Said: phrase.Of("problem.no-plan")}
	}
	return err
}

// MaskedActor is the actor that a tenant sees in events of accounts outside of the tenant. No new account can have that name.
const MaskedActor = "operator"

// byTenant reports whether the actor of an event has a role in the tenant of the event, and none on its whole fabric. It is decided when the event
// is written: adding a member later, by a guessed name, must not reveal the actor of earlier events.
func byTenant(ctx context.Context, e Event) bool {
	p, ok := PrincipalFrom(ctx)
	return ok && e.Fabric != "" && !p.Runs(e.Fabric) && strings.HasPrefix(e.Kind, "tenant.") && Actor(ctx) == p.Name && slices.Contains(p.TenantsOn(e.Fabric), e.Subject)
}

// reduced is an event as its tenant sees it: other actors than its own members are masked.
func (e Event) reduced() Event {
	switch {
	case !e.ByTenant:
		e.Actor = MaskedActor
	case e.Actor == MaskedActor: // an account from before the name was reserved
		e.Actor = "user " + MaskedActor
	}
	e.Rollout = 0
	return e
}

// HeardSince is when the events begin that a caller may see of a fabric: of an earlier fabric of its name they are for roles on
// everything only. The zero time is no limit.
func HeardSince(ctx context.Context, f Fabric) time.Time {
	if who, ok := PrincipalFrom(ctx); ok && !who.Wide() {
		return f.CreatedAt
	}
	return time.Time{}
}

// TenantEvents lists events about the named tenants. rollout must be 0: rollouts are not theirs.
func TenantEvents(ctx context.Context, r Repos, fabric string, names []string, rollout int64, p Page) ([]Event, string, error) {
	if rollout != 0 {
		return nil, "", &NotFoundError{Kind: "rollout", Name: strconv.FormatInt(rollout, 10)}
	}
	list, next, err := r.TenantEvents(ctx, fabric, names, p)
	if err != nil {
		return nil, "", err
	}
	for i := range list {
		list[i] = list[i].reduced()
	}
	return list, next, nil
}
