package embedded_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
)

var (
	queries   = flag.Int("series.queries", 3000, "generated queries of the isolation test")
	querySeed = flag.Uint64("series.seed", 1, "seed of the generated queries")
)

// The strongest form of isolation: what a scope answers over a database with other fabrics and tenants in it is, but for the order of series
// and the 14th digit of sums, what it answers over a database that holds its own series alone. No other series, value, count or absence can show.
func TestQueriesSeeOnlyTheirScope(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope     series.Scope
		strangers string // matches labels of series outside of the scope, in errors
	}{
		"tenants":              {series.Scope{Tenants: []series.TenantRef{{Fabric: "lab", Tenant: "red"}, {Fabric: "dc2", Tenant: "blue"}}}, `green|redder|fabric="lab", tenant="blue"|fabric="dc2", tenant="red"`},
		"a fabric":             {series.Scope{Fabrics: []string{"dc2"}}, `fabric="lab"`},
		"a fabric and tenants": {series.Scope{Fabrics: []string{"dc2"}, Tenants: []series.TenantRef{{Fabric: "lab", Tenant: "red"}, {Fabric: "dc2", Tenant: "blue"}}}, `fabric="lab", tenant="(blue|redder|green)"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isolated(t, c.scope, regexp.MustCompile(c.strangers), open(t), *queries)
		})
		t.Run(name+" on two managers", func(t *testing.T) {
			t.Parallel()
			isolated(t, c.scope, regexp.MustCompile(c.strangers), openPair(t), *queries/6)
		})
	}
}

// sees reports whether a scope sees the series of a family with these labels: the rule in docs/telemetry.md.
func sees(s series.Scope, family, fabric, tenant string) bool {
	of := slices.IndexFunc(series.Families(), func(f series.Family) bool { return f.Name == family })
	return slices.Contains(s.Fabrics, fabric) || series.Families()[of].Tenant && slices.Contains(s.Tenants, series.TenantRef{Fabric: fabric, Tenant: tenant})
}

// isolated compares what a scope answers over full, which is empty at first, with a store of the scope's series alone.
func isolated(t *testing.T, scope series.Scope, strangers *regexp.Regexp, full series.Store, queries int) {
	t.Helper()
	own := open(t)
	for minute := range 10 {
		at := start.Add(time.Duration(minute) * time.Minute)
		var all, visible []series.Sample
		for _, fabric := range []string{"lab", "dc2"} {
			for i, tenant := range []string{"red", "blue", "redder", "green"} {
				for k, f := range []string{series.TenantDelivered, series.TenantEntitled, series.LinkEntitled, series.LinkUse} {
					s := series.Sample{Family: f, Value: float64((i+1)*(k+1)*minute%7) - 2, Labels: []series.Label{{Name: series.LabelFabric, Value: fabric}, {Name: series.LabelTenant, Value: tenant}}}
					if minute == 3+i { // series that end, so that absence shows
						s.Gap = true
					}
					all = append(all, s)
					if sees(scope, f, fabric, tenant) {
						visible = append(visible, s)
					}
				}
			}
		}
		add(t, full, at, all)
		add(t, own, at, visible)
	}
	r := rand.New(rand.NewPCG(*querySeed, 0))
	valid, filled := 0, 0
	for range queries {
		g := generator{r: r}
		q := g.vector(4)
		at := start.Add(time.Duration(r.IntN(700)) * time.Second)
		got, err := full.Instant(t.Context(), scope, q, at)
		want, err2 := own.Instant(t.Context(), scope, q, at)
		compareAnswers(t, strangers, q, got, err, want, err2)
		if err == nil {
			valid++
		}
		if strings.Contains(string(got.Data), `"value"`) {
			filled++
		}
		got, err = full.Range(t.Context(), scope, q, start, at.Add(time.Minute), 30*time.Second)
		want, err2 = own.Range(t.Context(), scope, q, start, at.Add(time.Minute), 30*time.Second)
		compareAnswers(t, strangers, q, got, err, want, err2)
		l := series.Lookup{Selectors: []string{g.selector()}}
		for _, find := range []func(series.Store, series.Scope) (any, error){
			func(d series.Store, s series.Scope) (any, error) { return d.LabelNames(t.Context(), s, l) },
			func(d series.Store, s series.Scope) (any, error) {
				return d.LabelValues(t.Context(), s, g.label(), series.Lookup{})
			},
			func(d series.Store, s series.Scope) (any, error) { return d.Series(t.Context(), s, l) },
		} {
			g.fix = r.Uint64()
			a, err := find(full, scope)
			b, err2 := find(own, scope)
			if fmt.Sprint(a, err) != fmt.Sprint(b, err2) {
				t.Fatalf("lookup %v: got %v, %v, want %v, %v", l.Selectors, a, err, b, err2)
			}
		}
	}
	if valid < queries/2 || filled < queries/10 {
		t.Errorf("of %d queries %d were valid and %d found series: the test shows little", queries, valid, filled)
	}
	const all = `count({fabric!=""})`
	got, err := full.Instant(t.Context(), scope, all, start)
	want, err2 := own.Instant(t.Context(), series.Everything, all, start)
	compareAnswers(t, strangers, all, got, err, want, err2) // the scope hides nothing of its own
}

func compareAnswers(t *testing.T, strangers *regexp.Regexp, q string, got series.Answer, err error, want series.Answer, err2 error) {
	t.Helper()
	if fault(err) != fault(err2) || strangers.MatchString(fmt.Sprint(err)) || rounded(got.Data) != rounded(want.Data) || fmt.Sprint(got.Warnings, got.Infos) != fmt.Sprint(want.Warnings, want.Infos) {
		t.Fatalf("%s\nscoped: %s %v %v %v\nalone:  %s %v %v %v", q, got.Data, got.Warnings, got.Infos, err, want.Data, want.Warnings, want.Infos, err2)
	}
}

// fault is an error up to the series that it gives as an example: of several, the engine picks any.
func fault(err error) string {
	text, _, _ := strings.Cut(fmt.Sprint(err), "duplicate series for the match group")
	return text
}

// rounded is sorted with 13 digits of each number: of series without an order, the engine sums in any.
func rounded(data []byte) string {
	return fraction.ReplaceAllStringFunc(sorted(data), func(text string) string {
		v, err := strconv.ParseFloat(strings.Trim(text, `"`), 64)
		if err != nil {
			return text
		}
		return strconv.FormatFloat(v, 'g', 13, 64)
	})
}

