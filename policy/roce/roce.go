// Package roce holds the levers of RoCE and their prediction: DCQCN registers by the response of a device's profile, shares of virtual
// functions, and the marking of switches.
package roce

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/profile"
	"fairlane/internal/disjoint"
	"fairlane/internal/num"
	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// nicPort is a NIC port with attached tenants: one set of DCQCN registers for all that it sends.
type nicPort struct {
	ref     subnet.PortRef
	id      ident.PortID
	out     int32   // the link direction that it drives
	line    float64 // bit/s
	tenants []int32
	sharers []int32 // tenants that send from it, if several; see findSharers
	flows   []int32
	kind    model.Kind
	// wanted is the intended rate of one queue pair under the marks of one link, in bit/s; if flows want different ones, the geometric mean.
	wanted float64
	spread float64 // largest |ln| of a flow's wanted rate by wanted
	group  int32   // into Settings.groups
	queue  int32   // whose response counts, or -1
	// position of the lever, exact period in us, and the position that corresponds to the registers, which hold whole numbers.
	position, period, held float64
	clamped                bool // the lever does not reach wanted
	// decline is the exponent by which the rate of a flow falls with the marking. coarse is ln of the least RPG_AI_RATE by the lever's, at least
	// 0, if the registers hold the former.
	decline, coarse float64
	set             dcqcn.Settings
}

// group is a set of ports whose flows meet at limiting links: only their ratios matter.
type group struct {
	top float64 // largest wanted, bit/s
	zero
}

// zero is the lever at position 0.
type zero struct {
	rate   float64 // bit/s, intended rate of a queue pair there: top, or a step above
	period float64 // us
}

// Settings holds the RoCE plane's settings for a target.
type Settings struct {
	m         *model.Model
	target    *model.Allocation
	profile   *profile.Profile
	law       profile.Law          // of the profile's lever
	rtt       quantity.Picoseconds // longest base round trip of a flow
	ports     []nicPort
	ofFlow    []int32          // port of each flow
	marks     []int32          // limiting marking links on the path of each flow
	classes   *classes         // nil where DCQCN alone divides links
	tops      []topFlow        // by queue; see findTops
	curves    []*profile.Curve // by queue; nil until needed
	unmarked  *profile.Curve   // of flows that no link marks; nil until needed
	groups    []group
	shares    map[model.TenantPort]int // thousandths of a port, by the tenants' virtual functions
	functions map[model.TenantPort]int // of the tenants with shares
	turns     []float64                // by flow: its weight where its port divides the line rate
	weights   []float64                // see weigh
	// prev is a compilation of the same flows, or nil. fresh flags the ports whose flows' entitlements differ from prev; moved reports that other
	// links limit flows.
	prev  *Settings
	fresh []bool
	moved bool
}

// Compile compiles the levers of the RoCE plane: one set of DCQCN registers for each NIC port, by the lever of the device's profile, and the
// marking of switches. Flows that meet the same marks converge at rates in proportion to the intended rates of their ports' settings. The
// rate of a flow that meets the marks of k links falls by k^-Decline, for which its settings compensate.
//
// prev is a compilation of the same flows and attachments, or nil.
func Compile(t model.Task, prev *Settings) (*Settings, *model.Outcome, error) {
	var s *Settings
	if prev != nil {
		s = settingsLike(t.Model, prev, t.Target)
	}
	if s == nil {
		p, err := nicProfile(t.Model)
		if err != nil {
			return nil, nil, err
		}
		if s, err = newSettings(t.Model, p, t.Target); err != nil {
			return nil, nil, err
		}
	}
	s.connectWhile(func() {
		for i := range s.ports {
			if s.fresh[i] {
				s.measure(&s.ports[i])
			}
		}
	})
	s.scale()
	if err := s.chooseAll(); err != nil {
		return nil, nil, err
	}
	s.weighFlows()
	var section *plan.RoCEPlan
	var work sync.WaitGroup
	work.Go(func() { section = s.plan(t.Before, t.Digests, t.Was) })
	predicted := s.predict()
	bounds := s.bounds(predicted)
	work.Wait()
	slow := s.settle(predicted.Allocation)
	o := &model.Outcome{Predicted: predicted.Allocation, Bounds: bounds, Settle: slow.time}
	o.Findings = slices.Concat(s.findings(predicted.Allocation), s.slowFindings(&slow))
	s.prev = nil
	o.Write = func(p *plan.Plan) { p.RoCE = section }
	return s, o, nil
}

