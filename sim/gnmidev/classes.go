package gnmidev

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/qos"
	"fairlane/sim/plane"
	"fairlane/subnet/ident"
)

// maxClasses leaves one queue for notifications.
const maxClasses = plane.Priorities - 1

// checkClasses returns an error for classes out of range, or two with one DSCP or queue.
func checkClasses(list []qos.TrafficClass) error {
	if len(list) > maxClasses {
		return fmt.Errorf("%d classes of traffic, want at most %d", len(list), maxClasses)
	}
	for i, c := range list {
		if err := c.Validate(); err != nil {
			return fmt.Errorf("class of traffic %d: %w", i, err)
		}
		if slices.ContainsFunc(list[:i], func(o qos.TrafficClass) bool { return o.DSCP == c.DSCP || o.Queue == c.Queue }) {
			return fmt.Errorf("class of traffic %d: DSCP %d or queue %d of another class", i, c.DSCP, c.Queue)
		}
	}
	return nil
}

// classes returns the classes of RoCE traffic.
func (w *Switch) classes() []qos.TrafficClass {
	if len(w.o.Classes) > 0 {
		return w.o.Classes
	}
	return []qos.TrafficClass{{DSCP: plane.RoCEDSCP, Queue: plane.RoCEPriority}}
}

// lossless returns the queues with pause, ascending.
func (w *Switch) lossless() []uint8 {
	var out []uint8
	for _, c := range w.classes() {
		out = append(out, c.Queue)
	}
	slices.Sort(out)
	return out
}

// notifications returns the queue of notification packets: the usual one, or the highest that no class has.
func notifications(classes []qos.TrafficClass) uint8 {
	taken := func(q uint8) bool {
		return slices.ContainsFunc(classes, func(c qos.TrafficClass) bool { return c.Queue == q })
	}
	if !taken(plane.CNPPriority) {
		return plane.CNPPriority
	}
	q := uint8(plane.Priorities - 1)
	for taken(q) { // at most maxClasses are
		q--
	}
	return q
}

// byClass repeats a marking of one queue of each port for the queue of each class.
func byClass(marking []ecn.QueueMarking, classes []qos.TrafficClass) []ecn.QueueMarking {
	if len(classes) == 0 {
		return marking
	}
	var out []ecn.QueueMarking
	for _, m := range marking {
		for _, c := range classes {
			out = append(out, ecn.QueueMarking{Port: m.Port, Queue: c.Queue, Marking: m.Marking})
		}
	}
	return out
}

// Weights returns the weights of the switch's queues that are in force, by port and queue: those with a DWRR scheduler.
func (w *Switch) Weights() []qos.QueueWeight {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []qos.QueueWeight
	for i := range w.ports {
		w.eachQueueOf(w.ports[i].Name, func(q int, f fields) {
			s := w.acting[f["scheduler"]]
			if v, ok := s.count("weight"); ok && s["type"] == "DWRR" {
				out = append(out, qos.QueueWeight{Port: ident.PortNum(i + 1), Queue: uint8(q), Weight: uint8(v)}) // at most 7 and 100
			}
		})
	}
	return out
}

// PutWeights changes the weights of queues, as a second manager does. The change is not saved.
func (w *Switch) PutWeights(list []qos.QueueWeight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	after := w.running.clone()
	for _, q := range list {
		name := w.ports[q.Port-1].Name
		own := w.ownScheduler(after, name, int(q.Queue))
		own["weight"] = strconv.Itoa(int(q.Weight))
	}
	w.commit(after, false)
}

// ownScheduler returns the scheduler of a queue, as a row of its own if others refer to the same row.
func (w *Switch) ownScheduler(d database, port string, queue int) fields {
	f := w.split(d, port, queue)
	users := 0
	for _, of := range []string{"QUEUE", qosTable} {
		for key, other := range d[of] {
			if other["scheduler"] != f["scheduler"] {
				continue
			}
			users++
			if _, first, last, ok := splitQueues(key); ok && of == "QUEUE" {
				users += last - first
			}
		}
	}
	s := d[schedulerTable][f["scheduler"]]
	if users <= 1 && s != nil {
		return s
	}
	own := maps.Clone(s)
	if own == nil {
		own = fields{"type": "DWRR"}
	}
	f["scheduler"] = "fairlane_" + port + "_" + strconv.Itoa(queue)
	d.put(schedulerTable, f["scheduler"], own)
	return own
}

// schedulers returns the schedulers that the ASIC has for the configuration. The orchestration agent ignores a row with a field that it does not know, such as
// priority: an existing scheduler then stays as it was.
func (w *Switch) schedulers() table {
	out := table{}
	for name, f := range w.running[schedulerTable] {
		if _, unknown := f["priority"]; unknown {
			if f = w.acting[name]; f == nil {
				continue
			}
		}
		out[name] = maps.Clone(f)
	}
	return out
}

// asicSchedulers is the table of the schedulers of the ASIC.
const asicSchedulers = "ASIC_STATE:SAI_OBJECT_TYPE_SCHEDULER"

// asicTable returns the objects of a type of the ASIC.
func (w *Switch) asicTable(name string) table {
	if name != asicSchedulers {
		return nil
	}
	out := table{}
	for i, key := range slices.Sorted(maps.Keys(w.acting)) {
		f := fields{"SAI_SCHEDULER_ATTR_SCHEDULING_TYPE": "SAI_SCHEDULING_TYPE_" + w.acting[key]["type"]}
		if v, ok := w.acting[key]["weight"]; ok {
			f["SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT"] = v
		}
		out[oid(oidSched, i+1)] = f
	}
	return out
}

// Flaps returns the number of ports that patches have taken down: the updater disables a port while its queues, maps or buffers change.
func (w *Switch) Flaps() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flaps
}

// takesDown returns the number of ports that the updater disables for changed entries.
func (w *Switch) takesDown(entries [][2]string) int {
	down := map[string]bool{}
	for _, e := range entries {
		names := e[1]
		switch e[0] {
		case "QUEUE", "BUFFER_PG", "BUFFER_QUEUE":
			names, _, _, _ = splitQueues(e[1])
		case qosTable:
		default:
			continue
		}
		for _, name := range splitNames(names) {
			if w.index[name] > 0 {
				down[name] = true
			}
		}
	}
	return len(down)
}

// classDCB returns the DCB state of hosts that are provisioned for classes: trust DSCP, each class's DSCP to the priority and traffic class of its number, with pause and an
// equal share; notifications in the strict class of their queue on switches.
func classDCB(classes []qos.TrafficClass) *dcbnl.IEEE {
	o := defaultDCB()
	cnp := notifications(classes)
	o.Apps = []dcbnl.App{{Selector: dcbnl.SelectorDSCP, Priority: cnp, Protocol: plane.CNPDSCP}}
	o.PFC.Enabled, o.ETS.TxBW = 0, [8]uint8{}
	for tc := range o.ETS.TSA {
		o.ETS.TSA[tc] = nicparam.TSAETS
	}
	o.ETS.TSA[cnp] = nicparam.TSAStrict
	equal := make([]float64, len(classes))
	for i := range equal {
		equal[i] = 1
	}
	for i, percent := range qos.Percents(equal) {
		c := classes[i]
		o.Apps = append(o.Apps, dcbnl.App{Selector: dcbnl.SelectorDSCP, Priority: c.Queue, Protocol: uint16(c.DSCP)})
		o.PFC.Enabled |= 1 << c.Queue
		o.ETS.TxBW[c.Queue] = percent
	}
	return o
}
