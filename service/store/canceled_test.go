package store

import (
	"context"
	"errors"
	"math/rand/v2"
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

// TestATransactionCanceledAtAnyTimeIsCanceled ends contexts at random times of transactions.
func TestATransactionCanceledAtAnyTimeIsCanceled(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		s := openAt(t, fresh(t, d), Options{})
		if err := write(t.Context(), s, "lab"); err != nil {
			t.Fatal(err)
		}
		reads := func(ctx context.Context, run func(context.Context, func(control.Repos) error) error) error {
			return run(ctx, func(r control.Repos) error {
				for range 4 {
					if _, err := r.Fabric(ctx, "lab"); err != nil {
						return err
					}
				}
				return nil
			})
		}
		const n = 600
		r := rand.New(rand.NewPCG(1, 2))
		canceled := 0
		for i := range n {
			run := s.View
			if i%2 == 0 {
				run = s.Tx
			}
			if err := reads(t.Context(), run); err != nil { // so that a connection is open
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			timer := time.AfterFunc(time.Duration(r.IntN(1500))*time.Microsecond, cancel)
			err := reads(ctx, run)
			timer.Stop()
			if errors.Is(err, context.Canceled) {
				canceled++
			} else if err != nil {
				t.Fatalf("transaction %d, after %d canceled ones: %v", i, canceled, err)
			}
			cancel()
		}
		if canceled < n/20 {
			t.Errorf("only %d of %d were canceled: the times prove little", canceled, n)
		}
	})
}
