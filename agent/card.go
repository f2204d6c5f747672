package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
)

// card is one card of the host. Its lock is held while its parameters are read or written; the agent's mu guards the
// fields.
type card struct {
	lock chan struct{}

	now      atomic.Pointer[NIC] // replaced by sweeps, never changed
	keys     []nicparam.Key      // what the host offers, by port, name and index
	values   []value             // of keys; replaced after each reading, never changed, since answers still read it
	found    discovery
	querying chan struct{} // held during a query of the non-volatile configuration, without any other lock
	nvAt     time.Time     // when stages were read
	nvTurn   uint64        // changes with nvAt: an answer to an earlier query is then stale
	stages   stages        // of the non-volatile configuration; nil without one
	outcomes map[nicparam.Key]outcome
	wrcc     map[int]outcome // by port
	links    map[int]Link
	meters   map[int]*meter
	reapply  reapply
}

// value is the known state of a parameter.
type value struct {
	v   uint64
	at  time.Time
	by  nicparam.Backend
	err error
	// acting is the value that acts now while a pod holds a virtual function, if it is not v; nil otherwise.
	acting *uint64
}

// discovery records when, and for which card, all parameters on offer were determined.
type discovery struct {
	device      *nicfiles.Device
	incarnation string
	at          time.Time // zero: again at the next sweep
}

// rediscover is the lifetime of the list of parameters on offer, without a sign of change. Determining it queries all
// back ends, including the non-volatile configuration, which takes seconds.
const rediscover = 10 * time.Minute

// listed reports whether the list of parameters on offer is current.
func (a *Agent) listed(c *card) bool {
	n, f := c.nic(), c.found
	age := a.o.Now().Sub(f.at)
	return a.o.FreshNV > 0 && !f.at.IsZero() && f.device == n.Device && f.incarnation == n.Incarnation && age >= 0 && age < rediscover
}

// reread reads a card's run-time parameters, and returns those that changed. The caller holds the card's lock.
func (a *Agent) reread(ctx context.Context, c *card) ([]nicparam.Key, error) {
	var keys []nicparam.Key
	for i := range c.values {
		if !c.byNV(&c.values[i]) {
			keys = append(keys, c.keys[i])
		}
	}
	found := c.nic().Device.Read(ctx, keys)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i := range found {
		if errors.Is(found[i].Err, nicfiles.ErrAbsent) {
			c.found.at = time.Time{}
		}
	}
	return a.observe(c, found), nil
}

// outcome is the result of setting a value.
type outcome struct {
	word    string
	problem string
}

// reapply is the state of setting values again after a loss.
type reapply struct {
	count, attempts uint64
	lost            bool // something may have to be set again
	time, next      time.Time
	problem         string
	// of is the boot and the incarnation of the state below: the values that are restored. Another program may have
	// changed these since; they are not written again while others are retried.
	of     [2]string
	params map[nicparam.Key]bool
	wrcc   map[int]bool
}

// begin resets the state for a new life of the card: the restored values, and the pause after a failure. remembered is
// what an earlier agent stored about this life.
func (r *reapply) begin(life [2]string, remembered *again) {
	if r.of == life {
		return
	}
	r.of, r.params, r.wrcc = life, map[nicparam.Key]bool{}, map[int]bool{}
	r.attempts, r.next = 0, time.Time{}
	if remembered == nil || life != [2]string{remembered.Boot, remembered.Incarnation} {
		return
	}
	for _, k := range remembered.Params {
		r.params[k] = true
	}
	for _, port := range remembered.WRCC {
		r.wrcc[port] = true
	}
}

// again returns the state to store while some values are not restored in this life.
func (r *reapply) again() *again {
	return &again{
		Boot: r.of[0], Incarnation: r.of[1],
		Params: slices.SortedFunc(maps.Keys(r.params), compareKeys), WRCC: slices.Sorted(maps.Keys(r.wrcc)),
	}
}

// did records restored values.
func (r *reapply) did(params []nicparam.Key, wrcc iter.Seq[int]) {
	for _, k := range params {
		r.params[k] = true
	}
	for port := range wrcc {
		r.wrcc[port] = true
	}
}

// nic returns the card as of the last sweep.
func (c *card) nic() *NIC { return c.now.Load() }

func newCard(n *NIC) *card {
	c := &card{lock: make(chan struct{}, 1), querying: make(chan struct{}, 1), outcomes: map[nicparam.Key]outcome{}, wrcc: map[int]outcome{}, links: map[int]Link{}, meters: map[int]*meter{}}
	c.now.Store(n)
	return c
}

