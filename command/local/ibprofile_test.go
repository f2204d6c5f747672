package local

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/policy"
	"fairlane/service/config"
	"fairlane/service/setup"
)

const (
	siteModels = `version: 1
profiles:
  - {name: acme-hca, kind: adapter, origin: data sheet, timer_unit_ns: 2048}
assign:
  - {profile: acme-hca, name: "host[12]"}
`
	threeHosts = `version: 1
nodes:
  - {name: sw, kind: switch, ports: 4}
  - {name: host1, kind: host}
  - {name: host2, kind: host}
  - {name: host3, kind: host}
links:
  - {a: host1:1, b: sw:1, rate: 100Gbit/s}
  - {a: host2:1, b: sw:2, rate: 100Gbit/s}
  - {a: host3:1, b: sw:3, rate: 100Gbit/s}
`
	toOneHost = `version: 1
tenants:
  - {name: a, weight: 2}
  - {name: b, weight: 1}
flows:
  - {tenant: a, from: host1, to: host3, qps: 4}
  - {tenant: b, from: host2, to: host3, qps: 4}
`
)

func TestProfileCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"site.yaml": siteModels, "bad.yaml": strings.Replace(siteModels, "2048", "0", 1), "fabric.yaml": threeHosts, "tenants.yaml": toOneHost,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want int, args ...string) string {
		t.Helper()
		for i := range args {
			if strings.HasSuffix(args[i], ".yaml") {
				args[i] = filepath.Join(dir, args[i])
			}
		}
		var out, words bytes.Buffer
		if code := runLocal(t.Context(), append(args, "--lang", "en"), &out, &words); code != want {
			t.Errorf("%v: exit code %d, want %d\n%s%s", args, code, want, &out, &words)
		}
		return out.String() + words.String()
	}
	has := func(text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s\nwant %q", text, want)
			}
		}
	}
	has(run(0, "ib-profile", "list", "--ib-profiles", "site.yaml"), "acme-hca", "ibta-adapter", "ibta-switch", "restart-adapter", "qlogic-qib", "assumed", "standard")
	var shown map[string]any
	if text := run(0, "ib-profile", "show", "acme-hca", "--ib-profiles", "site.yaml", "--json"); json.Unmarshal([]byte(text), &shown) != nil || shown["timer_unit_ns"] != 2048.0 {
		t.Errorf("%s", text)
	}
	has(run(0, "ib-profile", "show", "ibta-switch"), "  - name: \"ibta-switch\"", "threshold_bytes: [122880, ", "basis: \"assumed\"")
	has(run(2, "ib-profile", "show", "acme-hca"), "profile \"acme-hca\"")
	has(run(2, "ib-profile", "check", "bad.yaml"), "bad.yaml:3: profiles[0].timer_unit_ns: found 0, want 1 to 1000000")
	has(run(0, "ib-profile", "check", "site.yaml", "--fabric", "fabric.yaml"), "is valid; profiles of its own: 1", "2  acme-hca", "1  ibta-adapter", "1  ibta-switch")
	compile := []string{"compile", "--fabric", "fabric.yaml", "--tenants", "tenants.yaml", "--json"}
	timer := func(args ...string) (of uint16, profile string) {
		var p policy.Plan
		if err := json.Unmarshal([]byte(run(0, append(args, compile...)...)), &p); err != nil || len(p.CAs) != 3 {
			t.Fatalf("%v, %d ports", err, len(p.CAs))
		}
		return p.CAs[0].Settings.SLs[p.Placements[0].SL].Timer, p.CAs[0].Profile
	}
	generic, none := timer()
	compile = append(compile, "--ib-profiles", "site.yaml")
	slow, name := timer()
	if none != "" || name != "acme-hca" || slow < generic/2-1 || slow > generic/2+1 {
		t.Errorf("timers %d of %q and %d of %q, want half of it by the profile", generic, none, slow, name)
	}
	has(run(2, append(compile, "--plane", "roce")...), "ib-profiles")
	has(run(2, "sim", "serve", "ib16", "--ib-profiles", "bad.yaml"), "timer_unit_ns")
	_, faults := setup.Read(&config.Config{IBProfiles: filepath.Join(dir, "bad.yaml")}, "/", nil)
	if len(faults) != 1 || !strings.Contains(faults[0].Error(), "ib_profiles: ") {
		t.Errorf("config check: %v", faults)
	}
}
