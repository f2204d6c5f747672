package embedded_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"fairlane/service/series"
	"fairlane/service/series/embedded"
)

func TestAnswersHaveTheFormOfPrometheus(t *testing.T) {
	t.Parallel()
	d := open(t)
	for i := range 3 {
		add(t, d, start.Add(time.Duration(i)*time.Minute), []series.Sample{sample(series.TenantDelivered, "lab", `re"d`, float64(i)+0.25)})
	}
	end := start.Add(2 * time.Minute)
	for query, want := range map[string]string{
		`fairlane_tenant_delivered_bits_per_second`:     `{"resultType":"vector","result":[{"metric":{"__name__":"fairlane_tenant_delivered_bits_per_second","fabric":"lab","tenant":"re\"d"},"value":[1700000120,"2.25"]}]}`,
		`fairlane_tenant_delivered_bits_per_second[2m]`: `{"resultType":"matrix","result":[{"metric":{"__name__":"fairlane_tenant_delivered_bits_per_second","fabric":"lab","tenant":"re\"d"},"values":[[1700000060,"1.25"],[1700000120,"2.25"]]}]}`,
		`1 / 0`:         `{"resultType":"scalar","result":[1700000120,"+Inf"]}`,
		`-1 / 0`:        `{"resultType":"scalar","result":[1700000120,"-Inf"]}`,
		`0 / 0`:         `{"resultType":"scalar","result":[1700000120,"NaN"]}`,
		`"a\"b"`:        `{"resultType":"string","result":[1700000120,"a\"b"]}`,
		`vector(1e-20)`: `{"resultType":"vector","result":[{"metric":{},"value":[1700000120,"0.00000000000000000001"]}]}`,
	} {
		if got := instant(t, d, query, end); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	a, err := d.Range(t.Context(), series.Everything, `fairlane_tenant_delivered_bits_per_second > 1`, start, end, 30*time.Second)
	if want := `{"resultType":"matrix","result":[{"metric":{"__name__":"fairlane_tenant_delivered_bits_per_second","fabric":"lab","tenant":"re\"d"},"values":[[1700000060,"1.25"],[1700000090,"1.25"],[1700000120,"2.25"]]}]}`; err != nil || string(a.Data) != want {
		t.Errorf("range: %s, %v, want %s", a.Data, err, want)
	}
}

func TestLookups(t *testing.T) {
	t.Parallel()
	d := open(t)
	add(t, d, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 1), sample(series.TenantEntitled, "lab", "blue", 1), {Family: series.FabricJain, Labels: []series.Label{{Name: series.LabelFabric, Value: "dc2"}}, Value: 1}})
	for _, x := range []struct {
		name string
		find func() (any, error)
		want string
	}{
		{"names", func() (any, error) { return d.LabelNames(t.Context(), series.Everything, series.Lookup{}) }, `["__name__","fabric","tenant"]`},
		{"names of a selector", func() (any, error) {
			return d.LabelNames(t.Context(), series.Everything, series.Lookup{Selectors: []string{`{fabric="dc2"}`}})
		}, `["__name__","fabric"]`},
		{"values", func() (any, error) {
			return d.LabelValues(t.Context(), series.Everything, "tenant", series.Lookup{})
		}, `["blue","red"]`},
		{"values of two selectors", func() (any, error) {
			return d.LabelValues(t.Context(), series.Everything, "fabric", series.Lookup{Selectors: []string{`{tenant="red"}`, `{fabric="dc2"}`}})
		}, `["dc2","lab"]`},
		{"a limit", func() (any, error) {
			return d.LabelValues(t.Context(), series.Everything, "tenant", series.Lookup{Limit: 1})
		}, `["blue"]`},
		{"values before the first sample", func() (any, error) {
			return d.LabelValues(t.Context(), series.Everything, "tenant", series.Lookup{End: start.Add(-24 * time.Hour)})
		}, `null`},
		{"series", func() (any, error) {
			return d.Series(t.Context(), series.Everything, series.Lookup{Selectors: []string{`{tenant="red"}`}})
		}, `[{"__name__":"fairlane_tenant_delivered_bits_per_second","fabric":"lab","tenant":"red"}]`},
	} {
		got, err := x.find()
		text, _ := json.Marshal(got) // strings alone
		if err != nil || string(text) != x.want {
			t.Errorf("%s: %s, %v, want %s", x.name, text, err, x.want)
		}
	}
}

