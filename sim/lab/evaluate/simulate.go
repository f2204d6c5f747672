package evaluate

import (
	"context"
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/fabric"
	"fairlane/sim/tenantnet"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Simulation is the result of a plan's settings in the packet simulator.
type Simulation struct {
	Seed          uint64            `json:"seed"`
	SettledS      float64           `json:"settled_s"`   // simulated time before the window
	SimulatedS    float64           `json:"simulated_s"` // length of the counted window
	Tenants       []SimulatedTenant `json:"tenants"`     // in the order of the plan
	Links         []SimulatedLink   `json:"links"`       // contended links, in the order of the plan
	MaxShareError float64           `json:"max_share_error"`
	PacketHops    uint64            `json:"packet_hops"` // links traversed, summed over the data packets of all runs
}

// SimulatedTenant holds the results of all flows of a tenant.
type SimulatedTenant struct {
	Tenant    string           `json:"tenant"`
	Delivered quantity.BitRate `json:"delivered_bps"`
	// ShareError is |delivered - entitled| / entitled.
	ShareError float64 `json:"share_error"`
	// PredictionError is |delivered - predicted| / predicted.
	PredictionError float64 `json:"prediction_error"`
	// Within means that the prediction error does not exceed the plan's bound.
	Within bool `json:"within_bound"`
	// Drift is the relative difference between the two halves of the window, due to incomplete settling and random variation.
	Drift float64 `json:"drift"`
	BECNs uint64  `json:"becns,omitempty"` // BECNs that the sources received; InfiniBand
}

// SimulatedLink holds the traffic of all flows over one contended link of the plan.
type SimulatedLink struct {
	Port ident.PortID `json:"port"`
	Name string       `json:"name"`
	Use  float64      `json:"use"` // fraction of the link's capacity
	// Before is the utilization by the same traffic on the unmanaged fabric; 0 if that was not simulated.
	Before float64 `json:"use_before,omitempty"`
}

// Options of a simulation.
type Options struct {
	Seed uint64
	// Before also simulates the same traffic on the unmanaged fabric.
	Before bool
	// MaxHops limits the packet hops of a window that is longer than its minimum, at the cost of precision. 0 means that only
	// the time is limited.
	MaxHops float64
	// MinSeconds is the minimum length of the window in seconds, independent of MaxHops, unless every rate is accurate earlier.
	MinSeconds float64
	// Progress receives the completed fraction, from 0 to 1; may be nil.
	Progress func(done float64)
}

// network is a simulated fabric of either kind with the flows of an input.
type network interface {
	Now() quantity.Picoseconds
	RunUntil(t quantity.Picoseconds)
	// streams returns the counted units: the parts of flows with separate paths.
	streams() []stream
	// delivered stores the bytes on the wire that each stream has delivered so far.
	delivered(dst []uint64)
	hops() uint64
}

// stream is the part of a flow on one path.
type stream struct {
	flow int // index in the input's flows
	path []subnet.PortRef
}

// Simulate runs the input's flows on a simulated fabric of the plan's plane with the plan's settings, waits until its control
// loops have settled, and counts the bytes that each tenant delivers. It returns an error if the plan does not fit the fabric,
// and when the context ends.
func Simulate(ctx context.Context, in policy.Input, p *policy.Plan, o Options) (*Simulation, error) {
	r := &run{ctx: ctx, in: &in, plan: p, o: o, parts: 1}
	if o.Progress == nil {
		r.o.Progress = func(float64) {}
	}
	if o.Before {
		r.parts = 2
	}
	n, err := newNetwork(&in, p, o.Seed)
	if err != nil {
		return nil, err
	}
	pc := paceOf(&in, p, n, &o)
	c, err := r.count(n, pc)
	if err != nil {
		return nil, err
	}
	out := &Simulation{Seed: o.Seed, SettledS: pc.settle.Seconds(), SimulatedS: pc.window.Seconds(), PacketHops: n.hops()}
	r.tenants(out, c, n)
	use := r.use(c)
	before := make([]float64, len(use))
	if o.Before {
		b, err := newNetwork(&in, nil, o.Seed)
		if err != nil {
			return nil, err
		}
		c, err := r.count(b, pc.before())
		if err != nil {
			return nil, err
		}
		before = r.use(c)
		out.PacketHops += b.hops()
	}
	for i, l := range p.Links {
		out.Links = append(out.Links, SimulatedLink{Port: l.Port, Name: l.Name, Use: use[i], Before: before[i]})
	}
	return out, nil
}

// newNetwork builds the simulated fabric with the flows of the input, with the settings of a plan, or unmanaged without one.
func newNetwork(in *policy.Input, p *policy.Plan, seed uint64) (network, error) {
	if plane := in.Options.Plane; plane == policy.PlaneRoCE || plane == policy.PlaneWRCC {
		return newEther(in, p, seed)
	}
	return newIB(in, p, seed)
}

// run is the state of a call of Simulate.
type run struct {
	ctx   context.Context
	in    *policy.Input
	plan  *policy.Plan
	o     Options
	parts int // number of simulations
	done  int
}

// counted holds the bytes that streams delivered in a window.
type counted struct {
	streams       []stream
	first, second []uint64 // bytes in the halves of the window
	seconds       float64
}

// pace holds the simulated times of a simulation.
type pace struct{ settle, window quantity.Picoseconds }

// before returns the pace for the unmanaged fabric, whose utilization needs less precision.
func (p pace) before() pace {
	return pace{min(p.settle, 100*quantity.Millisecond), min(p.window, 100*quantity.Millisecond)}
}

// count runs a network through settling and the window.
func (r *run) count(n network, p pace) (*counted, error) {
	c := &counted{streams: n.streams(), seconds: p.window.Seconds()}
	end := p.settle + p.window
	var at [3][]uint64
	for i, until := range []quantity.Picoseconds{p.settle, p.settle + p.window/2, end} {
		if err := r.advance(n, until, end); err != nil {
			return nil, err
		}
		at[i] = make([]uint64, len(c.streams))
		n.delivered(at[i])
	}
	c.first, c.second = make([]uint64, len(c.streams)), make([]uint64, len(c.streams))
	for i := range c.streams {
		c.first[i], c.second[i] = at[1][i]-at[0][i], at[2][i]-at[1][i]
	}
	r.done++
	return c, nil
}

// advance runs a network in steps, so that it can be stopped and reports its progress.
func (r *run) advance(n network, until, end quantity.Picoseconds) error {
	const steps = 50
	from := n.Now()
	for i := quantity.Picoseconds(1); i <= steps; i++ {
		if err := r.ctx.Err(); err != nil {
			return fmt.Errorf("simulate: %w", err)
		}
		n.RunUntil(from + (until-from)/steps*i)
		r.o.Progress((float64(r.done) + float64(n.Now())/float64(end)) / float64(r.parts))
	}
	n.RunUntil(until)
	return nil
}

// tenants sums the streams by tenant.
func (r *run) tenants(out *Simulation, c *counted, n network) {
	becns := make([]uint64, len(r.in.Flows))
	if ib, ok := n.(*ibNetwork); ok {
		becns = ib.becns()
	}
	first, second := make(map[string]float64), make(map[string]float64)
	for i, s := range c.streams {
		t := r.in.Flows[s.flow].Tenant
		first[t] += float64(c.first[i])
		second[t] += float64(c.second[i])
	}
	for _, t := range r.plan.Tenants {
		a, b := first[t.Tenant], second[t.Tenant]
		rate := (a + b) * 8 / c.seconds
		st := SimulatedTenant{
			Tenant: t.Tenant, Delivered: quantity.BitRate(math.Round(rate)),
			ShareError: off(rate, float64(t.Entitled)), PredictionError: off(rate, float64(t.Predicted)), Drift: off(a, b),
		}
		if a+b > 0 {
			st.Drift = math.Abs(a-b) * 2 / (a + b)
		}
		st.Within = st.PredictionError <= t.Bound
		for i, f := range r.in.Flows {
			if f.Tenant == t.Tenant {
				st.BECNs += becns[i]
			}
		}
		out.MaxShareError = max(out.MaxShareError, st.ShareError)
		out.Tenants = append(out.Tenants, st)
	}
}

// off returns the relative difference of a rate to a reference. It is 0 if both are 0, and 1 if only the reference is 0.
func off(x, from float64) float64 {
	switch {
	case from > 0:
		return math.Abs(x-from) / from
	case x > 0:
		return 1
	}
	return 0
}

// use returns the utilization of the plan's contended links by all streams, in the order of the plan.
func (r *run) use(c *counted) []float64 {
	at := make(map[subnet.PortRef]int, len(r.plan.Links))
	for i, l := range r.plan.Links {
		if ref, ok := r.in.Fabric.PortByID(l.Port); ok {
			at[ref] = i
		}
	}
	out := make([]float64, len(r.plan.Links))
	for i, s := range c.streams {
		for _, ref := range s.path {
			if k, ok := at[ref]; ok {
				out[k] += float64(c.first[i]+c.second[i]) * 8 / c.seconds / float64(r.plan.Links[k].Capacity)
			}
		}
	}
	return out
}

// InfiniBand returns the simulated fabric of an input with the settings of a plan, and its flows in the order of the input. It returns an
// error if the plan does not fit the fabric.
func InfiniBand(in *policy.Input, p *policy.Plan, seed uint64) (*fabric.Network, []fabric.FlowID, error) {
	n, err := newIB(in, p, seed)
	if err != nil {
		return nil, nil, err
	}
	return n.Network, n.ids, nil
}

// Ethernet is InfiniBand for the planes of Ethernet. function returns the number of a tenant's virtual function on a port; false where it
// has none.
func Ethernet(in *policy.Input, p *policy.Plan, seed uint64) (n *tenantnet.Network, function func(tenant string, port ident.PortID) (int32, bool), err error) {
	e, err := newEther(in, p, seed)
	if err != nil {
		return nil, nil, err
	}
	return e.Network, func(tenant string, port ident.PortID) (int32, bool) {
		f, ok := e.functions[tenantAt{tenant, port}]
		return f, ok
	}, nil
}
