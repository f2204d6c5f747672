package gnmidev

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/quantity"
	"fairlane/sim/plane"
)

// Databases of a switch.
const (
	configDB   = "CONFIG_DB"
	applDB     = "APPL_DB"
	asicDB     = "ASIC_DB"
	stateDB    = "STATE_DB"
	countersDB = "COUNTERS_DB"
)

func databases() []string { return []string{applDB, asicDB, configDB, countersDB, stateDB} }

// Object types in object IDs (SAI).
const (
	oidPort  = 0x1
	oidQueue = 0x15
	oidGroup = 0x1a
	oidSched = 0x16
)

func oid(kind, number int) string {
	return "oid:0x" + strconv.FormatInt(int64(kind)<<48|int64(number), 16)
}

func (w *Switch) portOID(port int) string { return oid(oidPort, port) }
func (w *Switch) queueOID(port, q int) string {
	return oid(oidQueue, (port-1)*plane.Priorities+q+1)
}
func (w *Switch) groupOID(port, g int) string {
	return oid(oidGroup, (port-1)*plane.Priorities+g+1)
}

// tableNames returns the tables of a database. Callers of this method and of all methods below hold the lock.
func (w *Switch) tableNames(db string) []string {
	switch db {
	case configDB:
		return slices.Sorted(maps.Keys(w.running))
	case applDB:
		return []string{"BUFFER_PG_TABLE", "BUFFER_POOL_TABLE", "BUFFER_PROFILE_TABLE", "BUFFER_QUEUE_TABLE", "PORT_TABLE"}
	case asicDB:
		return []string{asicSchedulers}
	case stateDB:
		return []string{"PORT_COUNTER_CAPABILITIES", "PORT_TABLE", "QUEUE_COUNTER_CAPABILITIES"}
	}
	return []string{
		"COUNTERS", "COUNTERS_PG_NAME_MAP", "COUNTERS_PORT_NAME_MAP", "COUNTERS_QUEUE_NAME_MAP", "PERIODIC_WATERMARKS", "PERSISTENT_WATERMARKS", "RATES",
	}
}

// tableOf returns a table of a database, or nil if it does not exist.
func (w *Switch) tableOf(db, name string) table {
	switch db {
	case configDB:
		return w.running[name]
	case applDB:
		return w.applTable(name)
	case asicDB:
		return w.asicTable(name)
	case stateDB:
		return w.stateTable(name)
	}
	return w.countersTable(name)
}

// applTable returns a table of the buffer and port managers, derived from the configuration.
func (w *Switch) applTable(name string) table {
	if name == "PORT_TABLE" {
		out := table{}
		for i := range w.ports {
			f := maps.Clone(w.running["PORT"][w.ports[i].Name])
			if f == nil {
				continue
			}
			f["oper_status"] = w.operStatus(i + 1)
			out[w.ports[i].Name] = f
		}
		return out
	}
	source, ok := strings.CutSuffix(name, "_TABLE")
	if !ok || !strings.HasPrefix(source, "BUFFER_") || w.running[source] == nil {
		return nil
	}
	out := table{}
	for key, f := range w.running[source] {
		out[strings.ReplaceAll(key, "|", ":")] = f
	}
	return out
}

func (w *Switch) operStatus(port int) string {
	if _, still := w.o.Plane.(*StillSwitch); still || w.o.Plane.Measure(port).Up {
		return "up"
	}
	return "down"
}

