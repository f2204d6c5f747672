// Package attack tests two managers under attack. They run as processes on one PostgreSQL, manage simulated fabrics,
// and are frozen and killed meanwhile. The attack consists of malformed requests, slow clients, tenants that probe for
// others, and guessed passwords. An operator works throughout. All random choices depend on one seed.
package attack

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"fairlane/test/servetest"
)

var (
	lasting = flag.Duration("attack.for", 12*time.Second, "how long the service is attacked; make soak has more")
	seed    = flag.Uint64("attack.seed", 1, "of everything random")
	pace    = flag.Float64("attack.pace", 40, "requests a second of all attackers together")
)

func TestMain(m *testing.M) { os.Exit(servetest.Main(m)) }

// attack is the concurrent activities.
type attack struct {
	*world
	ctx context.Context // until the attack ends
	// bucket gives the attackers one token for each request.
	bucket chan struct{}
}

func TestTheServiceUnderAttack(t *testing.T) {
	w := newWorld(t)
	w.furnish()
	w.alone()
	w.watch.begin()
	a := &attack{world: w, bucket: make(chan struct{})}
	var stop context.CancelFunc
	// A deadline would not work: net ends a dial at a context's deadline, some milliseconds before the context itself
	// is done.
	a.ctx, stop = context.WithCancel(w.ctx)
	defer stop()
	defer time.AfterFunc(*lasting, stop).Stop()
	start := time.Now()
	var wg sync.WaitGroup
	for i, part := range []func(*rand.Rand){
		a.drip, a.malform, a.malform, a.garble, a.probe, a.guess, a.crawl, a.freeze, a.race, a.race,
		func(r *rand.Rand) { a.operate(r, "lab") }, func(r *rand.Rand) { a.operate(r, "eth") },
		a.write, a.look, a.signInAll,
	} {
		wg.Go(func() { part(rand.New(rand.NewPCG(*seed, uint64(i)))) })
	}
	wg.Wait()
	t.Logf("attacked for %v, seed %d", time.Since(start).Round(time.Second), *seed)
	w.calm()
	w.book.report()
}

// drip fills the bucket.
func (a *attack) drip(*rand.Rand) {
	tick := time.NewTicker(time.Duration(float64(time.Second) / *pace))
	defer tick.Stop()
	for a.ctx.Err() == nil {
		select {
		case <-a.ctx.Done():
		case <-tick.C:
			select {
			case a.bucket <- struct{}{}:
			case <-a.ctx.Done():
			}
		}
	}
}

// turn waits for an attacker's turn; it returns false at the end.
func (a *attack) turn() bool {
	select {
	case <-a.ctx.Done():
		return false
	case <-a.bucket:
		return true
	}
}

// pause waits for a duration; it returns false at the end.
func (a *attack) pause(d time.Duration) bool { return pause(a.ctx, d) }

func pause(ctx context.Context, d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
		return true
	}
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }
