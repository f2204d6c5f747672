package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlane/subnet/ibsim/ibsimtest"
)

// subnetManager is the OpenSM of a script.
type subnetManager struct{ sm *ibsimtest.SM }

// openSM is "opensm start HOST", "opensm restart", "opensm hup" and "opensm stop": a real OpenSM on a host of the
// fabric at $SOCKET, with its files in $OPENSM. Start returns once the subnet is up. Restart kills OpenSM without a
// graceful stop.
func openSM(ts *testscript.TestScript, neg bool, args []string) {
	m := ts.Value("opensm").(*subnetManager)
	what := strings.Join(args, " ")
	switch {
	case neg, m.sm == nil && !strings.HasPrefix(what, "start "), len(args) > 2:
		ts.Fatalf("usage: opensm start HOST, and then opensm restart, hup or stop")
	case m.sm == nil:
		t := ts.Value("test").(testing.TB)
		ibsimtest.Preload(t)
		m.sm = ibsimtest.NewSM(t, ts.Getenv("SOCKET"), args[1], "")
		m.sm.Options(fmt.Sprintf("partition_config_file %s\nqos_policy_file %s\n", m.sm.Path("partitions.conf"), m.sm.Path("qos-policy.conf")))
		ts.Setenv("OPENSM", m.sm.Dir)
		m.sm.Start("SUBNET UP")
	case what == "restart":
		m.sm.Kill()
		m.sm.Start("SUBNET UP")
	case what == "hup":
		m.sm.Hup()
	case what == "stop":
		m.sm.Stop()
	default:
		ts.Fatalf("opensm %s: want start HOST, restart, hup or stop", what)
	}
}

// await is "await PATTERN PROGRAM ARGS...": it runs the program repeatedly until its output matches.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await PATTERN PROGRAM ARGS...")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	until(ts, strings.Join(args[1:], " ")+" with "+args[0], func(context.Context) error {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && !want.MatchString(ts.ReadFile("stdout")) {
			err = errors.New("it prints something else")
		}
		return err
	})
}

// replace is "replace FILE OLD NEW": the file must contain the old text.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s has no %q:\n%s", args[0], args[1], text)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])), 0o600))
}
