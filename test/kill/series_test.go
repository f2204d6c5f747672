package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/store/pgtest"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
	"fairlane/test/servetest"
)

// measuredPeriod is the period of measurements; a lease holds for three.
const measuredPeriod = time.Second

// measuredLab is a simulated fabric with contending tenants and a plan in force, and two managers with a folder of series each.
type measuredLab struct {
	*lab

	folders []string
}

func newMeasuredLab(t *testing.T) *measuredLab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	s, err := scenario.Load("ib3to2")
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := live.StartInfiniBand(ctx, s, fmt.Sprintf("unix:fairlane-series-%d", os.Getpid()), simdev.Options{TimeScale: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fabric.Close() })
	l := &measuredLab{lab: &lab{t: t, ctx: ctx, rng: rand.New(rand.NewPCG(*seed, 5))}}
	l.c = &client{http: &http.Client{Timeout: 20 * time.Second}, rng: rand.New(rand.NewPCG(*seed, 6))}
	database := pgtest.Start(t, pgtest.Options{}).Database(t)
	for i := range 2 {
		l.folders = append(l.folders, t.TempDir())
		l.c.managers = append(l.c.managers, servetest.New(t, servetest.Options{
			Name: fmt.Sprintf("m%d", i+1), Database: database,
			Config: fmt.Sprintf("series: {path: %q, advertise: $URL, period: %s}\n", l.folders[i], measuredPeriod),
		}))
	}
	l.must("POST", "/fabrics", "f", object{"name": "lab", "source": "ibsim:" + fabric.Server.Addr(), "time_scale": 0.05}, nil)
	l.must("POST", "/fabrics/lab/discover", "d", nil, nil)
	at := func(sl int, ports ...string) (list []object) {
		for _, p := range ports {
			list = append(list, object{"port": p, "sl": sl})
		}
		return list
	}
	l.must("PUT", "/fabrics/lab/tenants", "", object{
		"tenants": []object{
			{"name": "red", "weight": 3, "pkey": "0x8001", "attachments": at(1, "host-001", "host-008")},
			{"name": "blue", "weight": 2, "pkey": "0x8002", "attachments": at(2, "host-002", "host-005", "host-008")},
		},
		"flows": []object{
			{"tenant": "red", "src": "host-001", "dst": "host-008"}, {"tenant": "blue", "src": "host-002", "dst": "host-008", "qps": 2},
			{"tenant": "blue", "src": "host-005", "dst": "host-008", "qps": 2},
		},
	}, nil)
	fabric.Devices.SetPartitionSL(0x8001, 1)
	fabric.Devices.SetPartitionSL(0x8002, 2)
	var plan struct{ Name string }
	l.must("POST", "/fabrics/lab/plans", "p", object{}, &plan)
	if ro := l.final(l.roll(plan.Name, 0)); ro.State != "succeeded" {
		t.Fatalf("the rollout ends as %+v", ro)
	}
	return l
}

