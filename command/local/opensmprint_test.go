package local

import (
	"bytes"
	"strings"
	"testing"

	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/internal/i18n"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
)

func TestTheReasonOfAnUnknownProcessIsShown(t *testing.T) {
	t.Parallel()
	for _, lang := range i18n.Languages() {
		a := (&app{cmdlinetest.App(t, lang)})
		var out bytes.Buffer
		a.Stdout = &out
		const why = "OpenSM is not running: /run/opensm.pid names process 77"
		if err := a.printOpenSM(&opensm.State{Observation: osmfile.Observation{NoProcess: why}}); err != nil || !strings.Contains(out.String(), why) {
			t.Errorf("%s: %v, no reason in %s", lang, err, out.String())
		}
	}
}
