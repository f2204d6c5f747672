package remote

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api"
	"fairlane/internal/i18n"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
)

// keptLab is fabric "lab" of a service that keeps series, with a clock that begins at 2026-11-21 10:00.
type keptLab struct {
	t   *testing.T
	rig *controltest.Rig
	db  *embedded.DB
	url string
}

// labLink is the link for which the tenants of a keptLab contend.
const labLink = "sw/P4 -> h4/P1"

func newKeptLab(t *testing.T) *keptLab {
	t.Helper()
	return newKeptLabOf(t, 15*time.Second)
}

// newKeptLabOf is newKeptLab with a period of measurements.
func newKeptLabOf(t *testing.T, period time.Duration) *keptLab {
	t.Helper()
	db := embeddedtest.Open(t, embedded.Options{Interval: period})
	r := controltest.New(t, openStore)
	r.Service = r.Manager(t, func(d *control.Deps) { d.Series = db })
	r.Lab(t)
	h, err := api.New(r.Service, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &keptLab{t: t, rig: r, db: db, url: s.URL}
}

// measured is what one measurement of a keptLab has of a tenant; a negative rate was not measured.
type measured struct {
	tenant              string
	entitled, delivered float64 // Gbit/s
	state               string
	received            float64 // while contending
	contended, bad      float64 // seconds
}

// keep stores a measurement every 15 seconds after from, until the end.
func (l *keptLab) keep(from, to time.Time, all ...measured) {
	l.t.Helper()
	for at := from.Add(15 * time.Second); !at.After(to); at = at.Add(15 * time.Second) {
		var batch []series.Sample
		put := func(family string, v float64, labels ...string) {
			s := series.Sample{Family: family, Value: v, Labels: []series.Label{{Name: "fabric", Value: "lab"}}, Gap: v < 0}
			for i := 0; i < len(labels); i += 2 {
				s.Labels = append(s.Labels, series.Label{Name: labels[i], Value: labels[i+1]})
			}
			batch = append(batch, s)
		}
		put(series.Coverage, 0.06)
		put(series.LinkUse, 0.98, "link", labLink)
		for i := range all {
			x := &all[i]
			put(series.TenantEntitled, x.entitled*1e9, "tenant", x.tenant)
			put(series.TenantDelivered, x.delivered*1e9, "tenant", x.tenant)
			put(series.LinkTenant, x.delivered*1e9, "link", labLink, "tenant", x.tenant)
			put(series.LinkEntitled, x.entitled*1e9, "link", labLink, "tenant", x.tenant)
			put(series.TenantObjective, 0.99, "tenant", x.tenant)
			put(series.TenantWeight, x.entitled/25, "tenant", x.tenant)
			for _, state := range []string{"contending", "demand", "not-measured"} {
				if state == x.state {
					put(series.TenantState, 1, "tenant", x.tenant, "state", state)
				} else {
					put(series.TenantState, -1, "tenant", x.tenant, "state", state)
				}
			}
			received := -1.0
			if x.state == "contending" {
				received = x.received
				x.contended += 15
				if received < 0.95 {
					x.bad += 15
				}
			}
			put(series.TenantReceived, received, "tenant", x.tenant, "link", labLink)
			put(series.TenantContended, x.contended, "tenant", x.tenant)
			put(series.TenantBad, x.bad, "tenant", x.tenant)
		}
		if err := l.db.Append(l.t.Context(), at, batch); err != nil {
			l.t.Fatal(err)
		}
	}
}

// says runs a command and demands fragments of what it prints, and of what it says or returns, in order.
func (l *keptLab) says(line string, want ...string) {
	l.t.Helper()
	out, words := asAdmin(l.t, l.url, line)
	rest := strings.Join(strings.Fields(out+"\n"+words), " ")
	for _, w := range want {
		i := strings.Index(rest, w)
		if i < 0 {
			l.t.Errorf("%s: %q is missing, or not in order:\n%s%s", line, w, out, words)
			return
		}
		rest = rest[i+len(w):]
	}
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-11-21T"+text+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

// fill keeps an hour: red and blue contend, then nothing is measured for ten minutes, then blue wants less.
func (l *keptLab) fill() {
	l.keep(at("10:00:00"), at("10:20:00"), measured{tenant: "red", entitled: 75, delivered: 74, state: "contending", received: 0.99}, measured{tenant: "blue", entitled: 25, delivered: 20, state: "contending", received: 0.8})
	l.keep(at("10:30:00"), at("10:45:00"), measured{tenant: "red", entitled: 75, delivered: 74, state: "contending", received: 0.99}, measured{tenant: "blue", entitled: 25, delivered: 5, state: "demand"})
	l.keep(at("10:45:00"), at("11:00:00"), measured{tenant: "red", entitled: 50, delivered: 49, state: "contending", received: 0.98}, measured{tenant: "blue", entitled: 25, delivered: -1, state: "not-measured"})
}

func TestHistoryShowsStepsOfTime(t *testing.T) {
	t.Parallel()
	l := newKeptLab(t)
	l.fill()
	const span = "share history --since 2026-11-21T10:00:00Z --until 2026-11-21T11:00:00Z"
	l.says(span+" --step 10m --tenant blue", "TIME TENANT ENTITLED DELIVERED RECEIVED STATE LIMITED BY MEASURED COVERAGE",
		"10:00:00 blue 25 Gbit/s 20 Gbit/s 80.0 % contending "+labLink+" 100.0 % 6.0 %",
		"10:20:00 blue - - - - - 0.0 % - 2026",
		"10:30:00 blue 25 Gbit/s 5 Gbit/s - demand its demand 100.0 % 6.0 %",
		"10:40:00 blue 25 Gbit/s 5 Gbit/s - demand 50 % its demand 50.0 % 6.0 %",
		"10:50:00 blue 25 Gbit/s - - not-measured - 0.0 % 6.0 %")
	l.says(span+" --step auto --all --lang zh", "时间", "10:00:00 blue", "争用", "10:00:00 red")
	l.says(span+" --step 30m --json", `"step_seconds": 1800`, `"period_seconds": 15`, `"delivered_bps": 20000000000`, `"received": 0.8`, `"limiting_link": "sw/P4 -\u003e h4/P1"`, `"measured": 0.66`)
	l.says("share history --since 2026-11-20T10:00:00Z --until 2026-11-20T11:00:00Z --step 10m", "the series have no measurement from 2026-11-20 10:00:00 UTC to 2026-11-20 11:00:00 UTC")
	l.says(span+" --step 1s", "--step 1s: want at least the period of measurements, 15s")
	l.says("share history --step x", `--step "x": want auto`)
	l.says("share history --step x --lang zh", `--step "x"：应为 auto`)
	l.says("share history --step auto --limit 3", "--limit applies to stored measurements")
	l.says("share history --step auto --since 2026-11-20T10:00:00Z --until 2026-11-20T09:00:00Z", "--since 2026-11-20 10:00:00 UTC is not before --until 2026-11-20 09:00:00 UTC")
}

// A history has no steps in the future, in which nothing can be measured.
func TestAHistoryEndsNow(t *testing.T) {
	t.Parallel()
	l := newKeptLab(t)
	now := time.Now().UTC()
	l.keep(now.Add(-time.Minute), now, measured{tenant: "red", entitled: 75, delivered: 75, state: "contending", received: 1})
	out, words := asAdmin(t, l.url, "share history --step 1h --json --since 30m --until "+now.Add(100*time.Hour).Format(time.RFC3339))
	var h keptHistory
	if err := json.Unmarshal([]byte(out), &h); err != nil || len(h.Steps) == 0 || len(h.Steps) > 2 || h.Until.After(now.Add(time.Hour)) {
		t.Errorf("%v, %d steps until %v\n%s", err, len(h.Steps), h.Until, words)
	}
}

func TestHistoryExplainsShares(t *testing.T) {
	t.Parallel()
	l := newKeptLab(t)
	l.fill()
	l.says("share history --why 2026-11-21T10:05:00Z", "From 2026-11-21 10:02:30 UTC to 2026-11-21 10:07:30 UTC. Counters were read for 6.0 % of this time.",
		"blue: Received 20 Gbit/s of 25 Gbit/s entitled (80.0 %). It contended on "+labLink+" in 100 % of the measurements and received 80.0 % of the rate available to it there. That is less than its share",
		"On this link, with 98.0 % in use, there were also: red with 74 Gbit/s (entitled 75 Gbit/s, contending).",
		"red: Received 74 Gbit/s", "received 99.0 % of the rate available to it there. That is its share",
		"Events from 2026-11-21 09:32:30 UTC", "fabric.created", "tenant.created")
	l.says("share history --why 2026-11-21T10:40:00Z --tenant blue", "It sent less than the network allowed in 100 % of the measurements: it requested no more.")
	l.says("share history --why 2026-11-21T10:45:00Z --tenant blue --step 10m", "requested no more", "Its rate was measured in only 20 of 40 measurements.")
	l.says("share history --why 2026-11-21T10:45:00Z --tenant blue --step 10m --lang zh", "blue：得到 5 Gbit/s，应得 25 Gbit/s（20.0 %）。在 50 % 的测量中发送量低于", "其余测量中：未测量 50 %。")
	l.says("share history --why 2026-11-21T10:58:00Z --tenant red", "Its entitlement was 75 Gbit/s 30 minutes earlier.", "Its weight changed from 3 to 2.", "No events")
	l.says("share history --why 2026-11-21T10:45:00Z --tenant red", "In this time its entitlement changed from 75 Gbit/s to 50 Gbit/s; the entitled rate above is the average.")
	l.says("tenant set blue --cap 25Gbit/s", "blue")
	l.says("share history --why 2026-11-21T10:05:00Z --tenant blue", "Received 20 Gbit/s of 25 Gbit/s entitled (80.0 %). Its cap of 25 Gbit/s determines its entitlement.")
	l.says("share history --why 2026-11-21T10:58:00Z --tenant blue", "blue: Received - of 25 Gbit/s", "was not measured.")
	l.says("share history --why 2026-11-21T10:25:00Z --json", `"tenants": []`)
	l.says("share history --why 2026-11-21T10:05:00Z --tenant blue --json", `"state": "contending"`, `"explanation": [`, `"link": "sw/P4 -\u003e h4/P1"`, `"kind": "fabric.created"`)
	l.says("share history --why noon", `--why "noon": want a time of day in UTC such as 14:05`)
	l.says("share history --why 2999-01-01T00:00:00Z --lang zh", "该时间尚未到来")
	l.says("share history --why 10:05 --since 1h", "--why refers to one time")
}

// A time of day is the latest one that is past.
func TestTimesOfDayArePast(t *testing.T) {
	t.Parallel()
	c := &cli{}
	for text, want := range map[string]string{"14:05": "2026-11-21T14:05:30Z", "14:06": "2026-11-20T14:06:30Z", "00:00:01": "2026-11-21T00:00:01Z"} {
		got, err := c.moment(text, at("14:05:30"))
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s is %v, %v; want %s", text, got, err, want)
		}
	}
}

// Tenants have no links and no coverage, and only their own rows.
func TestATenantSeesItsOwnHistory(t *testing.T) {
	t.Parallel()
	l := newKeptLab(t)
	l.fill()
	l.says("service-account create ci --role tenant-viewer --tenant blue", "ci")
	token, words := asAdmin(t, l.url, "token create x --service-account ci --tenant blue")
	if token = strings.TrimSpace(token); token == "" {
		t.Fatal(words)
	}
	for line, want := range map[string]string{
		"share history --since 2026-11-21T10:00:00Z --until 2026-11-21T11:00:00Z --step 20m": "10:00:00 blue 25 Gbit/s 20 Gbit/s - contending a contended link 100.0 % -",
		"share history --why 2026-11-21T10:05:00Z":                                           "It contended for a link in 100 % of the measurements. Only operators see which link",
	} {
		cmd, out, said := asks(map[string]string{"FAIRLANE_URL": l.url, "FAIRLANE_TOKEN": token}, strings.Fields(line)...)
		err := cmd.ExecuteContext(t.Context())
		if text := strings.Join(strings.Fields(out.String()), " "); err != nil || !strings.Contains(text, want) || strings.Contains(text, " red ") || strings.Contains(text, "sw/P4") {
			t.Errorf("%s: %v\n%s%s", line, err, out, said)
		}
	}
}

func TestAutomaticStepsAreFewAndRound(t *testing.T) {
	t.Parallel()
	for long, want := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, time.Hour: 5 * time.Minute, 24 * time.Hour: time.Hour, 28 * 24 * time.Hour: 7 * 24 * time.Hour, 10000 * time.Hour: 7 * 24 * time.Hour,
	} {
		if got := autoStep(long, 15*time.Second); got != want {
			t.Errorf("steps of %v are %v, want %v", long, got, want)
		}
	}
	if got := autoStep(time.Minute, 4*time.Minute); got != 5*time.Minute {
		t.Errorf("with a period of 4 minutes steps are %v", got)
	}
}

