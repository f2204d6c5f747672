package tour

import (
	"os/exec"
	"strings"
	"testing"

	"fairlane/internal/testkit/peertest"
)

// `make run` runs the demo once; with LISTEN the demo keeps serving at that address.
func TestMakeRunIsTheDemo(t *testing.T) {
	t.Parallel()
	makes := peertest.Program(t, "make")
	for want, args := range map[string][]string{
		"./bin/fairlane demo --plane ib --once":                   {"-n", "run"},
		"./bin/fairlane demo --plane ib --listen 127.0.0.1:18470": {"-n", "run", "LISTEN=127.0.0.1:18470"},
	} {
		out, err := exec.CommandContext(t.Context(), makes, append([]string{"-C", root}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("make %s: %v\n%s", args, err, out)
		}
		if !strings.Contains(string(out), "\n"+want+"\n") {
			t.Errorf("make %s runs\n%swant %s", args, out, want)
		}
	}
}
