package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/ccalgo"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/wrcc"
)

// Set implements gnmitree.Tree: one transaction.
func (a *Agent) Set(ctx context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	if a.o.Passive {
		return gnmitree.Result{}, gnmitree.Errorf(codes.PermissionDenied, "this agent is read-only: settings cannot be changed")
	}
	if !a.limit.take(a.o.Now()) {
		return gnmitree.Result{}, gnmitree.Errorf(codes.ResourceExhausted, "found more than %g transactions a second, the maximum: put what belongs together into one", a.o.SetsPerSecond)
	}
	if err := acquire(ctx, a.sets); err != nil {
		return gnmitree.Result{}, err
	}
	defer release(a.sets)
	p, err := a.plan(ctx, ops)
	if err != nil {
		return gnmitree.Result{}, err
	}
	slices.SortFunc(p.cards, func(x, y *cardPlan) int { return cmp.Compare(x.card.nic().Name, y.card.nic().Name) })
	for i, c := range p.cards {
		if err := acquire(ctx, c.card.lock); err != nil {
			for _, held := range p.cards[:i] {
				release(held.card.lock)
			}
			return gnmitree.Result{}, err
		}
	}
	defer func() {
		for _, c := range p.cards {
			release(c.card.lock)
		}
	}()
	if failures := a.check(ctx, p); len(failures) > 0 {
		return gnmitree.Result{}, failed(ctx, failures, "nothing was written")
	}
	return a.carryOut(ctx, p)
}

// check checks a whole plan and reads what it touches. It writes nothing.
func (a *Agent) check(ctx context.Context, p *plan) []nicyang.Failure {
	var out []nicyang.Failure
	for _, c := range p.cards {
		out = append(out, c.check(ctx)...)
	}
	return out
}

func (c *cardPlan) check(ctx context.Context) []nicyang.Failure {
	nic := c.card.nic()
	var out []nicyang.Failure
	set := c.settings(func(nicparam.Key) bool { return true })
	asked := slices.Concat(c.keys, nic.Table.Asks(set), c.besides())
	c.now = make(map[nicparam.Key]nicparam.Setting, len(asked))
	failed := map[nicparam.Key]error{}
	for _, r := range nic.Device.Read(ctx, asked) {
		if r.Err != nil {
			failed[r.Key] = r.Err
			continue
		}
		c.now[r.Key] = r.Setting
	}
	now := func(k nicparam.Key) (uint64, bool) {
		s, ok := c.now[k]
		return s.Value, ok
	}
	if err := nic.Table.Check(c.settings(c.legal), now); err != nil {
		out = append(out, ofCheck(nic.Name, err)...)
	}
	invalid := map[nicparam.Key]bool{}
	for _, f := range out {
		invalid[f.Key] = true
	}
	for _, k := range c.keys {
		if err := failed[k]; err != nil && !invalid[k] {
			out = append(out, problem(nic.Name, k, fmt.Errorf("%s: %w", k, err)))
		}
	}
	out = append(out, c.otherAlgorithm(invalid)...)
	c.before = &before{WRCC: map[int]*wrcc.NICConfig{}}
	for _, k := range slices.Concat(c.keys, c.besides()) {
		if s, ok := c.now[k]; ok {
			c.before.Params.put(k, s.Value)
		}
	}
	return append(out, c.checkSenders(ctx)...)
}

// otherAlgorithm lists the parameters of DCQCN that the plan sets on ports with another algorithm. Original values are not refused: a manager
// returns a port to its baseline also after its algorithm has changed.
func (c *cardPlan) otherAlgorithm(invalid map[nicparam.Key]bool) []nicyang.Failure {
	var out []nicyang.Failure
	nic := c.card.nic()
	for _, k := range c.keys {
		p, known := nic.Table.Find(k.Name)
		on, ok := nic.port(k.Port)
		if !known || !ok || invalid[k] || c.released[k] || !p.OfDCQCN() || on.Algorithm.Name.IsDCQCN() {
			continue
		}
		if v, has := c.memory.Original.value(k); has && v == c.want[k] {
			continue
		}
		a := &on.Algorithm
		text := fmt.Sprintf("%s: %s: driver %s of %s has algorithm %s, not DCQCN (%s): %s", nic.Name, k, a.Driver, on.NetDev, a.Name, a.Evidence, a.Name.Fix())
		out = append(out, nicyang.Failure{Reason: nicyang.ReasonAbsent, Path: nicyang.ParamValue(nic.Name, k).String(), NIC: nic.Name, Key: k, Text: text, Found: string(a.Name), Allowed: string(ccalgo.DCQCN)})
	}
	return out
}

