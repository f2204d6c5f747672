package local

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/policy"
	"fairlane/service/config"
	"fairlane/service/site"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
)

// newLab writes a lab with `fairlane init`.
func newLab(t *testing.T, plane policy.Plane) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "labs", "one")
	var out, words bytes.Buffer
	if code := runLocal(t.Context(), []string{"--lang=en", "init", dir, "--plane", string(plane)}, &out, &words); code != cmdline.ExitDone {
		t.Fatalf("exit code %d: %s", code, words.String())
	}
	return dir
}

// The files of a lab agree: the scenario has the plan's tenants, flows and, on InfiniBand, service levels, and the
// configuration allows the fabric that the README names.
func TestTheFilesOfALabAgree(t *testing.T) {
	t.Parallel()
	for _, plane := range policy.Planes() {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			dir := newLab(t, plane)
			topo, err := site.ReadFabric(filepath.Join(dir, "fabric.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			ts, flows, err := cmdline.ReadTenants(filepath.Join(dir, "tenants.yaml"), topo)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := policy.Compile(policy.Input{Fabric: topo, Tenants: ts, Flows: flows, Options: policy.Options{Plane: plane}})
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Findings) > 0 {
				t.Errorf("the first plan of a lab has findings: %v", plan.Findings)
			}
			s, err := scenario.Load(filepath.Join(dir, "scenario.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range ts {
				if got := s.Tenants[i]; got.Name != want.Name || got.Weight != want.Weight || got.PKey != want.PKey {
					t.Errorf("tenant %d of the scenario: %s with %s and %s, want %s with %s and %s", i, got.Name, got.Weight, got.PKey, want.Name, want.Weight, want.PKey)
				}
			}
			served := s.TenantFlows()
			if s.Ethernet != nil {
				c, err := live.CaseOf(s)
				if err != nil {
					t.Fatal(err)
				}
				served = c.Flows
			}
			if len(served) != len(flows) {
				t.Fatalf("the scenario has %d flows, the tenants %d", len(served), len(flows))
			}
			for i, f := range flows {
				if g := served[i]; g.Tenant != f.Tenant || g.Src != f.Src || g.Dst != f.Dst || g.QPs != f.QPs {
					t.Errorf("flow %d of the scenario is %+v, want %+v", i, g, f)
				}
			}
			for _, p := range plan.Placements {
				for _, f := range s.Flows {
					if f.Tenant == p.Tenant && f.SL != p.SL {
						t.Errorf("flows of %s have SL %d in the scenario, %d in the plan", p.Tenant, f.SL, p.SL)
					}
				}
			}
			c, err := config.Load(config.Sources{Path: filepath.Join(dir, "fairlane.yaml")})
			if err != nil {
				t.Fatal(err)
			}
			rules, err := config.NewSourceRules(c.Discovery.Sources)
			if err != nil {
				t.Fatal(err)
			}
			source := "ibsim:unix:lab"
			if plane != policy.PlaneIB {
				source = "ethernet:devices/inventory.yaml"
			}
			readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			if err := rules.Check(source); err != nil || !strings.Contains(string(readme), "--source "+source) {
				t.Errorf("source %s: %v; README:\n%s", source, err, readme)
			}
		})
	}
}

func TestInitOverwritesNothing(t *testing.T) {
	t.Parallel()
	dir := newLab(t, policy.PlaneIB)
	before, err := os.ReadFile(filepath.Join(dir, labToken))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "fabric.yaml")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{dir}, filepath.Join(dir, "README.md") + " exists: want a directory that does not exist or is empty"},
		{[]string{file}, file},
		{[]string{filepath.Join(file, "below")}, file},
		{[]string{filepath.Join(dir, "new"), "--plane", "token"}, "want ib, roce or wrcc"},
	} {
		var out, words bytes.Buffer
		if code := runLocal(t.Context(), append([]string{"--lang=en", "init"}, c.args...), &out, &words); code != cmdline.ExitUsage || !strings.Contains(words.String(), c.says) {
			t.Errorf("init %s: exit code %d and %q, want %d and %q", c.args, code, words.String(), cmdline.ExitUsage, c.says)
		}
	}
	after, err := os.ReadFile(filepath.Join(dir, labToken))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the token has changed")
	}
	if info, err := os.Stat(filepath.Join(dir, labToken)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the token: %v, %v", info.Mode(), err)
	}
}

// The Chinese README has the same commands as the English one.
func TestTheReadmesOfALabHaveTheSameCommands(t *testing.T) {
	t.Parallel()
	commands := func(readme string) (out []string) {
		files, err := labOf(policy.PlaneRoCE, readme)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(files[0].text)) {
			if strings.HasPrefix(line, "fairlane ") || strings.HasPrefix(line, "kill ") {
				out = append(out, line)
			}
		}
		return out
	}
	if en, zh := commands("README.md"), commands("README.zh.md"); !slices.Equal(en, zh) || len(en) < 12 {
		t.Errorf("commands in English\n%q\nin Chinese\n%q", en, zh)
	}
}
