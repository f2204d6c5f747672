package p4info

import (
	"encoding/binary"
	"fmt"

	"fairlane/internal/fieldwise"
)

// Encode returns the canonical byte string of v.
func Encode(v uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	i := 0
	for i < 7 && b[i] == 0 {
		i++
	}
	return b[i:]
}

// Decode decodes a canonical byte string into a value of 1 to 64 bits. The error is a *fieldwise.Error.
func Decode(field string, b []byte, bits int) (uint64, error) {
	if len(b) == 0 {
		return 0, fieldwise.Bad(field, "no bytes", fmt.Sprintf("a value of %d bits", bits))
	}
	if len(b) > (bits+7)/8 {
		return 0, fieldwise.Bad(field, fmt.Sprintf("%d bytes", len(b)), fmt.Sprintf("a value of %d bits in its shortest form", bits))
	}
	if b[0] == 0 && len(b) > 1 {
		return 0, fieldwise.Bad(field, fmt.Sprintf("0x%x", b), "no leading zeros: the shortest form")
	}
	var v uint64
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	if bits < 64 && v>>bits != 0 {
		return 0, fieldwise.Bad(field, v, fmt.Sprintf("at most %d, %d bits", uint64(1)<<bits-1, bits))
	}
	return v, nil
}
