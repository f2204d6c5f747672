package gnmi_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// fakePort is a port of a fakeAgent.
type fakePort struct {
	id         ident.PortID
	number     int
	values     map[nicparam.Key]uint64
	acts       map[nicparam.Key]uint64 // values until a firmware reset, where they differ
	unreadable map[nicparam.Key]string
	wrcc       *wrcc.NICConfig
}

// fakeAgent is a host agent without a host: module fairlane-nic over values in memory.
type fakeAgent struct {
	gnmitree.Watchers

	mu      sync.Mutex
	boot    int
	nic     string
	ports   []*fakePort
	device  map[nicparam.Key]uint64 // of the card
	reset   []string                // parameters that act after a reset
	clamp   bool
	partial bool
	extra   []gnmitree.Leaf // counters and other leaves
}

// newFakeAgent has a port with DCQCN's registers and two more parameters.
func newFakeAgent(ids ...ident.PortID) *fakeAgent {
	a := &fakeAgent{nic: "mlx5_0", reset: []string{"roce_cc_algorithm"}, device: map[nicparam.Key]uint64{{Name: "user_programmable_cc"}: 0}}
	for i, id := range ids {
		a.ports = append(a.ports, &fakePort{id: id, number: i + 1, acts: map[nicparam.Key]uint64{}, unreadable: map[nicparam.Key]string{}})
	}
	a.reboot()
	return a
}

func (a *fakeAgent) reboot() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.boot++
	for _, p := range a.ports {
		d := dcqcn.Default()
		p.values = map[nicparam.Key]uint64{{Port: p.number, Name: "roce_cc_algorithm"}: 0}
		for _, s := range nicparam.OfDCQCN(p.number, &d) {
			p.values[s.Key] = s.Value
		}
		for prio := range 8 {
			p.values[nicparam.Key{Port: p.number, Name: "prio_tc", Index: prio}] = uint64(prio)
		}
		if p.wrcc != nil {
			p.wrcc = &wrcc.NICConfig{T1Us: 24, MinRateMbps: 100, Increase: "timer"}
		}
	}
}

func (a *fakeAgent) port(id ident.PortID) *fakePort {
	i := slices.IndexFunc(a.ports, func(p *fakePort) bool { return p.id == id })
	return a.ports[i]
}

func (a *fakeAgent) Info() gnmitree.Info {
	return gnmitree.Info{Models: []gnmitree.Model{nicyang.Model()}, Module: nicyang.Module}
}

func (a *fakeAgent) Get(_ context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.leaves()
	out := make([][]gnmitree.Leaf, len(q.Paths))
	for i, p := range q.Paths {
		for _, l := range all {
			if p.Covers(l.Path) {
				out[i] = append(out[i], l)
			}
		}
	}
	return out, nil
}

func (a *fakeAgent) leaves() []gnmitree.Leaf {
	var out []gnmitree.Leaf
	state := func(at gnmitree.Path, v gnmitree.Value) { out = append(out, gnmitree.Leaf{Path: at, Value: v}) }
	state(nicyang.AgentState().Child("boot-id"), gnmitree.String(fmt.Sprint("boot-", a.boot)))
	state(nicyang.AgentState().Child("clock"), gnmitree.Uint(1_700_000_000_000_000_000))
	state(nicyang.NIC(a.nic).Child("state").Child("capability"), gnmitree.List(gnmitree.String("rate_32")))
	param := func(k nicparam.Key, v uint64, p *fakePort) {
		if p != nil && p.unreadable[k] != "" {
			state(nicyang.Param(a.nic, k).Child("state").Child("problem"), gnmitree.String(p.unreadable[k]))
			return
		}
		out = append(out, gnmitree.Leaf{Path: nicyang.ParamValue(a.nic, k), Value: gnmitree.Uint(v), Class: gnmitree.ClassConfig})
		acts := v
		if p != nil {
			if w, ok := p.acts[k]; ok {
				acts = w
				state(nicyang.Param(a.nic, k).Child("state").Child("pending-reset"), gnmitree.Bool(w != v))
			}
		}
		state(nicyang.Param(a.nic, k).Child("state").Child("value"), gnmitree.Uint(acts))
	}
	for k, v := range a.device {
		param(k, v, nil)
	}
	for _, p := range a.ports {
		at := nicyang.Port(a.nic, p.number).Child("state")
		state(at.Child("id"), gnmitree.String(p.id.String()))
		state(at.Child("speed-mbps"), gnmitree.Uint(100_000))
		var names []gnmitree.Value
		seen := map[string]bool{}
		for k, v := range p.values {
			param(k, v, p)
			if !seen[k.Name] && !slices.Contains(a.reset, k.Name) {
				seen[k.Name] = true
				names = append(names, gnmitree.String(k.Name))
			}
		}
		state(at.Child("runtime-parameter"), gnmitree.List(names...))
		if len(p.values) > 0 {
			var reset []gnmitree.Value
			for _, r := range a.reset {
				reset = append(reset, gnmitree.String(r))
			}
			state(at.Child("reset-parameter"), gnmitree.List(reset...))
		}
		if p.wrcc != nil {
			state(at.Child("wrcc-senders"), gnmitree.Uint32(64))
			out = append(out, nicyang.WRCCLeaves(a.nic, p.number, p.wrcc)...)
		}
	}
	return append(out, a.extra...)
}

