package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/topogen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire is a transport to counters in memory that advance with the (virtual) wall clock times scale. Use it inside a
// synctest bubble.
type wire struct {
	mu     sync.Mutex
	begun  time.Time
	scale  float64
	delay  time.Duration // of an exchange
	ports  map[portKey]*wirePort
	noTime bool
	noSL   bool
	sticks bool
	ticks0 uint32 // TimeStamp at the start
	answer func(to mad.Target, req *mad.Packet) error
	gets   map[mad.AttrID]int
	sets   int
	busy   int // exchanges in progress
	most   int
}

type portKey struct {
	lid ident.LID
	num ident.PortNum
}

type wirePort struct {
	rate  [ident.NumSLs]quantity.BitRate
	start [ident.NumSLs]uint32
	zero  [ident.NumSLs]uint64 // words at the last clear
	clean bool                 // was cleared at all
}

func (w *wire) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	w.mu.Lock()
	w.busy++
	w.most = max(w.most, w.busy)
	w.mu.Unlock()
	time.Sleep(w.delay)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	if err := ctx.Err(); err != nil {
		return mad.Packet{}, err
	}
	if w.answer != nil {
		if err := w.answer(to, req); err != nil {
			return mad.Packet{}, err
		}
	}
	resp := *req
	resp.Respond(w.attribute(to.LID, &resp))
	return resp, nil
}

func (w *wire) attribute(lid ident.LID, p *mad.Packet) mad.Status {
	if p.Method() == mad.MethodSet {
		w.sets++
	} else {
		w.gets[p.Attr()]++
	}
	elapsed := float64(time.Since(w.begun)) * 1000 * w.scale // ps
	if p.Class() == mad.ClassCongestion {
		if w.noTime || p.Attr() != mad.AttrTimeStamp {
			return mad.StatusBadMethodAttr
		}
		ts := mad.TimeStamp(uint64(elapsed/1024000) + uint64(w.ticks0))
		return encode(&ts, p)
	}
	switch p.Attr() {
	case mad.AttrPortCountersExtended:
		var a mad.PortCountersExtended
		_ = a.Decode(p.Data())
		port := w.ports[portKey{lid, a.PortSelect}]
		for _, r := range port.rate {
			a.XmitData += words(r, elapsed)
		}
		return encode(&a, p)
	case mad.AttrPortXmitDataSL:
		if w.noSL {
			return mad.StatusBadMethodAttr
		}
		var a mad.PortSLCounters
		_ = a.Decode(p.Data())
		w.perSL(w.ports[portKey{lid, a.PortSelect}], &a, elapsed, p.Method() == mad.MethodSet)
		return encode(&a, p)
	}
	return mad.StatusBadMethodAttr
}

func (w *wire) perSL(port *wirePort, a *mad.PortSLCounters, elapsed float64, clear bool) {
	for sl, r := range port.rate {
		n := words(r, elapsed)
		if clear && a.CounterSelect&(1<<sl) != 0 {
			port.zero[sl], port.clean = n, true
		}
		n -= port.zero[sl]
		if !port.clean {
			n += uint64(port.start[sl])
		}
		if w.sticks {
			n = min(n, counterEnd)
		}
		a.SL[sl] = uint32(n)
	}
}

func words(r quantity.BitRate, ps float64) uint64 { return uint64(float64(r) * ps / 1e12 / 32) }

func encode(a mad.Attribute, p *mad.Packet) mad.Status {
	if err := a.Encode(p.Data()); err != nil {
		panic(err)
	}
	return mad.StatusOK
}

func newWire() *wire {
	return &wire{begun: time.Now(), scale: 1, delay: 20 * time.Microsecond, ports: map[portKey]*wirePort{}, gets: map[mad.AttrID]int{}}
}

func (w *wire) add(p Port, rates map[ident.SL]quantity.BitRate) Port {
	wp := &wirePort{}
	for sl, r := range rates {
		wp.rate[sl] = r
	}
	w.ports[portKey{p.LID, p.ID.Port}] = wp
	return p
}

func testPort(lid ident.LID, num ident.PortNum) Port {
	return Port{ID: ident.PortID{Node: ident.GUID(lid), Port: num}, Name: fmt.Sprintf("node-%d/P%d", lid, num), LID: lid, Rate: 100 * quantity.Gbps}
}

