package telemetry_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlane/service/telemetry"
	"fairlane/subnet/ident"
)

// loopHost returns the port of a host by number.
func loopHost(n int) ident.PortID { return ident.PortID{Node: ident.GUID(n), Port: 1} }

// counted returns a port's counts: marks, notifications sent, handled, ignored.
func counted(name string, marks, sent, handled, ignored uint64) telemetry.LoopPort {
	n := func(v uint64) telemetry.Count { return telemetry.Count{N: v} }
	return telemetry.LoopPort{Name: name, Marks: n(marks), Sent: n(sent), Handled: n(handled), Ignored: n(ignored)}
}

// Two senders, 1 and 2, and a receiver, 3, of both.
func TestLoopReportsFirstInactiveStage(t *testing.T) {
	t.Parallel()
	errRead := errors.New("input/output error")
	for name, c := range map[string]struct {
		change func(one, two, to *telemetry.LoopPort)
		state  telemetry.LoopState
		stage  telemetry.LoopStage
		where  string
		text   string
	}{
		"all of it acts": {func(_, _, _ *telemetry.LoopPort) {}, telemetry.LoopActing, "", "", "100 marked packets received, 50 notifications sent, 50 handled, 0 ignored"},
		"no marks, no waiting packets": {func(one, two, to *telemetry.LoopPort) {
			to.Marks.N, to.Sent.N, one.Handled.N, two.Handled.N, to.Full = 0, 0, 0, 0, false
		}, telemetry.LoopNotTested, "", "", "no queue was full"},
		"a full link of one pace is no load": {func(one, two, to *telemetry.LoopPort) {
			to.Marks.N, to.Sent.N, one.Handled.N, two.Handled.N = 0, 0, 0, 0
		}, telemetry.LoopNotTested, "", "", "no queue was full"},
		"queues are full and nothing is marked": {func(one, two, to *telemetry.LoopPort) {
			to.Marks.N, to.Sent.N, one.Handled.N, two.Handled.N, one.Pauses.N, one.Paused = 0, 0, 0, 0, 9, 0.5
		}, telemetry.LoopDead, telemetry.StageMarks, "h3", "no packet is marked"},
		"marks are not answered": {func(one, two, to *telemetry.LoopPort) {
			to.Sent.N, one.Handled.N, two.Handled.N, one.Pauses.N, one.Paused = 0, 0, 0, 9, 0.5
		}, telemetry.LoopDead, telemetry.StageNotifications, "h3", "no notification is sent"},
		"one sender ignores notifications": {func(one, _, _ *telemetry.LoopPort) { one.Handled.N, one.Ignored.N = 0, 30 }, telemetry.LoopDead, telemetry.StageReaction, "h1", "none is handled"},
		"no sender hears notifications":    {func(one, two, _ *telemetry.LoopPort) { one.Handled.N, two.Handled.N = 0, 0 }, telemetry.LoopDead, telemetry.StageReaction, "h1 h2", "none is handled"},
		"one sender was not notified":      {func(one, _, _ *telemetry.LoopPort) { one.Handled.N = 0 }, telemetry.LoopActing, "", "", "100 marked"},
		"rates do not move":                {func(one, _, _ *telemetry.LoopPort) { one.Pauses.N, one.Paused = 9, 0.5 }, telemetry.LoopDead, telemetry.StageRates, "h1", "rates do not change"},
		"pause now and then":               {func(one, _, _ *telemetry.LoopPort) { one.Pauses.N, one.Paused = 9, 0.01 }, telemetry.LoopActing, "", "", "100 marked"},
		"nothing can be read": {func(one, two, to *telemetry.LoopPort) {
			for _, p := range []*telemetry.LoopPort{one, two, to} {
				*p = telemetry.LoopPort{Name: p.Name}
				p.Marks.Err, p.Sent.Err, p.Handled.Err, p.Ignored.Err, p.Pauses.Err = errRead, errRead, errRead, errRead, errRead
			}
		}, telemetry.LoopNotTested, "", "", "counters of h1 could not be read: input/output error"},
		"the receiver's notifications cannot be read": {func(_, _, to *telemetry.LoopPort) { to.Sent = telemetry.Count{Err: errRead} }, telemetry.LoopNotTested, "", "", "counters of h3"},
	} {
		one, two, to := counted("h1", 0, 0, 30, 0), counted("h2", 0, 0, 20, 0), counted("h3", 100, 50, 0, 0)
		to.Full = true
		c.change(&one, &two, &to)
		got := telemetry.JudgeLoop(map[ident.PortID]telemetry.LoopPort{loopHost(1): one, loopHost(2): two, loopHost(3): to},
			[]telemetry.LoopPair{{Src: loopHost(1), Dst: loopHost(3)}, {Src: loopHost(2), Dst: loopHost(3)}})
		if got.State != c.state || got.Stage != c.stage || strings.Join(got.Where, " ") != c.where || !strings.Contains(got.Text.String(), c.text) {
			t.Errorf("%s: %+v, want %s %s at %q with %q", name, got, c.state, c.stage, c.where, c.text)
		}
	}
}

func TestLoopNamesABoundedNumberOfPorts(t *testing.T) {
	t.Parallel()
	ports, pairs := map[ident.PortID]telemetry.LoopPort{loopHost(100): counted("to", 9, 9, 0, 0)}, []telemetry.LoopPair{}
	for i := range 20 {
		ports[loopHost(i+1)] = counted(fmt.Sprint("h", i+1), 0, 0, 0, 1)
		pairs = append(pairs, telemetry.LoopPair{Src: loopHost(i + 1), Dst: loopHost(100)})
	}
	got := telemetry.JudgeLoop(ports, pairs)
	if got.State != telemetry.LoopDead || len(got.Where) != 8 || !slices.IsSorted([]string{got.Where[0], got.Where[1]}) {
		t.Errorf("%+v", got)
	}
}