// newSettings computes what depends only on flows and attachments.
func newSettings(m *model.Model, p *profile.Profile, target *model.Allocation) (*Settings, error) {
	s := &Settings{m: m, target: target, profile: p, law: p.Law(), marks: m.MarksOf(target), moved: true}
	s.findPorts()
	if err := s.shareable(); err != nil {
		return nil, err
	}
	s.assign()
	s.divide()
	if m.Input.Options.Divides() {
		s.classes = newClasses(s)
		s.marks = s.classMarks()
	}
	s.curves = make([]*profile.Curve, len(m.Caps)*s.queues())
	s.measureRoundTrip()
	s.findTops()
	s.fresh = slices.Repeat([]bool{true}, len(s.ports))
	return s, nil
}

// nicProfile returns the profile that the options name: one of the input's, or an embedded one.
func nicProfile(m *model.Model) (*profile.Profile, error) {
	name := m.Input.Options.Profile
	if name == "" {
		name = profile.Default
	}
	for i := range m.Input.Profiles {
		if p := &m.Input.Profiles[i]; p.Name == name {
			if err := p.Validate(); err != nil {
				return nil, fmt.Errorf("%w: profile %q: %w", model.ErrInput, name, err)
			}
			return p, nil
		}
	}
	p, err := profile.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrInput, err)
	}
	return p, nil
}

// findPorts lists the ports with attached tenants and the flows that leave by each.
func (s *Settings) findPorts() {
	at := slices.Repeat([]int32{-1}, len(s.m.Caps)) // port by the link direction that it drives
	for _, pt := range s.m.TenantsByPort() {
		ref, _ := s.m.Fabric.PortByID(pt.Port)
		d := model.Direction(s.m.Fabric, ref)
		at[d] = int32(len(s.ports))
		s.ports = append(s.ports, nicPort{ref: ref, id: pt.Port, out: d, line: s.m.Caps[d], tenants: pt.Tenants, group: -1, queue: -1})
	}
	s.ofFlow = make([]int32, len(s.m.Flows))
	for i := range s.m.Flows {
		s.ofFlow[i] = at[s.m.Flows[i].Links[0]]
		p := &s.ports[s.ofFlow[i]]
		p.flows = append(p.flows, int32(i))
	}
	s.findSharers()
}

// topFlow is the fastest queue pair that a link limits.
type topFlow struct {
	rate float64 // bit/s, its entitlement
	port profile.Port
}

// queues returns the number of queues of a link that the plan divides it by.
func (s *Settings) queues() int {
	if s.classes == nil {
		return 1
	}
	return len(s.classes.site)
}

// queueOf returns the queue of a flow on a link direction. Queues are numbered by link direction, then class.
func (s *Settings) queueOf(f, direction int32) int32 {
	if s.classes == nil {
		return direction
	}
	return direction*int32(s.queues()) + s.classes.of[s.m.Flows[f].Tenant]
}

// findTops finds the fastest queue pair that each queue limits; of equal ones, one whose port sends most.
func (s *Settings) findTops() {
	s.tops = make([]topFlow, len(s.m.Caps)*s.queues())
	sent, qps := make([]float64, len(s.ports)), make([]float64, len(s.ports))
	for i, k := range s.ofFlow {
		sent[k] += s.target.Rates[i]
		qps[k] += s.m.Flows[i].QPs
	}
	for i := range s.m.Flows {
		d := s.target.Bottleneck[i]
		if d < 0 {
			continue
		}
		k := s.ofFlow[i]
		x, t := topFlow{s.target.Rates[i] / s.m.Flows[i].QPs, profile.Port{Line: s.ports[k].line, Sent: sent[k], Flows: qps[k]}}, &s.tops[s.queueOf(int32(i), d)]
		if x.rate > t.rate || x.rate == t.rate && x.port.Sent > t.port.Sent {
			*t = x
		}
	}
}

// measureRoundTrip finds the longest round trip.
func (s *Settings) measureRoundTrip() {
	for i := range s.m.Flows {
		delay := quantity.Picoseconds(0)
		for _, d := range s.m.Flows[i].Links {
			delay += s.m.Delay(d)
		}
		s.rtt = max(s.rtt, 2*delay)
	}
}

// contended reports whether marks limit a flow.
func (s *Settings) contended(f int32) bool {
	b := s.target.Bottleneck[f]
	return b >= 0 && s.m.Marks(b)
}

// spare is the factor on the rate of a flow that its demand or its NIC limits, so that marks meant for others do not limit it.
const spare = 2

// wantedRate returns the intended rate of one queue pair of a flow under the marks of one link.
func (s *Settings) wantedRate(f int32) float64 {
	r := s.target.Rates[f] / s.m.Flows[f].QPs
	if !s.contended(f) {
		r = float64(spare * r)
	}
	return max(float64(r*s.markCompensation(f)), 1)
}

// markCompensation returns the factor by which a flow's settings compensate for the marks of several links.
func (s *Settings) markCompensation(f int32) float64 {
	if s.marks[f] <= 1 {
		return 1
	}
	return num.Exp(float64(s.profile.Lever.Decline * num.Ln(float64(s.marks[f]))))
}

