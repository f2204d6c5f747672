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
	"fairlane/sim/gnmidev"
	"fairlane/subnet/ident"
)

// siteClasses are the classes of traffic of provisioned switches.
func siteClasses() []qos.TrafficClass {
	return []qos.TrafficClass{{DSCP: 26, Queue: 3}, {DSCP: 34, Queue: 4}, {DSCP: 10, Queue: 1}}
}

func provisioned(change func(*gnmidev.SwitchOptions)) gnmidev.SwitchOptions {
	o := gnmidev.SwitchOptions{Classes: siteClasses(), Guard: gnmidev.Guard2026}
	if change != nil {
		change(&o)
	}
	return o
}

// weights wants weights of queues: port, queue and weight of each.
func weights(list ...[3]int) driver.Settings {
	s := &driver.QueueState{}
	for _, w := range list {
		s.Weights = append(s.Weights, qos.QueueWeight{Port: ident.PortNum(w[0]), Queue: uint8(w[1]), Weight: uint8(w[2])})
	}
	s.Sort()
	return driver.Settings{Queues: s}
}

// A new weight changes a scheduler in place: no queue refers to another one, no map changes, and no port goes down.
func TestWeightsChangeInPlace(t *testing.T) {
	t.Parallel()
	s, r := simulatedDevices(t)
	w := addSwitch(t, s, "leaf-1", provisioned(nil))
	d, dev := r.driver(t, gnmi.SONiC), switchDevice("leaf-1", 4)
	caps, err := d.Capabilities(t.Context(), dev)
	if err != nil || len(caps.Queues.Weighted) != 4 || !slices.Equal(caps.Queues.Weighted[0].Queues, []uint8{1, 3, 4}) {
		t.Fatalf("capabilities %+v: %v", caps.Queues, err)
	}
	want := weights([3]int{1, 3, 16}, [3]int{1, 4, 1}, [3]int{2, 1, 7})
	wellApplied(t, d, dev, want)
	config := string(w.Config())
	for _, words := range []string{`"fairlane_Ethernet0_3": {`, `"scheduler": "fairlane_Ethernet4_1"`} {
		if !strings.Contains(config, words) {
			t.Errorf("the configuration has no %s", words)
		}
	}
	if n := w.Flaps(); n != 0 {
		t.Errorf("%d ports went down", n)
	}
	got := driver.Settings{Queues: &driver.QueueState{Weights: w.Weights()}}
	if ds := want.Diff(got); len(ds) > 0 {
		t.Errorf("the switch has other weights: %v", ds)
	}
	if v, ok := got.Queues.Weight(3, 3); v != 10 || !ok {
		t.Errorf("weight of a queue outside the plan: %d %t", v, ok)
	}
	// Marking and weights are one transaction.
	mixed := want.Clone()
	mixed.Queues.Weights[0].Weight = 9
	for p := range ident.PortNum(4) {
		for _, c := range siteClasses() {
			mixed.Queues.Marking = append(mixed.Queues.Marking, ecn.QueueMarking{Port: p + 1, Queue: c.Queue, Marking: ecn.Marking{Min: 1000, Max: 2000, PMaxPct: 9}})
		}
	}
	mixed.Queues.Sort()
	before := w.Sets()
	wellApplied(t, d, dev, mixed)
	if n := w.Sets() - before; n != 1 || w.Flaps() != 0 {
		t.Errorf("%d Sets, %d ports went down, want 1 and 0", n, w.Flaps())
	}
}

// One scheduler for each class serves fabrics whose ports all want the same weights.
func TestSchedulersOfOneClassMayBeShared(t *testing.T) {
	t.Parallel()
	s, r := simulatedDevices(t)
	w := addSwitch(t, s, "leaf-1", provisioned(nil))
	w.Edit("SCHEDULER", "gold", map[string]string{"type": "DWRR", "weight": "10"})
	for p := range 4 {
		w.Edit("QUEUE", fmt.Sprintf("Ethernet%d|3", 4*p), map[string]string{"scheduler": "gold", "wred_profile": "AZURE_LOSSLESS"})
	}
	d, dev := r.driver(t, gnmi.SONiC), switchDevice("leaf-1", 4)
	if caps, err := d.Capabilities(t.Context(), dev); err != nil || !slices.Equal(caps.Queues.Weighted[0].Queues, []uint8{1, 4}) {
		t.Errorf("capabilities %+v: %v", caps.Queues, err)
	}
	wellApplied(t, d, dev, weights([3]int{1, 3, 16}, [3]int{2, 3, 16}, [3]int{3, 3, 16}, [3]int{4, 3, 16}, [3]int{1, 4, 2}))
	// An object that has the weight already may serve others.
	wellApplied(t, d, dev, weights([3]int{2, 3, 16}))
	for name, c := range map[string]struct {
		want  driver.Settings
		words []string
	}{
		"different weights": {weights([3]int{1, 3, 5}, [3]int{2, 3, 6}, [3]int{3, 3, 5}, [3]int{4, 3, 5}), []string{"Ethernet0|3, Ethernet4|3, Ethernet8|3 and 1 more", "scheduler gold", "weights 5, 6", "provision one scheduler of type DWRR"}},
		"others":            {weights([3]int{1, 3, 5}, [3]int{2, 3, 5}), []string{"Ethernet0|3, Ethernet4|3: scheduler gold also serves Ethernet12|3, Ethernet8|3"}},
	} {
		_, err := d.Apply(t.Context(), dev, c.want)
		refused(t, name, err, driver.ErrUnsupported, c.words...)
	}
}

