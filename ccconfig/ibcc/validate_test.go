package ibcc

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/fieldwise"
)

// rising is a legal table of n entries.
func rising(n int) []Entry {
	t := make([]Entry, n)
	for i := range t {
		t[i] = Entry{Shift: 3, Multiplier: uint16(min(i, MaxMultiplier))}
	}
	return t
}

// field returns the field that an error names, "" for no error.
func field(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var fe *fieldwise.Error
	if !errors.As(err, &fe) {
		t.Fatalf("error %v is not a *fieldwise.Error", err)
	}
	if fe.Found == "" || fe.Allowed == "" || !strings.Contains(err.Error(), fe.Found) || !strings.Contains(err.Error(), fe.Allowed) {
		t.Errorf("error %q lacks the value found or the allowed values", err)
	}
	return fe.Field
}

func TestEntryValidate(t *testing.T) {
	t.Parallel()
	for e, want := range map[Entry]string{
		{}:              "",
		{3, 16383}:      "",
		{4, 0}:          "shift",
		{255, 0}:        "shift",
		{0, 16384}:      "multiplier",
		{3, 1<<16 - 1}:  "multiplier",
		{4, 1<<16 - 1}:  "shift",
		{MaxShift, 100}: "",
	} {
		if got := field(t, e.Validate()); got != want {
			t.Errorf("%v: fault in %q, want %q", e, got, want)
		}
	}
}

func TestCASettingsValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change              func(*CASettings)
		ranges, consistency string // the field that each check names
	}{
		"legal":                        {func(*CASettings) {}, "", ""},
		"entries above the limit fall": {func(c *CASettings) { c.Limit = 10; c.Table[11] = Entry{} }, "", ""},
		"plateau":                      {func(c *CASettings) { c.Table[6] = c.Table[5] }, "", ""},
		"same delay, another encoding": {func(c *CASettings) { c.Table[5], c.Table[6] = Entry{3, 8}, Entry{0, 1} }, "", "cct[7]"},
		"one entry":                    {func(c *CASettings) { c.Limit, c.Table = 0, []Entry{{}} }, "", ""},
		"minimum at the limit":         {func(c *CASettings) { c.SLs[15].Min = 63 }, "", ""},
		"largest values": {func(c *CASettings) {
			c.PerSL = true
			for sl := range c.SLs {
				c.SLs[sl] = SLParams{1<<16 - 1, 255, 255, 63}
			}
		}, "", ""},
		"no table":             {func(c *CASettings) { c.Limit, c.Table = 0, nil }, "ccti_limit", "ccti_limit"},
		"limit beyond":         {func(c *CASettings) { c.Limit = 64 }, "ccti_limit", "ccti_limit"},
		"table beyond any":     {func(c *CASettings) { c.Table = rising(MaxTableEntries + 1) }, "cct", "cct"},
		"shift":                {func(c *CASettings) { c.Table[63].Shift = 4 }, "cct[63].shift", "cct[63].shift"},
		"multiplier":           {func(c *CASettings) { c.Table[0].Multiplier = 1 << 14 }, "cct[0].multiplier", "cct[0].multiplier"},
		"fault above limit":    {func(c *CASettings) { c.Limit = 5; c.Table[60].Shift = 4 }, "cct[60].shift", "cct[60].shift"},
		"delay at the start":   {func(c *CASettings) { c.Table[0].Multiplier = 1 }, "", "cct[0]"},
		"falls":                {func(c *CASettings) { c.Table[30] = Entry{} }, "", "cct[30]"},
		"falls by its shift":   {func(c *CASettings) { c.Table[1] = Entry{1, 1} }, "", "cct[2]"},
		"falls at the limit":   {func(c *CASettings) { c.Table[63].Multiplier = 61 }, "", "cct[63]"},
		"minimum above":        {func(c *CASettings) { c.SLs[9].Min = 64 }, "", "sl[9].min"},
		"minimum above of SL0": {func(c *CASettings) { c.SLs[0].Min = 255 }, "", "sl[0].min"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := CASettings{Limit: 63, Table: rising(64)}
			c.change(&s)
			if got := field(t, s.ValidateRanges()); got != c.ranges {
				t.Errorf("ranges: fault in %q, want %q", got, c.ranges)
			}
			if got := field(t, s.Validate()); got != c.consistency {
				t.Errorf("sense: fault in %q, want %q", got, c.consistency)
			}
		})
	}
}

// TestValidTablesNeverSpeedUp compares Validate with a check of the delays as fractions.
func TestValidTablesNeverSpeedUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.Custom(func(t *rapid.T) Entry {
			return Entry{rapid.Uint8Range(0, MaxShift).Draw(t, "shift"), rapid.Uint16Range(0, 20).Draw(t, "multiplier")}
		})
		s := CASettings{Table: append([]Entry{{}}, rapid.SliceOfN(entry, 1, 4).Draw(t, "table")...)}
		s.Limit = uint16(len(s.Table) - 1)
		falls := false
		for i := 1; i < len(s.Table); i++ {
			a, b := s.Table[i-1], s.Table[i]
			falls = falls || float64(b.Multiplier)/float64(int(1)<<b.Shift) < float64(a.Multiplier)/float64(int(1)<<a.Shift)
		}
		if err := s.Validate(); (err != nil) != falls {
			t.Errorf("table %v: %v", s.Table, err)
		}
	})
}

func TestSwitchSettingsValidate(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]SwitchSettings{
		"":                           {VictimMask: PortMask{^uint64(0)}, Threshold: 15, PacketSize: 255, CSThreshold: 15, CSReturnDelay: Entry{3, 16383}, MarkingRate: 65535},
		"threshold":                  {Threshold: 16},
		"cs_threshold":               {CSThreshold: 16},
		"cs_return_delay.shift":      {CSReturnDelay: Entry{4, 0}},
		"cs_return_delay.multiplier": {CSReturnDelay: Entry{0, 16384}},
	} {
		if got := field(t, s.Validate()); got != want {
			t.Errorf("%+v: fault in %q, want %q", s, got, want)
		}
	}
}

func TestPortMarkingValidate(t *testing.T) {
	t.Parallel()
	for m, want := range map[PortMarking]string{
		{}: "",
		{Valid: true, Threshold: 15, PacketSize: 255, MarkingRate: 65535}: "",
		{Valid: true, CreditStarvation: true, Threshold: 15}:              "",
		{Threshold: 16}: "threshold",
		{Valid: true, CreditStarvation: true, PacketSize: 1}:  "packet_size",
		{Valid: true, CreditStarvation: true, MarkingRate: 1}: "marking_rate",
		{CreditStarvation: true, MarkingRate: 1}:              "", // means nothing in an invalid element
	} {
		if got := field(t, m.Validate()); got != want {
			t.Errorf("%+v: fault in %q, want %q", m, got, want)
		}
	}
}

func TestReactsAndHighestMin(t *testing.T) {
	t.Parallel()
	var c CASettings
	if c.Reacts() || c.HighestMin() != 0 {
		t.Errorf("defaults: reacts %t, highest minimum %d", c.Reacts(), c.HighestMin())
	}
	c.SLs[15].Increase, c.SLs[4].Min, c.SLs[5].Min = 1, 9, 3
	if !c.Reacts() || c.HighestMin() != 9 {
		t.Errorf("reacts %t, highest minimum %d", c.Reacts(), c.HighestMin())
	}
}