// counted returns the contended seconds of tenant red as a manager exports them; negative when it does not measure.
func (l *measuredLab) counted(manager int) float64 {
	r, err := http.NewRequestWithContext(l.ctx, http.MethodGet, l.c.managers[manager].Operations+"/metrics", http.NoBody)
	if err != nil {
		l.t.Fatal(err)
	}
	resp, err := l.c.http.Do(r)
	if err != nil {
		return -1
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // half a text has no value
	_, rest, ok := strings.Cut(string(text), "\n"+series.TenantContended+`{fabric="lab",tenant="red"} `)
	line, _, _ := strings.Cut(rest, "\n")
	v, err := strconv.ParseFloat(line, 64)
	if !ok || err != nil {
		return -1
	}
	return v
}

// until waits for a condition.
func (l *measuredLab) until(what string, ok func() bool) {
	l.t.Helper()
	for !ok() {
		select {
		case <-l.ctx.Done():
			l.t.Fatalf("waited in vain for %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// measuring returns the manager that measures, once it counts seconds.
func (l *measuredLab) measuring() (at int) {
	l.t.Helper()
	l.until("a measurement", func() bool {
		at = 0
		if l.counted(0) < l.counted(1) {
			at = 1
		}
		return l.counted(at) > 0
	})
	return at
}

// freeze stops a manager in the middle of its next measurement, until the other one has measured for a while.
func (l *measuredLab) freeze(at int) {
	l.t.Helper()
	before := l.counted(at)
	l.until("the next measurement", func() bool { return l.counted(at) > before })
	time.Sleep(measuredPeriod * 3 / 4) // a measurement takes about half a period
	if err := l.c.managers[at].Signal(syscall.SIGSTOP); err != nil {
		l.t.Fatal(err)
	}
	other := 1 - at
	l.until("the other manager", func() bool { return l.counted(other) >= 1.5*measuredPeriod.Seconds() })
	if err := l.c.managers[at].Signal(syscall.SIGCONT); err != nil {
		l.t.Fatal(err)
	}
	l.until("the next measurements", func() bool { return l.counted(other) >= 3.5*measuredPeriod.Seconds() })
}

// point is a sample of a series.
type point struct {
	at time.Time
	v  float64
}

// points reads the samples of a range selector from an answer, by tenant.
func points(t *testing.T, data []byte) map[string][]point {
	t.Helper()
	var answer struct {
		Result []struct {
			Metric map[string]string
			Values [][2]json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatal(err)
	}
	out := map[string][]point{}
	for _, r := range answer.Result {
		for _, x := range r.Values {
			at, err := strconv.ParseFloat(string(x[0]), 64)
			v, err2 := strconv.ParseFloat(strings.Trim(string(x[1]), `"`), 64)
			if err != nil || err2 != nil {
				t.Fatalf("%s: %v, %v", x, err, err2)
			}
			out[r.Metric["tenant"]] = append(out[r.Metric["tenant"]], point{time.UnixMilli(int64(math.Round(at * 1000))), v})
		}
	}
	return out
}

// TestAFrozenManagerAppendsNothingStale freezes the manager that measures for longer than its lease, once each of the two. Both then give
// the same numbers: none that the fabric does not send, and no second counted twice.
func TestAFrozenManagerAppendsNothingStale(t *testing.T) {
	l := newMeasuredLab(t)
	for range 2 {
		l.freeze(l.measuring())
	}
	for i, m := range l.c.managers {
		for _, family := range []string{series.TenantContended, series.TenantBad, series.TenantDelivered} {
			var answer struct{ Data json.RawMessage }
			l.c.managers = []*servetest.Process{m}
			l.must("GET", "/prometheus/api/v1/query?query="+url.QueryEscape(family+"[5m]"), "", nil, &answer)
			found := points(t, answer.Data)
			if len(found) != 2 {
				t.Errorf("manager %d has %s of %d tenants", i, family, len(found))
			}
			for tenant, list := range found {
				if family == series.TenantDelivered {
					checkRates(t, tenant, list)
				} else {
					checkCounter(t, family+" of "+tenant, list)
				}
			}
		}
		m.Kill()
	}
	l.checkFolders(series.TenantContended, measuredPeriod)
	l.checkFolders(series.RecordedObjective, 0)
}

// checkRates compares rates with the link over which both tenants send.
func checkRates(t *testing.T, tenant string, list []point) {
	t.Helper()
	for _, p := range list {
		if p.v < 0 || p.v > 101e9 {
			t.Errorf("%s received %v bit/s at %v over a link of 100 Gbit/s", tenant, p.v, p.at)
		}
	}
}

// checkCounter compares increases, which may begin anew at each hand-over, with the time that passed.
func checkCounter(t *testing.T, what string, list []point) {
	t.Helper()
	resets := 0
	for i := 1; i < len(list); i++ {
		passed, more := list[i].at.Sub(list[i-1].at).Seconds(), list[i].v-list[i-1].v
		if more < 0 {
			resets++
			more = list[i].v
		}
		if more > passed+0.002 {
			t.Errorf("%s grew by %v s in %v s, until %v", what, more, passed, list[i].at)
		}
	}
	if resets > 2 {
		t.Errorf("%s began anew %d times, want 2 at most: %v", what, resets, list)
	}
}

// checkFolders reads what each manager stored of a family: the samples of one are all at least a time away from those of the other, and each
// manager took over once.
func (l *measuredLab) checkFolders(family string, apart time.Duration) {
	l.t.Helper()
	type sample struct {
		point

		by int
	}
	var all []sample
	for i, folder := range l.folders {
		db, err := embedded.Open(folder, embedded.Options{Interval: measuredPeriod})
		if err != nil {
			l.t.Fatal(err)
		}
		a, err := db.Instant(l.ctx, series.Everything, family+`{tenant="red"}[5m]`, time.Now())
		if err != nil {
			l.t.Fatal(err)
		}
		for _, p := range points(l.t, a.Data)["red"] {
			all = append(all, sample{p, i})
		}
		if err := db.Close(); err != nil {
			l.t.Error(err)
		}
	}
	slices.SortFunc(all, func(a, b sample) int { return a.at.Compare(b.at) })
	changes := 0
	for i := 1; i < len(all); i++ {
		if all[i].by == all[i-1].by {
			continue
		}
		changes++
		if all[i].at.Sub(all[i-1].at) < apart {
			l.t.Errorf("%s: both managers count the second until %v", family, all[i].at)
		}
	}
	if changes != 2 {
		l.t.Errorf("%s: %d changes of the manager in %d samples, want 2: %v", family, changes, len(all), all)
	}
}
