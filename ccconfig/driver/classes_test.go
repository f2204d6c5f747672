package driver

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/qos"
)

func weighedSettings() Settings {
	s := queueSettings()
	s.Queues.Weights = []qos.QueueWeight{{Port: 1, Queue: 3, Weight: 4}, {Port: 1, Queue: 4, Weight: 100}, {Port: 3, Queue: 3, Weight: 1}}
	return s
}

func classSettings() Settings {
	s := nicSettings()
	s.NIC.Shares = []qos.ClassShare{{Class: 1, Percent: 72}, {Class: 3, Percent: 28}, {Class: 4}}
	return s
}

func TestWeightsAndSharesValidate(t *testing.T) {
	t.Parallel()
	nic, sw := testNIC(PlaneRoCE), testEtherSwitch()
	for name, c := range map[string]struct {
		device   Device
		settings Settings
		change   func(*Settings)
		text     string
	}{
		"weights":              {sw, weighedSettings(), func(*Settings) {}, ""},
		"weights alone":        {sw, weighedSettings(), func(s *Settings) { s.Queues.Marking = nil }, ""},
		"weight 0":             {sw, weighedSettings(), func(s *Settings) { s.Queues.Weights[1].Weight = 0 }, "queues.weights[1].weight: found 0, want 1..100"},
		"weight 101":           {sw, weighedSettings(), func(s *Settings) { s.Queues.Weights[1].Weight = 101 }, "found 101"},
		"queue 8":              {sw, weighedSettings(), func(s *Settings) { s.Queues.Weights[1].Queue = 8 }, "queues.weights[1].queue: found 8"},
		"port 0":               {sw, weighedSettings(), func(s *Settings) { s.Queues.Weights[0].Port = 0 }, "queues.weights[0].port: found 0, want 1 to 3"},
		"port 4":               {sw, weighedSettings(), func(s *Settings) { s.Queues.Weights[2].Port = 4 }, "found 4, want 1 to 3"},
		"weights out of order": {sw, weighedSettings(), func(s *Settings) { slices.Reverse(s.Queues.Weights) }, "queues by port and number"},
		"a queue twice":        {sw, weighedSettings(), func(s *Settings) { s.Queues.Weights[1].Queue = 3 }, "each once"},
		"shares":               {nic, classSettings(), func(*Settings) {}, ""},
		"99 percent":           {nic, classSettings(), func(s *Settings) { s.NIC.Shares[0].Percent = 71 }, "nic.shares: found 99 percent, want 100"},
		"101 percent":          {nic, classSettings(), func(s *Settings) { s.NIC.Shares[0].Percent = 101 }, "nic.shares[0].percent: found 101"},
		"class 8":              {nic, classSettings(), func(s *Settings) { s.NIC.Shares[2].Class = 8 }, "nic.shares[2].class: found 8, want 0 to 7"},
		"classes out of order": {nic, classSettings(), func(s *Settings) { slices.Reverse(s.NIC.Shares) }, "shares by class"},
		"a class twice":        {nic, classSettings(), func(s *Settings) { s.NIC.Shares[1].Class = 1 }, "each once"},
		"a share and tc_bw": {nic, classSettings(), func(s *Settings) {
			s.NIC.Params = append(s.NIC.Params, NICParam{Name: PercentParam, Index: 3, Value: 28})
			s.NIC.Sort()
		}, "no parameter tc_bw of the class beside its share"},
		"a share and tsa": {nic, classSettings(), func(s *Settings) {
			s.NIC.Params = append(s.NIC.Params, NICParam{Name: SelectionParam, Index: 4})
			s.NIC.Sort()
		}, "no parameter tsa"},
	} {
		c.change(&c.settings)
		for what, err := range map[string]error{"ranges": c.settings.ValidateRanges(c.device), "consistency": c.settings.Validate(c.device)} {
			if (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s, %s: error %v, want %q", name, what, err, c.text)
			}
		}
	}
}

