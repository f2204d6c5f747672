package gnmi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/driver"
	"fairlane/internal/quantity"
)

// bitsPerByte converts SONiC's rates, in bytes/s, to bit/s.
const bitsPerByte = 8

func (c *sonic) scheduling(ctx context.Context, dev driver.Device) ([]PortSchedule, error) {
	t, err := c.tables(ctx, dev, configDB, "PORT", "QUEUE", "PORT_QOS_MAP", "SCHEDULER")
	if err != nil {
		return nil, err
	}
	m, err := parseMarking(t, dev.Ports, c.at)
	if err != nil {
		return nil, fmt.Errorf("tables of %s: %w", dev, err)
	}
	return m.scheduling(t, dev.Ports), nil
}

// scheduling converts QUEUE, PORT_QOS_MAP and SCHEDULER for the first ports of a switch.
func (m *sonicMarking) scheduling(t map[string]table, ports int) []PortSchedule {
	out := make([]PortSchedule, ports)
	for i, name := range m.ports[:ports] {
		p := &out[i]
		p.Port, p.Label, p.Link = m.numbers[name], name, speedOf(t["PORT"][name])
		p.NamedScheduler = schedulerOf(t, "PORT_QOS_MAP", t["PORT_QOS_MAP"][name])
	}
	for i := range m.rows {
		r := &m.rows[i]
		named := schedulerOf(t, "QUEUE", r.fields)
		for _, port := range r.ports {
			number := int(m.number(port))
			for q := r.low; q <= r.high && number > 0 && named.Name != ""; q++ {
				out[number-1].Queues = append(out[number-1].Queues, QueueSchedule{NamedScheduler: named, Queue: uint8(q), Rank: uint64(q)}) // at most 255
			}
		}
	}
	for i := range out {
		p := &out[i]
		slices.SortStableFunc(p.Queues, func(a, b QueueSchedule) int { return cmp.Compare(a.Queue, b.Queue) })
		for j := range p.Queues {
			q := &p.Queues[j]
			if rows, ok := m.twice[fmt.Sprintf("%s|%d", p.Label, q.Queue)]; ok {
				q.NamedScheduler = NamedScheduler{Name: q.Name, Fault: FindingTwice, Problem: twiceText(rows)}
			}
		}
		p.Queues = slices.CompactFunc(p.Queues, func(a, b QueueSchedule) bool { return a.Queue == b.Queue })
	}
	return out
}

// speedOf returns the rate of a port from its row, in Mbit/s there; 0 if it is missing or invalid.
func speedOf(r row) quantity.BitRate {
	v, err := strconv.ParseUint(r["speed"], 10, 64)
	if err != nil || v > uint64(quantity.MaxBitRate/quantity.Mbps) {
		return 0
	}
	return quantity.BitRate(v) * quantity.Mbps
}

// schedulerOf returns the scheduler of a row of a table.
func schedulerOf(t map[string]table, of string, r row) NamedScheduler {
	n := NamedScheduler{Name: r.name("scheduler")}
	if n.Name == "" {
		return n
	}
	fields, ok := t["SCHEDULER"][n.Name]
	if !ok {
		n.Fault, n.Problem = FindingDangling, danglingText(of, "scheduler", n.Name, "SCHEDULER")
		return n
	}
	s, err := parseScheduler(fields)
	if err != nil {
		n.Fault, n.Problem = FindingScheduler, fmt.Sprintf("scheduler %s has %v: make a scheduler that has, and refer to it", n.Name, err)
		return n
	}
	n.Scheduler = s
	return n
}

// parseScheduler parses a row of SCHEDULER. Missing fields have SAI's defaults: round robin, weight 1, no limit, rates in
// bytes.
func parseScheduler(r row) (*Scheduler, error) {
	s := &Scheduler{Type: WRR, Weight: 1, Priority: NoPriority}
	switch kind := r["type"]; kind {
	case "STRICT":
		s.Type, s.Weight = Strict, 0
	case "DWRR":
		s.Type = DWRR
	case "WRR", "":
	default:
		return nil, fmt.Errorf("type %q, want DWRR, WRR or STRICT", kind)
	}
	if word, ok := r["weight"]; ok && s.Type != Strict {
		v, err := strconv.ParseUint(word, 10, 8)
		if err != nil || v < 1 || v > 100 {
			return nil, fmt.Errorf("weight %q, want 1 to 100", word)
		}
		s.Weight = v
	}
	if word, ok := r["priority"]; ok {
		v, err := strconv.ParseUint(word, 10, 8)
		if err != nil || v > 9 {
			return nil, fmt.Errorf("priority %q, want 0 to 9", word)
		}
		s.Priority = int(v)
	}
	return s, s.parseRates(r)
}

// parseRates parses the rates of a row.
func (s *Scheduler) parseRates(r row) error {
	var rates [2]uint64
	for i, field := range []string{"cir", "pir"} {
		word, ok := r[field]
		if !ok {
			continue
		}
		v, err := strconv.ParseUint(word, 10, 64)
		if err != nil || v > math.MaxInt64/bitsPerByte {
			return fmt.Errorf("%s %q, want bytes/s up to %d", field, word, uint64(math.MaxInt64/bitsPerByte))
		}
		rates[i] = v
	}
	if rates[1] > 0 && rates[1] < rates[0] {
		return fmt.Errorf("pir %d below cir %d, want it no less", rates[1], rates[0])
	}
	switch meter := r["meter_type"]; meter {
	case "packets":
		s.PeakPackets = rates[1]
	case "bytes", "":
		s.Assured, s.Peak = quantity.BitRate(rates[0]*bitsPerByte), quantity.BitRate(rates[1]*bitsPerByte)
	default:
		return fmt.Errorf("meter_type %q, want bytes or packets", meter)
	}
	return nil
}

