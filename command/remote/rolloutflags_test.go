package remote

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fairlane/internal/i18n"
	"fairlane/internal/usage"
)

// A safeguard that would be rounded to zero is rejected, and so is one that lacks its counterpart.
func TestIneffectiveRolloutFlagsAreRejected(t *testing.T) {
	t.Parallel()
	texts, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		f    rolloutFlags
		want string
	}{
		{rolloutFlags{confirm: 500 * time.Millisecond}, "--confirm-within 500ms: want whole seconds"},
		{rolloutFlags{confirm: 1500 * time.Millisecond}, "--confirm-within 1.5s"},
		{rolloutFlags{measure: 500 * time.Microsecond}, "--measure 500"},
		{rolloutFlags{verify: true}, "--confirm-within 10m"},
		{rolloutFlags{verify: true, confirm: time.Minute, measure: 20 * time.Millisecond}, ""},
		{rolloutFlags{}, ""},
	} {
		err := tc.f.check(&cli{texts: texts})
		if wrong := (*usage.Error)(nil); tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v gives %v, want %q", tc.f, err, tc.want)
		}
	}
}
