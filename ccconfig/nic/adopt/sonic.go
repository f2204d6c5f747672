package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/ecn"
	"fairlane/internal/phrase"
)

// Switch is the quality-of-service configuration of a switch.
type Switch struct {
	File   string
	Queues []Queue      // by port and number
	Ports  []SwitchPort // by name
	// Front are the front ports (table PORT) in the order of the numbers in their names: port n of the device is the n-th.
	// Empty if the file has no such table.
	Front []string
}

// Number returns the number of a port on the device, from 1; 0 if it is not known.
func (s *Switch) Number(port string) int { return slices.Index(s.Front, port) + 1 }

// Queue is one queue of a port.
type Queue struct {
	Port      string
	Number    int        // 0 to 19
	Scheduler *Scheduler // nil without a reference
	Profile   string     // name of the WRED profile; empty without a reference
	Marking   *ecn.Marking
}

// Scheduler is the scheduling of a queue.
type Scheduler struct {
	Name   string
	Type   string // DWRR, WRR or STRICT
	Weight int    // 1 to 100; 0 if not given
	PIR    uint64 // bytes/s; 0 means no limit
}

// SwitchPort holds the maps and pause settings of a port.
type SwitchPort struct {
	Name      string
	PFC       uint8 // one bit for each priority with pause
	PFCKnown  bool  // whether the file contains PFC
	DSCPToTC  string
	TCToQueue string
	Classes   map[int]int // traffic class by DSCP, from the port's map
	Outputs   map[int]int // queue by traffic class, from the port's map
	Watchdog  *Watchdog
}

// Watchdog is the PFC watchdog of a port.
type Watchdog struct {
	Action      string // drop, forward or alert
	Detection   int    // ms
	Restoration int    // ms; 0 if not given
}

const (
	maxRows  = 65536
	maxQueue = 19
)

// SONiC parses config_db.json: marking profiles, schedulers and their use by queues, the maps and the pause of ports, and the
// PFC watchdog. It ignores other tables. A reference to a missing row is an error.
func SONiC(file, text string) (*State, error) {
	if err := tooLong(file, len(text)); err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	var all map[string]json.RawMessage
	if err := d.Decode(&all); err != nil {
		return nil, jsonError(file, text, d.InputOffset(), err)
	}
	if d.More() {
		return nil, &ParseError{File: file, Line: lineAt(text, d.InputOffset()), Found: phrase.Of("adopt.trailing"), Allowed: phrase.Of("adopt.want-tables")}
	}
	r := &sonicReader{file: file, tables: map[string]map[string]row{}}
	for _, name := range []string{"WRED_PROFILE", "SCHEDULER", "QUEUE", "PORT_QOS_MAP", "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "PFC_WD"} {
		if err := r.table(name, all[name]); err != nil {
			return nil, err
		}
	}
	s := &Switch{File: file}
	queues, err := r.queues()
	if err != nil {
		return nil, err
	}
	ports, err := r.ports()
	if err != nil {
		return nil, err
	}
	s.Queues, s.Ports = queues, ports
	if s.Front, err = r.front(all["PORT"]); err != nil {
		return nil, err
	}
	return &State{Switch: s}, nil
}

// front returns the front ports.
func (r *sonicReader) front(raw json.RawMessage) ([]string, error) {
	if raw == nil {
		return nil, nil
	}
	var rows map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, r.fail("PORT", "", "", phrase.Verbatim(err.Error()), phrase.Of("adopt.want-rows"))
	}
	if len(rows) > maxRows {
		return nil, r.fail("PORT", "", "", phrase.Of("adopt.rows", "n", len(rows)), phrase.Of("want.most", "max", maxRows))
	}
	names := slices.Collect(maps.Keys(rows))
	slices.SortFunc(names, func(a, b string) int {
		x, n := numbered(a)
		y, m := numbered(b)
		return cmp.Or(strings.Compare(x, y), cmp.Compare(n, m), strings.Compare(a, b))
	})
	return names, nil
}

