package gnmidev

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
)

// leaf is the model of a field.
type leaf struct {
	allowed string
	legal   func(string) bool
	to      string // table that contains the entry to which the field refers
	once    bool   // immutable after the creation of the entry
}

// rule is the model of a table.
type rule struct {
	key    func(m *schema, key string) string // returns the error of a key, or an empty string for a valid key
	fields map[string]leaf
	any    func(name string) (leaf, bool) // model of other field names; nil means no other fields
	whole  func(m *schema, key string, f fields) string
}

// schema validates a configuration as the YANG models of SONiC do, but only the tables of quality of service.
type schema struct {
	rules map[string]rule
	d     database
	was   database // before the change; nil means none
}

func number(low, high int64) leaf {
	return leaf{allowed: fmt.Sprintf("%d..%d", low, high), legal: func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && n >= low && n <= high
	}}
}

func word(of ...string) leaf {
	return leaf{allowed: "one of " + strings.Join(of, ", "), legal: func(s string) bool { return slices.Contains(of, s) }}
}

func pattern(text, allowed string) leaf {
	r := regexp.MustCompile("^(?:" + text + ")$")
	return leaf{allowed: allowed, legal: r.MatchString}
}

func named(t string) leaf {
	return leaf{allowed: "an entry of " + t, legal: func(string) bool { return true }, to: t}
}

func once(l leaf) leaf {
	l.once = true
	return l
}

const (
	maxBytes = 1<<63 - 1
	maxName  = 32
)

var colours = [3]string{"green", "yellow", "red"}

// newRules returns the models of the tables.
func newRules() map[string]rule {
	inner := func(high, most int64) rule {
		return rule{key: anyName, any: func(name string) (leaf, bool) {
			l := number(0, high)
			n, err := strconv.ParseInt(name, 10, 64)
			return l, err == nil && n >= 0 && n <= most
		}}
	}
	return map[string]rule{
		wredTable:                            {key: shortName, fields: wredFields(), whole: checkWRED},
		"QUEUE":                              {key: queueKey, fields: map[string]leaf{"scheduler": named("SCHEDULER"), "wred_profile": named(wredTable)}},
		"SCHEDULER":                          {key: anyName, fields: schedulerFields(), whole: checkRates},
		"PORT_QOS_MAP":                       {key: portOrGlobal, fields: portMapFields()},
		"DSCP_TO_TC_MAP":                     inner(15, 63),
		"DOT1P_TO_TC_MAP":                    inner(15, 7),
		"TC_TO_QUEUE_MAP":                    inner(maxQueue, 15),
		"TC_TO_PRIORITY_GROUP_MAP":           inner(7, 15),
		"TC_TO_DSCP_MAP":                     inner(63, 15),
		"TC_TO_DOT1P_MAP":                    inner(7, 15),
		"MAP_PFC_PRIORITY_TO_QUEUE":          inner(7, 7),
		"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": inner(7, 7),
		poolTable: {key: anyName, fields: map[string]leaf{
			"type": word("ingress", "egress", "both"), "mode": word("static", "dynamic"), "size": number(0, maxBytes), "xoff": number(0, maxBytes), "percentage": number(0, 100),
		}},
		profileTable: {key: anyName, fields: map[string]leaf{
			"pool": named(poolTable), "size": number(0, maxBytes), "dynamic_th": number(-8, 8), "static_th": number(0, maxBytes), "xon": number(0, maxBytes),
			"xoff": number(0, maxBytes), "xon_offset": number(0, maxBytes), "packet_discard_action": word("drop", "trim"),
		}, whole: checkProfile},
		"BUFFER_PG":    {key: queueKey, fields: map[string]leaf{"profile": named(profileTable)}},
		"BUFFER_QUEUE": {key: queueKey, fields: map[string]leaf{"profile": named(profileTable)}},
		"CABLE_LENGTH": {key: anyName, any: func(string) (leaf, bool) { return pattern(`[0-9]{1,5}m`, "metres, such as 5m"), true }, whole: checkCables},
		watchdog:       {key: portOrGlobalCapital, fields: watchdogFields(), whole: checkWatchdog},
		"FLEX_COUNTER_TABLE": {key: anyName, fields: map[string]leaf{
			"FLEX_COUNTER_STATUS": word("enable", "disable"), "POLL_INTERVAL": number(100, 1<<30), "FLEX_COUNTER_DELAY_STATUS": word("true", "false"),
			"BULK_CHUNK_SIZE": number(0, 1<<32-1), "BULK_CHUNK_SIZE_PER_PREFIX": pattern(".*", "anything"),
		}},
	}
}

// maxQueue is the highest queue number in the model.
const maxQueue = 19

