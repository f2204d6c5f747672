package i18n

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T, lang string) *Catalogue {
	t.Helper()
	c, err := Load(lang)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCataloguesHaveTheSameKeysAndValues(t *testing.T) {
	t.Parallel()
	en := load(t, Default)
	value := regexp.MustCompile(`\{[a-z_]+\}`)
	for _, lang := range Languages() {
		c := load(t, lang)
		if c.Lang() != lang {
			t.Errorf("catalogue %s says it is %s", lang, c.Lang())
		}
		if d := cmp.Diff(en.Keys(), c.Keys()); d != "" {
			t.Errorf("keys of %s differ from %s:\n%s", lang, Default, d)
		}
		for _, k := range c.Keys() {
			want, got := value.FindAllString(en.T(k), -1), value.FindAllString(c.T(k), -1)
			slices.Sort(want)
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s of %s names other values than in %s:\n%s", k, lang, Default, d)
			}
			if c.T(k) == "" {
				t.Errorf("%s of %s is empty", k, lang)
			}
		}
	}
}

func TestValuesAreFilledIn(t *testing.T) {
	t.Parallel()
	c := load(t, "en")
	if got := c.T("msg.tenant-created", "name", "red", "weight", 1.5); got != "tenant red has weight 1.5" {
		t.Errorf("got %q", got)
	}
	if got := c.T("msg.tenant-created", "name", "{weight}", "weight", 1); got != "tenant {weight} has weight 1" {
		t.Errorf("a value that looks like a name was filled in again: %q", got)
	}
	if got := c.T("no.such.key", "a", 1); got != "no.such.key" || c.Has("no.such.key") {
		t.Errorf("a missing key gives %q", got)
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		asked string
		env   map[string]string
		want  string
	}{
		"nothing is set":              {"", nil, "en"},
		"a flag wins":                 {"zh", map[string]string{"FAIRLANE_LANG": "en"}, "zh"},
		"our variable before LANG":    {"", map[string]string{"FAIRLANE_LANG": "en", "LANG": "zh_CN.UTF-8"}, "en"},
		"a locale is its language":    {"", map[string]string{"LANG": "zh_CN.UTF-8"}, "zh"},
		"a tag is its language":       {"zh-Hans", nil, "zh"},
		"LC_ALL before LANG":          {"", map[string]string{"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"},
		"no catalogue means English":  {"", map[string]string{"LANG": "de_DE.UTF-8"}, "en"},
		"upper case does not matter":  {"ZH", nil, "zh"},
		"LC_MESSAGES comes after all": {"", map[string]string{"LC_MESSAGES": "zh_TW", "LANG": "en_US"}, "zh"},
	} {
		if got := Pick(tc.asked, func(k string) string { return tc.env[k] }); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestUnknownLanguageIsRefused(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"", "de", "../en"} {
		if _, err := Load(lang); err == nil {
			t.Errorf("language %q was loaded", lang)
		}
	}
}

func TestAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"demo", "--once"}, ""},
		{[]string{"--lang", "zh", "demo"}, "zh"},
		{[]string{"demo", "--lang=en"}, "en"},
		{[]string{"demo", "--lang"}, ""},
	} {
		if got := Asked(c.args); got != c.want {
			t.Errorf("asked by %q: %q, want %q", c.args, got, c.want)
		}
	}
}
