package nicparam

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/ccconfig/dcqcn"
)

func TestDCQCNSettingsSurviveTheTable(t *testing.T) {
	t.Parallel()
	table := New(Caps{Limits: dcqcn.Limits{Rate32: true, UndocumentedGD: true}})
	rapid.Check(t, func(t *rapid.T) {
		def := dcqcn.Default()
		set := OfDCQCN(2, &def)
		for i := range set {
			p, ok := table.Find(set[i].Name)
			if !ok {
				t.Fatalf("%s is not in the table", set[i].Name)
			}
			set[i].Value = rapid.Uint64Range(p.Min, p.Max).Draw(t, p.Name)
		}
		noise := append([]Setting{{Key{1, "rpg_gd", 0}, 3}, {Key{2, "pfc", 3}, 1}}, set...)
		s, err := DCQCN(2, noise)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(set, OfDCQCN(2, &s)); d != "" {
			t.Fatal(d)
		}
	})
}

func TestDCQCNErrorsNameMissingAndOversizedFields(t *testing.T) {
	t.Parallel()
	def := dcqcn.Default()
	set := OfDCQCN(1, &def)
	if _, err := DCQCN(1, set[1:]); err == nil || !strings.Contains(err.Error(), `"clamp_tgt_rate"`) || strings.Contains(err.Error(), "rpg_gd") {
		t.Errorf("error %v", err)
	}
	if _, err := DCQCN(2, set); err == nil || !strings.Contains(err.Error(), "port 2") {
		t.Errorf("error %v", err)
	}
	for i := range set {
		if set[i].Name == "rpg_gd" {
			set[i].Value = 256
		}
	}
	if s, err := DCQCN(1, set); err == nil || !strings.Contains(err.Error(), "rpg_gd") || s != (dcqcn.Settings{}) {
		t.Errorf("%+v, error %v", s, err)
	}
}
