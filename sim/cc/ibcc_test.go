package cc

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
)

const unit = ibcc.TimerUnitPicoseconds

func params(timer uint16, increase, least uint8, limit uint16, restart bool) IBParams {
	return NewIBParams(ibcc.SLParams{Timer: timer, Increase: increase, Min: least}, limit, unit, restart, 0)
}

func TestFreeRunningTimerKeepsItsPhase(t *testing.T) {
	t.Parallel()
	p := params(10, 4, 0, 127, false)
	var s IBState
	s.Adopt(0, &p)
	s.BECN(9*unit, &p) // one unit before the expiry at 10
	if got := s.Index(10*unit, &p); got != 3 {
		t.Errorf("index at the expiry %d, want 3: a BECN must not restart the timer", got)
	}
	if got := s.Index(35*unit, &p); got != 1 {
		t.Errorf("index after three expiries %d, want 1", got)
	}
	if got := s.Index(1000*unit, &p); got != 0 {
		t.Errorf("index after all expiries %d, want 0", got)
	}
	s.BECN(1009*unit, &p)
	if got := s.Index(1010*unit, &p); got != 3 {
		t.Errorf("index %d, want 3: the timer must keep its phase while the index is 0", got)
	}
}

func TestRestartingTimerCountsFromTheLastBECN(t *testing.T) {
	t.Parallel()
	p := params(10, 4, 0, 127, true)
	var s IBState
	s.Adopt(0, &p)
	s.BECN(9*unit, &p)
	if got := s.Index(18*unit, &p); got != 4 {
		t.Errorf("index 9 units after the BECN %d, want 4", got)
	}
	if got := s.Index(19*unit, &p); got != 3 {
		t.Errorf("index 10 units after the BECN %d, want 3", got)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	p := params(1, 200, 5, 127, false)
	var s IBState
	s.Adopt(0, &p)
	if got := s.Index(0, &p); got != 5 {
		t.Errorf("index before any BECN %d, want CCTI_Min 5", got)
	}
	s.BECN(0, &p)
	s.BECN(0, &p)
	if got := s.Index(0, &p); got != 127 {
		t.Errorf("index %d, want CCTI_Limit 127", got)
	}
	if got := s.Index(10_000*unit, &p); got != 5 {
		t.Errorf("index after all expiries %d, want CCTI_Min 5", got)
	}
	off := params(1, 0, 0, 127, false)
	var still IBState
	still.Adopt(0, &off)
	still.BECN(0, &off)
	if got := still.Index(0, &off); got != 0 {
		t.Errorf("index with Increase 0 %d, want 0", got)
	}
	never := params(0, 7, 0, 127, false)
	var stuck IBState
	stuck.Adopt(0, &never)
	stuck.BECN(0, &never)
	if got := stuck.Index(math.MaxInt64/2, &never); got != 7 {
		t.Errorf("index with CCTI_Timer 0 %d, want 7 at all times", got)
	}
	small := params(1, 1, 9, 3, false)
	if got := stuck.Index(0, &small); got != 3 {
		t.Errorf("index with CCTI_Min above CCTI_Limit %d, want the limit 3", got)
	}
}

func TestTriggerReportsOnlyTheCrossing(t *testing.T) {
	t.Parallel()
	p := NewIBParams(ibcc.SLParams{Timer: 1, Increase: 2, Trigger: 3}, 127, unit, false, 0)
	var s IBState
	s.Adopt(0, &p)
	var got []bool
	for range 3 {
		got = append(got, s.BECN(0, &p))
	}
	if got[0] || !got[1] || got[2] {
		t.Errorf("triggered %v, want only when the index went from 2 to 4", got)
	}
}

// eager is a reference model of IBState with one step per timer expiry.
type eager struct {
	index int
	next  quantity.Picoseconds
}

func (e *eager) until(now quantity.Picoseconds, p *IBParams) {
	for p.Period > 0 && e.next <= now {
		e.index--
		e.next += p.Period
		e.clamp(p)
	}
	e.clamp(p)
}

func (e *eager) clamp(p *IBParams) {
	e.index = max(min(e.index, int(p.Limit)), min(int(p.Min), int(p.Limit)))
}

func TestLazyDecayEqualsEagerDecay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := NewIBParams(ibcc.SLParams{
			Timer:    rapid.Uint16Range(0, 40).Draw(t, "timer"),
			Increase: rapid.Uint8Range(0, 9).Draw(t, "increase"),
			Min:      rapid.Uint8Range(0, 20).Draw(t, "min"),
		}, rapid.Uint16Range(0, 60).Draw(t, "limit"), unit, rapid.Bool().Draw(t, "restart"), rapid.Uint64().Draw(t, "phase"))
		var s IBState
		s.Adopt(0, &p)
		e := eager{next: p.nextTick(0)}
		now := quantity.Picoseconds(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += quantity.Picoseconds(rapid.IntRange(0, 50*unit).Draw(t, "dt"))
			e.until(now, &p)
			if rapid.Bool().Draw(t, "becn") {
				s.BECN(now, &p)
				if p.Increase > 0 {
					e.index += int(p.Increase)
					if p.Restart {
						e.next = now + p.Period
					}
				}
				e.clamp(&p)
			}
			if got := s.Index(now, &p); int(got) != e.index {
				t.Fatalf("index at %v: %d, want %d", now, got, e.index)
			}
		}
	})
}

// ReadyAt must return the first instant at which the delay for the CCTI of that instant has passed.
func TestReadyAtIsTheFirstInstantThatSatisfiesTheTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := make([]ibcc.Entry, 20)
		for i := range table {
			table[i] = ibcc.Entry{Shift: 3, Multiplier: uint16(i * rapid.IntRange(1, 9).Draw(t, "slope"))}
			if i > 0 {
				table[i].Multiplier = max(table[i].Multiplier, table[i-1].Multiplier)
			}
		}
		d := NewIRD(table, 19)
		p := params(rapid.Uint16Range(0, 3).Draw(t, "timer"), 1, rapid.Uint8Range(0, 3).Draw(t, "min"), 19, false)
		var s IBState
		s.Adopt(0, &p)
		for range rapid.IntRange(0, 19).Draw(t, "becns") {
			s.BECN(0, &p)
		}
		const burst = 800_000 // 0.8 us
		now := quantity.Picoseconds(rapid.IntRange(0, 2*unit).Draw(t, "now"))
		got := s.ReadyAt(now, &p, d, burst, burst)
		met := func(at quantity.Picoseconds) bool {
			probe := s
			return at >= burst+d.Delay(probe.Index(at, &p), burst)
		}
		if got < burst || got >= now && !met(got) {
			t.Fatalf("ready at %v, but the delay has not passed at that time", got)
		}
		for at := max(now, burst); at < got; at += 100_000 { // every delay and every period is a multiple of 100,000 ps
			if met(at) {
				t.Fatalf("ready at %v, but the delay has passed at %v", got, at)
			}
		}
	})
}

func TestDelayFollowsTheEntry(t *testing.T) {
	t.Parallel()
	d := NewIRD([]ibcc.Entry{{}, {Shift: 3, Multiplier: 1}, {Shift: 0, Multiplier: 9}, {Shift: 0, Multiplier: ibcc.MaxMultiplier}}, 5)
	const packet = 329_760 // 4122 bytes at 100 Gbit/s
	for i, want := range []quantity.Picoseconds{0, packet / 8, 9 * packet, ibcc.MaxMultiplier * packet, 0, 0, 0} {
		if got := d.Delay(uint16(i), packet); got != want {
			t.Errorf("entry %d: delay %v, want %v", i, got, want)
		}
	}
}
