package osmfile

import (
	"fmt"
	"strconv"
	"strings"

	"fairlane/subnet/ident"
)

// optionsLine is the number of bytes of a line of opensm.conf that OpenSM reads at once; it treats the rest as
// another line.
const optionsLine = 1022

// Keys of opensm.conf that Fairlane reads or writes.
const (
	keyQoS          = "qos"
	keyCC           = "congestion_control"
	keyPolicyFile   = "qos_policy_file"
	keyPartFile     = "partition_config_file"
	keyRouting      = "routing_engine"
	keySubnetPrefix = "subnet_prefix"
	keyGUID         = "guid"
)

// option is a line of opensm.conf, as OpenSM reads it.
type option struct {
	key, value string
	line       int  // from 1
	cut        bool // starts in the middle of a line that is too long
}

// Options is opensm.conf, as OpenSM reads it. Every text is valid: OpenSM ignores unknown lines.
type Options struct {
	all  []option
	long []int // lines that OpenSM splits
}

// ReadOptions reads the text of opensm.conf.
func ReadOptions(text string) Options {
	var o Options
	line := 0
	for l := range strings.Lines(text) {
		line++
		if len(strings.TrimSuffix(l, "\n")) > optionsLine {
			o.long = append(o.long, line)
		}
		for part, first := l, true; part != ""; first = false {
			chunk := part[:min(len(part), optionsLine)]
			part = part[len(chunk):]
			if opt, ok := readOption(chunk); ok {
				opt.line, opt.cut = line, !first
				o.all = append(o.all, opt)
			}
		}
	}
	return o
}

const blanks = " \t\n\v\f\r"

func readOption(s string) (option, bool) {
	if i := strings.IndexAny(s, "#\x00"); i >= 0 {
		s = s[:i]
	}
	s = strings.Trim(s, blanks)
	if s == "" {
		return option{}, false
	}
	key, value := s, ""
	if i := strings.IndexAny(s, blanks); i >= 0 {
		key, value = s[:i], strings.Trim(s[i:], blanks)
	}
	if value != "" && value[0] == '"' && value[len(value)-1] == '"' {
		value = value[1:max(1, len(value)-1)]
	}
	return option{key: key, value: value}, true
}

// find returns the last line with the key, which counts; nil without one.
func (o Options) find(key string) *option {
	for i := len(o.all) - 1; i >= 0; i-- {
		if o.all[i].key == key {
			return &o.all[i]
		}
	}
	return nil
}

// Bool returns a boolean option. OpenSM takes TRUE, in capitals, as true, and any other value, even none, as false.
func (o Options) Bool(key string) bool {
	at := o.find(key)
	return at != nil && at.value == "TRUE"
}

// Text returns a value; ok is false when the file has none or has (null), which is OpenSM's default.
func (o Options) Text(key string) (value string, ok bool) {
	at := o.find(key)
	if at == nil || at.value == "(null)" {
		return "", false
	}
	return at.value, true
}

// Line returns the number of the line that counts for a key; 0 without one.
func (o Options) Line(key string) int {
	if at := o.find(key); at != nil {
		return at.line
	}
	return 0
}

// SubnetPrefix returns the upper half of the fabric's GIDs.
func (o Options) SubnetPrefix() uint64 {
	if at := o.find(keySubnetPrefix); at != nil {
		if v, err := parseGUID(at.value); err == nil {
			return uint64(v)
		}
	}
	return defaultPrefix
}

const defaultPrefix = 0xfe80000000000000

// PortGUID returns the port that OpenSM must run on; 0 when the file leaves it open.
func (o Options) PortGUID() ident.GUID {
	v, ok := o.Text(keyGUID)
	if !ok {
		return 0
	}
	g, err := parseGUID(v)
	if err != nil {
		return 0
	}
	return g
}

