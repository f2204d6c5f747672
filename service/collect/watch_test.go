package collect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/service/collect"
	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// watcher is a service with a topology whose ports can be watched. Each reading of a port finds that it sent one bit per second more.
type watcher struct {
	*service

	mu     sync.Mutex
	topo   *subnet.Fabric
	opened []string         // names of the ports of each watch
	closed int              // watches
	reads  []time.Time      // of any watch
	fault  map[string]error // of ports, by name; "" of the whole watch
	hang   bool             // readings end with their context
	rounds []time.Time      // of measurements
}

func (w *watcher) Now() time.Time { return time.Now() }

// with calls do while nothing else uses the watcher.
func (w *watcher) with(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

func (w *watcher) ClaimCollection(ctx context.Context, fabric, owner string, until time.Time) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.service.ClaimCollection(ctx, fabric, owner, until)
}

func (w *watcher) RefreshTarget(ctx context.Context, fabric string, prior control.Target) (control.Target, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.service.RefreshTarget(ctx, fabric, prior)
	t.Topology = w.topo
	return t, err
}

func (w *watcher) Measure(ctx context.Context, t control.Target, window time.Duration) (control.Shares, error) {
	w.with(func() { w.rounds = append(w.rounds, time.Now()) })
	time.Sleep(time.Second)
	return w.service.Measure(ctx, t, window)
}

func (w *watcher) WatchPorts(_ context.Context, _ control.Target, ports []ident.PortID, _ time.Duration) (control.PortWatch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := &openWatch{w: w}
	for _, id := range ports {
		ref, _ := w.topo.PortByID(id)
		x.names = append(x.names, w.topo.PortName(ref))
	}
	w.opened = append(w.opened, strings.Join(x.names, " "))
	return x, nil
}

type openWatch struct {
	w     *watcher
	names []string
	n     int
}

func (x *openWatch) Read(ctx context.Context) (control.PortReading, error) {
	x.w.mu.Lock()
	x.w.reads = append(x.w.reads, time.Now())
	hang, fault := x.w.hang, maps.Clone(x.w.fault)
	x.w.mu.Unlock()
	if hang {
		<-ctx.Done()
	}
	if err := fault[""]; err != nil {
		return control.PortReading{}, err
	}
	x.n++
	r := control.PortReading{Cost: control.Cost{Requests: 5, Bytes: 500}}
	for _, name := range x.names {
		p := control.PortActivity{Name: name, Err: fault[name]}
		switch {
		case x.n == 1:
			p.Err = errors.New("baseline")
		case p.Err == nil:
			p.Sent = new(quantity.BitRate(x.n))
		}
		r.Ports = append(r.Ports, p)
	}
	return r, nil
}

func (x *openWatch) Close() error {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	x.w.closed++
	return nil
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// timed records what is appended, with times.
type timed struct {
	series.Reader

	mu  sync.Mutex
	got map[string][]string // "s value" by family and port, s since the start
	at  time.Time
}

func (k *timed) Append(_ context.Context, at time.Time, batch []series.Sample) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range batch {
		key, value := s.Family, fmt.Sprint(s.Value)
		for _, l := range s.Labels[1:] {
			key += " " + l.Value
		}
		if s.Gap {
			value = "gap"
		}
		k.got[key] = append(k.got[key], fmt.Sprintf("%v:%s", at.Sub(k.at).Seconds(), value))
	}
	return nil
}

// samples returns the samples of a series.
func (k *timed) samples(of string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.got[of])
}

// of returns the samples of the octets that a port sent.
func (k *timed) of(port string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.got[series.PortSent+" "+port], " ")
}

// watching runs a collector that watches ports, in a bubble of time, and calls do beside it.
func watching(t *testing.T, entries []string, do func(w *watcher, k *timed, c *collect.Collector, log *lockedBuffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		topo, err := topogen.Star(3, topogen.Wire{})
		if err != nil {
			t.Fatal(err)
		}
		w := &watcher{service: lab(), topo: topo, fault: map[string]error{}}
		k := &timed{got: map[string][]string{}, at: time.Now()}
		for _, name := range []string{"h1/P1", "h2/P1"} { // measured by rounds too
			w.shares.Ports = append(w.shares.Ports, control.PortActivity{Name: name, Sent: new(quantity.BitRate(7))})
		}
		w.shares.Cost = &control.Cost{Requests: 60, Bytes: 2 * 256 * 60}
		var log lockedBuffer
		c, err := collect.New(w, w, k, collect.Options{
			Name: "m1", Period: 15 * time.Second, AllPorts: true, Watch: collect.WatchOptions{Ports: entries, Period: time.Second, By: w}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.Run(ctx); close(done) }()
		time.Sleep(500 * time.Millisecond)
		do(w, k, c, &log)
		cancel()
		<-done
		if w.closed != len(w.opened) {
			t.Errorf("%d of %d watches were closed", w.closed, len(w.opened))
		}
	})
}

// TestWatchedPortsHaveTheirOwnPeriod has one port that is watched and one that is not. Each has one writer.
func TestWatchedPortsHaveTheirOwnPeriod(t *testing.T) {
	t.Parallel()
	watching(t, []string{"lab/h1/P1", "elsewhere/h1/P1", "lab/h9/*"}, func(w *watcher, k *timed, c *collect.Collector, log *lockedBuffer) {
		time.Sleep(5 * time.Second)
		if d := cmp.Diff("2:2 3:3 4:4 5:5", k.of("h1/P1")); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"1:5", "2:5", "3:5", "4:5", "5:5"}, k.samples(series.CostRequests+" ports")); d != "" {
			t.Error(d)
		}
		time.Sleep(11 * time.Second)
		if d := cmp.Diff([]string{"1:2048", "16:2048"}, k.samples(series.CostBytes+" shares")); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff("1:7 16:7", k.of("h2/P1")); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(map[string]int{"read": 1, "unread": 0, "omitted": 0, "unknown": 2}, c.Watched()); d != "" {
			t.Error(d)
		}
		if n := strings.Count(log.String(), "matches no port"); n != 2 || strings.Count(log.String(), "\n") != 2 {
			t.Errorf("log:\n%s", log)
		}
		w.with(func() {
			if d := cmp.Diff([]string{"h1/P1"}, w.opened); d != "" {
				t.Error(d)
			}
		})
	})
}

// TestAWatchThatHangsDelaysNoRound has readings that never end by themselves.
func TestAWatchThatHangsDelaysNoRound(t *testing.T) {
	t.Parallel()
	watching(t, []string{"lab/*/*"}, func(w *watcher, k *timed, _ *collect.Collector, _ *lockedBuffer) {
		w.with(func() { w.hang = true })
		time.Sleep(46 * time.Second)
		w.mu.Lock()
		rounds := w.rounds
		w.mu.Unlock()
		if len(rounds) != 4 {
			t.Fatalf("%d rounds in 46 s, want 4", len(rounds))
		}
		for i, at := range rounds {
			if late := at.Sub(k.at) - time.Duration(i)*15*time.Second; late != 0 {
				t.Errorf("round %d is %s late", i, late)
			}
		}
		w.with(func() {
			if len(w.reads) != 1 {
				t.Errorf("%d readings at a time", len(w.reads))
			}
		})
	})
}

