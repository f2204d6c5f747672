package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/wrcc"
)

// emit adds leaves to the answer.
type emit struct {
	*getter
	at      gnmitree.Path
	class   gnmitree.Class
	sampled bool
	time    time.Time
}

func (e emit) put(name string, v gnmitree.Value) {
	if v.Kind() == gnmitree.KindNone || !e.matches(name) {
		return
	}
	e.out = append(e.out, gnmitree.Leaf{Path: e.at.Child(name), Value: v, Class: e.class, Sampled: e.sampled, Time: e.time})
}

// matches reports whether the pattern may match a leaf here.
func (e emit) matches(name string) bool {
	n := len(e.at.Elems)
	if len(e.pattern.Elems) <= n || slices.ContainsFunc(e.pattern.Elems[:n], func(p gnmitree.Elem) bool { return p.Name == gnmitree.AnyDepth }) {
		return true
	}
	switch e.pattern.Elems[n].Name {
	case name, gnmitree.Any, gnmitree.AnyDepth:
		return true
	}
	return false
}

// text adds a non-empty string.
func (e emit) text(name, s string) {
	if s != "" {
		e.put(name, gnmitree.String(s))
	}
}

func (e emit) moment(name string, t time.Time) {
	if !t.IsZero() {
		e.put(name, gnmitree.Uint(uint64(max(t.UnixNano(), 0))))
	}
}

// counter adds a counter's value or the reason why it has none.
func (e emit) counter(name string, c niccount.Counter) {
	if c.Err != nil {
		e.put("problem", gnmitree.String(c.Err.Error()))
		return
	}
	e.put(name, gnmitree.Uint(c.Value))
}

// includes reports whether the query includes leaves of a class.
func (g *getter) includes(class gnmitree.Class) bool {
	if g.q.Type == gnmitree.TypeAll {
		return true
	}
	return (class == gnmitree.ClassConfig) == (g.q.Type == gnmitree.TypeConfig)
}

// below returns the emitter for the leaves of the container at names below a path, and reports whether the query may
// include any of them.
func (g *getter) below(at gnmitree.Path, class gnmitree.Class, names ...string) (emit, bool) {
	if !g.includes(class) {
		return emit{}, false
	}
	for _, n := range names {
		at = at.Child(n)
	}
	return emit{getter: g, at: at, class: class}, meets(g.pattern, at)
}

// answer adds all leaves that one path matches.
func (g *getter) answer() error {
	g.ofAgent()
	for _, s := range g.cards {
		base := nicyang.NIC(s.nic.Name)
		if !meets(g.pattern, base) {
			continue
		}
		if err := g.ofCard(s, base); err != nil {
			return err
		}
	}
	return nil
}

func (g *getter) ofAgent() {
	a := g.agent
	if !meets(g.pattern, gnmitree.PathOf("agent")) {
		return
	}
	a.mu.RLock()
	boot, generation, sequence, last := a.boot, a.memory.Generation, a.memory.Sequence, a.memory.Last
	a.mu.RUnlock()
	if e, ok := g.below(nicyang.AgentState(), gnmitree.ClassOperational); ok {
		e.text("version", a.o.Version)
		e.text("boot-id", boot)
		e.put("config-generation", gnmitree.Uint(generation))
		e.moment("started", a.started)
		e.sampled = true
		e.moment("clock", a.o.Now())
	}
	if e, ok := g.below(gnmitree.PathOf("agent", "apply", "config"), gnmitree.ClassConfig); ok {
		e.put("id", gnmitree.String(last.ID))
	}
	if e, ok := g.below(nicyang.ApplyState(), gnmitree.ClassState); ok {
		e.put("id", gnmitree.String(last.ID))
		e.put("sequence", gnmitree.Uint(sequence))
		e.moment("time", last.Time)
		e.put("outcome", gnmitree.String(last.Outcome))
		e.text("detail", last.Detail)
		e.strings("not-restored", last.NotRestored)
	}
}

// strings adds a non-empty leaf-list.
func (e emit) strings(name string, words []string) {
	if len(words) == 0 {
		return
	}
	list := make([]gnmitree.Value, len(words))
	for i, w := range words {
		list[i] = gnmitree.String(w)
	}
	e.put(name, gnmitree.List(list...))
}

