package gnmi

import (
	"context"
	"fmt"
	"maps"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/qos"
	"fairlane/subnet/ident"
)

// Internals for the tests of decoders and plans.
var (
	ParseTable    = parseTable
	ParseQueueKey = parseQueueKey
	CompareNames  = compareNames
	SharedElems   = sharedElems
)

// DecodePort reads the two answers about a port's configuration.
func DecodePort(port, card []byte) (driver.Settings, error) {
	o := &observed{place: place{nic: "a", port: 1}, settings: &driver.NICState{}, names: map[string]string{}}
	val := func(b []byte) *gpb.TypedValue {
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: b}}
	}
	at := gnmitree.PathOf("nics").Child("nic", gnmitree.Key{Name: "name", Value: "a"}).Child("params").Child("param", gnmitree.Key{Name: "index", Value: "0"}, gnmitree.Key{Name: "name", Value: "x"})
	err := o.decode([]answer{{updates: []*gpb.Update{{Val: val(port)}}}, {updates: []*gpb.Update{{Path: at.Proto(), Val: val(card)}}}})
	return driver.Settings{NIC: o.settings}, err
}

// ScanPort decodes a port's configuration by the fast scanner and by the complete decoder; ok reports whether the
// scanner accepted it.
func ScanPort(text []byte) (fast, slow driver.Settings, ok bool, err error) {
	names := map[string]string{}
	_, _, ok = scanParams(text, names)
	a := &observed{place: place{nic: "a", port: 1}, settings: &driver.NICState{}, names: names}
	b := &observed{place: place{nic: "a", port: 1}, settings: &driver.NICState{}}
	scanned, err := a.scanPort(text), b.decodePort(text)
	if (scanned == nil) != (err == nil) {
		err = fmt.Errorf("scanned with error %w, decoded with %w", scanned, err)
	}
	return driver.Settings{NIC: a.settings}, driver.Settings{NIC: b.settings}, ok, err
}

// DecodeMarking reads SONiC's tables.
func DecodeMarking(ports, queues, profiles []byte, n int) (driver.Settings, error) {
	t := map[string]table{}
	for name, text := range map[string][]byte{"PORT": ports, "QUEUE": queues, "WRED_PROFILE": profiles} {
		var err error
		if t[name], err = parseTable(text); err != nil {
			return driver.Settings{}, err
		}
	}
	m, err := parseMarking(t, n, asicPlace{instance: instance})
	if err != nil {
		return driver.Settings{}, err
	}
	return driver.Settings{Queues: &driver.QueueState{Marking: m.observed()}}, nil
}

// DecodeOpenConfig reads the trees of interfaces and profiles.
func DecodeOpenConfig(interfaces, profiles []byte, n int) (driver.Settings, error) {
	var tree ocQoS
	val := func(b []byte) answer {
		return answer{updates: []*gpb.Update{{Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: b}}}}}
	}
	if err := unqualified(val(interfaces), &tree.Interfaces); err != nil {
		return driver.Settings{}, err
	}
	if err := unqualified(val(profiles), &tree.Profiles); err != nil {
		return driver.Settings{}, err
	}
	m, err := tree.marking(n)
	if err != nil {
		return driver.Settings{}, err
	}
	return driver.Settings{Queues: &driver.QueueState{Marking: m.observed()}}, nil
}

// Model is a switch's marking for tests of plans: the rule of each profile, and the profile of each queue.
type Model struct {
	Profiles map[string]ecn.Marking
	Queues   map[[2]uint8]string // by port and queue; port 0 is not ours
	Stock    string
}

// Plan computes the changes that lead to want and applies them to the model. guardRejects reports whether a guarded switch
// would reject them.
func (m *Model) Plan(want []ecn.QueueMarking) (changes int, guardRejects bool, err error) {
	s := &markingState{profiles: map[string]profile{}, stock: m.Stock}
	for name, rule := range m.Profiles {
		s.profiles[name] = profile{marking: rule, marks: true}
	}
	for _, k := range slices.SortedFunc(maps.Keys(m.Queues), func(a, b [2]uint8) int { return slices.Compare(a[:], b[:]) }) {
		s.slots = append(s.slots, slot{queueKey{numberOf(ident.PortNum(k[0]), int(k[1])), k[1]}, "q", m.Queues[k]})
	}
	p, err := s.planFor(want)
	if err != nil {
		return 0, false, err
	}
	for _, set := range []map[string]ecn.Marking{p.change, p.create} {
		maps.Copy(m.Profiles, set)
	}
	for k, name := range p.refer {
		m.Queues[[2]uint8{uint8(k.port), k.queue}] = name
	}
	return len(p.refer) + len(p.change) + len(p.create), p.guardRejects(m.Stock), nil
}

