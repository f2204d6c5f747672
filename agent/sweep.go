package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/wrcc"
)

// Pauses between attempts to set lost values again: the first, doubled each time up to the longest.
const (
	firstPause   = time.Second
	longestPause = 5 * time.Minute
)

// Sweep reads the host once: the present cards, changes by other programs, and losses by a reload, a reset or a reboot.
// It sets lost values again, unless their pause lasts. The error names the cards that could not be read; the others were.
//
// Reading may take long when a program or a driver hangs. A Set waits only for a reading of its own cards, and for none
// of the non-volatile configuration.
func (a *Agent) Sweep(ctx context.Context) error {
	if err := acquire(ctx, a.sweeping); err != nil {
		return err
	}
	defer release(a.sweeping)
	boot, nics, err := a.readHost(ctx)
	if err != nil {
		return err
	}
	before := a.generation()
	var errs []error
	err = a.alone(ctx, func() {
		a.adopt(boot, nics)
		if !a.o.Passive {
			errs = append(errs, a.recover(ctx))
		}
	})
	if err != nil {
		return err
	}
	for _, c := range a.list() {
		if err := a.sweepCard(ctx, c); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.nic().Name, err))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if a.generation() != before && !a.o.Passive {
		var saved error
		errs = append(errs, a.alone(ctx, func() { saved = a.save(ctx) }), saved)
	}
	return errors.Join(errs...)
}

// alone runs f while no other write runs.
func (a *Agent) alone(ctx context.Context, f func()) error {
	if err := acquire(ctx, a.sets); err != nil {
		return err
	}
	defer release(a.sets)
	f()
	return nil
}

// readHost reads the host's boot and cards. No Set waits for it: probing a card may run a program that hangs.
func (a *Agent) readHost(ctx context.Context) (boot string, nics []NIC, err error) {
	if boot, err = a.o.Host.BootID(ctx); err != nil {
		return "", nil, fmt.Errorf("boot of the host: %w", err)
	}
	if nics, err = a.o.Host.NICs(ctx); err != nil {
		return "", nil, fmt.Errorf("cards of the host: %w", err)
	}
	if len(nics) > maxCards {
		return "", nil, fmt.Errorf("cards of the host: found %d, want at most %d", len(nics), maxCards)
	}
	return boot, nics, nil
}

func (a *Agent) generation() uint64 {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.memory.Generation
}

// adopt updates the list of present cards.
func (a *Agent) adopt(boot string, nics []NIC) {
	a.mu.Lock()
	var changed []gnmitree.Path
	if a.boot != boot {
		changed = append(changed, nicyang.AgentState())
		a.boot = boot
	}
	seen := map[string]bool{}
	for i := range nics {
		n := &nics[i]
		if id := a.memory.identity(n); id != n.identity() {
			as := *n
			as.known, n = id, &as
		}
		seen[n.Name] = true
		c := a.cards[n.Name]
		if c == nil || c.nic().identity() != n.identity() {
			changed = append(changed, nicyang.NIC(n.Name))
			a.cards[n.Name] = newCard(n)
			continue
		}
		if !sameNIC(c.nic(), n) {
			changed = append(changed, nicyang.NIC(n.Name))
		}
		if c.nic().Device != n.Device {
			c.meters = map[int]*meter{}
		}
		c.now.Store(n)
	}
	for name := range a.cards {
		if !seen[name] {
			changed = append(changed, nicyang.NIC(name))
			delete(a.cards, name)
		}
	}
	a.mu.Unlock()
	if len(changed) > 0 {
		a.Changed(changed...)
	}
}

// sameNIC reports whether the displayed properties of a card are equal.
func sameNIC(x, y *NIC) bool {
	return x.PCI == y.PCI && x.Vendor == y.Vendor && x.Model == y.Model && x.Firmware == y.Firmware && x.Driver == y.Driver && x.Problem == y.Problem &&
		x.Incarnation == y.Incarnation && x.Device == y.Device && slices.EqualFunc(x.Ports, y.Ports, func(p, q Port) bool {
		return p.Number == q.Number && p.ID == q.ID && p.NetDev == q.NetDev && p.RDMA == q.RDMA && p.RDMAPort == q.RDMAPort && p.Functions == q.Functions &&
			(p.WRCC == nil) == (q.WRCC == nil)
	})
}

