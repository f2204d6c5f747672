package dcbnl

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// nested marks an attribute that holds attributes.
const nested = 1 << 15

// Encode encodes a message. It returns a *FormatError for values that cannot be encoded.
func (c Codec) Encode(m *Message) ([]byte, error) {
	if err := m.encodable(); err != nil {
		return nil, err
	}
	w := writer{order: c.Order, b: make([]byte, sizeHeader, sizeHeader+512)}
	switch {
	case m.Ack:
		w.b = append(w.b, make([]byte, 4+sizeHeader)...) // no error, and the header of the request
		c.Order.PutUint32(w.b[sizeHeader+4+8:], m.Sequence)
	default:
		w.b = append(w.b, 0, m.Command, 0, 0)
		if m.Interface != "" {
			w.attr(attrIfName, append([]byte(m.Interface), 0))
		}
		if m.IEEE != nil {
			at := w.open(attrIEEE)
			w.ieee(m.IEEE)
			w.shut(at)
		}
		if m.DCBX != nil {
			w.attr(attrDCBX, []byte{*m.DCBX})
		}
		if m.Status != nil {
			attr, _ := statusAttr(m.Command)
			w.attr(attr, []byte{*m.Status})
		}
	}
	c.Order.PutUint32(w.b, uint32(len(w.b)))
	c.Order.PutUint16(w.b[4:], m.Type)
	c.Order.PutUint16(w.b[6:], m.Flags)
	c.Order.PutUint32(w.b[8:], m.Sequence)
	c.Order.PutUint32(w.b[12:], m.Port)
	return w.b, nil
}

// encodable returns an error for values of a message that cannot be encoded.
func (m *Message) encodable() error {
	reply := m.Flags&FlagRequest == 0
	attr, status := statusAttr(m.Command)
	switch {
	case m.Ack && (m.Type != TypeError || m.Command != 0 || m.Interface != "" || m.IEEE != nil || m.DCBX != nil || m.Status != nil):
		return &FormatError{"acknowledgement", "other parts beside it", fmt.Sprintf("type %d and nothing else", TypeError)}
	case !m.Ack && m.Type != TypeGet && m.Type != TypeSet:
		return &FormatError{"type", fmt.Sprint(m.Type), fmt.Sprintf("%d or %d", TypeGet, TypeSet)}
	case len(m.Interface) > MaxInterface || strings.IndexByte(m.Interface, 0) >= 0:
		return &FormatError{"interface", fmt.Sprintf("%d bytes", len(m.Interface)), fmt.Sprintf("at most %d, none of them 0", MaxInterface)}
	case m.IEEE != nil && len(m.IEEE.Apps) > MaxApps:
		return &FormatError{"application table", fmt.Sprintf("%d entries", len(m.IEEE.Apps)), fmt.Sprintf("at most %d", MaxApps)}
	case m.Status != nil && !(reply && status):
		return &FormatError{"status", fmt.Sprintf("one with command %d, flags %#x", m.Command, m.Flags), "one in a reply to a set or delete"}
	case reply && status && (m.IEEE != nil && attr == attrIEEE || m.DCBX != nil && attr == attrDCBX):
		return &FormatError{"reply", fmt.Sprintf("values with command %d", m.Command), "a status"}
	}
	return nil
}

// writer appends attributes.
type writer struct {
	order binary.ByteOrder
	b     []byte
}

// open starts an attribute and returns its position.
func (w *writer) open(typ uint16) int {
	at := len(w.b)
	w.b = append(w.b, 0, 0, 0, 0)
	w.order.PutUint16(w.b[at+2:], typ|nested)
	return at
}

// shut ends the attribute that starts at a position.
func (w *writer) shut(at int) {
	w.order.PutUint16(w.b[at:], uint16(len(w.b)-at))
}

func (w *writer) attr(typ uint16, payload []byte) {
	w.b = append(w.b, 0, 0, 0, 0)
	head := w.b[len(w.b)-sizeAttr:]
	w.order.PutUint16(head, uint16(sizeAttr+len(payload)))
	w.order.PutUint16(head[2:], typ)
	w.b = append(w.b, payload...)
	for len(w.b)%4 != 0 {
		w.b = append(w.b, 0)
	}
}

func (w *writer) ieee(o *IEEE) {
	if o.ETS != nil {
		w.attr(ieeeETS, o.ETS.bytes())
	}
	if o.PFC != nil {
		w.attr(ieeePFC, o.PFC.bytes(w.order))
	}
	if len(o.Apps) > 0 {
		at := w.open(ieeeApps)
		for _, a := range o.Apps {
			b := []byte{a.Selector, a.Priority, 0, 0}
			w.order.PutUint16(b[2:], a.Protocol)
			w.attr(appAttr(a.Selector), b)
		}
		w.shut(at)
	}
	if o.MaxRate != nil {
		b := make([]byte, sizeMaxRate)
		for i, r := range o.MaxRate {
			w.order.PutUint64(b[8*i:], r)
		}
		w.attr(ieeeMaxRate, b)
	}
	if o.Buffer != nil {
		w.attr(ieeeBuffer, o.Buffer.bytes(w.order))
	}
}

// appAttr returns the attribute for entries with a selector.
func appAttr(selector uint8) uint16 {
	if selector == SelectorPCP {
		return appDCB
	}
	return appIEEE
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (e *ETS) bytes() []byte {
	b := make([]byte, 0, sizeETS)
	b = append(b, flag(e.Willing), e.Cap, flag(e.CBS))
	for _, row := range e.rows() {
		b = append(b, row[:]...)
	}
	return b
}

// rows returns the arrays in the order of the layout.
func (e *ETS) rows() [7]*[8]uint8 {
	return [7]*[8]uint8{&e.TxBW, &e.RxBW, &e.TSA, &e.PrioTC, &e.RecoBW, &e.RecoTSA, &e.RecoPrioTC}
}

func (p *PFC) bytes(order binary.ByteOrder) []byte {
	b := make([]byte, sizePFC)
	b[0], b[1], b[2] = p.Cap, p.Enabled, flag(p.MBC)
	order.PutUint16(b[4:], p.Delay)
	for i := range 8 {
		order.PutUint64(b[8+8*i:], p.Requests[i])
		order.PutUint64(b[72+8*i:], p.Indications[i])
	}
	return b
}

func (f *Buffer) bytes(order binary.ByteOrder) []byte {
	b := make([]byte, sizeBuffer)
	copy(b, f.PrioBuffer[:])
	for i, s := range f.Size {
		order.PutUint32(b[8+4*i:], s)
	}
	order.PutUint32(b[40:], f.Total)
	return b
}
