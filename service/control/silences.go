package control

import (
	"context"
	"time"

	"fairlane/service/silence"
)

// SilenceRepo stores silences of alerts.
type SilenceRepo interface {
	CreateSilence(ctx context.Context, s silence.Silence) (silence.Silence, error)
	Silence(ctx context.Context, id int64) (silence.Silence, error)
	// ListSilences returns those that end after an instant, the newest first; the zero time returns all.
	ListSilences(ctx context.Context, endAfter time.Time, p Page) (list []silence.Silence, next string, err error)
	// CountSilences counts those that end after an instant.
	CountSilences(ctx context.Context, endAfter time.Time) (int64, error)
	// SetSilencePeriod replaces both ends of a silence.
	SetSilencePeriod(ctx context.Context, id int64, starts, ends time.Time) error
	// PruneSilences removes those that ended before an instant.
	PruneSilences(ctx context.Context, endedBefore time.Time) error
}
