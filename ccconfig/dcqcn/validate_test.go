package dcqcn

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/fieldwise"
)

func TestDefaultsAreLegalEverywhere(t *testing.T) {
	t.Parallel()
	for _, l := range []Limits{{}, {Rate32: true}, {UndocumentedGD: true}, {Rate32: true, UndocumentedGD: true}} {
		s := Default()
		if err := s.Validate(l); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

func TestValidateRejectsUnrepresentableValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field  string
		change func(*Settings)
		limits Limits
		legal  bool
	}{
		{"rpg_time_reset", func(s *Settings) { s.TimeReset = 0 }, Limits{}, false},
		{"rpg_time_reset", func(s *Settings) { s.TimeReset = 131072 }, Limits{Rate32: true}, false},
		{"rpg_byte_reset", func(s *Settings) { s.ByteReset = 0 }, Limits{}, true},
		{"rpg_byte_reset", func(s *Settings) { s.ByteReset = 32768 }, Limits{}, false},
		{"rpg_byte_reset", func(s *Settings) { s.ByteReset = 32768 }, Limits{Rate32: true}, true},
		{"rpg_threshold", func(s *Settings) { s.Threshold = 32 }, Limits{}, false},
		{"rpg_ai_rate", func(s *Settings) { s.AIRate = 131072 }, Limits{}, false},
		{"rpg_ai_rate", func(s *Settings) { s.AIRate = 131072 }, Limits{Rate32: true}, true},
		{"rpg_gd", func(s *Settings) { s.GD = 12 }, Limits{}, false},
		{"rpg_gd", func(s *Settings) { s.GD = 12 }, Limits{UndocumentedGD: true}, true},
		{"rpg_gd", func(s *Settings) { s.GD = 16 }, Limits{UndocumentedGD: true}, false},
		{"rpg_min_dec_fac", func(s *Settings) { s.MinDecFac = 0 }, Limits{}, false},
		{"rpg_min_dec_fac", func(s *Settings) { s.MinDecFac = 101 }, Limits{}, false},
		{"rpg_min_rate", func(s *Settings) { s.MinRate = 0 }, Limits{}, false},
		{"rpg_min_rate", func(s *Settings) { s.MinRate, s.MaxRate = 20, 10 }, Limits{}, false},
		{"rpg_min_rate", func(s *Settings) { s.MinRate, s.MaxRate = 10, 10 }, Limits{}, true},
		{"dce_tcp_g", func(s *Settings) { s.G = 1024 }, Limits{}, false},
		{"dce_tcp_rtt", func(s *Settings) { s.AlphaPeriod = 0 }, Limits{}, false},
		{"rate_reduce_monitor_period", func(s *Settings) { s.MonitorPeriod = 0 }, Limits{}, false},
		{"initial_alpha_value", func(s *Settings) { s.InitialAlpha = 1024 }, Limits{}, false},
		{"min_time_between_cnps", func(s *Settings) { s.CNPGap = 131072 }, Limits{}, false},
	} {
		s := Default()
		c.change(&s)
		err := s.Validate(c.limits)
		var fe *fieldwise.Error
		if c.legal != (err == nil) || err != nil && (!errors.As(err, &fe) || fe.Field != c.field || !strings.Contains(err.Error(), "want")) {
			t.Errorf("%s of %+v with %+v: error %v, want legal %v", c.field, s, c.limits, err, c.legal)
		}
	}
}

// Registers lists the fields of Settings in their order, by their JSON names.
func TestRegistersAreTheFields(t *testing.T) {
	t.Parallel()
	regs, typ := (Limits{}).Registers(), reflect.TypeFor[Settings]()
	if len(regs) != typ.NumField() {
		t.Fatalf("%d registers, %d fields", len(regs), typ.NumField())
	}
	for i, r := range regs {
		if tag := typ.Field(i).Tag.Get("json"); tag != r.Name {
			t.Errorf("register %d is %s, field is %s", i, r.Name, tag)
		}
		var s Settings
		switch f := reflect.ValueOf(&s).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		default:
			f.SetUint(1)
		}
		for j, q := range regs {
			if got := q.Value(&s); got != 0 != (i == j) {
				t.Errorf("with %s set, %s is %d", r.Name, q.Name, got)
			}
		}
	}
}

func drawSettings(t *rapid.T) Settings {
	var s Settings
	v := reflect.ValueOf(&s).Elem()
	for i, r := range (Limits{Rate32: true}).Registers() {
		x := rapid.Uint64Range(r.Min, r.Max).Draw(t, r.Name)
		if f := v.Field(i); f.Kind() == reflect.Bool {
			f.SetBool(x == 1)
		} else {
			f.SetUint(x)
		}
	}
	if s.MaxRate > 0 {
		s.MinRate = min(s.MinRate, s.MaxRate)
	}
	return s
}

func TestSettingsInRangeAreLegalAndSurviveJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		if err := s.Validate(Limits{Rate32: true}); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Settings
		if err := json.Unmarshal(b, &back); err != nil || back != s {
			t.Fatalf("%v: %s", err, cmp.Diff(s, back))
		}
	})
}
