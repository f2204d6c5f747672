package control

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"fairlane/tenants"
)

// reduced is a fabric as those see it who have something on it and do not run it: that it is there.
// Source, topology, versions and times of changes are about everybody.
func (f Fabric) reduced() Fabric {
	return Fabric{Name: f.Name, Plane: f.Plane, TimeScale: f.TimeScale, CreatedAt: f.CreatedAt, UpdatedAt: f.CreatedAt}
}

// reduced is a measurement as the named tenants see it: their own shares. Links carry everybody's
// traffic, the plan's name changes when anybody changes, Jain's index counts all, and coverage is that of any port.
func (sh Shares) reduced(names []string) Shares {
	out := Shares{Requested: sh.Requested, Window: sh.Window, MeasuredAt: sh.MeasuredAt, Tenants: []TenantShare{}, Links: []LinkUse{}}
	for _, t := range sh.Tenants {
		if slices.Contains(names, t.Tenant) {
			if t.Problem != "" { // it may tell of who else is there
				t.Problem = "could not be measured"
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
