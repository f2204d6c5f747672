package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// Settings can be changed by an administrator while the service runs. They are the same for all managers.
type Settings struct {
	Shares    ShareSettings `json:"shares"`
	Tasks     TaskSettings  `json:"tasks"`
	Version   int64         `json:"-"` // 0 while all values are defaults
	UpdatedAt time.Time     `json:"-"` // zero while all values are defaults
}

// ShareSettings configure the periodic measurements.
type ShareSettings struct {
	Interval int `json:"interval_s"` // seconds; 0 is never, otherwise at least minShareInterval
	Window   int `json:"window_ms"`  // of the fabric's own time
	Keep     int `json:"keep"`       // measurements of each fabric
}

// minShareInterval is the shortest interval between measurements, in seconds: a measurement reads every port of the
// tenants twice.
const minShareInterval = 10

// TaskSettings bound simulations and calibrations.
type TaskSettings struct {
	Keep  int `json:"keep"`  // ended tasks
	Limit int `json:"limit"` // queued and running tasks
}

// DefaultSettings returns the settings of a service that has none stored.
func DefaultSettings() Settings {
	return Settings{
		Shares: ShareSettings{Window: 100, Keep: 10_000},
		Tasks:  TaskSettings{Keep: 1000, Limit: 100},
	}
}

func (s Settings) check() error {
	var bad control.InvalidError
	if s.Shares.Interval != 0 {
		bad.Within("/shares/interval_s", s.Shares.Interval, minShareInterval, 86400)
	}
	bad.Within("/shares/window_ms", s.Shares.Window, 1, 60000)
	bad.Within("/shares/keep", s.Shares.Keep, 1, 100_000)
	bad.Within("/tasks/keep", s.Tasks.Keep, 1, 10_000)
	bad.Within("/tasks/limit", s.Tasks.Limit, 1, 1000)
	return bad.OrNil()
}

// Settings returns the settings in force.
func (s *Operations) Settings(ctx context.Context) (out Settings, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { out, err = StoredSettings(ctx, r); return err })
	return out, err
}

// StoredSettings returns the settings of the service in a transaction, or the defaults.
func StoredSettings(ctx context.Context, r control.Repos) (Settings, error) {
	out := DefaultSettings()
	text, version, at, err := r.StoredSettings(ctx)
	switch {
	case errors.Is(err, control.ErrNotFound):
		return out, nil
	case err != nil:
		return out, err
	}
	// A field that an older version did not store keeps its default.
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("decode settings: %w", err)
	}
	out.Version, out.UpdatedAt = version, at
	return out, nil
}

// PutSettings replaces the settings at version, or at AnyVersion.
func (s *Operations) PutSettings(ctx context.Context, version int64, in Settings) (out Settings, err error) {
	if err := in.check(); err != nil {
		return Settings{}, err
	}
	err = s.Store.Tx(ctx, func(r control.Repos) error {
		before, err := StoredSettings(ctx, r)
		switch {
		case err != nil:
			return err
		case version != control.AnyVersion && version != before.Version:
			return &control.PreconditionError{Kind: "settings of", Name: "the service", Want: version, Have: before.Version}
		}
		if before.Version > 0 && control.SameJSON(before, in) {
			out = before
			return nil
		}
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode settings: %w", err)
		}
		if err := r.PutSettings(ctx, text, before.Version, s.Now()); err != nil {
			return err
		}
		if out, err = StoredSettings(ctx, r); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Kind: "settings.replaced", Subject: "settings", Said: phrase.Of("event.settings")},
			control.Change{Before: before, After: out})
	})
	return out, err
}
