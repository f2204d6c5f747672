package keylock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestOnlyCallersOfOneKeyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Locks[string]
		lock := func(ctx context.Context, key string) func() {
			unlock, err := l.Lock(ctx, key)
			if err != nil {
				t.Error(err)
			}
			return unlock
		}
		first := lock(t.Context(), "a")
		lock(t.Context(), "b")()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Lock(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a held lock: %v", err)
		}
		got := false
		go func() {
			unlock := lock(t.Context(), "a")
			got = true
			unlock()
		}()
		synctest.Wait()
		if got {
			t.Error("two callers have a lock")
		}
		first()
		synctest.Wait()
		if !got || len(l.locks) != 0 {
			t.Errorf("got it %v; %d locks are left", got, len(l.locks))
		}
	})
}