// Weights that cannot be written are refused before the first write, with queue, object and remedy.
func TestWeightsThatCannotBeWrittenAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dialect gnmi.Dialect
		options func(*gnmidev.SwitchOptions)
		edit    func(*gnmidev.Switch)
		want    driver.Settings
		words   []string
	}{
		"no scheduler": {gnmi.SONiC, nil, func(w *gnmidev.Switch) { w.Edit("QUEUE", "Ethernet0|3", map[string]string{}) }, weights([3]int{1, 3, 5}), []string{"Ethernet0|3: no scheduler", "one scheduler of type DWRR"}},
		"a missing scheduler": {gnmi.SONiC, nil, func(w *gnmidev.Switch) { w.Edit("QUEUE", "Ethernet0|3", map[string]string{"scheduler": "x"}) }, weights([3]int{1, 3, 5}),
			[]string{"Ethernet0|3: scheduler x does not exist"}},
		"round robin by packets": {gnmi.SONiC, nil, func(w *gnmidev.Switch) {
			w.Edit("SCHEDULER", "fairlane_Ethernet0_3", map[string]string{"type": "WRR", "weight": "10"})
		}, weights([3]int{1, 3, 5}), []string{`scheduler fairlane_Ethernet0_3 has type "WRR", want DWRR`}},
		"a strict queue": {gnmi.SONiC, nil, nil, weights([3]int{1, 6, 5}), []string{`Ethernet0|6: scheduler scheduler.2 has type "STRICT"`}},
		"a field that SONiC does not know": {gnmi.SONiC, nil, func(w *gnmidev.Switch) {
			w.Edit("SCHEDULER", "fairlane_Ethernet0_3", map[string]string{"type": "DWRR", "weight": "10", "priority": "3"})
		}, weights([3]int{1, 3, 5}), []string{"has field priority, with which SONiC ignores the whole row"}},
		"a scheduler without a weight": {gnmi.SONiC, nil, func(w *gnmidev.Switch) {
			w.Edit("SCHEDULER", "fairlane_Ethernet0_3", map[string]string{"type": "DWRR"})
		}, weights([3]int{1, 3, 5}), []string{`has weight "", want 1 to 100`}},
		"queues that nobody provisioned": {gnmi.SONiC, func(o *gnmidev.SwitchOptions) { o.Classes = nil }, nil, weights([3]int{1, 3, 5}, [3]int{1, 4, 2}),
			[]string{"Ethernet0|4: scheduler scheduler.0 also serves", "Ethernet0|3: scheduler scheduler.1 also serves"}},
		"the scheduler of a port": {gnmi.SONiC, nil, func(w *gnmidev.Switch) {
			w.Edit("PORT_QOS_MAP", "Ethernet4", map[string]string{"scheduler": "fairlane_Ethernet0_3"})
		}, weights([3]int{1, 3, 5}), []string{"fairlane_Ethernet0_3 also serves port Ethernet4"}},
		"a chassis' queue": {gnmi.SONiC, nil, func(w *gnmidev.Switch) {
			w.Edit("QUEUE", "leaf-1|asic0|Ethernet0|3", map[string]string{"scheduler": "fairlane_Ethernet0_3"})
		}, weights([3]int{1, 3, 5}), []string{"also serves leaf-1|asic0|Ethernet0|3"}},
		"a strict queue of OpenConfig": {gnmi.OpenConfig, nil, nil, weights([3]int{1, 6, 5}), []string{"Ethernet0 queue 6: input 6 of scheduler 6 of policy Ethernet0 has priority STRICT", "provision a scheduler-policy"}},
		"no scheduler of OpenConfig":   {gnmi.OpenConfig, nil, func(w *gnmidev.Switch) { w.Edit("QUEUE", "Ethernet0|3", map[string]string{}) }, weights([3]int{1, 3, 5}), []string{"Ethernet0 queue 3: no scheduler"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, r := simulatedDevices(t)
			o := provisioned(c.options)
			if c.dialect == gnmi.OpenConfig {
				o.Dialect = gnmidev.OpenConfig
			}
			w := addSwitch(t, s, "leaf-1", o)
			if c.edit != nil {
				c.edit(w)
			}
			before := string(w.Config())
			_, err := r.driver(t, c.dialect).Apply(t.Context(), switchDevice("leaf-1", 4), c.want)
			refused(t, name, err, driver.ErrUnsupported, c.words...)
			if w.Sets() != 0 || string(w.Config()) != before {
				t.Errorf("%d Sets were sent", w.Sets())
			}
		})
	}
}