// reference is a field of a table with the name of another table's row.
type reference struct{ of, field, to string }

// references returns all references that affect the treatment of a packet.
func references() []reference {
	return []reference{
		{"QUEUE", "scheduler", "SCHEDULER"}, {"QUEUE", "wred_profile", "WRED_PROFILE"}, {"PORT_QOS_MAP", "scheduler", "SCHEDULER"},
		{"PORT_QOS_MAP", "dscp_to_tc_map", "DSCP_TO_TC_MAP"}, {"PORT_QOS_MAP", "dot1p_to_tc_map", "DOT1P_TO_TC_MAP"},
		{"PORT_QOS_MAP", "tc_to_queue_map", "TC_TO_QUEUE_MAP"}, {"PORT_QOS_MAP", "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"},
		{"PORT_QOS_MAP", "tc_to_dscp_map", "TC_TO_DSCP_MAP"}, {"PORT_QOS_MAP", "tc_to_dot1p_map", "TC_TO_DOT1P_MAP"},
		{"PORT_QOS_MAP", "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"}, {"PORT_QOS_MAP", "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"},
	}
}

// preflightTables returns the tables that are read for every switch; tables that they refer to are read afterwards.
func preflightTables() []string {
	return append([]string{"PORT", "QUEUE", "WRED_PROFILE", "PORT_QOS_MAP", "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "SCHEDULER"}, bufferTables()...)
}

// referred reads the tables that t refers to but does not contain yet.
func (c *sonic) referred(ctx context.Context, dev driver.Device, t map[string]table) error {
	var more []string
	for _, ref := range references() {
		if slices.Contains(preflightTables(), ref.to) || slices.Contains(more, ref.to) {
			continue
		}
		for _, r := range t[ref.of] {
			if r.name(ref.field) != "" {
				more = append(more, ref.to)
				break
			}
		}
	}
	if len(more) == 0 {
		return nil
	}
	got, err := c.tables(ctx, dev, configDB, more...)
	maps.Copy(t, got)
	return err
}

func danglingText(of, field, name, to string) string {
	return fmt.Sprintf("%s of table %s names %s, which table %s does not have: make it there, or name another", field, of, name, to)
}

func twiceText(rows [2]string) string {
	return fmt.Sprintf("rows %q and %q of QUEUE are both about the same queue: delete one of them on the switch", rows[0], rows[1])
}

// rows adds findings for rows of QUEUE and PORT_QOS_MAP that are inconsistent, refer to missing rows, or cannot be parsed.
func (f *findings) rows(m *sonicMarking, t map[string]table) {
	for _, text := range m.bad {
		f.add(FindingRow, "", text+": delete it on the switch")
	}
	for _, name := range slices.SortedFunc(maps.Keys(m.twice), compareNames) {
		port, _, _ := strings.Cut(name, "|")
		f.add(FindingTwice, port, twiceText(m.twice[name]))
	}
	known := map[string]bool{"CPU": true, "global": true}
	for _, name := range m.ports {
		known[name] = true
	}
	for name := range t["PORT"] { // ports between ASICs too
		known[name] = true
	}
	portsOf := map[string]map[string][]string{"QUEUE": {}, "PORT_QOS_MAP": {}}
	for i := range m.rows {
		portsOf["QUEUE"][m.rows[i].key] = m.rows[i].ports
	}
	for key := range t["PORT_QOS_MAP"] {
		portsOf["PORT_QOS_MAP"][key] = strings.Split(key, ",")
	}
	for _, of := range []string{"QUEUE", "PORT_QOS_MAP"} {
		for _, key := range slices.SortedFunc(maps.Keys(portsOf[of]), compareNames) {
			for _, port := range portsOf[of][key] {
				if !known[port] && !strings.Contains(port, "|") { // rows of a chassis contain slot and ASIC
					f.add(FindingDangling, port, fmt.Sprintf("table %s has rows of ports that table PORT does not have: delete them, or mend their names", of))
				}
			}
			f.dangling(t, of, t[of][key], portsOf[of][key])
		}
	}
}

// dangling adds findings for references of one row to missing rows.
func (f *findings) dangling(t map[string]table, of string, r row, ports []string) {
	for _, ref := range references() {
		name := r.name(ref.field)
		if ref.of != of || name == "" {
			continue
		}
		if _, ok := t[ref.to][name]; ok {
			continue
		}
		for _, port := range ports {
			f.add(FindingDangling, port, danglingText(of, ref.field, name, ref.to))
		}
	}
}

// linked returns which ports have a link. A port without oper_status in PORT_TABLE counts as linked unless its admin_status is
// down.
func (c *sonic) linked(ctx context.Context, dev driver.Device, t map[string]table, ports []string) (map[string]bool, error) {
	out := map[string]bool{}
	if len(ports) == 0 {
		return out, nil
	}
	got, err := c.tables(ctx, dev, applDB, "PORT_TABLE")
	if err != nil {
		return nil, err
	}
	for _, name := range ports {
		switch word := got["PORT_TABLE"][name]["oper_status"]; word {
		case "":
			out[name] = t["PORT"][name]["admin_status"] != "down"
		default:
			out[name] = word == "up"
		}
	}
	return out, nil
}
