package gnmidev

import (
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/ecn"
	"fairlane/internal/quantity"
	"fairlane/sim/plane"
	"fairlane/subnet/ident"
)

// stockMarking is SONiC's default for the profile AZURE_LOSSLESS at 100 Gbit/s.
var stockMarking = ecn.Marking{Min: 1048576, Max: 2097152, PMaxPct: 5}

// fabricConfig returns the configuration of a switch in a RoCE fabric: DSCP 26 maps to class 3 and queue 3, which has pause
// and marking; DSCP 48, for CNPs, maps to class 6, which has strict priority.
func (w *Switch) fabricConfig(marking []ecn.QueueMarking) (database, error) {
	d := database{}
	d.put(metadataTable, instance, fields{"hwsku": "simulated", "platform": "x86_64-simulated-r0", "hostname": hostName(w.name), "type": "LeafRouter", "asic_type": w.o.ASIC})
	for i := range w.ports {
		p := &w.ports[i]
		d.put("PORT", p.Name, fields{
			"alias": "etp" + strconv.Itoa(i+1), "index": strconv.Itoa(i + 1), "lanes": strconv.Itoa(4*i) + "," + strconv.Itoa(4*i+1) + "," + strconv.Itoa(4*i+2) + "," + strconv.Itoa(4*i+3),
			"speed": strconv.FormatInt(int64(p.Speed/quantity.Mbps), 10), "mtu": "9100", "admin_status": "up", "pfc_asym": "off",
		})
		w.portConfig(d, p.Name)
	}
	maps8 := func(from func(int) string, to func(int) string, n int) fields {
		f := fields{}
		for i := range n {
			f[from(i)] = to(i)
		}
		return f
	}
	same := strconv.Itoa
	d.put("TC_TO_QUEUE_MAP", "AZURE", maps8(same, same, plane.Priorities))
	d.put("TC_TO_PRIORITY_GROUP_MAP", "AZURE", maps8(same, func(i int) string {
		if slices.Contains(w.lossless(), uint8(i)) { // at most 7
			return same(i)
		}
		return "0"
	}, plane.Priorities))
	d.put("MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", maps8(same, same, plane.Priorities))
	dscp := maps8(same, func(int) string { return "0" }, 64)
	dscp["48"] = same(int(notifications(w.o.Classes)))
	for _, c := range w.classes() {
		dscp[same(int(c.DSCP))] = same(int(c.Queue))
	}
	d.put("DSCP_TO_TC_MAP", "AZURE", dscp)
	d.put("SCHEDULER", "scheduler.0", fields{"type": "DWRR", "weight": "50"})
	d.put("SCHEDULER", "scheduler.1", fields{"type": "DWRR", "weight": "50"})
	d.put("SCHEDULER", "scheduler.2", fields{"type": "STRICT"})
	d.put(poolTable, "ingress_lossless_pool", fields{"type": "ingress", "mode": "dynamic", "size": "136200192", "xoff": "31457280"})
	d.put(poolTable, "egress_lossless_pool", fields{"type": "egress", "mode": "static", "size": "169867264"})
	d.put(poolTable, "egress_lossy_pool", fields{"type": "egress", "mode": "dynamic", "size": "136200192"})
	d.put(profileTable, "pg_lossless", fields{"pool": "ingress_lossless_pool", "size": "18432", "dynamic_th": "0", "xon": "18432", "xoff": "165888"})
	d.put(profileTable, "ingress_lossy_profile", fields{"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"})
	d.put(profileTable, "egress_lossless_profile", fields{"pool": "egress_lossless_pool", "size": "0", "static_th": "169867264"})
	d.put(profileTable, "egress_lossy_profile", fields{"pool": "egress_lossy_pool", "size": "1024", "dynamic_th": "3"})
	d.put(watchdog, "GLOBAL", fields{"POLL_INTERVAL": "200"})
	w.countersConfig(d)
	if len(marking) == 0 {
		for i := range w.ports {
			marking = append(marking, ecn.QueueMarking{Port: ident.PortNum(i + 1), Queue: plane.RoCEPriority, Marking: stockMarking}) // port numbers are at most maxPorts
		}
		marking = byClass(marking, w.o.Classes)
	}
	for _, q := range marking {
		if err := q.Validate(); err != nil {
			return nil, err
		}
	}
	w.mark(d, marking)
	return d, nil
}

