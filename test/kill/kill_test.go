// Package kill runs managers as real processes on a real database against a simulated fabric of a thousand ports, and
// kills them at random instants.
package kill

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlane/internal/app"
	"fairlane/internal/store/pgtest"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet/topogen"
)

var (
	kills = flag.Int("kills", 6, "how often a manager, or the database, is killed")
	seed  = flag.Uint64("seed", 1, "of the instants")
	hosts = flag.Int("hosts", 1000, "ports to write")
)

// childVariable makes a test binary the program.
const childVariable = "FAIRLANE_KILL_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "1" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := app.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// lab is a fabric with managers on one database.
type lab struct {
	t     *testing.T
	ctx   context.Context
	rng   *rand.Rand
	c     *client
	sim   *simdev.Devices
	crash func() error // of the database; nil when it is not a process of its own
	plans [2]string
	acked []string // names of tenants whose making was acknowledged
}

const perLeaf = 25

func newLab(t *testing.T, databases ...string) *lab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)
	l := &lab{t: t, ctx: ctx, rng: rand.New(rand.NewPCG(*seed, 1))}
	leaves := max(*hosts/perLeaf, 1)
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: leaves, HostsPerLeaf: perLeaf, Spines: 2})
	if err != nil {
		t.Fatal(err)
	}
	n, err := fabric.New(topo, fabric.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if l.sim, err = simdev.New(n, simdev.Options{TimeScale: 1e-4}); err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("unix:fairlane-kill-%d-%s", os.Getpid(), strings.ToLower(t.Name()))
	server, err := simdev.Listen(l.sim, addr)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	run, stop := context.WithCancel(context.Background())
	wg.Go(func() { _ = l.sim.Run(run) })
	wg.Go(func() { _ = server.Serve(run) })
	t.Cleanup(func() { stop(); wg.Wait() })
	l.c = &client{http: &http.Client{Timeout: 20 * time.Second}, rng: rand.New(rand.NewPCG(*seed, 2))}
	for i, d := range databases {
		l.c.managers = append(l.c.managers, newProcess(t, fmt.Sprintf("m%d", i+1), d))
	}
	l.onboard("ibsim:"+server.Addr(), leaves)
	return l
}

// must calls and fails the test on anything but success.
func (l *lab) must(method, path, key string, body, out any) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, 2*time.Minute)
	defer cancel()
	if _, err := l.c.call(ctx, method, path, key, body, out); err != nil {
		l.t.Fatal(err)
	}
}

type object = map[string]any

// onboard puts the fabric under management and makes two plans that differ on every port.
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
		// The plans must differ everywhere, so that a mixture would show: the table is of another law.
		l.must("POST", "/fabrics/lab/plans", fmt.Sprintf("p%d", p), object{"options": object{"cct_law": [2]string{"geometric", "quadratic"}[p]}}, &plan)
		l.plans[p] = plan.Name
	}
	if l.plans[0] == l.plans[1] {
		l.t.Fatal("the two plans are one")
	}
}

type rollout struct {
	ID     int64
	State  string
	Result string
	Phase  string
	Wave   int
	Waves  int
}

