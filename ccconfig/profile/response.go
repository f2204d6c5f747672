package profile

import (
	"fmt"

	"fairlane/internal/quantity"
)

// Response reports how much slower a flow is than a flow at position 0 of the lever at the same link, by its own position:
// position x has e^x times the period of position 0. In theory the gain at x is -x; the table holds measured gains, made
// monotone.
type Response struct {
	Speeds    []quantity.BitRate `json:"speeds_bps"` // of the link
	Flows     []int              `json:"flows"`      // number of flows at the link, half of them fast and half slow
	RTTs      []uint32           `json:"rtts_us"`    // base round trip times
	Positions []float64          `json:"positions"`  // ascending from 0
	// Gains are natural logarithms of the rate divided by that at position 0: by speed, then flows, RTT and position. They
	// never rise with the position.
	Gains []float64 `json:"gains"`
}

// Condition is the argument of a response. Round trip times beyond the axis are replaced by its end.
type Condition struct {
	Speed   quantity.BitRate
	Fastest float64 // intended rate of the fastest flow at the link, bit/s
	Port    Port
	RTT     quantity.Picoseconds
}

// Port is the NIC port of the fastest flow at a link.
type Port struct {
	Line  float64 // its line rate, bit/s
	Sent  float64 // intended sending rate, bit/s
	Flows float64 // number of flows that share it
}

func (r *Response) validate() error {
	for _, n := range []int{len(r.Speeds), len(r.Flows), len(r.RTTs), len(r.Positions)} {
		if n < 1 || n > maxAxis {
			return fmt.Errorf("response: an axis of %d values: want 1 to %d", n, maxAxis)
		}
	}
	if want := len(r.Speeds) * len(r.Flows) * len(r.RTTs) * len(r.Positions); len(r.Gains) != want || want > maxGains {
		return fmt.Errorf("response: %d gains: want %d, at most %d", len(r.Gains), want, maxGains)
	}
	for _, err := range []error{
		ascending("response: speeds_bps", r.Speeds, 1), ascending("response: flows", r.Flows, 1),
		ascending("response: rtts_us", r.RTTs, 0), ascending("response: positions", r.Positions, 0),
	} {
		if err != nil {
			return err
		}
	}
	if n := len(r.Positions); n < 2 || r.Positions[0] != 0 || r.Positions[n-1] > 20 {
		return fmt.Errorf("response: %d positions: want 2 or more from 0 to at most 20", n)
	}
	for i, g := range r.Gains {
		at := i % len(r.Positions)
		if at == 0 && g != 0 || at > 0 && !(g <= r.Gains[i-1] && g >= -100) {
			return fmt.Errorf("response: gains[%d] %g: want 0 at the first position and then none that rises", i, g)
		}
	}
	return nil
}

// between returns the index of the axis value before v, and the fraction of the distance to the next.
func between[T quantity.BitRate | int | uint32](axis []T, v float64) (int, float64) {
	i := 0
	for i+1 < len(axis) && v >= float64(axis[i+1]) {
		i++
	}
	if i+1 == len(axis) || v <= float64(axis[i]) {
		return i, 0
	}
	return i, (v - float64(axis[i])) / (float64(axis[i+1]) - float64(axis[i]))
}
