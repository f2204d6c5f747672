package gnmi_test

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi"
	"fairlane/subnet/ident"
)

// drawSwitch draws a switch with a few profiles, some with equal markings, and queues that refer to them or to none.
func drawSwitch(t *rapid.T) *gnmi.Model {
	m := &gnmi.Model{Profiles: map[string]ecn.Marking{}, Queues: map[[2]uint8]string{}}
	names := []string{"AZURE_LOSSLESS", "FAIRLANE_1", "FAIRLANE_3", "gold"}
	for _, n := range names {
		if rapid.Bool().Draw(t, n) {
			m.Profiles[n] = drawRule(t)
		}
	}
	if _, ok := m.Profiles["AZURE_LOSSLESS"]; ok {
		m.Stock = "AZURE_LOSSLESS"
	}
	for p := range uint8(4) {
		for q := range uint8(3) {
			if n := rapid.SampledFrom(append(names, "", "none")).Draw(t, fmt.Sprint("profile of ", p, "/", q)); n != "none" {
				m.Queues[[2]uint8{p, q}] = n
			}
		}
	}
	return m
}

func drawRule(t *rapid.T) ecn.Marking {
	least := rapid.Int64Range(0, 3).Draw(t, "least")
	return ecn.Marking{Min: least, Max: least + 1, PMaxPct: 10}
}

func drawWant(t *rapid.T) []ecn.QueueMarking {
	s := &driver.QueueState{}
	for p := 1; p <= 3; p++ {
		for q := range uint8(3) {
			if rapid.Bool().Draw(t, "wanted") {
				s.Marking = append(s.Marking, ecn.QueueMarking{Port: ident.PortNum(p), Queue: q, Marking: drawRule(t)})
			}
		}
	}
	return s.Marking
}

// TestPlansSetExactlyTheDesiredMarking applies plans to random switches.
func TestPlansSetExactlyTheDesiredMarking(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawSwitch(t)
		for range 3 {
			want := drawWant(t)
			rules, before := maps.Clone(m.Profiles), maps.Clone(m.Queues)
			if _, _, err := m.Plan(want); err != nil {
				t.Fatal(err)
			}
			wanted := map[[2]uint8]bool{}
			for _, w := range want {
				k := [2]uint8{uint8(w.Port), w.Queue}
				wanted[k] = true
				if got := m.Profiles[m.Queues[k]]; got != w.Marking {
					t.Fatalf("queue %v marks by %+v, want %+v", k, got, w.Marking)
				}
			}
			for k, name := range before {
				was, marked := rules[name]
				if now, marks := m.Profiles[m.Queues[k]]; !wanted[k] && (m.Queues[k] != name || marked && (was != now || !marks)) {
					t.Fatalf("queue %v, which is not in want, went from %s %+v to %s %+v", k, name, was, m.Queues[k], now)
				}
			}
			if m.Profiles["gold"] != rules["gold"] {
				t.Fatal("a profile that is neither ours nor the stock one has changed")
			}
			if n, _, err := m.Plan(want); n != 0 || err != nil {
				t.Fatalf("%d changes when planned again: %v", n, err)
			}
		}
	})
}

// TestOneMarkingForAllNeedsNoProfile covers the only change that a guarded switch accepts.
func TestOneMarkingForAllNeedsNoProfile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawSwitch(t)
		m.Stock = "AZURE_LOSSLESS"
		m.Profiles[m.Stock] = drawRule(t)
		rule := drawRule(t)
		var want []ecn.QueueMarking
		for p := 1; p <= 3; p++ {
			for q := range uint8(3) {
				want = append(want, ecn.QueueMarking{Port: ident.PortNum(p), Queue: q, Marking: rule})
			}
		}
		for q := range uint8(3) {
			delete(m.Queues, [2]uint8{0, q})
		}
		if _, guardRejects, err := m.Plan(want); guardRejects || err != nil {
			t.Fatalf("one rule for all queues makes a profile: %v", err)
		}
	})
}

func TestMoreMarkingsThanASwitchCanHave(t *testing.T) {
	t.Parallel()
	m := &gnmi.Model{Profiles: map[string]ecn.Marking{}, Queues: map[[2]uint8]string{}}
	var want []ecn.QueueMarking
	for p := 1; p <= 200; p++ {
		for q := range uint8(8) {
			want = append(want, marked(p, int(q), int64(8*p)+int64(q)))
		}
	}
	if _, _, err := m.Plan(want); err == nil {
		t.Error("1600 different markings were accepted")
	}
	if n, guardRejects, err := m.Plan(want[:512]); err != nil || n != 1024 || !guardRejects {
		t.Errorf("512 different markings: %d changes, %v", n, err)
	}
}