func TestAWatchDrawsEarlierMeasurements(t *testing.T) {
	t.Parallel()
	l := newKeptLab(t)
	now := time.Now()
	for _, x := range []struct {
		from, to  time.Duration
		delivered float64
	}{{-15 * time.Minute, -10 * time.Minute, 75}, {-5 * time.Minute, 0, 37.5}} {
		l.keep(now.Add(x.from), now.Add(x.to), measured{tenant: "red", entitled: 75, delivered: x.delivered, state: "contending", received: 1}, measured{tenant: "blue", entitled: 25, delivered: -1, state: "not-measured"})
	}
	inForce(t, l.url)
	out := watched(t, l.url, "share watch --every 100ms", "red")
	if !strings.Contains(out, "LAST 15 MIN OF ENTITLED") || !strings.Contains(out, "█") || !strings.Contains(out, "·········") || !strings.Contains(out, "▅") && !strings.Contains(out, "▄") || strings.Contains(out, "\x1b") {
		t.Errorf("the watch printed\n%s", out)
	}
	var line struct {
		Tenants []struct{ Tenant string }
		Recent  recentShares
	}
	out = watched(t, l.url, "share show --watch --tenant red --every 100ms --json", "red")
	first, _, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(first), &line); err != nil || len(line.Tenants) != 1 || len(line.Recent.Tenants["red"]) != 30 || line.Recent.CellSeconds != 30 || line.Recent.Tenants["red"][15] != nil {
		t.Errorf("a line is %v, %+v:\n%s", err, line, first)
	}
}

