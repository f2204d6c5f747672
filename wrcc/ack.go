package wrcc

import "fairlane/internal/quantity"

// Acknowledgement settings of a receiver. In S0, acknowledgements return fair rates, but S0 does not say how many
// packets one may acknowledge. With six, the rate returns soon enough (a sender without answers requests a higher
// rate), and acknowledgements use little of the links that they share with data. Packets more than AckDelay apart are
// acknowledged one by one.
const (
	AckEvery = 6
	AckDelay = 10 * quantity.Microsecond
)

// Bytes on the wire in S0's experiments: packets of 1,000 bytes with 48 bytes of headers, acknowledgements of 60, and the INT
// header in both.
const (
	PacketWire = 1048 + HeaderSize
	AckWire    = 60 + HeaderSize
)

// PaceCredit is the waiting time at a busy port for which a paced queue pair compensates: about a round of 64 packets at 25
// Gbit/s. Without it the queue pair stays below its assigned rate, and switches count the difference as free capacity.
const PaceCredit = 20 * quantity.Microsecond

// AckRate is the wire rate of a flow, bit/s, above which AckEvery packets arrive within AckDelay and are acknowledged together.
const AckRate = PacketWire * 8 * (float64(quantity.Second) / float64(AckDelay))

// MaxAckShare is AckShare below AckRate.
const MaxAckShare = float64(AckWire) / PacketWire

// AckShare returns the bandwidth of a flow's acknowledgements on its return path, as a fraction of the flow's wire rate in
// bit/s: 72 bytes for each packet of 1,060 below AckRate (848 Mbit/s), and for every sixth packet above. A flow with rate 0 has
// none.
func AckShare(rate float64) float64 {
	if !(rate > 0) {
		return 0
	}
	if rate < AckRate {
		return MaxAckShare
	}
	return MaxAckShare / AckEvery
}