// Set executes all operations or none.
func (a *fakeAgent) Set(_ context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var failures []nicyang.Failure
	var set []func()
	for i, o := range ops {
		t, err := nicyang.Parse(o.Path)
		if err != nil {
			return gnmitree.Result{}, gnmitree.Errorf(codes.InvalidArgument, "%v", err)
		}
		if t.Part == nicyang.PartWRCC {
			set = append(set, a.senders(t, o))
			continue
		}
		v, err := o.Value.AsUint()
		if err != nil || t.Part != nicyang.PartParam {
			return gnmitree.Result{}, gnmitree.Errorf(codes.InvalidArgument, "%s: %v", o.Path, err)
		}
		if row, _ := nicparam.New(nicparam.Caps{}).Find(t.Key.Name); row == nil || !row.Legal(v) {
			failures = append(failures, nicyang.Failure{Reason: nicyang.ReasonInvalid, Path: o.Path.String(), NIC: t.NIC, Key: t.Key, Text: fmt.Sprintf("%s: found %d, want another", t.Key, v)})
		}
		if a.partial && i >= len(ops)/2 {
			continue
		}
		set = append(set, func() { a.put(t.Key, v) })
	}
	if len(failures) > 0 {
		return gnmitree.Result{}, nicyang.StatusError(codes.InvalidArgument, "nothing was set", failures)
	}
	for _, f := range set {
		f()
	}
	a.partial = false
	return gnmitree.Result{}, nil
}

func (a *fakeAgent) put(k nicparam.Key, v uint64) {
	if a.clamp && k.Name == drivertest.ClampedParam {
		v = min(v, drivertest.ClampedValue)
	}
	if k.Port == 0 {
		a.device[k] = v
		return
	}
	p := a.ports[k.Port-1]
	if _, pending := p.acts[k]; !pending && slices.Contains(a.reset, k.Name) {
		p.acts[k] = p.values[k]
	}
	p.values[k] = v
}

// senders replaces the WRCC configuration.
func (a *fakeAgent) senders(t nicyang.Target, o gnmitree.Operation) func() {
	c := &wrcc.NICConfig{}
	leaves, err := gnmitree.Flatten(o.Path, o.Value, nicyang.Schema())
	if err != nil {
		panic(err)
	}
	for _, l := range leaves {
		if to, err := nicyang.Parse(l.Path); err == nil && to.Leaf != "" {
			if err := nicyang.SetWRCC(c, to, l.Value); err != nil {
				panic(err)
			}
		}
	}
	return func() { a.ports[t.Key.Port-1].wrcc = c }
}

// agentFaults injects the faults of package drivertest into fake agents.
type agentFaults struct {
	faults

	agents map[string]*fakeAgent
}

func (f agentFaults) of(d driver.Device) *fakeAgent { return f.agents[host(d)] }

func (f agentFaults) TrueState(d driver.Device) driver.Settings {
	a := f.of(d)
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &driver.NICState{}
	p := a.port(d.ID)
	for k, v := range p.values {
		s.Params = append(s.Params, driver.NICParam{Name: k.Name, Index: k.Index, Value: v})
	}
	for k, v := range a.device {
		s.Params = append(s.Params, driver.NICParam{Name: k.Name, Index: k.Index, Value: v})
	}
	s.Sort()
	if p.wrcc != nil {
		s.WRCC = p.wrcc.Clone()
	}
	return driver.Settings{NIC: s}
}

func (f agentFaults) Put(d driver.Device, s driver.Settings) {
	a := f.of(d)
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.port(d.ID)
	for _, v := range s.NIC.Params {
		k := nicparam.Key{Port: p.number, Name: v.Name, Index: v.Index}
		if _, ok := p.values[k]; ok {
			p.values[k] = v.Value
		}
	}
	if s.NIC.WRCC != nil {
		p.wrcc = s.NIC.WRCC.Clone()
	}
}

func (f agentFaults) Reboot(d driver.Device) { f.of(d).reboot() }
func (f agentFaults) Partial(d driver.Device) {
	a := f.of(d)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.partial = true
}
func (f agentFaults) Clamp(d driver.Device) { f.clamp(d, true) }
func (f agentFaults) clamp(d driver.Device, on bool) {
	a := f.of(d)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clamp = on
}
func (f agentFaults) Heal(d driver.Device) {
	f.clamp(d, false)
	f.faults.Heal(d)
}

func keyOf(port int, name string, index int) nicparam.Key {
	return nicparam.Key{Port: port, Name: name, Index: index}
}

// count adds the leaves of a counter; with an empty value it adds the problem.
func (a *fakeAgent) count(at gnmitree.Path, leaf, value, problem string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at = at.Child("state")
	add := func(name string, v gnmitree.Value) {
		a.extra = append(a.extra, gnmitree.Leaf{Path: at.Child(name), Value: v, Sampled: true})
	}
	if problem != "" {
		add("problem", gnmitree.String(problem))
	}
	if n, err := strconv.ParseUint(value, 10, 64); err == nil {
		add(leaf, gnmitree.Uint(n))
	} else if value != "" {
		add(leaf, gnmitree.String(value))
	}
}