func TestAWatchReportsMissingSeries(t *testing.T) {
	t.Parallel()
	r, url := serve(t)
	r.Lab(t)
	inForce(t, url)
	if out := watched(t, url, "share watch --every 100ms", "red"); !strings.Contains(out, "SHARE") || !strings.Contains(out, "watching without the last 15 minutes: this service stores no time series") {
		t.Errorf("the watch printed\n%s", out)
	}
	if _, words := asAdmin(t, url, "share history --step auto"); !strings.Contains(words, "this service stores no time series: set series.path") {
		t.Errorf("a history without series says %q", words)
	}
}

// awaySeries is a store whose server does not answer queries over a time.
type awaySeries struct{ series.Store }

func (awaySeries) Range(context.Context, series.Scope, string, time.Time, time.Time, time.Duration) (series.Answer, error) {
	return series.Answer{}, series.ErrAway
}

// A watch continues while the series server does not answer; other commands report it.
func TestAWatchContinuesWithoutTheSeriesServer(t *testing.T) {
	t.Parallel()
	l := newKeptLab(t)
	l.rig.Service.Series = awaySeries{l.db}
	inForce(t, l.url)
	out := watched(t, l.url, "share watch --every 100ms", "red")
	if !strings.Contains(out, "SHARE") || strings.Count(out, "watching without the last 15 minutes: the time series server does not answer") != 1 {
		t.Errorf("the watch printed\n%s", out)
	}
	l.says("share history --step auto --lang zh", "存放时间序列的服务器没有应答")
}