// measure finds the wanted rate of a port's flows: of the contended ones, else of all. The least-squares choice on a logarithmic scale is the
// geometric mean, weighted by queue pairs.
func (s *Settings) measure(p *nicPort) {
	kind, sum, n := model.Idle, 0.0, 0.0
	pick := func(f int32) bool { return kind == model.Uncontended || s.contended(f) }
	switch {
	case slices.ContainsFunc(p.flows, s.contended):
		kind = model.Contended
	case len(p.flows) > 0:
		kind = model.Uncontended
	}
	p.kind = kind
	if kind == model.Idle {
		p.wanted = p.line
		return
	}
	most := 0.0
	for _, f := range p.flows {
		if !pick(f) {
			continue
		}
		q := s.m.Flows[f].QPs
		sum += float64(q * num.Ln(s.wantedRate(f)))
		n += q
		if q > most {
			most, p.queue = q, s.responseQueue(f)
		}
	}
	p.wanted = num.Exp(sum / n)
	for _, f := range p.flows {
		if pick(f) {
			p.spread = max(p.spread, math.Abs(num.Ln(s.wantedRate(f)/p.wanted)))
		}
	}
}

// responseQueue returns the queue whose marks a flow reacts to: that of its bottleneck, else of the first limiting link on its path.
func (s *Settings) responseQueue(f int32) int32 {
	if s.contended(f) {
		return s.queueOf(f, s.target.Bottleneck[f])
	}
	for _, d := range s.m.Flows[f].Links {
		if s.marked(f, d) {
			return s.queueOf(f, d)
		}
	}
	return -1
}

// marked reports whether a link direction on the path of a flow limits flows of its queue by marks.
func (s *Settings) marked(f, direction int32) bool {
	if s.classes != nil {
		return s.classes.limiting[s.queueOf(f, direction)]
	}
	return s.target.Limiting[direction] && s.m.Marks(direction)
}

// speed returns the part of a link, in bit/s, that a queue has while all queues with traffic send.
func (s *Settings) speed(queue int32) float64 {
	d := queue / int32(s.queues())
	if s.classes == nil {
		return s.m.Caps[d]
	}
	return s.m.Caps[d] * s.classes.part(queue%int32(s.queues()), d)
}

// curve returns the response at a queue.
func (s *Settings) curve(queue int32) *profile.Curve {
	if queue < 0 {
		// No link marks the flows: any response is valid, but it must not change with the rates at some link.
		if s.unmarked == nil {
			c := s.profile.Response.Curve(profile.Condition{Speed: s.profile.Response.Speeds[0], RTT: s.rtt})
			s.unmarked = &c
		}
		return s.unmarked
	}
	if s.curves[queue] == nil {
		top := &s.tops[queue]
		c := s.profile.Response.Curve(profile.Condition{Speed: quantity.BitRate(s.speed(queue)), Fastest: top.rate, Port: top.port, RTT: s.rtt})
		s.curves[queue] = &c
	}
	return s.curves[queue]
}

// connectWhile groups the ports whose flows meet in queues of limiting links, concurrently with do, which must not use groups.
func (s *Settings) connectWhile(do func()) {
	if !s.moved {
		s.groups = make([]group, len(s.prev.groups))
		do()
		return
	}
	var groups []int32
	var n int
	var work sync.WaitGroup
	work.Go(func() { groups, n = s.connect() })
	do()
	work.Wait()
	s.groups = make([]group, n)
	for i := range s.ports {
		s.ports[i].group = groups[i]
	}
}

// connect numbers the group of each port.
func (s *Settings) connect() (of []int32, groups int) {
	sets := s.meeting()
	at := slices.Repeat([]int32{-1}, len(s.m.Caps))
	of = make([]int32, len(s.ports))
	for i := range of {
		r := sets.Find(s.ports[i].out)
		if at[r] < 0 {
			at[r] = int32(groups)
			groups++
		}
		of[i] = at[r]
	}
	return of, groups
}

// meeting joins sending ports, by the link directions that they drive, whose flows meet in queues of limiting links.
func (s *Settings) meeting() disjoint.Sets {
	if s.classes != nil {
		return s.meetingInQueues()
	}
	sets := disjoint.New(len(s.m.Caps))
	first, senders := s.m.SendersOf()
	for d, on := range s.target.Limiting {
		if !on || !s.m.Marks(int32(d)) {
			continue
		}
		for _, sender := range senders[first[d]:first[d+1]] {
			sets.Join(sender, int32(d))
		}
	}
	return sets
}

// meetingInQueues is meeting where each class has a queue of its own.
func (s *Settings) meetingInQueues() disjoint.Sets {
	sets, first := disjoint.New(len(s.m.Caps)), slices.Repeat([]int32{-1}, len(s.m.Caps)*s.queues())
	for i := range s.m.Flows {
		links := s.m.Flows[i].Links
		for _, d := range links {
			if !s.marked(int32(i), d) {
				continue
			}
			if at := &first[s.queueOf(int32(i), d)]; *at < 0 {
				*at = links[0]
			} else {
				sets.Join(links[0], *at)
			}
		}
	}
	return sets
}

