package gnmidev

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlane/sim/plane"
)

// servicePorts returns the class-of-service settings of the ports, in port order. The caller holds the lock. As on hardware,
// a packet without a map entry is in class 0, and class n without a map entry uses queue n; the row "global" applies to ports
// without a row.
func (w *Switch) servicePorts() []plane.SwitchPort {
	out := make([]plane.SwitchPort, len(w.ports))
	known := map[queueMaps][plane.DSCPs]uint8{} // most ports have the same maps
	for i := range out {
		p := &out[i]
		m := w.mapsOf(w.ports[i].Name)
		queues, ok := known[m]
		if !ok {
			queues = w.queuesBy(m)
			known[m] = queues
		}
		p.Queues = queues
		for _, digit := range strings.Split(w.running[qosTable][w.ports[i].Name]["pfc_enable"], ",") {
			if prio, err := strconv.Atoi(digit); err == nil && prio >= 0 && prio < plane.Priorities {
				p.PFC |= 1 << prio
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.running["QUEUE"])) {
		f := w.running["QUEUE"][key]
		names, first, last, ok := splitQueues(key)
		s := w.acting[f["scheduler"]]
		if !ok || s == nil {
			continue
		}
		for _, name := range splitNames(names) {
			for q := first; q <= min(last, plane.Priorities-1) && w.index[name] > 0; q++ {
				out[w.index[name]-1].Service[q] = serviceBy(s)
			}
		}
	}
	return out
}

// qosTable is the table of the ports' maps.
const qosTable = "PORT_QOS_MAP"

// queueMaps are the maps of a port: from DSCP to class, and from class to queue.
type queueMaps struct{ class, queue string }

func (w *Switch) mapsOf(name string) queueMaps {
	of := func(field string) string {
		if m := w.running[qosTable][name][field]; m != "" {
			return m
		}
		return w.running[qosTable]["global"][field]
	}
	return queueMaps{of("dscp_to_tc_map"), of("tc_to_queue_map")}
}

// queuesBy returns the queues by DSCP for a port's maps.
func (w *Switch) queuesBy(m queueMaps) (queues [plane.DSCPs]uint8) {
	class, queue := w.running["DSCP_TO_TC_MAP"][m.class], w.running["TC_TO_QUEUE_MAP"][m.queue]
	for dscp := range queues {
		tc, _ := class.count(strconv.Itoa(dscp))
		q, ok := queue.count(strconv.FormatInt(tc, 10))
		if !ok {
			q = tc
		}
		queues[dscp] = uint8(max(0, min(q, plane.Priorities-1)))
	}
	return queues
}

// serviceBy returns the scheduling of a queue by a scheduler. WRR counts packets, which all have the same size here.
func serviceBy(s fields) plane.QueueService {
	weight, _ := s.count("weight")
	return plane.QueueService{Strict: s["type"] == "STRICT", Weight: uint8(max(1, min(weight, 100)))}
}
