package yamltree_test

import (
	"errors"
	"slices"
	"testing"

	"fairlane/internal/yamltree"
)

func TestOnlyOneDocument(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing\n"} {
		if n, err := yamltree.Only([]byte(text)); n != nil || err != nil {
			t.Errorf("%q: %v, %v: want neither", text, n, err)
		}
	}
	n, err := yamltree.Only([]byte("---\na: 1\n"))
	if err != nil || len(n.Content) != 2 {
		t.Fatalf("%v, %v: want a mapping of one key", n, err)
	}
	_, err = yamltree.Only([]byte("a: 1\n---\nb: 2\n"))
	if second := (*yamltree.SecondError)(nil); !errors.As(err, &second) || second.Line != 2 {
		t.Errorf("%v: want a second document in line 2", err)
	}
	for text, line := range map[string]int{"a: 1\nb: [\n": 2, "a: 1\n---\nb: ]\n": 2, "\xff": 0} {
		_, err := yamltree.Only([]byte(text))
		if bad := (*yamltree.SyntaxError)(nil); !errors.As(err, &bad) || bad.Line != line || bad.Text == "" {
			t.Errorf("%q: %#v: want a fault of line %d", text, err, line)
		}
	}
}

func TestDocumentsUpToTheFirstFault(t *testing.T) {
	t.Parallel()
	lines := []int{}
	for n, err := range yamltree.Documents([]byte("a: 1\n---\n# nothing\n---\nb: 2\n---\n]\n")) {
		if err != nil {
			lines = append(lines, -1)
			continue
		}
		lines = append(lines, n.Line)
	}
	// A document with only its marker is null.
	if want := []int{1, 4, 5, -1}; !slices.Equal(lines, want) {
		t.Errorf("documents at %v: want %v", lines, want)
	}
}

func TestEntriesNameTheirKeyAndTheLineOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	n, err := yamltree.Only([]byte("b: 1\nx: 2\na: 3\nb: 4\nb: 5\n[a]: 6\n"))
	if err != nil {
		t.Fatal(err)
	}
	type entry struct{ index, earlier, line int }
	var got []entry
	for e := range yamltree.Entries(n, []string{"a", "b"}) {
		got = append(got, entry{e.Index, e.Earlier, e.Value.Line})
	}
	if want := []entry{{1, 0, 1}, {-1, 0, 2}, {0, 0, 3}, {1, 1, 4}, {1, 1, 5}, {-1, 0, 6}}; !slices.Equal(got, want) {
		t.Errorf("entries %v: want %v", got, want)
	}
	for e := range yamltree.Entries(n.Content[1], []string{"a"}) {
		t.Errorf("a scalar has the key %q: want none", e.Key.Value)
	}
}

func TestTheFirstAliasIsFound(t *testing.T) {
	t.Parallel()
	for text, line := range map[string]int{"a: [1, {b: null}]\n": 0, "a: 1\nb: &x 2\nc: *x\n": 2} {
		n, err := yamltree.Only([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		if a := yamltree.FirstAlias(n); a != nil {
			got = a.Line
		}
		if got != line {
			t.Errorf("%q: found one in line %d: want %d", text, got, line)
		}
	}
}
