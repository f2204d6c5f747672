package phrase

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dutch is a language with another order of words.
func dutch(english string) string {
	switch english {
	case "tenant {} shares SL {} with {}":
		return "{3} deelt SL {2} met {1}"
	case "nobody":
		return "niemand"
	case Separator:
		return " / "
	case Comma:
		return " en "
	}
	return english
}

func TestSentencesAreToldInTheLanguageOfTheirReader(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text           Text
		english, other string
	}{
		"plain values":              {Of("tenant {} shares SL {} with {}", "a", 3, "b"), "tenant a shares SL 3 with b", "b deelt SL 3 met a"},
		"a sentence in it":          {Of("tenant {} shares SL {} with {}", "a", 3, Of("nobody")), "tenant a shares SL 3 with nobody", "niemand deelt SL 3 met a"},
		"sentences in it":           {Of("they: {}", []Text{Of("nobody"), Of("{} alone", "a")}), "they: nobody; a alone", "they: niemand / a alone"},
		"with commas":               {Of("they: {}", Commas{Of("nobody"), Of("{} alone", "a")}), "they: nobody, a alone", "they: niemand en a alone"},
		"no sentences in it":        {Of("they: {}", []Text{}), "they: ", "they: "},
		"values that look like one": {Of("tenant {} shares SL {} with {}", "{}", "{2}", "{"), "tenant {} shares SL {2} with {", "{ deelt SL {2} met {}"},
		"too few values":            {Of("tenant {} shares SL {} with {}", "a"), "tenant a shares SL {} with {}", "{3} deelt SL {2} met a"},
		"too many values":           {Of("nobody", 1), "nobody", "niemand"},
		"no template":               {Text{}, "", ""},
		"other braces":              {Of("{x} { {} }", 1), "{x} { 1 }", "{x} { 1 }"},
		"no such value":             {Of("{0} {4} {99999999999999999999}", 1), "{0} {4} {99999999999999999999}", "{0} {4} {99999999999999999999}"},
	} {
		if got := c.text.String(); got != c.english {
			t.Errorf("%s: got %q, want %q", name, got, c.english)
		}
		if got := c.text.In(dutch); got != c.other {
			t.Errorf("%s: in another language got %q, want %q", name, got, c.other)
		}
	}
}

func TestSentencesSurviveJSON(t *testing.T) {
	t.Parallel()
	want := Of("tenant {} shares SL {} with {}", "a", Commas{Of("nobody")}, []Text{Of("nobody"), Of("{} alone", 1.5)})
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Text
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestASentenceThatDoublesEndsEarly(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"x", ""} {
		text := Of("{}", first)
		for range 200 {
			text = Of("{1}{1}", text)
		}
		if got := text.String(); len(got) > mostParts {
			t.Errorf("%d bytes", len(got))
		}
	}
}

func TestOnlyWhatSaysTheSameIsVouchedFor(t *testing.T) {
	t.Parallel()
	nobody := Of("nobody")
	if got := Vouched("nobody", &nobody).In(dutch); got != "niemand" {
		t.Errorf("got %q", got)
	}
	for _, said := range []*Text{nil, {Template: "all is well"}, {}} {
		if got := Vouched("no {} body", said).In(dutch); got != "no {} body" {
			t.Errorf("%v: got %q", said, got)
		}
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]int{"": 0, "{": 0, "{}": 1, "{2} {1}": 2, "{a} {} {": 1, "{{}}": 1} {
		if got := Slots(template); got != want {
			t.Errorf("%q has %d, want %d", template, got, want)
		}
	}
}

// FuzzIn is about sentences from elsewhere: a service of another version tells them.
func FuzzIn(f *testing.F) {
	f.Add("a {} b {2}", "x", "{1}")
	f.Add("{", "}", "{}")
	f.Fuzz(func(t *testing.T, template, first, second string) {
		text := Of(template, first, Of(second, first))
		got := text.String()
		if most := len(template) + (Slots(template)+1)*(len(first)+len(second)*(len(first)+1)); len(got) > most {
			t.Errorf("%d bytes from %q, %q and %q", len(got), template, first, second)
		}
		for range 20 { // each holds the one before as often as it has places
			text = Of(template, text, text)
		}
		if got := text.String(); len(got) > (mostParts+1)*(len(template)+len(first)+len(second)+2) {
			t.Errorf("%d bytes from %q in itself", len(got), template)
		}
		if Slots(template) == 0 && got != template {
			t.Errorf("%q became %q", template, got)
		}
		if strings.Contains(template, "{1}") && len(first) > 0 && !strings.Contains(got, first) {
			t.Errorf("%q has no %q", got, first)
		}
	})
}
