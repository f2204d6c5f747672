package wrcc

import (
	"fairlane/policy/model"
	"fairlane/wrcc"
)

// turnPacket is a packet on the wire, in bits.
const turnPacket = wrcc.PacketWire * 8.

// turns computes the rates at sending ports whose rounds of turns are longer than wrcc.PaceCredit. A queue pair that a fair rate paces waits
// for its turn once it is due. The wait makes it due earlier for the next packet, but only up to the credit. If a round takes longer, the
// distance between its packets grows by the part of the round beyond the credit:
//
//	distance = max(round, packet / fair rate + max(0, round - credit))
//
// turns reports whether the prediction models them.
func (s *Settings) turns(a *model.Allocation, w *model.ShareWeights) bool {
	credit := wrcc.PaceCredit.Seconds()
	x := &turnSearch{m: s.m, w: w, rate: func(_ int32, pace, turn float64) float64 {
		round := turnPacket / turn
		return turnPacket / max(round, turnPacket/pace+max(0, round-credit))
	}}
	return x.run(a, s.m.FullSenders(a, func(turn float64) bool { return turnPacket/turn > credit }))
}
