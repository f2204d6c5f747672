package device

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// Policy says how a device that has drifted from the plan in force is handled.
type Policy string

// Policies.
const (
	PolicyReport Policy = "report" // drift is recorded and reported
	PolicyRepair Policy = "repair" // drift is repaired, unless the device is quarantined
	PolicyFreeze Policy = "freeze" // drift is reported, and neither a repair nor a rollout writes to the device
)

// Policies lists the policies.
func Policies() []Policy { return []Policy{PolicyReport, PolicyRepair, PolicyFreeze} }

// Reading is the result of reading a device outside of a rollout.
type Reading string

// Readings.
const (
	ReadingUnknown     Reading = "unknown"     // not read since its target changed, or a prerequisite is unknown
	ReadingInSync      Reading = "in-sync"     // equal to the plan in force
	ReadingDrifted     Reading = "drifted"     // different
	ReadingUnreachable Reading = "unreachable" // it did not answer
	ReadingUnsupported Reading = "unsupported" // it cannot be read: no such settings
)

// Readings lists the readings.
func Readings() []Reading {
	return []Reading{ReadingUnknown, ReadingInSync, ReadingDrifted, ReadingUnreachable, ReadingUnsupported}
}

// ReadingOf returns the reading of a device in an observed state.
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

// Rules configure the quarantine of devices that change repeatedly.
type Rules struct {
	Limit   int           // incidents within Window that quarantine a device; at least 1
	Window  time.Duration // how long an incident counts
	Release time.Duration // how long a quarantined device must have been in sync to be released
}

// Watch is the state of a device between readings. The zero value is a device without any reading. Methods return the
// next Watch and do not change this one.
//
//	           read as desired                read different: an incident
//	unknown ------------------> in-sync -----------------------------------> drifted
//	   ^                         |   ^                                         |  |
//	   |                         |   +--------- read as desired ---------------+  |
//	   | a rollout left it       v                                                v
//	   +------------------- unreachable <------------ does not answer ------------+
//
// A device that does not answer is no incident; when it answers again, it is compared with its last answered reading. A
// failed repair is an incident, too. Rules.Limit incidents within Rules.Window quarantine the device. The quarantine ends
// when an operator releases the device or it was in sync for Rules.Release.
type Watch struct {
	Reading     Reading     // the latest; "" is ReadingUnknown
	Seen        Reading     // the latest with an answer
	Incidents   []time.Time // that still count, oldest first
	Steady      time.Time   // since when every answer was in sync; zero when the last was not
	Quarantined time.Time   // since when; zero when it is not quarantined
	Reason      phrase.Text // reason of the quarantine
}

// Turn is a change of a device's watch that is reported.
type Turn string

// Turns.
const (
	TurnDrifted     Turn = "drifted"     // it has drifted
	TurnInSync      Turn = "in-sync"     // it is in sync again
	TurnLost        Turn = "lost"        // it no longer answers
	TurnFound       Turn = "found"       // it answers again
	TurnQuarantined Turn = "quarantined" // it changed too often: automatic repairs end
	TurnReleased    Turn = "released"    // it was in sync for long enough
)

// Read records a reading.
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

// RepairFailed records a repair that did not bring the device in sync.
func (w Watch) RepairFailed(now time.Time, rules Rules) (Watch, []Turn) {
	next := w.aged(now, rules)
	next.Steady = time.Time{}
	return next.incident(now, rules, nil)
}

// Release ends a quarantine and clears the incidents that led to it.
func (w Watch) Release() Watch {
	w.Quarantined, w.Reason, w.Incidents = time.Time{}, phrase.Text{}, nil
	return w
}

// NeedsRepair reports whether a policy requires a repair of the device.
func (w Watch) NeedsRepair(p Policy) bool {
	return p == PolicyRepair && w.Reading == ReadingDrifted && w.Quarantined.IsZero()
}

// aged drops the incidents that no longer count. When the clock was set back, incidents in the future count until it has
// caught up.
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
		w.Incidents = w.Incidents[n-limit:] // more incidents make no difference
	}
	if len(w.Incidents) >= limit && w.Quarantined.IsZero() {
		w.Quarantined = now
		w.Reason = phrase.Of("device.incidents", "n", len(w.Incidents), "window", rules.Window)
		turns = append(turns, TurnQuarantined)
	}
	return w, turns
}

// NextRead returns when a device is read next: an interval from now, up to a tenth earlier or later, so that devices read
// together once do not stay together. It depends on the arguments only.
func NextRead(id ident.PortID, now time.Time, interval time.Duration) time.Time {
	return NextTurn(id.String(), now, interval)
}

// NextTurn is NextRead for any named object.
func NextTurn(name string, now time.Time, interval time.Duration) time.Time {
	return now.Add(interval*9/10 + spread(name, now, interval/5))
}

// FirstRead returns when a device is read for the first time, somewhere within the interval from now.
func FirstRead(id ident.PortID, now time.Time, interval time.Duration) time.Time {
	return now.Add(spread(id.String(), now, interval))
}

// spread returns a time below span that looks random.
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
