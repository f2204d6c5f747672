package site

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Measurements of one source follow each other, those of others do not wait, and a waiting one ends with its context.
func TestMeasurementsOfAFabricTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		begun, at := time.Now(), make(chan time.Duration, 3)
		for range 3 {
			go func() {
				leave, err := turns.enter(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				at <- time.Since(begun)
				time.Sleep(time.Second)
				leave()
			}()
		}
		synctest.Wait() // one measures, two wait
		other, err := turns.enter(t.Context(), "b")
		if err != nil || time.Since(begun) != 0 {
			t.Fatalf("another source waited %v, %v", time.Since(begun), err)
		}
		other()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := turns.enter(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 100*time.Millisecond {
			t.Errorf("a bounded wait ended after %v: %v", time.Since(begun), err)
		}
		for i := range 3 {
			if got := <-at; got != time.Duration(i)*time.Second {
				t.Errorf("measurement %d began after %v", i, got)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait() // the last one has left
		if len(turns.busy) != 0 {
			t.Errorf("%d sources are still busy", len(turns.busy))
		}
	})
}