// stateTable returns the state of ports, and the counting capabilities of the ASIC.
func (w *Switch) stateTable(name string) table {
	yes := func(b bool) fields { return fields{"isSupported": strconv.FormatBool(b)} }
	switch name {
	case "PORT_TABLE":
		out := table{}
		for i := range w.ports {
			p := &w.ports[i]
			out[p.Name] = fields{
				"state": "ok", "netdev_oper_status": w.operStatus(i + 1), "admin_status": "up", "mtu": "9100",
				"speed": strconv.FormatInt(int64(p.Speed/quantity.Mbps), 10), "supported_fecs": "none,rs",
			}
		}
		return out
	case "QUEUE_COUNTER_CAPABILITIES":
		return table{
			"WRED_ECN_QUEUE_ECN_MARKED_PKT_COUNTER": yes(!w.o.NoECNCounters), "WRED_ECN_QUEUE_ECN_MARKED_BYTE_COUNTER": yes(false),
			"WRED_ECN_QUEUE_WRED_DROPPED_PKT_COUNTER": yes(!w.o.NoECNCounters), "WRED_ECN_QUEUE_WRED_DROPPED_BYTE_COUNTER": yes(!w.o.NoECNCounters),
		}
	case "PORT_COUNTER_CAPABILITIES":
		return table{
			"WRED_ECN_PORT_WRED_GREEN_DROP_COUNTER": yes(!w.o.NoECNCounters), "WRED_ECN_PORT_WRED_YELLOW_DROP_COUNTER": yes(!w.o.NoECNCounters),
			"WRED_ECN_PORT_WRED_RED_DROP_COUNTER": yes(!w.o.NoECNCounters), "WRED_ECN_PORT_WRED_TOTAL_DROP_COUNTER": yes(!w.o.NoECNCounters),
		}
	}
	return nil
}

// countersTable returns a table of counters by object ID, as in the database. The name maps refer to these IDs.
func (w *Switch) countersTable(name string) table {
	out := table{}
	switch name {
	case "COUNTERS_PORT_NAME_MAP":
		f := fields{}
		for i := range w.ports {
			f[w.ports[i].Name] = w.portOID(i + 1)
		}
		out[""] = f
	case "COUNTERS_QUEUE_NAME_MAP":
		f := fields{}
		w.eachQueue(func(port, q int, key string) { f[key] = w.queueOID(port, q) })
		out[""] = f
	case "COUNTERS_PG_NAME_MAP":
		f := fields{}
		w.eachQueue(func(port, q int, key string) { f[key] = w.groupOID(port, q) })
		out[""] = f
	case "COUNTERS":
		for i := range w.ports {
			out[w.portOID(i+1)] = w.portFields(i + 1)
			for g := range plane.Priorities {
				out[w.groupOID(i+1, g)] = w.groupFields(i+1, g)
			}
		}
		w.eachQueue(func(port, q int, _ string) { out[w.queueOID(port, q)] = w.queueFields(port, q) })
	case "PERIODIC_WATERMARKS", "PERSISTENT_WATERMARKS":
		w.eachQueue(func(port, q int, _ string) { out[w.queueOID(port, q)] = w.watermark(name, port, q) })
	case "RATES":
		for i := range w.ports {
			out[w.portOID(i+1)] = w.rateFields(i + 1)
		}
	default:
		return nil
	}
	return out
}

// eachQueue calls do with each queue of each port and its name in the maps.
func (w *Switch) eachQueue(do func(port, q int, key string)) {
	for i := range w.ports {
		for q := range plane.Priorities {
			do(i+1, q, w.ports[i].Name+":"+strconv.Itoa(q))
		}
	}
}

func put(f fields, name string, v uint64) { f[name] = strconv.FormatUint(v, 10) }

// portFields returns the counters of a port. WRED counters require their polling group.
func (w *Switch) portFields(port int) fields {
	f := fields{}
	if p := w.poll(portGroup, port); p != nil {
		c := &p.now
		put(f, "SAI_PORT_STAT_IF_IN_OCTETS", c.RxOctets)
		put(f, "SAI_PORT_STAT_IF_IN_UCAST_PKTS", c.RxPackets)
		put(f, "SAI_PORT_STAT_IF_IN_DISCARDS", c.InDrops)
		put(f, "SAI_PORT_STAT_IF_IN_ERRORS", 0)
		put(f, "SAI_PORT_STAT_IF_OUT_OCTETS", c.TxOctets)
		put(f, "SAI_PORT_STAT_IF_OUT_UCAST_PKTS", c.TxPackets)
		put(f, "SAI_PORT_STAT_IF_OUT_ERRORS", 0)
		drops := uint64(0)
		for q := range c.Queues {
			drops += c.Queues[q].Drops
			prefix := "SAI_PORT_STAT_PFC_" + strconv.Itoa(q)
			put(f, prefix+"_RX_PKTS", c.PausesReceived[q])
			put(f, prefix+"_TX_PKTS", c.PausesSent[q])
		}
		put(f, "SAI_PORT_STAT_IF_OUT_DISCARDS", drops)
	}
	if w.o.NoECNCounters {
		return f
	}
	if p := w.poll(ecnPortGroup, port); p != nil { // RoCE packets are marked and never dropped by WRED
		for _, colour := range []string{"GREEN_", "YELLOW_", "RED_", ""} {
			put(f, "SAI_PORT_STAT_"+colour+"WRED_DROPPED_PACKETS", 0)
		}
	}
	return f
}