// roll starts a rollout and returns its number.
func (l *lab) roll(plan string, n int) int64 {
	var ro rollout
	l.must("POST", "/fabrics/lab/rollouts", fmt.Sprintf("r%d", n), object{"plan": plan, "stages": []string{"settings"},
		"options": object{"attempts": 30, "shard": 64, "failure_budget": 0}}, &ro)
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

// write makes tenants beside the rollouts until ctx ends, and notes those that were acknowledged.
func (l *lab) write(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("w-%d", i)
		status, _, err := l.c.once(ctx, "POST", "/fabrics/other/tenants", "", object{"name": name, "weight": 1, "pkey": fmt.Sprintf("0x%04x", 0x9000+i)})
		if err == nil && status == http.StatusCreated {
			l.acked = append(l.acked, name)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// storm kills something at random instants, and starts it again.
func (l *lab) storm(n int) {
	for i := range n {
		wait := time.NewTimer(time.Duration(50+l.rng.IntN(1500)) * time.Millisecond)
		select {
		case <-l.ctx.Done():
		case <-wait.C:
		}
		if l.crash != nil && l.rng.IntN(6) == 0 {
			if err := l.crash(); err != nil {
				l.t.Error(err)
			}
			continue
		}
		p := l.c.managers[l.rng.IntN(len(l.c.managers))]
		p.kill()
		p.start()
		l.t.Logf("kill %d of %d", i+1, n)
	}
}

// states counts the devices by their state against a plan.
func (l *lab) states(plan string) (inSync map[string]bool, all int) {
	var list struct {
		Items []struct{ ID, State string }
	}
	l.must("GET", "/fabrics/lab/devices?plan="+plan, "", nil, &list)
	inSync = map[string]bool{}
	for _, d := range list.Items {
		if d.State == "in-sync" {
			inSync[d.ID] = true
		}
	}
	return inSync, len(list.Items)
}

// run rolls plans out while things are killed, and checks the promises at the end.
func (l *lab) run() {
	first := l.final(l.roll(l.plans[0], 0))
	if first.State != "succeeded" {
		l.t.Fatalf("in peace the rollout ends as %+v", first)
	}
	l.sim.SetFaults(simdev.Faults{Seed: *seed, DropRequest: 0.002, DropReply: 0.002, DelayReply: 0.002, Delay: 50 * time.Millisecond})
	ctx, stop := context.WithCancel(l.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { l.write(ctx) })
	done := make(chan struct{})
	go func() { // the storm ends by itself
		defer close(done)
		l.storm(*kills)
	}()
	at := 0
	for n := 1; ; n++ {
		ro := l.final(l.roll(l.plans[1-at], n))
		l.t.Logf("rollout %d ended as %s: %.200s", ro.ID, ro.State, ro.Result)
		l.check(ro, at)
		if ro.State == "succeeded" {
			at = 1 - at
		}
		select {
		case <-done:
			stop()
			wg.Wait()
			l.sim.SetFaults(simdev.Faults{})
			l.books()
			return
		default:
		}
	}
}

// check holds a rollout that ended against what the devices hold.
func (l *lab) check(ro rollout, before int) {
	l.t.Helper()
	was, all := l.states(l.plans[before])
	is, _ := l.states(l.plans[1-before])
	for id := range was {
		if is[id] {
			delete(is, id) // the same in both
		}
	}
	if mixed := all - len(was) - len(is); mixed != 0 {
		l.t.Errorf("rollout %d ended as %s, and %d of %d devices are neither as before nor as wanted", ro.ID, ro.State, mixed, all)
	}
	switch now, _ := l.states(l.plans[1-before]); {
	case ro.State == "succeeded" && len(now) != all:
		l.t.Errorf("rollout %d claims success with %d of %d devices as wanted", ro.ID, len(now), all)
	case ro.State == "rolled-back" && len(was) != all:
		l.t.Errorf("rollout %d claims to be rolled back with %d of %d devices as before", ro.ID, len(was), all)
	case ro.State != "succeeded" && ro.State != "rolled-back":
		l.t.Errorf("rollout %d ended as %s: %s", ro.ID, ro.State, ro.Result)
	}
}

// books checks that nothing acknowledged is lost and the audit chain is whole.
func (l *lab) books() {
	l.t.Helper()
	have := map[string]bool{}
	for cursor := ""; ; {
		var list struct {
			Items      []struct{ Name string }
			NextCursor string `json:"next_cursor"`
		}
		l.must("GET", "/fabrics/other/tenants?limit=1000"+cursor, "", nil, &list)
		for _, x := range list.Items {
			have[x.Name] = true
		}
		if list.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + list.NextCursor
	}
	if len(l.acked) == 0 {
		l.t.Error("no write was acknowledged: the test proves less than it should")
	}
	for _, name := range l.acked {
		if !have[name] {
			l.t.Errorf("tenant %s was acknowledged and is lost", name)
		}
	}
	var report struct{ OK bool }
	l.must("GET", "/audit/verify", "", nil, &report)
	if !report.OK {
		l.t.Errorf("the audit chain is broken: %+v", report)
	}
	l.t.Logf("%d acknowledged writes are there", len(l.acked))
}

func TestKilledManagersOnPostgreSQL(t *testing.T) {
	s := pgtest.Start(t, pgtest.Options{})
	url := s.Database(t)
	l := newLab(t, url, url)
	l.crash = s.Restart
	l.run()
}

func TestAKilledManagerOnSQLite(t *testing.T) {
	l := newLab(t, filepath.Join(t.TempDir(), "fairlane.db"))
	l.run()
}
