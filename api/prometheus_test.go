package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/service/series"
)

// seriesRig returns a rig whose series have a minute of two tenants, and the time of the last sample.
func seriesRig(t *testing.T) (*rig, time.Time) {
	t.Helper()
	r := newRig(t)
	start := time.Unix(1_700_000_000, 0)
	for i := range 5 {
		for k, tenant := range []string{"red", "blue"} {
			err := r.Service.Series.Append(t.Context(), start.Add(time.Duration(i)*15*time.Second+time.Duration(k)*time.Millisecond), []series.Sample{{
				Family: series.TenantDelivered, Value: float64(i + k), Labels: []series.Label{{Name: series.LabelFabric, Value: "lab"}, {Name: series.LabelTenant, Value: tenant}},
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return r, start.Add(time.Minute + time.Millisecond)
}

// form posts a form.
func (r *rig) form(path string, values url.Values) answer {
	r.t.Helper()
	req := httptest.NewRequestWithContext(context.WithoutCancel(r.t.Context()), "POST", "/api/v1"+path, strings.NewReader(values.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	setPairs(req.Header, bearer(r.token))
	return serve(r.t, r.server, req)
}

// The calls that Grafana's Prometheus data source makes, in its forms.
func TestCallsOfGrafana(t *testing.T) {
	t.Parallel()
	r, _ := seriesRig(t)
	const root = "/prometheus/api/v1"
	for _, c := range []struct {
		name string
		call func() answer
		want string
	}{
		{"health check", func() answer {
			return r.form(root+"/query", url.Values{"query": {"1+1"}, "time": {"1700000060"}})
		}, `{"status":"success","data":{"resultType":"scalar","result":[1700000060,"2"]}}`},
		{"panel", func() answer {
			return r.form(root+"/query_range", url.Values{"query": {"sum(fairlane_tenant_delivered_bits_per_second)"}, "start": {"1700000030.5"}, "end": {"1700000060.5"}, "step": {"15"}})
		}, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1700000030.5,"5"],[1700000045.5,"7"],[1700000060.5,"9"]]}]}}`},
		{"panel by GET", func() answer {
			return r.call("GET", root+"/query_range?query=count(fairlane_tenant_delivered_bits_per_second)&start=2023-11-14T22:14:20.5Z&end=1700000060.5&step=1m&timeout=5s", "")
		}, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1700000060.5,"2"]]}]}}`},
		{"metric browser", func() answer {
			return r.call("GET", root+"/label/__name__/values?start=&end=", "")
		}, `{"status":"success","data":["fairlane_tenant_delivered_bits_per_second"]}`},
		{"label browser", func() answer {
			return r.form(root+"/labels", url.Values{"match[]": {`{tenant="red"}`, `{tenant="blue"}`}, "start": {"1700000000"}, "end": {"1700000060"}})
		}, `{"status":"success","data":["__name__","fabric","tenant"]}`},
		{"series", func() answer {
			return r.call("GET", root+"/series?match[]="+url.QueryEscape(`{tenant="red"}`)+"&limit=10", "")
		}, `{"status":"success","data":[{"__name__":"fairlane_tenant_delivered_bits_per_second","fabric":"lab","tenant":"red"}]}`},
		{"metadata", func() answer { return r.call("GET", root+"/metadata?metric=fairlane_tenant_weight", "") },
			`{"status":"success","data":{"fairlane_tenant_weight":[{"type":"gauge","help":"weight of a tenant in the plan in force","unit":""}]}}`},
		{"warnings", func() answer {
			return r.call("GET", root+"/query?query="+url.QueryEscape("quantile(2, fairlane_tenant_delivered_bits_per_second)")+"&time=1700000060.001", "")
		}, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1700000060.001,"+Inf"]}]},"warnings":["PromQL warning: quantile value should be between 0 and 1, got 2 (1:10)"]}`},
	} {
		a := c.call().want(200)
		var got, want any
		if err := errors.Join(json.Unmarshal(a.body, &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestFaultsOfQueriesHaveTheFormOfPrometheus(t *testing.T) {
	t.Parallel()
	r, _ := seriesRig(t)
	const root = "/prometheus/api/v1"
	for _, c := range []struct {
		target string
		status int
		want   string
	}{
		{"/query?query=sum(", 400, `{"error":"bad query: 1:5: parse error: unclosed left parenthesis","errorType":"bad_data","status":"error"}`},
		{"/query?query=1&time=noon", 400, `{"error":"bad query: time: found \"noon\", want seconds since 1970 or RFC 3339","errorType":"bad_data","status":"error"}`},
		{"/query_range?query=1&start=1&end=&step=1", 400, `{"error":"bad query: end: found \"\", want seconds since 1970 or RFC 3339","errorType":"bad_data","status":"error"}`},
		{"/query_range?query=1&start=1&end=2&step=0", 400, `{"error":"bad query: step: found \"0\", want seconds above 0 or a duration such as 15s or 5m","errorType":"bad_data","status":"error"}`},
		{"/query_range?query=1&start=0&end=1700000000&step=1", 422, `{"error":"query limit: 1700000001 steps for each series: want at most 11000; increase step or shorten the range","errorType":"execution","status":"error"}`},
	} {
		a := r.call("GET", root+c.target, "")
		if got := strings.TrimSpace(string(a.body)); a.status != c.status || got != c.want {
			t.Errorf("%s: %d %s\nwant %d %s", c.target, a.status, got, c.status, c.want)
		}
	}
	r.call("GET", root+"/query", "").want(422, "invalid") // before the query, problems are the service's own
	r.Service.Series = nil
	if a := r.call("GET", root+"/query?query=1", ""); a.status != 404 || !strings.Contains(string(a.body), `"errorType":"unavailable"`) {
		t.Errorf("without series: %d %s", a.status, a.body)
	}
}

// Clients decide by the version which functions they offer.
func TestTheBuildIsThatOfTheModule(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	minor, patch, _ := strings.Cut(strings.TrimPrefix(prometheusVersion, "3."), ".")
	if want := "github.com/prometheus/prometheus v0.3" + minor + "." + patch + "\n"; !strings.Contains(string(mod), want) {
		t.Errorf("version %s is not that of the module in go.mod: want a line %q there", prometheusVersion, want)
	}
	r := newRig(t)
	if a := r.call("GET", "/prometheus/api/v1/status/buildinfo", "").want(200); !strings.Contains(string(a.body), `"version":"`+prometheusVersion+`"`) {
		t.Errorf("%s", a.body)
	}
}
