package opensm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"pgregory.net/rapid"

	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

func TestDriftComparesFilesAndResponsesWithThePlan(t *testing.T) {
	t.Parallel()
	// edit changes the files without OpenSM; sweep makes it read them.
	edit := func(s *fakeSM, old, next string) {
		text := s.disk[partPath]
		if text.Data = strings.ReplaceAll(text.Data, old, next); text == s.disk[partPath] {
			t.Fatalf("nothing to edit: no %q in\n%s", old, text.Data)
		}
		s.disk[partPath] = text
	}
	const gold, silver = 0x0001, 0x0002
	for name, c := range map[string]struct {
		happens func(*fakeSM, []ident.PortID)
		ask     []ident.PKey // nil means all
		want    []string     // field: want/got, in part, in order
	}{
		"nothing":   {func(*fakeSM, []ident.PortID) {}, nil, nil},
		"a comment": {func(s *fakeSM, _ []ident.PortID) { edit(s, "\nsilver=", "\n# ours\nsilver=") }, nil, nil},
		"a line of another program": {func(s *fakeSM, _ []ident.PortID) {
			text := s.disk[partPath]
			text.Data += "other=0x0777: ALL;\n"
			s.disk[partPath] = text
			s.sweep()
		}, nil, nil},
		"a missing marker": {func(s *fakeSM, _ []ident.PortID) { edit(s, "# fairlane end", "# the end") }, nil,
			[]string{"partitions.conf: as planned/do not pair up"}},
		"an edit that is not read yet": {func(s *fakeSM, _ []ident.PortID) { edit(s, "sl=2", "sl=9") }, nil, []string{"partitions.conf: sl=2/sl=9"}},
		"an edit": {func(s *fakeSM, _ []ident.PortID) { edit(s, "sl=2", "sl=9"); s.sweep() }, nil,
			[]string{"partitions.conf: sl=2/sl=9", "path of gold in partition 0x0001: SL 2/SL 9 between ports"}},
		"an edit of a partition that is not queried": {func(s *fakeSM, _ []ident.PortID) { edit(s, "sl=2", "sl=9"); s.sweep() }, []ident.PKey{silver},
			[]string{"partitions.conf: sl=2/sl=9"}},
		"a missing partition": {func(s *fakeSM, _ []ident.PortID) {
			var kept []string
			for l := range strings.Lines(s.disk[partPath].Data) {
				if !strings.HasPrefix(l, "gold") {
					kept = append(kept, l)
				}
			}
			s.disk[partPath] = osmfile.Text{Path: partPath, Present: true, Data: strings.Join(kept, "")}
			s.sweep()
		}, []ident.PKey{gold}, []string{"partitions.conf: gold=0x0001/no such line", "path of gold in partition 0x0001: SL 2/no path between ports"}},
		"answers that differ from the files": {func(s *fakeSM, _ []ident.PortID) {
			right := s.disk[partPath]
			edit(s, "sl=2", "sl=0")
			s.sweep()
			s.disk[partPath] = right
		}, nil, []string{"path of gold in partition 0x0001: SL 2/SL 0"}},
		"another master": {func(s *fakeSM, _ []ident.PortID) { s.guid = 0x77 }, nil, []string{"subnet manager: 0x0000000000000099/0x0000000000000077"}},
		"ports that are down": {func(s *fakeSM, _ []ident.PortID) {
			edit(s, "sl=2", "sl=0")
			s.sweep()
			edit(s, "sl=0", "sl=2")
		}, nil, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, ids := star(t)
			s := newFakeSM("guid 0x99\n", "Default=0x7fff,ipoib:ALL=full;\n", "-")
			p := &Placer{Manager: manager(t, s, Config{}), Fabric: f}
			plan := &Plan{Placements: []Placement{
				{Tenant: "gold", PKey: gold, Port: ids[0], SL: 2}, {Tenant: "gold", PKey: gold, Port: ids[1], SL: 2}, {Tenant: "silver", PKey: silver, Port: ids[2], SL: 3},
			}}
			if err := p.Place(t.Context(), plan, true); err != nil {
				t.Fatal(err)
			}
			if name == "ports that are down" {
				for _, id := range ids {
					ref, _ := f.PortByID(id)
					s.down[f.Port(ref).GUID] = true
				}
			}
			c.happens(s, ids)
			before := fmt.Sprint(s.disk)
			got, err := p.Drift(t.Context(), plan, c.ask)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			var text []string
			for _, d := range got {
				text = append(text, fmt.Sprintf("%s: %s / %s", d.Field, d.Want, d.Got))
			}
			if len(got) != len(c.want) {
				t.Errorf("%s: found %q, want %q", name, text, c.want)
				return
			}
			for i, want := range c.want {
				field, rest, _ := strings.Cut(want, ": ")
				a, b, _ := strings.Cut(rest, "/")
				if d := got[i]; !strings.Contains(d.Field, field) || !strings.Contains(d.Want, a) || !strings.Contains(d.Got, b) || d.Want == d.Got {
					t.Errorf("%s: found %q, want %q", name, text, want)
				}
			}
			if after := fmt.Sprint(s.disk); after != before {
				t.Errorf("%s: a drift check wrote:\n%s", name, after)
			}
		})
	}
}

