package wrcc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// domain is one data centre.
type domain struct {
	name    string
	nodes   []int32
	used    bool                 // flows start, end or pass here
	rtt     quantity.Picoseconds // largest between two hosts
	flowRTT quantity.Picoseconds // largest of the flows that stay inside
	rtts    []int64              // us, of the flows that cross its switches, in order
	perRTT  float64              // ratio of WRCCT to rtt
	period  quantity.Picoseconds
	slowest float64              // bit/s, of the switch ports that flows cross
	paces   []pace               // of the queue pairs that links limit and that cross its switches
	react   quantity.Picoseconds // rtt plus the time between two packets of a slow queue pair
	why     string

	findings []plan.Finding
}

// settle returns the approximate settling time of shares, in seconds. Near equilibrium, each WRCCT moves a fair rate by a 64th of the
// remaining distance.
func (d *domain) settle() float64 { return float64(64 * d.period.Seconds()) }

// pace is the entitled rate of a number of queue pairs.
type pace struct{ rate, qps float64 }

// A sender receives a fair rate, and requests more, once per packet, so the time between two packets delays its control loop. The period does
// not cover the delay of the slowest twentieth of queue pairs, nor more than longestGap.
const (
	slowFraction = 0.05
	longestGap   = 250 * quantity.Microsecond
)

// gap returns the time between two packets of 1,024 bytes of a slow queue pair. It changes the order of paces.
func (d *domain) gap() quantity.Picoseconds {
	sum := 0.0
	for _, p := range d.paces {
		sum += p.qps
	}
	if sum == 0 {
		return 0
	}
	slow := slowest(d.paces, float64(slowFraction*sum))
	return min(packetGap(slow), longestGap)
}

// slowest returns the rate up to which the slowest paces together have the given number of queue pairs. It repeatedly partitions the paces at
// one of their rates (Hoare's Find), which changes the order of ps. ps must not be empty.
func slowest(ps []pace, qps float64) float64 {
	for {
		r := medianRate(ps)
		below, above, n, same := 0, len(ps), 0.0, 0.0
		for i := 0; i < above; {
			switch p := ps[i]; {
			case p.rate < r:
				ps[i], ps[below] = ps[below], p
				below++
				n += p.qps
				i++
			case p.rate > r:
				above--
				ps[i], ps[above] = ps[above], p
			default:
				same += p.qps
				i++
			}
		}
		switch {
		case n >= qps && below > 0:
			ps = ps[:below]
		case n+same >= qps || above == len(ps):
			return r
		default:
			ps, qps = ps[above:], qps-n-same
		}
	}
}

// medianRate returns the median of three rates.
func medianRate(ps []pace) float64 {
	a, b, c := ps[0].rate, ps[len(ps)/2].rate, ps[len(ps)-1].rate
	return max(min(a, b), min(max(a, b), c))
}

// Bytes on the wire in addition to the payload of a RoCEv2 packet: Ethernet header, check sequence, preamble and gap (38), IPv4 (20), UDP (8), BTH
// (12), RETH (16), ICRC (4), and the INT header.
const overhead = 98 + wrcc.HeaderSize

// linkTime returns what a link direction and the return path over the same link add to a round trip: both delays, and one full packet.
func (s *Settings) linkTime(d int32) quantity.Picoseconds {
	bits := (cmp.Or(int64(s.m.Fabric.Port(s.m.Transmitter(d)).MTU), model.DefaultMTU) + overhead) * 8
	return 2*s.m.Delay(d) + quantity.Picoseconds(float64(bits)/float64(s.m.Fabric.Links[d/2].Rate)*float64(quantity.Second))
}

// linkTimes returns linkTime of every link direction.
func (s *Settings) linkTimes() []quantity.Picoseconds {
	out := make([]quantity.Picoseconds, 2*len(s.m.Fabric.Links))
	for d := range out {
		out[d] = s.linkTime(int32(d))
	}
	return out
}

// findDomains lists the data centres, by name, and assigns every node to one.
func (s *Settings) findDomains() {
	nodes := s.m.Fabric.Nodes
	at := make(map[string]int32)
	for i := range nodes {
		at[nodes[i].Domain] = 0
	}
	for k, name := range slices.Sorted(maps.Keys(at)) {
		at[name] = int32(k)
		s.domains = append(s.domains, domain{name: name})
	}
	s.home = make([]int32, len(nodes))
	for i := range nodes {
		k := at[nodes[i].Domain]
		s.home[i] = k
		s.domains[k].nodes = append(s.domains[k].nodes, int32(i))
	}
}

