package mad

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// NodeDescriptionSize is the length of NodeDescription in bytes.
const NodeDescriptionSize = 64

// NodeDescription is a node's own name (IBTA vol. 1, 14.2.5.2): UTF-8 padded with NUL.
type NodeDescription [NodeDescriptionSize]byte

// NewNodeDescription returns the description for a text of up to 64 bytes without NUL.
func NewNodeDescription(text string) (NodeDescription, error) {
	var d NodeDescription
	if len(text) > len(d) {
		return d, fmt.Errorf("node description of %d bytes: want at most %d", len(text), len(d))
	}
	if i := bytes.IndexByte([]byte(text), 0); i >= 0 {
		return d, fmt.Errorf("node description with a NUL at byte %d: want none", i)
	}
	copy(d[:], text)
	return d, nil
}

// String returns the text up to the first NUL. Invalid UTF-8, control characters and other unprintable runes become
// spaces, so that a hostile name cannot disturb a terminal; the length never exceeds 64 bytes.
func (d *NodeDescription) String() string {
	b := d[:]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	clean := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
			clean = append(clean, ' ')
		} else {
			clean = append(clean, b[:n]...)
		}
		b = b[n:]
	}
	return string(clean)
}

var _ Attribute = (*NodeDescription)(nil)

func (d *NodeDescription) Encode(dst []byte) error {
	c := encoding("NodeDescription", dst, NodeDescriptionSize)
	raw(&c, 0, d[:])
	return c.err
}

func (d *NodeDescription) Decode(src []byte) error {
	c := decoding("NodeDescription", src, NodeDescriptionSize)
	raw(&c, 0, d[:])
	return c.err
}
