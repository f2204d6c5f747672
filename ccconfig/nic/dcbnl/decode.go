package dcbnl

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Split splits the result of one socket read into messages, which share its memory.
func (c Codec) Split(b []byte) ([][]byte, error) {
	var out [][]byte
	for len(b) > 0 {
		n, err := c.length(b)
		if err != nil {
			return nil, err
		}
		out = append(out, b[:n])
		b = b[min(align(n), len(b)):]
	}
	return out, nil
}

// length checks the length in a header.
func (c Codec) length(b []byte) (int, error) {
	if len(b) < sizeHeader {
		return 0, &FormatError{"message", fmt.Sprintf("%d bytes", len(b)), fmt.Sprintf("at least %d", sizeHeader)}
	}
	n := c.Order.Uint32(b)
	if n < sizeHeader || uint64(n) > uint64(len(b)) || n > MaxMessage {
		return 0, &FormatError{"message length", fmt.Sprint(n), fmt.Sprintf("%d..%d", sizeHeader, min(len(b), MaxMessage))}
	}
	return int(n), nil
}

func align(n int) int { return (n + 3) &^ 3 }

// Decode decodes one message. It returns a *KernelError if the kernel rejected the request, and a *FormatError for an invalid
// message. It ignores unknown attributes.
func (c Codec) Decode(b []byte) (*Message, error) {
	n, err := c.length(b)
	if err != nil {
		return nil, err
	}
	b = b[:n]
	m := &Message{Type: c.Order.Uint16(b[4:]), Flags: c.Order.Uint16(b[6:]), Sequence: c.Order.Uint32(b[8:]), Port: c.Order.Uint32(b[12:])}
	body := b[sizeHeader:]
	if len(body) < sizeCommand {
		return nil, &FormatError{"message", fmt.Sprintf("%d bytes", n), fmt.Sprintf("at least %d", sizeHeader+sizeCommand)}
	}
	switch m.Type {
	case TypeError:
		if errno := int32(c.Order.Uint32(body)); errno != 0 {
			return nil, &KernelError{Sequence: m.Sequence, Errno: -errno}
		}
		m.Ack = true
		return m, nil
	case TypeGet, TypeSet:
	default:
		return nil, &FormatError{"type", fmt.Sprint(m.Type), fmt.Sprintf("%d, %d or %d", TypeError, TypeGet, TypeSet)}
	}
	m.Command = body[1]
	return m, c.each(body[sizeCommand:], "message", func(typ uint16, payload []byte) error { return c.attr(m, typ, payload) })
}

// each calls f for the attributes of a part, each type at most once unless the part is a list.
func (c Codec) each(b []byte, part string, f func(uint16, []byte) error) error {
	seen := uint64(0)
	for len(b) > 0 {
		if len(b) < sizeAttr {
			return &FormatError{part, fmt.Sprintf("%d bytes after the last attribute", len(b)), "none"}
		}
		n, typ := int(c.Order.Uint16(b)), c.Order.Uint16(b[2:])&0x3fff
		if n < sizeAttr || n > len(b) {
			return &FormatError{fmt.Sprintf("attribute %d of the %s", typ, part), fmt.Sprintf("length %d", n), fmt.Sprintf("%d..%d", sizeAttr, len(b))}
		}
		if part != listPart && typ < 64 {
			if seen&(1<<typ) != 0 {
				return &FormatError{fmt.Sprintf("attribute %d of the %s", typ, part), "two of them", "one"}
			}
			seen |= 1 << typ
		}
		if err := f(typ, b[sizeAttr:n]); err != nil {
			return err
		}
		b = b[min(align(n), len(b)):]
	}
	return nil
}

// listPart is the only part in which a type may repeat.
const listPart = "application table"

// attr decodes one attribute of a message.
func (c Codec) attr(m *Message, typ uint16, p []byte) error {
	if attr, ok := statusAttr(m.Command); ok && attr == typ && m.Flags&FlagRequest == 0 {
		if err := exactly("status", p, 1); err != nil {
			return err
		}
		m.Status = new(p[0])
		return nil
	}
	switch typ {
	case attrIfName:
		name, _, terminated := bytes.Cut(p, []byte{0})
		if !terminated || len(name) > MaxInterface {
			return &FormatError{"interface", fmt.Sprintf("%d bytes", len(p)), fmt.Sprintf("at most %d and a 0", MaxInterface)}
		}
		m.Interface = string(name)
	case attrDCBX:
		if err := exactly("DCBX", p, 1); err != nil {
			return err
		}
		m.DCBX = new(p[0])
	case attrIEEE:
		m.IEEE = &IEEE{}
		return c.each(p, "IEEE nest", func(typ uint16, p []byte) error { return c.ieee(m.IEEE, typ, p) })
	}
	return nil
}

func exactly(part string, p []byte, n int) error {
	if len(p) != n {
		return &FormatError{part, fmt.Sprintf("%d bytes", len(p)), fmt.Sprint(n)}
	}
	return nil
}

// ieee decodes one managed object.
func (c Codec) ieee(o *IEEE, typ uint16, p []byte) error {
	switch typ {
	case ieeeETS:
		if err := exactly("ETS", p, sizeETS); err != nil {
			return err
		}
		o.ETS = &ETS{Willing: p[0] != 0, Cap: p[1], CBS: p[2] != 0}
		for i, row := range o.ETS.rows() {
			copy(row[:], p[3+8*i:])
		}
	case ieeePFC:
		if err := exactly("PFC", p, sizePFC); err != nil {
			return err
		}
		o.PFC = decodePFC(c.Order, p)
	case ieeeApps:
		return c.each(p, listPart, func(typ uint16, p []byte) error { return c.app(o, typ, p) })
	case ieeeMaxRate:
		if err := exactly("MAXRATE", p, sizeMaxRate); err != nil {
			return err
		}
		o.MaxRate = &[8]uint64{}
		for i := range o.MaxRate {
			o.MaxRate[i] = c.Order.Uint64(p[8*i:])
		}
	case ieeeBuffer:
		if err := exactly("BUFFER", p, sizeBuffer); err != nil {
			return err
		}
		o.Buffer = &Buffer{Total: c.Order.Uint32(p[40:])}
		copy(o.Buffer.PrioBuffer[:], p)
		for i := range o.Buffer.Size {
			o.Buffer.Size[i] = c.Order.Uint32(p[8+4*i:])
		}
	}
	return nil
}

func decodePFC(order binary.ByteOrder, p []byte) *PFC {
	f := &PFC{Cap: p[0], Enabled: p[1], MBC: p[2] != 0, Delay: order.Uint16(p[4:])}
	for i := range 8 {
		f.Requests[i] = order.Uint64(p[8+8*i:])
		f.Indications[i] = order.Uint64(p[72+8*i:])
	}
	return f
}

// app decodes one entry of the application table.
func (c Codec) app(o *IEEE, typ uint16, p []byte) error {
	if typ != appIEEE && typ != appDCB {
		return nil
	}
	if err := exactly("application-table entry", p, sizeApp); err != nil {
		return err
	}
	a := App{Selector: p[0], Priority: p[1], Protocol: c.Order.Uint16(p[2:])}
	switch {
	case appAttr(a.Selector) != typ:
		return &FormatError{"application-table entry", fmt.Sprintf("selector %d in attribute %d", a.Selector, typ), fmt.Sprintf("attribute %d", appAttr(a.Selector))}
	case len(o.Apps) == MaxApps:
		return &FormatError{"application table", fmt.Sprintf("more than %d entries", MaxApps), "fewer"}
	}
	o.Apps = append(o.Apps, a)
	return nil
}