// A guard list that keeps weights is known after the first refusal: the driver then asks no more, and offers no weights.
func TestGuardsOfWeightsAreRemembered(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		s, r := simulatedDevices(t)
		w := addSwitch(t, s, "leaf-1", provisioned(func(o *gnmidev.SwitchOptions) { o.Guard = gnmidev.Guard2025 }))
		w.InjectSwitch(func(f *gnmidev.SwitchFaults) { f.Plain = plain })
		d, dev := r.driver(t, gnmi.SONiC), switchDevice("leaf-1", 4)
		receipt, err := d.Apply(t.Context(), dev, weights([3]int{1, 3, 5}))
		refused(t, "the first", err, driver.ErrUnsupported, "SCHEDULER", "guard list of 2026-01-27")
		if got := fields(receipt, driver.OutcomeRefused); !slices.Equal(got, []string{"queues[1/3].weight"}) {
			t.Errorf("refused fields %v", got)
		}
		sent := w.Sets()
		_, err = d.Apply(t.Context(), dev, weights([3]int{1, 3, 5}))
		refused(t, "the second", err, driver.ErrUnsupported, "refuses changes of weights")
		if w.Sets() != sent {
			t.Error("the second one was sent")
		}
		caps, err := d.Capabilities(t.Context(), dev)
		if err != nil || len(caps.Queues.Weighted) != 0 || caps.Queues.Profiles != 0 {
			t.Errorf("capabilities %+v: %v", caps.Queues, err)
		}
		// Marking of the stock profile is still possible.
		all := driver.Settings{Queues: &driver.QueueState{}}
		for p := range ident.PortNum(4) {
			for _, c := range siteClasses() {
				all.Queues.Marking = append(all.Queues.Marking, ecn.QueueMarking{Port: p + 1, Queue: c.Queue, Marking: ecn.Marking{Min: 1000, Max: 2000, PMaxPct: 9}})
			}
		}
		all.Queues.Sort()
		wellApplied(t, d, dev, all)
	}
}

// A weight that the configuration has and the ASIC does not is not read back, and is a finding.
func TestWeightsThatAreNotInForceAreNotReadBack(t *testing.T) {
	t.Parallel()
	for dialect, kind := range map[gnmi.Dialect]gnmidev.Dialect{gnmi.SONiC: gnmidev.SONiC, gnmi.OpenConfig: gnmidev.OpenConfig} {
		s, r := simulatedDevices(t)
		w := addSwitch(t, s, "leaf-1", provisioned(func(o *gnmidev.SwitchOptions) { o.Dialect = kind }))
		d, dev := r.driver(t, dialect), switchDevice("leaf-1", 4)
		w.InjectSwitch(func(f *gnmidev.SwitchFaults) { f.Idle = true })
		want := weights([3]int{1, 3, 5})
		if _, err := d.Apply(t.Context(), dev, want); err != nil {
			t.Fatal(err)
		}
		got, err := d.Read(t.Context(), dev)
		if err != nil || want.Equal(got) {
			t.Errorf("%s: read %+v, %v", dialect, got.Queues, err)
		}
		if v, ok := got.Queues.Weight(2, 3); v != 10 || !ok {
			t.Errorf("%s: weight of another queue: %d %t", dialect, v, ok)
		}
		list, err := d.Preflight(t.Context(), dev, gnmi.Expectation{DSCP: 26, Queue: 3})
		if err != nil || !slices.ContainsFunc(list, func(f gnmi.Finding) bool {
			return f.Code == gnmi.FindingIdle && strings.Contains(f.Text, "weight 5 in the configuration")
		}) {
			t.Errorf("%s: findings %+v, %v", dialect, list, err)
		}
		w.Heal()
		if got, err = d.Read(t.Context(), dev); err != nil || !want.Equal(got) {
			t.Errorf("%s: after the switch applied it: %v, %v", dialect, want.Diff(got), err)
		}
	}
}