// Entries of an earlier plan in the files are drift: a repair removes them.
func TestEntriesOfAnEarlierPlanAreDriftUntilRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, ids := star(t)
		s := newFakeSM("-", "-", "-")
		p := &Placer{Manager: manager(t, s, Config{}), Fabric: f}
		old := &Plan{Placements: []Placement{{Tenant: "old", PKey: 2, Port: ids[1], SL: 3}}}
		next := &Plan{Placements: []Placement{{Tenant: "new", PKey: 3, Port: ids[2], SL: 5}}}
		for _, plan := range []*Plan{old, next} {
			if err := p.Place(t.Context(), plan, false); err != nil {
				t.Fatal(err)
			}
		}
		got, err := p.Drift(t.Context(), next, nil)
		if err != nil || len(got) != 2 || got[0].Want != NoLine || !strings.Contains(got[0].Got, "old=0x0002") || !got[0].Left || !got[1].Left {
			t.Errorf("found %+v, %v", got, err)
		}
		file := s.disk[partPath]
		for _, edit := range []string{"sl=3", "sl=5"} { // the left entry, and the desired one
			text := file
			text.Data = strings.Replace(text.Data, edit, "sl=7", 1)
			s.disk[partPath] = text
			got, err := p.Drift(t.Context(), next, nil)
			if err != nil || len(got) == 0 || slices.ContainsFunc(got, func(d Deviation) bool { return d.Left }) {
				t.Errorf("with %s edited by hand: %+v, %v", edit, got, err)
			}
		}
		s.disk[partPath] = file
		if err := p.Place(t.Context(), next, true); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Drift(t.Context(), next, nil); err != nil || len(got) > 0 {
			t.Errorf("after the entry was removed: %+v, %v", got, err)
		}
	})
}

// Long lines are shown where they differ.
func TestDeviationsShowWhereLinesDiffer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		head, a, b, tail := rapid.String().Draw(t, "head"), rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b"), rapid.String().Draw(t, "tail")
		want, got := head+a+tail, head+b+tail
		d := deviation("f", want, got)
		for _, s := range []string{d.Want, d.Got} {
			if len(s) > shownWidth+2*len("…") || utf8.ValidString(want+got) && !utf8.ValidString(s) {
				t.Fatalf("shown is %q", s)
			}
		}
		if want != got && isASCII(want+got) && d.Want == d.Got {
			t.Fatalf("%q and %q are both shown as %q", want, got, d.Want)
		}
	})
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r > 0x7f }) < 0 }