// JudgeTables reads SONiC's tables and checks them as Preflight does.
func JudgeTables(ports, queues, schedulers, portMaps []byte, n int) ([]PortSchedule, []Finding, error) {
	t := map[string]table{}
	for name, text := range map[string][]byte{"PORT": ports, "QUEUE": queues, "SCHEDULER": schedulers, "PORT_QOS_MAP": portMaps} {
		var err error
		if t[name], err = parseTable(text); err != nil {
			return nil, nil, err
		}
	}
	m, err := parseMarking(t, n, asicPlace{instance: instance})
	if err != nil {
		return nil, nil, err
	}
	var f findings
	f.sonic(m, t, map[string]bool{}, Expectation{DSCP: 26, Queue: 3, Lossless: true}, n)
	return m.scheduling(t, n), f.listed(m.ports[:n]), nil
}

// JudgeOpenConfig reads the trees of interfaces, policies and classifiers and checks them as Preflight does.
func JudgeOpenConfig(interfaces, policies, classifiers []byte, n int) ([]PortSchedule, []Finding, error) {
	var tree ocQoS
	var q ocServing
	for i, into := range []any{&tree.Interfaces, &q.Policies, &q.Classifiers} {
		v := [][]byte{interfaces, policies, classifiers}[i]
		if err := unqualified(answer{updates: []*gpb.Update{{Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: v}}}}}, into); err != nil {
			return nil, nil, err
		}
	}
	m, err := tree.marking(n)
	if err != nil {
		return nil, nil, err
	}
	var f findings
	served := q.scheduling(m, n)
	f.schedules(served, Expectation{DSCP: 26, Queue: 3}, func(port string) int { return q.queueOf(m, port, cnpDSCP) })
	return served, f.listed(m.ports[:n]), nil
}

// PlanWeights reads SONiC's tables, plans one desired weight, and applies the plan to what was read. before and after are the settings
// that a read returns. The error is that of the plan, or of the tables.
func PlanWeights(ports, queues, schedulers, asic []byte, n int, want qos.QueueWeight) (before, after driver.Settings, err error) {
	t := map[string]table{}
	for name, text := range map[string][]byte{"PORT": ports, "QUEUE": queues, "SCHEDULER": schedulers, "ASIC": asic} {
		if t[name], err = parseTable(text); err != nil {
			return before, after, err
		}
	}
	m, err := parseMarking(t, n, asicPlace{instance: instance})
	if err == nil {
		err = m.consistent()
	}
	if err != nil {
		return before, after, err
	}
	countWeights(t["ASIC"])
	before = settingsOf(nil, &m.weights)
	change, err := m.weights.planFor([]qos.QueueWeight{want}, m.queueLabel)
	if err != nil {
		return before, after, err
	}
	m.weights.put(change)
	return before, settingsOf(nil, &m.weights), nil
}

// PlanOpenConfigWeights is PlanWeights for the trees of interfaces and scheduler policies.
func PlanOpenConfigWeights(interfaces, policies []byte, n int, want qos.QueueWeight) (before, after driver.Settings, err error) {
	var tree ocQoS
	var q ocServing
	for i, into := range []any{&tree.Interfaces, &q.Policies} {
		v := [][]byte{interfaces, policies}[i]
		if err := unqualified(answer{updates: []*gpb.Update{{Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: v}}}}}, into); err != nil {
			return before, after, err
		}
	}
	m, err := tree.marking(n)
	if err != nil {
		return before, after, err
	}
	w := q.weights(m, n)
	before = settingsOf(nil, &w.weightState)
	change, err := w.planFor([]qos.QueueWeight{want}, m.queueLabel)
	if err != nil {
		return before, after, err
	}
	w.put(change)
	return before, settingsOf(nil, &w.weightState), nil
}

// put applies changes to the state.
func (s *weightState) put(change map[string]uint8) {
	for name, v := range change {
		o := s.objects[name]
		o.weight, o.acting = v, v
		s.objects[name] = o
	}
}

// NameIn returns the switch's name in an answer with one value.
func NameIn(d Dialect, v *gpb.TypedValue) (string, error) {
	var by switchDialect = &sonicSwitch{}
	if d == OpenConfig {
		by = &openConfig{}
	}
	return by.nameIn(answer{updates: []*gpb.Update{{Val: v}}})
}

// Scheduling reads the schedulers of all ports and queues of a switch, by port. Dangling references, contradictory
// rows and invalid values become faults of their entries, not errors. With openconfig-qos the link's rate is read
// only if a peak rate must be compared with it. Scheduling returns driver.ErrInvalid for devices that are not
// switches.
func (d *Driver) Scheduling(ctx context.Context, dev driver.Device) ([]PortSchedule, error) {
	c, release, err := d.switchOf(ctx, dev)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.scheduling(ctx, dev)
}
