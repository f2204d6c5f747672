package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/telemetry"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// etherWorld is a fabric whose counters advance at given rates of the test's clock.
type etherWorld struct {
	topo  *subnet.Fabric
	plan  *policy.Plan
	flows []tenants.Flow
	ids   []ident.PortID // of the hosts

	mu     sync.Mutex
	start  time.Time
	rates  map[string]float64 // bit/s by "host tx", "host rx", "host f0 tx", "host sender", "leaf1/P4"
	broken map[string]error
	clocks map[string]time.Duration // offset of a host's clock
	change func(key string, n uint64, sample int) uint64
	read   map[string]int
	pods   map[string]map[int]string // tenants of functions of hosts that serve pods
}

// octets returns a counter of the world.
func (w *etherWorld) octets(key, clock string) telemetry.Octets {
	if err := w.broken[key]; err != nil {
		return telemetry.Octets{Err: err}
	}
	passed := time.Since(w.start)
	n := uint64(w.rates[key]*passed.Seconds()/8) + 1_000_000
	if w.change != nil {
		n = w.change(key, n, w.read[key])
	}
	w.read[key]++
	return telemetry.Octets{N: n, At: quantity.Elapsed(passed + w.clocks[clock])}
}

func (w *etherWorld) name(id ident.PortID) string {
	ref, _ := w.topo.PortByID(id)
	return w.topo.Nodes[ref.Node].Name
}

// ReadNIC implements telemetry.EtherSource.
func (w *etherWorld) ReadNIC(_ context.Context, id ident.PortID) (telemetry.NICReading, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	host := w.name(id)
	if err := w.broken[host]; err != nil {
		return telemetry.NICReading{}, err
	}
	r := telemetry.NICReading{Tx: w.octets(host+" tx", host), Rx: w.octets(host+" rx", host), Functions: map[int]telemetry.FunctionRead{}, Senders: map[string]telemetry.Octets{}}
	for key := range w.rates {
		rest, ok := strings.CutPrefix(key, host+" ")
		switch {
		case !ok || rest == "tx" || rest == "rx":
		case strings.Contains(rest, "/"):
			r.Senders[rest] = w.octets(key, host)
		default:
			var i int
			var way string
			if _, err := fmt.Sscanf(rest, "f%d %s", &i, &way); err != nil {
				panic(key)
			}
			f := r.Functions[i]
			if way == "tx" {
				f.Tx = w.octets(key, host)
			} else {
				f.Rx = w.octets(key, host)
			}
			r.Functions[i] = f
		}
	}
	if tenants, ok := w.pods[host]; ok {
		r.ServesPods = true
		for i, f := range r.Functions {
			f.Tenant = tenants[i]
			r.Functions[i] = f
		}
	}
	return r, nil
}

// ReadSwitch implements telemetry.EtherSource.
func (w *etherWorld) ReadSwitch(_ context.Context, id ident.PortID) (telemetry.Octets, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ref, _ := w.topo.PortByID(id)
	key := w.topo.PortName(ref)
	if err := w.broken[key+" silent"]; err != nil {
		return telemetry.Octets{}, err
	}
	return w.octets(key, key), nil
}