// besides lists the parameters that the writes of the plan also change.
func (c *cardPlan) besides() []nicparam.Key {
	var out []nicparam.Key
	for _, k := range c.keys {
		out = append(out, c.also(k)...)
	}
	return out
}

// also lists the parameters that a write of one also changes, by any back end.
func (c *cardPlan) also(k nicparam.Key) []nicparam.Key {
	var out []nicparam.Key
	p, ok := c.card.nic().Table.Find(k.Name)
	if !ok {
		return nil
	}
	for i := range p.Sources {
		for _, e := range p.Sources[i].Also {
			out = append(out, nicparam.Key{Port: k.Port, Name: e.Name, Index: k.Index})
		}
	}
	return out
}

// legal reports whether a value is checked against the table. A restored value from before the agent is not checked.
func (c *cardPlan) legal(k nicparam.Key) bool {
	if !c.released[k] {
		return true
	}
	p, ok := c.card.nic().Table.Find(k.Name)
	return ok && p.Legal(c.want[k])
}

func (c *cardPlan) settings(match func(nicparam.Key) bool) []nicparam.Setting {
	var out []nicparam.Setting
	for _, k := range c.keys {
		if match(k) {
			out = append(out, nicparam.Setting{Key: k, Value: c.want[k]})
		}
	}
	return out
}

func (c *cardPlan) checkSenders(ctx context.Context) []nicyang.Failure {
	var out []nicyang.Failure
	nic := c.card.nic()
	for _, port := range slices.Sorted(maps.Keys(c.wrcc)) {
		on, _ := nic.port(port)
		fail := func(r nicyang.Reason, err error) {
			at := nicyang.WRCC(nic.Name, port).String()
			out = append(out, nicyang.Failure{Reason: r, Path: at, NIC: nic.Name, Text: at + ": " + err.Error()})
		}
		cfg := c.wrcc[port]
		if err := cfg.Validate(); err != nil && !c.wrccBack[port] {
			for _, e := range flat(err) {
				fail(nicyang.ReasonInvalid, e)
			}
		}
		if n := on.WRCC.MaxSenders(); len(cfg.Senders) > n {
			fail(nicyang.ReasonInvalid, fmt.Errorf("found %d senders, want at most %d, which the device holds", len(cfg.Senders), n))
		}
		got, err := on.WRCC.Read(ctx)
		if err != nil {
			fail(nicyang.ReasonUnreadable, err)
			continue
		}
		c.before.WRCC[port] = got.Clone()
	}
	return out
}

// writes reports whether the card differs from the plan.
func (c *cardPlan) writes() bool {
	for _, k := range c.keys {
		if s, ok := c.now[k]; !ok || s.Value != c.want[k] {
			return true
		}
	}
	for port, cfg := range c.wrcc {
		if !sameWRCC(cfg, c.before.WRCC[port]) {
			return true
		}
	}
	return false
}

// carryOut executes a checked plan: earlier values to the journal, values to the devices, desired values to the journal.
func (a *Agent) carryOut(ctx context.Context, p *plan) (gnmitree.Result, error) {
	if slices.ContainsFunc(p.cards, (*cardPlan).writes) {
		if err := a.intend(ctx, p); err != nil {
			return gnmitree.Result{}, gnmitree.Errorf(codes.Aborted, "%v; nothing was written", err)
		}
	}
	ctx2 := context.WithoutCancel(ctx)
	for i, c := range p.cards {
		failures := a.apply(ctx, c)
		if len(failures) == 0 {
			continue
		}
		for j := range i {
			failures = append(failures, a.undo(ctx2, p.cards[i-1-j])...)
		}
		return gnmitree.Result{}, a.end(ctx, p, failures)
	}
	now := a.o.Now()
	if err := a.commit(ctx2, p); err != nil {
		var failures []nicyang.Failure
		for _, c := range slices.Backward(p.cards) {
			failures = append(failures, a.undo(ctx2, c)...)
		}
		failures = append([]nicyang.Failure{{Reason: nicyang.ReasonOther, Text: err.Error()}}, failures...)
		return gnmitree.Result{}, a.end(ctx, p, failures)
	}
	return gnmitree.Result{Time: now}, nil
}

