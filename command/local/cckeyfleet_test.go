package local

import (
	"bytes"
	"strings"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/sim/simdev"
	"fairlane/subnet/ident"
)

// A sweep that misses devices reports them. They keep their keys, so a script must not take the change for complete.
func TestKeyCommandsReportUnreachableDevices(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		make   func(*faulty)
		result string // on standard output
		exit   int
		warns  []string // on standard error
	}{
		"nothing": {func(*faulty) {}, "7 changed, 0 unchanged", 0, nil},
		"one GUID of two hosts": {func(f *faulty) {
			f.dev.SetFaults(simdev.Faults{NodeGUIDs: map[int32]ident.GUID{f.node("host-004"): f.topo.Nodes[f.node("host-001")].GUID}})
		}, "6 changed, 0 unchanged", 1, []string{"warning: duplicate-guid: ", "is not in the model", "1 warning of the sweep names devices"}},
		"an M_Key that keeps strangers from writing": {func(f *faulty) {
			cmdline.Must(f.dev.GuardSM(f.node("leaf2"), 0x77, 1, 0))
		}, "7 changed, 0 unchanged", 0, nil},
		"an M_Key of a switch": {func(f *faulty) {
			cmdline.Must(f.dev.GuardSM(f.node("leaf2"), 0x77, 2, 0))
		}, "4 changed, 0 unchanged", 1, []string{"warning: unresponsive: ", "a device that an M_Key protects does not answer either", "those keep their keys"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t, simdev.Options{})
			tt.make(f)
			var out, words bytes.Buffer
			code := runLocal(t.Context(), []string{"device", "cc-key", "set", "--from", "ibsim:" + f.addr, "--key-file", f.file("cc.key", "0x1234\n")}, &out, &words)
			if code != tt.exit || !strings.Contains(out.String(), tt.result) {
				t.Errorf("exit %d, want %d and %q: %s%s", code, tt.exit, tt.result, out.String(), words.String())
			}
			for _, w := range tt.warns {
				if !strings.Contains(words.String(), w) {
					t.Errorf("want a warning of %q: %s", w, words.String())
				}
			}
		})
	}
}
