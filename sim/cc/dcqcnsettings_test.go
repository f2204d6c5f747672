package cc

import (
	"strings"
	"testing"

	registers "fairlane/ccconfig/dcqcn"
)

// The device's defaults as settings are the defaults of the simulated device, and every register reaches
// the parameter of its name.
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