// recover undoes an unfinished transaction. The part of absent cards remains.
func (a *Agent) recover(ctx context.Context) error {
	a.mu.RLock()
	intent := maps.Clone(a.memory.Intent)
	a.mu.RUnlock()
	if len(intent) == 0 {
		return nil
	}
	var errs []error
	did := false
	for _, c := range a.list() {
		b := intent[c.nic().identity()]
		if b == nil || c.nic().Device == nil {
			continue
		}
		if err := acquire(ctx, c.lock); err != nil {
			return err
		}
		problems := a.putBack(ctx, c, b)
		release(c.lock)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		delete(intent, c.nic().identity())
		if len(problems) > 0 {
			a.keepOriginals(ctx, c, b)
		}
		did = true
		a.mu.Lock()
		if o := a.memory.Last.Outcome; o != setInterrupted && o != setPartial { // other transactions preceded the return of this card
			a.memory.Sequence++
			a.memory.Last = lastSet{Time: a.o.Now(), Outcome: setInterrupted, Detail: interruptedDetail}
		}
		for _, p := range problems {
			a.memory.Last.Outcome = setPartial
			a.memory.Last.NotRestored = append(a.memory.Last.NotRestored, c.nic().Name+": "+p.Error())
		}
		a.memory.Generation++
		a.mu.Unlock()
		errs = append(errs, problems...)
		a.log.Warn("restored the earlier values of an unfinished transaction", "nic", c.nic().Name, "problems", len(problems))
	}
	if !did {
		return nil
	}
	a.mu.Lock()
	a.memory.Intent = intent
	if len(intent) == 0 {
		a.memory.Intent = nil
	}
	a.mu.Unlock()
	a.Changed(nicyang.ApplyState(), nicyang.AgentState())
	return errors.Join(append(errs, a.save(ctx))...)
}

// putBack restores a card's state before a transaction and returns what could not be restored. The caller holds its lock.
func (a *Agent) putBack(ctx context.Context, c *card, b *before) []error {
	var errs []error
	for some := range slices.Chunk(b.Params, nicparam.MaxSet) { // several sets together may exceed the limit of one
		errs = append(errs, leaves(c.nic().Device.Restore(ctx, some))...)
	}
	for _, port := range slices.Sorted(maps.Keys(b.WRCC)) {
		p, ok := c.nic().port(port)
		if !ok || p.WRCC == nil {
			errs = append(errs, fmt.Errorf("port %d wrcc: %w: the port has none now", port, nicfiles.ErrNotRestored))
			continue
		}
		if err := writeWRCC(ctx, p.WRCC, b.WRCC[port]); err != nil {
			errs = append(errs, fmt.Errorf("port %d wrcc: %w: %w", port, nicfiles.ErrNotRestored, err))
		}
	}
	return errs
}

// leaves splits a joined error.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range j.Unwrap() {
			if e != nil {
				out = append(out, e)
			}
		}
		if len(out) > 1 {
			return out
		}
	}
	return []error{err}
}

// writeWRCC writes a configuration unless it is in force, and reads it back.
func writeWRCC(ctx context.Context, w WRCC, want *wrcc.NICConfig) error {
	got, err := w.Read(ctx)
	if err == nil && sameWRCC(got, want) {
		return nil
	}
	if err := w.Write(ctx, want.Clone()); err != nil {
		return fmt.Errorf("%w: %w", nicfiles.ErrRefused, err)
	}
	if got, err = w.Read(ctx); err != nil {
		return fmt.Errorf("read back: %w: %w", nicfiles.ErrUnreadable, err)
	}
	if !sameWRCC(got, want) {
		return fmt.Errorf("read back other senders than were written: %w", nicfiles.ErrNotKept)
	}
	return nil
}

func sameWRCC(x, y *wrcc.NICConfig) bool {
	return x.Domain == y.Domain && x.T1Us == y.T1Us && x.MinRateMbps == y.MinRateMbps && x.Increase == y.Increase &&
		slices.EqualFunc(x.Senders, y.Senders, func(s, t wrcc.SenderWeight) bool {
			return s.Name == t.Name && s.Weight == t.Weight && slices.Equal(s.Peers, t.Peers)
		})
}

