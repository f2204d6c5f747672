package dcbnl

import (
	"fmt"
	"slices"

	"fairlane/ccconfig/nic/nicparam"
)

// Settings returns the managed objects of a port as settings of the parameter table, in the table's order. Nil objects have no
// settings. Trust is dscp if the application table has an entry by DSCP, as in the mlx5 driver.
func (o *IEEE) Settings(port int) []nicparam.Setting {
	var out []nicparam.Setting
	for _, row := range []struct {
		name string
		size int
	}{{"trust", 1}, {"dscp2prio", dscps}, {"prio2tc", 8}, {"tsa", 8}, {"tc_bw", 8}, {"tc_maxrate", 8}, {"pfc", 8}, {"cable_len", 1}, {"prio2buffer", 8}, {"buffer_size", 8}} {
		for i := range row.size {
			if v, ok := o.Value(row.name, i); ok {
				out = append(out, nicparam.Setting{Key: nicparam.Key{Port: port, Name: row.name, Index: i}, Value: v})
			}
		}
	}
	return out
}

// Value returns the setting with a name and an index; false if there is none.
func (o *IEEE) Value(name string, index int) (uint64, bool) {
	switch {
	case name == "dscp2prio":
		return o.prioOf(index)
	case name == "trust" && index == 0:
		if slices.ContainsFunc(o.Apps, App.byDSCP) {
			return nicparam.TrustDSCP, true
		}
		return nicparam.TrustPCP, true
	case name == "cable_len" && index == 0 && o.PFC != nil:
		return uint64(o.PFC.Delay), true
	case index < 0 || index > 7:
	case name == "prio2tc" && o.ETS != nil:
		return uint64(o.ETS.PrioTC[index]), true
	case name == "tsa" && o.ETS != nil:
		return uint64(o.ETS.TSA[index]), true
	case name == "tc_bw" && o.ETS != nil:
		return uint64(o.ETS.TxBW[index]), true
	case name == "tc_maxrate" && o.MaxRate != nil:
		return o.MaxRate[index], true
	case name == "pfc" && o.PFC != nil:
		return uint64(o.PFC.Enabled >> index & 1), true
	case name == "prio2buffer" && o.Buffer != nil:
		return uint64(o.Buffer.PrioBuffer[index]), true
	case name == "buffer_size" && o.Buffer != nil:
		return uint64(o.Buffer.Size[index]), true
	}
	return 0, false
}

// dscps is the number of DSCPs.
const dscps = 64

// byDSCP reports whether an entry maps a DSCP to a priority.
func (a App) byDSCP() bool { return a.Selector == SelectorDSCP && a.Protocol < dscps }

// prioOf returns the priority of a DSCP in the application table. If there are several entries, the highest priority applies,
// as in the kernel.
func (o *IEEE) prioOf(dscp int) (most uint64, found bool) {
	for _, a := range o.Apps {
		if a.byDSCP() && int(a.Protocol) == dscp {
			most, found = max(most, uint64(a.Priority)), true
		}
	}
	return most, found
}

// Change is a change of a port's state: objects to set, and then entries to delete. A new entry is added before the old one is
// deleted, so that a DSCP always has one.
type Change struct {
	Set    *IEEE // nil if there is nothing to set
	Delete []App
}

// Plan computes the change from the port's state o to the values of a set, which nicparam's Check must have accepted;
// it uses only DCB parameters. An attribute is written completely, so its values that are not in the set keep their
// values of o. Plan returns an error if o lacks the object of a setting, because the other values of that object are
// then unknown, and if the resulting trust would differ from the desired one: the first entry by DSCP changes trust
// to dscp, so a set that adds this entry must also set trust to dscp.
func (o *IEEE) Plan(set []nicparam.Setting) (Change, error) {
	after := o.clone()
	wanted := map[int]uint64{}
	trust := -1
	for _, s := range set {
		switch s.Name {
		case "trust":
			trust = int(s.Value)
		case "dscp2prio":
			wanted[s.Index] = s.Value
		default:
			if err := after.put(s); err != nil {
				return Change{}, err
			}
		}
	}
	c := Change{Set: o.changed(after)}
	err := c.apps(o, wanted, trust)
	return c.tidy(), err
}

// apps plans the entries by DSCP.
func (c *Change) apps(o *IEEE, wanted map[int]uint64, trust int) error {
	left := map[uint16]bool{}
	for _, a := range o.Apps {
		if a.Selector != SelectorDSCP {
			continue
		}
		want, named := wanted[int(a.Protocol)]
		if trust == nicparam.TrustPCP || named && want != uint64(a.Priority) {
			c.Delete = append(c.Delete, a)
			continue
		}
		left[a.Protocol] = true
	}
	if trust == nicparam.TrustPCP {
		for _, want := range wanted {
			if want != 0 { // 0 is the value of a DSCP without an entry: such a set restores the state before the first entry
				return &FormatError{"trust", "pcp with priorities of DSCPs", "dscp, or no dscp2prio but 0 in the set"}
			}
		}
		return nil
	}
	for dscp := range dscps {
		if want, ok := wanted[dscp]; ok && !left[uint16(dscp)] {
			c.Set.Apps = append(c.Set.Apps, App{SelectorDSCP, uint8(want), uint16(dscp)})
			left[uint16(dscp)] = true
		}
	}
	if trust < 0 && len(left) > 0 && !slices.ContainsFunc(o.Apps, App.byDSCP) {
		return &FormatError{"trust", "no value, with the first priority of a DSCP, which turns it to dscp", "dscp in the set"}
	}
	if trust == nicparam.TrustDSCP && len(left) == 0 {
		return &FormatError{"trust", "dscp without a priority of any DSCP", "at least one dscp2prio in the set"}
	}
	return nil
}