// numbered splits the number off the end of a name; -1 if there is none.
func numbered(name string) (string, int) {
	head := strings.TrimRight(name, "0123456789")
	n, err := strconv.Atoi(name[len(head):])
	if err != nil {
		return name, -1
	}
	return head, n
}

// row holds the fields of a row. All values of CONFIG_DB are strings.
type row map[string]string

// sonicReader parses tables. Its errors contain table, row and field, which are easier to find in an editor than a line.
type sonicReader struct {
	file   string
	tables map[string]map[string]row
}

func (r *sonicReader) fail(table, key, field string, found, allowed phrase.Text) error {
	where := table
	if key != "" {
		where += "|" + key
	}
	if field != "" {
		where += " " + field
	}
	return &ParseError{File: r.file, Field: where, Found: found, Allowed: allowed}
}

func (r *sonicReader) table(name string, raw json.RawMessage) error {
	rows := map[string]row{}
	r.tables[name] = rows
	if raw == nil {
		return nil
	}
	var table map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &table); err != nil {
		return r.fail(name, "", "", phrase.Verbatim(err.Error()), phrase.Of("adopt.want-rows-of-fields"))
	}
	if len(table) > maxRows {
		return r.fail(name, "", "", phrase.Of("adopt.rows", "n", len(table)), phrase.Of("want.most", "max", maxRows))
	}
	for key, fields := range table {
		rows[key] = row{}
		for field, raw := range fields {
			var word string
			if json.Unmarshal(raw, &word) != nil {
				return r.fail(name, key, field, quoted(string(raw)), phrase.Of("adopt.want-string"))
			}
			rows[key][field] = word
		}
	}
	return nil
}

// ref returns the row of a reference: "NAME", or "[TABLE|NAME]" in older releases.
func (r *sonicReader) ref(table, key, field, word, to string) (string, row, error) {
	name := word
	if inner, ok := strings.CutPrefix(word, "["); ok {
		var named string
		named, name, _ = strings.Cut(strings.TrimSuffix(inner, "]"), "|")
		if named != to {
			return "", nil, r.fail(table, key, field, quoted(word), phrase.Of("adopt.want-row", "table", to))
		}
	}
	target, ok := r.tables[to][name]
	if !ok {
		return "", nil, r.fail(table, key, field, quoted(word), phrase.Of("adopt.want-row-here", "table", to))
	}
	return name, target, nil
}

// number parses a field of a row within a range; a missing field has the default.
func (r *sonicReader) number(table, key string, fields row, field string, low, high, otherwise int64) (int64, error) {
	word, ok := fields[field]
	if !ok {
		return otherwise, nil
	}
	v, err := strconv.ParseInt(word, 10, 64)
	if err != nil || v < low || v > high {
		return 0, r.fail(table, key, field, quoted(word), phrase.Verbatim(fmt.Sprintf("%d..%d", low, high)))
	}
	return v, nil
}

// word parses a field that must have one of the allowed values.
func (r *sonicReader) word(table, key string, fields row, field, otherwise string, allowed ...string) (string, error) {
	word, ok := fields[field]
	if !ok {
		return otherwise, nil
	}
	if !slices.Contains(allowed, word) {
		return "", r.fail(table, key, field, quoted(word), phrase.Of("list.whole", "list", allowed))
	}
	return word, nil
}

// span parses "3" or "3-5", from 0 to most.
func span(word string, most int) (low, high int, ok bool) {
	first, last, ranged := strings.Cut(word, "-")
	low, err := strconv.Atoi(first)
	high = low
	if ranged && err == nil {
		high, err = strconv.Atoi(last)
	}
	return low, high, err == nil && low >= 0 && low <= high && high <= most
}