func wredFields() map[string]leaf {
	out := map[string]leaf{"ecn": word("ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red", "ecn_yellow_red", "ecn_all")}
	for _, c := range colours {
		out["wred_"+c+"_enable"] = word("true", "false")
		out[c+"_min_threshold"], out[c+"_max_threshold"] = number(0, maxBytes), number(0, maxBytes)
		out[c+"_drop_probability"] = number(0, 100)
		out["ecn_"+c+"_min_threshold"], out["ecn_"+c+"_max_threshold"] = number(0, maxBytes), number(0, maxBytes)
		out["ecn_"+c+"_mark_probability"] = number(0, 100)
	}
	return out
}

func schedulerFields() map[string]leaf {
	rate := once(number(0, maxBytes))
	return map[string]leaf{
		"type": once(word("DWRR", "WRR", "STRICT")), "weight": number(1, 100), "priority": number(0, 9), "meter_type": once(word("packets", "bytes")),
		"cir": rate, "pir": rate, "cbs": rate, "pbs": rate,
	}
}

func portMapFields() map[string]leaf {
	priorities := pattern(`([0-7](,[0-7])*)?`, "priorities 0 to 7, such as 3,4")
	return map[string]leaf{
		"dscp_to_tc_map": named("DSCP_TO_TC_MAP"), "dot1p_to_tc_map": named("DOT1P_TO_TC_MAP"), "tc_to_queue_map": named("TC_TO_QUEUE_MAP"),
		"tc_to_pg_map": named("TC_TO_PRIORITY_GROUP_MAP"), "pfc_to_queue_map": named("MAP_PFC_PRIORITY_TO_QUEUE"),
		"pfc_to_pg_map": named("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"), "tc_to_dscp_map": named("TC_TO_DSCP_MAP"), "tc_to_dot1p_map": named("TC_TO_DOT1P_MAP"),
		"scheduler": named("SCHEDULER"), "pfc_enable": priorities, "pfcwd_sw_enable": priorities,
	}
}

func watchdogFields() map[string]leaf {
	return map[string]leaf{
		"action": word("drop", "forward", "alert"), "detection_time": number(100, 5000), "restoration_time": number(100, 60000),
		"pfc_stat_history": word("enable", "disable"), "POLL_INTERVAL": number(100, 1000), "BIG_RED_SWITCH": word("enable", "disable"),
	}
}

func anyName(_ *schema, key string) string {
	if key == "" || len(key) > 128 {
		return "a name of 1 to 128 characters"
	}
	return ""
}

var shortNames = pattern(`[a-zA-Z0-9][-a-zA-Z0-9_]{0,31}`, fmt.Sprintf("a name of 1 to %d letters, digits, - and _, beginning with a letter or digit", maxName))

func shortName(_ *schema, key string) string {
	if !shortNames.legal(key) {
		return shortNames.allowed
	}
	return ""
}

// isPort reports whether a name, or comma-separated names, are ports.
func (m *schema) isPort(names string) bool {
	for name := range strings.SplitSeq(names, ",") {
		if m.d["PORT"][name] == nil {
			return false
		}
	}
	return true
}

// queueKey validates "<port>|<number>" and "<port>|<first>-<last>".
func queueKey(m *schema, key string) string {
	port, _, _, ok := splitQueues(key)
	if !ok || port != "CPU" && !m.isPort(port) {
		return fmt.Sprintf("<port>|<0..%d> or <port>|<first>-<last>, with a port of PORT or CPU", maxQueue)
	}
	return ""
}

// splitQueues splits the key of a queue.
func splitQueues(key string) (port string, first, last int, ok bool) {
	at := strings.LastIndexByte(key, '|')
	if at <= 0 {
		return "", 0, 0, false
	}
	low, high, ranged := strings.Cut(key[at+1:], "-")
	if !ranged {
		high = low
	}
	first, err := strconv.Atoi(low)
	last, err2 := strconv.Atoi(high)
	return key[:at], first, last, err == nil && err2 == nil && first >= 0 && first <= last && last <= maxQueue
}

func portOrGlobal(m *schema, key string) string {
	if key != "global" && !m.isPort(key) {
		return "a port of PORT, or global"
	}
	return ""
}

func portOrGlobalCapital(m *schema, key string) string {
	if key != "GLOBAL" && !m.isPort(key) {
		return "a port of PORT, or GLOBAL"
	}
	return ""
}

// count returns a field as a number, and false if it is not a number.
func (f fields) count(name string) (int64, bool) {
	n, err := strconv.ParseInt(f[name], 10, 64)
	return n, err == nil
}