// parseC parses a whole number as C's strtol does with base 0.
func parseC(s string, bits int) (int64, error) {
	t := strings.TrimLeft(s, blanks)
	sign := ""
	if t != "" && (t[0] == '-' || t[0] == '+') {
		sign, t = strings.TrimPrefix(t[:1], "+"), t[1:]
	}
	digits, base := digitsC(t)
	if digits == "" || digits[0] == '-' || digits[0] == '+' {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return strconv.ParseInt(sign+digits, base, bits+1)
}

// parseGUID parses a port GUID as OpenSM does: hexadecimal with 0x, else decimal.
func parseGUID(s string) (ident.GUID, error) {
	digits, base := digitsC(s)
	v, err := strconv.ParseUint(digits, base, 64)
	if err == nil && v == 0 {
		err = fmt.Errorf("%q names no port", s)
	}
	return ident.GUID(v), err
}

// digitsC returns the base of a number in C, and its digits.
func digitsC(s string) (digits string, base int) {
	switch {
	case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0X"):
		return s[2:], 16
	case len(s) > 1 && s[0] == '0':
		return s[1:], 8
	}
	return s, 10
}

// PortKind is a kind of ports with tables in opensm.conf.
type PortKind string

// Kinds of ports.
const (
	AllPorts    PortKind = ""    // default of kinds without a table of their own
	AdapterPort PortKind = "ca"  // channel adapters
	SwitchPort  PortKind = "swe" // external ports of switches
	SwitchZero  PortKind = "sw0" // management ports of switches
	RouterPort  PortKind = "rtr"
)

// prefix returns the prefix of the keys of a kind.
func (k PortKind) prefix() string {
	if k == AllPorts {
		return "qos_"
	}
	return "qos_" + string(k) + "_"
}

// VLWeight is an entry of an arbitration table: the lane may send Weight units of 64 bytes before the next entry is
// served; 0 skips the entry.
type VLWeight struct {
	VL     ident.VL // 0 to 14
	Weight uint8
}

// Lanes are the lane options of a kind of ports in opensm.conf. For zero values the file's options stay.
type Lanes struct {
	Kind      PortKind
	MaxVLs    int  // data lanes: 1 to 15; 0 is not set
	HighLimit *int // units of 4 KiB: 0 one packet, 255 no limit
	High, Low []VLWeight
	SL2VL     *[ident.NumSLs]ident.VL // 15 drops
}

// maxArbEntries is the size of an arbitration table (IBTA vol. 1, 7.6.9).
const maxArbEntries = 64

// check describes the fault of lanes; "" for none.
func (l Lanes) check() string {
	switch l.Kind {
	case AllPorts, AdapterPort, SwitchPort, SwitchZero, RouterPort:
	default:
		return fmt.Sprintf("kind of ports %q: want ca, swe, sw0, rtr or none", l.Kind)
	}
	if l.MaxVLs < 0 || l.MaxVLs > 15 {
		return fmt.Sprintf("%d data lanes: want 1 to 15", l.MaxVLs)
	}
	if l.HighLimit != nil && (*l.HighLimit < 0 || *l.HighLimit > 255) {
		return fmt.Sprintf("high limit %d: want 0 to 255", *l.HighLimit)
	}
	for _, t := range [2][]VLWeight{l.High, l.Low} {
		if len(t) > maxArbEntries {
			return fmt.Sprintf("%d entries in an arbitration table: want at most %d", len(t), maxArbEntries)
		}
		for _, e := range t {
			if e.VL > 14 {
				return fmt.Sprintf("VL %d in an arbitration table: want 0 to 14", e.VL)
			}
		}
	}
	if l.SL2VL != nil {
		for sl, vl := range l.SL2VL {
			if vl > 15 {
				return fmt.Sprintf("SL %d on VL %d: want 0 to 15", sl, vl)
			}
		}
	}
	return ""
}

// lines returns the option lines of the lanes: keys and values.
func (l Lanes) lines() [][2]string {
	var out [][2]string
	add := func(key, value string) { out = append(out, [2]string{l.Kind.prefix() + key, value}) }
	if l.MaxVLs > 0 {
		add("max_vls", strconv.Itoa(l.MaxVLs))
	}
	if l.HighLimit != nil {
		add("high_limit", strconv.Itoa(*l.HighLimit))
	}
	if l.High != nil {
		add("vlarb_high", weights(l.High))
	}
	if l.Low != nil {
		add("vlarb_low", weights(l.Low))
	}
	if l.SL2VL != nil {
		text := make([]string, len(l.SL2VL))
		for i, vl := range l.SL2VL {
			text[i] = strconv.Itoa(int(vl))
		}
		add("sl2vl", strings.Join(text, ","))
	}
	return out
}

func weights(ws []VLWeight) string {
	text := make([]string, len(ws))
	for i, w := range ws {
		text[i] = fmt.Sprintf("%d:%d", w.VL, w.Weight)
	}
	return strings.Join(text, ",")
}

// SL2VL returns the map of a kind of ports: its own, else that of all kinds, else OpenSM's. ok is false when a list is
// too short or not numeric.
func (o Options) SL2VL(k PortKind) (m [ident.NumSLs]ident.VL, ok bool) {
	text, given := o.Text(k.prefix() + "sl2vl")
	if !given {
		if text, given = o.Text(AllPorts.prefix() + "sl2vl"); !given {
			text = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7"
		}
	}
	parts := strings.Split(text, ",")
	if len(parts) != len(m) {
		return m, false
	}
	for i, p := range parts {
		v, err := parseC(strings.Trim(p, blanks), 8)
		if err != nil || v < 0 || v > 15 {
			return m, false
		}
		m[i] = ident.VL(v)
	}
	return m, true
}

// turns returns the total weight of every lane in an arbitration table of a kind of ports: its own, else that of all
// kinds, else OpenSM's, which serves lane 0 by the high table and the others by the low one.
func (o Options) turns(k PortKind, high bool) (sum [ident.NumVLs]int) {
	key := "vlarb_low"
	if high {
		key = "vlarb_high"
	}
	text, given := o.Text(k.prefix() + key)
	if !given {
		text, given = o.Text(AllPorts.prefix() + key)
	}
	if !given {
		for vl := range ident.MaxDataVL + 1 {
			if (vl == 0) == high {
				sum[vl] = ownWeight
			}
		}
		return sum
	}
	for p := range strings.SplitSeq(text, ",") {
		vl, weight, _ := strings.Cut(p, ":")
		v, err1 := parseC(strings.Trim(vl, blanks), 8)
		w, err2 := parseC(strings.Trim(weight, blanks), 8)
		if err1 == nil && err2 == nil && v >= 0 && v <= int64(ident.MaxDataVL) && w > 0 {
			sum[v] += int(w)
		}
	}
	return sum
}

// ownWeight is the weight of a lane in OpenSM's default tables.
const ownWeight = 4

// hasLanes reports whether the file has lane tables for any kind of ports except routers'.
func (o Options) hasLanes() bool {
	for _, k := range []PortKind{AllPorts, AdapterPort, SwitchPort} {
		for _, key := range []string{"vlarb_high", "vlarb_low", "sl2vl"} {
			if o.Line(k.prefix()+key) > 0 {
				return true
			}
		}
	}
	return false
}

// oneLane puts all service levels on lane 0 of ports of all kinds, and serves all lanes in turn.
func oneLane() Lanes {
	l := Lanes{High: []VLWeight{{}}, SL2VL: &[ident.NumSLs]ident.VL{}}
	for vl := range ident.MaxDataVL + 1 {
		l.Low = append(l.Low, VLWeight{vl, ownWeight})
	}
	return l
}
