package gnmi_test

import (
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
)

func oneOpenConfig(t testing.TB) (*rig, *fakeOpenConfig, *gnmi.Driver, driver.Device) {
	t.Helper()
	r, s := newRig(t), openConfigSwitch(2)
	r.add(t, "spine-1", s)
	return r, s, r.driver(t, gnmi.OpenConfig), switchDevice("spine-1", 2)
}

func TestOpenConfigQueues(t *testing.T) {
	t.Parallel()
	_, s, d, dev := oneOpenConfig(t)
	receipt := wellApplied(t, d, dev, queues(marked(1, 3, 100), marked(2, 3, 200), marked(2, 6, 200)))
	if got := fields(receipt, driver.OutcomeAcknowledged); !slices.Equal(got, []string{"queues.profiles[FAIRLANE_1]", "queues.profiles[FAIRLANE_2]", "queues[1/3]", "queues[2/3]", "queues[2/6]"}) {
		t.Errorf("acknowledged %q", got)
	}
	if v := s.text(ocProfiles + "[name=FAIRLANE_2]/wred/uniform/config/drop"); v != "false" {
		t.Errorf("drop is %q: marking must not drop", v)
	}
	wellApplied(t, d, dev, queues(marked(1, 3, 300)))
	_, err := d.Apply(t.Context(), dev, queues(marked(1, 4, 100), marked(2, 5, 100)))
	refused(t, "no queues", err, driver.ErrUnsupported, "nothing was sent", "no queues 1/4, 2/5")
	dev.Ports = 3
	_, err = d.Read(t.Context(), dev)
	refused(t, "too few ports", err, driver.ErrInvalid, "2 interfaces, want the 3 ports")
	c, err := d.Capabilities(t.Context(), switchDevice("spine-1", 2))
	if err != nil || c.Queues.Ports != 2 || c.Queues.Queues != 7 || c.Queues.Profiles != 0 || !slices.Equal(c.Queues.Marked, []uint8{3, 6}) {
		t.Errorf("capabilities %+v: %v", c.Queues, err)
	}
}

func TestUnsupportedOpenConfigRules(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *fakeOpenConfig, at string){
		"in percent of a buffer": func(s *fakeOpenConfig, at string) {
			s.leaves = slices.DeleteFunc(s.leaves, func(l gnmitree.Leaf) bool { return strings.HasSuffix(l.Path.String(), "-threshold") })
			s.put(at+"min-threshold-percent", gnmitree.Uint32(10), gnmitree.ClassConfig)
		},
		"without ECN": func(s *fakeOpenConfig, at string) { s.put(at+"enable-ecn", gnmitree.Bool(false), gnmitree.ClassConfig) },
		"upside down": func(s *fakeOpenConfig, at string) {
			s.put(at+"min-threshold", gnmitree.Uint(1<<31), gnmitree.ClassConfig)
		},
		"beyond bounds": func(s *fakeOpenConfig, at string) {
			s.put(at+"max-threshold", gnmitree.Uint(1<<63), gnmitree.ClassConfig)
		},
	} {
		_, s, d, dev := oneOpenConfig(t)
		change(s, ocProfiles+"[name=lossless]/wred/uniform/config/")
		got, err := d.Read(t.Context(), dev)
		if err != nil || len(got.Queues.Marking) != 0 {
			t.Errorf("%s: %+v, %v", name, got.Queues, err)
		}
		wellApplied(t, d, dev, queues(marked(1, 3, 100), marked(2, 3, 100)))
	}
}

func TestOpenConfigCountersAndPreflight(t *testing.T) {
	t.Parallel()
	_, s, d, dev := oneOpenConfig(t)
	got, err := d.QueueCounters(t.Context(), dev, 3)
	if err != nil || len(got) != 2 || got[1].Port != 2 || *got[1].Octets != 2000 || *got[1].Marked != 2 || got[1].Drops != nil || got[1].Stale {
		t.Errorf("counters %+v: %v", got, err)
	}
	found, err := d.Preflight(t.Context(), dev, gnmi.Expectation{DSCP: 26, Queue: 6, Lossless: true})
	if err != nil || len(found) != 2 || found[0].Code != gnmi.FindingUnmarked || len(found[0].Ports) != 2 || found[1].Code != gnmi.FindingUnknown {
		t.Errorf("findings %+v: %v", found, err)
	}
	s.mu.Lock()
	s.put(ocQueue(1, "Ethernet0:3")+"/config/name", gnmitree.String("Ethernet0:3"), gnmitree.ClassConfig)
	s.mu.Unlock()
	_, err = d.Read(t.Context(), dev)
	refused(t, "two queues of a number", err, driver.ErrInvalid, "Ethernet0:3")
	s.mu.Lock()
	s.leaves = nil
	s.mu.Unlock()
	for what, f := range map[string]func() error{
		"read":     func() error { _, err := d.Read(t.Context(), dev); return err },
		"counters": func() error { _, err := d.QueueCounters(t.Context(), dev, 3); return err },
	} {
		refused(t, what, f(), driver.ErrUnsupported, "no queues by openconfig-qos")
	}
}
