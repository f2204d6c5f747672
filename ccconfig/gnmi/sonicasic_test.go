package gnmi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// oneChassis is a switch of two ASICs with two ports each.
func oneChassis(t testing.TB, voq bool) (*rig, *fakeChassis, *gnmi.Driver, driver.Device) {
	t.Helper()
	r, c := newRig(t), chassis(4, voq)
	r.add(t, "leaf-1", c)
	for _, a := range c.asics {
		a.config(func(t tables) {
			for p := range 4 {
				name := fmt.Sprint("own.", p)
				t["SCHEDULER"][name] = map[string]string{"type": "DWRR", "weight": "10"}
				if row := t["QUEUE"][c.key(p, 3)]; row != nil {
					row["scheduler"] = name
				}
			}
		})
	}
	return r, c, r.driver(t, gnmi.SONiC), switchDevice("leaf-1", 4)
}

func TestWeightsOfSwitchesWithSeveralASICs(t *testing.T) {
	t.Parallel()
	for name, voq := range map[string]bool{"multi-asic": false, "voq": true} {
		r, c, d, dev := oneChassis(t, voq)
		caps, err := d.Capabilities(t.Context(), dev)
		if err != nil || caps.Queues.Ports != 4 || len(caps.Queues.Weighted) != 4 || caps.Queues.Weighted[3].Port != 4 {
			t.Fatalf("%s: capabilities %+v: %v", name, caps.Queues, err)
		}
		want, err := d.Read(t.Context(), dev)
		if err != nil || len(want.Queues.Marking) != 4 || len(want.Queues.Weights) < 4 {
			t.Fatalf("%s: read %+v: %v", name, want.Queues, err)
		}
		want.Queues.Weights = nil
		for p := range 4 {
			want.Queues.Weights = append(want.Queues.Weights, qos.QueueWeight{Port: ident.PortNum(p + 1), Queue: 3, Weight: uint8(20 + p)})
		}
		before := r.sets("leaf-1")
		receipt, err := d.Apply(t.Context(), dev, want)
		if err != nil || r.sets("leaf-1")-before != 2 {
			t.Fatalf("%s: %v after %d Sets, want one for each ASIC: %v", name, receipt, r.sets("leaf-1")-before, err)
		}
		if got := fields(receipt, driver.OutcomeAcknowledged); !slices.Equal(got, []string{"queues[1/3].weight", "queues[2/3].weight", "queues[3/3].weight", "queues[4/3].weight"}) {
			t.Errorf("%s: acknowledged %q", name, got)
		}
		for i, a := range c.asics {
			a.config(func(t2 tables) {
				for p := range 4 {
					owner, got := c.owner(p) == i, t2["SCHEDULER"][fmt.Sprint("own.", p)]["weight"]
					if owner && got != fmt.Sprint(20+p) || !owner && got != "10" {
						t.Errorf("%s: asic%d has weight %s for port %d", name, i, got, p+1)
					}
				}
			})
		}
		got, err := d.Read(t.Context(), dev)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want.Queues.Weights {
			if !slices.Contains(got.Queues.Weights, w) {
				t.Errorf("%s: weight %+v was not read back: %+v", name, w, got.Queues.Weights)
			}
		}
	}
}

