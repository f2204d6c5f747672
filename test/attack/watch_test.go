package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// watch observes the managers from outside: their logs and their resource usage.
type watch struct {
	w     *world
	mu    sync.Mutex
	plans map[string]string // the newest plan of each fabric
	// left are the plans of canceled rollouts since all devices of a fabric were last known to hold the same state.
	left map[string][]string
	read map[*manager]int64
	stop context.CancelFunc
	done chan struct{}
	// first is a manager's usage when it was idle for the first time, by its name and number of starts.
	first map[string]usage
}

// usage is a manager's resource usage.
type usage struct{ goroutines, files, resident, heap float64 }

// lookEvery is the interval of observations, sayEvery that of lines with the totals.
const (
	lookEvery = 2 * time.Second
	sayEvery  = 5 * time.Minute
)

// Maximum usage of a manager at any time. A slow client costs a connection and its goroutine.
var most = usage{goroutines: 2500, files: 1500, resident: 1 << 30, heap: 700 << 20}

func newWatch(w *world) *watch {
	return &watch{w: w, plans: map[string]string{}, left: map[string][]string{}, read: map[*manager]int64{}, first: map[string]usage{}, done: make(chan struct{})}
}

func (v *watch) plan(fabric string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p := v.plans[fabric]; p != "" {
		return p
	}
	return strings.Repeat("f", 64)
}

func (v *watch) setPlan(fabric, name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plans[fabric] = name
}

// settled records that all devices of a fabric hold the same state.
func (v *watch) settled(fabric string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.left, fabric)
}

// canceled records plans of canceled rollouts, and returns all since the devices held the same state.
func (v *watch) canceled(fabric string, plans ...string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left[fabric] = append(v.left[fabric], plans...)
	return slices.Clone(v.left[fabric])
}

// begin records the usage of idle managers and observes them every lookEvery until end.
func (v *watch) begin() {
	for _, m := range v.w.managers {
		if u, ok := v.usage(m); ok {
			v.first[m.name] = u
		}
	}
	var ctx context.Context
	ctx, v.stop = context.WithCancel(v.w.ctx)
	go func() {
		defer close(v.done)
		for said := time.Now(); pause(ctx, lookEvery); {
			if time.Since(said) > sayEvery {
				said = time.Now()
				v.w.book.soFar()
			}
			for _, m := range v.w.managers {
				v.logs(m)
				if u, ok := v.usage(m); ok {
					v.bounds(m, u)
				}
			}
		}
	}()
}

func (v *watch) end() {
	v.stop()
	<-v.done
	for _, m := range v.w.managers {
		v.logs(m)
	}
}

var metric = regexp.MustCompile(`(?m)^(go_goroutines|process_open_fds|process_resident_memory_bytes|go_memstats_heap_inuse_bytes) ([0-9.e+]+)$`)

// usage reads the metrics of a manager.
func (v *watch) usage(m *manager) (u usage, ok bool) {
	if m.isDown() {
		return u, false
	}
	ctx, cancel := context.WithTimeout(v.w.ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.Operations+"/metrics", nil)
	if err != nil {
		return u, false
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		return u, false
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return u, false
	}
	into := map[string]*float64{"go_goroutines": &u.goroutines, "process_open_fds": &u.files, "process_resident_memory_bytes": &u.resident, "go_memstats_heap_inuse_bytes": &u.heap}
	for _, hit := range metric.FindAllStringSubmatch(string(text), -1) {
		*into[hit[1]], _ = strconv.ParseFloat(hit[2], 64)
	}
	return u, u.goroutines > 0
}

func (v *watch) bounds(m *manager, u usage) {
	b := v.w.book
	b.high("goroutines", u.goroutines)
	b.high("open files", u.files)
	b.high("MiB resident", u.resident/(1<<20))
	b.high("MiB of heap", u.heap/(1<<20))
	if u.goroutines > most.goroutines || u.files > most.files || u.resident > most.resident || u.heap > most.heap {
		b.violation("a manager uses too much", "%s: %+v, want %+v at most", m.name, u, most)
	}
}

// atRest checks that managers use about as much as at the start.
func (v *watch) atRest() {
	for _, m := range v.w.managers {
		was, known := v.first[m.name]
		if !known {
			continue
		}
		var is usage
		for end := time.Now().Add(45 * time.Second); ; pause(v.w.ctx, time.Second) {
			is, _ = v.usage(m)
			near := is.goroutines > 0 && is.goroutines <= was.goroutines+40 && is.files <= was.files+20 && is.heap <= was.heap+128<<20
			if near {
				v.w.t.Logf("%s at rest: %.0f goroutines, %.0f open files, heap %.0f MiB, resident %.0f MiB; at first %.0f, %.0f, %.0f, %.0f",
					m.name, is.goroutines, is.files, is.heap/(1<<20), is.resident/(1<<20), was.goroutines, was.files, was.heap/(1<<20), was.resident/(1<<20))
				break
			}
			if time.Now().After(end) {
				v.w.book.violation("something is left", "%s uses %+v, at first %+v", m.name, is, was)
				break
			}
		}
	}
}

var fatal = regexp.MustCompile(`panic|DATA RACE|fatal error|goroutine \d+ \[|runtime error|nil pointer`)

// logs reads what a manager has logged since the last observation.
func (v *watch) logs(m *manager) {
	f, err := os.Open(m.Log)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(v.read[m], io.SeekStart); err != nil {
		return
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return
	}
	end := bytes.LastIndexByte(text, '\n') + 1 // the last line may be incomplete
	v.read[m] += int64(end)
	for line := range strings.Lines(string(text[:end])) {
		v.line(m, strings.TrimSpace(line))
	}
}

func (v *watch) line(m *manager, line string) {
	b := v.w.book
	if fatal.MatchString(line) {
		b.violation("a fault in the log", "of %s: %.2000s", m.name, line)
	}
	v.w.mu.Lock()
	secrets := v.w.secrets
	v.w.mu.Unlock()
	for _, s := range secrets {
		if strings.Contains(line, s) {
			b.violation("a secret in the log", "of %s: %q in %.500s", m.name, s, line)
		}
	}
	var rec struct{ Level, Msg, Error string }
	if err := json.Unmarshal([]byte(line), &rec); err != nil {
		b.violation("a log that is none", "of %s: %.500s", m.name, line)
		return
	}
	if rec.Level == "ERROR" || rec.Level == "WARN" {
		b.tally(fmt.Sprintf("logged: %s %s", rec.Level, rec.Msg))
		if rec.Level == "ERROR" && !(v.explained(m) && storeError.MatchString(line)) {
			b.violation("an error in the log", "of %s: %.1000s", m.name, line)
		}
	}
}

// storeError matches errors that a freeze explains: meanwhile the database closed the manager's connections or
// transactions, or its leases expired.
var storeError = regexp.MustCompile(`database|connection|conn closed|transaction has already been|broken pipe|unexpected EOF|deadline exceeded|context canceled|timeout|fenced|lease`)

// explained reports whether a freeze or kill of a manager explains its latest errors.
func (v *watch) explained(m *manager) bool {
	return m.troubledSince(time.Now().Add(-graceOfManager - 2*lookEvery))
}
