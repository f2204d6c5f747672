package app

import (
	"errors"
	"testing"

	"fairlane/command/demo"
	"fairlane/sim/scenario"
)

// demoOn runs the main job on a scenario whose fabric is slower than its time scale says.
func demoOn(t *testing.T, name string, slowdown float64) *demo.Result {
	t.Helper()
	s, err := scenario.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Seed = 1
	d, err := demo.OnInfiniBand(t.Context(), s, demo.Place{Dir: t.TempDir(), Slowdown: slowdown}, openForDemo, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Run(t.Context())
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	return r
}

// A fabric that runs at a fraction of its time scale, as on a busy machine, makes a demo slow and not wrong.
func TestASlowFabricGivesTheSameDemo(t *testing.T) {
	t.Parallel()
	fast, slow := demoOn(t, "ib3to2", 0), demoOn(t, "ib3to2", 3)
	if fast.Plan.Name != slow.Plan.Name {
		t.Errorf("plans %s and %s", fast.Plan.Name, slow.Plan.Name)
	}
	for _, r := range []*demo.Result{fast, slow} {
		report := r.Report()
		if err := report.Missed(); err != nil {
			t.Error(err)
		}
	}
}
