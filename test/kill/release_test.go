package kill

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fairlane/service/store/pgtest"
	"fairlane/sim/simdev"
)

// releaseTries is the maximum number of runs of a release.
const releaseTries = 20

// release starts the release of the fabric and returns its number.
func (l *lab) release(key, to string) int64 {
	l.t.Helper()
	var ro rollout
	err := l.call("POST", "/fabrics/lab/release", key, object{"to": to, "options": object{"shard": 64}}, &ro)
	if errors.Is(err, errLost) { // it is the newest rollout, since no other is started meanwhile
		var list struct{ Items []rollout }
		l.must("GET", "/fabrics/lab/rollouts?limit=1", "", nil, &list)
		return list.Items[0].ID
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return ro.ID
}

// releases rolls a plan out on the fabric and releases it again, to the baseline and to factory settings, while
// managers are killed. A release that does not restore everything is run again, and must succeed eventually.
func (l *lab) releases() {
	off := l.dev.read()
	for i, to := range []string{"baseline", "factory"} {
		if ro := l.final(l.roll(l.plans[i], i)); ro.State != "succeeded" {
			l.t.Fatalf("in peace the rollout ends as %+v", ro)
		}
		l.dev.sim.SetFaults(simdev.Faults{Seed: *seed, DropRequest: 0.002, DropReply: 0.002, DelayReply: 0.002, Delay: 700 * time.Millisecond})
		left := max(*kills/2, 1)
		var ro rollout
		for try := 0; ro.State != "succeeded"; try++ {
			if try == releaseTries {
				l.t.Fatalf("run %d times, the release to %s ends as %+v", try, to, ro)
			}
			if left == 0 {
				l.dev.sim.SetFaults(simdev.Faults{})
			}
			id := l.release(fmt.Sprintf("o%d-%d", i, try), to)
			for ro = l.at(id); left > 0 && ro.State == "running"; left-- {
				time.Sleep(time.Duration(l.rng.IntN(600)) * time.Millisecond)
				if l.rng.IntN(3) == 0 {
					l.restartDevices(1)
				}
				l.killManager()
				ro = l.at(id)
			}
			ro = l.final(id)
			l.tally("releases ended as " + ro.State)
			l.t.Logf("release %d to %s ended as %s: %.200s", ro.ID, to, ro.State, ro.Result)
			var f struct{ Management string }
			l.must("GET", "/fabrics/lab", "", nil, &f)
			if want := map[bool]string{true: "released", false: "releasing"}[ro.State == "succeeded"]; f.Management != want {
				l.t.Fatalf("after a release that ended as %s the fabric is %s", ro.State, f.Management)
			}
		}
		l.dev.sim.SetFaults(simdev.Faults{})
		wrong := 0
		for name, is := range l.dev.read() {
			if is != off[name] {
				wrong++
			}
		}
		if wrong > 0 {
			l.t.Errorf("released to %s, %d devices do not hold what they did before the first rollout", to, wrong)
		}
		l.must("POST", "/fabrics/lab/manage", fmt.Sprintf("m%d", i), nil, nil)
	}
	l.t.Logf("%v", l.count)
	var report struct{ OK bool }
	if l.must("GET", "/audit/verify", "", nil, &report); !report.OK {
		l.t.Errorf("the audit chain is broken: %+v", report)
	}
}

// at returns the current state of a rollout.
func (l *lab) at(id int64) (ro rollout) {
	l.t.Helper()
	l.must("GET", fmt.Sprintf("/fabrics/lab/rollouts/%d", id), "", nil, &ro)
	return ro
}

func TestManagersKilledDuringAReleaseOnPostgreSQL(t *testing.T) {
	url := pgtest.Database(t)
	newLab(t, url, url).releases()
}

func TestAManagerKilledDuringAReleaseOnSQLite(t *testing.T) {
	newLab(t, filepath.Join(t.TempDir(), "fairlane.db")).releases()
}
