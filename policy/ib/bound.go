package ib

import (
	"math"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/policy/fill"
	"fairlane/policy/model"
)

// What the prediction of an InfiniBand plan may be off by, relative: fitted to packet simulations of random cases
// (see docs/compiler.md), of which 95 in 100 lie well within the sum.
const (
	boundBase    = 0.02  // the chance of who is marked, for 10,000 marks and more
	boundSingle  = 0.005 // of a tenant that marks steer by a single CCTI, so that its chances do not average out
	boundFull    = 0.03  // for each full link beyond the first on the longest way that meets the tenant's: links that wait for each other do not fill
	boundLinked  = 0.02  // beside a flow that several limiting links mark: what one link is off by, the other divides anew
	boundRest    = 0.03  // of what such flows have at a link, passed on to the flows that this link alone limits
	boundVictim  = 0.06  // of a flow that shares a link with flows to a limiting link further on (head-of-line blocking)
	boundBlocked = 0.15  // instead, where the shared link and the flow's own next one are limiting as well: the links wait for each other
	boundFar     = 0.02  // of queue pairs far below the fastest that they meet: some were 4 to 5 % below their predictions (the cause is not known)
	boundSending = 0.20  // where queue pairs take turns at a sending port and answer marks as well
	boundChance  = 3     // standard deviations of the chance of few marks: of hundreds of tenants some are two off
)

// farBelow is the ratio from which on boundFar counts.
const farBelow = 20

// BoundTime is the time, in seconds, over which the delivered rates are means that the bounds of an InfiniBand plan are for. Means over less
// swing more: a mean of m marks is known to 1/sqrt(m).
const BoundTime = 4

// bounds is the relative error that each tenant's prediction may have on InfiniBand.
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
		if predicted.Circles != nil {
			sending = max(sending, predicted.Circles[t])
		}
		out[t] += sending
		independent := out[t] - boundBase // independent of who is marked
		out[t] = max(out[t], math.Sqrt(float64(independent*independent)+float64(markErrors[t]*markErrors[t])))
		if far[t] {
			out[t] += boundFar
		}
	}
	return out
}

// markErrors is the part of each tenant's bound that is due to who happens to be marked, 0 without marks. A mean of m marks is known to 1/sqrt(m),
// the bound has three times that. At rest a CCTI has Increase steps up for each mark, and one down for each tick of its timer.
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
			marks[t] = boundChance / math.Sqrt(m)
		}
	}
	return marks
}

// steered counts the CCTIs that hold the queue pairs of each tenant.
func (s *Settings) steered() []float64 {
	cctis := make([]float64, len(s.m.Tenants))
	last := make([]int32, len(s.all)) // tenant + 1 whose flow was the last to be seen on a setting
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

// mostFullLinks is, of each tenant, the most full links that a flow crosses which meets one of the tenant's on a full link. Only links that queue and mark count.
func mostFullLinks(m *model.Model, full []bool) []int {
	l := m.Layout()
	most, out, caps := make([]int, len(m.Caps)), make([]int, len(m.Tenants)), m.Feedable(nil)
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

// passedOnErrors is by flow the relative error that flows which several links mark pass on to it.
func (s *Settings) passedOnErrors() []float64 {
	return s.m.PassedOnErrors(s.target, func(f int32) (alike, apart float64) {
		if s.marks[f] > 1 {
			return boundRest, 0
		}
		return 0, 0
	}, func(f int32) bool { return s.target.Bottleneck[f] >= 0 })
}

// farBelowFastest are the tenants with queue pairs that are entitled to less than a farBelow-th of the fastest at the link that limits them.
func farBelowFastest(m *model.Model, target *model.Allocation) []bool {
	l, fastest, out := m.Layout(), make([]float64, len(m.Caps)), make([]bool, len(m.Tenants))
	for i, r := range target.Rates {
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			fastest[d] = max(fastest[d], r/l.QPs[i])
		}
	}
	for i, t := range l.Tenant {
		if d := target.Bottleneck[i]; d >= 0 && !l.Sends[d] && float64(farBelow*target.Rates[i]/l.QPs[i]) < fastest[d] {
			out[t] = true
		}
	}
	return out
}

// victims is, of each tenant, boundVictim if a flow of it shares a link between switches with flows that go on to another, limiting link, and
// boundBlocked if the shared link and its own next one are limiting too. Links are lossless: when a queue is full, the link before it stops for all.
// Links from adapters do not count: simulations show no effect there.
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

// ackRange is by tenant how far its rate may be from a prediction, relative, because a link that one sending port fills carries acknowledgements of other
// flows as well. With these it queues and marks, and its flows' weights divide it; without, their turns at the sending port do. Acknowledgements take so
// little that rates rest between both; how much they take does not matter. nil: nowhere, or not known, with more than CircleFlows flows.
func (s *Settings) ackRange(a *model.Allocation, w model.ShareWeights) []float64 {
	if len(s.m.Flows) > model.CircleFlows {
		return nil
	}
	w.Caps = s.m.DataCaps(s.target, ibcc.AckShare)
	data, both, full := s.m.Feedable(nil), s.m.Feedable(w.Caps), s.m.Filled(a, w.Caps)
	if !slices.ContainsFunc(model.Indices(len(full)), func(d int32) bool { return full[d] && data[d] >= fill.Boundless && both[d] < fill.Boundless }) {
		return nil
	}
	b := s.m.ShareByWeightOn(nil, w)
	if b.Err != nil {
		return nil
	}
	return s.m.SignificantDistances(a, b)
}
