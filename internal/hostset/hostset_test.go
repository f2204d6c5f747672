package hostset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/hostset"
	"fairlane/internal/testkit/zhtest"
)

func TestSetsAreExpandedAsSlurmDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"host-001":                 "host-001",
		"host-[001-003]":           "host-001 host-002 host-003",
		"host-[001-002,010]":       "host-001 host-002 host-010",
		"n[9-11]":                  "n9 n10 n11",
		"n[09-11]":                 "n09 n10 n11",
		"n[98-101]":                "n98 n99 n100 n101",
		"n[098-0101]":              "",
		"r[1-2]n[01-02]":           "r1n01 r1n02 r2n01 r2n02",
		"host-[1-2]/P1":            "host-1/P1 host-2/P1",
		"login1,host-[1-2], gw":    "login1 host-1 host-2 gw",
		"mlx5 HCA-[1-2]":           "mlx5 HCA-1 mlx5 HCA-2",
		"0x0002c90300a1b2c3:1":     "0x0002c90300a1b2c3:1",
		"[1-2]":                    "1 2",
		"a[5]":                     "a5",
		"a[000000000000000001-02]": "",
	} {
		got, err := hostset.Expand(text)
		if s := join(got); want == "" && err == nil || want != "" && (err != nil || s != want) {
			t.Errorf("%q: %q, %v, want %q", text, s, err, want)
		}
	}
	all, err := hostset.Expand("host-[001-512]")
	if err != nil || len(all) != 512 || all[0] != "host-001" || all[511] != "host-512" {
		t.Errorf("%d names, %v", len(all), err)
	}
}

// join separates names visibly, since names may contain spaces.
func join(names []string) string { return strings.Join(names, " ") }

func TestAnErrorSaysWhereAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                 `host set "", character 1: a name is missing, want names such as host-001, host-[001-512] or host-[001-004,010], separated by commas`,
		"a,,b":                             `host set "a,,b", character 3: a name is missing, want names such as host-001, host-[001-512] or host-[001-004,010], separated by commas`,
		"a[1-2":                            `host set "a[1-2", character 2: [ is not closed, want numbers and ], such as [001-004,010]`,
		"a[1[2]]":                          `host set "a[1[2]]", character 2: [ is not closed, want numbers and ], such as [001-004,010]`,
		"a1]":                              `host set "a1]", character 3: found ] without [, want names such as host-001, host-[001-512] or host-[001-004,010], separated by commas`,
		"é[x]":                             `host set "é[x]", character 3: found "x", want a number or a range of at most 18 digits, such as 010 or 001-004`,
		"a[]":                              `host set "a[]", character 3: found "", want a number or a range of at most 18 digits, such as 010 or 001-004`,
		"a[1,5-3]":                         `host set "a[1,5-3]", character 5: found "5-3", want a range that ascends`,
		"a[1-010]":                         `host set "a[1-010]", character 3: found "1-010", want as many digits at both ends of a range that begins with zeros`,
		"a[1-3,2]":                         `host set "a[1-3,2]": it has "a2" twice, want each name once`,
		"a[1-65537]":                       `host set "a[1-65537]": it expands to more than 65536 names, the maximum`,
		"a[1-999999]b[1-99999]":            `host set "a[1-999999]b[1-99999]": it expands to more than 65536 names, the maximum`,
		strings.Repeat("x", 129) + "[1-9]": `host set "` + strings.Repeat("x", 80) + `...", character 1: found 129 bytes outside brackets in one name, want at most 128`,
		"a[1-40000],b[1-40000]":            `host set "a[1-40000],b[1-40000]": it expands to more than 65536 names, the maximum`,
		strings.Repeat("a[1]", 9):          `host set "` + strings.Repeat("a[1]", 9) + `", character 34: found more than 8 pairs of brackets in one name, want at most 8`,
	} {
		_, err := hostset.Expand(text)
		var e *hostset.Error
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		zhtest.Error(t, text, err)
	}
}

func TestGroupsStandForTheirMembers(t *testing.T) {
	t.Parallel()
	var n hostset.Names
	for _, g := range []struct {
		name    string
		members []string
	}{{"storage", []string{"st-[01-02]"}}, {"all", []string{"storage", "gpu[1-2]"}}} {
		if err := n.Define(g.name, g.members); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{"storage": "st-01 st-02", "all": "st-01 st-02 gpu1 gpu2", "storage,x[1-2]": "st-01 st-02 x1 x2", "h1": "h1"} {
		got, err := n.Expand(text)
		if d := cmp.Diff(strings.Fields(want), got); d != "" || err != nil {
			t.Errorf("%q: %v %s", text, err, d)
		}
	}
	if _, err := n.Expand("storage,st-01"); err == nil || !strings.Contains(err.Error(), `it has "st-01" twice`) {
		t.Errorf("an overlap gives %v", err)
	}
	for name, want := range map[string]string{
		"storage": `group "storage" is defined twice: want each name once`,
		"2fast":   `group "2fast": want a name of 1 to 63 of a-z, A-Z, 0-9, -, _ and ., beginning with a letter`,
		"empty":   `group "empty" has no members: want at least one host`,
	} {
		if err := n.Define(name, nil); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
		zhtest.Error(t, name, n.Define(name, nil))
	}
	if err := n.Define("twice", []string{"a1", "a[1-2]"}); err == nil || err.Error() != `group "twice" has "a1" twice: want each name once` {
		t.Errorf("an overlap in a group gives %v", err)
	}
}

func TestAFileCannotExpandWithoutBound(t *testing.T) {
	t.Parallel()
	var n hostset.Names
	for range hostset.MaxExpanded / hostset.MaxNames {
		if _, err := n.Expand("h[1-65536]"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Expand("h1"); err == nil || !strings.Contains(err.Error(), fmt.Sprint(hostset.MaxExpanded)) {
		t.Errorf("one more name gives %v", err)
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"host-[001-512]", "a[1-3,7]b[01-02],c", "a[[1]]", "a[1", "]", ",", "a[9-10]", "a[0-00]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := hostset.Expand(text)
		if err != nil {
			var e *hostset.Error
			if !errors.As(err, &e) || len(names) > 0 {
				t.Fatalf("%q: %d names with error %v", text, len(names), err)
			}
			return
		}
		if len(names) == 0 || len(names) > hostset.MaxNames {
			t.Fatalf("%q stands for %d names", text, len(names))
		}
		// A list of the names is a set of the same names, unless a name looks like a set or has surrounding space.
		if again, err := hostset.Expand(strings.Join(names, ",")); err == nil {
			if d := cmp.Diff(names, again); d != "" {
				t.Fatalf("%q: %s", text, d)
			}
		} else if len(strings.Join(names, ",")) <= hostset.MaxLength {
			t.Fatalf("%q: the list of its names is no set: %v", text, err)
		}
	})
}