func TestWeightsAndSharesDiffer(t *testing.T) {
	t.Parallel()
	// What a device reports for desired shares: parameters.
	reported := func(s Settings) Settings {
		got := s.Clone()
		got.NIC.Params = append(got.NIC.Params, got.NIC.ShareParams()...)
		got.NIC.Shares = nil
		got.NIC.Sort()
		return got
	}
	set := func(s *Settings, name string, class int, v uint64) {
		for i := range s.NIC.Params {
			if p := &s.NIC.Params[i]; p.Name == name && p.Index == class {
				p.Value = v
			}
		}
	}
	for name, c := range map[string]struct {
		want, got Settings
		change    func(got *Settings)
		text      string
	}{
		"weights":              {weighedSettings(), weighedSettings(), func(*Settings) {}, ""},
		"a weight":             {weighedSettings(), weighedSettings(), func(g *Settings) { g.Queues.Weights[1].Weight = 5 }, "queues[1/4].weight: want 100, got 5"},
		"no weight":            {weighedSettings(), weighedSettings(), func(g *Settings) { g.Queues.Weights = g.Queues.Weights[:2] }, "queues[3/3].weight: want 1, got absent"},
		"weight not requested": {queueSettings(), weighedSettings(), func(*Settings) {}, ""},
		"shares":               {classSettings(), reported(classSettings()), func(*Settings) {}, ""},
		"a share":              {classSettings(), reported(classSettings()), func(g *Settings) { set(g, PercentParam, 3, 5) }, "nic.tc_bw[3]: want 28, got 5"},
		"a share of none":      {classSettings(), reported(classSettings()), func(g *Settings) { set(g, PercentParam, 4, 5) }, "nic.tc_bw[4]: want 0, got 5"},
		"a strict class":       {classSettings(), reported(classSettings()), func(g *Settings) { set(g, SelectionParam, 1, 0) }, "nic.tsa[1]: want 2, got 0"},
		"shares not requested": {nicSettings(), reported(classSettings()), func(*Settings) {}, ""},
		"no traffic classes":   {classSettings(), nicSettings(), func(*Settings) {}, "nic.tc_bw[1]: want 72, got absent; nic.tc_bw[3]: want 28, got absent; nic.tc_bw[4]: want 0, got absent; nic.tsa[1]: want 2, got absent; nic.tsa[3]: want 2, got absent; nic.tsa[4]: want 2, got absent"},
	} {
		c.change(&c.got)
		var texts []string
		for _, d := range c.want.Diff(c.got) {
			texts = append(texts, d.String())
		}
		if s := strings.Join(texts, "; "); s != c.text || c.want.Equal(c.got) != (c.text == "") {
			t.Errorf("%s: differences %q, want %q", name, s, c.text)
		}
	}
}

func TestWeightsAndSharesAreCopiedAndStored(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Settings{"weights": weighedSettings(), "shares": classSettings(), "none": queueSettings()} {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Settings
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(s, back) {
			t.Errorf("%s: %s becomes %+v, %v", name, text, back, err)
		}
		if strings.Contains(string(text), "weights") != (name == "weights") || strings.Contains(string(text), `"shares"`) != (name == "shares") {
			t.Errorf("%s: %s", name, text)
		}
		c := s.Clone()
		if c.NIC != nil && c.NIC.Shares != nil {
			c.NIC.Shares[0].Percent = 1
		}
		if c.Queues != nil && c.Queues.Weights != nil {
			c.Queues.Weights[0].Weight = 77
		}
		if again := s.Clone(); !reflect.DeepEqual(s, again) || !reflect.DeepEqual(s, back) {
			t.Errorf("%s: a change of the clone changed the original", name)
		}
	}
	s := Settings{Queues: &QueueState{Weights: []qos.QueueWeight{{Port: 2, Queue: 1, Weight: 3}, {Port: 1, Queue: 5, Weight: 2}}, Marking: []ecn.QueueMarking{{Port: 1}}}}
	s.Queues.Sort()
	if w, ok := s.Queues.Weight(2, 1); w != 3 || !ok {
		t.Errorf("weight of 2/1: %d %t", w, ok)
	}
	if _, ok := s.Queues.Weight(2, 5); ok {
		t.Error("queue 2/5 has a weight")
	}
}

func TestForeignClassesHaveBandwidthOutsideThePlan(t *testing.T) {
	t.Parallel()
	want := classSettings().NIC
	got := &NICState{Params: []NICParam{{PercentParam, 0, 30}, {PercentParam, 1, 40}, {PercentParam, 4, 10}, {PercentParam, 5, 20}, {SelectionParam, 0, 2}}}
	if f := want.Foreign(got); !slices.Equal(f, []qos.ClassShare{{Class: 0, Percent: 30}, {Class: 5, Percent: 20}}) {
		t.Errorf("foreign classes %v", f)
	}
	want.Params = append(want.Params, NICParam{PercentParam, 0, 0}, NICParam{PercentParam, 5, 0})
	want.Sort()
	if f := want.Foreign(got); f != nil {
		t.Errorf("foreign classes whose bandwidth the settings take: %v", f)
	}
	want.Shares = nil
	if f := want.Foreign(got); f != nil {
		t.Errorf("foreign classes without shares: %v", f)
	}
}
