// Package p4info is the contract between Fairlane and a WRCC switch in terms of P4Runtime v1: the P4Info of the switch's
// program, its ids as constants, and codecs between typed values and P4Runtime's entities.
//
// The P4Info is a proposal of this project: S0 describes a prototype's algorithm, not its control interface. docs/wrcc.md
// explains each entity.
//
// Integers are encoded as byte strings in canonical form: big-endian and as short as the value allows, at least one byte
// (P4Runtime specification, "Bytestrings"). The decoders accept only this form, so that a value has one encoding, and name the
// invalid field in errors. Shorten converts a device's message to this form.
package p4info

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"fmt"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

//go:embed wrcc.p4info.txtpb
var text string

// Ids of tables, actions and their fields. The top byte is the type of an entity.
const (
	TablePortConfig  uint32 = 0x02000001
	TableClassWeight uint32 = 0x02000002
	TableDomain      uint32 = 0x02000003

	ActionPortConfig  uint32 = 0x01000001
	ActionClassWeight uint32 = 0x01000002
	ActionDomain      uint32 = 0x01000003
)

// Ids of a switch's measurements.
const (
	CounterInput    uint32 = 0x12000001
	CounterFCNP     uint32 = 0x12000002
	CounterRewrites uint32 = 0x12000003
	CounterPauses   uint32 = 0x12000004
	CounterPFRSum   uint32 = 0x12000005

	RegisterPFR    uint32 = 0x16000001
	RegisterAvgRTT uint32 = 0x16000002
	RegisterQueue  uint32 = 0x16000003

	DigestCongestion uint32 = 0x17000001
)

// Size is the number of cells of every register and counter: ports 0 to Size-1.
const Size = 512

// Text returns the P4Info in text form, for a switch's compiler or shell.
func Text() string { return text }

// New returns a new copy of the P4Info message.
func New() (*configv1.P4Info, error) {
	var p configv1.P4Info
	if err := prototext.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("embedded P4Info: %w", err)
	}
	return &p, nil
}

// Cookie identifies this P4Info in P4Runtime's forwarding pipeline configuration: the first 8 bytes of the SHA-256 of its text
// form.
func Cookie() uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:])
}