// fraction matches values with a fraction.
var fraction = regexp.MustCompile(`"-?\d+\.\d+(e[+-]?\d+)?"`)

// sorted is an answer with its series in alphabetical order: some functions have none of their own, such as count_values.
func sorted(data []byte) string {
	list := strings.Split(strings.TrimSuffix(string(data), "]}"), `{"metric"`)
	for i := range list {
		list[i] = strings.TrimSuffix(list[i], ",")
	}
	slices.Sort(list[1:])
	return strings.Join(list, "\n")
}

// Selectors that name another tenant find nothing, and absence says nothing.
func TestNamingAnotherTenantFindsNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, tenant := range []string{"red", "blue"} {
		add(t, d, start, []series.Sample{sample(series.TenantDelivered, "lab", tenant, 1)})
	}
	red := series.Scope{Tenants: []series.TenantRef{{Fabric: "lab", Tenant: "red"}}}
	for query, want := range map[string]string{
		`fairlane_tenant_delivered_bits_per_second{tenant="blue"}`:                                                  `{"resultType":"vector","result":[]}`,
		`count({__name__=~".+"})`:                                                                                   `{"resultType":"vector","result":[{"metric":{},"value":[1700000000,"1"]}]}`,
		`absent(fairlane_tenant_delivered_bits_per_second{tenant="blue"})`:                                          `{"resultType":"vector","result":[{"metric":{"tenant":"blue"},"value":[1700000000,"1"]}]}`,
		`count(fairlane_tenant_delivered_bits_per_second or fairlane_tenant_delivered_bits_per_second{tenant!=""})`: `{"resultType":"vector","result":[{"metric":{},"value":[1700000000,"1"]}]}`,
	} {
		a, err := d.Instant(t.Context(), red, query, start)
		if err != nil || string(a.Data) != want {
			t.Errorf("%s: %s, %v: want %s", query, a.Data, err, want)
		}
	}
	if a, err := d.Instant(t.Context(), series.Scope{}, `count({__name__=~".+"})`, start); err != nil || string(a.Data) != `{"resultType":"vector","result":[]}` {
		t.Errorf("an empty scope sees %s, %v", a.Data, err)
	}
}

// generator makes PromQL that is valid most of the time.
type generator struct {
	r   *rand.Rand
	fix uint64 // seeds label
}

func (g *generator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *generator) label() string {
	names := []string{"tenant", "fabric", "__name__", "link", "reason"}
	return names[g.fix%uint64(len(names))]
}

