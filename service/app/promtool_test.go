package app

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/api"
	"fairlane/command/demo"
	"fairlane/internal/testkit/peertest"
	"fairlane/service/control/identity"
	"fairlane/tenants"
)

// withToken serves what a service does, and adds a token to each request; an empty one adds none. It returns the address of the Prometheus
// API. Of the queries of promtool 2.42 only `range` can send a token.
func withToken(t *testing.T, service, token string) (address string) {
	t.Helper()
	to, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		if token != "" {
			r.Out.Header.Set("Authorization", "Bearer "+token)
		}
	}})
	t.Cleanup(s.Close)
	return s.URL + "/api/v1/prometheus"
}

var atTime = regexp.MustCompile(` @\[[0-9.]+\]`)

// queried is a service with series that promtool queries.
type queried struct {
	promtool, service    string    // path and URL
	all, gold, anonymous string    // addresses with the token of the administrator, with that of a viewer of tenant gold, and without one
	now                  time.Time // of the latest measurement
}

// query runs `promtool query`.
func (q *queried) query(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), q.promtool, append([]string{"query"}, args...)...).CombinedOutput()
	return string(out), err
}

// moment returns a time before the latest measurement as promtool reads it.
func (q *queried) moment(ago time.Duration) string {
	return strconv.FormatInt(q.now.Add(-ago).Unix(), 10)
}

func startQueried(t *testing.T) *queried {
	t.Helper()
	promtool := peertest.Program(t, "promtool")
	m := managerOfMeasuredFabric(t, 0, 15*time.Second)
	h, err := m.Handler(api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	if _, err := m.service.Bootstrap(t.Context(), testToken); err != nil {
		t.Fatal(err)
	}
	ann, err := m.service.CreateUser(t.Context(), identity.UserInput{
		Name: "ann", Grants: []tenants.Grant{{Role: tenants.RoleTenantViewer, Domain: tenants.Domain{Fabric: demo.FabricName, Tenant: "gold"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := m.service.CreateToken(t.Context(), ann.Ref(), identity.TokenInput{Name: "promtool"})
	if err != nil {
		t.Fatal(err)
	}
	return &queried{promtool, s.URL, withToken(t, s.URL, testToken), withToken(t, s.URL, token), withToken(t, s.URL, ""), m.service.Now()}
}

// TestPromtoolQueriesTheService has Debian's promtool query a service with the tokens of an administrator and of a tenant's viewer.
func TestPromtoolQueriesTheService(t *testing.T) {
	t.Parallel()
	q := startQueried(t)
	const metric = "fairlane_tenant_weight"
	instant, period := []string{"instant", "--time=" + q.moment(0)}, []string{"--start=" + q.moment(time.Minute), "--end=" + q.moment(0)}
	ranged := slices.Concat([]string{"range", "--step=15s"}, period)
	of := func(tenant string) string { return metric + `{fabric="demo", tenant="` + tenant + `"} =>` }
	named := func(tenant string) string {
		return `{__name__="` + metric + `", fabric="demo", tenant="` + tenant + `"}`
	}
	for _, c := range []struct {
		options      []string
		rest         string // after the address
		admin, owner []string
	}{
		{instant, metric, []string{of("bronze") + " 1", of("gold") + " 4", of("silver") + " 2"}, []string{of("gold") + " 4"}},
		{instant, "count(" + metric + ")", []string{"{} => 3"}, []string{"{} => 1"}},
		{instant, "count(fairlane_measured_ratio)", []string{"{} => 1"}, nil},
		{ranged, metric, []string{of("bronze"), "1", of("gold"), "4", of("silver"), "2"}, []string{of("gold"), "4"}},
		{slices.Concat([]string{"series", "--match=" + metric, "--match=fairlane_measured_ratio"}, period), "",
			[]string{`{__name__="fairlane_measured_ratio", fabric="demo"}`, named("bronze"), named("gold"), named("silver")}, []string{named("gold")}},
		{slices.Concat([]string{"labels", "--match=" + metric}, period), "tenant", []string{"bronze", "gold", "silver"}, []string{"gold"}},
		{[]string{"labels"}, "tenant", []string{"bronze", "gold", "silver"}, []string{"gold"}},
	} {
		for address, want := range map[string][]string{q.all: c.admin, q.gold: c.owner} {
			args := append(slices.Clone(c.options), address)
			if c.rest != "" {
				args = append(args, c.rest)
			}
			out, err := q.query(t, args...)
			got := slices.Compact(strings.Split(atTime.ReplaceAllString(strings.TrimSpace(out), ""), "\n")) // in a range each value repeats
			if d := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); err != nil || d != "" {
				t.Errorf("promtool query %v: %v (-want +got)\n%s", args, err, d)
			}
		}
	}
	direct, err := q.query(t, append(ranged, "--header=Authorization=Bearer "+testToken, q.service+"/api/v1/prometheus", "1")...)
	if err != nil || !strings.HasPrefix(direct, "{} =>\n1 @[") {
		t.Errorf("with the token from promtool itself: %v\n%s", err, direct)
	}

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"instant", q.all, "sum("}, "bad_data: bad query: 1:5: parse error: unclosed left parenthesis"},
		{[]string{"series", "--match=sum(", q.gold}, `bad_data: bad query: 1:4: parse error: unexpected "("`},
		{[]string{"range", "--step=1s", "--start=0", "--end=" + q.moment(0), q.gold, metric}, "want at most 11000; increase step or shorten the range"},
		{[]string{"instant", q.anonymous, metric}, `"detail":"send Authorization: Bearer with a valid token"`},
	} {
		if out, err := q.query(t, c.args...); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("promtool query %v: %v\n%s\nwant %s", c.args, err, out, c.want)
		}
	}
}
