package osmfile

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// partitionsLine is the number of bytes of a line of partitions.conf that OpenSM reads at once; it treats the rest as
// another line.
const partitionsLine = 4094

// Stanza is a partition of partitions.conf, as OpenSM reads it.
type Stanza struct {
	Name      string
	PKey      ident.PKey // without the membership bit; 0: OpenSM chooses one
	SL        ident.SL
	IPoIB     bool
	MTU, Rate uint8 // codes of the broadcast group; 0 is OpenSM's default
	DefFull   bool  // members without a membership word are full
	Members   []StanzaMember
	Line      int // of the definition, from 1
}

// StanzaMember is a member of a stanza: one port by GUID, or a keyword that stands for several ports.
type StanzaMember struct {
	Word string // ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF; empty when GUID is set
	GUID ident.GUID
	Full bool
	Both bool
}

// Fault is a line that OpenSM does not understand.
type Fault struct {
	Line int // from 1
	Text string
	// Whole means that OpenSM rejects the whole file because of this line. Without partitions.conf every port is a full
	// member of the default partition, and of no other.
	Whole bool
}

// Refused reports whether OpenSM rejects a file with these faults.
func Refused(faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return f.Whole })
}

// Error returns "line N: text".
func (f Fault) Error() string { return fmt.Sprintf("line %d: %s", f.Line, f.Text) }

// ReadPartitions parses partitions.conf. It returns the readable stanzas, and the faults.
func ReadPartitions(text string) ([]Stanza, []Fault) {
	r := partReader{}
	for l := range strings.Lines(text) {
		r.line++
		if plain, _, _ := strings.Cut(l, "#"); strings.ContainsAny(plain, "\r\x00") {
			r.refuse("a carriage return or a NUL byte: OpenSM takes it for a part of the definition")
		}
		if len(l) > partitionsLine+1 {
			r.fault("%d bytes: OpenSM cuts lines after %d", len(l), partitionsLine)
		}
		for part := l; part != ""; {
			chunk := part[:min(len(part), partitionsLine)]
			part = part[len(chunk):]
			r.read(chunk)
		}
	}
	if r.open {
		r.fault("the partition that begins at line %d has no %q", r.stanza.Line, ";")
		r.close()
	}
	return r.out, r.faults
}

type partReader struct {
	out    []Stanza
	faults []Fault
	line   int
	open   bool // in a stanza
	stanza Stanza
}

func (r *partReader) fault(format string, args ...any) {
	r.faults = append(r.faults, Fault{Line: r.line, Text: fmt.Sprintf(format, args...)})
}

func (r *partReader) refuse(format string, args ...any) {
	r.faults = append(r.faults, Fault{Line: r.line, Text: fmt.Sprintf(format, args...), Whole: true})
}

func (r *partReader) close() {
	r.out = append(r.out, r.stanza)
	r.open, r.stanza = false, Stanza{}
}

// read reads one line: definitions and their members, separated by semicolons.
func (r *partReader) read(s string) {
	if i := strings.IndexAny(s, "#\x00"); i >= 0 {
		s = s[:i]
	}
	for {
		if s = strings.TrimLeft(s, partBlanks); s == "" {
			return
		}
		part, rest, ended := strings.Cut(s, ";")
		if part == "" {
			r.refuse("nothing stands between %q and what is before it on its line: OpenSM reads on where there is nothing", ";")
		} else if !r.part(part) {
			return
		}
		if ended && r.open {
			r.close()
		}
		s = rest
	}
}

const partBlanks = " \t\n\r"

// part parses the text before a semicolon or the end of a line.
func (r *partReader) part(s string) bool {
	if !r.open {
		head, members, found := strings.Cut(s, ":")
		if !found {
			r.refuse("%s: a partition is NAME=P_KEY, flags, then %q on the same line", quote(s), ":")
			return false
		}
		if !r.define(head) {
			return false
		}
		s = members
	}
	for m := range strings.SplitSeq(s, ",") {
		name, value, given := cutTrim(m)
		if name == "mgid" {
			return true // a multicast group takes the rest of the line
		}
		if !r.member(name, value, given) {
			return false
		}
	}
	return true
}

// define parses NAME=P_KEY,flags.
func (r *partReader) define(head string) bool {
	st := Stanza{Line: r.line}
	for i, f := range strings.Split(head, ",") {
		name, value, given := cutTrim(f)
		if i > 0 {
			if !st.flag(name, value) {
				r.fault("%s=%s: want 0 to 15", name, value)
			}
			continue
		}
		if !given && name != "" && name[0] >= '0' && name[0] <= '9' {
			name, value, given = "", name, true
		}
		st.Name = name
		if given {
			v, err := parseC(value, 63)
			if err != nil {
				r.refuse("P_Key %s: want a number from 0x0001 to 0x7fff", quote(value))
				return false
			}
			if v < 0 || v > 0xffff {
				r.fault("P_Key %s: want a number from 0x0001 to 0x7fff; OpenSM takes its lowest 15 bits", quote(value))
			}
			st.PKey = ident.PKey(v & 0x7fff)
		}
	}
	r.open, r.stanza = true, st
	return true
}

// flag parses a flag of a definition; it returns false for a service level that OpenSM would ignore. Other ignored flags
// are not checked.
func (st *Stanza) flag(name, value string) bool {
	switch {
	case name == "sl":
		v, err := parseC(value, 32)
		if err != nil || v < 0 || v > 15 {
			return false
		}
		st.SL = ident.SL(v)
	case name == "ipoib":
		st.IPoIB = true
	case name == "mtu":
		st.MTU = smallCode(value)
	case name == "rate":
		st.Rate = smallCode(value)
	case len(name) > 0 && strings.HasPrefix("defmember", name):
		st.DefFull = strings.HasPrefix("full", value) && value != ""
	}
	return true
}

func smallCode(s string) uint8 {
	v, err := parseC(s, 32)
	if err != nil || v < 0 || v > 63 {
		return 0
	}
	return uint8(v)
}

// memberWords are the keywords that stand for several ports, in the order in which OpenSM compares their prefixes.
var memberWords = [...]string{"ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"}

func (r *partReader) member(name, value string, given bool) bool {
	if name == "" || strings.HasPrefix("NONE", name) {
		return true
	}
	m := StanzaMember{Full: r.stanza.DefFull}
	if given {
		m.Full = strings.HasPrefix("full", value)
		m.Both = !m.Full && strings.HasPrefix("both", value)
	}
	for _, w := range memberWords {
		if strings.HasPrefix(w, name) {
			m.Word = w
			r.stanza.Members = append(r.stanza.Members, m)
			return true
		}
	}
	v, err := parseGUID(name)
	if err != nil {
		r.refuse("member %s: want a port GUID such as 0x0002c90300001234, or ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF", quote(name))
		return false
	}
	m.GUID = v
	r.stanza.Members = append(r.stanza.Members, m)
	return true
}

// cutTrim splits NAME=VALUE.
func cutTrim(s string) (name, value string, given bool) {
	name, value, given = strings.Cut(s, "=")
	return strings.Trim(name, partBlanks), strings.Trim(value, partBlanks), given
}

// quote returns at most a few words of a text.
func quote(s string) string {
	s = strings.Trim(s, partBlanks)
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return fmt.Sprintf("%q", s)
}
