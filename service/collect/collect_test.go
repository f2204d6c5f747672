package collect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/collect"
	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/service/telemetry"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// service is the use cases and the meter of a test.
type service struct {
	fabrics    []string
	plan       map[string]*policy.Plan
	held       map[string]bool // by another manager
	shares     control.Shares
	fault      error
	windows    []time.Duration
	priors     []control.Target // given to RefreshTarget
	topology   *subnet.Fabric
	objectives []control.Objective
	lost       error // of RefreshTarget
	unclaimed  error // of ClaimCollection
	unread     error // of ObjectiveSet
	ahead      time.Duration
	takes      time.Duration // a measurement
}

// EachFabric begins a round, a period after the one before.
func (s *service) EachFabric(_ context.Context, _ string, do func(string) error) error {
	s.ahead += 15 * time.Second
	for _, f := range s.fabrics {
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) RefreshTarget(ctx context.Context, fabric string, prior control.Target) (control.Target, error) {
	if ctx.Err() != nil {
		return control.Target{}, ctx.Err()
	}
	s.priors = append(s.priors, prior)
	p := s.plan[fabric]
	if s.lost != nil {
		return control.Target{}, s.lost
	}
	if p == nil {
		return control.Target{}, &control.ConflictError{Code: "no-plan"}
	}
	return control.Target{Fabric: control.Fabric{Name: fabric, TimeScale: 0.01}, Plan: p}, nil
}

func (s *service) ClaimCollection(_ context.Context, fabric, _ string, _ time.Time) (bool, error) {
	return !s.held[fabric], s.unclaimed
}

func (s *service) ObjectiveSet(context.Context, string) (control.ObjectiveSet, error) {
	return control.NewObjectiveSet(s.objectives), s.unread
}

func (s *service) LatestTopology(context.Context, string) (*subnet.Fabric, error) {
	return s.topology, nil
}

func (s *service) Now() time.Time { return start.Add(s.ahead) }

var start = time.Unix(1_700_000_000, 0)

func (s *service) Measure(_ context.Context, _ control.Target, window time.Duration) (control.Shares, error) {
	s.windows = append(s.windows, window)
	s.ahead += s.takes
	sh := s.shares
	sh.Window = window
	return sh, s.fault
}

// kept records what is appended.
type kept struct {
	series.Reader

	batches [][]series.Sample
	times   []time.Time
	err     error
}

func (k *kept) Append(_ context.Context, at time.Time, batch []series.Sample) error {
	k.times = append(k.times, at)
	k.batches = append(k.batches, batch)
	return k.err
}

// last returns the latest batch as "family label… value", by line.
func (k *kept) last(t *testing.T) string {
	t.Helper()
	if len(k.batches) == 0 {
		return ""
	}
	var b strings.Builder
	for _, s := range k.batches[len(k.batches)-1] {
		b.WriteString(strings.TrimPrefix(s.Family, "fairlane_"))
		for _, l := range s.Labels {
			b.WriteString(" " + l.Value)
		}
		if s.Gap {
			b.WriteString(" gap\n")
		} else {
			b.WriteString(" " + strconv.FormatFloat(s.Value, 'g', 4, 64) + "\n") // measured values have five digits
		}
	}
	return b.String()
}

func collector(t *testing.T, s *service, k *kept) *collect.Collector {
	t.Helper()
	c, err := collect.New(s, s, k, collect.Options{Name: "m1", Period: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lab() *service {
	gbit := func(n float64) *quantity.BitRate { return new(quantity.BitRate(n * 1e9)) }
	return &service{
		fabrics: []string{"lab"},
		plan: map[string]*policy.Plan{"lab": {Tenants: []policy.TenantShare{
			{Tenant: "red", Weight: 3000, Entitled: 75e9, Predicted: 74e9}, {Tenant: "blue", Weight: 1000, Entitled: 25e9, Predicted: 26e9},
		}}},
		shares: control.Shares{
			Coverage: new(0.5), Jain: new(0.99), MaxShareError: new(0.04),
			Tenants: []control.TenantShare{
				{Tenant: "red", Delivered: gbit(74), ShareError: new(0.0133), Contended: control.Contended{Contention: "contending", Received: new(0.94)}, Limit: "sw/P4 -> h4/P1"},
				{Tenant: "blue", Problem: "not read", Contended: control.Contended{Contention: "not-measured"}},
			},
			Links: []control.LinkUse{{Name: "sw/P4 -> h4/P1", Capacity: 100e9, Delivered: gbit(98), Use: new(0.98), Tenants: []control.LinkTenant{{Tenant: "red", Delivered: gbit(74)}, {Tenant: "blue"}}}},
		},
	}
}

func round(t *testing.T, c *collect.Collector) {
	t.Helper()
	if err := c.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What was not measured has no sample: blue has an entitlement and no delivered rate.
func TestARoundStoresTheMeasuredSamples(t *testing.T) {
	t.Parallel()
	s, k := lab(), &kept{}
	round(t, collector(t, s, k))
	const want = `tenant_objective_ratio lab red 0.99
tenant_objective_ratio lab blue 0.99
tenant_entitled_bits_per_second lab red 7.5e+10
tenant_predicted_bits_per_second lab red 7.4e+10
tenant_weight lab red 3
tenant_entitled_bits_per_second lab blue 2.5e+10
tenant_predicted_bits_per_second lab blue 2.6e+10
tenant_weight lab blue 1
tenant_delivered_bits_per_second lab red 7.4e+10
tenant_share_error_ratio lab red 0.0133
tenant_state lab red contending 1
tenant_received_ratio lab red sw/P4 -> h4/P1 0.94
tenant_contended_seconds_total lab red 15
tenant_share_bad_seconds_total lab red 15
tenant_state lab blue not-measured 1
tenant_contended_seconds_total lab blue 0
tenant_share_bad_seconds_total lab blue 0
link_capacity_bits_per_second lab sw/P4 -> h4/P1 1e+11
link_delivered_bits_per_second lab sw/P4 -> h4/P1 9.8e+10
link_use_ratio lab sw/P4 -> h4/P1 0.98
link_tenant_delivered_bits_per_second lab sw/P4 -> h4/P1 red 7.4e+10
fabric_jain_index lab 0.99
fabric_share_error_max_ratio lab 0.04
measured_ratio lab 0.03333
`
	if got := k.last(t); got != want {
		t.Errorf("kept:\n%swant:\n%s", got, want)
	}
	if len(s.windows) != 1 || s.windows[0] != 10*time.Millisecond { // a second, at a hundredth of the pace
		t.Errorf("windows %v, want one of 10 ms", s.windows)
	}
}

func TestCountsOfPortsAreKeptAtContendedLinksOrEverywhere(t *testing.T) {
	t.Parallel()
	id := func(n uint64) ident.PortID { return ident.PortID{Node: ident.GUID(n), Port: 1} }
	s := lab()
	s.shares.Links[0].Port, s.shares.Links[0].Peer = id(1), id(2)
	s.shares.Ports = []control.PortActivity{
		{Port: id(1), Name: "sw/P1", Sent: s.shares.Links[0].Delivered, Counts: []control.PortCount{{Kind: "congested", Lane: new(2), PerSecond: 7}, {Kind: "xmit-wait", PerSecond: 3}}},
		{Port: id(3), Name: "h3/P1", Counts: []control.PortCount{{Kind: "becn", Lane: new(1), PerSecond: 9}}},
	}
	const atLink = "port_sent_bits_per_second lab sw/P1 9.8e+10\nport_congested_ticks_per_second lab sw/P1 2 7\nport_xmit_wait_ticks_per_second lab sw/P1 3\n"
	for all, want := range map[bool]string{false: atLink, true: atLink + "port_becn_per_second lab h3/P1 1 9\n"} {
		k := &kept{}
		c, err := collect.New(s, s, k, collect.Options{Period: time.Second, AllPorts: all})
		if err != nil {
			t.Fatal(err)
		}
		round(t, c)
		var got strings.Builder
		for line := range strings.Lines(k.last(t)) {
			if strings.HasPrefix(line, "port_") {
				got.WriteString(line)
			}
		}
		if got.String() != want {
			t.Errorf("all ports %v: got\n%swant\n%s", all, &got, want)
		}
	}
}

// Virtual functions have series by port and tenant where several tenants of the plan share the port. What was not counted has none.
func TestFunctionsOfSharedPortsHaveSeriesByTenant(t *testing.T) {
	t.Parallel()
	id := func(n uint64) ident.PortID { return ident.PortID{Node: ident.GUID(n), Port: 1} }
	s := lab()
	s.plan["lab"].RoCE = &policy.RoCEPlan{Traffic: []policy.RoCEPlacement{
		{Port: id(1), Tenant: "red"}, {Port: id(1), Tenant: "blue", Function: 3}, {Port: id(2), Tenant: "red"},
	}}
	counts := []control.PortCount{{Kind: "marks", PerSecond: 1}, {Kind: "cnps-sent", PerSecond: 2}, {Kind: "cnps-handled", PerSecond: 3}}
	functions := []control.FunctionActivity{{Index: 0, Sent: s.shares.Links[0].Delivered}, {Index: 1, Counts: counts}, {Index: 3, Counts: counts}}
	s.shares.Ports = []control.PortActivity{{Port: id(1), Name: "h1/P1", Functions: functions}, {Port: id(2), Name: "h2/P1", Functions: functions}}
	k := &kept{}
	c, err := collect.New(s, s, k, collect.Options{Period: time.Second, AllPorts: true})
	if err != nil {
		t.Fatal(err)
	}
	round(t, c)
	var got strings.Builder
	for line := range strings.Lines(k.last(t)) {
		if strings.HasPrefix(line, "function_") {
			got.WriteString(line)
		}
	}
	const want = "function_sent_bits_per_second lab h1/P1 0 red 9.8e+10\n" +
		"function_ecn_marks_per_second lab h1/P1 3 blue 1\nfunction_cnps_sent_per_second lab h1/P1 3 blue 2\nfunction_cnps_handled_per_second lab h1/P1 3 blue 3\n"
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}

// Every kind that telemetry counts has a family.
func TestEveryCountOfPortsHasAFamily(t *testing.T) {
	t.Parallel()
	for _, kind := range []telemetry.CountKind{telemetry.CountBECN, telemetry.CountWait, telemetry.CountCongested, telemetry.CountMarks, telemetry.CountCNPsSent,
		telemetry.CountCNPs, telemetry.CountPauses, telemetry.CountPaused,
		telemetry.CountFCNPs, telemetry.CountRewrites, telemetry.CountPausesSent} {
		if collect.PortFamily(string(kind)) == "" {
			t.Errorf("no family of %q", kind)
		}
	}
}

// Seconds count while a tenant contends, and are bad below 95 % of what it may have. Other states and failed measurements keep the totals.
func TestContendedSecondsAreCounted(t *testing.T) {
	t.Parallel()
	s, k := lab(), &kept{}
	c := collector(t, s, k)
	red := &s.shares.Tenants[0]
	s.objectives = []control.Objective{{Tenant: "blue", Bound: 0.5, Target: 0.9}}
	for _, x := range []struct {
		state    string
		received float64
		fault    error
		want     string
	}{
		{"contending", 0.96, nil, "15 0"}, {"contending", 0.94, nil, "30 15"}, {"idle", 0, nil, "30 15"}, {"contending", 0.5, nil, "45 30"},
		{"", 0, errors.New("away"), ""}, {"contending", 0.99, nil, "60 30"}, {"contending", 0.96, nil, "75 45"},
	} {
		if x.want == "75 45" { // the default of the fabric is stricter now
			s.objectives = append(s.objectives, control.Objective{Bound: 0.97, Target: 0.95})
		}
		red.Contention, red.Received, s.fault = x.state, nil, x.fault
		if x.state == "contending" {
			red.Received = &x.received
		}
		round(t, c)
		got := k.last(t)
		want := strings.Split(x.want, " ")
		if x.fault == nil && (!strings.Contains(got, "tenant_contended_seconds_total lab red "+want[0]+"\n") || !strings.Contains(got, "tenant_share_bad_seconds_total lab red "+want[1]+"\n")) {
			t.Errorf("%s at %v: want totals %s, got\n%s", x.state, x.received, x.want, got)
		}
	}
}

// A failed measurement ends all series but the coverage, which is 0, and the objectives, without which alerts would end and begin again; so does the removal of the plan. Once ended, a series gets no more gaps.
func TestAFailedMeasurementIsAGap(t *testing.T) {
	t.Parallel()
	s, k := lab(), &kept{}
	c := collector(t, s, k)
	round(t, c)
	n := len(k.batches[0])
	const objectives = "tenant_objective_ratio lab red 0.99\ntenant_objective_ratio lab blue 0.99\n"
	s.fault = errors.New("the fabric does not answer")
	round(t, c)
	if s.priors[0].Plan != nil || s.priors[1].Plan != s.plan["lab"] {
		t.Error("the second round did not pass the target of the first")
	}
	if got := k.last(t); strings.Count(got, " gap\n") != n-3 || !strings.HasPrefix(got, objectives+"measured_ratio lab 0\n") {
		t.Errorf("after a fault, of %d series:\n%s", n, got)
	}
	round(t, c)
	if got := k.last(t); got != objectives+"measured_ratio lab 0\n" {
		t.Errorf("after another:\n%s", got)
	}
	s.fault, s.plan = nil, nil
	round(t, c)
	if got := k.last(t); strings.Count(got, " gap\n") != 3 || strings.Count(got, "\n") != 3 {
		t.Errorf("without a plan:\n%s", got)
	}
	round(t, c)
	if len(k.batches) != 4 {
		t.Errorf("%d batches, want none without measurements", len(k.batches))
	}
}

func TestFailuresAreLoggedWhenTheyBeginAndEnd(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := lab()
	c, err := collect.New(s, s, &kept{}, collect.Options{Period: time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for i, fault := range []error{nil, errors.New("away"), errors.New("still away"), nil, nil} {
		s.fault = fault
		round(t, c)
		if want := []int{0, 1, 1, 2, 2}[i]; strings.Count(log.String(), "\n") != want {
			t.Errorf("round %d: want %d lines:\n%s", i, want, log.String())
		}
	}
}

func TestAFabricLeasedByAnotherManagerIsNotMeasured(t *testing.T) {
	t.Parallel()
	s, k := lab(), &kept{}
	c := collector(t, s, k)
	round(t, c)
	s.held = map[string]bool{"lab": true}
	round(t, c)
	s.held = nil
	round(t, c)
	if len(k.batches) != 2 || strings.Contains(k.last(t), "gap") || len(s.windows) != 2 {
		t.Errorf("%d batches, %d measurements, the last:\n%s", len(k.batches), len(s.windows), k.last(t))
	}
}

func TestErrorsOfTheStoreAreReturnedWithTheFabric(t *testing.T) {
	t.Parallel()
	s, k, failed := lab(), &kept{err: errors.New("disk full")}, 0
	c, err := collect.New(s, s, k, collect.Options{Name: "m1", Period: 15 * time.Second, Failed: func() { failed++ }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Round(t.Context()); err == nil || err.Error() != "keep the series of lab: disk full" || failed != 1 {
		t.Errorf("%v, counted %d times", err, failed)
	}
}

// After a failure of the store the collector continues with the next round.
func TestTheCollectorMeasuresOncePerPeriodUntilItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, k := lab(), &kept{err: errors.New("disk full")}
		c := collector(t, s, k)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.Run(ctx); close(done) }()
		time.Sleep(61 * time.Second)
		cancel()
		<-done
		if len(s.windows) != 5 {
			t.Errorf("%d measurements in 61 s, want 5", len(s.windows))
		}
	})
}

func TestTheWindowFollowsThePaceOfTheFabric(t *testing.T) {
	t.Parallel()
	for scale, want := range map[float64]time.Duration{0: time.Second, 1: time.Second, 0.1: 100 * time.Millisecond, 1e-6: time.Millisecond, 5: 5 * time.Second, 1000: time.Minute} {
		if got := collect.Window(control.Fabric{TimeScale: scale}, 15*time.Second); got != want {
			t.Errorf("scale %v: %v, want %v", scale, got, want)
		}
	}
	if got := collect.Window(control.Fabric{TimeScale: 1}, time.Second); got != time.Second/3 {
		t.Errorf("a period of 1 s: %v, want a third", got)
	}
	if _, err := collect.New(nil, nil, nil, collect.Options{Period: time.Millisecond}); err == nil || err.Error() != "period of measurements 1ms: want at least 1s" {
		t.Error(err)
	}
}

// TestTheStateOfContendedLinksIsKept has a plan with three contended links: one is up, one is down at its far end, and one no longer exists. That
// congestion control acted is kept only when it was tested.
func TestTheStateOfContendedLinksIsKept(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	s, k := lab(), &kept{}
	s.topology, s.shares = topo, control.Shares{Loop: &control.CongestionLoop{State: control.LoopNotActing}}
	s.plan["lab"] = &policy.Plan{}
	for _, i := range topo.Switches() {
		for p := range topo.Nodes[i].Ports[1:] {
			ref := subnet.PortRef{Node: i, Port: ident.PortNum(p + 1)}
			peer, _ := topo.Peer(ref)
			l := policy.LinkShare{Name: fmt.Sprintf("link %d", p+1), Port: topo.PortID(ref), Peer: topo.PortID(peer)}
			switch p {
			case 1:
				topo.Port(peer).State = subnet.PortDown
			case 2:
				l.Peer.Port++
			}
			s.plan["lab"].Links = append(s.plan["lab"].Links, l)
		}
	}
	c := collector(t, s, k)
	round(t, c)
	if d := cmp.Diff("link_up lab link 1 1\nlink_up lab link 2 0\nlink_up lab link 3 0\nfabric_congestion_control_acting lab 0\nmeasured_ratio lab 0\n", k.last(t)); d != "" {
		t.Error(d)
	}
	s.shares.Loop = &control.CongestionLoop{State: control.LoopNotTested}
	round(t, c)
	if got := k.last(t); !strings.Contains(got, "fabric_congestion_control_acting lab gap\n") {
		t.Errorf("a loop that was not tested: %s", got)
	}
}

// TestAFabricThatCannotBeReadIsNotMeasured shows as measured to a ratio of 0, unlike a fabric without a plan.
func TestAFabricThatCannotBeReadIsNotMeasured(t *testing.T) {
	t.Parallel()
	away := errors.New("database away")
	for name, set := range map[string]func(*service){"plan": func(s *service) { s.lost = away }, "objectives": func(s *service) { s.unread = away }} {
		s, k := lab(), &kept{}
		set(s)
		if err := collector(t, s, k).Round(t.Context()); !errors.Is(err, away) || k.last(t) != "measured_ratio lab 0\n" {
			t.Errorf("%s: kept %q, %v", name, k.last(t), err)
		}
	}
}

// TestTheEndOfTheServiceEndsNoSeries ends it before the plan is read: another manager or the restarted one continues the series.
func TestTheEndOfTheServiceEndsNoSeries(t *testing.T) {
	t.Parallel()
	s, k := lab(), &kept{}
	c := collector(t, s, k)
	round(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Round(ctx); err != nil || len(k.batches) != 1 {
		t.Errorf("%d batches, the last:\n%s%v", len(k.batches), k.last(t), err)
	}
}

// TestALeaseThatCannotBeClaimedKeepsTheTotals has a round in which the database is away.
func TestALeaseThatCannotBeClaimedKeepsTheTotals(t *testing.T) {
	t.Parallel()
	s, k := lab(), &kept{}
	c := collector(t, s, k)
	round(t, c)
	s.unclaimed = errors.New("database away")
	if err := c.Round(t.Context()); !errors.Is(err, s.unclaimed) || len(k.batches) != 1 {
		t.Errorf("%d batches, %v", len(k.batches), err)
	}
	s.unclaimed = nil
	round(t, c)
	if got := k.last(t); !strings.Contains(got, "tenant_contended_seconds_total lab red 30\n") || s.priors[1].Plan != s.plan["lab"] {
		t.Errorf("want the totals of the first round and its plan:\n%s", got)
	}
}

// TestStaleSamplesAreNotExported stops measuring: after three periods the latest samples are no longer exported.
func TestStaleSamplesAreNotExported(t *testing.T) {
	t.Parallel()
	s, k := lab(), &kept{}
	c := collector(t, s, k)
	if got := c.Latest(); len(got) != 0 {
		t.Errorf("before the first round: %v", got)
	}
	round(t, c)
	s.ahead += 45 * time.Second
	if got := c.Latest(); len(got) != len(k.batches[0]) {
		t.Errorf("%d samples are current, want %d", len(got), len(k.batches[0]))
	}
	s.ahead += time.Second
	if got := c.Latest(); len(got) != 0 {
		t.Errorf("stale samples: %v", got)
	}
}

// TestAMeasurementBeyondTheLeaseIsDropped stops the process during a measurement: another manager may have counted the same seconds.
func TestAMeasurementBeyondTheLeaseIsDropped(t *testing.T) {
	t.Parallel()
	for takes, batches := range map[time.Duration]int{30 * time.Second: 3, 31 * time.Second: 2, time.Hour: 2} {
		for _, fault := range []error{nil, errors.New("away")} {
			s, k := lab(), &kept{}
			c := collector(t, s, k)
			round(t, c)
			s.takes, s.fault = takes, fault
			round(t, c)
			s.takes, s.fault = 0, nil
			round(t, c)
			if len(k.batches) != batches {
				t.Errorf("%v, %v: %d batches, want %d", takes, fault, len(k.batches), batches)
			}
			if fault == nil && !strings.Contains(k.last(t), fmt.Sprintf("tenant_contended_seconds_total lab red %d\n", 15*batches)) {
				t.Errorf("%v: %s", takes, k.last(t))
			}
		}
	}
}

// TestItIsKnownWhoMeasuresAFabric has a fabric of this manager, which another one takes over and which is deleted then.
func TestItIsKnownWhoMeasuresAFabric(t *testing.T) {
	t.Parallel()
	s := lab()
	c := collector(t, s, &kept{})
	check := func(when string, want map[string]bool) {
		t.Helper()
		if d := cmp.Diff(want, c.Holds()); d != "" {
			t.Errorf("%s: %s", when, d)
		}
	}
	check("before the first measurement", map[string]bool{})
	s.takes = time.Second
	round(t, c)
	s.ahead += 44 * time.Second
	check("until the end of the lease", map[string]bool{"lab": true})
	s.ahead++
	check("after the end of the lease", map[string]bool{"lab": false})
	s.held = map[string]bool{"lab": true}
	round(t, c)
	check("taken over", map[string]bool{"lab": false})
	s.held = nil
	round(t, c)
	check("taken back", map[string]bool{"lab": true})
	s.fabrics = nil
	round(t, c)
	check("deleted", map[string]bool{})
}

// TestSamplesBearTheTimesOfTheirClock leaves leases to the time of the service.
func TestSamplesBearTheTimesOfTheirClock(t *testing.T) {
	t.Parallel()
	s, k, at := lab(), &kept{}, start.Add(time.Hour)
	c, err := collect.New(s, s, k, collect.Options{Period: time.Second, Clock: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	round(t, c)
	if len(k.times) != 1 || !k.times[0].Equal(at) || len(c.Latest()) == 0 {
		t.Errorf("samples at %v, want %v", k.times, at)
	}
}

// TestRoundsInQuickSuccessionCountNoMoreThanTheTimeBetweenThem is what a ticker does after the process was stopped.
func TestRoundsInQuickSuccessionCountNoMoreThanTheTimeBetweenThem(t *testing.T) {
	t.Parallel()
	s, k := lab(), &kept{}
	c := collector(t, s, k)
	round(t, c)
	s.ahead -= 14 * time.Second
	round(t, c)
	if !strings.Contains(k.last(t), "tenant_contended_seconds_total lab red 16\n") {
		t.Error(k.last(t))
	}
}