// queueFields returns the counters of a queue. No simulated ASIC counts marked bytes.
func (w *Switch) queueFields(port, q int) fields {
	f := fields{}
	if p := w.poll(queueGroup, port); p != nil {
		c := &p.now.Queues[q]
		put(f, "SAI_QUEUE_STAT_PACKETS", c.Packets)
		put(f, "SAI_QUEUE_STAT_BYTES", c.Octets)
		put(f, "SAI_QUEUE_STAT_DROPPED_PACKETS", c.Drops)
		put(f, "SAI_QUEUE_STAT_DROPPED_BYTES", c.DroppedBytes)
	}
	maps.Copy(f, w.watermark("COUNTERS", port, q))
	if w.o.NoECNCounters {
		return f
	}
	if p := w.poll(ecnQueueGroup, port); p != nil {
		put(f, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", p.now.Queues[q].Marks)
		put(f, "SAI_QUEUE_STAT_WRED_DROPPED_PACKETS", 0)
		put(f, "SAI_QUEUE_STAT_WRED_DROPPED_BYTES", 0)
	}
	return f
}

// watermark returns the largest number of bytes in a queue: since the start, or in the last period. For a period, it is the
// peak since the start if the peak rose in that period, and otherwise the queue length at the end of the period.
func (w *Switch) watermark(of string, port, q int) fields {
	p := w.poll(watermarkGroup, port)
	if p == nil {
		return fields{}
	}
	c := &p.now.Queues[q]
	peak := c.Peak
	if of == "PERIODIC_WATERMARKS" && peak == p.was.Queues[q].Peak {
		peak = c.Bytes
	}
	f := fields{}
	put(f, "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", uint64(max(0, peak)))
	return f
}

// groupFields returns the counters of a priority group: packets dropped for lack of buffer, by their queue number. The fabric
// does not report the fill level of groups, so group watermarks are missing.
func (w *Switch) groupFields(port, g int) fields {
	p := w.poll(dropGroup, port)
	if p == nil {
		return fields{}
	}
	f := fields{}
	put(f, "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", p.now.GroupDrops[g])
	return f
}

// rateFields returns the rates of a port between its last two readings, in bytes and packets per second.
func (w *Switch) rateFields(port int) fields {
	p := w.poll(portGroup, port)
	if p == nil || p.before.IsZero() || !p.at.After(p.before) {
		return fields{}
	}
	span := p.at.Sub(p.before).Seconds()
	rate := func(now, was uint64) string {
		return strconv.FormatFloat(float64(now-was)/span, 'f', -1, 64)
	}
	return fields{
		"RX_BPS": rate(p.now.RxOctets, p.was.RxOctets), "TX_BPS": rate(p.now.TxOctets, p.was.TxOctets),
		"RX_PPS": rate(p.now.RxPackets, p.was.RxPackets), "TX_PPS": rate(p.now.TxPackets, p.was.TxPackets),
	}
}

// pfcwdFields returns the PFC watchdog state of a queue: it is operational, and the fabric has no storms.
func (w *Switch) pfcwdFields(port, q int) fields {
	name := w.ports[port-1].Name
	if w.running[watchdog][name] == nil || !strings.Contains(w.running["PORT_QOS_MAP"][name]["pfcwd_sw_enable"], strconv.Itoa(q)) {
		return nil
	}
	f := fields{"PFC_WD_STATUS": "operational"}
	for _, n := range []string{"DEADLOCK_DETECTED", "DEADLOCK_RESTORED", "TX_PACKETS", "TX_DROPPED_PACKETS", "RX_PACKETS", "RX_DROPPED_PACKETS"} {
		put(f, "PFC_WD_QUEUE_STATS_"+n, 0)
	}
	return f
}
