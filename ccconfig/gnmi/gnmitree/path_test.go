package gnmitree_test

import (
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"fairlane/ccconfig/gnmi/gnmitree"
)

func TestParsePath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                       "/",
		"/":                                      "/",
		"nics":                                   "/nics",
		"/nics/nic[name=a]/state":                "/nics/nic[name=a]/state",
		"/l[b=2][a=1]":                           "/l[a=1][b=2]",
		"/l[a=x/y=z[]":                           "/l[a=x/y=z[]",
		`/l[a=x\]y\\]`:                           `/l[a=x\]y\\]`,
		`/a\/b\[c`:                               `/a\/b\[c`,
		"sonic-db:/CONFIG_DB/localhost":          "sonic-db:/CONFIG_DB/localhost",
		"sonic-db:/":                             "sonic-db:/",
		"/QUEUE/Ethernet0|3":                     "/QUEUE/Ethernet0|3",
		"/mod:a/b":                               "/mod:a/b",
		"/nics/.../value":                        "/nics/.../value",
		"/l[a=]":                                 "/l[a=]",
		"/nics/nic[name=0000:3b:00.0]/ports/*/x": "/nics/nic[name=0000:3b:00.0]/ports/*/x",
	} {
		p, err := gnmitree.ParsePath(in)
		if err != nil || p.String() != want {
			t.Errorf("%q reads as %q, %v, want %q", in, p, err, want)
		}
	}
	for in, word := range map[string]string{
		"/a/":         "ends in a slash",
		"//a":         "without a name",
		"/[a=1]":      "without a name",
		"/a[b]":       "want [name=value]",
		"/a[=1]":      "want [name=value]",
		"/a[b=1":      "no closing bracket",
		"/a[b=1]c":    "followed by",
		"/a[b=1][b=2": "no closing bracket",
		"/a[b=1][b=]": "twice",
		`/a\`:         "backslash",
		`/a[b\`:       "backslash",
		`/a[b=\`:      "backslash",
	} {
		if p, err := gnmitree.ParsePath(in); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q reads as %q, %v, want an error of %q", in, p, err, word)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"/a/b[c=d]", `/a\/[b\==\]]`, "o:/x", "/.../*[a=*]", "/a[b=1]["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := gnmitree.ParsePath(s)
		if err != nil {
			return
		}
		again, err := gnmitree.ParsePath(p.String())
		if err != nil || !again.Equal(p) {
			t.Fatalf("%q reads as %q, which reads as %q, %v", s, p, again, err)
		}
	})
}

func FuzzPathFromProto(f *testing.F) {
	for _, s := range []string{"/a/b[c=d]", "o:/x/y", "/"} {
		b, err := proto.Marshal(wire(s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &gnmi.Path{}
		if proto.Unmarshal(b, in) != nil {
			return
		}
		p, err := gnmitree.FromProto(in)
		if err != nil {
			return
		}
		again, err := gnmitree.FromProto(p.Proto())
		if err != nil || !again.Equal(p) || !p.Match(p) || !p.Covers(p) {
			t.Fatalf("%v reads as %q, then as %q, %v", in, p, again, err)
		}
	})
}

func TestMatch(t *testing.T) {
	t.Parallel()
	const leaf = "/nics/nic[name=a]/ports/port[number=1]/state/mac"
	for pattern, n := range map[string]int{
		"/":                            0,
		"/nics":                        1,
		"/nics/nic":                    2,
		"/nics/nic[name=*]":            2,
		"/nics/nic[name=a]":            2,
		"/*/nic/*":                     3,
		"/...":                         0,
		"/nics/...":                    1,
		"/.../mac":                     6,
		"/.../state":                   5,
		"/nics/.../state/mac":          6,
		"/.../port/.../mac":            6,
		"/.../ports/...":               3,
		"/.../nic[name=a]/.../state":   5,
		"/nics/nic[name=b]":            -1,
		"/nics/nic[serial=*]":          -1,
		"/nics/ports":                  -1,
		"/.../nics/nics":               -1,
		"/.../port[number=2]/...":      -1,
		"/nics/nic/ports/port/state/m": -1,
		leaf:                           6,
		leaf + "/x":                    -1,
		leaf + "/...":                  6,
	} {
		got, ok := path(pattern).Node(path(leaf))
		if !ok {
			got = -1
		}
		if got != n || path(pattern).Covers(path(leaf)) != (n >= 0) {
			t.Errorf("%s matches %d elements of %s, want %d", pattern, got, leaf, n)
		}
		if whole := path(pattern).Match(path(leaf)); whole != (n == 6) && !strings.HasSuffix(pattern, "...") {
			t.Errorf("%s matches the full path: %v", pattern, whole)
		}
	}
}

// matchNaive defines the meaning of a pattern by recursion.
func matchNaive(pattern, p []gnmitree.Elem) bool {
	switch {
	case len(pattern) == 0:
		return len(p) == 0
	case pattern[0].Name == gnmitree.AnyDepth:
		return matchNaive(pattern[1:], p) || len(p) > 0 && matchNaive(pattern, p[1:])
	}
	return len(p) > 0 && (gnmitree.Path{Elems: pattern[:1]}).Match(gnmitree.Path{Elems: p[:1]}) && matchNaive(pattern[1:], p[1:])
}

func paths(names ...string) *rapid.Generator[gnmitree.Path] {
	return rapid.Custom(func(t *rapid.T) gnmitree.Path {
		p := gnmitree.Path{}
		for range rapid.IntRange(0, 6).Draw(t, "elements") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			if name == "l" && rapid.Bool().Draw(t, "key") {
				p = p.Child(name, gnmitree.Key{Name: "k", Value: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value")})
				continue
			}
			p = p.Child(name)
		}
		return p
	})
}

func TestMatchAgreesWithTheDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := paths("a", "b", "l", "*", "...").Draw(t, "pattern")
		p := paths("a", "b", "l").Draw(t, "path")
		if got, want := pattern.Match(p), matchNaive(pattern.Elems, p.Elems); got != want {
			t.Fatalf("%s matches %s: %v, want %v", pattern, p, got, want)
		}
		n, ok := pattern.Node(p)
		for i := range len(p.Elems) + 1 {
			if matchNaive(pattern.Elems, p.Elems[:i]) {
				if !ok || n != i {
					t.Fatalf("%s matches %d elements of %s, %v, want %d", pattern, n, p, ok, i)
				}
				return
			}
		}
		if ok {
			t.Fatalf("%s matches %d elements of %s, want none", pattern, n, p)
		}
	})
}

func TestLongPatternsAreMatchedQuickly(t *testing.T) {
	t.Parallel()
	pattern, p := gnmitree.Path{}, gnmitree.Path{}
	for range 32 {
		pattern = pattern.Child(gnmitree.AnyDepth).Child("a")
		p = p.Child("a").Child("a")
	}
	if pattern.Child("b").Match(p) {
		t.Error("matches")
	}
}

func TestCompareOrders(t *testing.T) {
	t.Parallel()
	want := []string{"/", "/a", "/a/b", "/a[k=1]", "/a[k=2]", "/b", "o:/"}
	for i := range want {
		for j := range want {
			a, b := path(want[i]), path(want[j])
			if c := a.Compare(b); (c < 0) != (i < j) || (c == 0) != (i == j) || a.Equal(b) != (i == j) {
				t.Errorf("%s and %s compare as %d", a, b, c)
			}
		}
	}
}

func TestPathsAreBuiltWithoutSharing(t *testing.T) {
	t.Parallel()
	base := gnmitree.PathOf("a", "b")
	one, two := base.Child("x", gnmitree.Key{Name: "z", Value: "1"}, gnmitree.Key{Name: "k", Value: "2"}), base.Child("y")
	if one.String() != "/a/b/x[k=2][z=1]" || two.String() != "/a/b/y" || base.String() != "/a/b" || one.Key(2, "z") != "1" || one.Key(9, "z") != "" || one.Last() != "x" || (gnmitree.Path{}).Last() != "" {
		t.Errorf("%s %s %s", base, one, two)
	}
	if got := base.Join(path("o:/c")).String(); got != "o:/a/b/c" {
		t.Errorf("joined %s", got)
	}
}
