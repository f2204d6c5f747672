package identity

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func at(s float64) time.Time {
	return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
}

// TestTheThrottleAgreesWithCounting compares the throttle with a plain list of all refusals, each forgiven in turn.
func TestTheThrottleAgreesWithCounting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const burst, refill = 3, 4.0
		th := newThrottle(burst, time.Duration(refill*float64(time.Second)), 100)
		used := map[string]float64{}
		last := map[string]float64{}
		now := 0.0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += float64(rapid.IntRange(0, 5).Draw(t, "seconds"))
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "source")
			used[key] = max(0, used[key]-(now-last[key])/refill)
			last[key] = now
			if rapid.IntRange(0, 3).Draw(t, "forgive") == 0 {
				th.give(key, at(now))
				used[key] = max(0, used[key]-1)
				continue
			}
			wait := th.take(key, at(now)).Seconds()
			over := used[key] - (burst - 1)
			if over <= 1e-6 {
				over = 0
				used[key]++
			}
			if d := wait - over*refill; d > 1e-3 || d < -1e-3 {
				t.Fatalf("%s at %gs with %g used waits %gs, want %gs", key, now, used[key], wait, over*refill)
			}
		}
	})
}

func TestConcurrentTriesAreLimitedLikeSequentialOnes(t *testing.T) {
	t.Parallel()
	th := newThrottle(20, time.Minute, 10)
	passed := make(chan bool, 200)
	var wg sync.WaitGroup
	for range cap(passed) {
		wg.Go(func() { passed <- th.take("x", at(0)) == 0 })
	}
	wg.Wait()
	close(passed)
	n := 0
	for ok := range passed {
		if ok {
			n++
		}
	}
	if n != 20 {
		t.Errorf("%d tries at once passed, want 20", n)
	}
}

func TestTheThrottleEvictsOnlyTheOldestSource(t *testing.T) {
	t.Parallel()
	th := newThrottle(1, time.Hour, 3)
	for i, key := range []string{"a", "b", "c"} {
		th.take(key, at(float64(i)))
	}
	th.give("a", at(3))
	th.take("a", at(3)) // a is now the newest
	th.take("d", at(4)) // drops b
	if len(th.buckets) != 3 || th.buckets["b"] != nil || th.oldest.key != "c" || th.newest.key != "d" {
		t.Errorf("%d sources, oldest %s, newest %s", len(th.buckets), th.oldest.key, th.newest.key)
	}
	if th.take("a", at(4)) == 0 || th.take("b", at(4)) != 0 {
		t.Error("the wrong source was evicted")
	}
}

func TestAClockSetBackDoesNotShortenTheWait(t *testing.T) {
	t.Parallel()
	th := newThrottle(1, time.Minute, 3)
	th.take("x", at(1000))
	if wait := th.take("x", at(10)); wait != time.Minute {
		t.Errorf("after the clock went back the wait is %s, want %s", wait, time.Minute)
	}
}

func TestSourcesAreAddresses(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.7:99": "192.0.2.7", "192.0.2.7": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "[2001:db8:1:2:3::4]:5": "2001:db8:1:2::/64",
		"2001:db8:1:2::9": "2001:db8:1:2::/64", "[fe80::1%eth0]:5": "fe80::/64", "": "?", "@": "?", "unix": "?",
	} {
		if got := SourceKey(addr); got != want {
			t.Errorf("%q is counted under %q, want %q", addr, got, want)
		}
	}
}

func TestLocksDoubleAndEnd(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		0: 0, 1: 0, 4: 0, 5: 2 * time.Second, 6: 4 * time.Second, 7: 8 * time.Second, 13: 512 * time.Second, 14: 15 * time.Minute, 1 << 30: 15 * time.Minute,
	} {
		if got := lockAfter(failures); got != want {
			t.Errorf("after %d failures the lock is %s, want %s", failures, got, want)
		}
	}
}
