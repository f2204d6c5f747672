package phrase

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
)

// dutch is a language with a different word order.
func dutch(id string) (string, bool) {
	template, ok := map[string]string{
		"plan.sl-exhausted": "op {ports} delen {tenants} SL {sl}: {reason}",
		"plan.sl-pinned":    "zo gewild",
		"count.port":        "{n} {n:poort|poorten}",
		semicolon:           " / ",
		comma:               " en ",
		nameComma:           " en ",
	}[id]
	return template, ok
}

// shared is a sentence with values of several kinds.
func shared(reason any) Text {
	return Of("plan.sl-exhausted", "tenants", []string{"a", "b"}, "sl", 3, "ports", Ports.Of(2), "reason", reason)
}

func TestSentencesAreWrittenInTheUsersLanguage(t *testing.T) {
	t.Parallel()
	const english = "tenants a, b share SL 3 on 2 ports: all their queue pairs there have one setting, which cannot reflect their weights: "
	pinned := Of("plan.sl-pinned")
	for name, c := range map[string]struct {
		text        Text
		want, other string
	}{
		"a sentence in it":     {shared(pinned), english + "they are pinned to it", "op 2 poorten delen a en b SL 3: zo gewild"},
		"sentences in it":      {shared([]Text{pinned, Verbatim("x")}), english + "they are pinned to it; x", "op 2 poorten delen a en b SL 3: zo gewild / x"},
		"with commas":          {shared(Commas{pinned, Verbatim("x")}), english + "they are pinned to it, x", "op 2 poorten delen a en b SL 3: zo gewild en x"},
		"no sentences in it":   {shared([]Text{}), english, "op 2 poorten delen a en b SL 3: "},
		"an error in it":       {shared(&Error{Text: pinned}), english + "they are pinned to it", "op 2 poorten delen a en b SL 3: zo gewild"},
		"values like names":    {shared("{tenants}"), english + "{tenants}", "op 2 poorten delen a en b SL 3: {tenants}"},
		"a value is missing":   {Of("count.port"), "{n} {n:port|ports}", "{n} {n:poort|poorten}"},
		"one of them":          {Ports.Of(1), "1 port", "1 poort"},
		"no sentence":          {Text{}, "", ""},
		"not in that language": {Of("plan.turns"), "it serves its queue pairs round-robin", "it serves its queue pairs round-robin"},
		"of a later version":   {Of("plan.of-tomorrow", "a", 1, "b", "x"), "plan.of-tomorrow (a: 1, b: x)", "plan.of-tomorrow (a: 1, b: x)"},
	} {
		if got := c.text.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if got := c.text.In(dutch); got != c.other {
			t.Errorf("%s: in another language got %q, want %q", name, got, c.other)
		}
	}
}

// everyKind is a sentence with a value of each kind.
func everyKind() Text {
	return Of("some.id", "text", "a", "number", 3, "large", uint64(1)<<40, "real", 1.5, "rate", 3*quantity.Gbps, "time", 20*quantity.Millisecond,
		"part", PercentOf(0.12345, 2), "names", []string{"a", "b"}, "sentence", Of("plan.turns"), "list", []Text{Ports.Of(2), Of("plan.turns")},
		"commas", Commas{Ports.Of(2)}, "none", []Text{})
}

func TestSentencesSurviveJSON(t *testing.T) {
	t.Parallel()
	want := everyKind()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	const form = `{"id":"some.id","params":{"commas":{"texts":[{"id":"count.port","params":{"n":2}}],"join":"list.comma"},"large":1099511627776,` +
		`"list":{"texts":[{"id":"count.port","params":{"n":2}},{"id":"plan.turns"}]},"names":["a","b"],"none":{"texts":[]},"number":3,"part":{"percent":12.35},` +
		`"rate":{"bps":3000000000},"real":"1.5","sentence":{"id":"plan.turns"},"text":"a","time":{"ps":20000000000}}}`
	if string(b) != form {
		t.Errorf("got  %s\nwant %s", b, form)
	}
	var got Text
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Canonical(), got.Canonical()); d != "" {
		t.Error(d)
	}
	if got.String() != want.String() {
		t.Errorf("reads as %q, before %q", got, want)
	}
}

func TestInvalidSentencesAreRejected(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"id":"x","params":{"a":`, 100) + "1" + strings.Repeat("}}", 100)
	for _, x := range []string{`3`, `{}`, `{"id":3}`, `{"id":"x","params":[]}`, `{"id":"x","params":{"a":null}}`, `{"id":"x","params":{"a":[3]}}`, `{"id":"x","params":{"a":1.5}}`, `{"id":"x","params":{"a":{"bps":1.5}}}`,
		`{"id":"x","params":{"a":{"percent":1e300}}}`, `{"id":"x","params":{"a":{"texts":[1]}}}`, deep} {
		var got Text
		if err := json.Unmarshal([]byte(x), &got); err == nil {
			t.Errorf("%s is %+v", x, got)
		}
	}
	var old Text
	if err := json.Unmarshal([]byte(`{"template":"{} ports","values":[{"plain":"2"}]}`), &old); err != nil || old.ID != "" {
		t.Errorf("a sentence of the form before ids: %+v, %v", old, err)
	}
}

func TestAnExponentialSentenceIsTruncated(t *testing.T) {
	t.Parallel()
	text := Verbatim("x")
	for range 30 {
		text = Of("labelled", "label", text, "text", text)
	}
	if got := text.String(); len(got) > 3*maxParts {
		t.Errorf("%d bytes", len(got))
	}
}

func TestSentencesThatTheCatalogueLacksAreReplaced(t *testing.T) {
	t.Parallel()
	pinned, tomorrow, part := Of("plan.sl-pinned"), Of("plan.of-tomorrow"), Of("plan.sl-exhausted", "sl", 3)
	if got := Or("they are pinned", &pinned).In(dutch); got != "zo gewild" {
		t.Errorf("got %q", got)
	}
	for name, said := range map[string]*Text{"none": nil, "of a later version": &tomorrow, "without its values": &part, "the form before ids": {}} {
		if got := Or("no {} body", said).In(dutch); got != "no {} body" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := Or("", nil); got.ID != "" {
		t.Errorf("an empty text became %+v", got)
	}
}

func TestPercentagesHaveTheRequestedDecimals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fraction float64
		decimals int
		want     string
	}{{0.12345, 0, "12 %"}, {0.12345, 1, "12.3 %"}, {0.12345, 3, "12.345 %"}, {0.1, 1, "10 %"}, {0, 2, "0 %"}, {-0.005, 1, "-0.5 %"}, {3, 0, "300 %"}} {
		if got := PercentOf(c.fraction, c.decimals).String(); got != c.want {
			t.Errorf("%v with %d: %q, want %q", c.fraction, c.decimals, got, c.want)
		}
	}
}

// FuzzText checks sentences from elsewhere, such as a service of another version.
func FuzzText(f *testing.F) {
	b, _ := json.Marshal(everyKind())
	f.Add(string(b))
	b, _ = json.Marshal(shared([]Text{Verbatim("x")}))
	f.Add(string(b))
	f.Add(`{"template":"{}"}`)
	f.Fuzz(func(t *testing.T, in string) {
		var got, again Text
		if json.Unmarshal([]byte(in), &got) != nil {
			return
		}
		_, _ = got.String(), got.Known()
		b, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID == "" && len(got.Params) == 0 {
			return
		}
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if again.Canonical() != got.Canonical() {
			t.Errorf("%s\nbecame %s", got.Canonical(), again.Canonical())
		}
	})
}
