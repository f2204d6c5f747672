package catalogue

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryLanguageCanBeLoaded(t *testing.T) {
	t.Parallel()
	for _, lang := range Languages() {
		if _, err := Load(lang); err != nil {
			t.Error(err)
		}
	}
	if _, err := Load("../en"); err == nil {
		t.Error("a language that is none was loaded")
	}
}

func TestTemplatesAreFilledIn(t *testing.T) {
	t.Parallel()
	values := map[string]string{"n": "2", "one": "1", "name": "{n}", "a_b2": "x", "state": "done"}
	words := func(id string) (string, bool) {
		w, ok := map[string]string{"word.end.done": "finished", "word..done": "no set"}[id]
		return w, ok
	}
	for _, c := range []struct {
		template, want string
		names          []string
	}{
		{"", "", nil},
		{"no names", "no names", nil},
		{"{n} {n:port|ports}, {one:port|ports}", "2 ports, port", []string{"n", "one"}},
		{"{name} and {a_b2}", "{n} and x", []string{"a_b2", "name"}},
		{"{unknown} {unknown:a|b}", "{unknown} {unknown:a|b}", []string{"unknown"}},
		{"{", "{", nil},
		{"{n", "{n", nil},
		{"{state} {state@end} {state@other} {n@end}", "done finished done 2", []string{"n", "state"}},
		{"{@end} {n@} {n@A} {n@end:a|b}", "{@end} {n@} {n@A} {n@end:a|b}", nil},
		{"{} {N} {n:} {n:a} {n:a|b|c} {{n}}", "{} {N} {n:} {n:a} {n:a|b|c} {2}", []string{"n"}},
	} {
		got := Fill(c.template, words, func(name string) (string, bool) { v, ok := values[name]; return v, ok })
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.template, got, c.want)
		}
		if d := cmp.Diff(c.names, Names(c.template)); d != "" {
			t.Errorf("names of %q:\n%s", c.template, d)
		}
	}
}

func TestChineseHasSpacesBesideLatinValuesOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ template, value, want string }{
		{"应为 {v}", "不小于 1 的数", "应为不小于 1 的数"},
		{"应为 {v}", "（无）", "应为（无）"},
		{"应为 {v}", "9 到 15", "应为 9 到 15"},
		{"应为 {v}", `"a"`, `应为 "a"`},
		{"应为 {v}", "", "应为 "},
		{"在{v}上", "链路", "在链路上"},
		{"在{v}上", "leaf1/P4", "在 leaf1/P4 上"},
		{"在 {v} 上", "链路", "在链路上"},
		{"在 {v} 上", "3 条链路", "在 3 条链路上"},
		{"{v} {v}", "网络", "网络网络"},
		{"{v} lab", "网络", "网络 lab"},
		{"SL {v}", "无", "SL 无"},
		{"port {v} of", "链路", "port 链路 of"},
		{"{v}：{v}", "a", "a：a"},
		{"{v}s", "链路", "链路s"},
	} {
		if got := Fill(c.template, English, func(string) (string, bool) { return c.value, true }); got != c.want {
			t.Errorf("%q with %q: got %q, want %q", c.template, c.value, got, c.want)
		}
	}
}

// FuzzFill fills in arbitrary templates: this terminates, and preserves all text outside of slots.
func FuzzFill(f *testing.F) {
	f.Add("a {b} {c:one|other} {", "{b}")
	f.Fuzz(func(t *testing.T, template, value string) {
		names := Names(template)
		got := Fill(template, English, func(name string) (string, bool) {
			if !slices.Contains(names, name) {
				t.Errorf("%q asks for %q, which Names lacks", template, name)
			}
			return value, true
		})
		if len(names) == 0 && got != template {
			t.Errorf("%q became %q", template, got)
		}
		if kept := Fill(template, English, func(string) (string, bool) { return "", false }); kept != template {
			t.Errorf("%q without values became %q", template, kept)
		}
	})
}
