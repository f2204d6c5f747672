package model

import (
	"errors"
	"slices"
	"strconv"

	"fairlane/ccconfig/qos"
	"fairlane/internal/fieldwise"
	"fairlane/internal/phrase"
	"fairlane/policy/fill"
)

// validateClasses checks the lever of the RoCE plane and the site's classes.
func (o Options) validateClasses() error {
	switch {
	case o.Lever != "" && o.Lever != LeverDCQCN && !o.Divides():
		return fault(phrase.Of("input.lever", "found", strconv.Quote(string(o.Lever)), "want", oneOf(LeverDCQCN, LeverClasses, LeverBoth)))
	case o.Divides() && (len(o.Classes) == 0 || len(o.Classes) > qos.MaxQueue+1):
		return fault(phrase.Of("input.classes", "found", len(o.Classes), "max", qos.MaxQueue+1))
	}
	for i, c := range o.Classes {
		var bad *fieldwise.Error
		if err := c.Validate(); errors.As(err, &bad) {
			return fault(phrase.Of("input.class", "class", i, "reason", bad.Error()))
		}
		for _, other := range o.Classes[:i] {
			if other.DSCP == c.DSCP || other.Queue == c.Queue {
				return fault(phrase.Of("input.class-twice", "class", i, "dscp", c.DSCP, "queue", c.Queue))
			}
		}
	}
	return nil
}

// QueueWeights defines how flows share links that have a queue for each traffic class. Slices are immutable after first use.
type QueueWeights struct {
	Classes int                                  // number of classes
	Class   []int32                              // by model flow
	Weight  func(class, direction int32) float64 // of a class on a link direction, above 0
	Marked  []float64                            // by model flow: its weight within its class on links transmitted by a switch
	Sending []float64                            // the same on links transmitted by an adapter
	Caps    []float64                            // bit/s to share, by link direction
}

// ShareByQueue is the prediction where queues divide links: on every link the classes present share by weight, and a class's flows share
// its part by their own weights.
func (m *Model) ShareByQueue(w QueueWeights) *Allocation {
	l := m.Layout()
	order := sortedBy(Indices(len(m.Flows)), w.Classes, func(i int32) int32 { return w.Class[i] })
	p := &fill.Problem{
		Capacity: m.QueueingCaps(w.Caps), Nominal: m.Caps, Precision: forecastPrecision, Sends: l.Sends,
		First: make([]int32, 1, len(l.First)), Hops: make([]int32, 0, len(l.Hops)), LinkWeight: make([]float64, 0, len(l.Hops)),
		TenantWeight: slices.Repeat([]float64{1}, w.Classes), ClassWeight: slices.Repeat([]float64{1}, w.Classes),
	}
	for _, i := range order {
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			p.Hops = append(p.Hops, d)
			p.LinkWeight = append(p.LinkWeight, w.Weight(w.Class[i], d))
		}
		p.First = append(p.First, int32(len(p.Hops)))
		p.Units, p.Demand, p.Sending = append(p.Units, w.Marked[i]), append(p.Demand, l.Demand[i]), append(p.Sending, w.Sending[i])
		p.Count, p.Tenant = append(p.Count, l.QPs[i]), append(p.Tenant, w.Class[i])
	}
	p.Class = p.Tenant
	sorted := m.share(m.Forecasts, p)
	a := *sorted
	a.Rates, a.Bottleneck, a.Limits = make([]float64, len(order)), make([]int32, len(order)), make([]fill.Limit, len(order))
	for k, i := range order {
		a.Rates[i], a.Bottleneck[i], a.Limits[i] = sorted.Rates[k], sorted.Bottleneck[k], sorted.Limits[k]
	}
	return &a
}
