package wrcc

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"fairlane/internal/num"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/halves"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// entry is the queue pairs of one class of a tenant at one NIC port.
type entry struct {
	port          ident.PortID
	ref           subnet.PortRef
	tenant, class int32
	weight        float64 // of a queue pair, towards all ports but peers
	rule, formula string
	clamped       string
	peers         []plan.WRCCPeer
	misses        []peerRates // peers whose weights miss what their flows want
}

// peerRates summarises what the flows of an entry towards one port want.
type peerRates struct {
	peer   ident.PortID
	qps    float64
	rate   float64 // bit/s of a queue pair
	least  float64 // by demands
	spread float64 // largest relative distance of one of its flows from rate
	weight float64
	demand bool // only demands limit its flows
	first  int  // of its flows, which follow each other
	end    int
}

// weigh sets the weights of every (port, tenant, class), by which a network adapter identifies its queue pairs. (Adapters that hold a weight
// for each queue pair can use one for each peer.)
func (s *Settings) weigh() {
	groups := s.layout.groups
	n := len(groups) - 1
	s.entries, s.fresh = make([]entry, n, n+len(s.layout.idle)), make([]bool, n+len(s.layout.idle))
	s.weights = make([]float64, len(s.m.Flows))
	if s.prev != nil {
		copy(s.weights, s.prev.weights)
	}
	halves.Do(n, func(from, to int) {
		for k := from; k < to; k++ {
			if s.fresh[k] = s.changed(int(groups[k]), int(groups[k+1])); s.fresh[k] {
				s.entries[k] = s.entry(int(groups[k]), int(groups[k+1]))
			} else {
				s.entries[k] = s.prev.entries[k]
			}
		}
	})
	for k := range s.entries {
		for i := range s.entries[k].misses {
			s.noteMiss(&s.entries[k], &s.entries[k].misses[i])
		}
	}
	s.addIdle()
	s.reportCompromises()
}

// changed reports whether the model flows first to end, which are one entry, differ from the previous compilation.
func (s *Settings) changed(first, end int) bool {
	return s.prev == nil || !slices.Equal(s.target.Rates[first:end], s.prev.target.Rates[first:end]) || !slices.Equal(s.limits[first:end], s.prev.limits[first:end])
}

// entry computes the weights of the model flows first to end, which are of one class at one port.
func (s *Settings) entry(first, end int) entry {
	f := &s.m.Flows[first]
	e := entry{port: s.m.Fabric.PortID(f.Src), ref: f.Src, tenant: f.Tenant, class: f.Class}
	var peers []peerRates
	for i := first; i < end; {
		n := i
		for n < end && s.m.Flows[n].Dst == s.m.Flows[i].Dst {
			n++
		}
		peers = append(peers, s.peerRates(i, n))
		i = n
	}
	common := s.commonPeer(peers)
	e.weight, e.clamped = s.legalWeight(common.rate)
	e.rule = plan.RuleEntitledRate
	if common.demand {
		e.rule = plan.RuleDemand
	}
	e.formula = s.weightFormula(common)
	for i := range peers {
		p := &peers[i]
		if p.rate != common.rate {
			p.weight, _ = s.legalWeight(p.rate)
			if p.weight != e.weight {
				e.peers = append(e.peers, plan.WRCCPeer{Port: p.peer, Weight: p.weight})
			}
		} else {
			p.weight = e.weight
		}
		if p.spread > model.MaxQuantisation || s.outOfRange(p) {
			e.misses = append(e.misses, *p)
		}
		for i := p.first; i < p.end; i++ {
			s.weights[i] = p.weight
		}
	}
	slices.SortFunc(e.peers, func(a, b plan.WRCCPeer) int { return a.Port.Compare(b.Port) })
	return e
}

// peerRates summarises what the model flows first to end, which share both ends, want. Queue pairs on different paths cannot have different
// weights: unequal entitlements get their geometric mean, weighted by queue pairs, which is least squares on a logarithmic scale. A demand is
// a lower bound.
func (s *Settings) peerRates(first, end int) peerRates {
	p := peerRates{peer: s.m.Fabric.PortID(s.m.Flows[first].Dst), demand: true, first: first, end: end}
	var n, sum, low, high float64
	low = math.Inf(1)
	for i := first; i < end; i++ {
		f := &s.m.Flows[i]
		r := s.target.Rates[i] / f.QPs
		p.qps += f.QPs
		if s.limits[i] == byDemand {
			p.least = max(p.least, float64(r*demandMargin))
			continue
		}
		p.demand = false
		low, high = min(low, r), max(high, r)
		n += f.QPs
		sum += float64(f.QPs * num.Ln(max(r, 1)))
	}
	switch {
	case p.demand:
	case high <= low*(1+1e-9):
		p.rate = low
	default:
		p.rate = num.Exp(sum / n)
		p.spread = max(high/p.rate, p.rate/max(low, 1)) - 1
	}
	p.rate = float64(model.Rate(max(p.rate, p.least)))
	return p
}

