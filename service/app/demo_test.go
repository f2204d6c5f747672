package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/internal/i18n"
	"fairlane/policy"
)

// demoOn runs the main job on a scenario whose fabric is slower than its time scale says.
func demoOn(t *testing.T, scenario string, slowdown float64) *demoResult {
	t.Helper()
	a := testApp(t, i18n.Default)
	s, err := demoFlags{scenario: scenario, seed: 1}.load()
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.newDemo(t.Context(), s, demoPlace{dir: t.TempDir(), slowdown: slowdown}, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.run(t.Context())
	if err := errors.Join(err, d.close()); err != nil {
		t.Fatal(err)
	}
	return r
}

// A fabric that runs at a fraction of its time scale, as on a busy machine, makes a demo slow and not wrong.
func TestASlowFabricGivesTheSameDemo(t *testing.T) {
	t.Parallel()
	fast, slow := demoOn(t, "ib3to2", 0), demoOn(t, "ib3to2", 3)
	if fast.plan.Name != slow.plan.Name {
		t.Errorf("plans %s and %s", fast.plan.Name, slow.plan.Name)
	}
	for _, r := range []*demoResult{fast, slow} {
		report := r.report()
		if err := report.missed(); err != nil {
			t.Error(err)
		}
	}
}

func TestFinishedPlanesArePrintedWhenOneFails(t *testing.T) {
	t.Parallel()
	whole := func(p policy.Plane) *planeReport {
		small, full := 0.001, 1.0
		return &planeReport{Plane: string(p), MaxShareError: &small, Utilisation: &full, UtilisationBefore: &full}
	}
	a := testApp(t, i18n.Default)
	var out bytes.Buffer
	a.Stdout = &out
	err := a.showPlanes(t.Context(), demoFlags{once: true, json: true}, policy.Planes(), func(p policy.Plane) (*planeReport, error) {
		if p == policy.PlaneRoCE {
			return nil, errors.New("no such luck")
		}
		return whole(p), nil
	})
	if err == nil || !strings.Contains(err.Error(), "plane roce: no such luck") || cmdline.ExitCode(err) != cmdline.ExitFailed {
		t.Errorf("error %v with exit code %d, want that plane roce failed, and %d", err, cmdline.ExitCode(err), cmdline.ExitFailed)
	}
	var got []planeReport
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if len(got) != 2 || got[0].Plane != "ib" || got[1].Plane != "wrcc" {
		t.Errorf("printed %s, want the planes ib and wrcc", out.String())
	}
}

// An address that another process listens on is reported before the demo, not after it.
func TestADemoWhoseAddressIsTakenDoesNotBegin(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var out, words bytes.Buffer
	code := Main(t.Context(), []string{"--lang=en", "demo", "--listen", l.Addr().String()}, &out, &words)
	if code != cmdline.ExitFailed || !strings.Contains(words.String(), l.Addr().String()) || out.Len() > 0 {
		t.Errorf("exit code %d, %q and %q, want %d, the address and no demo", code, out.String(), words.String(), cmdline.ExitFailed)
	}
}
