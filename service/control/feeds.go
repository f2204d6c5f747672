package control

import (
	"context"
	"time"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Feed is the whole set of ports that an outside system claims for a tenant.
type Feed struct {
	Fabric, Tenant string
	Name           string         // 1..63 of a-z 0-9 -, unique in its tenant
	Ports          []ident.PortID // sorted; nil in lists
	// Claimed has the rates that are promised to the tenant's workloads, one for each of Ports; nil: none, and in lists.
	Claimed []quantity.BitRate
	// NodeFunctions says that the ports' hosts choose the virtual functions of the workloads.
	NodeFunctions bool
	Count         int    // of Ports
	Actor         string // who changed it last
	Version       int64  // grows with every change of Ports, Claimed or NodeFunctions, from 1
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// MaxFeeds bounds the feeds of one tenant.
const MaxFeeds = 64

// FeedFilter selects feeds; empty fields select all.
type FeedFilter struct{ Fabric, Tenant, Feed string }

// FeedRepo stores feeds. It does not change attachments.
type FeedRepo interface {
	// Feeds returns the feeds of the named tenants, or of all for no name, by tenant and name, with their ports.
	Feeds(ctx context.Context, fabric string, tenants ...string) ([]Feed, error)
	// ListFeeds lists feeds by tenant and name, without their ports.
	ListFeeds(ctx context.Context, f FeedFilter, p Page) (list []Feed, next string, err error)
	// PutFeed adds a feed when f.Version is 0, else replaces the claims of the one at f.Version, and returns it with its
	// new version.
	PutFeed(ctx context.Context, f Feed) (Feed, error)
	// DeleteFeed removes a feed.
	DeleteFeed(ctx context.Context, fabric, tenant, name string) error
}

// limitedKey is the context key of WithLimitedRight.
type limitedKey struct{}

// WithLimitedRight marks a request whose caller lacks the right to the operation and has a narrower one: to start rollouts
// of plans that only feeds caused.
func WithLimitedRight(ctx context.Context) context.Context {
	return context.WithValue(ctx, limitedKey{}, true)
}

// LimitedRight reports whether a context was marked by WithLimitedRight.
func LimitedRight(ctx context.Context) bool {
	limited, _ := ctx.Value(limitedKey{}).(bool)
	return limited
}
