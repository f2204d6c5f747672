package cmdline

import (
	"errors"
	"slices"
	"testing"

	"fairlane/internal/usage"
	"fairlane/policy"
)

func TestParsePlanes(t *testing.T) {
	t.Parallel()
	for _, want := range policy.Planes() {
		if p, err := ParsePlane(string(want)); err != nil || p != want {
			t.Errorf("%s: %q, %v", want, p, err)
		}
		if list, err := ParsePlanes(string(want)); err != nil || !slices.Equal(list, []policy.Plane{want}) {
			t.Errorf("%s: %q, %v", want, list, err)
		}
	}
	if list, err := ParsePlanes("all"); err != nil || !slices.Equal(list, policy.Planes()) {
		t.Errorf("all: %q, %v", list, err)
	}
	for _, text := range []string{"", "IB", "atm"} {
		if _, err := ParsePlane(text); !errors.As(err, new(*usage.Error)) || err.Error() != `plane "`+text+`": want ib, roce or wrcc` {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := ParsePlanes(text); !errors.As(err, new(*usage.Error)) || err.Error() != `plane "`+text+`": want ib, roce, wrcc or all` {
			t.Errorf("%q: %v", text, err)
		}
	}
}