// The period is exact also when it does not divide a day.
func TestThePeriodOfMeasurementsIsExact(t *testing.T) {
	t.Parallel()
	for _, period := range []time.Duration{time.Second, 11 * time.Second, 299 * time.Second, 5 * time.Minute} {
		l := newKeptLabOf(t, period)
		l.says("share history --json --step auto --since 1h", `"period_seconds": `+strconv.FormatFloat(period.Seconds(), 'f', -1, 64)+`,`)
	}
}

func TestSparklines(t *testing.T) {
	t.Parallel()
	if got := sparkline([]*float64{nil, new(-1.0), new(0.0), new(0.5), new(1.0), new(7.0), nil}); got != "·▁▁▅██·" {
		t.Errorf("drawn: %s", got)
	}
}

// inForce rolls out a plan.
func inForce(t *testing.T, url string) {
	t.Helper()
	plan, words := asAdmin(t, url, "plan create --name-only")
	if _, words2 := asAdmin(t, url, "rollout start --wait --plan "+strings.TrimSpace(plan)); !strings.Contains(words2, "succeeded") {
		t.Fatal(words, words2)
	}
}

// asAdmin runs a command with the rig's token and returns what it prints, and what it says or returns as an error.
func asAdmin(t *testing.T, url, line string) (out, words string) {
	t.Helper()
	env := map[string]string{"FAIRLANE_URL": url, "FAIRLANE_TOKEN": controltest.Token, "FAIRLANE_CREDENTIALS": t.TempDir() + "/credentials"}
	var printed, said bytes.Buffer
	args := strings.Fields(line)
	cmd := root(Options{Getenv: func(k string) string { return env[k] }, Args: args})
	cmd.SetArgs(args)
	cmd.SetOut(&printed)
	cmd.SetErr(&said)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		return printed.String(), said.String() + err.Error()
	}
	return printed.String(), said.String()
}

