package gnmi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/subnet/ident"
)

// Elements of SONiC's native paths: the database, its instance, the table, the row and the field. Composite keys are one
// element, joined by "|". All values are strings.
const (
	sonicOrigin = "sonic-db"
	configDB    = "CONFIG_DB"
	countersDB  = "COUNTERS_DB"
	applDB      = "APPL_DB"
	instance    = "localhost"
)

// Limits of tables.
const (
	maxRows       = 65536
	maxSONiCQueue = 19
)

func sonicPath(db string, elems ...string) gnmitree.Path { return sonicPathAt(instance, db, elems...) }

// sonicPathAt returns a path in a database of an instance: localhost, or one ASIC of several.
func sonicPathAt(at, db string, elems ...string) gnmitree.Path {
	p := gnmitree.PathOf(append([]string{db, at}, elems...)...)
	p.Origin = sonicOrigin
	return p
}

// row holds the fields of a row.
type row map[string]string

// table holds the rows of a table by key.
type table map[string]row

// parseTable parses a table from JSON, or one row if its key is given. Values that are not strings are kept as JSON text.
func parseTable(text []byte) (table, error) {
	var raw map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	if len(raw) > maxRows {
		return nil, fmt.Errorf("%d rows, want at most %d", len(raw), maxRows)
	}
	out := make(table, len(raw))
	for key, fields := range raw {
		out[key] = parseRow(fields)
	}
	return out, nil
}

func parseRow(fields map[string]json.RawMessage) row {
	r := make(row, len(fields))
	for name, v := range fields {
		var word string
		if json.Unmarshal(v, &word) != nil {
			word = string(v)
		}
		r[name] = word
	}
	return r
}

// name returns the row name in a field: "NAME", or "[TABLE|NAME]" in older releases.
func (r row) name(field string) string {
	word := r[field]
	if inner, ok := strings.CutPrefix(word, "["); ok {
		_, word, _ = strings.Cut(strings.TrimSuffix(inner, "]"), "|")
	}
	return word
}

// portNames returns the front ports in the order of the numbers in their names: port n of a device is the n-th of them. Ports between the
// ASICs of a switch have another role.
func portNames(ports table) []string {
	names := make([]string, 0, len(ports))
	for name, r := range ports {
		if role := r["role"]; role == "" || role == "Ext" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, compareNames)
	return names
}

// compareNames orders names by the part before their last number, by that number, and by the part after it.
func compareNames(a, b string) int {
	x, n, _ := splitNumber(a)
	y, m, _ := splitNumber(b)
	return cmp.Or(strings.Compare(x, y), cmp.Compare(n, m), strings.Compare(a, b))
}

// splitNumber splits the number off the end of a name; false if there is none.
func splitNumber(name string) (head string, n int, ok bool) {
	at := len(name)
	for at > 0 && len(name)-at < 9 && name[at-1] >= '0' && name[at-1] <= '9' {
		at--
	}
	n, err := strconv.Atoi(name[at:])
	return name[:at], n, err == nil
}

// queueRow is a row of QUEUE, which may cover several queues of several ports.
type queueRow struct {
	key       string
	fields    row
	ports     []string
	low, high int
}

// parseQueueKey parses "Ethernet0|3", "Ethernet0|3-4" and, as config_db.json may contain it, "Ethernet0,Ethernet4|3".
func parseQueueKey(key string) (ports []string, low, high int, err error) {
	at := strings.LastIndexByte(key, '|')
	if at <= 0 {
		return nil, 0, 0, fmt.Errorf("QUEUE has a row %q, want PORT|QUEUE or PORT|FIRST-LAST", key)
	}
	first, last, ranged := strings.Cut(key[at+1:], "-")
	low, err = strconv.Atoi(first)
	high = low
	if err == nil && ranged {
		high, err = strconv.Atoi(last)
	}
	if err != nil || low < 0 || high < low || high > 255 {
		return nil, 0, 0, fmt.Errorf("QUEUE has a row %q, want a queue or FIRST-LAST after the bar", key)
	}
	return strings.Split(key[:at], ","), low, high, nil
}

// sonicMarking is the marking in the tables of a switch.
type sonicMarking struct {
	markingState

	at       asicPlace
	ports    []string // names by port number, from port 1 on
	numbers  map[string]ident.PortNum
	rows     []queueRow
	profiles table

	weights weightState

	proven []ecn.QueueMarking // queues that mark by their counters, though their profile does not tell

	twice map[string][2]string // pairs of rows for the same queue, such as "Ethernet0|3"
	bad   []string             // errors of invalid keys in QUEUE
}

