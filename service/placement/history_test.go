package placement

import (
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

// Drift is reported with what happened to the subnet manager since the device was last in sync, and with nothing that
// does not explain it.
func TestDriftOfDevicesIsReportedWithItsCause(t *testing.T) {
	t.Parallel()
	base := osmfile.Observation{GUID: 0x11, LID: 1, Activity: 100, Process: "7@1", Options: "a", Partitions: "p"}
	with := func(o osmfile.Observation, f func(*osmfile.Observation)) osmfile.Observation { f(&o); return o }
	writes := with(base, func(o *osmfile.Observation) { o.WritesCC, o.Options = true, "b" })
	restarted := with(writes, func(o *osmfile.Observation) { o.Process = "8@2" })
	for name, c := range map[string]struct {
		looks []osmfile.Observation // the device is in sync at the first
		wrote bool                  // by Fairlane, before the last
		want  string
	}{
		"nothing happened":                              {[]osmfile.Observation{base, base}, false, ""},
		"a restart that leaves congestion control":      {[]osmfile.Observation{base, with(base, func(o *osmfile.Observation) { o.Process = "8@2" })}, false, ""},
		"its options":                                   {[]osmfile.Observation{base, writes}, false, "the options of the subnet manager changed; its options say congestion_control TRUE"},
		"its options, which we wrote":                   {[]osmfile.Observation{base, with(base, func(o *osmfile.Observation) { o.Options = "b" })}, true, ""},
		"a restart":                                     {[]osmfile.Observation{base, restarted}, false, "the subnet manager on 0x0000000000000011 started again; its options say congestion_control TRUE"},
		"a restart that another look saw":               {[]osmfile.Observation{writes, restarted, restarted}, false, "started again"},
		"another one, of which nothing is known":        {[]osmfile.Observation{base, {GUID: 0x22, LID: 2, Foreign: true}}, false, "handed over to the one on 0x0000000000000022; its options are unknown"},
		"no change, but it writes when ports come back": {[]osmfile.Observation{writes, writes}, false, "writes its own settings when ports come back"},
	} {
		var w history
		report := func(state device.State) string {
			list := []control.DeviceReport{{Device: driver.Device{ID: ident.PortID{Node: 1, Port: 1}}, State: state}}
			w.explain("lab", list)
			return list[0].Cause.String()
		}
		for i, o := range c.looks {
			if c.wrote && i == len(c.looks)-1 {
				w.wrote("lab")
			}
			w.observe("lab", o)
			if i == 0 && report(device.InSync) != "" {
				t.Errorf("%s: a device in sync has a cause", name)
			}
		}
		if got := report(device.Drifted); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: cause %q, want %q", name, got, c.want)
		}
		if c.want != "" && len(c.looks) == 2 && c.looks[1].Options != c.looks[0].Options {
			report(device.InSync) // it was repaired
			if got := report(device.Drifted); strings.Contains(got, "changed") {
				t.Errorf("%s: reported again after the device was in sync: %q", name, got)
			}
		}
	}
}