func TestVOQMarkingCountsOnEveryASIC(t *testing.T) {
	t.Parallel()
	r, c, d, dev := oneChassis(t, true)
	want := queues(marked(1, 3, 100), marked(2, 3, 100), marked(3, 3, 100), marked(4, 3, 100))
	wellApplied(t, d, dev, driver.Settings{Queues: &driver.QueueState{Marking: want.Queues.Marking, Weights: weightsOf(t, d, dev)}})
	if n := r.sets("leaf-1"); n != 2 {
		t.Errorf("%d Sets, want 2", n)
	}
	for i, a := range c.asics {
		a.config(func(tt tables) {
			if got := tt["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_min_threshold"]; got != "100000" {
				t.Errorf("asic%d: threshold %s", i, got)
			}
		})
	}
	// The second ASIC forgets the marking of a port of the first: packets that enter there are not marked.
	c.asics[1].config(func(tt tables) { delete(tt["QUEUE"][c.key(0, 3)], "wred_profile") })
	got, err := d.Read(t.Context(), dev)
	if err != nil || len(got.Queues.Marking) != 3 || slices.ContainsFunc(got.Queues.Marking, func(m ecn.QueueMarking) bool { return m.Port == 1 }) {
		t.Errorf("read %+v: %v", got.Queues, err)
	}
	found, err := d.Preflight(t.Context(), dev, roce)
	if got := findingLines(t, "uneven", found); err != nil || got != "voq-uneven Ethernet0" {
		t.Errorf("findings %q: %v", got, err)
	}
	// Two-part keys have no effect on such a switch.
	c.asics[0].config(func(tt tables) { tt["QUEUE"]["Ethernet4|5"] = map[string]string{"wred_profile": "AZURE_LOSSLESS"} })
	if got, err := d.Read(t.Context(), dev); err != nil || slices.ContainsFunc(got.Queues.Marking, func(m ecn.QueueMarking) bool { return m.Queue == 5 }) {
		t.Errorf("read %+v: %v", got.Queues, err)
	}
}

// weightsOf returns the current weights.
func weightsOf(t testing.TB, d *gnmi.Driver, dev driver.Device) []qos.QueueWeight {
	t.Helper()
	got, err := d.Read(t.Context(), dev)
	if err != nil {
		t.Fatal(err)
	}
	return got.Queues.Weights
}

func TestReadingSwitchesWithSeveralASICs(t *testing.T) {
	t.Parallel()
	for name, voq := range map[string]bool{"multi-asic": false, "voq": true} {
		_, c, d, dev := oneChassis(t, voq)
		found, err := d.Preflight(t.Context(), dev, roce)
		if got := findingLines(t, name, found); err != nil || got != "" {
			t.Errorf("%s: findings %q: %v", name, got, err)
		}
		c.asics[1].config(func(tt tables) { tt["PORT_QOS_MAP"]["Ethernet12"]["pfc_enable"] = "" })
		found, err = d.Preflight(t.Context(), dev, roce)
		if got := findingLines(t, name, found); err != nil || got != "pfc-off Ethernet12" {
			t.Errorf("%s: findings %q: %v", name, got, err)
		}
		c.asics[1].config(func(tt tables) { tt["PORT_QOS_MAP"]["Ethernet8"]["pfc_enable"] = "" })
		found, err = d.Preflight(t.Context(), dev, roce)
		if got := findingLines(t, name, found); err != nil || got != "pfc-off Ethernet8,Ethernet12" || strings.Contains(found[0].Text, "all ports") {
			t.Errorf("%s: all ports of one ASIC: findings %q, %+v: %v", name, got, found, err)
		}
		c.asics[0].config(func(tt tables) {
			tt["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"], tt["PORT_QOS_MAP"]["Ethernet4"]["pfc_enable"] = "", ""
		})
		found, err = d.Preflight(t.Context(), dev, roce)
		if got := findingLines(t, name, found); err != nil || got != "pfc-off Ethernet0,Ethernet4,Ethernet8,Ethernet12" || !strings.HasPrefix(found[0].Text, "on all ports") {
			t.Errorf("%s: all ports: findings %q, %+v: %v", name, got, found, err)
		}
		list, err := d.QueueCounters(t.Context(), dev, 3)
		if err != nil || len(list) != 4 || list[0].Port != 1 || list[3].Port != 4 || list[3].Octets == nil {
			t.Errorf("%s: counters %+v: %v", name, list, err)
		}
		list, err = d.PortQueueCounters(t.Context(), dev, 3, 3)
		if err != nil || len(list) != 1 || list[0].Port != 3 {
			t.Errorf("%s: counters of port 3: %+v: %v", name, list, err)
		}
		ports, err := d.Scheduling(t.Context(), dev)
		if err != nil || len(ports) != 4 || ports[2].Port != 3 || ports[2].Label != "Ethernet8" || ports[2].Link != 100*quantity.Gbps {
			t.Errorf("%s: schedules %+v: %v", name, ports, err)
		}
		room, err := d.Headroom(t.Context(), dev)
		if err != nil || len(room.Ports) != 4 || room.Ports[3].Port != "Ethernet12" || len(room.Pools) != 2 || len(room.Groups) != 4 {
			t.Errorf("%s: headroom %+v: %v", name, room, err)
		}
		dev.Ports = 5
		_, err = d.Read(t.Context(), dev)
		refused(t, name, err, driver.ErrInvalid, "4 front ports on 2 ASICs, want the 5")
	}
}