// watched runs a watch until it has printed a text several times, and returns all that it printed.
func watched(t *testing.T, url, line, text string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	env := map[string]string{"FAIRLANE_URL": url, "FAIRLANE_TOKEN": controltest.Token, "FAIRLANE_CREDENTIALS": t.TempDir() + "/credentials"}
	cmd, out, words := asks(env, strings.Fields(line)...)
	cmd.SetOut(io.MultiWriter(out, &stopAfter{n: 6, text: text, stop: cancel}))
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return out.String() + words.String()
}

func TestAMonthIsReportedByTenant(t *testing.T) {
	t.Parallel()
	l := newKeptLab(t)
	l.fill()
	blue := measured{tenant: "blue", entitled: 25, delivered: 25, state: "contending", received: 1}
	l.keep(at("23:50:00"), at("23:59:45"), blue)
	blue.contended += 585
	l.keep(at("23:59:45"), at("23:59:45").Add(10*time.Minute), blue)
	out, words := asAdmin(t, l.url, "share report --month 2026-11 --csv")
	const head = "month,fabric,tenant,from,to,contended_seconds,bad_seconds,good_ratio,objective_ratio,delivered_bits_extrapolated,measured_ratio,coverage_ratio,days_missing," +
		"state_contending_seconds,state_demand_seconds,state_idle_seconds,state_cap_seconds,state_own_port_seconds,state_other_link_seconds,state_path_down_seconds,state_not_measured_seconds\r\n"
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 3 || !strings.HasPrefix(out, head) {
		t.Fatalf("%v\n%s%s", err, out, words)
	}
	// Blue contended from 10:00 to 10:20, all bad, and for 1185 s around midnight; from 10:30 to 10:45 it wanted less.
	want := map[int]string{2: "blue", 5: "2385", 6: "1200", 8: "0.99", 9: "58125000000000", 13: "2385", 14: "900", 15: "0", 20: "900"}
	for i, w := range want {
		if rows[1][i] != w {
			t.Errorf("%s of blue is %q, want %q", rows[0][i], rows[1][i], w)
		}
	}
	if good := rows[1][7]; !strings.HasPrefix(good, "0.4968") {
		t.Errorf("blue's good part is %s", good)
	}
	if !strings.Contains(words, "no measurement of any reported tenant on 2026-11-01/2026-11-20") {
		t.Errorf("missing days: %s", words)
	}
	l.says("share report --month 2026-11", "TENANT CONTENDED BAD GOOD OBJECTIVE DELIVERED (EXTRAPOLATED) MEASURED COVERAGE STATES", "blue 39m45s 20m0s 49.7 % 99.0 % 58.125 Tbit", "contending 39m45s, demand 15m0s, not-measured 15m0s", "red 50m0s 0s 100.0 % 99.0 %")
	l.says("share report --month 2026-11 --json --tenant red", `"month": "2026-11"`, `"from": "2026-11-01T00:00:00Z"`, `"contended_seconds": 3000`, `"bad_seconds": 0`, `"missing_days": [ "2026-11-01"`)
	l.says("share report --month 2026-11 --tenant red", "no measurement of any reported tenant on 2026-11-01/2026-11-20, 2026-11-22")
	l.says("share report --month 2026-10", "")
	l.says("share report --month 2026-10 --csv", "month,fabric")
}

// A warning, such as of a manager that does not answer, is printed once, whatever the number of queries.
func TestWarningsOfSeriesArePrintedOnce(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		data := `{"resultType":"matrix","result":[]}`
		if strings.Contains(r.FormValue("query"), "vector(time())") {
			data = `{"resultType":"vector","result":[{"metric":{},"value":[1,"15"]}]}`
		}
		_, _ = io.WriteString(w, `{"status":"success","warnings":["m2 does not answer"],"data":`+data+"}")
	}))
	t.Cleanup(server.Close)
	_, words := asAdmin(t, server.URL, "share history --step 1m --since 1h --fabric lab")
	if strings.Count(words, "warning: m2 does not answer") != 1 || !strings.Contains(words, "the series have no measurement") {
		t.Errorf("the command says %q", words)
	}
}

