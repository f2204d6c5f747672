package osmfile

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// policySections are the sections of a policy; each ends with "end-" and its name.
var policySections = [...]string{"qos-ulps", "port-groups", "qos-setup", "qos-levels", "qos-match-rules"}

// policyParts are the subsections of sections, also closed by "end-" and the name, and their known fields; nil fields
// are not checked.
var policyParts = map[string][]string{
	"port-group":     {"name", "use", "port-guid", "port-name", "pkey", "partition", "node-type"},
	"qos-level":      {"name", "use", "sl", "mtu-limit", "rate-limit", "packet-life", "path-bits", "pkey"},
	"qos-match-rule": {"use", "qos-class", "qos-level-name", "source", "destination", "service-id", "pkey"},
	"vlarb-tables":   nil, "vlarb-scope": nil, "sl2vl-tables": nil, "sl2vl-scope": nil,
}

// ReadPolicy parses a QoS policy file: sections, groups of ports, levels, rules of both forms and the default. A fault is
// a line for which OpenSM rejects the file.
func ReadPolicy(text string) (Policy, []Fault) {
	r := policyReader{levels: map[string]policyLevel{}, groups: map[string]*Ports{}}
	r.lines(text)
	if len(r.open) > 0 {
		r.fault("section %s has no end-%s", r.open[len(r.open)-1], r.open[len(r.open)-1])
	}
	return r.finish()
}

type policyReader struct {
	p      Policy
	faults []Fault
	line   int
	open   []string // sections
	empty  bool     // the section is empty so far
	long   []longRule
	short  []PolicyRule
	rule   longRule
	level  policyLevel
	group  Ports
	name   string                 // of the current level or group
	levels map[string]policyLevel // by name in lower case: OpenSM ignores case, and the first counts
	groups map[string]*Ports      // likewise
}

type policyLevel struct {
	sl    ident.SL
	given bool
	line  int // of its end
}

// longRule is a rule with the names that it references, which may be defined after it.
type longRule struct {
	PolicyRule
	source, destination []string
}

func (r *policyReader) lines(text string) {
	for l := range strings.Lines(text) {
		r.line++
		if strings.ContainsRune(strings.TrimSuffix(l, "\n"), '\r') {
			r.fault("a carriage return: OpenSM takes it for a part of the line")
		}
		if i := strings.IndexByte(l, '#'); i >= 0 {
			l = l[:i]
		}
		if l = strings.Trim(l, blanks); l != "" {
			r.read(l)
		}
	}
}

func (r *policyReader) fault(format string, args ...any) {
	r.faultAt(r.line, format, args...)
}

func (r *policyReader) faultAt(line int, format string, args ...any) {
	r.faults = append(r.faults, Fault{Line: line, Text: fmt.Sprintf(format, args...), Whole: true})
}

// in returns the innermost section; "" outside of all.
func (r *policyReader) in() string {
	if len(r.open) == 0 {
		return ""
	}
	return r.open[len(r.open)-1]
}

func (r *policyReader) read(l string) {
	_, part := policyParts[l]
	switch {
	case strings.HasPrefix(l, "end-"):
		name := strings.TrimPrefix(l, "end-")
		if len(r.open) == 0 || r.in() != name {
			r.fault("%s: nothing of that name is open here", quote(l))
			return
		}
		r.end(name)
		r.open = r.open[:len(r.open)-1]
	case slices.Contains(policySections[:], l) && len(r.open) == 0, part && len(r.open) > 0:
		r.open, r.empty = append(r.open, l), true
		r.rule, r.level, r.group, r.name = longRule{PolicyRule: PolicyRule{Line: r.line}}, policyLevel{}, Ports{}, ""
	case r.in() == "":
		r.fault("%s: want one of the sections %s", quote(l), strings.Join(policySections[:], ", "))
	case r.in() == "qos-ulps":
		r.empty = false
		r.ulp(l)
	default:
		r.field(l)
	}
}

// ulp parses a rule of the short form: WHAT[, CRITERION VALUES] : SL.
func (r *policyReader) ulp(l string) {
	i := strings.LastIndexByte(l, ':')
	if i < 0 {
		r.fault("%s: a rule is MATCH : SL", quote(l))
		return
	}
	sl, err := parseC(strings.Trim(l[i+1:], blanks), 32)
	if err != nil || sl < 0 || sl > 15 {
		r.fault("%s: SL %s: want 0 to 15", quote(l), quote(l[i+1:]))
		return
	}
	what, criterion, _ := strings.Cut(strings.Trim(l[:i], blanks), ",")
	what, criterion = strings.ToLower(strings.Trim(what, blanks)), strings.Trim(criterion, blanks)
	name, values, _ := strings.Cut(criterion, " ")
	rule := PolicyRule{Line: r.line, SL: ident.SL(sl)}
	switch {
	case what == "default" && criterion == "":
		v := rule.SL
		r.p.Default, r.p.DefaultLine = &v, r.line
		return
	case what == "ipoib" && criterion == "":
		rule.PKeys = [][2]uint16{{0x7fff, 0x7fff}}
	case (what == "any" || what == "ipoib") && name == "pkey":
		if rule.PKeys, err = keyRanges(values); err != nil {
			r.fault("%s: %v", quote(l), err)
			return
		}
	case what == "any" || what == "sdp" || what == "srp" || what == "rds" || what == "iser":
		rule.Other = true
	default:
		r.fault("%s: want default, any, ipoib, sdp, srp, rds or iser", quote(l))
		return
	}
	r.short = append(r.short, rule)
}

