package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fairlane/internal/phrase"
)

// Settings are what an administrator can change while the service runs. They are the same for all managers.
type Settings struct {
	Shares    ShareSettings `json:"shares"`
	Tasks     TaskSettings  `json:"tasks"`
	Version   int64         `json:"-"` // 0 while all are defaults
	UpdatedAt time.Time     `json:"-"` // zero while all are defaults
}

// ShareSettings are about the measurements that the service makes by itself.
type ShareSettings struct {
	Interval int `json:"interval_s"` // seconds; 0 is never, else at least minShareInterval
	Window   int `json:"window_ms"`  // of the fabric's own time
	Keep     int `json:"keep"`       // measurements of each fabric
}

// minShareInterval is the shortest interval between measurements, in seconds: a measurement reads every port of the
// tenants twice.
const minShareInterval = 10

// TaskSettings bound simulations and calibrations.
type TaskSettings struct {
	Keep  int `json:"keep"`  // that have ended
	Limit int `json:"limit"` // that wait or run
}

// DefaultSettings are those of a service whose settings nobody has changed.
func DefaultSettings() Settings {
	return Settings{
		Shares: ShareSettings{Window: 100, Keep: 10_000},
		Tasks:  TaskSettings{Keep: 1000, Limit: 100},
	}
}

func (s Settings) check() error {
	var bad InvalidError
	if s.Shares.Interval != 0 {
		bad.within("/shares/interval_s", s.Shares.Interval, minShareInterval, 86400)
	}
	bad.within("/shares/window_ms", s.Shares.Window, 1, 60000)
	bad.within("/shares/keep", s.Shares.Keep, 1, 100_000)
	bad.within("/tasks/keep", s.Tasks.Keep, 1, 10_000)
	bad.within("/tasks/limit", s.Tasks.Limit, 1, 1000)
	return bad.orNil()
}

// SettingsRepo keeps the settings as one JSON text.
type SettingsRepo interface {
	// StoredSettings returns the text and its version; *NotFoundError while there is none.
	StoredSettings(ctx context.Context) (text []byte, version int64, at time.Time, err error)
	// PutSettings replaces the text of a version, 0 for none.
	PutSettings(ctx context.Context, text []byte, version int64, at time.Time) error
}

// Settings returns the settings in force.
func (s *Service) Settings(ctx context.Context) (out Settings, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) { out, err = settings(ctx, r); return err })
	return out, err
}

func settings(ctx context.Context, r Repos) (Settings, error) {
	out := DefaultSettings()
	text, version, at, err := r.StoredSettings(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return out, nil
	case err != nil:
		return out, err
	}
	// What an older version did not know keeps its default.
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("decode settings: %w", err)
	}
	out.Version, out.UpdatedAt = version, at
	return out, nil
}

// PutSettings replaces the settings made against version, or AnyVersion.
func (s *Service) PutSettings(ctx context.Context, version int64, in Settings) (out Settings, err error) {
	if err := in.check(); err != nil {
		return Settings{}, err
	}
	err = s.d.Store.Tx(ctx, func(r Repos) error {
		before, err := settings(ctx, r)
		switch {
		case err != nil:
			return err
		case version != AnyVersion && version != before.Version:
			return &PreconditionError{Kind: "settings of", Name: "the service", Want: version, Have: before.Version}
		}
		if before.Version > 0 && sameJSON(before, in) {
			out = before
			return nil
		}
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode settings: %w", err)
		}
		if err := r.PutSettings(ctx, text, before.Version, s.now()); err != nil {
			return err
		}
		if out, err = settings(ctx, r); err != nil {
			return err
		}
		return s.event(ctx, r, Event{Kind: "settings.replaced", Subject: "settings", Said: phrase.Of("event.settings")},
			change{Before: before, After: out})
	})
	return out, err
}
