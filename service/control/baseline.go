package control

import (
	"context"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// BaselineOrigin says whether the settings in a baseline are known to precede Fairlane.
type BaselineOrigin string

// Origins of a baseline.
const (
	OriginBefore  BaselineOrigin = "before"  // they were on the device before Fairlane's first write
	OriginUnknown BaselineOrigin = "unknown" // they may be Fairlane's own; Baseline.Note gives the reason
)

// Baseline holds the settings of a device before Fairlane's first write to it. The transaction that announces that write
// records it. It is never replaced while the fabric is managed.
type Baseline struct {
	Device     driver.Device // as of the recording
	Settings   driver.Settings
	Origin     BaselineOrigin
	Note       phrase.Text // why the origin is unknown; else nothing
	Held       bool        // Fairlane's settings may be on the device
	Rollout    int64       // the rollout that wrote the device first
	RecordedAt time.Time
}

// BaselineRepo stores baselines.
type BaselineRepo interface {
	// AddBaselines adds the baselines of devices that are about to be written, and marks them as held. An existing
	// baseline is kept.
	AddBaselines(ctx context.Context, fabric string, list []Baseline) error
	// Baselines returns the baselines of the given devices, in any order, omitting devices without one. nil returns those
	// of all devices, in order.
	Baselines(ctx context.Context, fabric string, ids []ident.PortID) ([]Baseline, error)
	// Based maps each of the given devices that has a baseline to whether Fairlane's settings may be on it.
	Based(ctx context.Context, fabric string, ids []ident.PortID) (held map[ident.PortID]bool, err error)
	// ListBaselines returns a page of a fabric's baselines, by device.
	ListBaselines(ctx context.Context, fabric string, p Page) (list []Baseline, next string, err error)
	// HeldDevices returns, in order, the devices that may hold Fairlane's settings.
	HeldDevices(ctx context.Context, fabric string) ([]driver.Device, error)
	// HeldUnread reports whether a device that may hold Fairlane's settings has no due time for a reading outside of
	// rollouts.
	HeldUnread(ctx context.Context, fabric string) (bool, error)
	// LetGo records that a read verified that the devices no longer hold Fairlane's settings.
	LetGo(ctx context.Context, fabric string, ids []ident.PortID) error
	// DropBaselines removes all baselines of a fabric and returns how many there were.
	DropBaselines(ctx context.Context, fabric string) (int64, error)
	// NoteRestored records on every fabric that the database was restored from a backup, and holds automatic repairs.
	NoteRestored(ctx context.Context, at time.Time) error
}
