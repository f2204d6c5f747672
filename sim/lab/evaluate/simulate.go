package evaluate

import (
	"context"
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Simulation is what the settings of a plan really give in the packet simulator.
type Simulation struct {
	Seed          uint64            `json:"seed"`
	SettledS      float64           `json:"settled_s"`   // simulated before counting
	SimulatedS    float64           `json:"simulated_s"` // the window that counts
	Tenants       []SimulatedTenant `json:"tenants"`     // in the order of the plan
	Links         []SimulatedLink   `json:"links"`       // contended ones, in the order of the plan
	MaxShareError float64           `json:"max_share_error"`
	PacketHops    uint64            `json:"packet_hops"` // data packets times links, all runs together
}

// SimulatedTenant is what all flows of a tenant delivered.
type SimulatedTenant struct {
	Tenant    string           `json:"tenant"`
	Delivered quantity.BitRate `json:"delivered_bps"`
	// ShareError is |delivered - entitled| / entitled.
	ShareError float64 `json:"share_error"`
	// PredictionError is |delivered - predicted| / predicted.
	PredictionError float64 `json:"prediction_error"`
	// Within says that it is not above the bound of the plan.
	Within bool `json:"within_bound"`
	// Drift is by what part of their mean the halves of the window differ: what is left of settling and chance.
	Drift float64 `json:"drift"`
	BECNs uint64  `json:"becns,omitempty"` // InfiniBand
}

// SimulatedLink is what all flows carried over one contended link of the plan.
type SimulatedLink struct {
	Port ident.PortID `json:"port"`
	Name string       `json:"name"`
	Use  float64      `json:"use"` // of its capacity
	// Before is the use by the same traffic on the fabric as it came; 0 when that was not simulated.
	Before float64 `json:"use_before,omitempty"`
}

// Options of a simulation.
type Options struct {
	Seed uint64
	// Before also simulates the same traffic on the fabric as it came.
	Before bool
	// MaxHops bounds the data packets times links that the window may take beyond its least length, whatever that costs in precision; 0
	// is no bound but that of time.
	MaxHops float64
	// LeastS is for how many seconds the window goes on whatever MaxHops, unless every rate is known well sooner.
	LeastS float64
	// Progress is told the part that is done, from 0 to 1; nil is nobody.
	Progress func(done float64)
}

// network is a simulated fabric of either kind with the flows of an input.
type network interface {
	Now() quantity.Picoseconds
	RunUntil(t quantity.Picoseconds)
	// streams lists what is counted: the parts of flows that have a way of their own.
	streams() []stream
	// delivered stores the bytes on the wire that each stream has brought to its receiver so far.
	delivered(dst []uint64)
	hops() uint64
}

// stream is the part of a flow that takes one way.
type stream struct {
	flow int // into the input's flows
	way  []subnet.PortRef
}

// Simulate runs the input's flows on a simulated fabric of the plan's plane with the plan in force, lets
// them settle for as long as its loops take, and counts what each tenant delivers. It fails when the plan does not fit the
// fabric, and when the context ends.
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

// newNetwork builds the simulated fabric with the flows of the input: with a plan in force, or without one as the
// fabric came.
func newNetwork(in *policy.Input, p *policy.Plan, seed uint64) (network, error) {
	if plane := in.Options.Plane; plane == policy.PlaneRoCE || plane == policy.PlaneWRCC {
		return newEther(in, p, seed)
	}
	return newIB(in, p, seed)
}

// run is one simulation under way.
type run struct {
	ctx   context.Context
	in    *policy.Input
	plan  *policy.Plan
	o     Options
	parts int // simulations in all
	done  int
}

// counted is what streams delivered in a window.
type counted struct {
	streams       []stream
	first, second []uint64 // bytes in the halves of the window
	seconds       float64
}

// pace is how long a simulation takes, in its own time.
type pace struct{ settle, window quantity.Picoseconds }

// before is the pace of the fabric as it came: link use needs no fine count.
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

// advance runs a network in steps, so that it can be stopped and tells how far it is.
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

// off is how far a rate is from another, relative to that; 0 when both are 0, and 1 when only the other is.
func off(x, from float64) float64 {
	switch {
	case from > 0:
		return math.Abs(x-from) / from
	case x > 0:
		return 1
	}
	return 0
}

// use returns what part of the plan's contended links the streams filled, in the order of the plan.
func (r *run) use(c *counted) []float64 {
	at := make(map[subnet.PortRef]int, len(r.plan.Links))
	for i, l := range r.plan.Links {
		if ref, ok := r.in.Fabric.PortByID(l.Port); ok {
			at[ref] = i
		}
	}
	out := make([]float64, len(r.plan.Links))
	for i, s := range c.streams {
		for _, ref := range s.way {
			if k, ok := at[ref]; ok {
				out[k] += float64(c.first[i]+c.second[i]) * 8 / c.seconds / float64(r.plan.Links[k].Capacity)
			}
		}
	}
	return out
}
