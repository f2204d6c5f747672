package mad

import (
	"encoding/binary"
	"fmt"
)

// Attribute is the data of one attribute. Encode writes it to the start of dst, which is
// Packet.Data of the packet: every reserved bit of the attribute's length becomes zero, bytes
// beyond it stay. It fails, with dst's content then unspecified, when dst is too short
// (*ShortError) or a value does not fit its field (*RangeError); nothing is ever truncated.
// Decode reads the attribute from the start of src, ignores reserved bits, accepts every
// value of every field, does not allocate, and fails only with a *ShortError.
type Attribute interface {
	Encode(dst []byte) error
	Decode(src []byte) error
}

// RangeError reports a value that does not fit its field.
type RangeError struct {
	Attribute string // such as "PortInfo"
	Field     string // such as "lmc"
	Value     uint64
	Max       uint64
}

// Error names the field, the value and the range.
func (e *RangeError) Error() string {
	return fmt.Sprintf("%s: %s %d: want 0 to %d", e.Attribute, e.Field, e.Value, e.Max)
}

// ShortError reports a buffer that is too short for an attribute.
type ShortError struct {
	Attribute string
	Len, Want int // bytes
}

// Error names the attribute and both lengths.
func (e *ShortError) Error() string {
	return fmt.Sprintf("%s: %d bytes: want at least %d", e.Attribute, e.Len, e.Want)
}

// coder processes the fields of an attribute in one direction. Each attribute lists its fields once, in a method for both
// directions, so that encoding and decoding cannot disagree.
type coder struct {
	name  string
	b     []byte
	write bool
	err   error
}

func encoding(name string, dst []byte, size int) coder {
	c := decoding(name, dst, size)
	c.write = true
	clear(c.b)
	return c
}

func decoding(name string, src []byte, size int) coder {
	if len(src) < size {
		return coder{name: name, err: &ShortError{name, len(src), size}}
	}
	return coder{name: name, b: src[:size]}
}

// Overlay encodes the attribute over the data in the packet: reserved bits, and everything beyond the attribute, stay
// unchanged. It is for attributes that were read, changed and are written back. It fails as Attribute.Encode does, and
// then leaves the packet unchanged.
func (p *Packet) Overlay(a Attribute) error {
	var checked Packet
	checked[offClass], checked[offAttr], checked[offAttr+1] = p[offClass], p[offAttr], p[offAttr+1] // they determine the place of the data area
	if err := a.Encode(checked.Data()); err != nil {
		return err
	}
	l, ok := a.(layout)
	if !ok { // one field without reserved bits
		return a.Encode(p.Data())
	}
	c := coder{b: p.Data(), write: true}
	l.fields(&c)
	return c.err
}

// layout is an attribute that lists its fields.
type layout interface{ fields(c *coder) }

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

// field transfers the bits off..off+width-1, counted from the most significant bit of the
// first byte. width is 1 to 64 and the field touches at most eight bytes.
func field[T unsigned](c *coder, name string, off, width int, v *T) {
	switch {
	case c.err != nil:
	case c.write:
		c.put(name, off, width, uint64(*v))
	default:
		*v = T(getBits(c.b, off, width))
	}
}

// flag transfers one bit.
func flag(c *coder, off int, v *bool) {
	mask := byte(0x80) >> (off & 7)
	switch {
	case c.err != nil:
	case !c.write:
		*v = c.b[off>>3]&mask != 0
	case *v:
		c.b[off>>3] |= mask
	default:
		c.b[off>>3] &^= mask
	}
}

// raw transfers whole bytes from byte offset at.
func raw(c *coder, at int, v []byte) {
	switch {
	case c.err != nil:
	case c.write:
		copy(c.b[at:], v)
	default:
		copy(v, c.b[at:])
	}
}

func (c *coder) put(name string, off, width int, v uint64) {
	if limit := uint64(1)<<width - 1; v > limit { // width 64 wraps to all ones
		c.err = &RangeError{c.name, name, v, limit}
		return
	}
	putBits(c.b, off, width, v)
}

func getBits(b []byte, off, width int) uint64 {
	if off&7 == 0 {
		switch at := off >> 3; width {
		case 8:
			return uint64(b[at])
		case 16:
			return uint64(binary.BigEndian.Uint16(b[at:]))
		case 32:
			return uint64(binary.BigEndian.Uint32(b[at:]))
		case 64:
			return binary.BigEndian.Uint64(b[at:])
		}
	}
	end := off + width
	var v uint64
	for _, x := range b[off>>3 : (end+7)>>3] {
		v = v<<8 | uint64(x)
	}
	v >>= uint(-end & 7)
	return v & (1<<width - 1)
}

// putBits stores v, which fits width bits, and does not change the bits around the field.
func putBits(b []byte, off, width int, v uint64) {
	end := off + width
	shift := uint(-end & 7)
	mask := (uint64(1)<<width - 1) << shift
	v <<= shift
	for i := (end - 1) >> 3; i >= off>>3; i-- {
		b[i] = b[i]&^byte(mask) | byte(v)
		mask >>= 8
		v >>= 8
	}
}

// fieldArray transfers consecutive fields of equal width from the first bit on.
func fieldArray[T unsigned](c *coder, name string, width int, v []T) {
	fieldArrayAt(c, name, 0, width, v)
}

// fieldArrayAt transfers consecutive fields of equal width from bit off on.
func fieldArrayAt[T unsigned](c *coder, name string, off, width int, v []T) {
	for i := range v {
		field(c, name, off+i*width, width, &v[i])
	}
}