func (g *generator) selector() string {
	var b strings.Builder
	b.WriteString(g.pick("", series.TenantDelivered, series.TenantEntitled, series.LinkEntitled, series.LinkUse, "up"))
	named := b.Len() > 0
	b.WriteByte('{')
	for i := range g.r.IntN(3) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(g.pick("tenant", "fabric", "link", "other") + g.pick(`="red"`, `="blue"`, `!="red"`, `=~"red.*"`, `=~"(blue|green)?"`, `!~"b.+"`, `=""`, `=~".*"`, `="lab"`))
	}
	if !named {
		b.WriteString(g.pick(`,__name__=~".+"`, `,__name__!=""`, `,fabric=~"lab|dc2"`)[b2i(strings.HasSuffix(b.String(), "{")):])
	}
	return b.String() + "}"
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (g *generator) modifier() string {
	return g.pick("", "", "", " offset 1m", " @ 1700000120", " @ end()", " offset -30s")
}

func (g *generator) matrix(depth int) string {
	if depth > 0 && g.r.IntN(3) == 0 {
		return "(" + g.vector(depth-1) + ")[" + g.pick("2m", "5m") + ":" + g.pick("", "30s") + "]"
	}
	return g.selector() + "[" + g.pick("1m", "3m", "10m") + "]" + g.modifier()
}

func (g *generator) scalar(depth int) string {
	if depth > 0 && g.r.IntN(3) == 0 {
		return "scalar(" + g.vector(depth-1) + ")"
	}
	return g.pick("1", "2", "0.5", "time()", "-1", "1e3")
}

func (g *generator) vector(depth int) string {
	if depth <= 0 {
		return g.selector() + g.modifier()
	}
	switch g.r.IntN(9) {
	case 0:
		return g.pick("sum", "count", "avg", "min", "max", "group") + g.pick("", " by (tenant)", " without (fabric)", " by (fabric, tenant)") + "(" + g.vector(depth-1) + ")"
	case 1:
		of := "(" + g.scalar(depth-1) + ", " + g.vector(depth-1) + ")"
		if g.r.IntN(2) == 0 {
			return "quantile" + g.pick("", " by (fabric)") + of
		}
		return "count(" + g.pick("topk", "bottomk") + of + ")" // which of equal ones is chance
	case 2:
		return `count_values("v", ` + g.vector(depth-1) + ")"
	case 3:
		return g.pick("absent", "abs", "sort", "sort_desc", "ceil", "sgn", "timestamp") + "(" + g.vector(depth-1) + ")"
	case 4:
		return g.pick("rate", "increase", "delta", "avg_over_time", "count_over_time", "absent_over_time", "last_over_time", "changes", "present_over_time") + "(" + g.matrix(depth-1) + ")"
	case 5:
		return `label_replace(` + g.vector(depth-1) + `, "` + g.pick("x", "tenant") + `", "$1", "` + g.pick("tenant", "fabric", "none") + `", "(.*)")`
	case 6:
		return "(" + g.vector(depth-1) + g.pick(" + ", " / ", " > ", " == bool ", " - ") + g.pick("", "on (tenant) group_left ", "ignoring (link) ", "on () ")[0:] + g.vector(depth-1) + ")"
	case 7:
		return "(" + g.vector(depth-1) + g.pick(" and ", " or ", " unless ") + g.pick("", "on (tenant) ", "ignoring (fabric) ") + g.vector(depth-1) + ")"
	}
	return "(" + g.vector(depth-1) + g.pick(" > ", " * ", " < bool ") + g.scalar(depth-1) + ")"
}

func sample(family, fabric, tenant string, v float64) series.Sample {
	return series.Sample{Family: family, Value: v, Labels: []series.Label{{Name: series.LabelFabric, Value: fabric}, {Name: series.LabelTenant, Value: tenant}}}
}

var start = time.Unix(1_700_000_000, 0)

func open(t testing.TB) *embedded.DB {
	t.Helper()
	return embeddedtest.Open(t, embedded.Options{Interval: time.Minute})
}

// opened opens the series of a folder.
func opened(t testing.TB, dir string) *embedded.DB {
	t.Helper()
	d, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func closed(t testing.TB, d *embedded.DB) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, d series.Store, at time.Time, batch []series.Sample) {
	t.Helper()
	if err := d.Append(t.Context(), at, batch); err != nil {
		t.Fatal(err)
	}
}
