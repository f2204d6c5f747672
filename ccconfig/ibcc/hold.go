package ibcc

import (
	"math"

	"fairlane/internal/num"
)

// Response returns the decay that a flow needs per BECN, in CCTI_Timer periods: its rate in equilibrium is proportional to the response
// divided by CCTI_Timer. A free-running timer takes one step per period and a BECN adds Increase, so the response is 1/Increase. A timer
// that each BECN restarts completes only in gaps longer than its period; with BECNs at random the response is ln(1 + 1/Increase) (derived
// from the proof of Theorem 1 of the differentiated-bandwidth paper, S1). It is infinite for an Increase of 0.
func Response(increase uint8, restart bool) float64 {
	if increase == 0 {
		return math.Inf(1)
	}
	if restart {
		return num.Ln(1 + 1/float64(increase))
	}
	return 1 / float64(increase)
}