func newCollector(t testing.TB, w *wire, ports []Port, o Options) *Collector {
	t.Helper()
	c, err := New(w, ports, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bps returns a rate that must have been measured.
func bps(t testing.TB, r Rate) quantity.BitRate {
	t.Helper()
	v, err := r.Value()
	if err != nil {
		t.Errorf("not measured: %v", err)
	}
	return v
}

// why returns why a rate was not measured, nil when it was.
func why(r Rate) error {
	_, err := r.Value()
	return err
}

func near(t testing.TB, what string, got, want quantity.BitRate, tolerance float64) {
	t.Helper()
	if math.Abs(float64(got-want)) > tolerance*float64(want) {
		t.Errorf("%s: %s, want %s within %g", what, got, want, tolerance)
	}
}

func TestMeasureOverManyWraps(t *testing.T) {
	t.Parallel()
	for name, sticks := range map[string]bool{"counters that wrap": false, "counters that stick": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWire()
				w.sticks, w.ticks0 = sticks, 0xfff00000 // the clock wraps in the first second
				p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{0: 3 * quantity.Gbps, 4: 90 * quantity.Gbps})
				c := newCollector(t, w, []Port{p}, Options{})
				win, err := c.Measure(t.Context(), 20*quantity.Second)
				if err != nil {
					t.Fatal(err)
				}
				r := win.Ports[0]
				if r.Err != nil || r.Wall || win.Elapsed < 20*quantity.Second || win.Elapsed > 21*quantity.Second {
					t.Fatalf("window %+v", win)
				}
				near(t, "SL 4", bps(t, r.SL[4]), 90*quantity.Gbps, 1e-3)
				near(t, "SL 0", bps(t, r.SL[0]), 3*quantity.Gbps, 1e-3)
				near(t, "port", bps(t, r.Xmit), 93*quantity.Gbps, 1e-3)
				if idle := bps(t, r.SL[1]); idle != 0 || r.TimeError > 1e-3 || r.Coverage < 0.99 {
					t.Errorf("SL 1 %s, time error %g, coverage %g", idle, r.TimeError, r.Coverage)
				}
				if w.sets == 0 {
					t.Error("counters beyond half were never cleared")
				}
			})
		})
	}
}

func TestMeasureInSimulatedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.scale = 0.001
		p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{4: 57 * quantity.Gbps})
		c := newCollector(t, w, []Port{p}, Options{TimeScale: 0.001})
		begun := time.Now()
		win, err := c.Measure(t.Context(), 50*ms)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "SL 4", bps(t, win.Ports[0].SL[4]), 57*quantity.Gbps, 1e-4)
		if took := time.Since(begun); took < 50*time.Second || took > 52*time.Second {
			t.Errorf("50 ms of fabric time at a thousandth of the pace took %s", took)
		}
	})
}

func TestDevicesWithoutTimeStampUseTheWallClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.noTime, w.scale = true, 0.5
		p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{4: 57 * quantity.Gbps})
		c := newCollector(t, w, []Port{p}, Options{TimeScale: 0.5})
		win, err := c.Measure(t.Context(), 100*ms)
		if err != nil || !win.Ports[0].Wall {
			t.Fatalf("error %v, window %+v", err, win)
		}
		near(t, "SL 4", bps(t, win.Ports[0].SL[4]), 57*quantity.Gbps, 1e-3)
		if w.gets[mad.AttrTimeStamp] != 1 {
			t.Errorf("a device without TimeStamp was asked for it %d times, want once", w.gets[mad.AttrTimeStamp])
		}
	})
}

func TestASwitchWithoutCountersBySLIsStillMeasured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.noSL = true
		p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{4: 57 * quantity.Gbps})
		win, err := newCollector(t, w, []Port{p}, Options{}).Measure(t.Context(), 100*ms)
		if err != nil || win.Ports[0].Err != nil {
			t.Fatalf("error %v, window %+v", err, win)
		}
		near(t, "port", bps(t, win.Ports[0].Xmit), 57*quantity.Gbps, 1e-3)
		if err := why(win.Ports[0].SL[4]); !errors.Is(err, ErrNoSLCounters) || w.gets[mad.AttrPortXmitDataSL] != 1 {
			t.Errorf("SL error %v after %d tries", err, w.gets[mad.AttrPortXmitDataSL])
		}
	})
}

