package device_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlane/service/device"
	"fairlane/subnet/ident"
)

var watchRules = device.Rules{Limit: 3, Window: time.Hour, Release: 10 * time.Minute}

func watchStart() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// story reads a device once a minute: i in sync, d drifted, u unreachable, s unsupported, ? unknown, ! a failed repair.
func story(script string, step time.Duration) (w device.Watch, turns []string) {
	now := watchStart()
	for _, c := range script {
		var ts []device.Turn
		switch c {
		case '!':
			w, ts = w.RepairFailed(now, watchRules)
		default:
			r := map[rune]device.Reading{'i': device.ReadingInSync, 'd': device.ReadingDrifted, 'u': device.ReadingUnreachable,
				's': device.ReadingUnsupported, '?': device.ReadingUnknown}[c]
			w, ts = w.Read(r, now, watchRules)
		}
		for _, t := range ts {
			turns = append(turns, string(t))
		}
		now = now.Add(step)
	}
	return w, turns
}

func TestWatchReportsTurns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		script string
		step   time.Duration
		turns  []string
		state  string // at the end
	}{
		{"iii", time.Minute, nil, "in-sync"},
		{"id", time.Minute, []string{"drifted"}, "drifted 1"},
		{"iddd", time.Minute, []string{"drifted"}, "drifted 1"},
		{"idi", time.Minute, []string{"drifted", "in-sync"}, "in-sync 1"},
		{"?d", time.Minute, []string{"drifted"}, "drifted"}, // it was never in sync: no change
		{"iui", time.Minute, []string{"lost", "found"}, "in-sync"},
		{"iuud", time.Minute, []string{"lost", "found", "drifted"}, "drifted 1"},
		{"idud", time.Minute, []string{"drifted", "lost", "found"}, "drifted 1"}, // the same difference as before
		{"uuu", time.Minute, []string{"lost"}, "unreachable"},
		{"ididid", time.Minute, []string{"drifted", "in-sync", "drifted", "in-sync", "drifted", "quarantined"}, "drifted 3 quarantined"},
		{"ididid", 30 * time.Minute, []string{"drifted", "in-sync", "drifted", "in-sync", "drifted"}, "drifted 1"}, // too rare to count
		{"id!!", time.Minute, []string{"drifted", "quarantined"}, "drifted 3 quarantined"},
		{"id!!!!", time.Minute, []string{"drifted", "quarantined"}, "drifted 3 quarantined"},
		{"id!!i", time.Minute, []string{"drifted", "quarantined", "in-sync"}, "in-sync 3 quarantined"},
		{"id!!iiiiiiiiiii", time.Minute, []string{"drifted", "quarantined", "in-sync", "released"}, "in-sync"},
		{"id!!iiiiiiidiiiii", time.Minute, []string{"drifted", "quarantined", "in-sync", "drifted", "in-sync"}, "in-sync 3 quarantined"},
		{"id!!iiiiiuiiiiii", time.Minute, []string{"drifted", "quarantined", "in-sync", "lost", "found", "released"}, "in-sync"},
		{"is", time.Minute, nil, "unsupported"},
	} {
		w, turns := story(tc.script, tc.step)
		got := string(w.Reading)
		if n := len(w.Incidents); n > 0 {
			got += fmt.Sprintf(" %d", n)
		}
		if !w.Quarantined.IsZero() {
			got += " quarantined"
		}
		if !slices.Equal(turns, tc.turns) || got != tc.state {
			t.Errorf("%s every %s: %v, at the end %s; want %v, %s", tc.script, tc.step, turns, got, tc.turns, tc.state)
		}
	}
}

func TestOnlyThePolicyRepairCausesRepairs(t *testing.T) {
	t.Parallel()
	for _, p := range append(device.Policies(), "") {
		for _, r := range device.Readings() {
			for _, quarantined := range []bool{false, true} {
				w := device.Watch{Reading: r}
				if quarantined {
					w.Quarantined = watchStart()
				}
				want := p == device.PolicyRepair && r == device.ReadingDrifted && !quarantined
				if w.NeedsRepair(p) != want {
					t.Errorf("policy %q, %s, quarantined %v: wants repair %v", p, r, quarantined, !want)
				}
			}
		}
	}
}

// For any readings at any times, with a clock that may be set back: a quarantine begins only with enough incidents, ends
// only with a release, and the stored state stays bounded.
func TestInvariantsOfAWatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w device.Watch
		now := watchStart()
		for range rapid.IntRange(1, 200).Draw(t, "readings") {
			now = now.Add(time.Duration(rapid.IntRange(-600, 1800).Draw(t, "seconds")) * time.Second)
			was := w
			var turns []device.Turn
			if rapid.IntRange(0, 5).Draw(t, "repair") == 0 {
				w, turns = w.RepairFailed(now, watchRules)
			} else {
				w, turns = w.Read(rapid.SampledFrom(device.Readings()).Draw(t, "reading"), now, watchRules)
			}
			if n := len(w.Incidents); n > watchRules.Limit {
				t.Fatalf("%d incidents are remembered", n)
			}
			for _, at := range w.Incidents {
				if now.Sub(at) >= watchRules.Window {
					t.Fatalf("an incident of %s ago counts", now.Sub(at))
				}
			}
			began := was.Quarantined.IsZero() && !w.Quarantined.IsZero()
			ended := !was.Quarantined.IsZero() && w.Quarantined.IsZero()
			if began != slices.Contains(turns, device.TurnQuarantined) || ended != slices.Contains(turns, device.TurnReleased) {
				t.Fatalf("from %+v to %+v with %v", was, w, turns)
			}
			if began && len(w.Incidents) < watchRules.Limit {
				t.Fatalf("quarantined after %d incidents", len(w.Incidents))
			}
			if ended && (w.Reading != device.ReadingInSync || now.Sub(w.Steady) < watchRules.Release || len(w.Incidents) > 0) {
				t.Fatalf("released as %+v at %s", w, now)
			}
			if w.Steady.After(now) || !w.Steady.IsZero() && w.Seen != device.ReadingInSync {
				t.Fatalf("steady since %s at %s while %s", w.Steady, now, w.Seen)
			}
		}
	})
}

func TestReadingsOfManyDevicesAreSpread(t *testing.T) {
	t.Parallel()
	const n, parts, interval = 10000, 10, 5 * time.Minute
	now := watchStart()
	var first, next [parts]int
	for i := range n {
		id := ident.PortID{Node: ident.GUID(0x2c90300000000 + 4*i), Port: 1}
		a, b := device.FirstRead(id, now, interval).Sub(now), device.NextRead(id, now, interval).Sub(now)
		if a < 0 || a >= interval || b < interval*9/10 || b > interval*11/10 {
			t.Fatalf("device %s is read after %s, then after %s", id, a, b)
		}
		first[a*parts/interval]++
		next[min(int((b-interval*9/10)*parts/(interval/5)), parts-1)]++
	}
	for i := range parts {
		if first[i] < n/parts*8/10 || next[i] < n/parts*8/10 {
			t.Errorf("tenth %d has %d and %d of %d readings", i, first[i], next[i], n)
		}
	}
	if device.NextRead(ident.PortID{Node: 1}, now, 0) != now {
		t.Error("an interval of 0 waits")
	}
}