// field parses a line of the long form.
func (r *policyReader) field(l string) {
	name, value, ok := strings.Cut(l, ":")
	name, value = strings.Trim(name, blanks), strings.Trim(value, blanks)
	if !ok {
		r.fault("%s: want FIELD: VALUE", quote(l))
		return
	}
	known := policyParts[r.in()]
	if known != nil && !slices.Contains(known, name) {
		r.fault("%s: want one of the fields %s", quote(l), strings.Join(known, ", "))
		return
	}
	switch r.in() {
	case "port-group":
		r.groupField(name, value)
	case "qos-level":
		switch name {
		case "name":
			r.name = value
		case "sl":
			v, err := parseC(value, 32)
			if err != nil || v < 0 || v > 15 {
				r.fault("sl %s: want 0 to 15", quote(value))
				return
			}
			r.level.sl, r.level.given = ident.SL(v), true
		}
	case "qos-match-rule":
		r.ruleField(name, value)
	}
}

func (r *policyReader) groupField(name, value string) {
	switch name {
	case "name":
		r.name = value
	case "port-guid":
		guids, err := guidRanges(value)
		if err != nil {
			r.fault("%v", err)
			return
		}
		r.group.GUIDs = append(r.group.GUIDs, guids...)
	case "use":
	default:
		r.group.Open = true
	}
}

func (r *policyReader) ruleField(name, value string) {
	switch name {
	case "pkey":
		keys, err := keyRanges(value)
		if err != nil {
			r.fault("%v", err)
			return
		}
		r.rule.PKeys = append(r.rule.PKeys, keys...)
	case "source":
		r.rule.source = append(r.rule.source, strings.Split(value, ",")...)
	case "destination":
		r.rule.destination = append(r.rule.destination, strings.Split(value, ",")...)
	case "qos-level-name":
		r.rule.Level = value
	case "use":
	default:
		r.rule.Other = true
	}
}

// defaultLevel is the name of the level for queries that match no rule; it precedes the default of qos-ulps.
const defaultLevel = "default"

// end closes a section.
func (r *policyReader) end(name string) {
	key := strings.ToLower(r.name)
	switch name {
	case "qos-ulps", "port-groups":
		if r.empty {
			r.fault("section %s is empty", name)
		}
	case "port-group":
		if r.name == "" {
			r.fault("a port-group has a name")
		}
		if group := r.group; r.groups[key] == nil {
			r.groups[key] = &group
		}
		r.empty = false
	case "qos-level":
		if r.name == "" || !r.level.given {
			r.fault("a qos-level has a name and an sl")
		}
		if _, twice := r.levels[key]; !twice {
			r.level.line = r.line
			r.levels[key] = r.level
		}
	case "qos-match-rule":
		r.long = append(r.long, r.rule)
	}
}

// finish puts the rules of the long form first, as OpenSM does, and resolves their references.
func (r *policyReader) finish() (Policy, []Fault) {
	if l, ok := r.levels[defaultLevel]; ok {
		r.p.Default, r.p.DefaultLine = &l.sl, l.line
	}
	for _, rule := range r.long {
		l, ok := r.levels[strings.ToLower(rule.Level)]
		if !ok {
			r.faultAt(rule.Line, "level %s is not defined", quote(rule.Level))
		}
		rule.SL = l.sl
		rule.Source, rule.Destination = r.ports(rule.Line, rule.source), r.ports(rule.Line, rule.destination)
		r.p.Rules = append(r.p.Rules, rule.PolicyRule)
	}
	r.p.Rules = append(r.p.Rules, r.short...)
	return r.p, r.faults
}

// ports returns the union of the named groups; nil without any.
func (r *policyReader) ports(line int, names []string) *Ports {
	if names == nil {
		return nil
	}
	out := &Ports{}
	for _, name := range names {
		name = strings.Trim(name, blanks)
		g := r.groups[strings.ToLower(name)]
		if g == nil {
			r.faultAt(line, "port-group %s is not defined", quote(name))
			continue
		}
		out.GUIDs, out.Open = append(out.GUIDs, g.GUIDs...), out.Open || g.Open
	}
	out.sort()
	return out
}

// keyRanges parses 0x0001,0x0010-0x001f. Like OpenSM, it accepts the ends of a range in either order, and drops the
// membership bit.
func keyRanges(s string) ([][2]uint16, error) {
	out := [][2]uint16{}
	for p := range strings.SplitSeq(s, ",") {
		from, to, both := strings.Cut(strings.Trim(p, blanks), "-")
		a, err := parseC(strings.Trim(from, blanks), 32)
		b := a
		if err == nil && both {
			b, err = parseC(strings.Trim(to, blanks), 32)
		}
		if err != nil || a < 0 || b < 0 || a > 0xffff || b > 0xffff {
			return nil, fmt.Errorf("P_Keys %s: want numbers or ranges such as 0x0001,0x0010-0x001f", quote(p))
		}
		a, b = a&0x7fff, b&0x7fff
		out = append(out, [2]uint16{uint16(min(a, b)), uint16(max(a, b))})
	}
	return out, nil
}

// guidRanges parses 0x0002c90300001234,0x10-0x1f.
func guidRanges(s string) ([][2]ident.GUID, error) {
	var out [][2]ident.GUID
	for p := range strings.SplitSeq(s, ",") {
		from, to, both := strings.Cut(strings.Trim(p, blanks), "-")
		a, err := parseGUID(strings.Trim(from, blanks))
		b := a
		if err == nil && both {
			b, err = parseGUID(strings.Trim(to, blanks))
		}
		if err != nil {
			return nil, fmt.Errorf("port GUIDs %s: want numbers or ranges such as 0x0002c90300001234,0x10-0x1f", quote(p))
		}
		out = append(out, [2]ident.GUID{min(a, b), max(a, b)})
	}
	return out, nil
}