// sweepCard reads a card, records changes, and sets lost values again.
func (a *Agent) sweepCard(ctx context.Context, c *card) error {
	if c.nic().Device == nil {
		return nil
	}
	nv, err := a.queryNV(ctx, c, func() bool { return a.staleNV(c) || !a.listed(c) })
	if err != nil {
		return err
	}
	if err := acquire(ctx, c.lock); err != nil {
		return err
	}
	lost, err := a.readCard(ctx, c, nv)
	release(c.lock)
	if err != nil || !lost || a.o.Passive {
		return err
	}
	if err := acquire(ctx, a.sets); err != nil {
		return err
	}
	defer release(a.sets)
	if err := acquire(ctx, c.lock); err != nil {
		return err
	}
	defer release(c.lock)
	if a.lost(c) {
		a.setAgain(ctx, c)
	}
	return nil
}

// readCard reads a card and records changes and whether something may have to be set again. The caller holds the card's
// lock.
func (a *Agent) readCard(ctx context.Context, c *card, nv *answerNV) (lost bool, err error) {
	nv = a.current(c, nv)
	first := c.keys == nil
	var changed []nicparam.Key
	if a.listed(c) {
		changed, err = a.reread(ctx, c)
	} else {
		changed, err = a.discover(ctx, c, nv)
	}
	if err != nil {
		return false, err
	}
	if nv != nil {
		a.noteStages(c, nv)
		changed = append(changed, a.observe(c, c.staged(nv, func(nicparam.Key) bool { return false }))...)
	}
	if first { // the first reading is no change, except where managers set something else
		changed = a.differing(c)
	}
	lost = a.lost(c)
	a.judge(c, changed, lost)
	a.links(ctx, c)
	return lost, nil
}

// differing lists the parameters of a card that differ from what managers set.
func (a *Agent) differing(c *card) []nicparam.Key {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var out []nicparam.Key
	for _, s := range a.memory.of(c.nic().identity()).Desired {
		if i, ok := c.find(s.Key); !ok || c.values[i].err != nil || c.values[i].v != s.Value {
			out = append(out, s.Key)
		}
	}
	return out
}

// lost reports whether values that last only until a reload, a reset or a reboot may be lost.
func (a *Agent) lost(c *card) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.memory.Cards[c.nic().identity()]
	if m == nil || c.nic().Device == nil {
		c.reapply.lost = false
		return false
	}
	c.reapply.lost = m.Boot != a.boot || m.Incarnation != c.nic().Incarnation
	return c.reapply.lost
}

// setAgain sets lost values, unless the pause after a failure lasts. The caller holds sets and the card's lock.
func (a *Agent) setAgain(ctx context.Context, c *card) {
	now := a.o.Now()
	a.mu.Lock()
	c.reapply.begin([2]string{a.boot, c.nic().Incarnation}, a.memory.of(c.nic().identity()).Again)
	a.mu.Unlock()
	if !c.reapply.next.IsZero() && now.Before(c.reapply.next) {
		return
	}
	wrote, err := a.reset(ctx, c)
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	r, m := &c.reapply, a.memory.of(c.nic().identity()).clone()
	r.time = now
	if err != nil {
		pause := firstPause << min(r.attempts, 16)
		r.attempts, r.next, r.problem = r.attempts+1, now.Add(min(pause, longestPause)), err.Error()
		m.Again = r.again()
	} else {
		if wrote {
			r.count++
		}
		r.attempts, r.next, r.problem, r.lost = 0, time.Time{}, "", false
		m.Boot, m.Incarnation, m.Name, m.Again = a.boot, c.nic().Incarnation, c.nic().Name, nil
	}
	a.memory.Cards[c.nic().identity()] = m
	a.memory.Generation++
	attempts := r.attempts
	a.mu.Unlock()
	if err != nil {
		a.log.Warn("set lost values again", "nic", c.nic().Name, "attempts", attempts, "error", err)
	} else {
		a.log.Info("set lost values again", "nic", c.nic().Name, "written", wrote)
	}
	a.Changed(nicyang.NIC(c.nic().Name).Child("reapply"), nicyang.AgentState())
}