// measureDomains sets the periods of all data centres.
func (s *Settings) measureDomains() {
	if s.layout.domains == nil {
		s.findDomains()
		s.roundTrips()
		s.layout.domains, s.layout.dataCentre = s.domains, s.home
	}
	s.domains, s.home = slices.Clone(s.layout.domains), s.layout.dataCentre
	if s.layout.paces == nil {
		s.layout.paces = make([][]pace, len(s.domains))
	}
	for i := range s.domains {
		s.domains[i].paces = s.layout.paces[i][:0]
	}
	s.findPaces()
	for i := range s.domains {
		d := &s.domains[i]
		s.layout.paces[i] = d.paces
		if d.limit(); s.prev != nil && s.prev.domains[i].react == d.react {
			*d = s.prev.domains[i]
		} else {
			d.choosePeriod()
		}
		d.paces = nil
		s.findings = append(s.findings, d.findings...)
	}
}

// roundTrips finds the round trips inside all data centres and of the flows that cross them.
func (s *Settings) roundTrips() {
	times := s.linkTimes()
	s.crossings(times)
	span := s.newSpan(times)
	widest := quantity.Picoseconds(0)
	for i := range s.domains {
		d := &s.domains[i]
		d.rtt = max(d.flowRTT, span.largest(d.nodes))
		widest = max(widest, d.rtt)
	}
	for i := range s.domains {
		d := &s.domains[i]
		if d.rtt == 0 { // a domain of switches only, which carries transit traffic
			d.rtt = max(widest, model.UnknownDelay)
		}
	}
}

// findPaces lists the paces of each domain.
func (s *Settings) findPaces() {
	l, f := s.m.Layout(), s.m.Fabric
	for i, by := range s.limits {
		if by != byLink {
			continue
		}
		last, p := int32(-1), pace{s.target.Rates[i] / l.QPs[i], l.QPs[i]}
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			k := int32(0)
			if len(s.domains) > 1 {
				k = s.home[model.Transmitter(f, d).Node]
			}
			if k != last {
				last = k
				s.domains[k].paces = append(s.domains[k].paces, p)
			}
			if len(s.domains) == 1 {
				break
			}
		}
	}
}

// domainOf returns the data centre of a node.
func (s *Settings) domainOf(node int32) *domain { return &s.domains[s.home[node]] }

// crossings collects the round trips of the flows that cross each domain's switches. times are those of the links.
func (s *Settings) crossings(times []quantity.Picoseconds) {
	const most = 512 // distinct round trips of a domain; more do not change its extremes
	seen := make([]map[int64]struct{}, len(s.domains))
	for i := range seen {
		seen[i] = map[int64]struct{}{}
	}
	homes := make([]int32, len(s.m.Caps)) // domain of the transmitter
	for d := range homes {
		homes[d] = s.home[s.m.Transmitter(int32(d)).Node]
	}
	for i := range s.m.Flows {
		f := &s.m.Flows[i]
		rtt, home, inside := quantity.Picoseconds(0), homes[f.Links[0]], true
		for _, d := range f.Links {
			rtt += times[d]
			inside = inside && homes[d] == home
		}
		inside = inside && s.home[f.Dst.Node] == home
		if inside {
			s.domains[home].flowRTT = max(s.domains[home].flowRTT, rtt)
		}
		us := int64((rtt + quantity.Microsecond - 1) / quantity.Microsecond)
		last := int32(-1)
		for _, d := range f.Links {
			if at := &s.domains[homes[d]]; s.m.Marks(d) && (at.slowest == 0 || s.m.Caps[d] < at.slowest) {
				at.slowest = s.m.Caps[d]
			}
			k := homes[d]
			if k == last {
				continue
			}
			last = k
			if len(seen[k]) < most {
				seen[k][us] = struct{}{}
			}
		}
	}
	for k := range seen {
		d := &s.domains[k]
		d.used = len(seen[k]) > 0
		for us := range seen[k] {
			d.rtts = append(d.rtts, us)
		}
		slices.Sort(d.rtts)
	}
}

// periodChoices are the WRCCT of S0's range in largest round trips, in order of preference.
var periodChoices = [...]float64{wrcc.DefaultPeriodRTTs, 2.5, 3, 3.5, wrcc.MaxPeriodRTTs}

// steadyPackets is the number of packets that a port should send in a WRCCT. With fewer, a single packet looks like a change of load, by which
// the port divides its fair rate.
const steadyPackets = 128

var nameDomains = phrase.Of("plan.wrcc-domains.fix")

