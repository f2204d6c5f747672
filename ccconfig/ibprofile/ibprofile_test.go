package ibprofile

import (
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/ibcc"
)

// Built-in profiles satisfy the rules for a site's own profiles, and state their origin and assumptions.
func TestBuiltinProfilesAreValidAndNameTheirOrigin(t *testing.T) {
	t.Parallel()
	c := checker{rule: -1}
	taken := map[string]bool{}
	for i, p := range builtin() {
		c.profile = i
		c.one(&p, taken)
		taken[p.Name] = true
		if len(p.Assumptions) == 0 || p.Title == "" {
			t.Errorf("%s states no title or no assumption", p.Name)
		}
	}
	if len(c.errs) > 0 {
		t.Error(c.errs)
	}
	for _, r := range builtinRules() {
		if !taken[r.Profile] {
			t.Errorf("a rule names the profile %q, which does not exist", r.Profile)
		}
	}
}

// Entries of a model use only its encodings, are the nearest ones, and keep their order.
func TestEntriesKeepToTheFormOfTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := AdapterModel{MaxShift: rapid.Uint8Max(3).Draw(t, "shift"), MaxMultiplier: rapid.Uint16Range(1, ibcc.MaxMultiplier).Draw(t, "multiplier")}
		entry := func(name string) ibcc.Entry {
			return ibcc.Entry{Shift: rapid.Uint8Max(3).Draw(t, name), Multiplier: rapid.Uint16Range(0, ibcc.MaxMultiplier).Draw(t, name)}
		}
		x, y := entry("x"), entry("y")
		if x.Eighths() > y.Eighths() {
			x, y = y, x
		}
		if a.Entry(x).Eighths() > a.Entry(y).Eighths() || a.EntryUp(x).Eighths() > a.EntryUp(y).Eighths() {
			t.Fatalf("%s and %s change their order", x, y)
		}
		for _, got := range []ibcc.Entry{a.Entry(x), a.EntryUp(x)} {
			if got.Shift > a.MaxShift || got.Multiplier > a.MaxMultiplier {
				t.Fatalf("%s as %s", x, got)
			}
		}
		if up := a.EntryUp(x); up.Eighths() < x.Eighths() && up.Eighths() != uint32(a.MaxMultiplier)<<ibcc.MaxShift {
			t.Fatalf("%s as %s, which is shorter", x, up)
		}
		full := annexAdapter()
		if full.Entry(x).Eighths() != x.Eighths() {
			t.Fatalf("%s as %s by the annex", x, full.Entry(x))
		}
	})
}

func TestTheGenericThresholdsDivideTheQueueEvenly(t *testing.T) {
	t.Parallel()
	s := builtin()[1].Switch
	for depth, want := range map[int]uint8{1: 15, 8 << 10: 15, 8<<10 + 1: 14, 40 << 10: 11, 96 << 10: 4, 120 << 10: 1, 1 << 20: 1} {
		if got := s.Code(depth); got != want {
			t.Errorf("depth %d: code %d, want %d", depth, got, want)
		}
	}
}
