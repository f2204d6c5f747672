package agent

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/wrcc"
)

// plan is the request of a Set.
type plan struct {
	id    string
	cards []*cardPlan // in the order of the request
}

// cardPlan is the request of a Set for one card.
type cardPlan struct {
	card     *card
	memory   *cardMemory // as after the Set
	keys     []nicparam.Key
	want     map[nicparam.Key]uint64
	released map[nicparam.Key]bool // gets its original value and is removed from the memory
	wrcc     map[int]*wrcc.NICConfig
	wrccBack map[int]bool                      // its senders get their original configuration and are removed from the memory
	before   *before                           // set by check
	now      map[nicparam.Key]nicparam.Setting // values read by check
}

// planner makes a plan of operations.
type planner struct {
	agent  *Agent
	ctx    context.Context //nolint:containedctx // lives as long as one call
	plan   plan
	byName map[string]*cardPlan
}

func (a *Agent) plan(ctx context.Context, ops []gnmitree.Operation) (*plan, error) {
	p := &planner{agent: a, ctx: ctx, byName: map[string]*cardPlan{}}
	for i := range ops {
		if err := p.operation(&ops[i]); err != nil {
			return nil, err
		}
	}
	for _, c := range p.plan.cards {
		if len(c.keys) > nicparam.MaxSet {
			return nil, gnmitree.Errorf(codes.InvalidArgument, "%s: found %d parameters, want at most %d", nicyang.NIC(c.card.nic().Name), len(c.keys), nicparam.MaxSet)
		}
	}
	return &p.plan, nil
}

func (p *planner) operation(op *gnmitree.Operation) error {
	t, err := nicyang.Parse(op.Path)
	if err != nil {
		return invalid(err, op.Path)
	}
	if op.Op != gnmitree.OpUpdate {
		if err := p.drop(op, t); err != nil {
			return err
		}
		if op.Op == gnmitree.OpDelete {
			return nil
		}
	}
	found, err := gnmitree.Flatten(op.Path, op.Value, nicyang.Schema())
	if err != nil {
		return invalid(err, op.Path)
	}
	if op.Op == gnmitree.OpReplace && t.Part == nicyang.PartWRCC && len(found) > 0 {
		if c := p.byName[t.NIC]; c != nil && c.wrcc[t.Key.Port] != nil {
			c.wrcc[t.Key.Port].Senders = nil // only the senders in the value remain
		}
	}
	for i := range found {
		if isKey(found[i].Path) {
			continue
		}
		if err := p.leaf(&found[i]); err != nil {
			return err
		}
	}
	return nil
}

// isKey reports whether a leaf is the key of its list entry.
func isKey(at gnmitree.Path) bool {
	n := len(at.Elems)
	if n < 2 {
		return false
	}
	_, ok := at.Elems[n-2].Key(at.Last())
	return ok
}

// card returns the plan of a card, which must exist.
func (p *planner) card(name string, at gnmitree.Path) (*cardPlan, error) {
	if c := p.byName[name]; c != nil {
		return c, nil
	}
	a := p.agent
	a.mu.RLock()
	defer a.mu.RUnlock()
	c := a.cards[name]
	if c == nil {
		return nil, gnmitree.Errorf(codes.NotFound, "%s: there is no card %q here, want one of %d", at, nicparam.Clip(name), len(a.cards))
	}
	if c.nic().Device == nil {
		return nil, gnmitree.Errorf(codes.Unavailable, "%s: card %q cannot be reached: %s", at, name, c.nic().Problem)
	}
	out := &cardPlan{
		card: c, memory: a.memory.of(c.nic().identity()).clone(), want: map[nicparam.Key]uint64{}, released: map[nicparam.Key]bool{},
		wrcc: map[int]*wrcc.NICConfig{}, wrccBack: map[int]bool{},
	}
	p.byName[name] = out
	p.plan.cards = append(p.plan.cards, out)
	return out, nil
}