func (g *getter) ofCard(s *seen, base gnmitree.Path) error {
	if e, ok := g.below(base, gnmitree.ClassOperational, "state"); ok {
		e.text("pci", s.nic.PCI)
		e.text("vendor", s.nic.Vendor)
		e.text("device", s.nic.Model)
		e.text("firmware", s.nic.Firmware)
		e.text("driver", s.nic.Driver)
		if s.nic.NodeGUID != 0 {
			e.put("node-guid", gnmitree.String(s.nic.NodeGUID.String()))
		}
		e.text("incarnation", s.nic.Incarnation)
		e.strings("capability", capabilities(s.nic.Table))
		e.text("problem", s.nic.Problem)
	}
	if e, ok := g.below(base, gnmitree.ClassOperational, "reapply", "state"); ok {
		e.put("count", gnmitree.Uint(s.reapply.count))
		e.put("attempts", gnmitree.Uint(s.reapply.attempts))
		e.moment("time", s.reapply.time)
		e.moment("next", s.reapply.next)
		e.text("problem", s.reapply.problem)
	}
	g.params(s, 0, base)
	for i := range s.nic.Ports {
		p := &s.nic.Ports[i]
		at := nicyang.Port(s.nic.Name, p.Number)
		if !meets(g.pattern, at) {
			continue
		}
		g.portState(s, p, at)
		g.params(s, p.Number, at)
		if err := g.measured(s, p, at); err != nil {
			return err
		}
	}
	return nil
}

func capabilities(t *nicparam.Table) []string {
	if t == nil {
		return nil
	}
	c := t.Caps()
	var out []string
	if c.Rate32 {
		out = append(out, "rate_32")
	}
	for _, n := range []nicparam.Capability{nicparam.NeedsGeneralCC, nicparam.NeedsNewNV, nicparam.NeedsVFRates, nicparam.NeedsSwitchdev, nicparam.NeedsTCRates, nicparam.NeedsBnxt} {
		if c.Has(n) {
			out = append(out, string(n))
		}
	}
	return out
}

func (g *getter) portState(s *seen, p *Port, at gnmitree.Path) {
	e, ok := g.below(at, gnmitree.ClassOperational, "state")
	if !ok {
		return
	}
	e.put("id", gnmitree.String(p.ID.String()))
	e.text("net-dev", p.NetDev)
	e.text("rdma-device", p.RDMA)
	e.put("rdma-port", gnmitree.Uint32(uint32(p.RDMAPort))) // 1 to 16
	if l, known := s.links[p.Number]; known {
		e.text("mac", l.MAC)
		if l.SpeedMbps > 0 {
			e.put("speed-mbps", gnmitree.Uint(l.SpeedMbps))
		}
		e.put("oper-up", gnmitree.Bool(l.Up))
	}
	e.put("virtual-functions", gnmitree.Uint32(uint32(p.Functions))) // at most 4096
	if g.agent.o.Tenants != nil {
		e.put("serves-pods", gnmitree.Bool(true))
	}
	e.text("algorithm", string(p.Algorithm.Name))
	e.text("algorithm-evidence", p.Algorithm.Evidence)
	senders := 0
	if p.WRCC != nil {
		senders = p.WRCC.MaxSenders()
	}
	e.put("wrcc-senders", gnmitree.Uint32(uint32(senders))) // at most wrcc.MaxSenders
	if !e.matches("runtime-parameter") && !e.matches("reset-parameter") {
		return
	}
	var now, later []string
	first, after := ofPort(s.keys, p.Number)
	for i, k := range s.keys[first:after] {
		list := &now
		if s.values[first+i].by == nicparam.NV {
			list = &later
		}
		if n := len(*list); n == 0 || (*list)[n-1] != k.Name {
			*list = append(*list, k.Name)
		}
	}
	e.strings("runtime-parameter", now)
	e.strings("reset-parameter", later)
}

