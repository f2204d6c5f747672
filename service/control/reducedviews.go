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

// Reduced returns the fabric as seen by callers with rights in single tenants only: they learn only that it exists.
// Source, topology, versions and times of changes concern all tenants.
func (f Fabric) Reduced() Fabric {
	return Fabric{Name: f.Name, Plane: f.Plane, TimeScale: f.TimeScale, CreatedAt: f.CreatedAt, UpdatedAt: f.CreatedAt}
}

// Reduced returns a measurement as the named tenants see it: their own shares. The rest would reveal other tenants: links
// carry their traffic, the plan's name changes with any tenant, Jain's index covers all tenants, and coverage covers all
// ports.
func (sh Shares) Reduced(names []string) Shares {
	out := Shares{Requested: sh.Requested, Window: sh.Window, MeasuredAt: sh.MeasuredAt, Limit: sh.Limit, Tenants: []TenantShare{}, Links: []LinkUse{}}
	for _, t := range sh.Tenants {
		if slices.Contains(names, t.Tenant) {
			if t.Problem != "" { // the reason may reveal other tenants
				said := phrase.Of("measure.failed")
				t.Problem, t.Said = said.String(), &said
			}
			t.AtSenders, t.Ambiguous = false, nil             // these reveal that others exist
			t.EntitledNow, t.Received, t.Limit = nil, nil, "" // these follow what others send
			out.Tenants = append(out.Tenants, t)
			if e := t.ShareError; e != nil && (out.MaxShareError == nil || *e > *out.MaxShareError) {
				out.MaxShareError = e
			}
		}
	}
	return out
}

// ReducedFault hides from the caller what an error reveals about devices and plans.
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

// MaskedActor replaces the name of an actor outside the tenant in events that a tenant sees. No new account can have that
// name.
const MaskedActor = "operator"

// byTenant reports whether the actor of an event has a role in the event's tenant, and none on its whole fabric. It is
// decided when the event is written: adding a guessed name as a member later must not reveal the actor of earlier events.
func byTenant(ctx context.Context, e Event) bool {
	p, ok := PrincipalFrom(ctx)
	return ok && e.Fabric != "" && !p.Runs(e.Fabric) && strings.HasPrefix(e.Kind, "tenant.") && Actor(ctx) == p.Name && slices.Contains(p.TenantsOn(e.Fabric), e.Subject)
}

// reduced returns an event as its tenant sees it: actors other than its own members are masked.
func (e Event) reduced() Event {
	switch {
	case !e.ByTenant:
		e.Actor = MaskedActor
	case e.Actor == MaskedActor: // an account that is older than the reservation of the name
		e.Actor = "user " + MaskedActor
	}
	e.Rollout = 0
	return e
}

// VisibleSince returns the time from which a caller may see events of a fabric. Only roles on everything see events of an
// earlier fabric of the same name. The zero time is no limit.
func VisibleSince(ctx context.Context, f Fabric) time.Time {
	if who, ok := PrincipalFrom(ctx); ok && !who.Wide() {
		return f.CreatedAt
	}
	return time.Time{}
}

// TenantEvents lists the selected events that are about the named tenants. The filter must name no rollout: tenants do not see rollouts.
func TenantEvents(ctx context.Context, r Repos, f EventFilter, names []string, p Page) ([]Event, string, error) {
	if f.Rollout != 0 {
		return nil, "", &NotFoundError{Kind: "rollout", Name: strconv.FormatInt(f.Rollout, 10)}
	}
	list, next, err := r.TenantEvents(ctx, f, names, p)
	if err != nil {
		return nil, "", err
	}
	for i := range list {
		list[i] = list[i].reduced()
	}
	return list, next, nil
}

// lastHeard returns the number of the newest event about the named tenants: that of the present minute without an event in it.
func lastHeard(ctx context.Context, r Repos, fabric string, names []string, now time.Time) (int64, error) {
	last := now.Truncate(time.Minute).UnixMicro()
	for next := strconv.FormatInt(last, 10); next != ""; {
		var list []Event
		var err error
		if list, next, err = r.TenantEvents(ctx, EventFilter{Fabric: fabric}, names, Page{After: next, Limit: MaxPageLimit}); err != nil {
			return 0, err
		}
		if len(list) > 0 {
			last = list[len(list)-1].ID
		}
	}
	return last, nil
}
