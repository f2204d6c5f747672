// Package kill runs managers as real processes on a real database with a simulated fabric of a thousand ports, and
// kills them at random times.
package kill

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlane/service/store/pgtest"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet/topogen"
	"fairlane/test/servetest"
)

var (
	kills = flag.Int("kills", 6, "how often a manager, or the database, is killed")
	seed  = flag.Uint64("seed", 1, "of the instants")
	hosts = flag.Int("hosts", 1000, "ports to write")
)

func TestMain(m *testing.M) { os.Exit(servetest.Main(m)) }

// lab is a fabric with managers on one database.
type lab struct {
	t     *testing.T
	ctx   context.Context
	rng   *rand.Rand
	c     *client
	dev   *devices
	crash []func() error // stops the database, each by another method, and starts it again; empty if it is not a separate process
	plans [2]string
	// holds is what the devices hold under each plan, off their settings after power-on.
	holds [2]truth
	off   truth

	mu    sync.Mutex
	count map[string]int // number of actions of each kind
}

// tally increments a counter.
func (l *lab) tally(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[what]++
}

const perLeaf = 25

func newLab(t *testing.T, databases ...string) *lab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)
	l := &lab{t: t, ctx: ctx, rng: rand.New(rand.NewPCG(*seed, 1)), count: map[string]int{}}
	leaves := max(*hosts/perLeaf, 1)
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: leaves, HostsPerLeaf: perLeaf, Spines: 2})
	if err != nil {
		t.Fatal(err)
	}
	n, err := fabric.New(topo, fabric.Config{})
	if err != nil {
		t.Fatal(err)
	}
	sim, err := simdev.New(n, simdev.Options{TimeScale: 1e-4})
	if err != nil {
		t.Fatal(err)
	}
	l.dev = &devices{sim: sim, topo: topo, restarted: map[string]bool{}}
	addr := fmt.Sprintf("unix:fairlane-kill-%d-%s", os.Getpid(), strings.ToLower(t.Name()))
	server, err := simdev.Listen(sim, addr)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	run, stop := context.WithCancel(context.Background())
	wg.Go(func() { _ = sim.Run(run) })
	wg.Go(func() { _ = server.Serve(run) })
	t.Cleanup(func() { stop(); wg.Wait() })
	l.c = &client{http: &http.Client{Timeout: 20 * time.Second}, rng: rand.New(rand.NewPCG(*seed, 2))}
	for i, d := range databases {
		l.c.managers = append(l.c.managers, newProcess(t, fmt.Sprintf("m%d", i+1), d))
	}
	l.onboard("ibsim:"+server.Addr(), leaves)
	return l
}

// call sends a request, with a limit of two minutes.
func (l *lab) call(method, path, key string, body, out any) error {
	ctx, cancel := context.WithTimeout(l.ctx, 2*time.Minute)
	defer cancel()
	_, err := l.c.call(ctx, method, path, key, body, out)
	return err
}

// must sends a request and fails the test unless it succeeds.
func (l *lab) must(method, path, key string, body, out any) {
	l.t.Helper()
	if err := l.call(method, path, key, body, out); err != nil {
		l.t.Fatal(err)
	}
}

type object = map[string]any

// onboard puts the fabric under management and creates two plans that differ on every port.
func (l *lab) onboard(source string, leaves int) {
	l.must("POST", "/fabrics", "f1", object{"name": "lab", "source": source, "time_scale": 1e-4}, nil)
	l.must("POST", "/fabrics", "f2", object{"name": "other", "source": source}, nil)
	l.must("POST", "/fabrics/lab/discover", "d1", nil, nil)
	n := leaves * perLeaf
	host := func(i int) string { return fmt.Sprintf("host-%03d", i+1) }
	const tenants = 4
	for p := range l.plans {
		var ts, flows []object
		for k := range tenants {
			var at []object
			for i := k; i < n; i += tenants {
				at = append(at, object{"port": host(i)})
				if dst := (i + n/2/tenants*tenants) % n; dst%tenants == k && dst != i {
					flows = append(flows, object{"tenant": fmt.Sprintf("t%d", k), "src": host(i), "dst": host(dst)})
				}
			}
			ts = append(ts, object{"name": fmt.Sprintf("t%d", k), "weight": 1 + 3*p*k, "pkey": fmt.Sprintf("0x%04x", 0x8001+k), "attachments": at})
		}
		l.must("PUT", "/fabrics/lab/tenants", "", object{"tenants": ts, "flows": flows}, nil)
		var plan struct{ Name string }
		// The plans must differ everywhere, so that a mixture is detected: the second has another table law.
		l.must("POST", "/fabrics/lab/plans", fmt.Sprintf("p%d", p), object{"options": object{"cct_law": [2]string{"geometric", "quadratic"}[p]}}, &plan)
		l.plans[p] = plan.Name
	}
	if l.plans[0] == l.plans[1] {
		l.t.Fatal("the two plans are one")
	}
}