// leaf adds one leaf with its value.
func (p *planner) leaf(l *gnmitree.Leaf) error {
	t, err := nicyang.Parse(l.Path)
	if err != nil {
		return invalid(err, l.Path)
	}
	if t.Part == nicyang.PartSetID {
		s, err := l.Value.AsString()
		if err == nil && len(s) > nicyang.MaxSetID {
			err = fmt.Errorf("found %d bytes, want at most %d", len(s), nicyang.MaxSetID)
		}
		if err != nil {
			return invalid(err, l.Path)
		}
		p.plan.id = s
		return nil
	}
	c, err := p.card(t.NIC, l.Path)
	if err != nil {
		return err
	}
	switch {
	case t.Part == nicyang.PartParam && l.Path.Last() == "value":
		v, err := l.Value.AsUint()
		if err != nil {
			return invalid(err, l.Path)
		}
		if err := portThere(c, t.Key.Port, l.Path); err != nil {
			return err
		}
		if p.agent.ofPods(t.Key) {
			return refusedForPods(c, t.Key, l.Path)
		}
		c.set(t.Key, v, false)
		return nil
	case t.Leaf != "" && t.Key.Port > 0:
		cfg, err := p.senders(c, t.Key.Port, l.Path)
		if err != nil {
			return err
		}
		if err := nicyang.SetWRCC(cfg, t, l.Value); err != nil {
			return invalid(err, l.Path)
		}
		c.wrccBack[t.Key.Port] = false
		return nil
	}
	return invalid(&nicyang.PathError{Path: l.Path.String(), Found: "a node with a value", Allowed: "a leaf that can be written"}, l.Path)
}

func portThere(c *cardPlan, port int, at gnmitree.Path) error {
	if port == 0 {
		return nil
	}
	if _, ok := c.card.nic().port(port); !ok {
		return gnmitree.Errorf(codes.NotFound, "%s: card %q has no port %d, it has %d ports", at, c.card.nic().Name, port, len(c.card.nic().Ports))
	}
	return nil
}

// ofPods reports whether a parameter is a rate of functions that the table of pods sets.
func (a *Agent) ofPods(k nicparam.Key) bool {
	return a.o.Tenants != nil && (k.Name == "vf_tx_share" || k.Name == "vf_tx_max")
}

func refusedForPods(c *cardPlan, k nicparam.Key, at gnmitree.Path) error {
	const why = "the agent divides the port among the functions of pods, and sets their rates itself"
	return nicyang.StatusError(codes.Unimplemented, fmt.Sprintf("%s: %s", at, why),
		[]nicyang.Failure{{Reason: nicyang.ReasonAbsent, Path: at.String(), NIC: c.card.nic().Name, Key: k, Text: why}})
}

// set adds a parameter with its value.
func (c *cardPlan) set(k nicparam.Key, v uint64, released bool) {
	if _, ok := c.want[k]; !ok {
		c.keys = append(c.keys, k)
	}
	c.want[k], c.released[k] = v, released
}

// senders returns the desired configuration of a port's senders, initially the current one.
func (p *planner) senders(c *cardPlan, port int, at gnmitree.Path) (*wrcc.NICConfig, error) {
	if cfg := c.wrcc[port]; cfg != nil {
		return cfg, nil
	}
	if err := portThere(c, port, at); err != nil {
		return nil, err
	}
	on, _ := c.card.nic().port(port)
	if on.WRCC == nil {
		return nil, nicyang.StatusError(codes.Unimplemented, fmt.Sprintf("%s: the port's device has no WRCC", at),
			[]nicyang.Failure{{Reason: nicyang.ReasonAbsent, Path: at.String(), NIC: c.card.nic().Name, Text: "the port's device has no WRCC"}})
	}
	cfg, err := on.WRCC.Read(p.ctx)
	if err != nil {
		return nil, gnmitree.Errorf(codes.Unavailable, "%s: read: %v", at, err)
	}
	cfg = cfg.Clone()
	c.wrcc[port] = cfg
	return cfg, nil
}

