package yamltree_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"fairlane/internal/testkit/zhtest"
	"fairlane/internal/yamltree"
)

type section struct {
	Name string `json:"name" want:"tenants.want-own-name"`
}

type form struct {
	section
	Words  []string `json:"words" of:"a,b,c" most:"2"`
	Small  uint8    `json:"small"`
	Ranged int      `json:"ranged" in:"1..9"`
	Large  uint64   `json:"large" in:"1..18446744073709551615"`
	Real   float64  `json:"real"`
	Flag   *bool    `json:"flag"`
	Parts  []struct {
		section
		Deep *section `json:"deep"`
	} `json:"parts"`
	Note string // without a key
}

func TestDecodeReadsAllKinds(t *testing.T) {
	t.Parallel()
	f, d := yamltree.Decode[form]("f", strings.NewReader("name: n\nwords: [a, c]\nsmall: 0xff\nranged: 9\nlarge: 18446744073709551615\nreal: 0.5\nflag: false\nparts:\n  - {name: x, deep: {name: y}}\n"), 1<<10)
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	if f.Name != "n" || strings.Join(f.Words, "") != "ac" || f.Small != 255 || f.Ranged != 9 || f.Large != 1<<64-1 || f.Real != 0.5 || f.Flag == nil || *f.Flag || f.Parts[0].Name != "x" || f.Parts[0].Deep.Name != "y" {
		t.Errorf("read %+v", f)
	}
	if line := d.Line("parts[0].deep.name"); line != 9 || !d.Has("parts[0].deep") || d.Has("parts[1]") || d.Line("parts[7].name") != 9 {
		t.Errorf("line %d: want 9", line)
	}
}

func TestDecodeNamesLineFieldFoundAndWanted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "f: found nothing, want the keys name, words, small, ranged, large, real, flag, parts"},
		"no mapping":    {"- a\n", "f:1: found a list of 1, want the keys name, words"},
		"no YAML":       {"name: [\n", "want valid YAML"},
		"two documents": {"name: n\n---\nname: n\n", "f:2: found a second document, want one"},
		"alias":         {"name: &x n\nreal: *x\n", `f:1: found the anchor or alias "xn", want values written out`},
		"too long":      {"name: " + strings.Repeat("n", 2000), "f: found more than 1024 bytes, the maximum"},
		"unknown key":   {"name: n\nNote: x\n", `f:2: unknown key "Note", want name, words`},
		"key twice":     {"name: n\nreal: 1\nreal: 2\n", "f:3: real: was given in line 2 already, want it once"},
		"missing":       {"real: 1\n", "f:1: name: missing, want a name that no other tenant has"},
		"empty text":    {"name: ''\n", "f:1: name: missing, want a name that no other tenant has"},
		"missing below": {"name: n\nparts:\n  - deep: {}\n    name: x\n", "f:3: parts[0].deep.name: missing, want a name that no other tenant has"},
		"no text":       {"name: [a]\n", "f:1: name: found a list of 1, want a text"},
		"null":          {"name: n\nreal:\n", "f:2: real: found nothing, want a number"},
		"word":          {"name: n\nwords: [a, z]\n", `f:2: words[1]: found "z", want a, b or c`},
		"words":         {"name: n\nwords: [a, a, a]\n", "f:2: words: found a list of 3, want a list of at most 2"},
		"no list":       {"name: n\nwords: a\n", `f:2: words: found "a", want a list of at most 2`},
		"bits":          {"name: n\nsmall: 256\n", `f:2: small: found "256", want a whole number from 0 to 255`},
		"range":         {"name: n\nranged: 10\n", `f:2: ranged: found "10", want a whole number from 1 to 9`},
		"large":         {"name: n\nlarge: 0\n", `f:2: large: found "0", want a whole number from 1 to 18446744073709551615`},
		"real":          {"name: n\nreal: .inf\n", `f:2: real: found ".inf", want a number`},
		"flag":          {"name: n\nflag: yes\n", `f:2: flag: found "yes", want true or false`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, d := yamltree.Decode[form]("f", strings.NewReader(c.text), 1<<10)
			var fault *yamltree.Fault
			if err := d.Err(); !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) || d.Faults() != 1 || !d.Faulty(fault.Field) {
				t.Errorf("%v, want one fault that says %q", err, c.want)
			}
			zhtest.Error(t, name, d.Err(), strings.Fields("name words small ranged large real flag parts true false")...)
		})
	}
}

func TestDecodeReportsAFailedRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	if _, d := yamltree.Decode[form]("f", iotest.ErrReader(broken), 1<<10); !errors.Is(d.Err(), broken) {
		t.Errorf("error %v, want %v", d.Err(), broken)
	}
}

func TestDocumentsEndAtAFault(t *testing.T) {
	t.Parallel()
	d, names := yamltree.NewDecoder("f"), ""
	for n := range d.Documents(strings.NewReader("name: a\n---\nname: b\n---\n]\n---\nname: c\n"), 1<<10) {
		var s section
		d.Value(n, &s, "")
		names += s.Name
	}
	if names != "ab" || d.Faults() != 1 {
		t.Errorf("read %q, error %v: want a and b, then the fault", names, d.Err())
	}
}
