package cc

import (
	"strings"
	"testing"

	registers "fairlane/ccconfig/dcqcn"
)

// The device's default registers equal the defaults of the simulator's parameters, and every register sets the parameter of
// its name.
func TestSettingsAreTheParametersOfTheSimulatedDevice(t *testing.T) {
	t.Parallel()
	spec := dcqcnMlxSpec()
	d := registers.Default()
	values := MlxFromSettings(&d)
	for _, r := range (registers.Limits{}).Registers() {
		p, ok := spec.Param(r.Name)
		if !ok {
			t.Errorf("no parameter %s", r.Name)
			continue
		}
		if got := values[r.Name]; got != p.Default {
			t.Errorf("%s: default %s of the device, %s of the simulator", r.Name, p.Text(got), p.Text(p.Default))
		}
	}
	if len(values) != len((registers.Limits{}).Registers()) {
		t.Errorf("%d values", len(values))
	}
	d.ClampTargetRate, d.AIRate, d.TimeReset = true, 40, 55
	values = MlxFromSettings(&d)
	if values["clamp_tgt_rate"] != 1 || values["rpg_ai_rate"] != 40e6 || values.Span("rpg_time_reset") != 55*testUS {
		t.Errorf("values %v", values)
	}
}

func TestNewMlxNamesTheRegisterThatItCannotHold(t *testing.T) {
	t.Parallel()
	s := registers.Default()
	if _, err := NewMlx(&s); err != nil {
		t.Error(err)
	}
	s.MinDecFac = 101
	if _, err := NewMlx(&s); err == nil || !strings.Contains(err.Error(), "rpg_min_dec_fac") {
		t.Errorf("error %v, want one about rpg_min_dec_fac", err)
	}
}

// The algorithms of a run store its flows in one table, so the memory per flow does not depend on the number of different
// registers. Each algorithm uses its own registers.
func TestNewMlxEachKeepsFlowsTogether(t *testing.T) {
	t.Parallel()
	settings := []registers.Settings{registers.Default(), registers.Default()}
	settings[1].MaxRate = 1000
	each, err := NewMlxEach(settings)
	if err != nil || len(each) != 2 {
		t.Fatalf("%d algorithms, %v", len(each), err)
	}
	a, b := each[0].(*dcqcnMlx), each[1].(*dcqcnMlx)
	for _, n := range []int{64, 3 * slotPage} {
		a.Reserve(n)
		b.Reserve(n)
		if a.flows.at(int32(n-1)) != b.flows.at(int32(n-1)) || len(b.flows.pages) != (n+slotPage-1)/slotPage {
			t.Errorf("%d slots in %d pages: the algorithms do not share them", n, len(b.flows.pages))
		}
	}
	if a.maxRate == b.maxRate || b.maxRate != 1e9 {
		t.Errorf("rates %g and %g bit/s", a.maxRate, b.maxRate)
	}
	settings[1].G = 0
	if _, err := NewMlxEach(settings); err == nil {
		t.Error("a gain of 0 is accepted")
	}
}
