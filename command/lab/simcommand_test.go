package lab

import (
	"testing"

	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/sim/simdev"
)

func TestServedText(t *testing.T) {
	t.Parallel()
	st := simdev.ServerStats{Datagrams: 101, Malformed: 102, Dropped: 103, Unroutable: 104, Refused: 105, Clients: 106}
	const want = "101 management datagrams received, 102 malformed, 104 undeliverable; 103 answers not sent, 105 connections refused, 106 clients attached at the end"
	if got := (&app{cmdlinetest.App(t, "en")}).servedText(st); got != want {
		t.Errorf("got %q", got)
	}
}

func TestAnInterruptedCalibrationReportsTheRest(t *testing.T) {
	t.Parallel()
	a := &app{cmdlinetest.App(t, "en")}
	if got, want := a.stoppedCalibration(calibrateFlags{resume: "runs.jsonl"}, 7), "7 runs are done and kept in runs.jsonl: the same command continues from there"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := a.stoppedCalibration(calibrateFlags{}, 7), "7 runs were done and are lost: --resume FILE keeps them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