// consistent returns an error if rows of QUEUE cannot be parsed or are contradictory, because the references of queues are then
// unknown.
func (m *sonicMarking) consistent() error {
	if len(m.bad) > 0 {
		return fmt.Errorf("%w: %s", driver.ErrInvalid, m.bad[0])
	}
	for _, name := range slices.Sorted(maps.Keys(m.twice)) {
		rows := m.twice[name]
		return fmt.Errorf("%w: rows %q and %q of QUEUE are both about %s: delete one of them on the switch", driver.ErrInvalid, rows[0], rows[1], name)
	}
	return nil
}

// parseMarking parses PORT, QUEUE, WRED_PROFILE, SCHEDULER and PORT_QOS_MAP for a switch with the given number of ports. Of two rows
// for the same queue it uses the first.
func parseMarking(t map[string]table, ports int, at asicPlace) (*sonicMarking, error) {
	m := &sonicMarking{at: at, ports: at.portsOf(t["PORT"]), profiles: t["WRED_PROFILE"], twice: map[string][2]string{}}
	if len(m.ports) < ports {
		return nil, fmt.Errorf("%w: it has %d ports in its table PORT, want the %d of the inventory", driver.ErrInvalid, len(m.ports), ports)
	}
	m.markingState.profiles = make(map[string]profile, len(m.profiles))
	for _, name := range slices.Sorted(maps.Keys(m.profiles)) {
		m.markingState.profiles[name] = parseProfile(m.profiles[name])
		if strings.EqualFold(name, "AZURE_LOSSLESS") {
			m.stock = name
		}
	}
	m.numbers = make(map[string]ident.PortNum, ports)
	for i, name := range m.ports[:ports] {
		m.numbers[name] = ident.PortNum(i + 1) // at most MaxSwitchPorts
	}
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(t["QUEUE"])) {
		r := queueRow{key: key, fields: t["QUEUE"][key]}
		var err error
		if r.ports, r.low, r.high, err = parseQueueKey(key); err != nil {
			m.bad = append(m.bad, err.Error())
			continue
		}
		m.rows = append(m.rows, r)
		for _, port := range r.ports {
			for q := r.low; q <= r.high; q++ {
				name := fmt.Sprintf("%s|%d", port, q)
				if other, twice := seen[name]; twice {
					m.twice[name] = [2]string{other, key}
					continue
				}
				seen[name] = key
				m.slots = append(m.slots, slot{queueKey{numberOf(m.number(port), q), uint8(q)}, name, r.fields.name("wred_profile")})
			}
		}
	}
	m.parseWeights(t)
	return m, nil
}

// numberOf returns the port of a queue that our settings can represent, and 0 otherwise.
func numberOf(port ident.PortNum, queue int) ident.PortNum {
	if queue > ecn.MaxQueue {
		return 0
	}
	return port
}

// parseProfile parses the marking of green packets, the default colour. ECN-only thresholds, in releases from 2026 on, override
// those of WRED.
func parseProfile(r row) profile {
	modes := []string{"ecn_green", "ecn_green_yellow", "ecn_green_red", "ecn_all"}
	own := ownThresholds(r)
	if !slices.Contains(modes, r["ecn"]) || !own && r["wred_green_enable"] == "false" {
		return profile{}
	}
	fields := thresholdFields(own)
	if _, ok := r[fields[2]]; !ok {
		r = maps.Clone(r)
		r[fields[2]] = strconv.Itoa(ecn.MaxPercent) // the default
	}
	var values [3]int64
	for i, f := range fields {
		var err error
		if values[i], err = strconv.ParseInt(r[f], 10, 64); err != nil {
			return profile{broken: true}
		}
	}
	m := ecn.Marking{Min: values[0], Max: values[1], PMaxPct: int(min(max(values[2], -1), ecn.MaxPercent+1))}
	if m.Validate() != nil {
		return profile{broken: true}
	}
	return profile{marking: m, marks: true}
}

// ownThresholds reports whether a profile has ECN thresholds separate from those of WRED.
func ownThresholds(r row) bool {
	_, ok := r["ecn_green_min_threshold"]
	return ok
}

// thresholdFields returns the names of the fields of minimum, maximum and probability.
func thresholdFields(own bool) [3]string {
	if own {
		return [3]string{"ecn_green_min_threshold", "ecn_green_max_threshold", "ecn_green_mark_probability"}
	}
	return [3]string{"green_min_threshold", "green_max_threshold", "green_drop_probability"}
}
