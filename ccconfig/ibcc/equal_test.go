package ibcc

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/fieldwise"
	"fairlane/subnet/ident"
)

// fields names the differences.
func fields(ds []fieldwise.Difference) []string {
	var names []string
	for _, d := range ds {
		names = append(names, d.Field)
	}
	return names
}

func TestCADiffNamesEveryField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(got *CASettings)
		want   []string
	}{
		"equal":              {func(*CASettings) {}, nil},
		"mode":               {func(g *CASettings) { g.PerSL = true }, []string{"per_sl"}},
		"timer":              {func(g *CASettings) { g.SLs[3].Timer++ }, []string{"sl[3].timer"}},
		"all of an SL":       {func(g *CASettings) { g.SLs[15] = SLParams{1, 2, 3, 4} }, []string{"sl[15].timer", "sl[15].increase", "sl[15].trigger", "sl[15].min"}},
		"entry":              {func(g *CASettings) { g.Table[17].Multiplier++ }, []string{"cct[17]"}},
		"other encoding":     {func(g *CASettings) { g.Table[8] = Entry{2, 4} }, []string{"cct[8]"}},
		"above the limit":    {func(g *CASettings) { g.Table[63] = Entry{} }, nil},
		"longer table":       {func(g *CASettings) { g.Table = rising(128) }, nil},
		"shorter table":      {func(g *CASettings) { g.Table = g.Table[:39] }, []string{"cct[39]", "cct[40]"}},
		"no table":           {func(g *CASettings) { g.Limit, g.Table = 0, nil }, nil}, // checked below
		"limit":              {func(g *CASettings) { g.Limit = 41 }, []string{"ccti_limit"}},
		"zero is not absent": {func(g *CASettings) { g.Table = []Entry{} }, nil}, // checked below
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, got := CASettings{Limit: 40, Table: rising(64)}, CASettings{Limit: 40, Table: rising(64)}
			c.change(&got)
			ds := want.Diff(&got)
			if len(got.Table) == 0 {
				// Every entry, the first zero one included, is missing.
				if n := len(ds); n < 41 || ds[n-41].Field != "cct[0]" || ds[n-41].Got != fieldwise.Absent || ds[n-41].Want != "3:0" {
					t.Errorf("differences %v", ds)
				}
				return
			}
			if d := cmp.Diff(c.want, fields(ds)); d != "" {
				t.Error(d)
			}
			if want.Equal(&got) != (len(c.want) == 0) {
				t.Errorf("equal is %t", want.Equal(&got))
			}
		})
	}
}

func TestDifferencesShowBothValues(t *testing.T) {
	t.Parallel()
	want, got := CASettings{Limit: 1, Table: rising(2)}, CASettings{PerSL: true, Limit: 1, Table: rising(1)}
	got.SLs[2].Increase = 7
	var lines []string
	for _, d := range want.Diff(&got) {
		lines = append(lines, d.String())
	}
	if d := cmp.Diff([]string{"per_sl: want false, got true", "sl[2].increase: want 0, got 7", "cct[1]: want 3:1, got absent"}, lines); d != "" {
		t.Error(d)
	}
}

func TestSwitchDiffNamesEveryField(t *testing.T) {
	t.Parallel()
	var got SwitchSettings
	got.VictimMask.Set(1)
	got.CreditMask.Set(255)
	got.Threshold, got.PacketSize, got.CSThreshold, got.CSReturnDelay, got.MarkingRate = 1, 2, 3, Entry{1, 2}, 4
	var want SwitchSettings
	names := []string{"victim_mask", "credit_mask", "threshold", "packet_size", "cs_threshold", "cs_return_delay", "marking_rate"}
	if d := cmp.Diff(names, fields(want.Diff(&got))); d != "" || want.Equal(&got) {
		t.Error(d)
	}
	if ds := got.Diff(&got); ds != nil || !got.Equal(&got) {
		t.Errorf("differs from itself: %v", ds)
	}
}

func TestPortDiffIgnoresInvalidElements(t *testing.T) {
	t.Parallel()
	valid := PortMarking{Valid: true, Threshold: 3, PacketSize: 4, MarkingRate: 5}
	for name, c := range map[string]struct {
		want, got PortMarking
		fields    []string
	}{
		"equal":           {valid, valid, nil},
		"both invalid":    {PortMarking{}, PortMarking{Threshold: 9}, nil},
		"became valid":    {PortMarking{Threshold: 3}, valid, []string{"ports[7].valid"}},
		"became invalid":  {valid, PortMarking{}, []string{"ports[7].valid"}},
		"everything else": {valid, PortMarking{Valid: true, CreditStarvation: true}, []string{"ports[7].credit_starvation", "ports[7].threshold", "ports[7].packet_size", "ports[7].marking_rate"}},
	} {
		if d := cmp.Diff(c.fields, fields(c.want.Diff(7, c.got))); d != "" || c.want.Equal(c.got) != (c.fields == nil) {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestPortMaskText(t *testing.T) {
	t.Parallel()
	for want, ports := range map[string][]ident.PortNum{
		"none": nil, "0": {0}, "1-3,7": {1, 2, 3, 7}, "63-64": {63, 64}, "5,254-255": {5, 254, 255},
	} {
		var m PortMask
		top := -1
		for _, p := range ports {
			m.Set(p)
			top = int(p)
		}
		if m.String() != want || m.Max() != top {
			t.Errorf("ports %v: %q with the highest %d, want %q", ports, m, m.Max(), want)
		}
	}
	all := PortMask{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	if all.String() != "0-255" || all.Max() != 255 {
		t.Errorf("all ports: %s, highest %d", all, all.Max())
	}
}

// TestEqualAgreesWithDiff draws two states that differ in few places and compares Diff with
// the places changed.
func TestEqualAgreesWithDiff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := CASettings{Limit: rapid.Uint16Range(0, 130).Draw(t, "limit"), Table: rising(131)}
		got := want
		got.Table = slices.Clone(want.Table)
		changed := 0
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 130), 0, 5, rapid.ID).Draw(t, "entries") {
			got.Table[i].Multiplier += 500
			if i <= int(want.Limit) {
				changed++
			}
		}
		for _, sl := range rapid.SliceOfNDistinct(rapid.IntRange(0, 15), 0, 3, rapid.ID).Draw(t, "SLs") {
			got.SLs[sl].Timer += 3
			changed++
		}
		if n := len(want.Diff(&got)); n != changed || want.Equal(&got) != (changed == 0) {
			t.Errorf("%d differences, want %d", n, changed)
		}
	})
}
