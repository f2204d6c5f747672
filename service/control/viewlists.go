package control

import (
	"context"
	"time"

	"fairlane/internal/quantity"
)

// ViewRepo returns what pages show of large lists: counts, the latest row, and the first rows whose name matches a text. Rows that
// begin with the text come first; text is in lower case.
type ViewRepo interface {
	CountTenants(ctx context.Context, fabric string) (int, error)
	// LatestChange returns the newest event of a fabric since a time that is about neither a measurement nor a single device; the zero
	// time is no limit.
	LatestChange(ctx context.Context, fabric string, since time.Time) (Event, error)
	// TenantsLike returns tenants whose name contains a text.
	TenantsLike(ctx context.Context, fabric, text string, limit int) ([]NamedTenant, error)
	// PlansLike returns plans whose name begins with a text, by name.
	PlansLike(ctx context.Context, fabric, text string, limit int) ([]PlanSummary, error)
	// UsersLike returns the names of users that contain a text.
	UsersLike(ctx context.Context, text string, limit int) ([]string, error)
	// RolloutHead is RolloutRepo.Rollout without the devices.
	RolloutHead(ctx context.Context, fabric string, id int64) (Rollout, error)
}

// NamedTenant is a tenant in a list without its parts.
type NamedTenant struct {
	Name   string
	Weight quantity.Weight
}