// drop deletes everything below a path: parameters get their values from before the agent first wrote them.
func (p *planner) drop(op *gnmitree.Operation, t nicyang.Target) error {
	if t.Part == nicyang.PartSetID {
		p.plan.id = ""
		return nil
	}
	if t.Part == nicyang.PartNICs {
		for _, c := range p.agent.list() {
			if c.nic().Device == nil {
				continue
			}
			one, err := p.card(c.nic().Name, op.Path)
			if err != nil {
				return err
			}
			if err := p.dropAll(one, 0, true, op.Path); err != nil {
				return err
			}
		}
		return nil
	}
	c, err := p.card(t.NIC, op.Path)
	if err != nil {
		return err
	}
	switch t.Part {
	case nicyang.PartNIC:
		return p.dropAll(c, 0, true, op.Path)
	case nicyang.PartPort:
		if t.Key.Port == 0 {
			for _, on := range c.card.nic().Ports {
				if err := p.dropAll(c, on.Number, false, op.Path); err != nil {
					return err
				}
			}
			return nil
		}
		return p.dropAll(c, t.Key.Port, false, op.Path)
	case nicyang.PartParams:
		c.dropParams(func(k nicparam.Key) bool { return k.Port == t.Key.Port })
		return nil
	case nicyang.PartParamIndex:
		c.dropParams(func(k nicparam.Key) bool { return k.Port == t.Key.Port && k.Name == t.Key.Name })
		return nil
	case nicyang.PartParam:
		c.dropParams(func(k nicparam.Key) bool { return k == t.Key })
		return nil
	}
	return p.dropSenders(op, c, t)
}

// dropAll deletes everything of a port, or of the whole card.
func (p *planner) dropAll(c *cardPlan, port int, all bool, at gnmitree.Path) error {
	c.dropParams(func(k nicparam.Key) bool { return all || k.Port == port })
	for number := range c.memory.WRCC {
		if !all && number != port {
			continue
		}
		if err := p.original(c, number, at); err != nil {
			return err
		}
	}
	return nil
}

func (c *cardPlan) dropParams(match func(nicparam.Key) bool) {
	for _, s := range c.memory.Original {
		if !match(s.Key) {
			continue
		}
		c.set(s.Key, s.Value, true)
		for _, k := range c.also(s.Key) { // changed by writes of that parameter, never set itself
			v, known := c.memory.Original.value(k)
			if _, set := c.memory.Desired.value(k); known && !set {
				c.set(k, v, true)
			}
		}
	}
	// Values set for a parameter earlier in this request are withdrawn; since deletes come first, these can only come
	// from a replaced container.
	c.keys = slices.DeleteFunc(c.keys, func(k nicparam.Key) bool {
		_, known := c.memory.Original.value(k)
		if !match(k) || known {
			return false
		}
		delete(c.want, k)
		delete(c.released, k)
		return true
	})
}

// original gives a port's senders the configuration from before the agent first wrote it.
func (p *planner) original(c *cardPlan, port int, at gnmitree.Path) error {
	if _, err := p.senders(c, port, at); err != nil {
		return err
	}
	if w := c.memory.WRCC[port]; w != nil && w.Original != nil {
		c.wrcc[port], c.wrccBack[port] = w.Original.Clone(), true
	}
	return nil
}

// dropSenders deletes what is below a path of a port's senders.
func (p *planner) dropSenders(op *gnmitree.Operation, c *cardPlan, t nicyang.Target) error {
	cfg, err := p.senders(c, t.Key.Port, op.Path)
	if err != nil {
		return err
	}
	switch t.Part {
	case nicyang.PartWRCC:
		return p.original(c, t.Key.Port, op.Path)
	case nicyang.PartWRCCConfig:
		if w := c.memory.WRCC[t.Key.Port]; w != nil && w.Original != nil {
			o := w.Original
			cfg.Domain, cfg.T1Us, cfg.MinRateMbps, cfg.Increase = o.Domain, o.T1Us, o.MinRateMbps, o.Increase
		}
		return nil
	}
	if nicyang.DropWRCC(cfg, t) || op.Op == gnmitree.OpReplace {
		return nil // a replaced leaf gets its value next
	}
	return invalid(&nicyang.PathError{Path: op.Path.String(), Found: "delete", Allowed: "delete of wrcc, of a sender or of a peer"}, op.Path)
}
