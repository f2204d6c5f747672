package identity

import (
	"net/netip"
	"sync"
	"time"
)

// throttle counts refusals by source in buckets that drain over time. Its memory is bounded: when it is full, it drops
// the bucket touched longest ago, which is closest to empty. The counts cover this process only; SigninRepo stores what
// must hold across managers.
type throttle struct {
	burst  float64       // refusals before the first wait
	refill time.Duration // time in which the count drops by one
	size   int           // maximum number of sources

	mu      sync.Mutex
	buckets map[string]*bucket
	oldest  *bucket // ends of a list in the order of the last touch
	newest  *bucket
}

type bucket struct {
	key          string
	used         float64
	at           time.Time
	older, newer *bucket
}

func newThrottle(burst int, refill time.Duration, size int) *throttle {
	return &throttle{burst: float64(burst), refill: refill, size: size, buckets: make(map[string]*bucket)}
}

// take counts a refusal and returns 0, or returns how long the source must wait before it may try.
func (t *throttle) take(key string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buckets[key]
	if b == nil {
		if len(t.buckets) >= t.size {
			delete(t.buckets, t.oldest.key)
			t.unlink(t.oldest)
		}
		b = &bucket{key: key, at: now}
		t.buckets[key] = b
	} else {
		if wait := t.due(b, now); wait > 0 {
			return wait
		}
		t.unlink(b)
	}
	b.used = b.drained(now, t.refill) + 1
	b.at = now
	t.append(b)
	return 0
}

// wait returns how long the source must wait before it may try; 0 means no wait. It counts nothing.
func (t *throttle) wait(key string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.buckets[key]; b != nil {
		return t.due(b, now)
	}
	return 0
}

func (t *throttle) due(b *bucket, now time.Time) time.Duration {
	return time.Duration(max(0, b.drained(now, t.refill)-(t.burst-1)) * float64(t.refill))
}

// give removes a counted refusal.
func (t *throttle) give(key string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.buckets[key]; b != nil {
		b.used, b.at = max(0, b.drained(now, t.refill)-1), now
	}
}

// drained returns the count that remains at a time. It ignores time when the clock went back.
func (b *bucket) drained(now time.Time, refill time.Duration) float64 {
	return max(0, b.used-max(0, float64(now.Sub(b.at)))/float64(refill))
}

func (t *throttle) unlink(b *bucket) {
	if b.older != nil {
		b.older.newer = b.newer
	} else {
		t.oldest = b.newer
	}
	if b.newer != nil {
		b.newer.older = b.older
	} else {
		t.newest = b.older
	}
	b.older, b.newer = nil, nil
}

func (t *throttle) append(b *bucket) {
	b.older = t.newest
	if t.newest != nil {
		t.newest.newer = b
	} else {
		t.oldest = b
	}
	t.newest = b
}

// SourceKey returns the key that an address is counted under: the address itself, or the /64 of an IPv6 address, which
// usually belongs to one subscriber. All invalid addresses share a key.
func SourceKey(addr string) string {
	ap, err := netip.ParseAddrPort(addr)
	ip := ap.Addr()
	if err != nil {
		if ip, err = netip.ParseAddr(addr); err != nil {
			return "?"
		}
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		p, err := ip.Prefix(64)
		if err == nil {
			return p.String()
		}
	}
	return ip.String()
}