type rollout struct {
	ID                         int64
	Plan, State, Result, Phase string
	Wave, Waves                int
}

// roll starts a rollout and returns its number.
func (l *lab) roll(plan string, n int) int64 {
	var ro rollout
	err := l.call("POST", "/fabrics/lab/rollouts", fmt.Sprintf("r%d", n), object{"plan": plan, "stages": []string{"settings"},
		"options": object{"attempts": 30, "shard": 64, "failure_budget": 0}}, &ro)
	if errors.Is(err, errLost) { // nothing else starts rollouts, so it is the newest one
		var list struct{ Items []rollout }
		l.must("GET", "/fabrics/lab/rollouts?limit=1", "", nil, &list)
		if len(list.Items) != 1 || list.Items[0].Plan != plan {
			l.t.Fatalf("a rollout of plan %s was said to have started: the newest is %+v", plan, list.Items)
		}
		return list.Items[0].ID
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return ro.ID
}

// final waits for the end of a rollout.
func (l *lab) final(id int64) rollout {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var ro rollout
		if l.must("GET", fmt.Sprintf("/fabrics/lab/rollouts/%d", id), "", nil, &ro); ro.State != "running" {
			return ro
		}
		select {
		case <-l.ctx.Done():
			l.t.Fatalf("rollout %d does not end: %+v", id, ro)
		case <-tick.C:
		}
	}
}

// storm kills something at random times, and starts it again. Sometimes it also restarts devices.
func (l *lab) storm(n int) {
	for i := range n {
		wait := time.NewTimer(time.Duration(50+l.rng.IntN(1500)) * time.Millisecond)
		select {
		case <-l.ctx.Done():
		case <-wait.C:
		}
		if l.rng.IntN(3) == 0 {
			l.restartDevices(1 + l.rng.IntN(3))
		}
		if len(l.crash) > 0 && l.rng.IntN(8) == 0 {
			k := l.rng.IntN(len(l.crash))
			if err := l.crash[k](); err != nil {
				l.t.Error(err)
			}
			l.tally([]string{"database restarts", "database crashes", "database kills"}[k])
		}
		l.killManager()
		if (i+1)%10 == 0 || i+1 == n {
			l.t.Logf("kill %d of %d", i+1, n)
		}
	}
}

// killManager kills one of the managers, or sometimes all of them, and starts them again.
func (l *lab) killManager() {
	first := l.rng.IntN(len(l.c.managers))
	dead := l.c.managers[first : first+1]
	if l.rng.IntN(5) == 0 {
		dead = l.c.managers
	}
	for _, p := range dead {
		p.Kill()
	}
	for _, p := range dead {
		p.Start()
		l.tally("managers killed")
	}
}

// restartDevices powers some devices off and on.
func (l *lab) restartDevices(n int) {
	for range n {
		if err := l.dev.restart(int32(l.rng.IntN(len(l.dev.topo.Nodes)))); err != nil {
			l.t.Error(err)
		}
		l.tally("devices restarted")
	}
}

// learn rolls out both plans without disturbance and records what the devices then hold. It leaves the second in force.
func (l *lab) learn() {
	l.off = l.dev.read()
	for i, plan := range l.plans {
		if ro := l.final(l.roll(plan, i)); ro.State != "succeeded" {
			l.t.Fatalf("in peace the rollout ends as %+v", ro)
		}
		l.holds[i] = l.dev.read()
	}
	same := 0
	for name, is := range l.holds[0] {
		if is == l.holds[1][name] || is == l.off[name] {
			same++
		}
	}
	if ports := len(l.dev.topo.Hosts()); same > len(l.holds[0])-ports {
		l.t.Fatalf("%d of %d devices would not show a mixture: at most the %d switches may", same, len(l.holds[0]), len(l.holds[0])-ports)
	}
}