// newEtherWorld returns a star of four hosts at 10 Gbit/s: red alone on h1, blue and green on h2, all sending to h4.
func newEtherWorld(t testing.TB, plane policy.Plane) *etherWorld {
	t.Helper()
	topo, err := topogen.Star(4, topogen.Wire{Rate: 10 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	w := &etherWorld{topo: topo, start: time.Now(), rates: map[string]float64{}, broken: map[string]error{}, clocks: map[string]time.Duration{}, read: map[string]int{}}
	for _, h := range topo.Hosts() {
		w.ids = append(w.ids, topo.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	w.flows = []tenants.Flow{
		{Tenant: "red", Src: w.ids[0], Dst: w.ids[3], QPs: 1}, {Tenant: "blue", Src: w.ids[1], Dst: w.ids[3], QPs: 1}, {Tenant: "green", Src: w.ids[1], Dst: w.ids[3], QPs: 1},
	}
	ts := tenants.Attach([]tenants.Tenant{
		{Name: "red", Weight: 2 * quantity.WeightOne}, {Name: "blue", Weight: quantity.WeightOne}, {Name: "green", Weight: quantity.WeightOne},
	}, w.flows)
	if w.plan, err = policy.Compile(policy.Input{Fabric: topo, Tenants: ts, Flows: w.flows, Options: policy.Options{Plane: plane}}); err != nil {
		t.Fatal(err)
	}
	for key, gbit := range map[string]float64{
		"h1 tx": 5, "h2 tx": 5, "h4 rx": 10, // blue and green are functions 0 and 1 of h2; at h4 red is 2
		"h2 f0 tx": 3, "h2 f1 tx": 2, "h4 f0 rx": 3, "h4 f1 rx": 2, "h4 f2 rx": 5,
	} {
		w.rates[key] = gbit * 1e9
	}
	return w
}

func (w *etherWorld) measure(t *testing.T, window quantity.Picoseconds) (telemetry.Report, error) {
	t.Helper()
	c, err := telemetry.NewEther(w, w.plan, w.topo, w.flows, telemetry.EtherOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Measure(t.Context(), window)
}

func tenantOf(r telemetry.Report, name string) telemetry.TenantShare {
	for _, t := range r.Tenants {
		if t.Tenant == name {
			return t
		}
	}
	return telemetry.TenantShare{}
}

func near(got *quantity.BitRate, gbit float64) bool {
	return got != nil && math.Abs(float64(*got)-gbit*1e9) < 1e6
}

func TestEthernetTenantsAreMeasuredByPortFunctionAndSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newEtherWorld(t, policy.PlaneRoCE)
		w.clocks["h2"] = -24 * time.Hour // a wrong clock has no effect
		r, err := w.measure(t, 100*quantity.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for name, gbit := range map[string]float64{"red": 5, "blue": 3, "green": 2} {
			if got := tenantOf(r, name); !near(got.Delivered, gbit) {
				t.Errorf("%s: %+v, want %v Gbit/s", name, got, gbit)
			}
		}
		if r.Coverage != 1 || r.MaxShareError == nil || r.Jain == nil || r.Window < 100*quantity.Millisecond || len(r.Links) == 0 {
			t.Errorf("report %+v", r)
		}
		for _, l := range r.Links {
			if l.Used == nil {
				t.Errorf("link %s: %s", l.Name, l.Problem)
			}
			if !strings.Contains(l.Name, "h4") {
				continue
			}
			if !near(l.Used, 10) || math.Abs(*l.Utilisation-1) > 0.01 {
				t.Errorf("link %+v", l)
			}
			for _, x := range l.Tenants {
				if want := map[string]float64{"red": 5, "blue": 3, "green": 2}[x.Tenant]; !near(x.Delivered, want) {
					t.Errorf("link %s: %+v, want %v", l.Name, x, want)
				}
			}
		}
		// With WRCC a tenant is measured by its senders; the port's other counts do not matter.
		w = newEtherWorld(t, policy.PlaneWRCC)
		w.rates["h1 red/default"], w.rates["h2 blue/default"], w.rates["h2 green/default"], w.rates["h2 green/bulk"] = 4e9, 2e9, 1e9, 0.5e9
		if r, err = w.measure(t, 100*quantity.Millisecond); err != nil {
			t.Fatal(err)
		}
		for name, gbit := range map[string]float64{"red": 4, "blue": 2, "green": 1.5} {
			if got := tenantOf(r, name); !near(got.Delivered, gbit) {
				t.Errorf("%s: %+v, want %v Gbit/s", name, got, gbit)
			}
		}
	})
}

func TestUnreadableEthernetCountersAreProblemsNotZeros(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil        func(w *etherWorld)
		tenant, says string
	}{
		"silent host":        {func(w *etherWorld) { w.broken["h1"] = errors.New("no route") }, "red", "no route"},
		"unreadable counter": {func(w *etherWorld) { w.broken["h2 f0 tx"] = errors.New("EIO") }, "blue", "EIO"},
		"no functions":       {func(w *etherWorld) { delete(w.rates, "h2 f0 tx"); delete(w.rates, "h2 f1 tx") }, "green", "virtual function 1"},
		"reset": {func(w *etherWorld) {
			w.change = func(key string, n uint64, sample int) uint64 {
				if key == "h1 tx" && sample > 0 {
					return 7
				}
				return n
			}
		}, "red", "reset"},
		"too much": {func(w *etherWorld) {
			w.change = func(key string, n uint64, sample int) uint64 {
				if key == "h1 tx" && sample > 0 {
					return n << 20
				}
				return n
			}
		}, "red", "reset"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newEtherWorld(t, policy.PlaneRoCE)
				c.spoil(w)
				r, err := w.measure(t, 50*quantity.Millisecond)
				if err != nil {
					t.Fatal(err)
				}
				got := tenantOf(r, c.tenant)
				if got.Delivered != nil || got.ShareError != nil || !strings.Contains(english(got.Problem), c.says) {
					t.Errorf("%+v, want a problem that says %q", got, c.says)
				}
				others := 0
				for _, x := range r.Tenants {
					if x.Delivered != nil {
						others++
					}
				}
				if others == 0 {
					t.Error("the other tenants are not measured either")
				}
			})
		})
	}
}

