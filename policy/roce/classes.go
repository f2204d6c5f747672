package roce

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/qos"
	"fairlane/internal/phrase"
	"fairlane/policy/grouping"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// classes is the lever of weighted queues: each tenant uses a traffic class of the site, which has a queue on every switch port and a traffic class
// on every NIC port. DCQCN holds senders at what their queues give.
type classes struct {
	site   []qos.TrafficClass
	of     []int32   // class of each tenant
	errors []float64 // by class: see plan.RoCEClass
	queues [][]uint8 // by link direction of a switch: weights by class; nil for others
	shares [][]uint8 // by link direction of a NIC port from which several classes send: percents by class, 0 for absent ones; nil for others
	// limiting flags, by queue, those that limit a flow and mark.
	limiting []bool
	sends    []uint8 // by link direction: classes with traffic, by bit
	coarse   float64 // largest relative error of the ratio of queue weights to that of tenants' weights
	worst    []int32 // tenants of the class whose weight has that error
}

// newClasses assigns tenants to the site's classes, and weights to the classes on every link.
func newClasses(s *Settings) *classes {
	c := &classes{site: s.m.Input.Options.Classes}
	c.of = grouping.Assign(len(s.m.Tenants), len(c.site), s.meetings(), c.inForce(s)).Class
	c.errors = c.groupErrors(s)
	c.weighQueues(s)
	c.sharePorts(s)
	return c
}

// inForce returns the class that each tenant has in the plan in force, -1 for none; nil without such a plan.
func (c *classes) inForce(s *Settings) []int32 {
	old := s.m.Input.InForce
	if old == nil || old.RoCE == nil || len(old.RoCE.Classes) == 0 {
		return nil
	}
	out := slices.Repeat([]int32{-1}, len(s.m.Tenants))
	for i := range old.RoCE.Classes {
		at := slices.Index(c.site, old.RoCE.Classes[i].TrafficClass)
		for t := range s.m.Tenants {
			if at >= 0 && slices.Contains(old.RoCE.Classes[i].Tenants, s.m.Tenants[t].Name) {
				out[t] = int32(at)
			}
		}
	}
	return out
}

// meetings lists the links that limit flows of several tenants, with what each is entitled to there.
func (s *Settings) meetings() []grouping.Link {
	at, out := make(map[int32]int), []grouping.Link{}
	for i := range s.m.Flows { // ordered by tenant
		d := s.target.Bottleneck[i]
		if d < 0 || !s.m.Marks(d) {
			continue
		}
		k, ok := at[d]
		if !ok {
			k = len(out)
			at[d], out = k, append(out, grouping.Link{})
		}
		ps, f := out[k].Parts, &s.m.Flows[i]
		if n := len(ps); n == 0 || ps[n-1].Tenant != f.Tenant {
			ps = append(ps, grouping.Part{Tenant: f.Tenant})
		}
		p := &ps[len(ps)-1]
		p.Share += max(s.target.Rates[i], 1)
		p.Flows += f.QPs
		out[k].Parts = ps
	}
	return out
}

// groupErrors returns the largest error by class.
func (c *classes) groupErrors(s *Settings) []float64 {
	out := make([]float64, len(c.site))
	grouping.Errors(s.meetings(), c.of, func(tenant int32, off float64) {
		out[c.of[tenant]] = max(out[c.of[tenant]], off)
	})
	return out
}