// onDay returns a time of November 2026.
func onDay(day int, clock string) time.Time {
	return at(clock).AddDate(0, 0, day-21)
}

// column returns a column of the row of the first tenant of a report in CSV.
func (l *keptLab) column(line, name string) string {
	l.t.Helper()
	out, words := asAdmin(l.t, l.url, line)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) < 2 {
		l.t.Fatalf("%s: %v\n%s%s", line, err, out, words)
	}
	return rows[1][slices.Index(rows[0], name)]
}

// Each bad window of a day counts once, whatever the totals before.
func TestAReportCountsEachBadWindow(t *testing.T) {
	t.Parallel()
	l := newKeptLab(t)
	red := measured{tenant: "red", entitled: 75, delivered: 75, state: "contending", received: 1}
	l.keep(onDay(2, "00:00:00"), onDay(3, "00:00:00"), red)
	red.contended, red.received = 86400, 0.5
	l.keep(onDay(3, "00:00:00"), onDay(4, "00:00:00"), red)
	red.contended, red.received = 0, 1 // another manager takes over
	l.keep(onDay(4, "00:00:00"), onDay(4, "01:00:00"), red)
	for name, want := range map[string]string{"contended_seconds": "176400", "bad_seconds": "86400", "good_ratio": "0.510204", "delivered_bits_extrapolated": "13230000000000000"} {
		if got := l.column("share report --month 2026-11 --csv", name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// Measurements of a time with a shorter period stand for that time, and not for more.
func TestAReportAfterALongerPeriod(t *testing.T) {
	t.Parallel()
	l := newKeptLabOf(t, time.Minute)
	l.keep(onDay(2, "00:00:00"), onDay(2, "12:00:00"), measured{tenant: "red", entitled: 75, delivered: 75, state: "contending", received: 0.5})
	l.keep(onDay(2, "12:00:00"), onDay(3, "00:00:00"), measured{tenant: "red", entitled: 75, delivered: 25, state: "demand"})
	for name, want := range map[string]string{"contended_seconds": "43200", "bad_seconds": "43200", "state_demand_seconds": "43200", "delivered_bits_extrapolated": "4320000000000000"} {
		if got := l.column("share report --month 2026-11 --csv", name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// A tenant of a large fabric delivers more bits in a month than an integer holds.
func TestAReportShowsManyBits(t *testing.T) {
	t.Parallel()
	texts, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	c := &cli{texts: texts}
	for v, want := range map[float64]string{0: "0 bit", 999: "999 bit", 58.125e12: "58.125 Tbit", 1e15: "1 Pbit", 2e15 * 30 * 86400: "5184 Ebit"} {
		x := reportTenant{DeliveredBits: &v}
		if row := c.reportTable(&shareReport{Tenants: []reportTenant{x}}).rows[0]; row[5].Text != want {
			t.Errorf("%v bits are %q, want %q", v, row[5].Text, want)
		}
	}
}

// Seconds in states are unknown, and not 0, where no state was stored.
func TestAReportHasNoSecondsWithoutStates(t *testing.T) {
	t.Parallel()
	l := newKeptLab(t)
	l.keep(onDay(2, "00:00:00"), onDay(2, "01:00:00"), measured{tenant: "red", entitled: 75, delivered: 75})
	for name, want := range map[string]string{"contended_seconds": "", "bad_seconds": "", "good_ratio": "", "state_idle_seconds": "", "delivered_bits_extrapolated": "270000000000000"} {
		if got := l.column("share report --month 2026-11 --csv", name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// A report does not fail in the first second of a month.
func TestAReportInTheFirstSecondOfAMonth(t *testing.T) {
	t.Parallel()
	l := newKeptLab(t)
	env := map[string]string{"FAIRLANE_URL": l.url, "FAIRLANE_TOKEN": controltest.Token}
	c := &cli{getenv: func(k string) string { return env[k] }}
	client, err := c.client()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	k, err := c.openSeries(cmd, client, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := k.report(time.Now().UTC().Truncate(time.Second), ""); err != nil || len(r.Tenants) > 0 || len(r.MissingDays) != 1 {
		t.Errorf("%v, %+v", err, r)
	}
}