// limit limits the round trip to the longest that switches support, and computes the delay of the loop.
func (d *domain) limit() {
	most := wrcc.MaxPeriod / wrcc.MaxPeriodRTTs
	if d.rtt > most {
		d.findings = append(d.findings, plan.NewFinding(plan.CodePeriodClamped, nil, nil,
			phrase.Of("plan.wrcc-period-clamped", "domain", d.title(), "rtt", d.rtt, "max", wrcc.MaxPeriod), nameDomains))
		d.rtt = most
	}
	d.react = min(d.rtt+d.gap(), most)
}

// choosePeriod selects the shortest WRCCT in S0's range with which the loop is stable for the domain's largest round trip and for every one
// that crosses it, and in which the slowest port counts enough packets. If there is none, it selects the longest stable WRCCT. If none is
// stable, it selects the shortest and reports that.
func (d *domain) choosePeriod() {
	d.perRTT, d.period = periodChoices[0], periodOf(d.react, periodChoices[0])
	for _, x := range periodChoices {
		period := periodOf(d.react, x)
		if !d.stable(period) {
			continue
		}
		d.perRTT, d.period = x, period
		d.why = phrase.Write("reason.formula.period-longest", "packets", strconv.Itoa(steadyPackets))
		if d.slowest*period.Seconds() >= steadyPackets*boundPacket {
			d.why = phrase.Write("reason.formula.period-shortest", "packets", strconv.Itoa(steadyPackets))
			break
		}
	}
	if d.why == "" {
		d.why = phrase.Write("reason.formula.period-unstable")
		d.findings = append(d.findings, plan.NewFinding(plan.CodeWRCCUnstable, nil, nil,
			phrase.Of("plan.wrcc-unstable", "domain", d.title(), "period", d.period),
			phrase.Of("plan.wrcc-unstable.fix")))
	}
	if settle := d.settle(); d.used && settle > model.MaxConvergence {
		d.findings = append(d.findings, plan.NewFinding(plan.CodeSlowConvergence, nil, nil,
			phrase.Of("plan.wrcc-slow", "domain", d.title(), "period", d.period, "settle", model.RoundTime(settle)), nameDomains))
	}
}

func periodOf(rtt quantity.Picoseconds, rtts float64) quantity.Picoseconds {
	us := quantity.Picoseconds(float64(float64(rtt)*rtts)) + quantity.Microsecond - 1
	return max(us/quantity.Microsecond*quantity.Microsecond, wrcc.MinPeriod)
}

// stable reports whether a port's loop is stable with a WRCCT, for every round trip that crosses the domain.
func (d *domain) stable(period quantity.Picoseconds) bool {
	p := wrcc.DefaultParams(defaultUnit, period)
	return p.CheckStable(d.rtt.Seconds()) == nil &&
		!slices.ContainsFunc(d.rtts, func(us int64) bool { return p.CheckStable(float64(us)/1e6) != nil })
}

func (d *domain) title() phrase.Text {
	if d.name == "" {
		return phrase.Of("plan.whole-fabric")
	}
	return phrase.Of("plan.domain", "domain", d.name)
}

// timer returns T1: S0 requires it to be no shorter than the WRCCT of any switch on the path.
func (s *Settings) timer() quantity.Picoseconds {
	t := wrcc.MinPeriod
	for i := range s.domains {
		if s.domains[i].used {
			t = max(t, s.domains[i].period)
		}
	}
	return t
}

func (s *Settings) domainPlan(d *domain) plan.WRCCDomainPlan {
	t1 := s.timer()
	return plan.WRCCDomainPlan{Domain: d.name, MaxRTT: d.rtt, Period: d.period, T1: t1, Reasons: []plan.Reason{
		{Field: "period", Value: fmt.Sprint(int64(d.period / quantity.Microsecond)), Unit: "us", Range: "1..65535", Rule: plan.RuleWRCCT,
			Formula: phrase.Clauses(phrase.Write("reason.formula.period-trips", "trips", fmt.Sprint(d.perRTT), "rtt", d.rtt.String(), "gap", (d.react-d.rtt).String()), d.why)},
		{Field: "t1", Value: fmt.Sprint(int64(t1 / quantity.Microsecond)), Unit: "us", Range: fmt.Sprintf("%d..%d", d.period/quantity.Microsecond, wrcc.MaxTimer/quantity.Microsecond),
			Rule: plan.RuleT1, Formula: phrase.Write("reason.formula.t1")},
	}}
}

// span finds the largest round trip between two hosts of a domain.
type span struct {
	m           *model.Model
	times       []quantity.Picoseconds // by link direction, see linkTime
	hops        []int32                // by node, -1 where not reached
	longestPath []quantity.Picoseconds // by switch: the longest of the shortest paths
	queue       []int32
	hosts       map[int32][2]quantity.Picoseconds // the longest two links to hosts of each switch
}