// identity returns the card's name in the journal: another card in the same slot has a different name.
func (n *NIC) identity() string {
	if n.known != "" {
		return n.known
	}
	if n.NodeGUID != 0 {
		return n.NodeGUID.String()
	}
	return n.Name
}

// port returns a port of the card.
func (n *NIC) port(number int) (*Port, bool) {
	i := slices.IndexFunc(n.Ports, func(p Port) bool { return p.Number == number })
	if i < 0 {
		return nil, false
	}
	return &n.Ports[i], true
}

func (c *card) find(k nicparam.Key) (int, bool) {
	return slices.BinarySearchFunc(c.keys, k, compareKeys)
}

// byNV reports whether a parameter is accessed through the non-volatile configuration, whose stages are queried.
func (c *card) byNV(v *value) bool { return v.by == nicparam.NV && c.nic().NV != nil }

// discover reads everything that the host offers of a card, using nv, an answer about the non-volatile configuration, if
// not nil. It returns what changed. The caller holds the card's lock.
func (a *Agent) discover(ctx context.Context, c *card, nv *answerNV) (changed []nicparam.Key, err error) {
	n := c.nic()
	var instead []nicfiles.Accessor
	if nv != nil {
		instead = append(instead, n.NV.Answered(nv.state, nv.err))
	}
	found := n.Device.ReadAll(ctx, instead...)
	if err := ctx.Err(); err != nil {
		return nil, err // the end of the context may be the reason for failed readings
	}
	slices.SortFunc(found, func(x, y nicfiles.Reading) int { return compareKeys(x.Key, y.Key) })
	found = slices.CompactFunc(found, func(x, y nicfiles.Reading) bool { return x.Key == y.Key })
	now := a.o.Now()
	keys, values := make([]nicparam.Key, len(found)), make([]value, len(found))
	for i, r := range found {
		keys[i], values[i] = r.Key, value{r.Value, now, r.By, r.Err, r.Acting}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, k := range keys {
		if j, ok := c.find(k); !ok || differ(&c.values[j], &values[i]) {
			changed = append(changed, k)
		}
	}
	for _, k := range c.keys {
		if _, ok := slices.BinarySearchFunc(keys, k, compareKeys); !ok {
			changed = append(changed, k)
		}
	}
	if slices.Equal(c.keys, keys) {
		keys = c.keys
	}
	c.keys, c.values = keys, values
	if c.found.device != n.Device {
		c.nvAt, c.stages = time.Time{}, nil
		c.nvTurn++
	}
	c.found = discovery{n.Device, n.Incarnation, now}
	return changed, nil
}

func differ(x, y *value) bool {
	return x.v != y.v || (x.acting == nil) != (y.acting == nil) || x.acting != nil && *x.acting != *y.acting || (x.err == nil) != (y.err == nil) || x.err != nil && x.err.Error() != y.err.Error()
}

// refresh reads a card's parameters that are too old for an answer, using nv, an answer about the non-volatile
// configuration, if not nil. It returns what changed. The caller holds the card's lock.
func (a *Agent) refresh(ctx context.Context, c *card, nv *answerNV, want func(nicparam.Key) bool) (changed []nicparam.Key, err error) {
	now := a.o.Now()
	stale := make([]nicparam.Key, 0, len(c.keys))
	for i := range c.values {
		v := &c.values[i]
		if want(c.keys[i]) && !c.byNV(v) && (a.o.Fresh == 0 || now.Sub(v.at) > a.o.Fresh || now.Before(v.at)) {
			stale = append(stale, c.keys[i])
		}
	}
	var found, foundNV []nicfiles.Reading
	if len(stale) > 0 {
		found = c.nic().Device.Read(ctx, stale)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if nv = a.current(c, nv); nv != nil {
		a.noteStages(c, nv)
		foundNV = c.staged(nv, want)
	}
	return a.observe(c, found, foundNV), nil
}

// stages are the values of the non-volatile configuration by key, reduced to what answers need, since a manager of
// simulated hosts keeps thousands.
type stages []staged

// staged is a parameter's values: default, current and next.
type staged struct {
	nicparam.Key
	values [3]uint64
	has    [3]bool
}

// stageAt returns the index of a stage in staged; -1 for others.
func stageAt(s adopt.Stage) int {
	return slices.Index([]adopt.Stage{adopt.StageDefault, adopt.StageCurrent, adopt.StageNext}, s)
}

// stagesOf converts the result of a query; nil for none.
func stagesOf(s *adopt.State) stages {
	if s == nil {
		return nil
	}
	out := make(stages, 0, len(s.Settings)/3+1)
	for i := range s.Settings {
		f := &s.Settings[i]
		at := stageAt(f.Stage)
		if at < 0 {
			continue
		}
		if n := len(out); n == 0 || out[n-1].Key != f.Key { // the stages of a parameter are consecutive
			out = append(out, staged{Key: f.Key})
		}
		last := &out[len(out)-1]
		last.values[at], last.has[at] = f.Value, true
	}
	slices.SortFunc(out, func(x, y staged) int { return compareKeys(x.Key, y.Key) })
	return out
}

// value returns the value of a parameter at a stage.
func (s stages) value(k nicparam.Key, stage adopt.Stage) (uint64, bool) {
	at := stageAt(stage)
	i, ok := slices.BinarySearchFunc(s, k, func(x staged, k nicparam.Key) int { return compareKeys(x.Key, k) })
	if !ok || at < 0 || !s[i].has[at] {
		return 0, false
	}
	return s[i].values[at], true
}

// observe stores readings of a card's parameters and returns the keys of those that changed.
func (a *Agent) observe(c *card, found ...[]nicfiles.Reading) (changed []nicparam.Key) {
	if !slices.ContainsFunc(found, func(part []nicfiles.Reading) bool { return len(part) > 0 }) {
		return nil
	}
	now := a.o.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	values := slices.Clone(c.values)
	for _, part := range found {
		changed = append(changed, c.observe(values, part, now)...)
	}
	c.values = values
	return changed
}

// observe stores readings in values, which belong to the card's keys, and returns the keys of those that changed.
func (c *card) observe(values []value, found []nicfiles.Reading, now time.Time) (changed []nicparam.Key) {
	next := 0 // readings are mostly in the order of the keys
	for i := range found {
		r := &found[i]
		i, ok := next, next < len(c.keys) && c.keys[next] == r.Key
		if !ok {
			i, ok = c.find(r.Key)
		}
		if !ok {
			continue // the next sweep adds it
		}
		next = i + 1
		v := value{r.Value, now, r.By, r.Err, r.Acting}
		if r.By == "" {
			v.by = values[i].by
		}
		if differ(&values[i], &v) {
			changed = append(changed, r.Key)
		}
		values[i] = v
	}
	return changed
}

// judge compares changed values with what managers set, and returns whether the memory needs saving. The caller does not
// hold mu.
func (a *Agent) judge(c *card, changed []nicparam.Key, lost bool) {
	if len(changed) == 0 {
		return
	}
	a.mu.Lock()
	m := a.memory.of(c.nic().identity())
	a.memory.Generation++
	for _, k := range changed {
		want, set := m.Desired.value(k)
		i, ok := c.find(k)
		if !set {
			delete(c.outcomes, k)
			continue
		}
		switch {
		case !ok:
			c.outcomes[k] = outcome{"lost", fmt.Sprintf("was set to %d, and the host offers it no more", want)}
		case c.values[i].err != nil:
			c.outcomes[k] = outcome{"unverified", ""}
		case c.values[i].v == want:
			c.outcomes[k] = outcome{word: "verified"}
		case lost && c.values[i].by.Persistence() == nicparam.Runtime:
			c.outcomes[k] = outcome{"lost", fmt.Sprintf("was set to %d, and is gone after a reload, a reset or a reboot", want)}
		default:
			c.outcomes[k] = outcome{"overridden", fmt.Sprintf("was set to %d, is %d: another program changed it; set it again or delete it", want, c.values[i].v)}
		}
	}
	a.mu.Unlock()
	a.log.Info("parameters changed", "nic", c.nic().Name, "count", len(changed), "first", changed[0].String())
	a.Changed(append(paramPaths(c.nic().Name, changed), nicyang.AgentState())...)
}

// paramPaths returns the paths of parameters, or of the whole card when they are many.
func paramPaths(nic string, keys []nicparam.Key) []gnmitree.Path {
	const many = 64
	if len(keys) > many {
		return []gnmitree.Path{nicyang.NIC(nic)}
	}
	out := make([]gnmitree.Path, len(keys))
	var params gnmitree.Path // of the port of the previous key
	for i, k := range keys {
		if i == 0 || k.Port != keys[i-1].Port {
			params = nicyang.Params(nic, k.Port)
		}
		out[i] = nicyang.ParamOf(params, k)
	}
	return out
}
