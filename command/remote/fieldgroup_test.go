package remote

import (
	"fmt"
	"slices"
	"testing"

	"fairlane/api/gen"
)

func TestEqualRowsOfServiceLevelsAreJoined(t *testing.T) {
	t.Parallel()
	var list []gen.Difference
	add := func(field, desired, observed string) {
		list = append(list, gen.Difference{Field: field, Desired: desired, Observed: observed})
	}
	add("per_sl", "false", "true")
	for sl := range 16 {
		if sl == 2 {
			add("sl[2].timer", "0", "150")
			add("sl[2].trigger", "0", "32")
			continue
		}
		add(fmt.Sprintf("sl[%d].timer", sl), "0", "28")
	}
	for i := 1; i < 4; i++ {
		add(fmt.Sprintf("cct[%d]", i), "absent", fmt.Sprintf("3:%d", i))
	}
	add("ports[4].valid", "false", "true")
	add("sl[99999999999999999999].timer", "0", "28")
	got := groupFields(list)
	want := []fieldGroup{
		{"per_sl", "false", "true"}, {"sl[0-1,3-15].timer", "0", "28"}, {"sl[2].timer", "0", "150"}, {"sl[2].trigger", "0", "32"},
		{"cct[1-3]", "absent", "3:1 … 3:3"}, {"ports[4].valid", "false", "true"}, {"sl[99999999999999999999].timer", "0", "28"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("grouped as\n%q\nwant\n%q", got, want)
	}
	if got := groupFields(nil); len(got) != 0 {
		t.Errorf("nothing is grouped as %q", got)
	}
}
