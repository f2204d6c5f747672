package p4info

import p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

// Shorten converts the byte strings of an entity from a device to canonical form, in place. A receiver must accept leading
// zeros (P4Runtime specification, "Bytestrings"), so the driver calls it before decoding. An empty byte string is not changed.
func Shorten(e *p4v1.Entity) {
	for _, m := range e.GetTableEntry().GetMatch() {
		if x, ok := m.GetFieldMatchType().(*p4v1.FieldMatch_Exact_); ok && x.Exact != nil {
			x.Exact.Value = short(x.Exact.GetValue())
		}
	}
	for _, p := range e.GetTableEntry().GetAction().GetAction().GetParams() {
		p.Value = short(p.GetValue())
	}
	ShortenData(e.GetRegisterEntry().GetData())
}

// ShortenData does the same for the data of a register or digest.
func ShortenData(d *p4v1.P4Data) {
	switch x := d.GetData().(type) {
	case *p4v1.P4Data_Bitstring:
		x.Bitstring = short(x.Bitstring)
	case *p4v1.P4Data_Struct:
		for _, m := range x.Struct.GetMembers() {
			if b, ok := m.GetData().(*p4v1.P4Data_Bitstring); ok {
				b.Bitstring = short(b.Bitstring)
			}
		}
	}
}

func short(b []byte) []byte {
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	return b
}
