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

// timed is how long a write took, and under which load of the machine.
type timed struct {
	begun   time.Time
	took    time.Duration
	machine time.Duration // of an answer that needs no database, just before
	load    string
}

// book keeps what was done and what was found.
type book struct {
	t     *testing.T
	mu    sync.Mutex
	count map[string]int
	peak  map[string]float64
	// found are violations by kind; the first ones of each are told.
	found  map[string]int
	writes []timed
	alone  time.Duration // of 90 in 100 writes before the attack
}

func newBook(t *testing.T) *book {
	return &book{t: t, count: map[string]int{}, peak: map[string]float64{}, found: map[string]int{}}
}

// toldOf is how many violations of one kind are told.
const toldOf = 20

// violation notes that a promise was broken, and by what.
func (b *book) violation(kind, format string, args ...any) {
	b.t.Helper()
	b.mu.Lock()
	b.found[kind]++
	n := b.found[kind]
	b.mu.Unlock()
	if n <= toldOf {
		b.t.Errorf("%s %s (load %s): %s", time.Now().UTC().Format(time.TimeOnly), kind, load(), fmt.Sprintf(format, args...))
	}
}

// tally counts one of a kind.
func (b *book) tally(kind string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count[kind]++
}

// high notes a value of which the highest counts.
func (b *book) high(kind string, v float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.peak[kind] = max(b.peak[kind], v)
}

// wrote notes how long a write took.
func (b *book) wrote(w timed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes = append(b.writes, w)
}

// load is the load of the machine: beside a time it says whether the service was slow or the machine.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // only said beside what is found
	return strings.Join(strings.Fields(string(text))[:min(3, len(strings.Fields(string(text))))], " ")
}

// soFar prints the totals in one line, for who waits.
func (b *book) soFar() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.t.Logf("%s so far (load %s): %v; at most %v; %d honest writes judged; found %v", time.Now().UTC().Format(time.TimeOnly), load(), b.count, b.peak, len(b.writes), b.found)
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