// params adds the parameters of a port, or of the card for port 0, below base.
func (g *getter) params(s *seen, port int, base gnmitree.Path) {
	if s.wanted == nil || s.nic.Table == nil {
		return
	}
	params := base.Child("params")
	if !meets(g.pattern, params) {
		return
	}
	if g.q.Type == gnmitree.TypeConfig && g.q.MayText(g.pattern, params) {
		g.configured(s, port, params)
		return
	}
	n := len(params.Elems)
	first, after := ofPort(s.keys, port)
	g.out = slices.Grow(g.out, after-first) // at least one leaf for each, when all are requested
	for i, k := range s.keys[first:after] {
		i += first
		if !s.wanted(k) {
			continue
		}
		entry := gnmitree.Elem{Name: "param", Keys: []gnmitree.Key{{Name: "index", Value: strconv.Itoa(k.Index)}, {Name: "name", Value: k.Name}}}
		at := func(names ...gnmitree.Elem) gnmitree.Path { // built explicitly: there are hundreds of them
			elems := make([]gnmitree.Elem, 0, n+1+len(names))
			return gnmitree.Path{Elems: append(append(append(elems, params.Elems...), entry), names...)}
		}
		v := &s.values[i]
		if v.err == nil && g.includes(gnmitree.ClassConfig) {
			if leaf := at(gnmitree.Elem{Name: "config"}, gnmitree.Elem{Name: "value"}); meets(g.pattern, leaf) {
				g.out = append(g.out, gnmitree.Leaf{Path: leaf, Value: gnmitree.Uint(v.v), Class: gnmitree.ClassConfig, Time: v.at})
			}
		}
		if g.includes(gnmitree.ClassState) {
			if e, ok := g.below(at(gnmitree.Elem{Name: "state"}), gnmitree.ClassState); ok {
				e.time = v.at
				g.paramState(e, s, k, v)
			}
		}
	}
}

// ofPort returns the range of a port's keys among those of its card.
func ofPort(keys []nicparam.Key, port int) (first, after int) {
	at := func(port int) int {
		i, _ := slices.BinarySearchFunc(keys, port, func(k nicparam.Key, port int) int { return k.Port - port })
		return i
	}
	return at(port), at(port + 1)
}

// paramBytes is the approximate length of a parameter in the text of the configuration.
const paramBytes = 72

// configured adds the configured values of a port's parameters as one text: managers read them from thousands of ports,
// and a path for each of the hundreds of values would cost far more than the values.
func (g *getter) configured(s *seen, port int, params gnmitree.Path) {
	first, after := ofPort(s.keys, port)
	var text strings.Builder
	text.Grow(paramBytes * (after - first))
	one := make([]byte, 0, 2*paramBytes)
	var oldest time.Time
	for i, k := range s.keys[first:after] {
		v := &s.values[first+i]
		if v.err != nil {
			continue
		}
		before := `,{"index":"`
		if text.Len() == 0 {
			before, oldest = `{"param":[{"index":"`, v.at
		}
		if v.at.Before(oldest) {
			oldest = v.at
		}
		one = append(one[:0], before...)
		one = strconv.AppendInt(one, int64(k.Index), 10)
		one = append(one, `","name":`...)
		one = gnmitree.String(k.Name).AppendJSON(one)
		one = append(one, `,"config":{"value":`...)
		one = gnmitree.Uint(v.v).AppendJSON(one)
		one = append(one, `}}`...)
		text.Write(one)
	}
	if text.Len() > 0 {
		text.WriteString(`]}`)
		g.out = append(g.out, gnmitree.Leaf{Path: params, Value: gnmitree.JSONText(text.String()), Class: gnmitree.ClassConfig, Time: oldest})
	}
}

// paramState adds the state of a parameter.
func (g *getter) paramState(e emit, s *seen, k nicparam.Key, v *value) {
	p, ok := s.nic.Table.Find(k.Name)
	if !ok {
		return
	}
	acts, readable := v.v, v.err == nil
	if v.acting != nil {
		acts = *v.acting
	}
	next, staged := v.v, false
	if _, has := p.Source(nicparam.NV); has && s.stages != nil {
		next, staged = s.stages.value(k, adopt.StageNext)
		if v.by == nicparam.NV {
			acts, readable = s.stages.value(k, adopt.StageCurrent)
			if !readable && staged { // firmware that does not report a current value
				acts, readable = next, true
			}
		}
	}
	if readable {
		e.put("value", gnmitree.Uint(acts))
	}
	e.put("back-end", gnmitree.String(string(v.by)))
	e.put("persistence", gnmitree.String(string(v.by.Persistence())))
	e.put("cost", gnmitree.String(string(p.Cost(v.by))))
	e.text("unit", p.Unit)
	e.put("min", gnmitree.Uint(p.Min))
	e.put("max", gnmitree.Uint(p.Max))
	e.put("allowed", gnmitree.String(p.Allowed()))
	if d, ok := s.stages.value(k, adopt.StageDefault); ok {
		e.put("default", gnmitree.Uint(d))
	} else if p.Known {
		e.put("default", gnmitree.Uint(p.Default))
	}
	if staged {
		e.put("next-value", gnmitree.Uint(next))
	}
	e.put("pending-reset", gnmitree.Bool(v.by == nicparam.NV && staged && readable && acts != next))
	if w, set := s.memory.Desired.value(k); set {
		e.put("set-value", gnmitree.Uint(w))
	}
	o, noted := s.outcomes[k]
	if !noted {
		o.word = "none"
		if w, set := s.memory.Desired.value(k); set {
			o.word = "unverified"
			if v.err == nil && v.v == w {
				o.word = "verified"
			}
		}
	}
	e.put("outcome", gnmitree.String(o.word))
	switch {
	case v.err != nil:
		e.put("problem", gnmitree.String(v.err.Error()))
	case o.problem == "" && v.acting != nil:
		e.text("problem", fmt.Sprintf("a pod holds the function: it has %d until the pod ends, then %d", *v.acting, v.v))
	default:
		e.text("problem", o.problem)
	}
}

