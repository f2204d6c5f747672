package rollout

import (
	"errors"
	"testing"

	"fairlane/internal/phrase"
)

func TestReasonContainsARefusalOnce(t *testing.T) {
	t.Parallel()
	refused := errors.New("place: nothing was written:\nsl 4 is not ours")
	for reason, want := range map[string]string{
		"place: nothing was written:; sl 4 is not ours": "place: nothing was written:; sl 4 is not ours; placements could not be restored for the same reason",
		"wave 2 failed": "wave 2 failed; placements could not be restored: place: nothing was written:; sl 4 is not ours",
	} {
		if got := notReturned(phrase.Verbatim(reason), refused).String(); got != want {
			t.Errorf("after %q the reason is %q, want %q", reason, got, want)
		}
	}
}