// FuzzWeights checks that decoded weights are legal, and that a plan of changes leads to the desired weights or is refused.
func FuzzWeights(f *testing.F) {
	ports := []byte(`{"Ethernet0":{"index":"1"},"Ethernet4":{}}`)
	f.Add(ports, []byte(`{"Ethernet0|3":{"scheduler":"a"},"Ethernet0|4":{"scheduler":"b"},"Ethernet4|3-4":{"scheduler":"[SCHEDULER|c]"}}`),
		[]byte(`{"a":{"type":"DWRR","weight":"10"},"b":{"type":"DWRR","weight":"100","meter_type":"bytes"},"c":{"type":"DWRR","weight":"3"}}`), []byte(`{"oid:0x1":{"SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT":"10","SAI_SCHEDULER_ATTR_SCHEDULING_TYPE":"SAI_SCHEDULING_TYPE_DWRR"}}`), uint8(1), uint8(3), uint8(7))
	f.Add(ports, []byte(`{"Ethernet0|3":{"scheduler":"a"},"Ethernet0,Ethernet4|4":{"scheduler":"a"}}`), []byte(`{"a":{"type":"DWRR","weight":"0"}}`), []byte(`{}`), uint8(2), uint8(4), uint8(1))
	f.Add(ports, []byte(`{"h|asic0|Ethernet0|3":{"scheduler":"a"},"CPU|3":{"scheduler":"a"}}`), []byte(`{"a":{"type":"STRICT","priority":"1"},"b":{"weight":"x"}}`), []byte(`{"x":{"SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT":"999"}}`), uint8(1), uint8(0), uint8(100))
	f.Fuzz(func(t *testing.T, ports, queues, schedulers, asic []byte, port, queue, weight uint8) {
		want := qos.QueueWeight{Port: ident.PortNum(1 + port%2), Queue: queue % 8, Weight: 1 + weight%100}
		before, after, err := gnmi.PlanWeights(ports, queues, schedulers, asic, 2, want)
		if err != nil {
			return
		}
		legal(t, before, switchDevice("leaf-1", 2))
		legal(t, after, switchDevice("leaf-1", 2))
		if got, ok := after.Queues.Weight(want.Port, want.Queue); !ok || got != want.Weight {
			t.Errorf("queue %d/%d has weight %d, want %d", want.Port, want.Queue, got, want.Weight)
		}
	})
}

// FuzzOpenConfigWeights checks the same for the inputs of scheduler policies.
func FuzzOpenConfigWeights(f *testing.F) {
	f.Add([]byte(`{"interface":[{"interface-id":"Ethernet0","output":{"scheduler-policy":{"config":{"name":"p"}}}}]}`),
		[]byte(`{"scheduler-policy":[{"name":"p","schedulers":{"scheduler":[{"sequence":1,"inputs":{"input":[{"id":"3","config":{"queue":"3","weight":"5"},"state":{"weight":"5"}}]}}]}}]}`), uint8(3), uint8(9))
	f.Add([]byte(`{"interface":[{"interface-id":"x1","output":{"scheduler-policy":{"config":{"name":"p"}}}}]}`),
		[]byte(`{"scheduler-policy":[{"name":"p","schedulers":{"scheduler":[{"sequence":1,"config":{"priority":"STRICT"},"inputs":{"input":[{"id":"a","config":{"queue":"3"}},{"id":"b","config":{"queue":"Ethernet0:3","weight":"900"}}]}}]}}]}`), uint8(3), uint8(9))
	f.Fuzz(func(t *testing.T, interfaces, policies []byte, queue, weight uint8) {
		want := qos.QueueWeight{Port: 1, Queue: queue % 8, Weight: 1 + weight%100}
		before, after, err := gnmi.PlanOpenConfigWeights(interfaces, policies, 1, want)
		if err != nil {
			return
		}
		legal(t, before, switchDevice("spine-1", 1))
		legal(t, after, switchDevice("spine-1", 1))
		if got, ok := after.Queues.Weight(1, want.Queue); !ok || got != want.Weight {
			t.Errorf("queue %d has weight %d, want %d", want.Queue, got, want.Weight)
		}
	})
}