// TestWhatIsNotReadOfAWatchedPortIsAGap fails one port and then the whole watch, which is opened again.
func TestWhatIsNotReadOfAWatchedPortIsAGap(t *testing.T) {
	t.Parallel()
	watching(t, []string{"lab/h[12]/P1"}, func(w *watcher, k *timed, c *collect.Collector, log *lockedBuffer) {
		fail := func(port string, err error) { w.with(func() { w.fault[port] = err }) }
		time.Sleep(3 * time.Second)
		fail("h1/P1", errors.New("no answer"))
		time.Sleep(4 * time.Second)
		if n := c.Watched(); n["read"] != 1 || n["unread"] != 1 {
			t.Errorf("watched %v", n)
		}
		fail("h1/P1", nil)
		time.Sleep(2 * time.Second)
		fail("", errors.New("away"))
		time.Sleep(time.Second)
		fail("", nil)
		time.Sleep(4 * time.Second)
		if d := cmp.Diff("2:2 3:3 4:gap 8:8 9:9 10:gap 12:2 13:3 14:4", k.of("h1/P1")); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff("2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:gap 12:2 13:3 14:4", k.of("h2/P1")); d != "" {
			t.Error(d)
		}
		if got := log.String(); strings.Count(got, "is not measured, or not completely") != 1 || strings.Count(got, "is measured again") != 1 {
			t.Errorf("log:\n%s", got)
		}
	})
}

// TestAWatchEndsWithTheLease loses the fabric to another manager, which continues the series, and gets it back.
func TestAWatchEndsWithTheLease(t *testing.T) {
	t.Parallel()
	watching(t, []string{"lab/h1/P1"}, func(w *watcher, k *timed, c *collect.Collector, _ *lockedBuffer) {
		w.with(func() { w.held = map[string]bool{"lab": true} })
		time.Sleep(28 * time.Second)
		w.with(func() {
			w.held = nil
			if n := len(w.reads); n != 14 && n != 15 { // the round and the reading are due at the same time
				t.Errorf("%d readings until the round that lost the fabric, want 15 or one less", n)
			}
		})
		if got := k.of("h1/P1"); strings.Contains(got, "gap") {
			t.Errorf("a gap in %s", got)
		}
		time.Sleep(5 * time.Second)
		if got := k.of("h1/P1"); !strings.HasSuffix(got, " 33:3") && !strings.HasSuffix(got, " 33:4") {
			t.Errorf("after the fabric is back: %s", got)
		}
		w.with(func() { w.plan = nil })
		time.Sleep(20 * time.Second)
		if got := k.of("h1/P1"); !strings.HasSuffix(got, ":gap") || c.Watched()["read"] != 0 {
			t.Errorf("without a plan: %s, %v", got, c.Watched())
		}
	})
	// A round that cannot ask for the lease does not extend it.
	watching(t, []string{"lab/h1/P1"}, func(w *watcher, _ *timed, _ *collect.Collector, _ *lockedBuffer) {
		w.with(func() { w.unclaimed = errors.New("database away") })
		time.Sleep(80 * time.Second)
		w.with(func() {
			if n := len(w.reads); n != 44 && n != 45 {
				t.Errorf("%d readings within a lease of 45 s", n)
			}
		})
	})
}

func TestAWatchIsBounded(t *testing.T) {
	t.Parallel()
	watching(t, []string{"lab/h2/P1", "lab/*/*"}, func(w *watcher, _ *timed, c *collect.Collector, log *lockedBuffer) {
		big, err := topogen.Star(100, topogen.Wire{})
		if err != nil {
			t.Fatal(err)
		}
		w.with(func() { w.topo = big })
		time.Sleep(20 * time.Second)
		w.with(func() {
			if got := strings.Fields(w.opened[len(w.opened)-1]); len(got) != collect.MaxWatched || got[0] != "h2/P1" {
				t.Errorf("%d ports: %v", len(got), got)
			}
		})
		if n := c.Watched(); n["omitted"] != 200-collect.MaxWatched || !strings.Contains(log.String(), "too many ports") {
			t.Errorf("watched %v, log:\n%s", n, log)
		}
	})
	w := &watcher{service: lab()}
	if _, err := collect.New(w, w, &kept{}, collect.Options{Period: time.Second, Watch: collect.WatchOptions{Ports: []string{"lab/*"}, Period: time.Millisecond}}); err == nil {
		t.Error("a period of a millisecond")
	}
}
