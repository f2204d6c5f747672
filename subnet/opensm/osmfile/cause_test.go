package osmfile

import (
	"strings"
	"testing"
)

func TestCauseOf(t *testing.T) {
	t.Parallel()
	base := Observation{GUID: 1, LID: 1, Activity: 100, Process: "7@1", Options: "a", Partitions: "b", Policy: "c"}
	for name, tt := range map[string]struct {
		change func(*Observation)
		before func(*Observation)
		want   CauseCode
		text   string
		also   string
	}{
		"nothing":                           {change: func(o *Observation) { o.Activity++ }},
		"another":                           {change: func(o *Observation) { o.GUID, o.Activity, o.Process = 2, 5, "9@4" }, want: CauseHandover, text: "0x0000000000000001 handed over to the one on 0x0000000000000002"},
		"an unknown subnet manager":         {change: func(o *Observation) { *o = Observation{GUID: 2, Foreign: true} }, want: CauseHandover, text: "its options are unknown"},
		"a new process":                     {change: func(o *Observation) { o.Process, o.Activity = "8@2", 200 }, want: CauseRestarted, text: "started again"},
		"less activity":                     {change: func(o *Observation) { o.Activity, o.Process = 3, "" }, want: CauseRestarted, text: "started again"},
		"a lower count of the same process": {change: func(o *Observation) { o.Activity = 3 }},
		"a count that overflows": {
			before: func(o *Observation) { o.Activity, o.Process = 1<<32-5, "" }, change: func(o *Observation) { o.Activity, o.Process = 3, "" },
		},
		"options":             {change: func(o *Observation) { o.Options = "x" }, want: CauseOptionsChanged, text: "options of the subnet manager changed"},
		"options on":          {change: func(o *Observation) { o.Options, o.WritesCC = "x", true }, want: CauseOptionsChanged, text: "congestion_control TRUE"},
		"restarted, writes":   {change: func(o *Observation) { o.Process, o.WritesCC = "8@2", true }, want: CauseRestarted, text: "so it wrote its own settings to every port"},
		"restarted, options":  {change: func(o *Observation) { o.Process, o.Options = "8@2", "x" }, want: CauseRestarted, also: "its options changed"},
		"writes":              {change: func(o *Observation) { o.WritesCC = true }, want: CauseOther, text: "congestion_control TRUE"},
		"partitions":          {change: func(o *Observation) { o.Partitions = "x" }, also: "the partitions file changed"},
		"policy":              {change: func(o *Observation) { o.Policy = "x" }, also: "the QoS policy changed"},
		"files were not read": {change: func(o *Observation) { o.Options, o.Partitions, o.Policy = "", "", "" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := base, base
			if tt.before != nil {
				tt.before(&before)
			}
			tt.change(&after)
			got := CauseOf(before, after)
			if got.Code != tt.want || !strings.Contains(got.Text, tt.text) || strings.Join(got.Also, ",") != tt.also {
				t.Errorf("got %+v, want %s %q also %q", got, tt.want, tt.text, tt.also)
			}
		})
	}
}