// commonPeer returns the peer whose rate most queue pairs of an entry have, of several the one with the lowest rate. Its weight becomes the
// entry's, so that queue pairs towards undeclared ports get it too.
func (s *Settings) commonPeer(peers []peerRates) *peerRates {
	byRate := make([]int, len(peers))
	for i := range byRate {
		byRate[i] = i
	}
	slices.SortStableFunc(byRate, func(a, b int) int { return cmp.Compare(peers[a].rate, peers[b].rate) })
	best, most := byRate[0], 0.0
	for i := 0; i < len(byRate); {
		n, qps := i, 0.0
		for n < len(byRate) && peers[byRate[n]].rate == peers[byRate[i]].rate {
			qps += peers[byRate[n]].qps
			n++
		}
		if qps > most*(1+1e-9) {
			best, most = byRate[i], qps
		}
		i = n
	}
	return &peers[best]
}

// legalWeight converts a rate to a weight within the range of senders. clamped states how the weight was changed, if at all.
func (s *Settings) legalWeight(rate float64) (weight float64, clamped string) {
	w := rate / s.unit
	weight = min(max(w, wrcc.MinSenderWeight), wrcc.MaxSenderWeight)
	if weight != w {
		clamped = phrase.Write("reason.limit.weight", "exact", plan.Decimals(w), "weight", plan.Decimals(weight))
	}
	return weight, clamped
}

func (s *Settings) weightFormula(p *peerRates) string {
	rate, unit := model.Rate(p.rate).String(), quantity.BitRate(s.unit).String()
	switch {
	case p.demand:
		return phrase.Write("reason.formula.weight-demand", "rate", rate, "unit", unit)
	case p.spread > 1e-9:
		return phrase.Write("reason.formula.weight-mean", "rate", rate, "unit", unit)
	}
	return phrase.Write("reason.formula.weight-entitled", "rate", rate, "unit", unit)
}

// addIdle gives the classes of attached tenants without flows at a port the weight of one queue pair with the tenant's share of the port.
func (s *Settings) addIdle() {
	if len(s.layout.idle) == 0 {
		return
	}
	weight := make(map[ident.PortID]float64)
	for t := range s.m.Tenants {
		for _, a := range s.m.Tenants[t].Attachments {
			weight[a.Port] += float64(s.m.Tenants[t].Weight)
		}
	}
	for i := range s.layout.idle {
		x := &s.layout.idle[i]
		tn := &s.m.Tenants[x.tenant]
		part := float64(tn.Weight) / weight[x.port]
		if len(tn.Classes) > 0 {
			sum := 0.0
			for _, c := range tn.Classes {
				sum += float64(c.Weight)
			}
			part = float64(part * (float64(tn.Classes[x.class].Weight) / sum))
		}
		share := float64(model.Rate(float64(x.line * part)))
		e := entry{port: x.port, ref: x.ref, tenant: x.tenant, class: x.class, rule: plan.RuleIdle}
		e.weight, e.clamped = s.legalWeight(share)
		e.formula = phrase.Write("reason.formula.weight-idle", "rate", model.Rate(share).String(), "unit", quantity.BitRate(s.unit).String())
		k := len(s.entries)
		s.entries = append(s.entries, e)
		s.fresh[k] = s.prev == nil || e.weight != s.prev.entries[k].weight || e.formula != s.prev.entries[k].formula || e.clamped != s.prev.entries[k].clamped
	}
}

// senderPlans builds the settings of all entries; it takes those that are not fresh from the previous plan.
func (s *Settings) senderPlans(before []plan.WRCCSenderPlan, was []plan.Digest) ([]plan.WRCCSenderPlan, []plan.Digest) {
	fresh := make([]bool, len(s.entries))
	for i, k := range s.layout.order {
		fresh[i] = s.fresh[k]
	}
	legal := fmt.Sprintf("%v..%d", wrcc.MinSenderWeight, wrcc.MaxSenderWeight)
	one := quantity.BitRate(s.unit).String()
	unit := phrase.Write("reason.unit.weight", "unit", one)
	return plan.Renew(before, was, fresh, func(i int) plan.WRCCSenderPlan {
		e := &s.entries[s.layout.order[i]]
		tenant := s.m.Tenants[e.tenant].Name
		p := plan.WRCCSenderPlan{Port: e.port, Name: s.m.Fabric.PortName(e.ref), Tenant: tenant, Class: className(s.m, e.tenant, e.class), Weight: e.weight, Peers: e.peers}
		p.Reasons = append(p.Reasons, plan.Reason{Field: "weight", Value: strconv.FormatFloat(e.weight, 'g', -1, 64), Unit: unit, Range: legal,
			Tenant: tenant, Rule: e.rule, Formula: e.formula, Clamped: e.clamped})
		if len(e.peers) > 0 {
			p.Reasons = append(p.Reasons, plan.Reason{Field: "peers", Value: fmt.Sprint(len(e.peers)), Unit: phrase.Write("reason.unit.ports"), Range: "0..65536",
				Tenant: tenant, Rule: plan.RuleEntitledRate, Formula: phrase.Write("reason.formula.weight-peers", "unit", one)})
		}
		return p
	})
}
