// Package qos holds the typed settings that divide a port among traffic classes: weights of switch queues (deficit weighted round robin, as
// in SONiC's SCHEDULER table) and shares of NIC traffic classes (enhanced transmission selection, IEEE 802.1Q-2022, 37).
package qos

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairlane/internal/fieldwise"
	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// Limits. SAI documents weights of 1 to 100 (SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT); DSCPs have six bits.
const (
	MaxWeight = 100
	MaxQueue  = 7
	MaxDSCP   = 63
)

// TrafficClass is a class of traffic that a site provides end to end: packets with the DSCP use the priority and the traffic class of NIC ports, and
// the queue of switch ports, with the number Queue.
type TrafficClass struct {
	DSCP  uint8 `json:"dscp"`  // 0 to 63
	Queue uint8 `json:"queue"` // 0 to 7
}

// Validate returns a *fieldwise.Error for a value out of range.
func (c TrafficClass) Validate() error {
	if c.DSCP > MaxDSCP {
		return fieldwise.Bad("dscp", c.DSCP, fmt.Sprintf("0..%d", MaxDSCP))
	}
	if c.Queue > MaxQueue {
		return fieldwise.Bad("queue", c.Queue, fmt.Sprintf("0..%d", MaxQueue))
	}
	return nil
}

// ParseClasses reads classes in the form of String, such as "26:3,34:4", separated by commas.
func ParseClasses(text string) ([]TrafficClass, error) {
	var out []TrafficClass
	for word := range strings.SplitSeq(text, ",") {
		left, right, ok := strings.Cut(strings.TrimSpace(word), ":")
		dscp, err := strconv.ParseUint(left, 10, 8)
		queue, err2 := strconv.ParseUint(right, 10, 8)
		c := TrafficClass{DSCP: uint8(dscp), Queue: uint8(queue)}
		if err3 := c.Validate(); !ok || err != nil || err2 != nil || err3 != nil {
			return nil, &phrase.Error{Text: phrase.Of("usage.want-classes", "found", strconv.Quote(word), "dscp", MaxDSCP, "queue", MaxQueue)}
		}
		out = append(out, c)
	}
	return out, nil
}

// String returns the class as "DSCP:queue".
func (c TrafficClass) String() string { return fmt.Sprintf("%d:%d", c.DSCP, c.Queue) }

// QueueWeight is the weight of one queue of a switch port among the port's queues without strict priority.
type QueueWeight struct {
	Port   ident.PortNum `json:"port"`
	Queue  uint8         `json:"queue"`  // 0 to 7
	Weight uint8         `json:"weight"` // 1 to 100
}

// Validate returns a *fieldwise.Error for a value out of range.
func (w QueueWeight) Validate() error {
	if w.Queue > MaxQueue {
		return fieldwise.Bad("queue", w.Queue, fmt.Sprintf("0..%d", MaxQueue))
	}
	if w.Weight < 1 || w.Weight > MaxWeight {
		return fieldwise.Bad("weight", w.Weight, fmt.Sprintf("1..%d", MaxWeight))
	}
	return nil
}

// ClassShare is the part of a NIC port that a traffic class gets while others send too.
type ClassShare struct {
	Class   uint8 `json:"class"`   // 0 to 7
	Percent uint8 `json:"percent"` // 1 to 100; those of a port sum to 100
}

// fine is the relative error of ratios up to which small weights are preferred: a round of the scheduler is as long as the sum of the weights.
const fine = 0.005

// Weights returns whole weights from 1 to 100 in the ratios of shares, which are above 0, and the largest relative error of a ratio to the
// largest share. It takes the smallest weights with an error of 0.5 % or less, or those with the least error.
func Weights(shares []float64) (weights []uint8, worst float64) {
	most := 0.0
	for _, s := range shares {
		most = max(most, s)
	}
	worst = math.Inf(1)
	for top := 1; top <= MaxWeight && worst > fine; top++ {
		off, at := 0.0, make([]uint8, len(shares))
		for i, s := range shares {
			exact := s / most * float64(top)
			at[i] = uint8(max(1, math.Floor(exact+0.5)))
			off = max(off, math.Abs(float64(at[i])/exact-1))
		}
		if off < worst {
			weights, worst = at, off
		}
	}
	return weights, worst
}

// Percents returns whole percents, each at least 1, that sum to 100, in the ratios of 1 to 100 shares, which are above 0. What rounding leaves goes
// where it changes a share least.
func Percents(shares []float64) []uint8 {
	total := 0.0
	for _, s := range shares {
		total += s
	}
	out, sum := make([]uint8, len(shares)), 0
	for i, s := range shares {
		out[i] = uint8(max(1, math.Floor(s/total*100)))
		sum += int(out[i])
	}
	for ; sum < 100; sum++ {
		out[least(out, func(i int) float64 { return float64(out[i]+1) / shares[i] })]++
	}
	for ; sum > 100; sum-- {
		out[least(out, func(i int) float64 {
			if out[i] == 1 {
				return math.Inf(1)
			}
			return -float64(out[i]-1) / shares[i]
		})]--
	}
	return out
}

// least returns the index with the smallest value, the first of equal ones.
func least(list []uint8, value func(i int) float64) int {
	at := 0
	for i := range list {
		if value(i) < value(at) {
			at = i
		}
	}
	return at
}
