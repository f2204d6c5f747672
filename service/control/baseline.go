package control

import (
	"context"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/subnet/ident"
)

// BaselineOrigin says what is known of the origin of the settings in a baseline.
type BaselineOrigin string

// Origins.
const (
	OriginBefore  BaselineOrigin = "before"  // they were there before Fairlane's first write
	OriginUnknown BaselineOrigin = "unknown" // they may be Fairlane's own; Baseline.Note says why
)

// Baseline is what a device held before Fairlane's first write to it. It is recorded in the transaction that announces that
// write and is never replaced while the fabric stays under management.
type Baseline struct {
	Device     driver.Device // as it was then
	Settings   driver.Settings
	Origin     BaselineOrigin
	Note       string // why the origin is unknown, in an English sentence; else empty
	Held       bool   // settings of Fairlane may be on the device
	Rollout    int64  // which wrote it first
	RecordedAt time.Time
}

// BaselineRepo keeps baselines.
type BaselineRepo interface {
	// AddBaselines adds the baselines of devices that are about to be written. A device that has one keeps it, and is held
	// from then on.
	AddBaselines(ctx context.Context, fabric string, list []Baseline) error
	// Baselines returns the baselines of the given devices, in any order and without devices that have none; nil returns those
	// of all devices, in order.
	Baselines(ctx context.Context, fabric string, ids []ident.PortID) ([]Baseline, error)
	// Based maps each of the given devices that has a baseline to whether settings of Fairlane may be on it.
	Based(ctx context.Context, fabric string, ids []ident.PortID) (held map[ident.PortID]bool, err error)
	// ListBaselines returns a page of a fabric's baselines, by device.
	ListBaselines(ctx context.Context, fabric string, p Page) (list []Baseline, next string, err error)
	// HeldDevices returns the devices, in order, that settings of Fairlane may be on.
	HeldDevices(ctx context.Context, fabric string) ([]driver.Device, error)
	// HeldUnread reports whether settings of Fairlane may be on a device that has no turn to be read outside of rollouts.
	HeldUnread(ctx context.Context, fabric string) (bool, error)
	// LetGo records that no settings of Fairlane are on the devices any more, as a read verified.
	LetGo(ctx context.Context, fabric string, ids []ident.PortID) error
	// DropBaselines removes all baselines of a fabric and returns how many there were.
	DropBaselines(ctx context.Context, fabric string) (int64, error)
	// NoteRestored records on every fabric that the database was restored from a backup, and puts automatic repairs on hold.
	NoteRestored(ctx context.Context, at time.Time) error
}