func (s *Settings) newSpan(times []quantity.Picoseconds) *span {
	n := len(s.m.Fabric.Nodes)
	return &span{m: s.m, times: times, hops: slices.Repeat([]int32{-1}, n), longestPath: make([]quantity.Picoseconds, n)}
}

// exactSpan bounds the link visits of the exact search. Above it, each sweep starts at the switch that the previous one found
// farthest. Sweeps are exact on trees and on fabrics with identical edge switches.
const exactSpan = 1 << 22

// largest returns the largest round trip between two hosts among the nodes, along the longest of the paths with the fewest switches. It is 0
// with fewer than two hosts.
func (x *span) largest(nodes []int32) quantity.Picoseconds {
	f := x.m.Fabric
	edges := x.edges(nodes)
	links := 0
	for _, n := range nodes {
		if f.Nodes[n].Kind == subnet.KindSwitch {
			links += len(f.Nodes[n].Ports)
		}
	}
	if len(edges)*links <= exactSpan {
		return x.exact(edges)
	}
	return x.sweeps(edges)
}

// exact searches from every edge switch.
func (x *span) exact(edges []int32) quantity.Picoseconds {
	best := quantity.Picoseconds(0)
	for _, e := range edges {
		rtt, _ := x.from(e)
		best = max(best, rtt)
	}
	return best
}

// sweeps searches from the first of the edge switches, then from the farthest, and continues while the distance grows.
func (x *span) sweeps(edges []int32) quantity.Picoseconds {
	best := quantity.Picoseconds(0)
	at := edges[0]
	for range 8 {
		rtt, next := x.from(at)
		if rtt <= best {
			break
		}
		best, at = rtt, next
	}
	return best
}

// edges lists the switches with hosts in order and records their longest two links to hosts.
func (x *span) edges(nodes []int32) []int32 {
	f := x.m.Fabric
	x.hosts = make(map[int32][2]quantity.Picoseconds)
	var out []int32
	for _, n := range nodes {
		if f.Nodes[n].Kind != subnet.KindSwitch {
			continue
		}
		var two [2]quantity.Picoseconds
		for i := range f.Nodes[n].Ports {
			d, peer, ok := x.neighbour(n, i)
			if !ok || f.Nodes[peer].Kind == subnet.KindSwitch || f.Nodes[peer].Domain != f.Nodes[n].Domain {
				continue
			}
			if t := x.times[d]; t > two[0] {
				two = [2]quantity.Picoseconds{t, two[0]}
			} else {
				two[1] = max(two[1], t)
			}
		}
		if two[0] > 0 {
			x.hosts[n] = two
			out = append(out, n)
		}
	}
	return out
}

// neighbour returns the node at the other end of a port.
func (x *span) neighbour(node int32, port int) (d, peer int32, ok bool) {
	f := x.m.Fabric
	ref := subnet.PortRef{Node: node, Port: ident.PortNum(port)}
	to, ok := f.Peer(ref)
	if !ok {
		return 0, 0, false
	}
	return model.Direction(f, ref), to.Node, true
}

// from returns the largest round trip between a host of switch start and another host of its domain, and the other host's switch.
func (x *span) from(start int32) (rtt quantity.Picoseconds, farthest int32) {
	f := x.m.Fabric
	x.queue = append(x.queue[:0], start)
	x.hops[start], x.longestPath[start] = 0, 0
	for i := 0; i < len(x.queue); i++ {
		at := x.queue[i]
		for p := range f.Nodes[at].Ports {
			d, peer, ok := x.neighbour(at, p)
			if !ok || f.Nodes[peer].Kind != subnet.KindSwitch || f.Nodes[peer].Domain != f.Nodes[at].Domain {
				continue
			}
			switch {
			case x.hops[peer] < 0:
				x.hops[peer], x.longestPath[peer] = x.hops[at]+1, 0
				x.queue = append(x.queue, peer)
				fallthrough
			case x.hops[peer] == x.hops[at]+1:
				x.longestPath[peer] = max(x.longestPath[peer], x.longestPath[at]+x.times[d])
			}
		}
	}
	own := x.hosts[start]
	if farthest = start; own[1] > 0 {
		rtt = own[0] + own[1]
	}
	for _, n := range x.queue {
		if h, ok := x.hosts[n]; ok && n != start {
			if t := own[0] + x.longestPath[n] + h[0]; t > rtt {
				rtt, farthest = t, n
			}
		}
		x.hops[n] = -1
	}
	return rtt, farthest
}