// weighQueues sets the weights of the queues of every switch port that has a link: the sum of the weights of a class's tenants with traffic there.
// Where a class has none, its heaviest tenant counts, so that traffic that nobody declared gets a share too.
func (c *classes) weighQueues(s *Settings) {
	present, known := s.m.TenantsByLink(), make(map[[qos.MaxQueue + 1]float64]rounded)
	heaviest := make([]float64, len(c.site))
	for t, k := range c.of {
		heaviest[k] = max(heaviest[k], float64(s.m.Tenants[t].Weight))
	}
	c.queues, c.sends = make([][]uint8, len(s.m.Caps)), make([]uint8, len(s.m.Caps))
	weights := make([]float64, len(c.site))
	for d := range c.queues {
		if !s.m.Marks(int32(d)) {
			continue
		}
		clear(weights)
		for _, t := range present(int32(d)) {
			weights[c.of[t]] += float64(s.m.Tenants[t].Weight)
			c.sends[d] |= 1 << c.of[t]
		}
		for k := range weights {
			if weights[k] == 0 {
				weights[k] = heaviest[k]
			}
		}
		var key [qos.MaxQueue + 1]float64
		copy(key[:], weights)
		at, ok := known[key]
		if !ok {
			weights, used := withoutZeros(weights)
			list, off := qos.Weights(weights)
			at = rounded{spread(list, used), off}
			known[key] = at
		}
		c.queues[d] = at.queues
		if at.off > c.coarse {
			c.coarse, c.worst = at.off, present(int32(d))
		}
	}
}

// rounded are the weights of a port's queues, which many ports have in common, and their error: see qos.Weights.
type rounded struct {
	queues []uint8
	off    float64
}

// idleShare is the weight of a class without senders on a divided port, relative to the sum of the others: its share is 1 %, the least. Old kernels
// refuse 0 % (docs/roce.md), and undeclared traffic of the class is not stopped.
const idleShare = 1e-6

// sharePorts divides each NIC port among the classes of the tenants that send from it.
func (c *classes) sharePorts(s *Settings) {
	c.shares = make([][]uint8, len(s.m.Caps))
	for i := range s.ports {
		p := &s.ports[i]
		weights := make([]float64, len(c.site))
		for _, t := range p.sharers {
			weights[c.of[t]] += float64(s.m.Tenants[t].Weight)
		}
		sending, _ := withoutZeros(weights)
		if len(sending) < 2 {
			continue
		}
		sum := 0.0
		for _, w := range sending {
			sum += w
		}
		for k := range weights {
			weights[k] = max(weights[k], float64(sum*idleShare))
		}
		c.shares[p.out] = qos.Percents(weights)
	}
}

// withoutZeros returns the weights above 0, and which of all they are.
func withoutZeros(all []float64) (weights []float64, used []bool) {
	used = make([]bool, len(all))
	for k, w := range all {
		if used[k] = w > 0; used[k] {
			weights = append(weights, w)
		}
	}
	return weights, used
}

// spread is the inverse of withoutZeros; other entries are 0.
func spread(list []uint8, used []bool) []uint8 {
	out := make([]uint8, len(used))
	for k, on := range used {
		if on {
			out[k], list = list[0], list[1:]
		}
	}
	return out
}

// classMarks counts, by flow, the queues on its path that mark. A queue that gets less than its share of a full link stays short.
func (s *Settings) classMarks() []int32 {
	c, n := s.classes, int32(len(s.classes.site))
	c.limiting = make([]bool, len(s.m.Caps)*len(c.site))
	for i, d := range s.target.Bottleneck {
		if d >= 0 && s.m.Marks(d) {
			c.limiting[d*n+c.of[s.m.Flows[i].Tenant]] = true
		}
	}
	out := make([]int32, len(s.m.Flows))
	for i := range out {
		for _, d := range s.m.Flows[i].Links {
			if s.marked(int32(i), d) {
				out[i]++
			}
		}
	}
	return out
}

// moveQueues finds the queues that limit flows now or did in the previous compilation, but not both. Flows that cross one are measured anew.
func (s *Settings) moveQueues() {
	now, before := s.classes.limiting, s.prev.classes.limiting
	if slices.Equal(now, before) {
		return
	}
	s.moved = true
	for i := range s.m.Flows {
		for _, d := range s.m.Flows[i].Links {
			if q := s.queueOf(int32(i), d); now[q] != before[q] {
				s.fresh[s.ofFlow[i]] = true
				break
			}
		}
	}
}

