package attack

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"syscall"
	"time"
)

// freeze stops one of the managers repeatedly for a while, and sometimes kills it.
func (a *attack) freeze(r *rand.Rand) {
	for a.pause(time.Duration(2000+r.IntN(9000)) * time.Millisecond) {
		m := pick(r, a.managers...)
		if r.IntN(6) == 0 {
			a.kill(m, time.Duration(r.IntN(3000))*time.Millisecond)
			continue
		}
		m.set(true)
		if err := m.Signal(syscall.SIGSTOP); err != nil {
			a.book.violation("a manager is gone", "%s: %v", m.name, err)
		}
		long := time.Duration(1000+r.IntN(7000)) * time.Millisecond
		if r.IntN(5) == 0 {
			long = longestWrite + 5*time.Second // long enough to delay a write that waits for it
		}
		a.pause(long)
		if err := m.Signal(syscall.SIGCONT); err != nil {
			a.book.violation("a manager is gone", "%s: %v", m.name, err)
		}
		m.set(false)
		a.book.tally("freezes")
	}
}

// kill ends a manager, starts it again later, and waits until it is ready.
func (a *attack) kill(m *manager, after time.Duration) {
	m.set(true)
	m.Kill()
	a.book.tally("kills")
	a.pause(after)
	m.Start()
	m.mu.Lock()
	m.born++
	m.mu.Unlock()
	begun := time.Now()
	for c := newCaller("start", "", "127.0.0.1"); a.exchange(a.world.ctx, c, m, request{method: "GET", path: "/ready"}).status != http.StatusOK; {
		if time.Since(begun) > time.Minute {
			a.book.violation("a manager does not start", "%s in %v", m.name, time.Since(begun))
			break
		}
		pause(a.world.ctx, 100*time.Millisecond)
	}
	m.set(false)
}

// freed is the time after which everything that a frozen manager held is released; longestWrite is the maximum duration
// of a legitimate write.
const (
	freed        = 5 * time.Second
	longestWrite = freed + 5*time.Second
)

// smallWrite returns the i-th legitimate write.
func smallWrite(i int) request {
	q := jsonRequest("PUT", "/fabrics/books", object{"source": "file:./star.yaml", "time_scale": 0.001 + float64(i%100)/1000})
	q.header.Set("If-Match", "*")
	return q
}

// alone measures the duration of writes before the attack.
func (w *world) alone() {
	var list []time.Duration
	for i := range 20 {
		list = append(list, w.send(w.ctx, w.operator, w.serving(), smallWrite(i)).took)
	}
	slices.Sort(list)
	w.book.alone = list[len(list)*90/100]
}

// write makes legitimate small writes throughout, at managers that are not down, and records their durations.
func (a *attack) write(*rand.Rand) {
	for i := 0; a.pause(150 * time.Millisecond); i++ {
		m := a.serving()
		machine := a.send(a.ctx, a.nobody, m, request{method: "GET", path: "/health"}).took
		q := smallWrite(i)
		got := a.send(a.ctx, a.operator, m, q)
		if a.ctx.Err() != nil {
			return
		}
		a.book.tally("honest writes")
		if m.troubledSince(got.begun) { // it was frozen or killed meanwhile
			continue
		}
		a.book.high("ms of an honest write", float64(got.took.Milliseconds()))
		calm := !slices.ContainsFunc(a.managers, func(m *manager) bool { return m.troubledWithin(got.begun, freed) })
		if calm {
			a.book.wrote(timed{got.begun, got.took, machine, load()})
			if got.err == nil && got.status != http.StatusOK {
				a.book.violation("an honest write is refused", "%s at %s: %s", q, m.name, got)
			}
		}
		if got.took > longestWrite {
			a.book.violation("an honest write waits", "%s at %s: %s", q, m.name, got)
		}
	}
}

// troubledWithin reports whether at t the manager had been down for less than d, or had come up again within that time.
func (m *manager) troubledWithin(t time.Time, d time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return t.Sub(m.trouble) < d // trouble is when it went down
	}
	return m.trouble.After(t.Add(-d))
}

// turnsOfAWrite is the number of process switches of a write: manager, database and back, for a few statements.
const turnsOfAWrite = 5

// judgeWrites checks the durations of legitimate writes after the locks of a frozen manager were released.
func (b *book) judgeWrites() {
	b.mu.Lock()
	list := slices.Clone(b.writes)
	b.mu.Unlock()
	if len(list) < 10 {
		b.violation("too few writes", "%d: the attack proves less than it should", len(list))
		return
	}
	var machine []time.Duration
	for _, w := range list {
		machine = append(machine, w.machine)
	}
	slices.Sort(machine)
	slices.SortFunc(list, func(x, y timed) int { return int(x.took - y.took) })
	at := func(k int) time.Duration { return list[min(len(list)-1, len(list)*k/100)].took.Round(time.Millisecond) }
	b.t.Logf("before the attack 90 of 100 honest writes take up to %v; %d from %v after a freeze or kill: p50 %v, p90 %v, p99 %v, at most %v", b.alone.Round(time.Millisecond), len(list), freed, at(50), at(90), at(99), at(100))
	most := 99 // per cent
	if len(list) < 200 {
		most = 90
	}
	// The durations of writes before the attack, and of answers that need only the processor during it, show the
	// machine's part of the time: a write takes several such switches.
	limit := max(time.Second, 2*b.alone) + turnsOfAWrite*machine[len(machine)*most/100]
	var slow string
	for _, w := range list[max(0, len(list)-10):] {
		slow += fmt.Sprintf("\n\t%s %v, health just before %v, load %s", w.begun.UTC().Format(time.TimeOnly), w.took.Round(time.Millisecond), w.machine.Round(time.Millisecond), w.load)
	}
	if at(most) > limit {
		b.violation("honest writes are slow", "%d of 100 take up to %v, want %v at most; the slowest:%s", most, at(most), limit, slow)
	} else {
		b.t.Logf("the slowest writes:%s", slow)
	}
}
