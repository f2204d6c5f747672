package cc

import (
	"fairlane/internal/quantity"
	"fairlane/sim/predict"
)

// SampleRTT returns an algorithm that behaves like a. It also samples each flow's RTT as in S3 (3.2), one RTT at a time, and
// records the samples in rec. The series number of a flow is its slot. SampleRTT produces training rows for the predictor from
// a simulation with any congestion control. Recording may allocate.
func SampleRTT(a Algorithm, rec *predict.Recorder) Algorithm {
	s := sampler{Algorithm: a, rec: rec}
	if st, ok := a.(Stamper); ok {
		return &stampSampler{sampler: s, stamper: st}
	}
	return &s
}

type sampler struct {
	Algorithm
	rec   *predict.Recorder
	marks []int64 // by slot: byte of the probe; the first ACK beyond it acknowledges the probe
}

func (s *sampler) Reserve(n int) {
	s.marks = grown(s.marks, n)
	s.Algorithm.Reserve(n)
}

func (s *sampler) Start(slot int32, now quantity.Picoseconds, f *Flow) Control {
	s.marks[slot] = 0
	s.rec.Start(int(slot))
	return s.Algorithm.Start(slot, now, f)
}

func (s *sampler) Ack(slot int32, a *Ack, c *Control) {
	if a.Seq > s.marks[slot] && a.RTT > 0 {
		s.marks[slot] = a.Next
		s.rec.Add(int(slot), a.RTT)
	}
	s.Algorithm.Ack(slot, a, c)
}

// stampSampler is a sampler of an algorithm that is a Stamper.
type stampSampler struct {
	sampler
	stamper Stamper
}

func (s *stampSampler) Stamp(slot int32, now quantity.Picoseconds) Stamp {
	return s.stamper.Stamp(slot, now)
}
