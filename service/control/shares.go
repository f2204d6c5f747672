package control

import (
	"context"
	"time"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
)

// ShareRepo stores measurements of each fabric, up to the number in the settings.
type ShareRepo interface {
	// AddShares adds a measurement, as JSON, and removes the oldest ones beyond keep.
	AddShares(ctx context.Context, fabric string, at time.Time, body []byte, keep int) error
	// ListShares returns measurements, newest first; zero times are no bounds.
	ListShares(ctx context.Context, fabric string, since, until time.Time, p Page) (list [][]byte, next string, err error)
	// ClaimShares reports whether a measurement of the fabric is due, and sets the next due time to next. Of several
	// managers that call it, exactly one receives true.
	ClaimShares(ctx context.Context, fabric string, now, next time.Time) (bool, error)
	// ClaimCollection reports whether owner collects the fabric's series until the given time: it does so already, or the lease of
	// another owner ended before now. An empty owner is invalid.
	ClaimCollection(ctx context.Context, fabric, owner string, now, until time.Time) (bool, error)
}

// Missing counts the tenants and the contended links that were not measured.
func (sh Shares) Missing() (tenants, links int) {
	for _, t := range sh.Tenants {
		if t.Delivered == nil {
			tenants++
		}
	}
	for _, l := range sh.Links {
		if l.Delivered == nil {
			links++
		}
	}
	return tenants, links
}

// Complete reports whether every tenant and every contended link was measured.
func (sh Shares) Complete() bool {
	tenants, links := sh.Missing()
	return tenants+links == 0
}

// Summary describes a measurement in one sentence, with how much is missing.
func (sh Shares) Summary() phrase.Text {
	said := phrase.Of("event.share-error-unmeasured")
	if sh.MaxShareError != nil {
		said = phrase.Of("event.share-error", "error", phrase.PercentOf(*sh.MaxShareError, 1))
	}
	if tenants, links := sh.Missing(); tenants+links > 0 {
		said = phrase.Joined(said,
			phrase.Of("event.shares-missing", "tenants", tenants, "all_tenants", len(sh.Tenants), "links", links, "all_links", len(sh.Links)))
	}
	return said
}

// Bounds of a measurement.
const (
	MinWindow = time.Millisecond
	MaxWindow = time.Minute
	// MaxWall bounds the time that a request may wait for a slow, simulated fabric.
	MaxWall = 4 * time.Minute
)

// Utilisation returns the utilisation of all links together; nil when one was not measured or none has a capacity.
func Utilisation(links []LinkUse) *float64 {
	var used, capacity quantity.BitRate
	for _, l := range links {
		if l.Delivered == nil {
			return nil
		}
		used += *l.Delivered
		capacity += l.Capacity
	}
	if capacity == 0 {
		return nil
	}
	return new(float64(used) / float64(capacity))
}