func TestAnUnreadablePortIsAnErrorNotAZero(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		good := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{4: 57 * quantity.Gbps})
		dead1, dead2 := testPort(6, 1), testPort(6, 2)
		asked := 0
		w.answer = func(to mad.Target, _ *mad.Packet) error {
			if to.LID == 6 {
				asked++
				return mad.ErrTimeout
			}
			return nil
		}
		c := newCollector(t, w, []Port{dead2, good, dead1}, Options{})
		win, err := c.Measure(t.Context(), 100*ms)
		if err != nil {
			t.Fatal(err)
		}
		if win.Ports[0].Err != nil || win.Ports[0].Port.LID != 5 {
			t.Errorf("the good port: %+v", win.Ports[0])
		}
		for _, r := range win.Ports[1:] {
			if !errors.Is(r.Err, mad.ErrTimeout) || !errors.Is(r.Err, ErrUnread) || why(r.Xmit) == nil {
				t.Errorf("the dead port: %+v", r)
			}
		}
		if asked > 3 {
			t.Errorf("a silent device was asked %d times, want once for each reading", asked)
		}
		if _, err := newCollector(t, w, []Port{dead1}, Options{}).Measure(t.Context(), 100*ms); !errors.Is(err, mad.ErrTimeout) {
			t.Errorf("no readable device: error %v", err)
		}
	})
}

func TestKeepCountersNeverWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{4: 90 * quantity.Gbps})
		c := newCollector(t, w, []Port{p}, Options{KeepCounters: true})
		win, err := c.Measure(t.Context(), 10*quantity.Second)
		if err != nil || w.sets != 0 {
			t.Fatalf("error %v, %d writes", err, w.sets)
		}
		near(t, "SL 4", bps(t, win.Ports[0].SL[4]), 90*quantity.Gbps, 1e-4)
	})
}

func TestLongPauseBeforeAMeasurementHasNoEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{4: 90 * quantity.Gbps})
		c := newCollector(t, w, []Port{p}, Options{})
		first, err := c.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute) // many unnoticed wraps
		win, err := c.Measure(t.Context(), 100*ms)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "SL 4", bps(t, win.Ports[0].SL[4]), 90*quantity.Gbps, 1e-3)
		last, err := c.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r := Between(first, last).Ports[0]; !errors.Is(why(r.SL[4]), ErrGap) {
			t.Errorf("over the pause: error %v, want a gap", why(r.SL[4]))
		} else {
			near(t, "the port by its 64 bits", bps(t, r.Xmit), 90*quantity.Gbps, 1e-3)
		}
	})
}

func TestAStoppedClockEndsTheMeasurement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.scale = 0
		p := w.add(testPort(5, 1), nil)
		c := newCollector(t, w, []Port{p}, Options{})
		if _, err := c.Measure(t.Context(), 100*ms); !errors.Is(err, ErrNoTime) {
			t.Errorf("error %v, want that the clock does not advance", err)
		}
	})
}

// A clock a thousand times slower than the time scale, as that of a simulated fabric on a busy machine, makes a
// measurement slow but not wrong.
func TestMeasureWaitsForASlowClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.scale = 1e-3
		p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{4: 40 * quantity.Gbps})
		c := newCollector(t, w, []Port{p}, Options{Patience: 20})
		win, err := c.Measure(t.Context(), 100*ms)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "SL 4", bps(t, win.Ports[0].SL[4]), 40*quantity.Gbps, 1e-2)
		w.scale = 1e-6
		if _, err := c.Measure(t.Context(), 100*ms); !errors.Is(err, ErrNoTime) {
			t.Errorf("a clock that all but stands still: %v", err)
		}
	})
}

func TestMeasureEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		p := w.add(testPort(5, 1), nil)
		c := newCollector(t, w, []Port{p}, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := c.Measure(ctx, 10*quantity.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestADeviceThatRestartsBreaksTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.ticks0 = 1 << 30
		p := w.add(testPort(5, 1), map[ident.SL]quantity.BitRate{4: quantity.Gbps})
		c := newCollector(t, w, []Port{p}, Options{})
		first, err := c.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		w.ticks0 = 0
		last, err := c.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r := Between(first, last).Ports[0]; !errors.Is(why(r.SL[4]), ErrReset) || !errors.Is(why(r.Xmit), ErrReset) {
			t.Errorf("errors %v, %v, want a reset", why(r.SL[4]), why(r.Xmit))
		}
	})
}

func TestParallelReadsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		var ports []Port
		for lid := range ident.LID(40) {
			ports = append(ports, w.add(testPort(lid+1, 1), nil), w.add(testPort(lid+1, 2), nil))
		}
		c := newCollector(t, w, ports, Options{Parallel: 8})
		if _, err := c.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w.most != 8 {
			t.Errorf("%d exchanges at the same time, want 8", w.most)
		}
		if n := w.gets[mad.AttrTimeStamp]; n != 3*40 {
			t.Errorf("%d TimeStamps for 40 devices of two ports, want three each", n)
		}
	})
}

func TestNewRejectsInvalidPortsAndOptions(t *testing.T) {
	t.Parallel()
	good := testPort(1, 1)
	noLID, tooFast := good, good
	noLID.LID = 0
	tooFast.Rate = quantity.MaxBitRate + 1
	for name, c := range map[string]struct {
		ports []Port
		o     Options
		says  string
	}{
		"no ports":       {nil, Options{}, "no ports"},
		"port twice":     {[]Port{good, good}, Options{}, "twice"},
		"no LID":         {[]Port{noLID}, Options{}, "LID 0"},
		"impossible":     {[]Port{tooFast}, Options{}, "100 Tbit/s"},
		"parallel":       {[]Port{good}, Options{Parallel: -1}, "1 to 4096"},
		"negative scale": {[]Port{good}, Options{TimeScale: -1}, "time scale"},
		"scale NaN":      {[]Port{good}, Options{TimeScale: math.NaN()}, "time scale"},
		"SL":             {[]Port{good}, Options{SL: 16}, "service level"},
	} {
		if _, err := New(nil, c.ports, c.o); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one about %q", name, err, c.says)
		}
	}
	c, err := New(nil, []Port{good}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Measure(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("a window of length 0: %v", err)
	}
}

func TestIntervalFollowsThePace(t *testing.T) {
	t.Parallel()
	slow, fast := testPort(1, 1), testPort(2, 1)
	slow.Rate = 10 * quantity.Gbps
	for scale, want := range map[float64]time.Duration{1: 343597383, 0.01: 34359738368, 1e9: time.Millisecond, 1e-9: 24 * time.Hour} {
		c, err := New(nil, []Port{slow, fast}, Options{TimeScale: scale})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Interval(); got != want {
			t.Errorf("scale %g: %d, want %d", scale, got, want)
		}
	}
}

func TestPortsOfAPlan(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	host := &f.Nodes[f.Hosts()[1]]
	sw := &f.Nodes[f.Switches()[0]]
	hostPort, swPort := ident.PortID{Node: host.GUID, Port: 1}, ident.PortID{Node: sw.GUID, Port: 2}
	plan := &policy.Plan{
		Placements: []policy.Placement{{Tenant: "a", Port: hostPort, SL: 1}, {Tenant: "b", Port: hostPort, SL: 2}},
		Links:      []policy.LinkShare{{Port: swPort}},
	}
	ports, err := PortsOf(plan, f)
	if err != nil || len(ports) != 2 {
		t.Fatalf("ports %v, error %v", ports, err)
	}
	for _, p := range ports {
		ref, _ := f.PortByID(p.ID)
		link, _ := f.Link(ref)
		lid := host.Ports[1].LID
		if p.ID == swPort {
			lid = sw.Ports[0].LID
		}
		if p.LID != lid || p.Rate != link.Rate || p.Rate == 0 || p.Name != f.PortName(ref) {
			t.Errorf("port %+v, want LID %d and rate %s", p, lid, link.Rate)
		}
	}
	plan.Links[0].Port.Node = 0xdead
	if _, err := PortsOf(plan, f); err == nil || !strings.Contains(err.Error(), "0x000000000000dead:2") {
		t.Errorf("a port that is not there: %v", err)
	}
}

func TestPrintingACollectorHidesTheKey(t *testing.T) {
	t.Parallel()
	c, err := New(nil, []Port{testPort(1, 1)}, Options{CCKey: 0x1122334455667788})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%x", "%s"} {
		if s := fmt.Sprintf(verb, c); s != "collector of 1 ports" {
			t.Errorf("%s prints %q", verb, s)
		}
	}
}