// portConfig adds the configuration of one port.
func (w *Switch) portConfig(d database, name string) {
	var lossless []string
	for _, q := range w.lossless() {
		lossless = append(lossless, strconv.Itoa(int(q)))
	}
	d.put("PORT_QOS_MAP", name, fields{
		"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE", "pfc_to_queue_map": "AZURE",
		"pfc_enable": strings.Join(lossless, ","), "pfcwd_sw_enable": strings.Join(lossless, ","),
	})
	d.put("BUFFER_PG", name+"|0", fields{"profile": "ingress_lossy_profile"})
	for q := range plane.Priorities {
		number := strconv.Itoa(q)
		scheduler, buffer := "scheduler.0", "egress_lossy_profile"
		switch {
		case len(w.o.Classes) > 0 && slices.Contains(w.lossless(), uint8(q)): // at most 7
			scheduler = "fairlane_" + name + "_" + number
			d.put(schedulerTable, scheduler, fields{"type": "DWRR", "weight": "10"})
		case q == plane.RoCEPriority && len(w.o.Classes) == 0:
			scheduler = "scheduler.1"
		case q == int(notifications(w.o.Classes)):
			scheduler = "scheduler.2"
		}
		if slices.Contains(w.lossless(), uint8(q)) {
			buffer = "egress_lossless_profile"
			d.put("BUFFER_PG", name+"|"+number, fields{"profile": "pg_lossless"})
		}
		d.put("QUEUE", name+"|"+number, fields{"scheduler": scheduler})
		if len(w.o.Classes) > 0 {
			d.put("BUFFER_QUEUE", name+"|"+number, fields{"profile": buffer})
		}
	}
	if len(w.o.Classes) == 0 {
		d.put("BUFFER_QUEUE", name+"|0-2", fields{"profile": "egress_lossy_profile"})
		d.put("BUFFER_QUEUE", name+"|"+strconv.Itoa(plane.RoCEPriority), fields{"profile": "egress_lossless_profile"})
		d.put("BUFFER_QUEUE", name+"|4-7", fields{"profile": "egress_lossy_profile"})
	}
	d.put(watchdog, name, fields{"action": "drop", "detection_time": "200", "restoration_time": "200"})
	d.entry("CABLE_LENGTH", "AZURE")[name] = "5m"
}

// countersConfig adds the configuration of counter polling: the groups and their intervals.
func (w *Switch) countersConfig(d database) {
	queues := "10000"
	if w.o.QueuePolling > 0 {
		queues = strconv.FormatInt(max(100, w.o.QueuePolling.Milliseconds()), 10)
	}
	d.put(flexTable, "PORT", fields{flexStatus: "enable", flexInterval: "1000"})
	d.put(flexTable, "QUEUE", fields{flexStatus: "enable", flexInterval: queues})
	d.put(flexTable, "QUEUE_WATERMARK", fields{flexStatus: "enable", flexInterval: "60000"})
	d.put(flexTable, "PG_DROP", fields{flexStatus: "enable", flexInterval: "10000"})
	d.put(flexTable, "PFCWD", fields{flexStatus: "enable"})
}

// metadataTable is the table with a switch's name.
const metadataTable = "DEVICE_METADATA"

// hostname returns the configured host name of the switch, or an empty string.
func (d database) hostname() string { return d[metadataTable][instance]["hostname"] }

// hostName converts a switch's name to a valid host name.
func hostName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, s)
}

func splitNames(s string) []string { return strings.Split(s, ",") }
