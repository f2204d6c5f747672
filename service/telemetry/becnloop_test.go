package telemetry_test

import (
	"strings"
	"testing"

	"fairlane/service/telemetry"
)

func TestCongestionControlOfInfiniBandIsJudgedByBECNs(t *testing.T) {
	t.Parallel()
	use := func(u float64) []telemetry.LinkUse { return []telemetry.LinkUse{{Name: "leaf1/P3", Utilisation: &u}} }
	port := func(adapter bool, wait, becn uint64) telemetry.PortCongestion {
		p := telemetry.PortCongestion{Adapter: adapter, Wait: wait}
		p.BECN[3] = becn
		return p
	}
	mute := port(true, 9, 0)
	mute.NoBECN = true
	broken := port(true, 9, 7)
	broken.Err = telemetry.ErrUnread
	for name, c := range map[string]struct {
		ports  []telemetry.PortCongestion
		logs   [2]uint64 // of switches and of adapters
		links  []telemetry.LinkUse
		state  telemetry.LoopState
		stage  telemetry.LoopStage
		phrase string
	}{
		"BECNs arrive":                {[]telemetry.PortCongestion{port(true, 0, 5), port(false, 9, 0)}, [2]uint64{4, 0}, use(0.97), telemetry.LoopActing, "", "whether rates moved was not measured"},
		"only logs of adapters tell":  {[]telemetry.PortCongestion{mute}, [2]uint64{0, 2}, use(0.97), telemetry.LoopActing, "", "2 events"},
		"full, waiting, no mark":      {[]telemetry.PortCongestion{port(true, 9, 0), port(false, 0, 0)}, [2]uint64{}, use(0.99), telemetry.LoopDead, telemetry.StageMarks, "none is marked at leaf1/P3"},
		"marked, and no BECN":         {[]telemetry.PortCongestion{port(true, 9, 0)}, [2]uint64{8, 0}, use(0.99), telemetry.LoopDead, telemetry.StageNotifications, "no adapter receives a BECN at leaf1/P3"},
		"nothing waits":               {[]telemetry.PortCongestion{port(true, 0, 0)}, [2]uint64{}, use(0.99), telemetry.LoopNotTested, "", "no contended link was measured full"},
		"little is sent":              {[]telemetry.PortCongestion{port(true, 9, 0)}, [2]uint64{}, use(0.3), telemetry.LoopNotTested, "", "no contended link was measured full"},
		"the use was not measured":    {[]telemetry.PortCongestion{port(true, 9, 0)}, [2]uint64{}, []telemetry.LinkUse{{Name: "leaf1/P3"}}, telemetry.LoopNotTested, "", "no contended link was measured full"},
		"adapters do not count BECNs": {[]telemetry.PortCongestion{mute}, [2]uint64{8, 0}, use(0.99), telemetry.LoopNotTested, "", "no adapter reports"},
		"a port could not be read":    {[]telemetry.PortCongestion{broken}, [2]uint64{}, use(0.99), telemetry.LoopNotTested, "", "no adapter reports"},
	} {
		got := telemetry.JudgeBECN(&telemetry.Congestion{Ports: c.ports, Switch: c.logs[0], Adapter: c.logs[1]}, c.links)
		if got.State != c.state || got.Stage != c.stage || !strings.Contains(got.Text.String(), c.phrase) || (got.State == telemetry.LoopDead) != (len(got.Where) == 1) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// An incomplete count is a lower bound, and an empty one is no number.
func TestIncompleteCountsAreMarked(t *testing.T) {
	t.Parallel()
	full := 0.99
	links := []telemetry.LinkUse{{Name: "leaf1/P3", Utilisation: &full}}
	heard, unread := telemetry.PortCongestion{Adapter: true, Wait: 9}, telemetry.PortCongestion{Adapter: true, Err: telemetry.ErrUnread}
	heard.BECN[3] = 40
	for name, tc := range map[string]struct {
		c     telemetry.Congestion
		want  string
		stage telemetry.LoopStage
	}{
		"a log at its end": {telemetry.Congestion{Ports: []telemetry.PortCongestion{heard}, Switch: 15, SwitchLogs: telemetry.LogCoverage{Counted: 1, Lacking: 1}},
			"at least 15 packets in the logs of switches, 40 BECNs received, 0 events in the logs of adapters", ""},
		"no log and a port unread": {telemetry.Congestion{Ports: []telemetry.PortCongestion{heard, unread},
			SwitchLogs: telemetry.LogCoverage{Lacking: 1}, AdapterLogs: telemetry.LogCoverage{Lacking: 2}},
			"packets in the logs of switches not measured, at least 40 BECNs received, events in the logs of adapters not measured", ""},
		"no BECN, and logs of switches unread": {telemetry.Congestion{Ports: []telemetry.PortCongestion{{Adapter: true, Wait: 9}}, SwitchLogs: telemetry.LogCoverage{Lacking: 1}},
			"whether switches mark packets was not measured at leaf1/P3: packets in the logs of switches not measured, 0 BECNs received", telemetry.StageNotifications},
	} {
		got := telemetry.JudgeBECN(&tc.c, links)
		if !strings.Contains(got.Text.String(), tc.want) || got.Stage != tc.stage {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
