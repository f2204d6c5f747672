package ib

import (
	"math"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/policy/fill"
	"fairlane/policy/model"
)

// Relative error contributions of an InfiniBand prediction, fitted to packet simulations of random cases (see docs/compiler.md): 95 in 100
// cases lie well within the sum.
const (
	boundBase         = 0.02  // random choice of the marked packets, for 10,000 marks and more
	boundSingle       = 0.005 // for tenants that marks control through a single CCTI, so that random errors do not average out
	boundFull         = 0.03  // for each full link beyond the first on the longest path that meets the tenant's: links that wait for each other do not fill
	boundLinked       = 0.02  // for tenants that meet a flow marked by several limiting links: one link redistributes the error of the other
	boundRest         = 0.03  // part of the rate of such flows on a link, passed on to the flows that only this link limits
	boundVictim       = 0.06  // for a flow that shares a link with flows to a limiting link further on (head-of-line blocking)
	boundBlocked      = 0.15  // instead, where the shared link and the flow's own next one are limiting as well: the links wait for each other
	boundBelowFastest = 0.02  // for queue pairs far below the fastest that they meet: some were 4 to 5 % below their predictions (cause unknown)
	boundSending      = 0.20  // where queue pairs take turns at a sending port and also react to marks
	boundRandom       = 3     // standard deviations of the random error of few marks: of hundreds of tenants some are two off
)

// minFastestRatio is the ratio from which boundBelowFastest applies.
const minFastestRatio = 20

// BoundTime is the averaging time, in seconds, of the delivered rates that the bounds of an InfiniBand plan refer to. Shorter means vary more:
// the relative error of a mean of m marks is 1/sqrt(m).
const BoundTime = 4

// bounds returns the relative error bound of each tenant's prediction on InfiniBand.
func (s *Settings) bounds(predicted model.Forecast) []float64 {
	full := s.m.FullLinks(s.target)
	meetsTurns, links := s.m.TenantsMeetingTurns(s.target, full), mostFullLinks(s.m, full)
	linked := s.m.TenantsMeeting(s.target, func(i int) bool { return s.marks[i] > 1 })
	spare := s.m.TenantsMeeting(s.target, s.m.Crosses(s.m.SpareLinks(s.target, full, nil)))
	steered, victims, far := s.steered(), victims(s.m, s.target), farBelowFastest(s.m, s.target)
	markErrors, rest := s.markErrors(), s.m.MeanByTenant(s.target, s.passedOnErrors())
	out := make([]float64, len(s.m.Tenants))
	for t := range out {
		out[t] = boundBase + float64(boundFull*float64(max(0, links[t]-1)))
		if linked[t] {
			out[t] += max(boundLinked, rest[t])
		}
		if spare[t] {
			out[t] += model.BoundSpare
		}
		out[t] += victims[t]
		if predicted.Spare != nil {
			out[t] += predicted.Spare[t]
		}
		if steered[t] <= 1 {
			out[t] += boundSingle
		}
		sending := 0.0
		if meetsTurns[t] {
			sending = boundSending
		}
		if predicted.Cycles != nil {
			sending = max(sending, predicted.Cycles[t])
		}
		out[t] += sending
		independent := out[t] - boundBase // of the random choice of marked packets
		out[t] = max(out[t], math.Sqrt(float64(independent*independent)+float64(markErrors[t]*markErrors[t])))
		if far[t] {
			out[t] += boundBelowFastest
		}
	}
	return out
}

// markErrors returns the part of each tenant's bound that comes from the random choice of marked packets; 0 without marks. The relative error
// of a mean of m marks is 1/sqrt(m), and the bound is three times that. At rest a CCTI goes up by Increase for each mark and down by one for
// each timer tick.
func (s *Settings) markErrors() []float64 {
	marks := make([]float64, len(s.m.Tenants))
	last := make([]int32, len(s.all)) // as in steered
	l := s.m.Layout()
	for i, t := range l.Tenant {
		k := s.ofFlow[i]
		st := &s.all[k]
		p := &s.ports[st.port]
		if s.marks[i] == 0 {
			continue
		}
		of := BoundTime / (float64(st.timer) * p.unit * float64(st.incr))
		switch {
		case !p.perSL:
			marks[t] += float64(l.QPs[i] * of)
		case last[k] != t+1:
			marks[t] += of
			last[k] = t + 1
		}
	}
	for t, m := range marks {
		if m > 0 {
			marks[t] = boundRandom / math.Sqrt(m)
		}
	}
	return marks
}

