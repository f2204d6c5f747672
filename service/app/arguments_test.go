package app

import (
	"strings"
	"testing"

	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/policy"
	"fairlane/sim/lab/evaluate"
	"fairlane/sim/simdev"
)

// Every command with --seed keeps its default, which help shows unless it is the scenario's own.
func TestSeedDefaults(t *testing.T) {
	t.Parallel()
	a := testApp(t, "en")
	for path, want := range map[string]string{"demo": "1", "compile": "1", "reproduce": "1", "sim serve": "1", "sim run": "0"} {
		cmd, _, err := a.root(nil).Find(strings.Fields(path))
		if err != nil {
			t.Fatal(err)
		}
		if f := cmd.Flags().Lookup("seed"); f == nil || f.DefValue != want || f.Value.String() != want {
			t.Errorf("%s: %+v, want the default %s", path, f, want)
		}
	}
}

func testApp(t *testing.T, lang string) *app {
	t.Helper()
	return &app{cmdlinetest.App(t, lang)}
}

func TestServedText(t *testing.T) {
	t.Parallel()
	st := simdev.ServerStats{Datagrams: 101, Malformed: 102, Dropped: 103, Unroutable: 104, Refused: 105, Clients: 106}
	const want = "101 management datagrams received, 102 malformed, 104 undeliverable; 103 answers not sent, 105 connections refused, 106 clients attached at the end"
	if got := testApp(t, "en").servedText(st); got != want {
		t.Errorf("got %q", got)
	}
}

func TestTenantsSimulatedOutsideTheirBoundAreNamed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &compiled{Plan: &policy.Plan{Tenants: []policy.TenantShare{{Tenant: "red", Bound: 0.02}, {Tenant: "blue", Bound: 0.5}}}}
	a := testApp(t, "en")
	if a.printOutside(&out, c); out.Len() > 0 {
		t.Errorf("without a simulation: %q", out.String())
	}
	c.Simulation = &evaluate.Simulation{Tenants: []evaluate.SimulatedTenant{
		{Tenant: "red", PredictionError: 0.064}, {Tenant: "blue", PredictionError: 0.064, Within: true},
	}}
	a.printOutside(&out, c)
	if want := "simulated outside the bound: red is 6.4 % off its prediction, which allows for 2 %\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestAStoppedCalibrationSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	a := testApp(t, "en")
	if got, want := a.stoppedCalibration(calibrateFlags{resume: "runs.jsonl"}, 7), "7 runs are done and kept in runs.jsonl: the same command goes on from there"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := a.stoppedCalibration(calibrateFlags{}, 7), "7 runs were done and are lost: --resume FILE keeps them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