// At h1 only red sends, and blue receives: blue's acknowledgements leave by h1 too.
func TestAcknowledgementsOfReceiversAreNoRateOfTheOnlySender(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent, received float64
		measured       bool
	}{
		"few acknowledgements":  {5, 0.8, true},
		"as much both ways":     {5, 5, false}, // 5.7 % of what it sent, if each packet is acknowledged
		"many acknowledgements": {0.5, 9, false},
		"nothing received":      {0.5, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newEtherWorld(t, policy.PlaneRoCE)
				w.flows = []tenants.Flow{{Tenant: "red", Src: w.ids[0], Dst: w.ids[3], QPs: 1}, {Tenant: "blue", Src: w.ids[2], Dst: w.ids[0], QPs: 1}}
				ts := tenants.Attach([]tenants.Tenant{{Name: "red", Weight: quantity.WeightOne}, {Name: "blue", Weight: quantity.WeightOne}}, w.flows)
				var err error
				if w.plan, err = policy.Compile(policy.Input{Fabric: w.topo, Tenants: ts, Flows: w.flows, Options: policy.Options{Plane: policy.PlaneRoCE}}); err != nil {
					t.Fatal(err)
				}
				w.rates = map[string]float64{"h1 tx": c.sent * 1e9, "h1 rx": c.received * 1e9, "h3 tx": c.received * 1e9}
				r, err := w.measure(t, 50*quantity.Millisecond)
				if err != nil {
					t.Fatal(err)
				}
				got := tenantOf(r, "red")
				if c.measured != near(got.Delivered, c.sent) || !c.measured && !strings.Contains(english(got.Problem), "acknowledgements") {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

func TestEthernetWithoutTimeOrDevicesIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newEtherWorld(t, policy.PlaneRoCE)
		for _, host := range []string{"h1", "h2", "h4"} {
			w.broken[host] = errors.New("away")
		}
		if _, err := w.measure(t, 50*quantity.Millisecond); err == nil || !strings.Contains(err.Error(), "away") {
			t.Errorf("no device answers: %v", err)
		} else if strings.Count(err.Error(), "\n") > 4 || !strings.Contains(err.Error(), " more") {
			t.Errorf("the error for no answers is too long: %v", err)
		}
		w = newEtherWorld(t, policy.PlaneRoCE)
		still := w.start
		stopped := stoppedSource{w, still}
		c, err := telemetry.NewEther(stopped, w.plan, w.topo, w.flows, telemetry.EtherOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Measure(t.Context(), quantity.Millisecond); !errors.Is(err, telemetry.ErrNoTime) {
			t.Errorf("a clock that stands still: %v", err)
		}
		if _, err := c.Measure(t.Context(), 0); err == nil {
			t.Error("no window")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Measure(ctx, quantity.Millisecond); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		for _, o := range []telemetry.EtherOptions{{Parallel: -1}, {TimeScale: -1}} {
			if _, err := telemetry.NewEther(w, w.plan, w.topo, w.flows, o); err == nil {
				t.Errorf("%+v is taken", o)
			}
		}
		if _, err := telemetry.NewEther(w, &policy.Plan{}, w.topo, nil, telemetry.EtherOptions{}); err == nil {
			t.Error("a plan without flows is measured")
		}
	})
}

// slowSource is a world whose fabric is ten times slower than the wall clock, and whose switches report no time.
type slowSource struct{ *etherWorld }

// ReadNIC implements telemetry.EtherSource.
func (s slowSource) ReadNIC(ctx context.Context, id ident.PortID) (telemetry.NICReading, error) {
	r, err := s.etherWorld.ReadNIC(ctx, id)
	for _, o := range []*telemetry.Octets{&r.Tx, &r.Rx} {
		o.N, o.At = o.N/10, o.At/10
	}
	return r, err
}

// ReadSwitch implements telemetry.EtherSource.
func (s slowSource) ReadSwitch(ctx context.Context, id ident.PortID) (telemetry.Octets, error) {
	o, err := s.etherWorld.ReadSwitch(ctx, id)
	o.N, o.At, o.Wall = o.N/10, 0, time.Now()
	return o, err
}

// A switch that reports no time is timed by the clock of a NIC: a fabric slower than its time scale has the same rates.
func TestSwitchesWithoutTimeFollowThePaceOfTheFabric(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, core := newDumbbell(t)
		c, err := telemetry.NewEther(slowSource{w}, w.plan, w.topo, w.flows, telemetry.EtherOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Measure(t.Context(), 20*quantity.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if l := w.useOf(t, r, core); !near(l.Used, 9.5) {
			t.Errorf("%+v", l)
		}
		for i := range r.Tenants {
			if !near(r.Tenants[i].Delivered, 5) {
				t.Errorf("%+v", r.Tenants[i])
			}
		}
	})
}

// stoppedSource is a world whose devices' clocks stand still.
type stoppedSource struct {
	*etherWorld
	at time.Time
}

// ReadNIC implements telemetry.EtherSource.
func (s stoppedSource) ReadNIC(ctx context.Context, id ident.PortID) (telemetry.NICReading, error) {
	r, err := s.etherWorld.ReadNIC(ctx, id)
	r.Tx.At, r.Rx.At = 5, 5
	for i, f := range r.Functions {
		f.Tx.At, f.Rx.At = 5, 5
		r.Functions[i] = f
	}
	return r, err
}

// newDumbbell returns a world of two switches; red and blue cross the link core between them.
func newDumbbell(t testing.TB) (w *etherWorld, core string) {
	t.Helper()
	topo, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 2, Right: 2, Wire: topogen.Wire{Rate: 10 * quantity.Gbps}, CoreRate: 10 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	w = newEtherWorld(t, policy.PlaneRoCE)
	w.topo, w.ids = topo, nil
	for _, h := range topo.Hosts() {
		w.ids = append(w.ids, topo.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	w.flows = []tenants.Flow{{Tenant: "red", Src: w.ids[0], Dst: w.ids[2], QPs: 1}, {Tenant: "blue", Src: w.ids[1], Dst: w.ids[3], QPs: 1}}
	ts := tenants.Attach([]tenants.Tenant{{Name: "red", Weight: quantity.WeightOne}, {Name: "blue", Weight: quantity.WeightOne}}, w.flows)
	if w.plan, err = policy.Compile(policy.Input{Fabric: topo, Tenants: ts, Flows: w.flows, Options: policy.Options{Plane: policy.PlaneRoCE}}); err != nil {
		t.Fatal(err)
	}
	for _, l := range w.plan.Links {
		ref, _ := topo.PortByID(l.Port)
		if peer, _ := topo.Peer(ref); topo.Nodes[peer.Node].Kind == subnet.KindSwitch && topo.Nodes[ref.Node].Kind == subnet.KindSwitch {
			core = topo.PortName(ref)
		}
	}
	if core == "" {
		t.Fatalf("no contended link between switches: %+v", w.plan.Links)
	}
	w.rates = map[string]float64{"l1 tx": 5e9, "l2 tx": 5e9, core: 9.5e9}
	return w, core
}

// useOf returns the use of a link by its name.
func (w *etherWorld) useOf(t testing.TB, r telemetry.Report, name string) telemetry.LinkUse {
	t.Helper()
	for i, l := range w.plan.Links {
		ref, _ := w.topo.PortByID(l.Port)
		if w.topo.PortName(ref) == name {
			return r.Links[i]
		}
	}
	t.Fatalf("link %s is not in the report", name)
	return telemetry.LinkUse{}
}

// A link between switches is measured by the switch that sends on it; a counter that it has not refreshed is a problem.
func TestLinksBetweenSwitchesAreMeasuredAtTheSwitch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, core := newDumbbell(t)
		use := func() telemetry.LinkUse {
			r, err := w.measure(t, 20*quantity.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			return w.useOf(t, r, core)
		}
		if l := use(); !near(l.Used, 9.5) {
			t.Errorf("%+v", l)
		}
		w.broken[core] = fmt.Errorf("%w: every 10s", telemetry.ErrStale)
		if l := use(); l.Used != nil || l.Utilisation != nil || !strings.Contains(english(l.Problem), "not refreshed") {
			t.Errorf("%+v", l)
		}
		w.broken[core+" silent"] = errors.New("away")
		if l := use(); l.Used != nil || l.Utilisation != nil || !strings.Contains(english(l.Problem), "away") {
			t.Errorf("%+v", l)
		}
	})
}

// changingSource is a world in which one sender appears in only some readings of its host.
type changingSource struct {
	*etherWorld
	sender string
	there  func(reading int64) bool
	read   *atomic.Int64
}

// ReadNIC implements telemetry.EtherSource.
func (s changingSource) ReadNIC(ctx context.Context, id ident.PortID) (telemetry.NICReading, error) {
	r, err := s.etherWorld.ReadNIC(ctx, id)
	if _, has := r.Senders[s.sender]; has && !s.there(s.read.Add(1)) {
		delete(r.Senders, s.sender)
	}
	return r, err
}

// When a sender appears or disappears during a measurement, its tenant's rate is unknown.
func TestSendersThatAppearOrDisappearMakeTheSumUnknown(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]func(reading int64) bool{
		"started": func(reading int64) bool { return reading > 1 },
		"ended":   func(reading int64) bool { return reading == 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newEtherWorld(t, policy.PlaneWRCC)
				w.rates["h1 red/default"], w.rates["h2 blue/default"], w.rates["h2 green/default"], w.rates["h2 green/bulk"] = 4e9, 2e9, 1e9, 0.5e9
				c, err := telemetry.NewEther(changingSource{w, "green/bulk", there, new(atomic.Int64)}, w.plan, w.topo, w.flows, telemetry.EtherOptions{})
				if err != nil {
					t.Fatal(err)
				}
				r, err := c.Measure(t.Context(), 100*quantity.Millisecond)
				if err != nil {
					t.Fatal(err)
				}
				if got := tenantOf(r, "green"); got.Delivered != nil || !strings.Contains(english(got.Problem), "sender green/bulk "+name) {
					t.Errorf("green: %+v", got)
				}
				if got := tenantOf(r, "blue"); !near(got.Delivered, 2) {
					t.Errorf("blue: %+v", got)
				}
			})
		})
	}
}

