package phrase

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/i18n/catalogue"
)

// reasons are the ids of the sentences that are kept as text.
func reasons(t testing.TB) map[string][]catalogue.Part {
	t.Helper()
	texts, err := catalogue.Load(catalogue.Default)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]catalogue.Part{}
	for id, template := range texts {
		if !strings.HasPrefix(id, "reason.") {
			continue
		}
		parts, plain := catalogue.Parts(template)
		if !plain || strings.Contains(template, between) {
			t.Errorf("%s: %q: want plain values, and no semicolon", id, template)
		}
		out[id] = parts
	}
	if len(out) < 100 {
		t.Fatalf("found %d sentences: the test is no test", len(out))
	}
	return out
}

// kinds are the prefixes with which policy/plan makes readers.
var kinds = []string{"reason.field.", "reason.value.", "reason.unit.", "reason.range.", "reason.limit.", "reason.formula."}

// TestWrittenSentencesAreReadBack writes sentences with values of the kinds that plans have: every one with fixed values, then arbitrary ones.
func TestWrittenSentencesAreReadBack(t *testing.T) {
	t.Parallel()
	ids := reasons(t)
	readers := map[string]*Reader{}
	for _, kind := range kinds {
		readers[kind] = NewReader(kind)
	}
	check := func(t rapid.TB, id string, value func(name string) string) {
		var pairs []string
		for _, p := range ids[id] {
			if p.Name != "" {
				pairs = append(pairs, p.Name, value(p.Name))
			}
		}
		text, at := Write(id, pairs...), slices.IndexFunc(kinds, func(kind string) bool { return strings.HasPrefix(id, kind) })
		if at < 0 {
			t.Fatalf("%s: want one of %q", id, kinds)
		}
		got, ok := readers[kinds[at]].Read(text)
		if !ok || got.ID != id || got.String() != text || Of(id, anys(pairs)...).String() != text {
			t.Fatalf("%s: %q is read as %s, %q", id, text, got.ID, got)
		}
	}
	for id := range ids {
		check(t, id, func(string) string { return "12.5 Gbit/s" })
	}
	factors := rapid.StringMatching(`([2-9] · )?[0-9]{1,3}(\.[0-9]{1,3})? Gbit/s · 1\.024 us · (1/ln\(1\+1/[1-9]\)|1)`)
	values := rapid.OneOf(
		rapid.StringMatching(`[0-9]{1,6}`),
		rapid.StringMatching(`[0-9]{1,3}\.[0-9]{1,3}`),
		rapid.StringMatching(`[0-9]{1,3}(\.[0-9]{1,3})? (bit/s|Mbit/s|Gbit/s|us|ms|%)`),
		rapid.StringMatching(`[a-z][a-z0-9_.-]{0,12}`),
		rapid.StringMatching(`[0-3]:[0-9]{1,4}`),
	)
	sorted := slices.Sorted(maps.Keys(ids))
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.SampledFrom(sorted).Draw(t, "id"), func(name string) string {
			if name == "factors" {
				return factors.Draw(t, name)
			}
			return values.Draw(t, name)
		})
	})
	joined := Clauses(Write("reason.formula.table-whole", "entries", "128"), Write("reason.formula.credits"))
	got, ok := readers["reason.formula."].Read(joined)
	want := Of("list.whole", "list", []Text{Of("reason.formula.table-whole", "entries", 128), Of("reason.formula.credits")})
	if d := cmp.Diff(want, got); !ok || d != "" || got.String() != joined {
		t.Errorf("%q: %s", joined, d)
	}
}

func anys(pairs []string) []any {
	out := make([]any, len(pairs))
	for i, p := range pairs {
		out[i] = p
	}
	return out
}

func TestOtherTextsAreNotRead(t *testing.T) {
	t.Parallel()
	r := NewReader("reason.formula.")
	for _, text := range []string{
		"", "1..65535", "a text of another version", "128 entries - 1; and of another version", " entries - 1", "128 entries - 1 ",
		Write("reason.formula.table-whole", "entries", strings.Repeat("1", maxRead)),
		// So many places for each part of reason.formula.ecn-max that trying all combinations would take minutes.
		"min + 1" + strings.Repeat(" · 1", 90) + strings.Repeat(", from 1", 50) + strings.Repeat(" round trips of 1", 24) + strings.Repeat(", at least 1", 34) + strings.Repeat(" and at most 1", 22),
	} {
		if said, ok := r.Read(text); ok {
			t.Errorf("%q is read as %s", text, said.ID)
		}
	}
	if got := Write("no.such-id", "a", "b"); got != "no.such-id" {
		t.Errorf("an id without a template is %q", got)
	}
}

// FuzzRead reads arbitrary texts: this terminates, and what is read is the text again.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"128 entries - 1", "min · min / min", "1 · 2 / 3 = 4 Mbit/s, times 5 for the rounding of the period; 1 entries - 1"} {
		f.Add(text)
	}
	readers := make([]*Reader, len(kinds))
	for i, kind := range kinds {
		readers[i] = NewReader(kind)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range readers {
			if said, ok := r.Read(text); ok && said.String() != strings.ReplaceAll(text, "\n", "; ") {
				t.Errorf("%q is read as %q", text, said)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	r := NewReader("reason.formula.")
	text := Clauses(Write("reason.formula.timer", "packets", "32", "bits", "32976", "load", "0.650", "factors", "2 · 2.49 Gbit/s · 1 · 1.024 us", "exact", "636.786"),
		Write("reason.formula.timer-mean", "rate", "2.49 Gbit/s"), Write("reason.formula.timer-links", "links", "2"))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := r.Read(text); !ok {
			b.Fatal("not read")
		}
	}
}