// run rolls out plans while processes are killed, and checks the guarantees at the end.
func (l *lab) run() {
	l.learn()
	l.dev.sim.SetFaults(simdev.Faults{Seed: *seed, DropRequest: 0.002, DropReply: 0.002, DelayReply: 0.002, Delay: 700 * time.Millisecond})
	ctx, stop := context.WithCancel(l.ctx)
	defer stop()
	w := newWriter(l.c, *seed)
	var wg sync.WaitGroup
	wg.Go(func() { w.run(ctx) })
	done := make(chan struct{})
	go func() { // the storm ends by itself
		defer close(done)
		l.storm(*kills)
	}()
	at, n := 1, 2
	for calm := false; !calm; n++ {
		select {
		case <-done:
			calm = true // one more without disturbance: restarted devices take part again
			stop()
			wg.Wait()
			l.dev.sim.SetFaults(simdev.Faults{})
		default:
		}
		ro := l.final(l.roll(l.plans[1-at], n))
		l.tally("ended as " + ro.State)
		l.t.Logf("rollout %d ended as %s: %.200s", ro.ID, ro.State, ro.Result)
		l.check(ro, at, calm)
		if ro.State == "succeeded" {
			at = 1 - at
		}
	}
	l.t.Logf("%v", l.count)
	w.check(l.t, l.must)
	l.books()
}

// check compares an ended rollout with what the devices hold.
func (l *lab) check(ro rollout, at int, calm bool) {
	l.t.Helper()
	v := l.dev.judge(l.holds[1-at], l.holds[at], l.off)
	all := v.wanted + v.before + v.off + len(v.mixed)
	if len(v.mixed) > 0 {
		l.t.Errorf("rollout %d ended as %s, and %d of %d devices are neither as before nor as wanted: %q", ro.ID, ro.State, len(v.mixed), all, v.mixed[:min(10, len(v.mixed))])
	}
	switch {
	case calm && (ro.State != "succeeded" || v.wanted != all):
		l.t.Errorf("in peace rollout %d ends as %s with %d of %d devices as wanted", ro.ID, ro.State, v.wanted, all)
	case ro.State == "succeeded" && v.wanted+v.off != all:
		l.t.Errorf("rollout %d claims success with %d of %d devices as wanted and %d restarted since", ro.ID, v.wanted, all, v.off)
	case ro.State == "rolled-back" && !l.asBefore(v, at, all):
		l.t.Errorf("rollout %d claims to be rolled back with %d of %d devices as before and %d restarted", ro.ID, v.before, all, v.off)
	case ro.State != "succeeded" && ro.State != "rolled-back":
		l.t.Errorf("rollout %d ended as %s: %s", ro.ID, ro.State, ro.Result)
	}
}

// asBefore reports whether all devices hold the earlier plan or are reset. Devices with the same settings in both plans
// count as wanted.
func (l *lab) asBefore(v verdict, at, all int) bool {
	same := 0
	for name, is := range l.holds[at] {
		if is == l.holds[1-at][name] {
			same++
		}
	}
	return v.before+v.off+min(same, v.wanted) == all
}

// books checks that the managers report the actual state, and that the audit chain is intact.
func (l *lab) books() {
	l.t.Helper()
	var list struct {
		Items []struct{ ID, State string }
	}
	l.must("GET", "/fabrics/lab/devices", "", nil, &list)
	for _, d := range list.Items {
		if d.State != "in-sync" {
			l.t.Errorf("device %s is %s after a rollout in peace", d.ID, d.State)
		}
	}
	if len(list.Items) < len(l.dev.topo.Hosts()) {
		l.t.Errorf("%d devices are listed, of %d ports", len(list.Items), len(l.dev.topo.Hosts()))
	}
	var report struct {
		OK      bool
		Entries int
	}
	l.must("GET", "/audit/verify", "", nil, &report)
	if !report.OK {
		l.t.Errorf("the audit chain is broken: %+v", report)
	}
}

func TestKilledManagersOnPostgreSQL(t *testing.T) {
	s := pgtest.Start(t, pgtest.Options{})
	url := s.Database(t)
	l := newLab(t, url, url)
	l.crash = []func() error{s.Restart, s.Crash, s.Kill}
	l.run()
}

func TestAKilledManagerOnSQLite(t *testing.T) {
	l := newLab(t, filepath.Join(t.TempDir(), "fairlane.db"))
	l.run()
}
