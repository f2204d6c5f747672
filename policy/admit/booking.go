package admit

import (
	"math"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/policy/fill"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// States of a guarantee.
const (
	GuaranteeKept   = "kept"
	GuaranteeAtRisk = "at-risk" // booked in full, but predicted to be missed by more than maxGuaranteeMiss
	GuaranteeBroken = "broken"  // on a link, the guarantees together exceed what can be booked: they are scaled down in proportion
)

// maxGuaranteeMiss is the part of a guarantee that a prediction may miss without a report: as weight-unreachable for parts of links.
const maxGuaranteeMiss = 0.05

// maxGuaranteeLoss is the part of a guarantee already at risk that an admission may take without counting as the cause.
const maxGuaranteeLoss = 0.01

// GuaranteeCheck is the state of one tenant's guarantee.
type GuaranteeCheck struct {
	Tenant    string           `json:"tenant"`
	Guarantee quantity.BitRate `json:"guarantee_bps"` // at most the cap
	Status    string           `json:"status"`        // kept, at-risk or broken
	// New reports that the admission causes the state: before, it did not hold, or to a lesser extent.
	New bool `json:"new"`
	// Left is the remaining guarantee on the link with the least; when it is kept, the guarantee.
	Left quantity.BitRate `json:"left_bps"`
	// Booked is the sum of the guarantees on that link, and Bookable the part of it that can be booked; both are 0 unless the guarantee is broken.
	Booked   quantity.BitRate `json:"booked_bps,omitempty"`
	Bookable quantity.BitRate `json:"bookable_bps,omitempty"`
	// Links are those where it is broken or at risk, the worst first.
	Links plan.NameList `json:"links"`
}

// booking records which guarantees are booked on which links.
type booking struct {
	m      *model.Model
	loads  [][]int32 // by tenant: link directions that its flows may cross, ascending
	booked []quantity.BitRate
	pairs  [][][2]subnet.PortRef // by tenant: both ends of each flow
	idle   *plan.NameList
}

// newBooking books the guarantees of a model; a nil model has none. A guarantee counts in full on every link that a flow of its tenant may
// cross: on InfiniBand those of the forwarding tables, on Ethernet those of all shortest paths, since any may be chosen by a hash. A tenant
// without flows may send from each of its ports to each other.
func newBooking(m *model.Model) *booking {
	b := &booking{m: m}
	if m == nil {
		return b
	}
	b.loads, b.pairs = make([][]int32, len(m.Tenants)), make([][][2]subnet.PortRef, len(m.Tenants))
	b.booked = make([]quantity.BitRate, len(m.Caps))
	given := make([]map[int32]bool, len(m.Tenants)) // links of given routes
	for i := range m.Flows {
		f := &m.Flows[i]
		if r := m.Input.Routes; f.Index < len(r) && len(r[f.Index]) > 0 {
			if given[f.Tenant] == nil {
				given[f.Tenant] = map[int32]bool{}
			}
			for _, d := range f.Links {
				given[f.Tenant][d] = true
			}
			continue
		}
		ps := &b.pairs[f.Tenant]
		if p := [2]subnet.PortRef{f.Src, f.Dst}; len(*ps) == 0 || (*ps)[len(*ps)-1] != p {
			*ps = append(*ps, p)
		}
	}
	w := newCrossing(m)
	for t := range m.Tenants {
		if len(b.pairs[t]) == 0 && given[t] == nil {
			b.pairs[t] = idlePairs(m, &m.Tenants[t])
			plan.AddName(&b.idle, m.Tenants[t].Name)
		}
		b.loads[t] = w.linksOf(int32(t)+1, b.pairs[t], given[t])
		for _, d := range b.loads[t] {
			b.booked[d] += guaranteed(&m.Tenants[t])
		}
	}
	return b
}

// guaranteed returns the rate booked for a tenant on a link.
func guaranteed(t *tenants.Tenant) quantity.BitRate {
	if t.Cap > 0 {
		return min(t.Guarantee, t.Cap)
	}
	return t.Guarantee
}

// idlePairs returns the pairs of ports between which a tenant without flows may send. Sources behind one switch reach a destination over the
// same links except their own, so each destination needs one source of each switch, and each source one destination.
func idlePairs(m *model.Model, t *tenants.Tenant) (out [][2]subnet.PortRef) {
	var ports []subnet.PortRef
	behind := map[int32][]subnet.PortRef{}
	var edges []int32
	for _, a := range t.Attachments {
		p, ok := m.Fabric.PortByID(a.Port)
		if !ok {
			continue
		}
		ports = append(ports, p)
		peer, _ := m.Fabric.Peer(p)
		if behind[peer.Node] == nil {
			edges = append(edges, peer.Node)
		}
		behind[peer.Node] = append(behind[peer.Node], p)
	}
	for i, dst := range ports {
		if len(ports) > 1 {
			out = append(out, [2]subnet.PortRef{dst, ports[(i+1)%len(ports)]})
		}
		for _, e := range edges {
			for _, src := range behind[e] {
				if src.Node != dst.Node {
					out = append(out, [2]subnet.PortRef{src, dst})
					break
				}
			}
		}
	}
	return out
}

// crossing finds the links that traffic may cross.
type crossing struct {
	m         *model.Model
	routes    *model.RouteFinder
	crossedBy []int32 // by link: the last tenant that crossed it, from 1 on
	visitedBy []int32 // by node: the last search that visited it
	searches  int32   // number of searches
}

func newCrossing(m *model.Model) *crossing {
	return &crossing{m: m, routes: &model.RouteFinder{Model: m, Switches: m.SwitchLinks()}, crossedBy: make([]int32, len(m.Caps))}
}

// linksOf lists the links of one tenant's traffic, ascending; no is the tenant's number, from 1 on, used once each.
func (x *crossing) linksOf(no int32, pairs [][2]subnet.PortRef, given map[int32]bool) (out []int32) {
	add := func(d int32) {
		if x.crossedBy[d] != no {
			x.crossedBy[d] = no
			out = append(out, d)
		}
	}
	for d := range given {
		add(d)
	}
	type routeStart struct {
		node int32
		dst  subnet.PortRef
	}
	done := make(map[routeStart]bool, len(pairs))
	for _, p := range sortedPairs(x.m.Fabric, pairs) {
		add(model.Direction(x.m.Fabric, p[0]))
		peer, _ := x.m.Fabric.Peer(p[0])
		if peer == p[1] || done[routeStart{peer.Node, p[1]}] {
			continue
		}
		done[routeStart{peer.Node, p[1]}] = true
		if x.m.Plane != subnet.PlaneIB {
			x.shortest(peer.Node, p[1], add)
			continue
		}
		// A tenant without flows may have ports without a route between them: nothing is booked there.
		x.routes.Ports, _ = subnet.AppendPath(x.routes.Ports[:0], x.m.Fabric, p[0], x.m.Fabric.Port(p[1]).LID)
		for _, q := range x.routes.Ports {
			add(model.Direction(x.m.Fabric, q))
		}
	}
	slices.Sort(out)
	return out
}

// sortedPairs groups pairs by the switch of their destination, which saves searches.
func sortedPairs(f *subnet.Fabric, pairs [][2]subnet.PortRef) [][2]subnet.PortRef {
	out := slices.Clone(pairs)
	slices.SortStableFunc(out, func(a, b [2]subnet.PortRef) int {
		p, _ := f.Peer(a[1])
		q, _ := f.Peer(b[1])
		return int(p.Node - q.Node)
	})
	return out
}

// shortest adds every link of every shortest path from a switch to a host.
func (x *crossing) shortest(from int32, dst subnet.PortRef, add func(int32)) {
	edge, _ := x.m.Fabric.Peer(dst)
	add(model.Direction(x.m.Fabric, edge))
	x.routes.Search(edge.Node)
	if x.routes.Dist[from] < 0 {
		return
	}
	if x.visitedBy == nil {
		x.visitedBy = make([]int32, len(x.m.Fabric.Nodes))
	}
	x.searches++
	x.visitedBy[from] = x.searches
	for queue := []int32{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == edge.Node {
			continue
		}
		for _, p := range x.routes.NextHops(queue[0]) {
			add(model.Direction(x.m.Fabric, p))
			if peer, _ := x.m.Fabric.Peer(p); x.visitedBy[peer.Node] != x.searches {
				x.visitedBy[peer.Node] = x.searches
				queue = append(queue, peer.Node)
			}
		}
	}
}

// bookable returns the part of a link that guarantees may book: exactly the part that the compiler books, rounded down.
func (b *booking) bookable(d int32) quantity.BitRate {
	c := quantity.BitRate(b.m.Caps[d])
	return c/100*fill.BookablePercent + c%100*fill.BookablePercent/100
}

// remaining returns the remaining guarantee of a tenant on a link.
func (b *booking) remaining(t int, d int32) quantity.BitRate {
	g := guaranteed(&b.m.Tenants[t])
	if most := b.bookable(d); b.booked[d] > most {
		return quantity.BitRate(math.Floor(float64(float64(g) * (float64(most) / float64(b.booked[d])))))
	}
	return g
}

// tenant returns the index of a tenant; -1 when there is none.
func (b *booking) tenant(name string) int {
	if b.m == nil {
		return -1
	}
	return slices.IndexFunc(b.m.Tenants, func(t tenants.Tenant) bool { return t.Name == name })
}

// guarantee returns the rate booked for a tenant, 0 if it does not exist.
func (b *booking) guarantee(name string) quantity.BitRate {
	if t := b.tenant(name); t >= 0 {
		return guaranteed(&b.m.Tenants[t])
	}
	return 0
}

// missing is a link where a tenant lacks some of its guarantee.
type missing struct {
	link             string
	remaining        quantity.BitRate
	booked, bookable quantity.BitRate
}

// checkGuarantees returns the state of every guarantee, by name.
func checkGuarantees(before, after *booking, was, is *plan.Plan) []GuaranteeCheck {
	out := []GuaranteeCheck{}
	for t := range after.m.Tenants {
		tn := &after.m.Tenants[t]
		g := guaranteed(tn)
		if g == 0 {
			continue
		}
		c := GuaranteeCheck{Tenant: tn.Name, Guarantee: g, Status: GuaranteeKept, Left: g, Links: plan.NameList{Names: []string{}}}
		lacks, worse := after.broken(t, before)
		status := GuaranteeBroken
		if len(lacks) == 0 {
			lacks, worse = atRisk(tn.Name, before.guarantee(tn.Name), g, was, is)
			status = GuaranteeAtRisk
		}
		if len(lacks) > 0 {
			slices.SortStableFunc(lacks, func(a, b missing) int { return int(max(-1, min(1, a.remaining-b.remaining))) })
			c.Status, c.New, c.Left, c.Booked, c.Bookable = status, worse, lacks[0].remaining, lacks[0].booked, lacks[0].bookable
			for _, l := range lacks {
				c.Links.Add(l.link)
			}
		}
		out = append(out, c)
	}
	return out
}

// broken lists the links on which a tenant's guarantee is scaled down. worse reports whether it lost more than before on any of them.
func (b *booking) broken(t int, before *booking) (out []missing, worse bool) {
	old := before.tenant(b.m.Tenants[t].Name)
	for _, d := range b.loads[t] {
		most := b.bookable(d)
		if b.booked[d] <= most {
			continue
		}
		out = append(out, missing{b.m.LinkName(d), b.remaining(t, d), b.booked[d], most})
		if old < 0 || guaranteed(&before.m.Tenants[old]) < guaranteed(&b.m.Tenants[t]) || before.booked[d] < b.booked[d] {
			worse = true
		} else if _, crossed := slices.BinarySearch(before.loads[old], d); !crossed {
			worse = true
		}
	}
	return out, worse
}

// atRisk lists the contended links on which a tenant is predicted to miss a guarantee that its traffic there can use. worse reports whether
// any of them is new or misses more than before, when the guarantee was had.
func atRisk(tenant string, had, g quantity.BitRate, was, is *plan.Plan) (out []missing, worse bool) {
	old := map[ident.PortID]quantity.BitRate{}
	for i := range was.Links {
		for _, t := range was.Links[i].Tenants {
			if t.Tenant == tenant && missesGuarantee(had, &t) {
				old[was.Links[i].Port] = t.Predicted
			}
		}
	}
	for i := range is.Links {
		for _, t := range is.Links[i].Tenants {
			if t.Tenant != tenant || !missesGuarantee(g, &t) {
				continue
			}
			out = append(out, missing{link: is.Links[i].Name, remaining: t.Predicted})
			if before, ok := old[is.Links[i].Port]; !ok || float64(before-t.Predicted) > float64(float64(min(g, t.Entitled))*maxGuaranteeLoss) {
				worse = true
			}
		}
	}
	return out, worse
}

// missesGuarantee reports whether the predicted part of a link misses more than maxGuaranteeMiss of the guarantee, as far as the tenant can use it.
func missesGuarantee(g quantity.BitRate, t *plan.LinkTenant) bool {
	return float64(t.Predicted) < float64(float64(min(g, t.Entitled))*(1-maxGuaranteeMiss))
}

// fit returns the largest guarantee of a tenant that the links hold besides those of the others.
func (b *booking) fit(name string) AdmissionFit {
	t := b.tenant(name)
	tn := &b.m.Tenants[t]
	out := AdmissionFit{Guarantee: quantity.MaxBitRate}
	for _, d := range b.loads[t] {
		if free := max(0, b.bookable(d)-(b.booked[d]-guaranteed(tn))); free < out.Guarantee {
			out.Guarantee, out.Link = free, b.m.LinkName(d)
		}
	}
	if tn.Cap > 0 && out.Guarantee > tn.Cap {
		out.Guarantee, out.Link = tn.Cap, ""
	}
	if out.Link == "" && tn.Cap == 0 || out.Guarantee < tenants.MinLimit {
		out.Guarantee = 0 // no traffic, or less than the least guarantee
	}
	return out
}

// without lists the host ports of a tenant whose own links are overbooked, if its guarantee fits without their flows; nil when that does not
// help, or leaves fewer than two ports.
func (b *booking) without(name string) []string {
	t := b.tenant(name)
	full := map[subnet.PortRef]bool{}
	over := func(d int32) bool { return b.booked[d] > b.bookable(d) }
	for _, d := range b.loads[t] {
		if over(d) {
			for _, p := range []subnet.PortRef{b.m.Transmitter(d), b.m.Receiver(d)} {
				if b.m.Fabric.Nodes[p.Node].Kind == subnet.KindCA {
					full[p] = true
				}
			}
		}
	}
	var rest [][2]subnet.PortRef
	for _, p := range b.pairs[t] {
		if !full[p[0]] && !full[p[1]] {
			rest = append(rest, p)
		}
	}
	if len(full) == 0 || len(rest) == 0 {
		return nil
	}
	if slices.ContainsFunc(newCrossing(b.m).linksOf(1, rest, nil), over) {
		return nil
	}
	var out []string
	for p := range full {
		out = append(out, b.m.Fabric.PortName(p))
	}
	slices.Sort(out)
	return out
}
