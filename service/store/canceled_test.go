package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"fairlane/migrations"
	"fairlane/service/control"
)

// TestACanceledTransactionIsCanceled ends the context of transactions before their commit. The error is the context's, so
// that a client that disconnects does not count as a fault of the service.
func TestACanceledTransactionIsCanceled(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		s := openAt(t, fresh(t, d), Options{})
		for kind, run := range map[string]func(context.Context, func(control.Repos) error) error{"view": s.View, "write": s.Tx} {
			ctx, cancel := context.WithCancel(t.Context())
			err := run(ctx, func(control.Repos) error {
				cancel()
				time.Sleep(100 * time.Millisecond) // database/sql rolls back
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a canceled %s: %v", kind, err)
			}
		}
	})
}