// TestAnAddedPortIsWrittenByItsNumber splits the first port of a switch: the ports after it get other numbers.
func TestAnAddedPortIsWrittenByItsNumber(t *testing.T) {
	t.Parallel()
	for name, voq := range map[string]bool{"multi-asic": false, "voq": true} {
		_, c, d, dev := oneChassis(t, voq)
		if _, err := d.Read(t.Context(), dev); err != nil {
			t.Fatal(err)
		}
		key := strings.Replace(c.key(0, 3), "Ethernet0", "Ethernet2", 1)
		for i, a := range c.asics {
			a.config(func(tt tables) {
				if i == 0 {
					tt["PORT"]["Ethernet2"] = map[string]string{"speed": "100000"}
				}
				tt["SCHEDULER"]["own.new"] = map[string]string{"type": "DWRR", "weight": "10"}
				if i == 0 || voq {
					tt["QUEUE"][key] = map[string]string{"scheduler": "own.new", "wred_profile": "AZURE_LOSSLESS"}
				}
			})
		}
		dev.Ports = 5
		want, err := d.Read(t.Context(), dev)
		if err != nil || len(want.Queues.Marking) != 5 {
			t.Fatalf("%s: read %+v: %v", name, want.Queues, err)
		}
		want.Queues.Weights = []qos.QueueWeight{{Port: 2, Queue: 3, Weight: 33}}
		if _, err := d.Apply(t.Context(), dev, want); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c.asics[0].config(func(tt tables) {
			if got := tt["SCHEDULER"]["own.new"]["weight"] + " " + tt["SCHEDULER"]["own.1"]["weight"]; got != "33 10" {
				t.Errorf("%s: weights of the new port and of the next one: %s, want 33 10", name, got)
			}
		})
		// A port that another replaces keeps the number of ports.
		c.asics[0].config(func(tt tables) {
			tt["PORT"]["Ethernet1"] = tt["PORT"]["Ethernet2"]
			delete(tt["PORT"], "Ethernet2")
			delete(tt["QUEUE"], key)
		})
		want.Queues.Weights[0].Weight = 34
		if r, err := d.Apply(t.Context(), dev, want); err == nil {
			t.Errorf("%s: the weight of a queue without a scheduler was set: %v", name, r)
		}
	}
}

func TestRefusedProfilesOfVOQSwitchesAreFound(t *testing.T) {
	t.Parallel()
	_, c, d, dev := oneChassis(t, true)
	c.asics[0].config(func(tt tables) {
		c.asics[0].guarded = true
		tt["BUFFER_PROFILE"]["out"] = map[string]string{"pool": "egress_lossy_pool", "size": "0"}
		tt["BUFFER_QUEUE"] = map[string]map[string]string{c.key(1, 3): {"profile": "out"}}
	})
	want := queues(marked(1, 3, 100), marked(2, 3, 200), marked(3, 3, 100), marked(4, 3, 100))
	want.Queues.Weights = weightsOf(t, d, dev)
	if r, err := d.Apply(t.Context(), dev, want); err == nil {
		t.Fatalf("the guard accepted a new profile: %v", r)
	}
	found, err := d.Preflight(t.Context(), dev, roce)
	if got := findingLines(t, "guarded", found); err != nil || got != "queue-lossy Ethernet4; wred-guarded" {
		t.Errorf("findings %q: %v", got, err)
	}
}
