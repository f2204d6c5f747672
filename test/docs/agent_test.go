package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlane/agent/app"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/internal/testkit/peertest"
)

// TestThePageOfTheAgentHasEverySetting compares the table of settings with the program's.
func TestThePageOfTheAgentHasEverySetting(t *testing.T) {
	t.Parallel()
	if got := section(page(t, "docs/agent.md"), "Configuration"); !strings.Contains(got, app.Reference()) {
		t.Errorf("docs/agent.md, section Configuration, lacks this table:\n%s", app.Reference())
	}
}

// TestThePageOfTheAgentNamesExistingLeaves checks the paths in the page.
func TestThePageOfTheAgentNamesExistingLeaves(t *testing.T) {
	t.Parallel()
	text := section(page(t, "docs/agent.md"), "Tree")
	all := nicyang.Leaves()
	seen := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `(/[^`]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(text, -1) {
		container := strings.Trim(regexp.MustCompile(`\[[^]]*\]`).ReplaceAllString(m[1], ""), "/")
		for _, name := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(m[2], -1) {
			seen++
			if !slices.ContainsFunc(all, func(l nicyang.Leaf) bool { return l.Path == container+"/"+name[1] }) {
				t.Errorf("docs/agent.md names %s/%s, which %s has not", m[1], name[1], nicyang.Module)
			}
		}
	}
	below := 0
	for _, l := range all {
		if !strings.HasPrefix(l.Path, "nics/nic/params/") { // those of a card are those of a port
			below++
		}
	}
	if seen != below {
		t.Errorf("docs/agent.md names %d leaves, and %s has %d", seen, nicyang.Module, below)
	}
}

// TestTheUnitOfTheAgentIsValid has systemd verify the unit, with an existing program in it.
func TestTheUnitOfTheAgentIsValid(t *testing.T) {
	t.Parallel()
	analyze := peertest.Program(t, "systemd-analyze")
	text := page(t, "deploy/systemd/fairlane-agent.service")
	for _, want := range []string{"Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=CAP_NET_ADMIN", "StateDirectory=fairlane-agent", "RestartPreventExitStatus=2"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the unit lacks %s", want)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "fairlane-agent.service")
	if err := os.Mkdir(path+".d", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{path: strings.ReplaceAll(text, "/usr/bin/fairlane-agent", "/bin/true"), filepath.Join(path+".d", "nv.conf"): page(t, "deploy/systemd/fairlane-agent.service.d/nv.conf")} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