// steered counts the CCTIs that control the queue pairs of each tenant.
func (s *Settings) steered() []float64 {
	cctis := make([]float64, len(s.m.Tenants))
	last := make([]int32, len(s.all)) // tenant + 1 of the last flow seen on a setting
	l := s.m.Layout()
	for i, t := range l.Tenant {
		k := s.ofFlow[i]
		switch {
		case !s.ports[s.all[k].port].perSL:
			cctis[t] += l.QPs[i]
		case last[k] != t+1:
			cctis[t]++
			last[k] = t + 1
		}
	}
	return cctis
}

// mostFullLinks returns, for each tenant, the largest number of full links on the path of a flow that meets one of the tenant's flows on a
// full link. Only links that queue and mark count.
func mostFullLinks(m *model.Model, full []bool) []int {
	l := m.Layout()
	most, out, caps := make([]int, len(m.Caps)), make([]int, len(m.Tenants)), m.QueueingCaps(nil)
	marks := func(d int32) bool { return full[d] && !l.Sends[d] && caps[d] < fill.Boundless }
	for i := range l.Tenant {
		hops, n := l.Hops[l.First[i]:l.First[i+1]], 0
		for _, d := range hops {
			if marks(d) {
				n++
			}
		}
		for _, d := range hops {
			most[d] = max(most[d], n)
		}
	}
	for i, t := range l.Tenant {
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			if marks(d) {
				out[t] = max(out[t], most[d])
			}
		}
	}
	return out
}

// passedOnErrors returns, by flow, the relative error passed on by flows that several links mark.
func (s *Settings) passedOnErrors() []float64 {
	return s.m.PassedOnErrors(s.target, func(f int32) (alike, apart float64) {
		if s.marks[f] > 1 {
			return boundRest, 0
		}
		return 0, 0
	}, func(f int32) bool { return s.target.Bottleneck[f] >= 0 })
}

// farBelowFastest flags the tenants with queue pairs entitled to less than 1/minFastestRatio of the fastest at the link that limits them.
func farBelowFastest(m *model.Model, target *model.Allocation) []bool {
	l, fastest, out := m.Layout(), make([]float64, len(m.Caps)), make([]bool, len(m.Tenants))
	for i, r := range target.Rates {
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			fastest[d] = max(fastest[d], r/l.QPs[i])
		}
	}
	for i, t := range l.Tenant {
		if d := target.Bottleneck[i]; d >= 0 && !l.Sends[d] && float64(minFastestRatio*target.Rates[i]/l.QPs[i]) < fastest[d] {
			out[t] = true
		}
	}
	return out
}

// victims returns, for each tenant, boundVictim if one of its flows shares a link between switches with flows that go on to another, limiting
// link, and boundBlocked if the shared link and the flow's own next one are limiting too. Links are lossless: when a queue is full, the link
// before it stops for all flows. Links from adapters do not count: simulations show no effect there.
func victims(m *model.Model, target *model.Allocation) []float64 {
	const none, many = -1, -2
	l, out := m.Layout(), make([]float64, len(m.Tenants))
	next := slices.Repeat([]int32{none}, len(m.Caps)) // the full link that follows
	each := func(do func(t, from, to int32)) {
		for i, t := range l.Tenant {
			for h := l.First[i] + 2; h < l.First[i+1]; h++ {
				do(t, l.Hops[h-1], l.Hops[h])
			}
		}
	}
	each(func(_, from, to int32) {
		switch was := next[from]; {
		case !target.Limiting[to] || was == to:
		case was == none:
			next[from] = to
		default:
			next[from] = many
		}
	})
	each(func(t, from, to int32) {
		switch {
		case next[from] == none || next[from] == to:
		case target.Limiting[from] && target.Limiting[to]:
			out[t] = boundBlocked
		default:
			out[t] = max(out[t], boundVictim)
		}
	})
	return out
}

// ackRange returns, by tenant, the relative distance of its rate from the prediction that acknowledgements allow. A link that one sending port
// fills also carries acknowledgements of other flows. With them it queues and marks, and the weights of its flows divide it; without them,
// their turns at the sending port do. Acknowledgements take so little that rates rest between both, whatever their exact part. nil: zero
// everywhere, or unknown because there are more than MaxCycleFlows flows.
func (s *Settings) ackRange(a *model.Allocation, w model.ShareWeights) []float64 {
	if len(s.m.Flows) > model.MaxCycleFlows {
		return nil
	}
	w.Caps = s.m.DataCaps(s.target, ibcc.AckShare)
	data, both, full := s.m.QueueingCaps(nil), s.m.QueueingCaps(w.Caps), s.m.Filled(a, w.Caps)
	if !slices.ContainsFunc(model.Indices(len(full)), func(d int32) bool { return full[d] && data[d] >= fill.Boundless && both[d] < fill.Boundless }) {
		return nil
	}
	b := s.m.ShareByWeightOn(nil, w)
	if b.Err != nil {
		return nil
	}
	return s.m.SignificantDistances(a, b)
}
