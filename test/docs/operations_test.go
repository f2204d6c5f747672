package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/testkit/peertest"
	"fairlane/service/config"
	"fairlane/service/obs"
	"fairlane/service/series"
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

// rules is the part of an alerting rules file that is checked here.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func TestAlertsUseMetricsThatExistAndSayWhatToDo(t *testing.T) {
	t.Parallel()
	const path = "deploy/prometheus/fairlane.rules.yaml"
	var r rules
	dec := yaml.NewDecoder(strings.NewReader(page(t, path)))
	dec.KnownFields(true)
	if err := dec.Decode(&r); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range obs.Table() {
		names = append(names, m.Name)
		if m.Kind == "histogram" {
			names = append(names, m.Name+"_bucket", m.Name+"_count", m.Name+"_sum")
		}
	}
	failures := section(page(t, "docs/operations.md"), "Failures")
	alerts := 0
	for _, g := range r.Groups {
		for _, a := range g.Rules {
			alerts++
			used := regexp.MustCompile(`fairlane_[a-z_]+`).FindAllString(a.Expr, -1)
			if len(used) == 0 && a.Alert != "FairlaneDown" {
				t.Errorf("%s looks at nothing of ours", a.Alert)
			}
			for _, m := range used {
				if !slices.Contains(names, m) {
					t.Errorf("%s uses %s, which does not exist", a.Alert, m)
				}
			}
			if !strings.Contains(failures, "| `"+a.Alert+"`") {
				t.Errorf("docs/operations.md does not say what to do about %s", a.Alert)
			}
			if a.Annotations["summary"] == "" || a.Annotations["description"] == "" || a.Labels["severity"] == "" || a.For == "" {
				t.Errorf("%s lacks a part", a.Alert)
			}
		}
	}
	if alerts < 5 {
		t.Errorf("%d alerts", alerts)
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", filepath.Join(root, path)).CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
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
