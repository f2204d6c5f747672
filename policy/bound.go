package policy

import (
	"math"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/policy/fill"
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
func (s *settings) bounds(predicted forecast) []float64 {
	full := s.m.fullLinks(s.target)
	near, links := s.m.besideTurns(s.target, full), longestWays(s.m, full)
	linked := s.m.beside(s.target, func(i int) bool { return s.marks[i] > 1 })
	spare := s.m.beside(s.target, s.m.over(s.m.spareLinks(s.target, full, nil)))
	steered, victims, far := s.steered(), victims(s.m, s.target), far(s.m, s.target)
	chance, rest := s.chance(), s.m.meanByTenant(s.target, s.rest())
	out := make([]float64, len(s.m.tenants))
	for t := range out {
		out[t] = boundBase + float64(boundFull*float64(max(0, links[t]-1)))
		if linked[t] {
			out[t] += max(boundLinked, rest[t])
		}
		if spare[t] {
			out[t] += boundSpare
		}
		out[t] += victims[t]
		if predicted.spare != nil {
			out[t] += predicted.spare[t]
		}
		if steered[t] <= 1 {
			out[t] += boundSingle
		}
		sending := 0.0
		if near[t] {
			sending = boundSending
		}
		if predicted.circles != nil {
			sending = max(sending, predicted.circles[t])
		}
		out[t] += sending
		sure := out[t] - boundBase // independent of who is marked
		out[t] = max(out[t], math.Sqrt(float64(sure*sure)+float64(chance[t]*chance[t])))
		if far[t] {
			out[t] += boundFar
		}
	}
	return out
}

// chance is the part of each tenant's bound that is due to who happens to be marked, 0 without marks. A mean of m marks is known to 1/sqrt(m),
// the bound has three times that. At rest a CCTI has Increase steps up for each mark, and one down for each tick of its timer.
func (s *settings) chance() []float64 {
	marks := make([]float64, len(s.m.tenants))
	last := make([]int32, len(s.all)) // as in steered
	l := s.m.lay()
	for i, t := range l.tenant {
		k := s.ofFlow[i]
		st := &s.all[k]
		p := &s.ports[st.port]
		if s.marks[i] == 0 {
			continue
		}
		of := BoundTime / (float64(st.timer) * p.unit * float64(st.incr))
		switch {
		case !p.perSL:
			marks[t] += float64(l.qps[i] * of)
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
func (s *settings) steered() []float64 {
	cctis := make([]float64, len(s.m.tenants))
	last := make([]int32, len(s.all)) // tenant + 1 whose flow was the last to be seen on a setting
	l := s.m.lay()
	for i, t := range l.tenant {
		k := s.ofFlow[i]
		switch {
		case !s.ports[s.all[k].port].perSL:
			cctis[t] += l.qps[i]
		case last[k] != t+1:
			cctis[t]++
			last[k] = t + 1
		}
	}
	return cctis
}

// longestWays is, of each tenant, the most full links that a flow crosses which meets one of the tenant's on a full link. Only links that queue and mark count.
func longestWays(m *model, full []bool) []int {
	l := m.lay()
	most, out, caps := make([]int, len(m.caps)), make([]int, len(m.tenants)), m.feedable(nil)
	marks := func(d int32) bool { return full[d] && !l.sends[d] && caps[d] < fill.Boundless }
	for i := range l.tenant {
		hops, n := l.hops[l.first[i]:l.first[i+1]], 0
		for _, d := range hops {
			if marks(d) {
				n++
			}
		}
		for _, d := range hops {
			most[d] = max(most[d], n)
		}
	}
	for i, t := range l.tenant {
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			if marks(d) {
				out[t] = max(out[t], most[d])
			}
		}
	}
	return out
}

// rest is by flow the relative error that flows which several links mark pass on to it.
func (s *settings) rest() []float64 {
	return s.m.passedOn(s.target, func(f int32) (alike, apart float64) {
		if s.marks[f] > 1 {
			return boundRest, 0
		}
		return 0, 0
	}, func(f int32) bool { return s.target.bottleneck[f] >= 0 })
}

// far are the tenants with queue pairs that are entitled to less than a farBelow-th of the fastest at the link that limits them.
func far(m *model, target *allocation) []bool {
	l, fastest, out := m.lay(), make([]float64, len(m.caps)), make([]bool, len(m.tenants))
	for i, r := range target.rates {
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			fastest[d] = max(fastest[d], r/l.qps[i])
		}
	}
	for i, t := range l.tenant {
		if d := target.bottleneck[i]; d >= 0 && !l.sends[d] && float64(farBelow*target.rates[i]/l.qps[i]) < fastest[d] {
			out[t] = true
		}
	}
	return out
}

// victims is, of each tenant, boundVictim if a flow of it shares a link between switches with flows that go on to another, limiting link, and
// boundBlocked if the shared link and its own next one are limiting too. Links are lossless: when a queue is full, the link before it stops for all.
// Links from adapters do not count: simulations show no effect there.
func victims(m *model, target *allocation) []float64 {
	const none, many = -1, -2
	l, out := m.lay(), make([]float64, len(m.tenants))
	next := slices.Repeat([]int32{none}, len(m.caps)) // the full link that follows
	each := func(do func(t, from, to int32)) {
		for i, t := range l.tenant {
			for h := l.first[i] + 2; h < l.first[i+1]; h++ {
				do(t, l.hops[h-1], l.hops[h])
			}
		}
	}
	each(func(_, from, to int32) {
		switch was := next[from]; {
		case !target.limiting[to] || was == to:
		case was == none:
			next[from] = to
		default:
			next[from] = many
		}
	})
	each(func(t, from, to int32) {
		switch {
		case next[from] == none || next[from] == to:
		case target.limiting[from] && target.limiting[to]:
			out[t] = boundBlocked
		default:
			out[t] = max(out[t], boundVictim)
		}
	})
	return out
}

// ackRange is by tenant how far its rate may be from a prediction, relative, because a link that one sending port fills carries acknowledgements of other
// flows as well. With these it queues and marks, and its flows' weights divide it; without, their turns at the sending port do. Acknowledgements take so
// little that rates rest between both; how much they take does not matter. nil: nowhere, or not known, with more than circleFlows flows.
func (s *settings) ackRange(a *allocation, w shareWeights) []float64 {
	if len(s.m.flows) > circleFlows {
		return nil
	}
	w.caps = s.m.dataCaps(s.target, ibcc.AckShare)
	data, both, full := s.m.feedable(nil), s.m.feedable(w.caps), s.m.filled(a, w.caps)
	if !slices.ContainsFunc(numbered(len(full)), func(d int32) bool { return full[d] && data[d] >= fill.Boundless && both[d] < fill.Boundless }) {
		return nil
	}
	b := s.m.shareByWeightOn(nil, w)
	if b.err != nil {
		return nil
	}
	return s.m.different(a, b)
}
