package gnmidev

import (
	"maps"
	"slices"
	"strings"

	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/sim/plane"
)

// layout is the table of a card and the location of its run-time parameters. Cards with the same capabilities share it.
type layout struct {
	table    *nicparam.Table
	rows     []*nicparam.Param // run-time registers of a port, one value per register
	defaults []uint64
	byName   map[string]int
	sysfs    map[string]int // index in rows, by file below ecn, such as "roce_rp/rpg_gd"
	debugfs  map[string]int // index in rows, by file below cc_params
	dcb      *dcbnl.IEEE    // DCB state of an unchanged port
	hw       map[string]func(*plane.TransportCounters) uint64
	hwNames  []string
	counters []portCounter
}

// layoutOf returns the layout for a set of capabilities. The caller holds the lock.
func (s *Server) layoutOf(c nicparam.Caps) *layout {
	if l := s.shared[c]; l != nil {
		return l
	}
	l := newLayout(nicparam.New(c))
	s.shared[c] = l
	return l
}

func newLayout(t *nicparam.Table) *layout {
	l := &layout{
		table: t, byName: map[string]int{}, sysfs: map[string]int{}, debugfs: map[string]int{},
		dcb: defaultDCB(), hw: hwCounters(), counters: portCounters(),
	}
	l.hwNames = append(slices.Sorted(maps.Keys(l.hw)), lifespan)
	for _, b := range []nicparam.Backend{nicparam.Sysfs, nicparam.Debugfs} {
		for _, p := range t.By(b) {
			if p.Scope != nicparam.ScopePort {
				continue
			}
			i, ok := l.byName[p.Name]
			if !ok {
				i = len(l.rows)
				l.byName[p.Name] = i
				l.rows, l.defaults = append(l.rows, p), append(l.defaults, p.Default)
			}
			s, _ := p.Source(b)
			if b == nicparam.Sysfs {
				l.sysfs[s.Name] = i
			} else {
				l.debugfs[s.Name] = i
			}
		}
	}
	return l
}

// enableFile parses a name such as "roce_rp/enable/3".
func enableFile(name string) (role string, priority int, ok bool) {
	role, file, _ := strings.Cut(name, "/")
	digit, ok := strings.CutPrefix(file, "enable/")
	if !ok || len(digit) != 1 || digit[0] < '0' || digit[0] > '7' {
		return "", 0, false
	}
	return role, int(digit[0] - '0'), true
}