// leverDivides reports whether DCQCN registers divide links: not where the plan asks for classes alone, or each tenant has a class of its own. There,
// registers for less than the fastest rate would only slow down convergence.
func (s *Settings) leverDivides() bool {
	return s.classes == nil || s.m.Input.Options.Lever == model.LeverBoth && len(s.m.Tenants) > len(s.classes.site)
}

// mostIncrease is by how much a queue pair may increase faster, relative to its rate, than on the lever: there the law of rates was tested
// (docs/compiler.md). With much more, marks hold queue pairs no longer, and pauses do.
const mostIncrease = 8

// compromise sets the rate of the levers of groups whose registers divide nothing: between the fastest and the slowest queue pair, so that the slow ones
// do not fill their queues and the fast ones recover soon.
func (s *Settings) compromise() {
	type span struct{ low, high float64 }
	spans := make([]span, len(s.groups))
	for i := range s.ports {
		for _, f := range s.ports[i].flows {
			x, r := &spans[s.ports[i].group], s.wantedRate(f)
			if x.high == 0 || r < x.low {
				x.low = r
			}
			x.high = max(x.high, r)
		}
	}
	for i, x := range spans {
		if x.high > 0 {
			s.groups[i].top = min(math.Sqrt(float64(x.low*x.high)), float64(mostIncrease*x.low))
		}
	}
}

// part returns the part of a link direction that a class has while all classes of tenants with traffic there send.
func (c *classes) part(class, direction int32) float64 {
	sum := 0.0
	for k, w := range c.queues[direction] {
		if c.sends[direction]>>k&1 != 0 {
			sum += float64(w)
		}
	}
	return float64(c.queues[direction][class]) / sum
}

// weight returns the weight of a class on a link direction.
func (c *classes) weight(class, direction int32) float64 {
	switch {
	case c.queues[direction] != nil:
		return float64(c.queues[direction][class])
	case c.shares[direction] != nil && c.shares[direction][class] > 0:
		return float64(c.shares[direction][class])
	}
	return 1
}

// classPlan adds the classes to the plane's section of a plan, with the switches. before and was are those of the previous compilation.
func (s *Settings) classPlan(out *plan.RoCEPlan, before []plan.ECNPlan, d, was *plan.Digests) {
	c := s.classes
	for k, site := range c.site {
		class := plan.RoCEClass{TrafficClass: site, Tenants: []string{}, Error: c.errors[k]}
		for tenant, of := range c.of {
			if int(of) == k {
				class.Tenants = append(class.Tenants, s.m.Tenants[tenant].Name)
			}
		}
		out.Classes = append(out.Classes, class)
	}
	order, names := c.byQueue(), make([]string, len(c.site))
	for k := range names {
		names[k] = strings.Join(plan.Bounded(out.Classes[k].Tenants), ",")
	}
	switches := s.m.Fabric.Switches()
	fresh := make([]bool, len(switches))
	for i, n := range switches {
		fresh[i] = s.prev == nil || !s.keepsWeights(n)
	}
	out.Switches, d.Markings = plan.Renew(before, was.Markings, fresh, func(i int) plan.ECNPlan { return s.classSwitch(c, switches[i], order, names) })
}

// keepsWeights reports whether all queues of a switch have the weights of the previous compilation.
func (s *Settings) keepsWeights(node int32) bool {
	for i := range s.m.Fabric.Nodes[node].Ports {
		ref := subnet.PortRef{Node: node, Port: ident.PortNum(i)}
		if _, ok := s.m.Fabric.Peer(ref); !ok {
			continue
		}
		if d := model.Direction(s.m.Fabric, ref); !slices.Equal(s.classes.queues[d], s.prev.classes.queues[d]) {
			return false
		}
	}
	return true
}