// intend writes the earlier values to the journal.
func (a *Agent) intend(ctx context.Context, p *plan) error {
	intent := map[string]*before{}
	for _, c := range p.cards {
		intent[c.card.nic().identity()] = c.before
	}
	a.mu.Lock()
	earlier := a.memory.Intent
	for id, b := range earlier { // of absent cards
		if intent[id] == nil {
			intent[id] = b
		}
	}
	a.memory.Intent, a.memory.Pending = intent, &lastSet{ID: p.id, Time: a.o.Now()}
	a.mu.Unlock()
	keep := a.note // a crash of the host resets run-time values, so none must be restored then
	if slices.ContainsFunc(p.cards, (*cardPlan).lasts) {
		keep = a.save
	}
	err := keep(ctx)
	if err != nil {
		a.mu.Lock()
		a.memory.Intent, a.memory.Pending = earlier, nil
		a.mu.Unlock()
	}
	return err
}

// lasts reports whether something that the plan writes survives a crash of the host.
func (c *cardPlan) lasts() bool {
	return slices.ContainsFunc(c.keys, func(k nicparam.Key) bool {
		i, ok := c.card.find(k)
		return !ok || c.card.values[i].by.Persistence() != nicparam.Runtime
	})
}

// settled drops a transaction's earlier values. The caller holds mu.
func (a *Agent) settled(p *plan) {
	a.memory.Pending = nil
	for _, c := range p.cards {
		delete(a.memory.Intent, c.card.nic().identity())
	}
	if len(a.memory.Intent) == 0 {
		a.memory.Intent = nil
	}
}

// apply writes a plan to one card. When that fails, the card has its earlier values except for what the failures name.
func (a *Agent) apply(ctx context.Context, c *cardPlan) []nicyang.Failure {
	nic := c.card.nic()
	if set := c.settings(c.legal); len(set) > 0 {
		receipt, err := nic.Device.Set(ctx, set)
		a.noteReceipt(c.card, receipt, err == nil)
		if err != nil {
			return ofReceipt(nic.Name, receipt, err)
		}
	}
	var failures []nicyang.Failure
	if set := c.settings(func(k nicparam.Key) bool { return !c.legal(k) }); len(set) > 0 {
		for _, e := range leaves(nic.Device.Restore(ctx, set)) {
			failures = append(failures, nicyang.Failure{Reason: nicyang.ReasonRefused, Path: nicyang.NIC(nic.Name).String(), NIC: nic.Name, Text: nic.Name + ": " + e.Error()})
		}
	}
	for _, port := range slices.Sorted(maps.Keys(c.wrcc)) {
		if len(failures) > 0 {
			break
		}
		on, _ := nic.port(port)
		if err := writeWRCC(ctx, on.WRCC, c.wrcc[port]); err != nil {
			at := nicyang.WRCC(nic.Name, port).String()
			failures = append(failures, nicyang.Failure{Reason: reason(err), Path: at, NIC: nic.Name, Text: at + ": " + err.Error()})
		}
	}
	if len(failures) > 0 {
		failures = append(failures, a.undo(context.WithoutCancel(ctx), c)...)
	}
	return failures
}

// undo restores a card's earlier values and lists what does not have them.
func (a *Agent) undo(ctx context.Context, c *cardPlan) []nicyang.Failure {
	nic := c.card.nic()
	var out []nicyang.Failure
	for _, err := range a.putBack(ctx, c.card, c.before) {
		out = append(out, nicyang.Failure{Reason: nicyang.ReasonNotRestored, Path: nicyang.NIC(nic.Name).String(), NIC: nic.Name, Text: nic.Name + ": " + err.Error()})
	}
	if len(c.keys) > 0 {
		a.observe(c.card, nic.Device.Read(ctx, c.keys))
		a.mu.Lock()
		for _, k := range c.keys {
			if o := c.card.outcomes[k]; o.word == string(nicfiles.Verified) || o.word == string(nicfiles.Unchanged) {
				c.card.outcomes[k] = outcome{word: string(nicfiles.Skipped)}
			}
		}
		a.mu.Unlock()
		a.Changed(paramPaths(nic.Name, c.keys)...)
	}
	return out
}