// measured adds a port's counters, and its senders.
func (g *getter) measured(s *seen, p *Port, port gnmitree.Path) error {
	a, c := g.agent, s.card
	if e, ok := g.below(port, gnmitree.ClassOperational, "counters"); ok && p.Meter != nil {
		m := a.meter(c, p.Number)
		all, at, err := m.counters.read(g.ctx, a, m, p.Meter.Counters)
		if cancelled := g.ctx.Err(); cancelled != nil {
			return cancelled
		}
		e.sampled, e.time = true, at
		if err != nil {
			e.at = e.at.Child("state")
			e.put("problem", gnmitree.String(err.Error()))
		}
		for _, name := range sortedNames(all) {
			e.at = nicyang.Counter(s.nic.Name, p.Number, name).Child("state")
			e.counter("value", all[name])
		}
	}
	if err := g.functions(s, p, port); err != nil {
		return err
	}
	if err := g.counterSets(s, p, port); err != nil {
		return err
	}
	if p.WRCC == nil || !meets(g.pattern, nicyang.WRCC(s.nic.Name, p.Number)) {
		return nil
	}
	return g.senders(s, p)
}

// senders adds a port's senders.
func (g *getter) senders(s *seen, p *Port) error {
	base := nicyang.WRCC(s.nic.Name, p.Number)
	if err := acquire(g.ctx, s.card.lock); err != nil {
		return err
	}
	cfg, err := p.WRCC.Read(g.ctx)
	release(s.card.lock)
	if cancelled := g.ctx.Err(); cancelled != nil {
		return cancelled
	}
	if err == nil && g.includes(gnmitree.ClassConfig) {
		g.out = append(g.out, nicyang.WRCCLeaves(s.nic.Name, p.Number, cfg)...)
	}
	if g.q.Type == gnmitree.TypeConfig {
		return nil
	}
	if e, ok := g.below(base, gnmitree.ClassOperational, "state"); ok {
		o := g.sendersOutcome(s, p, cfg, err)
		e.put("outcome", gnmitree.String(o.word))
		e.text("problem", o.problem)
	}
	if !meets(g.pattern, base.Child("senders")) {
		return nil
	}
	m := g.agent.meter(s.card, p.Number)
	all, at, err := m.sent.read(g.ctx, g.agent, m, p.WRCC.Sent)
	if cancelled := g.ctx.Err(); cancelled != nil {
		return cancelled
	}
	if e, ok := g.below(base, gnmitree.ClassOperational, "senders", "state"); ok && err != nil {
		e.sampled, e.time = true, at
		e.put("problem", gnmitree.String(err.Error()))
	}
	for _, name := range sortedNames(all) {
		if e, ok := g.below(nicyang.Sender(s.nic.Name, p.Number, name), gnmitree.ClassOperational, "state"); ok {
			e.sampled, e.time = true, at
			e.counter("tx-octets", all[name])
		}
	}
	return nil
}

// sendersOutcome returns the outcome of the last write of the senders.
func (g *getter) sendersOutcome(s *seen, p *Port, cfg *wrcc.NICConfig, err error) outcome {
	w := s.memory.WRCC[p.Number]
	switch {
	case err != nil:
		return outcome{"unverified", err.Error()}
	case w == nil || w.Desired == nil:
		return outcome{word: "none"}
	case sameWRCC(cfg, w.Desired):
		return outcome{word: "verified"}
	case s.reapply.lost:
		return outcome{"lost", "the senders differ from those set, after a reload, a reset or a reboot"}
	}
	return outcome{"overridden", "the senders differ from those set: another program changed them; set them again or delete them"}
}
