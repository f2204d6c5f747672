package gnmi_test

import (
	"testing"

	"fairlane/ccconfig/gnmi"
)

// TestMarkingThatTheProfileDoesNotTell has both cases: a profile without wred_green_enable, which some ASICs ignore, and one with false, by
// which others mark on purpose. The counter of marked packets decides.
func TestMarkingThatTheProfileDoesNotTell(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		enable string // empty: the field is missing
		marked string // of the first port; empty: no counter
		want   string
	}{
		"enabled":                        {"true", "", ""},
		"missing, not counted":           {"", "", "ecn-unproven Ethernet0,Ethernet4"},
		"missing, no marks":              {"", "0", "ecn-unproven Ethernet0,Ethernet4"},
		"missing, the first port marks":  {"", "7", "ecn-unproven Ethernet4"},
		"disabled, not counted":          {"false", "", "ecn-off Ethernet0,Ethernet4"},
		"disabled, no marks":             {"false", "0", "ecn-off Ethernet0,Ethernet4"},
		"disabled, the first port marks": {"false", "7", "ecn-off Ethernet4"},
	} {
		_, _, d, dev := oneSwitch(t, func(s *fakeSwitch, c2 tables) {
			p := c2["WRED_PROFILE"]["AZURE_LOSSLESS"]
			if p["wred_green_enable"] = c.enable; c.enable == "" {
				delete(p, "wred_green_enable")
			}
			if c.marked != "" {
				s.dbs["COUNTERS_DB"]["COUNTERS"]["oid:0x15000000000000"]["SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"] = c.marked
			}
		})
		found, err := d.Preflight(t.Context(), dev, roce)
		if got := findingLines(t, name, found); err != nil || got != c.want {
			t.Errorf("%s: findings %q, want %q: %v", name, got, c.want, err)
		}
	}
	_, _, d, dev := oneSwitch(t, func(s *fakeSwitch, c tables) {
		delete(c["WRED_PROFILE"]["AZURE_LOSSLESS"], "wred_green_enable")
		delete(s.dbs["COUNTERS_DB"], "COUNTERS_QUEUE_NAME_MAP")
	})
	if found, err := d.Preflight(t.Context(), dev, roce); err != nil || len(found) != 1 || found[0].Code != gnmi.FindingUnproven {
		t.Errorf("without counters: %+v: %v", found, err)
	}
}