// end records a failed transaction and returns its error.
func (a *Agent) end(ctx context.Context, p *plan, failures []nicyang.Failure) error {
	last := lastSet{ID: p.id, Time: a.o.Now(), Outcome: setUndone}
	how := "all previous values are restored"
	for _, f := range failures {
		if f.Reason == nicyang.ReasonNotRestored {
			last.Outcome, how = setPartial, "NOT RESTORED, repair by hand"
			last.NotRestored = append(last.NotRestored, f.Text)
		}
	}
	err := failed(ctx, failures, how)
	last.Detail = err.Error()
	if last.Outcome == setPartial {
		for _, c := range p.cards {
			a.keepOriginals(context.WithoutCancel(ctx), c.card, c.before)
		}
	}
	a.mu.Lock()
	a.settled(p)
	a.memory.Sequence++
	a.memory.Last = last
	a.mu.Unlock()
	if saved := a.save(context.WithoutCancel(ctx)); saved != nil {
		a.log.Error("a transaction failed, and the journal cannot be written", "error", saved)
	}
	a.log.Warn("transaction failed", "id", p.id, "outcome", last.Outcome, "error", err)
	a.Changed(nicyang.ApplyState())
	return err
}

// commit writes the desired values to the journal, unless they are there.
func (a *Agent) commit(ctx context.Context, p *plan) error {
	now := a.o.Now()
	a.mu.Lock()
	earlier := *a.memory
	cards := maps.Clone(a.memory.Cards)
	changed, wrote, news := []gnmitree.Path{nicyang.ApplyState()}, false, p.id != ""
	for _, c := range p.cards {
		id := c.card.nic().identity()
		c.remember(a.boot)
		news = news || !c.memory.same(cards[id])
		if cards[id] = c.memory; c.memory.empty() {
			delete(cards, id)
		}
		wrote = wrote || c.writes()
		for port := range c.wrcc {
			changed = append(changed, nicyang.WRCC(c.card.nic().Name, port))
		}
		changed = append(changed, paramPaths(c.card.nic().Name, c.keys)...)
	}
	a.memory.Cards, a.memory.Intent = cards, maps.Clone(a.memory.Intent)
	a.settled(p)
	a.memory.Sequence++
	if wrote {
		a.memory.Generation++
		changed = append(changed, nicyang.AgentState())
	}
	a.memory.Last = lastSet{ID: p.id, Time: now, Outcome: setDone}
	a.mu.Unlock()
	if wrote || news {
		if err := a.save(ctx); err != nil {
			a.mu.Lock()
			*a.memory = earlier
			a.mu.Unlock()
			return err
		}
	}
	a.mu.Lock()
	for _, c := range p.cards {
		c.settle()
	}
	a.mu.Unlock()
	a.Changed(changed...)
	return nil
}

// remember updates the card's memory after the plan.
func (c *cardPlan) remember(boot string) {
	m, nic := c.memory, c.card.nic()
	m.Name = nic.Name
	if r := c.card.reapply; r.lost && r.params != nil { // values set just now need not be set again
		r.params, r.wrcc = maps.Clone(r.params), maps.Clone(r.wrcc)
		r.did(c.keys, maps.Keys(c.wrcc))
		m.Again = r.again()
	}
	m.nodes(nic)
	if m.Boot == "" || len(m.Desired) == 0 && len(m.WRCC) == 0 {
		m.Boot, m.Incarnation = boot, nic.Incarnation
	}
	for _, k := range c.keys {
		if c.released[k] {
			m.Desired.drop(k)
			m.Original.drop(k)
			continue
		}
		for _, one := range append(c.also(k), k) { // values that a write also changes must be restored, too
			if _, known := m.Original.value(one); !known {
				if s, ok := c.now[one]; ok {
					m.Original.put(one, s.Value)
				}
			}
		}
		m.Desired.put(k, c.want[k])
	}
	for port, cfg := range c.wrcc {
		if c.wrccBack[port] {
			delete(m.WRCC, port)
			continue
		}
		w := m.WRCC[port]
		if w == nil {
			w = &wrccOfAPort{Original: c.before.WRCC[port]}
		}
		m.WRCC[port] = &wrccOfAPort{Desired: cfg.Clone(), Original: w.Original}
	}
}

// settle records the outcomes of a completed plan. The caller holds mu.
func (c *cardPlan) settle() {
	for _, k := range c.keys {
		if c.released[k] {
			delete(c.card.outcomes, k)
		}
	}
	if r := &c.card.reapply; r.params != nil {
		r.did(c.keys, maps.Keys(c.wrcc))
	}
	for port := range c.wrcc {
		if c.wrccBack[port] {
			delete(c.card.wrcc, port)
			continue
		}
		c.card.wrcc[port] = outcome{word: "verified"}
	}
}
