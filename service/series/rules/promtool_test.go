package rules

import (
	"os/exec"
	"path/filepath"
	"testing"

	"fairlane/internal/testkit/peertest"
)

// TestPromtoolAcceptsTheRules has Debian's promtool check the rule file and run its unit tests: when each alert fires and ends.
func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	promtool := peertest.Program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "fairlane.rules.yaml"}, {"test", "rules", "fairlane.rules.test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = filepath.Dir(rulesFile)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