// Back computes the change from the port's state o to an earlier state. It ignores read-only counters and totals. Objects that
// the earlier state lacks stay.
func (o *IEEE) Back(earlier *IEEE) Change {
	after := o.clone()
	if o.ETS != nil && earlier.ETS != nil {
		*after.ETS = *earlier.ETS
		after.ETS.Cap, after.ETS.CBS = o.ETS.Cap, o.ETS.CBS
	}
	if o.PFC != nil && earlier.PFC != nil {
		after.PFC.Enabled, after.PFC.MBC, after.PFC.Delay = earlier.PFC.Enabled, earlier.PFC.MBC, earlier.PFC.Delay
	}
	if o.MaxRate != nil && earlier.MaxRate != nil {
		*after.MaxRate = *earlier.MaxRate
	}
	if o.Buffer != nil && earlier.Buffer != nil {
		after.Buffer.PrioBuffer, after.Buffer.Size = earlier.Buffer.PrioBuffer, earlier.Buffer.Size
	}
	c := Change{Set: o.changed(after)}
	for _, a := range earlier.Apps {
		if !slices.Contains(o.Apps, a) {
			c.Set.Apps = append(c.Set.Apps, a)
		}
	}
	for _, a := range o.Apps {
		if !slices.Contains(earlier.Apps, a) {
			c.Delete = append(c.Delete, a)
		}
	}
	return c.tidy()
}

// tidy sets Set to nil if it is empty.
func (c Change) tidy() Change {
	if s := c.Set; s.ETS == nil && s.PFC == nil && s.MaxRate == nil && s.Buffer == nil && s.Apps == nil {
		c.Set = nil
	}
	return c
}

// changed returns the objects of after that differ from o, without the application table.
func (o *IEEE) changed(after *IEEE) *IEEE {
	return &IEEE{ETS: changed(o.ETS, after.ETS), PFC: changed(o.PFC, after.PFC), MaxRate: changed(o.MaxRate, after.MaxRate), Buffer: changed(o.Buffer, after.Buffer)}
}

// changed returns an object that has changed; nil if it has not, or did not exist before.
func changed[T comparable](before, after *T) *T {
	if before == nil || *before == *after {
		return nil
	}
	return after
}

func (o *IEEE) clone() *IEEE {
	return &IEEE{ETS: clone(o.ETS), PFC: clone(o.PFC), MaxRate: clone(o.MaxRate), Buffer: clone(o.Buffer), Apps: slices.Clone(o.Apps)}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// put stores one value.
func (o *IEEE) put(s nicparam.Setting) error {
	lacking := func(object string) error {
		return &FormatError{s.Key.String(), "no " + object + " read from the port", object + ", of which it is a part"}
	}
	switch s.Name {
	case "prio2tc", "tsa", "tc_bw":
		if o.ETS == nil {
			return lacking("ETS")
		}
		row := map[string]*[8]uint8{"prio2tc": &o.ETS.PrioTC, "tsa": &o.ETS.TSA, "tc_bw": &o.ETS.TxBW}[s.Name]
		return place(row[:], s)
	case "tc_maxrate":
		if o.MaxRate == nil {
			return lacking("MAXRATE")
		}
		return place(o.MaxRate[:], s)
	case "pfc", "cable_len":
		if o.PFC == nil {
			return lacking("PFC")
		}
		if s.Name == "cable_len" {
			o.PFC.Delay = uint16(s.Value)
			return nil
		}
		o.PFC.Enabled = o.PFC.Enabled&^(1<<s.Index) | uint8(s.Value&1)<<s.Index
	case "prio2buffer":
		if o.Buffer == nil {
			return lacking("BUFFER")
		}
		return place(o.Buffer.PrioBuffer[:], s)
	case "buffer_size":
		if o.Buffer == nil {
			return lacking("BUFFER")
		}
		return place(o.Buffer.Size[:], s)
	}
	return nil
}

func place[T uint8 | uint32 | uint64](row []T, s nicparam.Setting) error {
	if s.Index < 0 || s.Index >= len(row) {
		return &FormatError{s.Key.String(), fmt.Sprintf("index %d", s.Index), fmt.Sprintf("0..%d", len(row)-1)}
	}
	row[s.Index] = T(s.Value)
	return nil
}
