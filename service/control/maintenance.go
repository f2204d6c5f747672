package control

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Maintenance is an announced period in which work on a fabric may affect tenants.
type Maintenance struct {
	ID               string // random: it tells a tenant nothing of other announcements
	Fabric           string
	StartsAt, EndsAt time.Time        // whole minutes
	Text             MaintenanceText  // what tenants read
	Scope            MaintenanceScope // as the operator gave it
	Touches          []string         // tenants, by name
	Author           string
	Version          int64
	CreatedAt        time.Time
	UpdatedAt        time.Time
	CanceledAt       time.Time // zero: not canceled
}

// MaintenanceText is the text of an announcement by language; at least one is not empty.
type MaintenanceText struct {
	EN string `json:"en,omitempty"`
	ZH string `json:"zh,omitempty"`
}

// MaintenanceScope says what a maintenance is about. Without tenants and places it is the whole fabric, with tenants that are added later.
type MaintenanceScope struct {
	Tenants []string `json:"tenants,omitempty"` // names
	Places  []string `json:"places,omitempty"`  // switches, hosts and ports, each by a name that is unique on the fabric
}

// Trimmed returns the text without white space around it.
func (t MaintenanceText) Trimmed() MaintenanceText {
	return MaintenanceText{EN: strings.TrimSpace(t.EN), ZH: strings.TrimSpace(t.ZH)}
}

// Sorted returns the scope with each name once.
func (s MaintenanceScope) Sorted() MaintenanceScope {
	unique := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return MaintenanceScope{Tenants: unique(s.Tenants), Places: unique(s.Places)}
}

// Whole reports whether the scope is the whole fabric.
func (s MaintenanceScope) Whole() bool { return len(s.Tenants)+len(s.Places) == 0 }

// MaintenanceState is the state of a maintenance at a time.
type MaintenanceState string

// States of maintenance.
const (
	MaintenancePlanned  MaintenanceState = "planned"
	MaintenanceActive   MaintenanceState = "active"
	MaintenanceEnded    MaintenanceState = "ended"
	MaintenanceCanceled MaintenanceState = "canceled"
)

// State returns the state at a time.
func (m *Maintenance) State(now time.Time) MaintenanceState {
	switch {
	case !m.CanceledAt.IsZero():
		return MaintenanceCanceled
	case !now.Before(m.EndsAt):
		return MaintenanceEnded
	case now.Before(m.StartsAt):
		return MaintenancePlanned
	}
	return MaintenanceActive
}

// MaintenanceRepo stores announcements of maintenance.
type MaintenanceRepo interface {
	// CreateMaintenance adds a maintenance at version 1. Touches is stored unless the scope is the whole fabric.
	CreateMaintenance(ctx context.Context, m Maintenance) (Maintenance, error)
	Maintenance(ctx context.Context, fabric, id string) (Maintenance, error)
	// UpdateMaintenance replaces period, text, scope, Touches and CanceledAt of the maintenance at m.Version (0: at any version).
	UpdateMaintenance(ctx context.Context, m Maintenance) (Maintenance, error)
	// CountMaintenance counts those that end after an instant and are not canceled.
	CountMaintenance(ctx context.Context, fabric string, endAfter time.Time) (int, error)
	// ListMaintenance returns a page of those that end after an instant and are not canceled, the one that begins last first; of all of them
	// for the zero time.
	ListMaintenance(ctx context.Context, fabric string, endAfter time.Time, p Page) (list []Maintenance, next string, err error)
	// MaintenanceOf returns a page of those that touch a tenant and end after it was created, in the same order, without Scope and Touches.
	MaintenanceOf(ctx context.Context, fabric, tenant string, p Page) (list []Maintenance, next string, err error)
}
