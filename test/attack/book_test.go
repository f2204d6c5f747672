package attack

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// timed is the duration of a write and the load of the machine at that time.
type timed struct {
	begun   time.Time
	took    time.Duration
	machine time.Duration // duration of an answer that needs no database, measured just before
	load    string
}

// book records the attack's operations, the largest values, and the violations found.
type book struct {
	t     *testing.T
	mu    sync.Mutex
	count map[string]int
	peak  map[string]float64
	// found counts violations by kind; the first maxReported of each kind are reported individually.
	found  map[string]int
	writes []timed
	alone  time.Duration // 90th percentile of writes before the attack
}

func newBook(t *testing.T) *book {
	return &book{t: t, count: map[string]int{}, peak: map[string]float64{}, found: map[string]int{}}
}

// maxReported is the maximum number of reported violations of one kind.
const maxReported = 20

// violation records a broken guarantee and its cause.
func (b *book) violation(kind, format string, args ...any) {
	b.t.Helper()
	b.mu.Lock()
	b.found[kind]++
	n := b.found[kind]
	b.mu.Unlock()
	if n <= maxReported {
		b.t.Errorf("%s %s (load %s): %s", time.Now().UTC().Format(time.TimeOnly), kind, load(), fmt.Sprintf(format, args...))
	}
}

// tally increments a counter.
func (b *book) tally(kind string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count[kind]++
}

// high records a value if it is the largest so far.
func (b *book) high(kind string, v float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.peak[kind] = max(b.peak[kind], v)
}

// wrote records the duration of a write.
func (b *book) wrote(w timed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes = append(b.writes, w)
}

// load returns the load of the machine, which helps to distinguish a slow service from a slow machine.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // only for information
	return strings.Join(strings.Fields(string(text))[:min(3, len(strings.Fields(string(text))))], " ")
}

// soFar prints the totals in one line during the run.
func (b *book) soFar() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.t.Logf("%s so far (load %s): %v; at most %v; %d honest writes measured; violations %v", time.Now().UTC().Format(time.TimeOnly), load(), b.count, b.peak, len(b.writes), b.found)
}

// report prints the totals.
func (b *book) report() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(b.count)) {
		b.t.Logf("%8d %s", b.count[k], k)
	}
	for _, k := range slices.Sorted(maps.Keys(b.peak)) {
		b.t.Logf("%8.0f at most: %s", b.peak[k], k)
	}
	for _, k := range slices.Sorted(maps.Keys(b.found)) {
		b.t.Errorf("%8d times: %s", b.found[k], k)
	}
}
