package p4info

import (
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"fairlane/internal/fieldwise"
)

// Register returns the entry of a register cell; values are 32 bits wide.
func Register(id uint32, port uint16, value uint32) *p4v1.RegisterEntry {
	return &p4v1.RegisterEntry{RegisterId: id, Index: &p4v1.Index{Index: int64(port)}, Data: bitstring(uint64(value))}
}

// Registers returns the entry for a read of all cells of a register.
func Registers(id uint32) *p4v1.RegisterEntry { return &p4v1.RegisterEntry{RegisterId: id} }

// DecodeRegister decodes a register cell.
func DecodeRegister(e *p4v1.RegisterEntry, id uint32) (port uint16, value uint32, err error) {
	name := fmt.Sprintf("register 0x%08x", id)
	if e.GetRegisterId() != id {
		return 0, 0, fieldwise.Bad(name+".register_id", fmt.Sprintf("0x%08x", e.GetRegisterId()), fmt.Sprintf("0x%08x", id))
	}
	if port, err = cell(name, e.GetIndex()); err != nil {
		return 0, 0, err
	}
	v, err := bits(fmt.Sprintf("%s[%d]", name, port), e.GetData(), rateBits)
	return port, uint32(v), err
}

// Count is the value of a cell of a counter.
type Count struct {
	Packets uint64
	Bytes   uint64 // 0 if the counter counts only packets
}

// Counter returns the entry of a counter cell. P4Runtime carries counts in 63 bits.
func Counter(id uint32, port uint16, c Count) *p4v1.CounterEntry {
	return &p4v1.CounterEntry{CounterId: id, Index: &p4v1.Index{Index: int64(port)}, Data: &p4v1.CounterData{PacketCount: int64(c.Packets), ByteCount: int64(c.Bytes)}}
}

// Counters returns the entry for a read of all cells of a counter.
func Counters(id uint32) *p4v1.CounterEntry { return &p4v1.CounterEntry{CounterId: id} }

// DecodeCounter decodes a counter cell.
func DecodeCounter(e *p4v1.CounterEntry, id uint32) (port uint16, c Count, err error) {
	name := fmt.Sprintf("counter 0x%08x", id)
	if e.GetCounterId() != id {
		return 0, c, fieldwise.Bad(name+".counter_id", fmt.Sprintf("0x%08x", e.GetCounterId()), fmt.Sprintf("0x%08x", id))
	}
	if port, err = cell(name, e.GetIndex()); err != nil {
		return 0, c, err
	}
	if e.GetData() == nil {
		return 0, c, fieldwise.Bad(fmt.Sprintf("%s[%d]", name, port), "no data", "a count")
	}
	packets, bytes := e.GetData().GetPacketCount(), e.GetData().GetByteCount()
	if packets < 0 || bytes < 0 {
		return 0, c, fieldwise.Bad(fmt.Sprintf("%s[%d]", name, port), fmt.Sprintf("%d packets, %d bytes", packets, bytes), "0 or more")
	}
	return port, Count{uint64(packets), uint64(bytes)}, nil
}

func cell(name string, i *p4v1.Index) (uint16, error) {
	if i == nil || i.GetIndex() < 0 || i.GetIndex() >= Size {
		return 0, fieldwise.Bad(name+".index", i.GetIndex(), fmt.Sprintf("0 to %d", Size-1))
	}
	return uint16(i.GetIndex()), nil
}

// Congestion is one entry of the digest: the fair rate of a port fell below its target.
type Congestion struct {
	Port   uint16
	Class  uint8
	PFR    uint32 // Mbit/s
	Queue  uint32 // bytes
	TimeUs uint64 // the switch's clock, 48 bits
}

// Digest encodes the digest's data.
func Digest(c Congestion) *p4v1.P4Data {
	return &p4v1.P4Data{Data: &p4v1.P4Data_Struct{Struct: &p4v1.P4StructLike{Members: []*p4v1.P4Data{
		bitstring(uint64(c.Port)), bitstring(uint64(c.Class)), bitstring(uint64(c.PFR)), bitstring(uint64(c.Queue)), bitstring(c.TimeUs),
	}}}}
}

// DecodeDigest decodes the digest's data.
func DecodeDigest(d *p4v1.P4Data) (Congestion, error) {
	fields := []field{{"congestion.port", portBits}, {"congestion.class", classBits}, {"congestion.pfr_mbps", rateBits}, {"congestion.queue_bytes", rateBits}, {"congestion.time_us", 48}}
	s, ok := d.GetData().(*p4v1.P4Data_Struct)
	if !ok {
		return Congestion{}, fieldwise.Bad("congestion", "another kind of data", "a struct")
	}
	m := s.Struct.GetMembers()
	if len(m) != len(fields) {
		return Congestion{}, fieldwise.Bad("congestion", fmt.Sprintf("%d members", len(m)), fmt.Sprint(len(fields)))
	}
	var v [5]uint64
	for i, f := range fields {
		var err error
		if v[i], err = bits(f.name, m[i], f.bits); err != nil {
			return Congestion{}, err
		}
	}
	return Congestion{Port: uint16(v[0]), Class: uint8(v[1]), PFR: uint32(v[2]), Queue: uint32(v[3]), TimeUs: v[4]}, nil
}

func bitstring(v uint64) *p4v1.P4Data {
	return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: Encode(v)}}
}

func bits(field string, d *p4v1.P4Data, width int) (uint64, error) {
	b, ok := d.GetData().(*p4v1.P4Data_Bitstring)
	if !ok {
		return 0, fieldwise.Bad(field, "another kind of data", fmt.Sprintf("a bit string of %d bits", width))
	}
	return Decode(field, b.Bitstring, width)
}
