package kill

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"fairlane/service/store/pgtest"
	"fairlane/sim/simdev"
	"fairlane/test/servetest"
)

// TestSuspendedManagerDoesNotBlockOthers suspends one of two managers with SIGSTOP during a rollout, while it works on
// jobs and writes to devices that answer late. The other one takes over the rollout and finishes it; after five seconds
// its own writes wait for no lock. When the suspended one continues, it writes nothing to any device or to the store.
func TestSuspendedManagerDoesNotBlockOthers(t *testing.T) {
	was := *hosts
	*hosts = min(was, 100)
	t.Cleanup(func() { *hosts = was })
	server := pgtest.Start(t, pgtest.Options{})
	url := server.Database(t)
	l := newLab(t, url, url)
	l.learn()
	managers := l.c.managers
	at := 1
	for round := range 4 {
		stopped, other := managers[round%2], managers[1-round%2]
		l.c.managers = []*servetest.Process{other}
		alone := l.latencies(time.Second, 0)
		l.dev.sim.SetFaults(simdev.Faults{Seed: *seed, DelayReply: 0.5, Delay: 300 * time.Millisecond})
		id := l.roll(l.plans[1-at], 10+round)
		time.Sleep(time.Duration(300+l.rng.IntN(700)) * time.Millisecond)
		if err := stopped.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		took := l.latencies(3*time.Second, 5*time.Second)
		// A write that waits for the suspended manager waits for the rest of its time limit, so that 2 s is too long on
		// any machine.
		limit := min(max(time.Second, 2*alone), 2*time.Second)
		t.Logf("round %d: 99 of 100 writes take up to %v alone, %v from 5 s after the other manager was stopped", round, alone, took)
		if took > limit {
			t.Errorf("round %d: writes take %v, want %v at most", round, took, limit)
		}
		l.dev.sim.SetFaults(simdev.Faults{})
		ro := l.final(id)
		l.check(ro, at, false)
		if ro.State == "succeeded" {
			at = 1 - at
		}
		before := l.dev.read()
		if err := stopped.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		after := l.dev.read()
		for name, is := range before {
			if after[name] != is {
				t.Errorf("round %d: the manager that went on wrote to device %s", round, name)
			}
		}
		l.c.managers = []*servetest.Process{stopped}
		l.must("GET", fmt.Sprintf("/fabrics/lab/rollouts/%d", id), "", nil, nil)
	}
	l.c.managers = managers
	l.books()
}

// latencies writes for a while, starting after a delay, and returns the 99th percentile of the durations.
func (l *lab) latencies(lasting, after time.Duration) time.Duration {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, after+lasting)
	defer cancel()
	var list []time.Duration
	for start := time.Now(); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		begun := time.Now()
		status, answer, err := l.c.once(ctx, "PUT", "/fabrics/other", "", object{"source": "file:./nowhere"})
		if ctx.Err() != nil {
			break
		}
		if took := time.Since(begun); begun.Sub(start) >= after {
			list = append(list, took)
			if err != nil || status != http.StatusOK {
				l.t.Errorf("a write is answered with %d %s, %v", status, answer, err)
			}
		}
	}
	if len(list) == 0 {
		l.t.Error("no write was answered")
		return lasting
	}
	slices.Sort(list)
	return list[len(list)*99/100]
}
