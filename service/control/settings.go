package control

import (
	"context"
	"time"
)

// SettingsRepo keeps the settings as one JSON text.
type SettingsRepo interface {
	// StoredSettings returns the text and its version; *NotFoundError while there is none.
	StoredSettings(ctx context.Context) (text []byte, version int64, at time.Time, err error)
	// PutSettings replaces the text of a version, 0 for none.
	PutSettings(ctx context.Context, text []byte, version int64, at time.Time) error
}