// english returns a text in English, "" for none.
func english(t *phrase.Text) string {
	if t == nil {
		return ""
	}
	return t.String()
}

func TestTenantsOfPodsAreMeasuredByTheFunctionsThatTheirPodsHave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newEtherWorld(t, policy.PlaneRoCE)
		// The plan has blue at function 0 and green at 1. Pods of green have 0 and 3; blue's has 2; no pod has 1.
		for key, gbit := range map[string]float64{"h2 f0 tx": 1, "h2 f1 tx": 0.5, "h2 f2 tx": 3, "h2 f3 tx": 1} {
			w.rates[key] = gbit * 1e9
		}
		w.pods = map[string]map[int]string{"h2": {0: "green", 2: "blue", 3: "green"}}
		r, err := w.measure(t, 100*quantity.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for name, gbit := range map[string]float64{"red": 5, "blue": 3, "green": 2.5} {
			if got := tenantOf(r, name); !near(got.Delivered, gbit) {
				t.Errorf("%s: %+v, want %v Gbit/s", name, got, gbit)
			}
		}
		w.pods["h2"] = map[int]string{1: "blue", 2: "blue"} // green has no function: a measured zero
		if r, err = w.measure(t, 100*quantity.Millisecond); err != nil {
			t.Fatal(err)
		}
		if got := tenantOf(r, "green"); !near(got.Delivered, 0) {
			t.Errorf("green without a pod: %+v", got)
		}
		w.broken["h2 f2 tx"] = errors.New("no such counter")
		if r, _ = w.measure(t, 100*quantity.Millisecond); tenantOf(r, "blue").Delivered != nil {
			t.Errorf("blue with an unreadable counter: %+v", tenantOf(r, "blue"))
		}
	})
}
