package control

import (
	"context"
	"time"
)

// SettingsRepo stores the settings as one JSON text.
type SettingsRepo interface {
	// StoredSettings returns the text and its version; *NotFoundError before the first PutSettings.
	StoredSettings(ctx context.Context) (text []byte, version int64, at time.Time, err error)
	// PutSettings replaces the text at a version (0: none stored).
	PutSettings(ctx context.Context, text []byte, version int64, at time.Time) error
}
