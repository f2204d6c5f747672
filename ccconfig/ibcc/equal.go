package ibcc

import (
	"math/bits"
	"strconv"

	"fairlane/internal/fieldwise"
	"fairlane/subnet/ident"
)

// String formats the set as ranges of port numbers, such as "1-3,7", or "none".
func (m PortMask) String() string {
	s := ""
	for p := 0; p < 256; p++ {
		if !m.Has(ident.PortNum(p)) {
			continue
		}
		end := p
		for end < 255 && m.Has(ident.PortNum(end+1)) {
			end++
		}
		if s != "" {
			s += ","
		}
		s += strconv.Itoa(p)
		if end > p {
			s += "-" + strconv.Itoa(end)
		}
		p = end
	}
	if s == "" {
		return "none"
	}
	return s
}

// Max returns the highest port in the set, or -1 for an empty set.
func (m PortMask) Max() int {
	for w := len(m) - 1; w >= 0; w-- {
		if m[w] != 0 {
			return w*64 + bits.Len64(m[w]) - 1
		}
	}
	return -1
}

// Diff returns the fields in which got differs from c, for verification by read-back. Of the tables it compares only entries
// 0..Limit, because a device may return any value above (annex A10). An entry missing in got is listed as Absent. Nil means
// equal.
func (c *CASettings) Diff(got *CASettings) []fieldwise.Difference {
	var ds fieldwise.Differences
	ds.Add("per_sl", strconv.FormatBool(c.PerSL), strconv.FormatBool(got.PerSL))
	for sl, w := range c.SLs {
		if w != got.SLs[sl] {
			diffSL(&ds, "sl["+strconv.Itoa(sl)+"].", w, got.SLs[sl])
		}
	}
	ds.Number("ccti_limit", uint64(c.Limit), uint64(got.Limit))
	for i := range int(c.Limit) + 1 {
		w, wok := entryAt(c.Table, i)
		g, gok := entryAt(got.Table, i)
		if w != g || wok != gok {
			ds.Add("cct["+strconv.Itoa(i)+"]", entryText(w, wok), entryText(g, gok))
		}
	}
	return ds
}

// Equal reports whether Diff would return nil, without building a list.
func (c *CASettings) Equal(got *CASettings) bool {
	if c.PerSL != got.PerSL || c.SLs != got.SLs || c.Limit != got.Limit {
		return false
	}
	for i := range int(c.Limit) + 1 {
		w, wok := entryAt(c.Table, i)
		g, gok := entryAt(got.Table, i)
		if w != g || wok != gok {
			return false
		}
	}
	return true
}

func diffSL(ds *fieldwise.Differences, path string, w, g SLParams) {
	ds.Number(path+"timer", uint64(w.Timer), uint64(g.Timer))
	ds.Number(path+"increase", uint64(w.Increase), uint64(g.Increase))
	ds.Number(path+"trigger", uint64(w.Trigger), uint64(g.Trigger))
	ds.Number(path+"min", uint64(w.Min), uint64(g.Min))
}

func entryAt(t []Entry, i int) (Entry, bool) {
	if i < len(t) {
		return t[i], true
	}
	return Entry{}, false
}

func entryText(e Entry, ok bool) string {
	if !ok {
		return fieldwise.Absent
	}
	return e.String()
}

// Diff returns the fields in which got differs from s. Nil means equal.
func (s *SwitchSettings) Diff(got *SwitchSettings) []fieldwise.Difference {
	var ds fieldwise.Differences
	if *s == *got {
		return nil
	}
	ds.Add("victim_mask", s.VictimMask.String(), got.VictimMask.String())
	ds.Add("credit_mask", s.CreditMask.String(), got.CreditMask.String())
	ds.Number("threshold", uint64(s.Threshold), uint64(got.Threshold))
	ds.Number("packet_size", uint64(s.PacketSize), uint64(got.PacketSize))
	ds.Number("cs_threshold", uint64(s.CSThreshold), uint64(got.CSThreshold))
	ds.Add("cs_return_delay", s.CSReturnDelay.String(), got.CSReturnDelay.String())
	ds.Number("marking_rate", uint64(s.MarkingRate), uint64(got.MarkingRate))
	return ds
}

// Equal reports whether Diff would return nil.
func (s *SwitchSettings) Equal(got *SwitchSettings) bool { return *s == *got }

// Equal compares two elements for verification by read-back: if neither is valid, the other fields do not count, because the
// switch-wide defaults apply to the port.
func (m PortMarking) Equal(got PortMarking) bool {
	return m == got || !m.Valid && !got.Valid
}

// Diff returns the fields in which got differs from m, for port p. Nil means equal.
func (m PortMarking) Diff(p ident.PortNum, got PortMarking) []fieldwise.Difference {
	if m.Equal(got) {
		return nil
	}
	var ds fieldwise.Differences
	path := "ports[" + strconv.Itoa(int(p)) + "]."
	ds.Add(path+"valid", strconv.FormatBool(m.Valid), strconv.FormatBool(got.Valid))
	if m.Valid && got.Valid {
		ds.Add(path+"credit_starvation", strconv.FormatBool(m.CreditStarvation), strconv.FormatBool(got.CreditStarvation))
		ds.Number(path+"threshold", uint64(m.Threshold), uint64(got.Threshold))
		ds.Number(path+"packet_size", uint64(m.PacketSize), uint64(got.PacketSize))
		ds.Number(path+"marking_rate", uint64(m.MarkingRate), uint64(got.MarkingRate))
	}
	return ds
}
