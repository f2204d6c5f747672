package driver_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fairlane/ccconfig/driver"
)

func TestKindsAndOutcomes(t *testing.T) {
	t.Parallel()
	for _, kind := range []error{driver.ErrBusy, driver.ErrInvalid, driver.ErrUnsupported, driver.ErrConflict} {
		err := fmt.Errorf("set: %w: because", kind)
		if got := driver.KindOf(err); !errors.Is(got, kind) {
			t.Errorf("%v is of kind %v", err, got)
		}
		if got := driver.OutcomeOf(err); got != driver.OutcomeRefused {
			t.Errorf("%v: outcome %v, want refused", err, got)
		}
	}
	if got := driver.OutcomeOf(nil); got != driver.OutcomeAcknowledged {
		t.Errorf("no error: outcome %v, want acknowledged", got)
	}
	for _, err := range []error{fmt.Errorf("set: %w", driver.ErrUnreachable), errors.New("of no kind"), context.Canceled} {
		if got := driver.KindOf(err); !errors.Is(got, driver.ErrUnreachable) {
			t.Errorf("%v is of kind %v", err, got)
		}
		if got := driver.OutcomeOf(err); got != driver.OutcomeSent {
			t.Errorf("%v: outcome %v, want sent: it is unknown whether the write was done", err, got)
		}
	}
}
