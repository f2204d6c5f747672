package agent

import (
	"context"
	"slices"
	"strconv"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
)

// Get implements gnmitree.Tree. It reads parameters of a card at most once for all paths, and only the requested ones.
func (a *Agent) Get(ctx context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	g := &getter{agent: a, ctx: ctx, q: q}
	for _, c := range a.list() {
		if err := g.read(c); err != nil {
			return nil, err
		}
	}
	out := make([][]gnmitree.Leaf, len(q.Paths))
	for i, p := range q.Paths {
		g.pattern, g.out = p, nil
		if err := g.answer(); err != nil {
			return nil, err
		}
		out[i] = g.out
	}
	return out, nil
}

// getter answers one Get.
type getter struct {
	agent   *Agent
	ctx     context.Context //nolint:containedctx // lives as long as one call
	q       gnmitree.Query
	cards   []*seen
	pattern gnmitree.Path
	out     []gnmitree.Leaf
}

// seen is a card at the moment of the answer.
type seen struct {
	card     *card
	nic      *NIC
	keys     []nicparam.Key
	values   []value
	stages   stages
	outcomes map[nicparam.Key]outcome // of keys
	wrcc     map[int]outcome
	links    map[int]Link
	reapply  reapply
	memory   *cardMemory
	wanted   func(nicparam.Key) bool
}

// read reads the requested values of a card.
func (g *getter) read(c *card) error {
	base := nicyang.NIC(c.nic().Name)
	if !slices.ContainsFunc(g.q.Paths, func(p gnmitree.Path) bool { return meets(p, base) }) {
		return nil
	}
	wanted := g.wanted(c)
	a := g.agent
	s := &seen{card: c, wanted: wanted}
	if wanted != nil && c.nic().Device != nil {
		nv, err := a.queryNV(g.ctx, c, func() bool { return a.staleNV(c) && c.reachesNV(wanted) })
		if err != nil {
			return err
		}
		if err := acquire(g.ctx, c.lock); err != nil {
			return err
		}
		changed, err := a.refresh(g.ctx, c, nv, wanted)
		release(c.lock)
		if err != nil {
			return err
		}
		if len(changed) > 0 {
			a.judge(c, changed, false)
			select {
			case a.kick <- struct{}{}: // a reload or a reboot may have changed the values
			default:
			}
		}
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	s.nic, s.stages, s.reapply = c.nic(), c.stages, c.reapply
	s.memory = a.memory.of(c.nic().identity())
	s.links, s.wrcc = map[int]Link{}, map[int]outcome{}
	for port, l := range c.links {
		s.links[port] = l
	}
	for port, o := range c.wrcc {
		s.wrcc[port] = o
	}
	s.keys, s.values = c.keys, c.values
	if wanted != nil && g.includes(gnmitree.ClassState) {
		s.outcomes = make(map[nicparam.Key]outcome, len(c.outcomes))
		for k, o := range c.outcomes {
			s.outcomes[k] = o
		}
	}
	g.cards = append(g.cards, s)
	return nil
}

// wanted returns a filter for the requested parameters of a card; nil when none is requested.
func (g *getter) wanted(c *card) func(nicparam.Key) bool {
	type request struct {
		pattern gnmitree.Path
		at      int // index of the element param in it; 0 when all of the port are requested
	}
	type portRequests struct {
		port     int
		requests []request
	}
	var all []portRequests // of ports with requested values
	collect := func(port int) {
		params := nicyang.Params(c.nic().Name, port)
		var requests []request
		for _, p := range g.q.Paths {
			if !meets(p, params) {
				continue
			}
			one := request{pattern: p}
			if n := len(params.Elems); len(p.Elems) > n && !slices.ContainsFunc(p.Elems[:n+1], func(e gnmitree.Elem) bool { return e.Name == gnmitree.AnyDepth }) {
				one.at = n
			}
			requests = append(requests, one)
		}
		if len(requests) > 0 {
			all = append(all, portRequests{port, requests})
		}
	}
	collect(0)
	for i := range c.nic().Ports {
		collect(c.nic().Ports[i].Number)
	}
	if len(all) == 0 {
		return nil
	}
	return func(k nicparam.Key) bool {
		for i := range all {
			if all[i].port != k.Port {
				continue
			}
			return slices.ContainsFunc(all[i].requests, func(one request) bool { return one.at == 0 || meetsParam(one.pattern.Elems[one.at], k) })
		}
		return false
	}
}

func meetsParam(e gnmitree.Elem, k nicparam.Key) bool {
	if e.Name != "param" && e.Name != gnmitree.Any {
		return false
	}
	if v, ok := e.Key("name"); ok && v != k.Name && v != gnmitree.Any {
		return false
	}
	v, ok := e.Key("index")
	return !ok || v == gnmitree.Any || v == strconv.Itoa(k.Index)
}

// meets reports whether something at or below path may match a pattern, or be below a match.
func meets(pattern, path gnmitree.Path) bool {
	for i := range min(len(pattern.Elems), len(path.Elems)) {
		e := pattern.Elems[i]
		if e.Name == gnmitree.AnyDepth {
			return true
		}
		if e.Name != path.Elems[i].Name && e.Name != gnmitree.Any {
			return false
		}
		for _, k := range e.Keys {
			if v, _ := path.Elems[i].Key(k.Name); v != k.Value && k.Value != gnmitree.Any {
				return false
			}
		}
	}
	return true
}
