package osmfile

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// Policy is a QoS policy file as far as it decides about service levels by partition.
type Policy struct {
	Default     *ident.SL // of queries that match no rule; nil is missing, and OpenSM refuses the file
	DefaultLine int
	Rules       []PolicyRule // in the order in which OpenSM looks at them
	ulps        int          // line of the first qos-ulps; 0 is none
}

// PolicyRule is a rule that may match a query.
type PolicyRule struct {
	Line  int
	PKeys [][2]uint16 // ranges without the membership bit; nil is a rule that does not look at P_Keys
	Other bool        // looks at more than P_Keys, so that not every query of the partition matches
	SL    ident.SL    // 0 when Level names it
	Level string      // of rules in the long form
	Short bool        // stands in qos-ulps
}

// matches tells whether a query that names the P_Key may match.
func (r PolicyRule) matches(k ident.PKey) bool {
	if r.PKeys == nil {
		return true
	}
	return slices.ContainsFunc(r.PKeys, func(x [2]uint16) bool { return x[0] <= uint16(k.Base()) && uint16(k.Base()) <= x[1] })
}

// SL is the service level of a query that names the P_Key and nothing else that rules look at; 0 when the policy has no
// default and no rule for it.
func (p Policy) SL(k ident.PKey) ident.SL {
	for _, r := range p.Rules {
		if !r.Other && r.matches(k) {
			return r.SL
		}
	}
	if p.Default == nil {
		return 0
	}
	return *p.Default
}

// policySections are the sections of a policy; each ends with "end-" and its name.
var policySections = [...]string{"qos-ulps", "port-groups", "qos-setup", "qos-levels", "qos-match-rules"}

// policyParts are what stands in sections, ended alike.
var policyParts = [...]string{"port-group", "qos-level", "qos-match-rule", "vlarb-tables", "vlarb-scope", "sl2vl-tables", "sl2vl-scope"}

// ReadPolicy reads the text of a QoS policy file: sections, rules of both forms and the default. A fault is a line
// that is not one of these.
func ReadPolicy(text string) (Policy, []Fault) {
	r := policyReader{levels: map[string]ident.SL{}}
	r.lines(text)
	if len(r.open) > 0 {
		r.fault("section %s has no end-%s", r.open[len(r.open)-1], r.open[len(r.open)-1])
	}
	return r.finish()
}

// inULPs tells whether what follows the text stands in a section qos-ulps.
func inULPs(text string) bool {
	r := policyReader{levels: map[string]ident.SL{}}
	r.lines(text)
	return r.in() == "qos-ulps"
}

type policyReader struct {
	p      Policy
	faults []Fault
	line   int
	open   []string // sections
	long   []PolicyRule
	short  []PolicyRule
	rule   PolicyRule
	level  struct {
		name string
		sl   ident.SL
	}
	levels map[string]ident.SL
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
	r.faults = append(r.faults, Fault{Line: r.line, Text: fmt.Sprintf(format, args...), Whole: true})
}

// in is the innermost section; "" outside of all.
func (r *policyReader) in() string {
	if len(r.open) == 0 {
		return ""
	}
	return r.open[len(r.open)-1]
}

func (r *policyReader) read(l string) {
	switch {
	case strings.HasPrefix(l, "end-"):
		name := strings.TrimPrefix(l, "end-")
		if len(r.open) == 0 || r.in() != name {
			r.fault("%s: nothing of that name is open here", quote(l))
			return
		}
		r.end(name)
		r.open = r.open[:len(r.open)-1]
	case slices.Contains(policySections[:], l) && len(r.open) == 0, slices.Contains(policyParts[:], l) && len(r.open) > 0:
		r.open = append(r.open, l)
		if l == "qos-ulps" && r.p.ulps == 0 {
			r.p.ulps = r.line
		}
		r.rule = PolicyRule{Line: r.line}
		r.level.name, r.level.sl = "", 0
	case r.in() == "":
		r.fault("%s: want one of the sections %s", quote(l), strings.Join(policySections[:], ", "))
	case r.in() == "qos-ulps":
		r.ulp(l)
	default:
		r.field(l)
	}
}

// ulp reads a rule of the short form: WHAT[, CRITERION VALUES] : SL.
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
	rule := PolicyRule{Line: r.line, SL: ident.SL(sl), Short: true}
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

// field reads a line of the long form.
func (r *policyReader) field(l string) {
	name, value, ok := strings.Cut(l, ":")
	name, value = strings.Trim(name, blanks), strings.Trim(value, blanks)
	if !ok {
		r.fault("%s: want FIELD: VALUE", quote(l))
		return
	}
	switch r.in() {
	case "qos-level":
		switch name {
		case "name":
			r.level.name = value
		case "sl":
			v, err := parseC(value, 32)
			if err != nil || v < 0 || v > 15 {
				r.fault("sl %s: want 0 to 15", quote(value))
				return
			}
			r.level.sl = ident.SL(v)
		}
	case "qos-match-rule":
		switch name {
		case "pkey":
			keys, err := keyRanges(value)
			if err != nil {
				r.fault("%v", err)
				return
			}
			r.rule.PKeys = append(r.rule.PKeys, keys...)
		case "qos-level-name":
			r.rule.Level = value
		case "use":
		default:
			r.rule.Other = true
		}
	}
}

// end closes a section.
func (r *policyReader) end(name string) {
	switch name {
	case "qos-level":
		if r.level.name == "DEFAULT" {
			v := r.level.sl
			r.p.Default, r.p.DefaultLine = &v, r.line
		}
		r.levels[r.level.name] = r.level.sl
	case "qos-match-rule":
		r.long = append(r.long, r.rule)
	}
}

// finish puts the long form's rules first, as OpenSM does, and gives them their levels' SLs.
func (r *policyReader) finish() (Policy, []Fault) {
	for i := range r.long {
		sl, ok := r.levels[r.long[i].Level]
		if !ok {
			r.faults = append(r.faults, Fault{Line: r.long[i].Line, Text: fmt.Sprintf("level %s is not defined", quote(r.long[i].Level)), Whole: true})
		}
		r.long[i].SL = sl
	}
	r.p.Rules = append(r.long, r.short...)
	return r.p, r.faults
}

// keyRanges reads 0x0001,0x0010-0x001f.
func keyRanges(s string) ([][2]uint16, error) {
	out := [][2]uint16{}
	for p := range strings.SplitSeq(s, ",") {
		from, to, both := strings.Cut(strings.Trim(p, blanks), "-")
		a, err := parseC(strings.Trim(from, blanks), 32)
		b := a
		if err == nil && both {
			b, err = parseC(strings.Trim(to, blanks), 32)
		}
		if err != nil || a < 0 || b > 0xffff || a > b {
			return nil, fmt.Errorf("P_Keys %s: want numbers or ranges such as 0x0001,0x0010-0x001f", quote(p))
		}
		out = append(out, [2]uint16{uint16(a) & 0x7fff, uint16(b) & 0x7fff})
	}
	return out, nil
}