func TestBadQueriesAreNamed(t *testing.T) {
	t.Parallel()
	d := open(t)
	at := func(q string) error { _, err := d.Instant(t.Context(), series.Everything, q, start); return err }
	over := func(q string, end time.Time, step time.Duration) error {
		_, err := d.Range(t.Context(), series.Everything, q, start, end, step)
		return err
	}
	for _, x := range []struct {
		name string
		err  error
		is   error
		want string
	}{
		{"no query", at(""), series.ErrBadQuery, "bad query: unknown position: parse error: no expression found in input"},
		{"syntax", at("sum("), series.ErrBadQuery, "bad query: 1:5: parse error: unclosed left parenthesis"},
		{"unknown function", at("rat(x[1m])"), series.ErrBadQuery, `bad query: 1:1: parse error: unknown function with name "rat"`},
		{"selector of everything", at(`{tenant=~".*"}`), series.ErrBadQuery, "bad query: 1:1: parse error: vector selector must contain at least one non-empty matcher"},
		{"long text", at(strings.Repeat("1+", 9000) + "1"), series.ErrBadQuery, "bad query: 18001 bytes, want at most 16384"},
		{"many parts", at(strings.Repeat("1+", 2000) + "1"), series.ErrCost, "query limit: 4001 parts, want at most 1000"},
		{"range of a range", over("x[1m]", start, time.Second), series.ErrBadQuery, `bad query: found a query of type "range vector", want an instant vector or a scalar for a range`},
		{"end first", over("1", start.Add(-time.Second), time.Second), series.ErrBadQuery, "bad query: end 2023-11-14T22:13:19Z is before start 2023-11-14T22:13:20Z"},
		{"no step", over("1", start, 0), series.ErrBadQuery, "bad query: step 0s: want at least 1 ms"},
		{"many steps", over("1", start.Add(11_000*time.Second), time.Second), series.ErrCost, "query limit: 11001 steps for each series: want at most 11000; increase step or shorten the range"},
		{"much data", over("count_over_time(vector(1)[100d:1s])", start.Add(1000*time.Hour), time.Hour), series.ErrCost, "query limit: it needs more than 5000000 samples; shorten the range or select fewer series"},
	} {
		if !errors.Is(x.err, x.is) || x.err.Error() != x.want {
			t.Errorf("%s: %v, want %s", x.name, x.err, x.want)
		}
	}
	if _, err := d.Series(t.Context(), series.Everything, series.Lookup{}); !errors.Is(err, series.ErrBadQuery) {
		t.Errorf("series without a selector: %v", err)
	}
	if _, err := d.LabelValues(t.Context(), series.Everything, "tenant", series.Lookup{Selectors: make([]string, series.MaxSelectors+1)}); !errors.Is(err, series.ErrCost) {
		t.Errorf("many selectors: %v", err)
	}
}

func TestAQueryEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	d := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Instant(ctx, series.Everything, "vector(1)", start); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, want that the context was canceled", err)
	}
}

// Whatever a caller sends, the answer is JSON or an error.
func FuzzQuery(f *testing.F) {
	d, err := embedded.Open(f.TempDir(), embedded.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = d.Close() })
	if err := d.Append(f.Context(), start, []series.Sample{sample(series.TenantDelivered, "lab", "red", math.Inf(1)), sample(series.TenantEntitled, "lab", "red", math.NaN())}); err != nil {
		f.Fatal(err)
	}
	for _, q := range []string{"fairlane_tenant_delivered_bits_per_second", `sum by (tenant) (rate({fabric="lab"}[5m]))`, `"\xff"`, `label_replace({fabric="lab"}, "x", "\ufffd", "", "")`} {
		f.Add(q)
	}
	red := series.Scope{Tenants: []series.TenantRef{{Fabric: "lab", Tenant: "red"}}}
	f.Fuzz(func(t *testing.T, q string) {
		if a, err := d.Instant(t.Context(), red, q, start); err == nil && !json.Valid(a.Data) {
			t.Errorf("%q: %s", q, a.Data)
		}
	})
}
