package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlane/internal/testkit/peertest"
	"fairlane/service/config"
	"fairlane/service/obs"
	"fairlane/service/series"
	"fairlane/service/series/rules"
)

// between returns the text between <!-- mark --> and <!-- /mark --> in a page.
func between(t *testing.T, text, mark string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "<!-- "+mark+" -->\n")
	out, _, end := strings.Cut(rest, "<!-- /"+mark+" -->")
	if !ok || !end {
		t.Fatalf("no part %q", mark)
	}
	return out
}

func TestThePageOfOperationsHasTheMetricsAndTheExampleEverySetting(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/operations.md")
	if between(t, text, "metrics") != obs.Reference() {
		t.Error("the table of metrics in docs/operations.md is not that of service/obs")
	}
	if between(t, page(t, "docs/telemetry.md"), "families") != series.Reference() {
		t.Error("the table of families in docs/telemetry.md is not that of service/series")
	}
	if page(t, "deploy/fairlane.yaml") != config.Example() {
		t.Error("deploy/fairlane.yaml is not what `fairlane config reference --example` prints")
	}
}

func TestAlertsUseMetricsThatExistAndSayWhatToDo(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"up": true}
	for _, m := range obs.Table() {
		known[m.Name] = true
		if m.Kind == "histogram" {
			known[m.Name+"_bucket"], known[m.Name+"_count"], known[m.Name+"_sum"] = true, true, true
		}
	}
	for _, f := range series.Families() {
		known[f.Name] = true
	}
	runbooks := page(t, rules.RunbookPage)
	metric := regexp.MustCompile(`\b(fairlane_[a-z_]+|slo:[a-z_:0-9]+)`)
	for _, g := range rules.Groups() {
		for _, r := range g.Rules {
			for _, m := range metric.FindAllString(r.Expr, -1) {
				if !known[m] {
					t.Errorf("%s%s uses %s, which does not exist", r.Record, r.Alert, m)
				}
			}
			if r.Alert != "" && !strings.Contains(runbooks, "\n### "+r.Alert+"\n") {
				t.Errorf("%s does not say what to do about %s", rules.RunbookPage, r.Alert)
			}
		}
	}
}

// TestTheUnitIsValid has systemd verify the unit, with an existing program in it.
func TestTheUnitIsValid(t *testing.T) {
	t.Parallel()
	analyze := peertest.Program(t, "systemd-analyze")
	text := page(t, "deploy/systemd/fairlane.service")
	for _, want := range []string{"Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict", "DynamicUser=yes", "StateDirectory=fairlane", "RestartPreventExitStatus=2", "ExecReload=/bin/kill -HUP $MAINPID"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the unit lacks %s", want)
		}
	}
	if strings.Contains(text, "\nExecStartPre=") {
		t.Error("the unit has an ExecStartPre: systemd starts the service again and again when that ends with RestartPreventExitStatus")
	}
	path := filepath.Join(t.TempDir(), "fairlane.service")
	if err := os.Mkdir(path+".d", 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{path: strings.ReplaceAll(text, "/usr/bin/fairlane", "/bin/true")}
	for _, name := range []string{"opensm.conf", "umad.conf"} {
		files[filepath.Join(path+".d", name)] = page(t, "deploy/systemd/fairlane.service.d/"+name)
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