// marks reports whether a profile marks packets of a colour.
func (f fields) marks(colour string) bool {
	ecn := f["ecn"]
	return ecn == "ecn_all" || strings.Contains(strings.TrimPrefix(ecn, "ecn"), "_"+colour)
}

func checkWRED(_ *schema, _ string, f fields) string {
	for _, c := range colours {
		for _, prefix := range []string{"", "ecn_"} {
			low, hasLow := f.count(prefix + c + "_min_threshold")
			high, hasHigh := f.count(prefix + c + "_max_threshold")
			if hasLow && hasHigh && low > high {
				return fmt.Sprintf("%s%s_max_threshold %d below %s%s_min_threshold %d", prefix, c, high, prefix, c, low)
			}
		}
		for _, name := range []string{"ecn_" + c + "_min_threshold", "ecn_" + c + "_max_threshold", "ecn_" + c + "_mark_probability"} {
			if _, has := f[name]; has && !f.marks(c) {
				return fmt.Sprintf("%s while ecn is %q, which does not mark %s packets", name, f["ecn"], c)
			}
		}
	}
	return ""
}

func checkRates(_ *schema, _ string, f fields) string {
	cir, hasCIR := f.count("cir")
	pir, hasPIR := f.count("pir")
	if hasCIR && hasPIR && pir < cir {
		return fmt.Sprintf("pir %d below cir %d", pir, cir)
	}
	if _, has := f["weight"]; has && f["type"] == "STRICT" {
		return "a weight of a STRICT scheduler"
	}
	return ""
}

func checkProfile(m *schema, _ string, f fields) string {
	_, dynamic := f["dynamic_th"]
	_, static := f["static_th"]
	pool, has := f["pool"]
	mode := m.d[poolTable][pool]["mode"]
	switch {
	case !has:
		return "a profile without a pool"
	case dynamic && static:
		return "both dynamic_th and static_th"
	case dynamic && mode == "static" || static && mode == "dynamic":
		return fmt.Sprintf("a threshold of the wrong kind for pool %s, which is %s", pool, mode)
	}
	return ""
}

func checkCables(m *schema, _ string, f fields) string {
	for port := range f {
		if !m.isPort(port) && port != bare {
			return fmt.Sprintf("a length for %s, which PORT does not have", port)
		}
	}
	return ""
}

func checkWatchdog(m *schema, key string, f fields) string {
	global := []string{"POLL_INTERVAL", "BIG_RED_SWITCH"}
	for name := range f {
		if slices.Contains(global, name) != (key == "GLOBAL") && name != bare {
			return fmt.Sprintf("%s in entry %s", name, key)
		}
	}
	poll, has := m.d[watchdog]["GLOBAL"].count("POLL_INTERVAL")
	for _, name := range []string{"detection_time", "restoration_time"} {
		if t, is := f.count(name); is && has && t < poll {
			return fmt.Sprintf("%s %d below POLL_INTERVAL %d", name, t, poll)
		}
	}
	return ""
}

// check returns an error for an invalid configuration. It stops at the first error, in the order of names.
func (m *schema) check() error {
	for _, name := range slices.Sorted(maps.Keys(m.rules)) {
		r := m.rules[name]
		for _, key := range slices.Sorted(maps.Keys(m.d[name])) {
			if err := m.entry(name, key, &r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *schema) entry(name, key string, r *rule) error {
	fail := func(field, found, allowed string) error {
		return gnmitree.Errorf(codes.InvalidArgument, "data loading failed: %s|%s %s: found %q, want %s", name, key, field, found, allowed)
	}
	f := m.d[name][key]
	if wrong := r.key(m, key); wrong != "" {
		return fail("key", key, wrong)
	}
	for _, field := range slices.Sorted(maps.Keys(f)) {
		v := f[field]
		l, ok := r.fields[field]
		if !ok && r.any != nil {
			l, ok = r.any(field)
		}
		was, had := m.was[name][key][field]
		switch {
		case field == bare:
		case !ok:
			return fail(field, v, "no field of that name")
		case !l.legal(v):
			return fail(field, v, l.allowed)
		case l.to != "" && m.d[l.to][v] == nil && (v != bare || l.to != profileTable):
			return fail(field, v, l.allowed)
		case l.once && had && was != v:
			return fail(field, v, fmt.Sprintf("%q, the previous value: only a new entry can set it", was))
		}
	}
	for field := range m.was[name][key] {
		if _, still := f[field]; !still && r.fields[field].once {
			return fail(field, "nothing", "the previous value: only a new entry can set it")
		}
	}
	if r.whole != nil {
		if wrong := r.whole(m, key, f); wrong != "" {
			return fail("as a whole", wrong, "an entry without that")
		}
	}
	return nil
}
