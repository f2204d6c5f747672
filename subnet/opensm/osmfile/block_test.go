package osmfile

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBlockIsFoundAndRemoved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[ -~]{0,20}`)
		text := func(name string) string {
			var s strings.Builder
			for _, l := range rapid.SliceOfN(line, 0, 6).Draw(t, name) {
				s.WriteString(l + "\n")
			}
			return s.String()
		}
		before, body, after := text("before"), text("body"), text("after")
		b := Block{Before: before, After: after}
		full := b.With(body)
		got, err := FindBlock(full)
		if err != nil {
			t.Fatal(err)
		}
		if body == "" {
			if full != before+after || got.Found {
				t.Fatalf("an empty body left %q", full)
			}
			return
		}
		if got.Before != before || got.Body != body || got.After != after || got.Edited || got.Line != strings.Count(before, "\n")+1 {
			t.Fatalf("cut %+v", got)
		}
		if got.With("") != before+after {
			t.Fatalf("without the block: %q", got.With(""))
		}
		changed := strings.Replace(full, endMark+"\n", "x\n"+endMark+"\n", 1)
		if got, err = FindBlock(changed); err != nil || !got.Edited {
			t.Fatalf("an added line is not noticed: %+v, %v", got, err)
		}
	})
}

func TestUnpairedMarkersAreReported(t *testing.T) {
	t.Parallel()
	part := Block{}.With("a\n")
	for name, tt := range map[string]struct{ text, want string }{
		"no end":         {"x\n" + strings.TrimSuffix(part, endMark+"\n"), "the part that begins at line 2 has no end"},
		"no begin":       {"x\n" + endMark + "\n", "line 2 ends a part that did not begin"},
		"two parts":      {part + part, "line 4 begins a second part, the first began at line 1"},
		"two ends":       {part + endMark + "\n", "line 4 ends a part that did not begin"},
		"begin in begin": {beginMark + "0\n" + part, "line 2 begins a second part, the first began at line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := FindBlock(tt.text)
			if !errors.Is(err, ErrMarkers) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if b.Before != tt.text || b.Found {
				t.Errorf("cut %+v", b)
			}
		})
	}
}

func TestDifferenceShowsRemovedAndAddedLines(t *testing.T) {
	t.Parallel()
	before := "1\n2\n3\n4\n5\n6\n7\n"
	got := Difference("/etc/x", before, "1\n2\n3\nfour\n5\n6\n7\n")
	want := "--- /etc/x\n+++ /etc/x\n@@ line 4 @@\n 2\n 3\n-4\n+four\n 5\n 6\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Difference("x", before, before); got != "" {
		t.Errorf("no difference: %q", got)
	}
	if got := Difference("x", "", "a"); !strings.Contains(got, "+a (no line end)") {
		t.Errorf("got %q", got)
	}
}
