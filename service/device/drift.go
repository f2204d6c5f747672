package device

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"fairlane/subnet/ident"
)

// Policy says what is done about a device that is not as the plan in force wants it.
type Policy string

// Policies.
const (
	PolicyReport Policy = "report" // it is recorded and told
	PolicyRepair Policy = "repair" // it is brought back, unless it is quarantined
	PolicyFreeze Policy = "freeze" // it is told, and nobody writes to the device: neither a repair nor a rollout
)

// Policies lists the policies.
func Policies() []Policy { return []Policy{PolicyReport, PolicyRepair, PolicyFreeze} }

// Reading is what a device was found to be when it was read outside of a rollout.
type Reading string

// Readings.
const (
	ReadingUnknown     Reading = "unknown"     // not read since its target changed, or a prerequisite beside its settings is not known
	ReadingInSync      Reading = "in-sync"     // as the plan in force wants it
	ReadingDrifted     Reading = "drifted"     // different
	ReadingUnreachable Reading = "unreachable" // it did not answer
	ReadingUnsupported Reading = "unsupported" // it cannot be read: no such settings
)

// Readings lists the readings.
func Readings() []Reading {
	return []Reading{ReadingUnknown, ReadingInSync, ReadingDrifted, ReadingUnreachable, ReadingUnsupported}
}

// ReadingOf is what an observation's state says of its device.
func ReadingOf(s State) Reading {
	switch s {
	case InSync:
		return ReadingInSync
	case Drifted:
		return ReadingDrifted
	case Unsupported:
		return ReadingUnsupported
	case Failed:
		return ReadingUnreachable
	}
	return ReadingUnknown
}

// Rules say when a device is left alone for changing again and again.
type Rules struct {
	Limit   int           // incidents within Window that quarantine a device; at least 1
	Window  time.Duration // how long an incident counts
	Release time.Duration // how long a quarantined device must have been as wanted to be released
}

// Watch is what is remembered of a device from one reading to the next. The zero value is a device of which nothing is
// known. Methods return the next Watch and leave this one as it is.
//
//	           read as wanted                 read different: an incident
//	unknown ------------------> in-sync -----------------------------------> drifted
//	   ^                         |   ^                                         |  |
//	   |                         |   +--------- read as wanted ----------------+  |
//	   | a rollout left it       v                                                v
//	   +------------------- unreachable <------------ does not answer ------------+
//
// A device that does not answer is no incident; when it answers again, it is compared with what it was when it last
// did. A repair that failed is one, too. Rules.Limit incidents within Rules.Window quarantine the device, which ends
// when somebody releases it or it was as wanted for Rules.Release.
type Watch struct {
	Reading     Reading     // the latest; "" is ReadingUnknown
	Seen        Reading     // the latest with an answer
	Incidents   []time.Time // that still count, oldest first
	Steady      time.Time   // since when it was as wanted at every answer; zero when it is not
	Quarantined time.Time   // since when; zero when it is not
	Reason      string      // why it is quarantined, for people
}

// Turn is something that changed about a device, worth telling people.
type Turn string

// Turns.
const (
	TurnDrifted     Turn = "drifted"     // it is different now
	TurnInSync      Turn = "in-sync"     // it is as wanted again
	TurnLost        Turn = "lost"        // it does not answer any more
	TurnFound       Turn = "found"       // it answers again
	TurnQuarantined Turn = "quarantined" // it changed too often: automatic repairs end
	TurnReleased    Turn = "released"    // it was as wanted for long enough
)

// Read notes a reading.
func (w Watch) Read(r Reading, now time.Time, rules Rules) (next Watch, turns []Turn) {
	next = w.aged(now, rules)
	was := w.Reading
	next.Reading = r
	if r == ReadingUnreachable {
		if was != ReadingUnreachable {
			turns = append(turns, TurnLost)
		}
		return next, turns
	}
	if was == ReadingUnreachable && r != ReadingUnknown {
		turns = append(turns, TurnFound)
	}
	next.Seen = r
	if r != ReadingInSync {
		next.Steady = time.Time{}
	}
	switch {
	case r == ReadingDrifted && w.Seen != ReadingDrifted:
		turns = append(turns, TurnDrifted)
		if w.Seen == ReadingInSync {
			next, turns = next.incident(now, rules, turns)
		}
	case r == ReadingInSync:
		if w.Seen == ReadingDrifted {
			turns = append(turns, TurnInSync)
		}
		if next.Steady.IsZero() {
			next.Steady = now
		}
		if !next.Quarantined.IsZero() && now.Sub(next.Steady) >= rules.Release {
			next = next.Release()
			turns = append(turns, TurnReleased)
		}
	}
	return next, turns
}

// RepairFailed notes a repair after which the device was not as wanted.
func (w Watch) RepairFailed(now time.Time, rules Rules) (Watch, []Turn) {
	next := w.aged(now, rules)
	next.Steady = time.Time{}
	return next.incident(now, rules, nil)
}

// Release ends a quarantine and forgets the incidents that led to it.
func (w Watch) Release() Watch {
	w.Quarantined, w.Reason, w.Incidents = time.Time{}, "", nil
	return w
}

// WantsRepair reports whether the device is to be brought back under a policy.
func (w Watch) WantsRepair(p Policy) bool {
	return p == PolicyRepair && w.Reading == ReadingDrifted && w.Quarantined.IsZero()
}

// aged drops the incidents that no longer count. Those of a clock that was set back count until it has caught up.
func (w Watch) aged(now time.Time, rules Rules) Watch {
	w.Incidents = slices.DeleteFunc(slices.Clone(w.Incidents), func(at time.Time) bool { return now.Sub(at) >= rules.Window })
	if w.Steady.After(now) { // the clock was set back
		w.Steady = now
	}
	return w
}

func (w Watch) incident(now time.Time, rules Rules, turns []Turn) (Watch, []Turn) {
	w.Incidents = append(slices.Clone(w.Incidents), now)
	limit := max(rules.Limit, 1)
	if n := len(w.Incidents); n > limit {
		w.Incidents = w.Incidents[n-limit:] // more than these decide nothing
	}
	if len(w.Incidents) >= limit && w.Quarantined.IsZero() {
		w.Quarantined = now
		w.Reason = fmt.Sprintf("changed or could not be repaired %d times within %s", len(w.Incidents), rules.Window)
		turns = append(turns, TurnQuarantined)
	}
	return w, turns
}

// NextLook is when a device is read next: an interval from now, up to a tenth earlier or later, so that devices that
// were once read together do not stay together. It depends on the arguments only.
func NextLook(id ident.PortID, now time.Time, interval time.Duration) time.Time {
	return NextTurn(id.String(), now, interval)
}

// NextTurn is NextLook for whatever has a name.
func NextTurn(name string, now time.Time, interval time.Duration) time.Time {
	return now.Add(interval*9/10 + spread(name, now, interval/5))
}

// FirstLook is when a device is read for the first time, somewhere within the interval from now.
func FirstLook(id ident.PortID, now time.Time, interval time.Duration) time.Time {
	return now.Add(spread(id.String(), now, interval))
}

// spread is a time below span that looks random.
func spread(name string, now time.Time, span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d", name, now.UnixMicro()) // a hash takes everything
	x := h.Sum64()
	x ^= x >> 33 // FNV's low bits follow the last byte alone
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return time.Duration(x % uint64(span))
}
