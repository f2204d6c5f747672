package ibsim

import (
	"strings"
	"testing"
)

func TestAbsentSimulatorIsReportedInPlainText(t *testing.T) {
	t.Parallel()
	_, err := Dial(t.Context(), "unix:fairlane-no-such-fabric", Options{})
	if err == nil || strings.Contains(err.Error(), "\x00") || !strings.Contains(err.Error(), "no simulator listens there") {
		t.Errorf("an absent simulator: %q", err)
	}
}
