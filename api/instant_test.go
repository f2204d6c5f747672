package api

import (
	"math"
	"testing"
	"time"
)

func TestTimesThatMeanNeverAreOmitted(t *testing.T) {
	t.Parallel()
	if got := instant(time.Time{}); got != nil {
		t.Errorf("zero is %v", got)
	}
	if got := instant(time.UnixMicro(math.MaxInt64).UTC()); got != nil {
		t.Errorf("the last time of the store is %v", got)
	}
	at := time.Date(2026, 11, 24, 20, 0, 0, 0, time.UTC)
	if got := instant(at); got == nil || !got.Equal(at) {
		t.Errorf("%v is %v", at, got)
	}
}