// reset writes the run-time values that managers set. A parameter that the host no longer offers is an error, but does
// not block the others.
func (a *Agent) reset(ctx context.Context, c *card) (wrote bool, err error) {
	a.mu.RLock()
	m := a.memory.of(c.nic().identity()).clone()
	a.mu.RUnlock()
	var todo []nicparam.Setting
	var errs []error
	for _, s := range m.Desired {
		i, ok := c.find(s.Key)
		switch {
		case c.reapply.params[s.Key]:
		case !ok:
			errs = append(errs, fmt.Errorf("%s: %w now", s.Key, nicfiles.ErrAbsent))
		case c.values[i].by.Persistence() == nicparam.Runtime:
			todo = append(todo, s)
		}
	}
	for some := range slices.Chunk(todo, nicparam.MaxSet) {
		did, err := a.resetParams(ctx, c, some)
		wrote, errs = wrote || did, append(errs, err)
	}
	for _, port := range slices.Sorted(maps.Keys(m.WRCC)) {
		w := m.WRCC[port]
		p, ok := c.nic().port(port)
		switch {
		case w.Desired == nil || c.reapply.wrcc[port]:
		case !ok || p.WRCC == nil:
			errs = append(errs, fmt.Errorf("port %d wrcc: %w now", port, nicfiles.ErrAbsent))
		default:
			if err := writeWRCC(ctx, p.WRCC, w.Desired); err != nil {
				errs = append(errs, fmt.Errorf("port %d wrcc: %w", port, err))
				continue
			}
			wrote, c.reapply.wrcc[port] = true, true
			a.mu.Lock()
			c.wrcc[port] = outcome{word: "verified"}
			a.mu.Unlock()
			a.Changed(nicyang.WRCC(c.nic().Name, port))
		}
	}
	return wrote, errors.Join(errs...)
}

// resetParams writes run-time values. A value that the device rejects is an error, but does not block the others.
func (a *Agent) resetParams(ctx context.Context, c *card, todo []nicparam.Setting) (wrote bool, err error) {
	receipt, err := c.nic().Device.Set(ctx, todo)
	wrote = a.noteReceipt(c, receipt, err == nil)
	if err == nil {
		for _, s := range todo {
			c.reapply.params[s.Key] = true
		}
		return wrote, nil
	}
	failed := map[nicparam.Key]bool{}
	if receipt != nil {
		for i := range receipt.Fields {
			f := &receipt.Fields[i]
			failed[f.Key] = f.Err != nil
			if f.NotRestored != nil {
				return wrote, err // the device does not take writes: retried later
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(todo), func(s nicparam.Setting) bool { return failed[s.Key] })
	if len(rest) == 0 || len(rest) == len(todo) || ctx.Err() != nil {
		return wrote, err
	}
	more, others := a.resetParams(ctx, c, rest)
	return wrote || more, errors.Join(err, others)
}

// noteReceipt stores the values of a device's receipt, and reports whether something was written.
func (a *Agent) noteReceipt(c *card, receipt *nicfiles.Receipt, ok bool) (wrote bool) {
	if receipt == nil {
		return false
	}
	var keys []nicparam.Key
	now := a.o.Now()
	a.mu.Lock()
	values := slices.Clone(c.values)
	for _, f := range receipt.Fields {
		o := outcome{word: string(f.Outcome)}
		now := value{v: f.Got, at: now, by: f.By}
		switch {
		case f.NotRestored != nil:
			o = outcome{"not-restored", f.NotRestored.Error()}
		case f.Err != nil:
			o.problem = f.Err.Error()
		}
		if !ok {
			now.v = f.Before
		}
		wrote = wrote || f.Outcome == nicfiles.Verified
		c.outcomes[f.Key] = o
		if i, known := c.find(f.Key); known && f.NotRestored == nil {
			now.acting = values[i].acting
			values[i] = now
		}
		keys = append(keys, f.Key)
		if f.By == nicparam.NV {
			c.nvAt = time.Time{} // the stages have changed
			c.nvTurn++
		}
	}
	c.values = values
	a.mu.Unlock()
	a.Changed(paramPaths(c.nic().Name, keys)...)
	return wrote
}