// zeroStep is ln of the steps in which a lever's position 0 moves. With finer steps nearly every change of the fastest flows would change the
// settings of all ports of a group.
const zeroStep = num.Ln2 / 4

// scale sets the lever of each group.
func (s *Settings) scale() {
	slowest := slices.Repeat([]int32{-1}, len(s.groups))
	for i := range s.ports {
		p := &s.ports[i]
		g := &s.groups[p.group]
		g.top = max(g.top, p.wanted)
		if k := &slowest[p.group]; *k < 0 || p.wanted < s.ports[*k].wanted {
			*k = int32(i)
		}
	}
	if !s.leverDivides() {
		s.compromise()
	}
	for i := range s.groups {
		g := &s.groups[i]
		g.zero = s.begin(g.top, &s.ports[slowest[i]])
	}
}

// begin returns the start of a group's lever: a step at or above the wanted rate of its fastest flows. It is exactly that rate if the step
// would put the slowest port out of reach, or if no link marks any of the group's flows: then no response defines their positions.
func (s *Settings) begin(top float64, slowest *nicPort) zero {
	z := s.zeroAt(num.Exp(float64(zeroStep * math.Ceil(num.Ln(top)/zeroStep-1e-6))))
	if slowest.queue < 0 || s.curve(slowest.queue).Position(num.Ln(slowest.wanted/z.rate)) > s.reach(z, slowest.queue) {
		return s.zeroAt(top)
	}
	return z
}

func (s *Settings) zeroAt(rate float64) zero { return zero{rate, s.profile.Lever.Shortest(rate)} }

// reach returns the last position of a lever at a queue.
func (s *Settings) reach(z zero, queue int32) float64 {
	return min(s.curve(queue).Reach(), num.Ln(float64(s.profile.Lever.MaxPeriod)/z.period))
}

// choose inverts the response: it finds the position whose gain is the ratio of the wanted rate to that at position 0.
func (s *Settings) choose(p *nicPort) {
	g := &s.groups[p.group]
	if p.position = 0; s.leverDivides() {
		p.position = s.curve(p.queue).Position(num.Ln(p.wanted / g.rate))
	}
	p.clamped = false
	if reach := s.reach(g.zero, p.queue); p.position > reach {
		p.position, p.clamped = max(reach, 0), true
	}
	scale := num.Exp(p.position)
	p.period = float64(g.period * scale)
	p.set = s.profile.Set(g.rate/scale, p.period, quantity.BitRate(p.line))
	s.hold(p)
}

// hold finds the position that the registers correspond to, in a group, and the decline of rates from there. Both depend on nothing else, so
// that equal registers count alike.
func (s *Settings) hold(p *nicPort) {
	g, l := &s.groups[p.group], &s.profile.Lever
	increase := float64(p.set.AIRate) * 1e6 / float64(l.Step*g.rate) // relative to that at position 0
	rate := s.law.Rate(float64(p.set.TimeReset)/g.period, increase)
	p.held = -num.Ln(rate)
	p.decline = float64(l.Decline * (s.law.Decline(rate, increase) / s.law.Decline(1, 1)))
	if p.coarse = 0; p.set.AIRate == 1 {
		p.coarse = max(0, num.Ln(increase/rate))
	}
}

// chooseAll sets the levers of all ports except those that keep theirs. It rejects settings that the device cannot hold; a profile with a
// legal lever produces none.
func (s *Settings) chooseAll() error {
	limits := s.profile.Limits()
	for i := range s.ports {
		if s.keepsSettings(i) {
			continue
		}
		s.choose(&s.ports[i])
		if err := s.ports[i].set.Validate(limits); err != nil {
			return fmt.Errorf("%w: profile %q: port %s: %w", model.ErrInput, s.profile.Name, s.ports[i].id, err)
		}
	}
	return nil
}

// weighFlows computes the weight of every flow in the prediction: the rate of its port's actual settings at the response of the link that it reacts
// to, in bit/s.
func (s *Settings) weighFlows() {
	w := make([]float64, len(s.m.Flows))
	if s.prev != nil {
		copy(w, s.prev.weights)
	}
	for k := range s.ports {
		if s.keepsSettings(k) {
			continue
		}
		p := &s.ports[k]
		for _, f := range p.flows {
			gain := s.curve(s.responseQueue(f)).Gain(p.held)
			w[f] = float64(float64(s.m.Flows[f].QPs*s.groups[p.group].rate) * (num.Exp(gain) / s.markCompensation(f)))
		}
	}
	s.weights = w
}
