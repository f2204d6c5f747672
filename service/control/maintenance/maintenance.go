// Package maintenance has the use cases about announced maintenance: when work on a fabric may affect which tenants, and what they read about it.
package maintenance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// Announcements are the use cases of this package. They are safe for concurrent use.
type Announcements struct{ *control.Base }

// New returns the use cases over the shared base.
func New(b *control.Base) *Announcements { return &Announcements{b} }

// Bounds of announcements.
const (
	maxText  = 500                  // characters of a language
	maxScope = 1000                 // tenants, and places
	maxOpen  = 200                  // of a fabric, that have neither ended nor been canceled
	maxSpan  = 31 * 24 * time.Hour  // of a period
	maxAhead = 366 * 24 * time.Hour // from now to the end
)

// Kinds of events: one about the fabric for operators, and one for each tenant that it touches.
const (
	kindFabric = "fabric.maintenance"
	kindTenant = "tenant.maintenance"
)

// Input is a requested announcement.
type Input struct {
	StartsAt, EndsAt time.Time // rounded outwards to whole minutes
	Text             control.MaintenanceText
	Scope            control.MaintenanceScope
}

// ListMaintenance returns a page of a fabric's maintenance, the one that begins last first; that which ended only when asked for.
func (s *Announcements) ListMaintenance(ctx context.Context, q Query, p control.Page) (list []control.Maintenance, next string, err error) {
	var after time.Time
	if !q.Ended {
		after = s.Now()
	}
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		list, next, err = r.ListMaintenance(ctx, q.Fabric, after, p)
		return err
	})
	return list, next, err
}

// Query selects maintenance of a fabric.
type Query struct {
	Fabric string
	Ended  bool // that which ended or was canceled, too
}

// Maintenance returns one maintenance.
func (s *Announcements) Maintenance(ctx context.Context, fabric, id string) (m control.Maintenance, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { m, err = r.Maintenance(ctx, fabric, id); return err })
	return m, err
}

// TenantMaintenance returns a page of the maintenance that touches a tenant, the one that begins last first: period and text alone.
func (s *Announcements) TenantMaintenance(ctx context.Context, d TenantRef, p control.Page) (list []control.Maintenance, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		list, next, err = r.MaintenanceOf(ctx, d.Fabric, d.Tenant, p)
		return err
	})
	for i := range list {
		m := &list[i]
		list[i] = control.Maintenance{ID: m.ID, StartsAt: m.StartsAt, EndsAt: m.EndsAt, Text: m.Text, CanceledAt: m.CanceledAt}
	}
	return list, next, err
}

// TenantRef is a tenant of a fabric.
type TenantRef struct{ Fabric, Tenant string }

// AddMaintenance announces maintenance with the caller as its author.
func (s *Announcements) AddMaintenance(ctx context.Context, fabric string, in Input) (out control.Maintenance, err error) {
	now := s.Now()
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		open, err := r.CountMaintenance(ctx, fabric, now)
		if err != nil {
			return err
		}
		if open >= maxOpen {
			return &control.ConflictError{Code: "too-much-maintenance", Said: phrase.Of("maintenance.too-many", "n", open)}
		}
		m := control.Maintenance{ID: newID(), Fabric: fabric, Author: control.Actor(ctx), CreatedAt: now}
		if err := s.fill(ctx, r, &m, in, now); err != nil {
			return err
		}
		if out, err = r.CreateMaintenance(ctx, m); err != nil {
			return err
		}
		out.Touches = m.Touches
		return s.record(ctx, r, nil, &out)
	})
	return out, err
}

// UpdateMaintenance replaces the period, text and scope of a maintenance at a version, 0 for any. One that ended or was canceled stays.
func (s *Announcements) UpdateMaintenance(ctx context.Context, fabric, id string, version int64, in Input) (out control.Maintenance, err error) {
	now := s.Now()
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		before, err := r.Maintenance(ctx, fabric, id)
		if err != nil {
			return err
		}
		if state := before.State(now); state == control.MaintenanceEnded || state == control.MaintenanceCanceled {
			return &control.ConflictError{Code: "maintenance-over", Said: phrase.Of("maintenance.over", "id", id)}
		}
		m := before
		m.Version = version
		if err := s.fill(ctx, r, &m, in, now); err != nil {
			return err
		}
		if out, err = r.UpdateMaintenance(ctx, m); err != nil {
			return err
		}
		out.Touches = m.Touches
		return s.record(ctx, r, &before, &out)
	})
	return out, err
}

// CancelMaintenance cancels a maintenance at a version, 0 for any. One that ended or was canceled stays as it is.
func (s *Announcements) CancelMaintenance(ctx context.Context, fabric, id string, version int64) error {
	now := s.Now()
	return s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		before, err := r.Maintenance(ctx, fabric, id)
		if err != nil {
			return err
		}
		if state := before.State(now); state == control.MaintenanceEnded || state == control.MaintenanceCanceled {
			return nil
		}
		m := before
		m.Version, m.CanceledAt, m.UpdatedAt = version, now, now
		after, err := r.UpdateMaintenance(ctx, m)
		if err != nil {
			return err
		}
		after.Touches = before.Touches
		return s.record(ctx, r, &before, &after)
	})
}

// fill checks an input and sets what it asks for, and the tenants that it touches.
func (s *Announcements) fill(ctx context.Context, r control.Repos, m *control.Maintenance, in Input, now time.Time) error {
	m.Text, m.Scope, m.UpdatedAt = in.Text.Trimmed(), in.Scope.Sorted(), now
	m.StartsAt, m.EndsAt = in.StartsAt.UTC().Truncate(time.Minute), roundUp(in.EndsAt.UTC())
	bad := check(m, now)
	all, err := r.AllTenants(ctx, m.Fabric)
	if err != nil {
		return err
	}
	if err := s.addTouched(ctx, r, m, in.Scope, all, bad); err != nil {
		return err
	}
	checkNames(m, all, bad)
	return bad.OrNil()
}

