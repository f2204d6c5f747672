package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/phrase"
)

func TestFindingsThatDifferInThePlaceAloneAreToldOnce(t *testing.T) {
	t.Parallel()
	at := func(code, tenant, link, name, figure string) ToldFinding {
		return ToldFinding{code, []string{tenant}, []string{link}, phrase.Of("port {}: {}", name, []phrase.Text{phrase.Of("{} of {}", figure, name)}), phrase.Of("mend {}", name)}
	}
	list := []ToldFinding{
		at("a", "red", "h1/P1", "h1/P1", "5"), at("a", "red", "h2/P1", "h2/P1", "5"), at("a", "red", "h3/P1", "h3/P1", "6"), at("a", "blue", "h4/P1", "h4/P1", "5"),
		at("b", "red", "h1/P1 -> s/P1", "h1/P1", "5"), at("a", "red", "h11/P1", "h11/P1", "5"), at("b", "red", "h2/P1 -> s/P2", "h2/P1", "5"),
		{"c", []string{"red"}, nil, phrase.Of("no place"), phrase.Text{}}, {"c", []string{"red"}, nil, phrase.Of("no place"), phrase.Text{}},
		at("d", "red", "s/P1 -> t/P1", "s/P1 -> t/P1", "5"), at("d", "red", "s/P2 -> t/P1", "s/P2 -> t/P1", "5"),
	}
	var got []string
	for _, f := range Alike(list) {
		got = append(got, f.Code+": "+f.Said.String()+"; "+f.Advice.String())
	}
	want := []string{
		"a: port h1/P1: 5 of h1/P1 (and 2 more ports); mend h1/P1", "a: port h3/P1: 6 of h3/P1; mend h3/P1", "a: port h4/P1: 5 of h4/P1; mend h4/P1",
		"b: port h1/P1: 5 of h1/P1 (and 1 more port); mend h1/P1", "c: no place; ", "c: no place; ",
		"d: port s/P1 -> t/P1: 5 of s/P1 -> t/P1 (and 1 more link); mend s/P1 -> t/P1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if list[0].Said.String() != "port h1/P1: 5 of h1/P1" {
		t.Errorf("the list given became %q", list[0].Said)
	}
}
