package wrcc

import "fairlane/internal/quantity"

// When a receiver acknowledges. S0 has acknowledgements carry fair rates home but does not say how many packets one may
// answer: six bring the rate home soon enough (a sender that hears nothing for long asks for more), and
// leave the links on which they meet data nearly whole. Packets that come further apart than AckDelay are answered one by one.
const (
	AckEvery = 6
	AckDelay = 10 * quantity.Microsecond
)

// Bytes on the wire of S0's experiments: packets of 1,000 bytes and 48 of headers, acknowledgements of 60, and in
// both the INT header.
const (
	PacketWire = 1048 + HeaderSize
	AckWire    = 60 + HeaderSize
)

// PaceCredit is how much of the time that it waited for its turn on a busy port a paced queue pair makes up for: about a round of 64 packets
// at 25 Gbit/s. A rate that it keeps below the one it was told would be taken for room by the switches.
const PaceCredit = 20 * quantity.Microsecond

// AckRate is the rate on the wire of a flow, bit/s, from which on AckEvery packets come within AckDelay and are answered together.
const AckRate = PacketWire * 8 * (float64(quantity.Second) / float64(AckDelay))

// AckShare returns what the acknowledgements of a flow take of the links on its way back, as a part of its rate on the
// wire in bit/s: 72 bytes for each packet of 1,060 below AckRate, 848 Mbit/s, for every sixth above. A flow without a
// rate has none.
func AckShare(rate float64) float64 {
	if !(rate > 0) {
		return 0
	}
	const each = float64(AckWire) / PacketWire
	if rate < AckRate {
		return each
	}
	return each / AckEvery
}