// classShares returns the shares of a NIC port's traffic classes, with reasons.
func (s *Settings) classShares(c *classes, p *nicPort) ([]qos.ClassShare, []plan.Reason) {
	var shares []qos.ClassShare
	var reasons []plan.Reason
	for k, percent := range c.shares[p.out] {
		if percent == 0 {
			continue
		}
		shares = append(shares, qos.ClassShare{Class: c.site[k].Queue, Percent: percent})
		reasons = append(reasons, plan.Reason{
			Field: "tc_bw[" + strconv.Itoa(int(c.site[k].Queue)) + "]", Value: strconv.Itoa(int(percent)), Unit: phrase.Write("reason.unit.percent"), Range: "1..100",
			Tenant: strings.Join(plan.Bounded(c.names(s, k, p.sharers)), ","), Rule: plan.RuleShareByWeight, Formula: phrase.Write("reason.formula.class-percent"),
		})
	}
	return shares, reasons
}

// names lists the tenants of a class, of the given ones.
func (c *classes) names(s *Settings, class int, tenants []int32) []string {
	var out []string
	for _, t := range tenants {
		if int(c.of[t]) == class {
			out = append(out, s.m.Tenants[t].Name)
		}
	}
	return out
}

// classSwitch returns the marking and the weights of the queues of a switch. names are the tenants of each class.
func (s *Settings) classSwitch(c *classes, n int32, order []int, names []string) plan.ECNPlan {
	out := s.switchPlan(n)
	marked := out.Queues
	out.Queues, out.Weights = make([]ecn.QueueMarking, 0, len(marked)*len(c.site)), make([]qos.QueueWeight, 0, len(marked)*len(c.site))
	said := make(map[qos.QueueWeight]bool)
	for _, q := range marked {
		d := model.Direction(s.m.Fabric, subnet.PortRef{Node: n, Port: q.Port})
		for _, k := range order {
			q.Queue = c.site[k].Queue
			out.Queues = append(out.Queues, q)
			w := qos.QueueWeight{Port: q.Port, Queue: q.Queue, Weight: c.queues[d][k]}
			if w.Weight == 0 {
				continue // no tenant has the class
			}
			out.Weights = append(out.Weights, w)
			if w.Port = 0; !said[w] {
				said[w] = true
				out.Reasons = append(out.Reasons, plan.Reason{
					Field: phrase.Write("reason.field.queue-weight", "queue", strconv.Itoa(int(q.Queue))), Value: strconv.Itoa(int(w.Weight)), Range: "1..100",
					Tenant: names[k], Rule: plan.RuleShareByWeight, Formula: phrase.Write("reason.formula.queue-weight"),
				})
			}
		}
	}
	return out
}

// byQueue lists the classes in the order of their queues.
func (c *classes) byQueue() []int {
	out := make([]int, len(c.site))
	for k := range out {
		out[k] = k
	}
	slices.SortFunc(out, func(a, b int) int { return int(c.site[a].Queue) - int(c.site[b].Queue) })
	return out
}

// classError is the relative distance from a share of a link from which a finding reports that tenants share a class, or that weights are coarse.
const classError = 0.05

// classFindings lists what classes cannot honour.
func (s *Settings) classFindings(c *classes) []plan.Finding {
	var out []plan.Finding
	for k, off := range c.errors {
		if off <= classError {
			continue
		}
		names := plan.Bounded(c.names(s, k, model.Indices(len(s.m.Tenants))))
		out = append(out, plan.NewFinding(plan.CodeClassShared, names, nil,
			phrase.Of("plan.class-shared", "tenants", names, "queue", c.site[k].Queue, "percent", percent(off)), phrase.Of("plan.class-shared.fix")))
	}
	if c.coarse > classError {
		var names []string
		for _, t := range c.worst {
			names = append(names, s.m.Tenants[t].Name)
		}
		out = append(out, plan.NewFinding(plan.CodeQueueWeights, plan.Bounded(names), nil,
			phrase.Of("plan.queue-weights-coarse", "max", qos.MaxWeight, "percent", percent(c.coarse)), phrase.Of("plan.queue-weights-coarse.fix", "max", qos.MaxWeight)))
	}
	return out
}

// percent prints a part in percent with three digits.
func percent(part float64) string { return digits(100*part, 3) }