// queues parses QUEUE and the rows to which it refers.
func (r *sonicReader) queues() ([]Queue, error) {
	var out []Queue
	for _, key := range slices.Sorted(maps.Keys(r.tables["QUEUE"])) {
		fields := r.tables["QUEUE"][key]
		at := strings.LastIndexByte(key, '|')
		if at <= 0 {
			return nil, r.fail("QUEUE", key, "", phrase.Of("adopt.no-queue"), phrase.Of("adopt.want-queue-key"))
		}
		low, high, ok := span(key[at+1:], maxQueue)
		if !ok {
			return nil, r.fail("QUEUE", key, "", quoted(key[at+1:]), phrase.Of("adopt.want-queue", "max", maxQueue))
		}
		q := Queue{}
		if err := r.scheduler(key, fields, &q); err != nil {
			return nil, err
		}
		if err := r.marking(key, fields, &q); err != nil {
			return nil, err
		}
		for port := range strings.SplitSeq(key[:at], ",") {
			for n := low; n <= high; n++ {
				q.Port, q.Number = port, n
				if out = append(out, q); len(out) > maxRows {
					return nil, r.fail("QUEUE", "", "", phrase.Of("adopt.more-queues"), phrase.Of("want.most", "max", maxRows))
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Queue) int {
		if c := strings.Compare(a.Port, b.Port); c != 0 {
			return c
		}
		return a.Number - b.Number
	})
	for i := 1; i < len(out); i++ {
		if out[i].Port == out[i-1].Port && out[i].Number == out[i-1].Number {
			return nil, r.fail("QUEUE", out[i].Port+"|"+strconv.Itoa(out[i].Number), "", phrase.Of("adopt.two-rows"), phrase.Of("adopt.want-one"))
		}
	}
	return out, nil
}

func (r *sonicReader) scheduler(key string, fields row, q *Queue) error {
	word := fields["scheduler"]
	if word == "" {
		return nil
	}
	name, s, err := r.ref("QUEUE", key, "scheduler", word, "SCHEDULER")
	if err != nil {
		return err
	}
	kind, err := r.word("SCHEDULER", name, s, "type", "WRR", "DWRR", "WRR", "STRICT")
	if err != nil {
		return err
	}
	weight, err := r.number("SCHEDULER", name, s, "weight", 1, 100, 0)
	if err != nil {
		return err
	}
	pir, err := r.number("SCHEDULER", name, s, "pir", 0, 1<<62, 0)
	if err != nil {
		return err
	}
	q.Scheduler = &Scheduler{Name: name, Type: kind, Weight: int(weight), PIR: uint64(pir)}
	return nil
}

// marking parses the rule for green packets, the colour of RoCE traffic: the ECN rule if the profile has a separate one,
// otherwise the WRED rule. A profile that does not mark green packets has no rule.
func (r *sonicReader) marking(key string, fields row, q *Queue) error {
	word := fields["wred_profile"]
	if word == "" {
		return nil
	}
	const table = "WRED_PROFILE"
	name, p, err := r.ref("QUEUE", key, "wred_profile", word, table)
	if err != nil {
		return err
	}
	q.Profile = name
	colors, err := r.word(table, name, p, "ecn", "ecn_none", "ecn_none", "ecn_green", "ecn_yellow", "ecn_red",
		"ecn_green_yellow", "ecn_green_red", "ecn_yellow_red", "ecn_all")
	if err != nil {
		return err
	}
	if colors != "ecn_all" && !strings.HasPrefix(colors, "ecn_green") {
		return nil
	}
	first, last, chance := "green_min_threshold", "green_max_threshold", "green_drop_probability"
	if _, own := p["ecn_green_max_threshold"]; own {
		first, last, chance = "ecn_green_min_threshold", "ecn_green_max_threshold", "ecn_green_mark_probability"
	}
	if _, ok := p[last]; !ok {
		return r.fail(table, name, last, phrase.Of("yaml.nothing"), phrase.Of("adopt.want-threshold"))
	}
	low, err := r.number(table, name, p, first, 0, ecn.MaxThreshold, 0)
	if err != nil {
		return err
	}
	high, err := r.number(table, name, p, last, low, ecn.MaxThreshold, 0)
	if err != nil {
		return err
	}
	percent, err := r.number(table, name, p, chance, 0, ecn.MaxPercent, ecn.MaxPercent)
	if err != nil {
		return err
	}
	q.Marking = &ecn.Marking{Min: low, Max: high, PMaxPct: int(percent)}
	return nil
}

// ports parses PORT_QOS_MAP and PFC_WD.
func (r *sonicReader) ports() ([]SwitchPort, error) {
	byName := map[string]*SwitchPort{}
	port := func(name string) *SwitchPort {
		if byName[name] == nil {
			byName[name] = &SwitchPort{Name: name}
		}
		return byName[name]
	}
	for _, key := range slices.Sorted(maps.Keys(r.tables["PORT_QOS_MAP"])) {
		fields := r.tables["PORT_QOS_MAP"][key]
		for name := range strings.SplitSeq(key, ",") {
			if err := r.portMap(key, fields, port(name)); err != nil {
				return nil, err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.tables["PFC_WD"])) {
		if strings.EqualFold(key, "GLOBAL") {
			continue
		}
		w, err := r.watchdog(key)
		if err != nil {
			return nil, err
		}
		port(key).Watchdog = w
	}
	var out []SwitchPort
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, *byName[name])
	}
	return out, nil
}

func (r *sonicReader) watchdog(key string) (*Watchdog, error) {
	fields := r.tables["PFC_WD"][key]
	action, err := r.word("PFC_WD", key, fields, "action", "drop", "drop", "forward", "alert")
	if err != nil {
		return nil, err
	}
	detection, err := r.number("PFC_WD", key, fields, "detection_time", 100, 5000, 0)
	if err != nil {
		return nil, err
	}
	restoration, err := r.number("PFC_WD", key, fields, "restoration_time", 100, 60000, 0)
	if err != nil {
		return nil, err
	}
	return &Watchdog{Action: action, Detection: int(detection), Restoration: int(restoration)}, nil
}

func (r *sonicReader) portMap(key string, fields row, p *SwitchPort) error {
	if word, ok := fields["pfc_enable"]; ok {
		p.PFC, p.PFCKnown = 0, true
		for prio := range strings.SplitSeq(word, ",") {
			if word == "" {
				break
			}
			n, _, ok := span(strings.TrimSpace(prio), 7)
			if !ok || strings.Contains(prio, "-") {
				return r.fail("PORT_QOS_MAP", key, "pfc_enable", quoted(word), phrase.Of("adopt.want-priorities"))
			}
			p.PFC |= 1 << n
		}
	}
	var err error
	if p.DSCPToTC, p.Classes, err = r.mapping(key, fields, "dscp_to_tc_map", "DSCP_TO_TC_MAP", 63, 15); err != nil {
		return err
	}
	p.TCToQueue, p.Outputs, err = r.mapping(key, fields, "tc_to_queue_map", "TC_TO_QUEUE_MAP", 15, maxQueue)
	return err
}

// mapping parses the map named in a field.
func (r *sonicReader) mapping(key string, fields row, field, table string, mostKey, mostValue int) (string, map[int]int, error) {
	word := fields[field]
	if word == "" {
		return "", nil, nil
	}
	name, pairs, err := r.ref("PORT_QOS_MAP", key, field, word, table)
	if err != nil {
		return "", nil, err
	}
	out := map[int]int{}
	for from, to := range pairs {
		a, err := strconv.Atoi(from)
		if err != nil || a < 0 || a > mostKey {
			return "", nil, r.fail(table, name, from, phrase.Of("adopt.key", "key", quote(from)), phrase.Verbatim(fmt.Sprintf("0..%d", mostKey)))
		}
		b, err := r.number(table, name, pairs, from, 0, int64(mostValue), 0)
		if err != nil {
			return "", nil, err
		}
		if _, twice := out[a]; twice {
			return "", nil, r.fail(table, name, from, phrase.Of("adopt.two-spellings", "value", to), phrase.Of("adopt.want-one"))
		}
		out[a] = int(b)
	}
	return name, out, nil
}