// check rejects a period and a text.
func check(m *control.Maintenance, now time.Time) *control.InvalidError {
	bad := &control.InvalidError{}
	switch {
	case !m.EndsAt.After(m.StartsAt), !m.EndsAt.After(now):
		bad.Add("/ends_at", phrase.Of("maintenance.period", "ends", stamp(m.EndsAt), "after", stamp(latest(m.StartsAt, now))))
	case m.EndsAt.Sub(m.StartsAt) > maxSpan:
		bad.Add("/ends_at", phrase.Of("maintenance.too-long", "max", int(maxSpan/(24*time.Hour))))
	case m.EndsAt.Sub(now) > maxAhead:
		bad.Add("/ends_at", phrase.Of("maintenance.too-far", "max", int(maxAhead/(24*time.Hour))))
	}
	if m.Text == (control.MaintenanceText{}) {
		bad.Add("/text", phrase.Of("maintenance.no-text", "max", maxText))
	}
	for _, x := range []struct{ pointer, text string }{{"/text/en", m.Text.EN}, {"/text/zh", m.Text.ZH}} {
		if n := len([]rune(x.text)); n > maxText {
			bad.Add(x.pointer, phrase.Of("maintenance.text", "n", n, "max", maxText))
		}
	}
	for _, x := range []struct {
		pointer string
		n       int
	}{{"/scope/tenants", len(m.Scope.Tenants)}, {"/scope/places", len(m.Scope.Places)}} {
		if x.n > maxScope {
			bad.Add(x.pointer, phrase.Of("problem.range", "found", x.n, "min", 0, "max", maxScope))
		}
	}
	return bad
}

// record adds the events about a change, and its audit entry. Before the announcement, before is nil.
func (s *Announcements) record(ctx context.Context, r control.Repos, before, after *control.Maintenance) error {
	change := control.Change{After: recorded(after)}
	starts, ends, n := stamp(after.StartsAt), stamp(after.EndsAt), len(after.Touches)
	var said phrase.Text
	switch {
	case before == nil:
		said = phrase.Of("event.maintenance-announced", "id", after.ID, "starts", starts, "ends", ends, "n", n)
	case !after.CanceledAt.IsZero():
		said = phrase.Of("event.maintenance-canceled", "id", after.ID, "starts", starts, "ends", ends, "n", n)
	default:
		said = phrase.Of("event.maintenance-changed", "id", after.ID, "starts", starts, "ends", ends, "n", n)
	}
	if before != nil {
		change.Before = recorded(before)
	}
	if err := s.AddEvent(ctx, r, control.Event{Fabric: after.Fabric, Kind: kindFabric, Subject: after.ID, Said: said}, change); err != nil {
		return err
	}
	return r.AddEvents(ctx, notices(before, after, control.Event{At: s.Now(), Fabric: after.Fabric, Kind: kindTenant, Actor: control.Actor(ctx)}))
}

// notices returns an event for each tenant that sees a change; like has what they have in common.
func notices(before, after *control.Maintenance, like control.Event) (list []control.Event) {
	add := func(said phrase.Text, tenants []string) {
		for _, name := range tenants {
			e := like
			e.Subject, e.Said = name, said
			list = append(list, e)
		}
	}
	starts, ends := stamp(after.StartsAt), stamp(after.EndsAt)
	announced := phrase.Of("event.notice-announced", "starts", starts, "ends", ends)
	if before == nil {
		add(announced, after.Touches)
		return list
	}
	if !after.CanceledAt.IsZero() {
		add(phrase.Of("event.notice-canceled", "starts", starts, "ends", ends), after.Touches)
		return list
	}
	var stay, gone, come []string
	for _, name := range after.Touches {
		if slices.Contains(before.Touches, name) {
			stay = append(stay, name)
		} else {
			come = append(come, name)
		}
	}
	for _, name := range before.Touches {
		if !slices.Contains(after.Touches, name) {
			gone = append(gone, name)
		}
	}
	add(phrase.Of("event.notice-withdrawn", "starts", stamp(before.StartsAt), "ends", stamp(before.EndsAt)), gone)
	add(announced, come)
	if before.Text != after.Text || !before.StartsAt.Equal(after.StartsAt) || !before.EndsAt.Equal(after.EndsAt) {
		add(phrase.Of("event.notice-changed", "starts", starts, "ends", ends), stay) // a change of the scope alone is not theirs to see
	}
	return list
}

// recorded is a maintenance in events and in the audit log.
func recorded(m *control.Maintenance) any {
	return struct {
		StartsAt time.Time                `json:"starts_at"`
		EndsAt   time.Time                `json:"ends_at"`
		Text     control.MaintenanceText  `json:"text"`
		Scope    control.MaintenanceScope `json:"scope"`
		Canceled bool                     `json:"canceled,omitempty"`
	}{m.StartsAt, m.EndsAt, m.Text, m.Scope, !m.CanceledAt.IsZero()}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func roundUp(t time.Time) time.Time {
	if down := t.Truncate(time.Minute); !down.Equal(t) {
		return down.Add(time.Minute)
	}
	return t
}

// newID returns a random identifier of 48 bits: "m-" and 12 digits.
func newID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return "m-" + hex.EncodeToString(b[:])
}
