package fabric

import (
	"math/bits"

	"fairlane/subnet/ident"
)

// Limits of the VL arbitration tables (IBTA vol. 1, 7.6.9).
const (
	ArbEntries   = 64  // number of entries of each table
	arbUnlimited = 255 // value of the high-priority limit that means unlimited
	// limitBlocks is the unit of the limit of high priority, 4 KiB, in credit blocks.
	limitBlocks = 4096 / CreditBlock
	// defaultArbWeight is the initial weight of every lane in the low table: one packet of 4 KiB.
	defaultArbWeight = 64
)

// VLWeight is one entry of an arbitration table: the lane may send Weight units of 64 bytes,
// rounded up to whole packets; weight 0 skips the entry.
type VLWeight struct {
	VL     ident.VL
	Weight uint8
}

// arbTable is a weighted round robin over the entries of one table.
type arbTable struct {
	entries [ArbEntries]VLWeight
	lanes   uint16 // lanes with a weight
	cursor  uint8
	left    int32 // units that the current entry may still send
}

// arbiter chooses the lane that sends next.
type arbiter struct {
	high, low arbTable
	limit     uint8
	highLeft  int32 // blocks of high priority that may precede a low-priority packet
	fromHigh  bool  // whether the high table made the last choice
	tabled    bool  // whether any table made the last choice
}

// newArbiter returns the initial arbiter of a port: every lane with equal weight in the low table, and an empty high table.
func newArbiter() *arbiter {
	a := &arbiter{}
	for vl := range ident.NumVLs - 1 {
		a.low.entries[vl] = VLWeight{ident.VL(vl), defaultArbWeight}
	}
	a.low.reset()
	a.refill()
	return a
}

func (t *arbTable) reset() {
	t.lanes, t.cursor, t.left = 0, 0, int32(t.entries[0].Weight)
	for _, e := range t.entries {
		if e.Weight > 0 && e.VL <= ident.MaxDataVL {
			t.lanes |= 1 << e.VL
		}
	}
}

// choose returns the lane of the current entry among the lanes in able. At least one lane in able must be in the table.
func (t *arbTable) choose(able uint16) int {
	if e := t.entries[t.cursor]; t.left > 0 && able>>e.VL&1 != 0 {
		return int(e.VL)
	}
	for range ArbEntries {
		t.cursor = (t.cursor + 1) % ArbEntries
		if e := t.entries[t.cursor]; e.Weight > 0 && able>>e.VL&1 != 0 && e.VL <= ident.MaxDataVL {
			t.left = int32(e.Weight)
			return int(e.VL)
		}
	}
	return bits.TrailingZeros16(able & t.lanes)
}

// choose selects a lane of able, which must not be empty. It selects a lane without competitors without the tables. It
// selects lanes in neither table, lowest first, when no lane in a table can send; the specification leaves this case to the
// implementer.
func (a *arbiter) choose(able uint16) int {
	a.tabled = able&(able-1) != 0
	if !a.tabled {
		return bits.TrailingZeros16(able)
	}
	high, low := able&a.high.lanes, able&a.low.lanes
	a.fromHigh = high != 0 && (low == 0 || a.limit == arbUnlimited || a.highLeft > 0)
	switch {
	case a.fromHigh:
		return a.high.choose(high)
	case low != 0:
		return a.low.choose(low)
	}
	a.tabled = false
	return bits.TrailingZeros16(able)
}

// charge accounts for a packet of the last chosen lane.
func (a *arbiter) charge(blocks int32) {
	switch {
	case !a.tabled:
	case a.fromHigh:
		a.high.left -= blocks
		a.highLeft -= blocks
	default:
		a.low.left -= blocks
		a.refill()
	}
}

// refill resets the high-priority limit; a limit of 0 allows one packet.
func (a *arbiter) refill() { a.highLeft = max(1, int32(a.limit)*limitBlocks) }

func (a *arbiter) table(high bool) *arbTable {
	if high {
		return &a.high
	}
	return &a.low
}

// SetVLArb writes entries of a port's high or low arbitration table, starting at an offset. Entries beyond the 64th are
// ignored.
func (n *Network) SetVLArb(node int32, num ident.PortNum, high bool, offset int, entries []VLWeight) {
	p := n.port(node, num)
	if p == nil || offset < 0 || offset >= ArbEntries {
		return
	}
	t := p.arb.table(high)
	copy(t.entries[offset:], entries)
	t.reset()
}

// VLArb returns the 64 entries of a port's high or low arbitration table.
func (n *Network) VLArb(node int32, num ident.PortNum, high bool) []VLWeight {
	p := n.port(node, num)
	if p == nil {
		return nil
	}
	e := p.arb.table(high).entries
	return e[:]
}

// SetVLHighLimit sets how many units of 4 KiB high-priority lanes may send before a low-priority packet may be sent: 0 means
// one packet, 255 no limit.
func (n *Network) SetVLHighLimit(node int32, num ident.PortNum, limit uint8) {
	if p := n.port(node, num); p != nil {
		p.arb.limit = limit
		p.arb.refill()
	}
}

// VLHighLimit returns the value that SetVLHighLimit set; it is initially 0.
func (n *Network) VLHighLimit(node int32, num ident.PortNum) uint8 {
	if p := n.port(node, num); p != nil {
		return p.arb.limit
	}
	return 0
}
