package evaluate

import (
	"errors"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Limits of a case.
const (
	minTenants, maxTenants = 2, 16
	maxQPs                 = 32 // queue pairs per tenant
	maxSenders             = 4  // sending hosts per tenant
	maxReceivers           = 3  // receiving hosts of a case whose tenants contend at the receiver
)

// Case is one random case for an evaluation.
type Case struct {
	Seed  uint64
	Index int
	Plane policy.Plane
	Kind  string // kind of fabric, such as "dumbbell 8+8"
	Form  Form   // form of the traffic
	// Shared means that tenants share sending ports.
	Shared bool
	// Even means that the numbers of queue pairs are such that the rates of single queue pairs are similar.
	Even  bool
	Input policy.Input
}

// Traffic returns the random seed of the case's simulation.
func (c *Case) Traffic() uint64 { return sim.Hash(c.Seed, uint64(c.Index), 2) }

// draws is the largest number of draws of a case.
const draws = 200

var errNoContention = errors.New("tenants do not contend")

// Generate draws case index of a seed for a plane; an empty plane is PlaneIB. It is a pure function. It returns an error for an
// index below 0 and an unknown plane.
func Generate(seed uint64, index int, plane policy.Plane) (*Case, error) {
	if plane == "" {
		plane = policy.PlaneIB
	}
	if plane != policy.PlaneIB && plane != policy.PlaneRoCE && plane != policy.PlaneWRCC {
		return nil, fmt.Errorf("plane %q: want %q, %q or %q", plane, policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC)
	}
	if index < 0 {
		return nil, fmt.Errorf("case %d: want 0 or more", index)
	}
	for draw := range uint64(draws) {
		// The suitability of a draw depends on ratios only, so all planes accept the same draw.
		d := drawing{
			rng: sim.NewRNG(sim.Hash(seed, uint64(index), draw)), speeds: sim.NewRNG(sim.Hash(seed, uint64(index), draw, 1)),
			form: formOf(seed, index),
		}
		c, err := d.draw(plane)
		if err != nil {
			return nil, fmt.Errorf("case %d: %w", index, err)
		}
		c.Seed, c.Index = seed, index
		err = c.suits()
		if errors.Is(err, errNoContention) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("case %d: %w", index, err)
		}
		if plane != policy.PlaneIB {
			if c.Input.Routes, err = Routes(&c.Input, c.Traffic()); err != nil {
				return nil, fmt.Errorf("case %d: %w", index, err)
			}
		}
		return c, nil
	}
	return nil, fmt.Errorf("case %d: no suitable case in %d draws", index, draws)
}

// drawing is the state of one draw.
type drawing struct {
	rng, speeds sim.RNG
	form        Form
	fabric      *subnet.Fabric
	kind        string
	senders     []ident.PortID
	receivers   []ident.PortID
	shared      bool
	even        bool
	quarters    bool // weights are multiples of a quarter
}

// between draws a whole number from low to high, inclusive.
func (d *drawing) between(low, high int) int {
	return low + int(d.rng.Uint64n(uint64(high-low+1)))
}

// chance returns true with probability 1/of.
func (d *drawing) chance(of int) bool { return d.rng.Uint64n(uint64(of)) == 0 }

func (d *drawing) shuffle(ports []ident.PortID) {
	for i := len(ports) - 1; i > 0; i-- {
		j := d.rng.Uint64n(uint64(i + 1))
		ports[i], ports[j] = ports[j], ports[i]
	}
}

func (d *drawing) draw(plane policy.Plane) (*Case, error) {
	if err := d.drawFabric(plane); err != nil {
		return nil, err
	}
	d.shared, d.even, d.quarters = d.chance(5), d.rng.Uint64n(10) < 6, d.chance(4)
	ts, flows := d.drawTraffic()
	in := policy.Input{Fabric: d.fabric, Tenants: tenants.Attach(ts, flows), Flows: flows, Options: policy.Options{Plane: plane}}
	// All planes make this draw, so that the following draws are equal on all planes.
	in.Options.VLArbitration = d.chance(2) && d.shared && plane == policy.PlaneIB
	return &Case{Plane: plane, Kind: d.kind, Form: d.form, Shared: d.shared, Even: d.even, Input: in}, nil
}

// drawTenants draws hosts, weights and queue pairs of tenants.
func (d *drawing) drawTenants() ([]tenants.Tenant, []tenants.Flow) {
	most := min(maxTenants, len(d.senders))
	if d.shared {
		most = maxTenants
	}
	count := d.between(minTenants, max(minTenants, most))
	pool := d.senders
	if d.shared {
		pool = pool[:max(2, min(len(pool), count*2/3))]
	}
	var l tenantList
	next := 0
	for i := range count {
		weight := d.weight()
		hosts := d.between(1, min(maxSenders, max(1, (len(pool)-next)/(count-i))))
		var from []ident.PortID
		if d.shared {
			hosts = d.between(1, min(2, len(pool)))
			at := d.between(0, len(pool)-1)
			for k := range hosts {
				from = append(from, pool[(at+k)%len(pool)])
			}
		} else {
			from = pool[next : next+hosts]
			next += hosts
		}
		l.add(d, weight, from, d.queuePairs(weight))
	}
	return l.tenants, l.flows
}

// weight draws a weight from 1 to 16, whole or in quarters.
func (d *drawing) weight() quantity.Weight {
	if d.quarters {
		return quantity.Weight(d.between(4, 64)) * quantity.WeightOne / 4
	}
	return quantity.Weight(d.between(1, 16)) * quantity.WeightOne
}

// queuePairs draws 1 to 32; in even cases, between half and twice the weight.
func (d *drawing) queuePairs(w quantity.Weight) int {
	n := d.between(1, maxQPs)
	if d.even {
		n = int(w.Float()*(0.5+1.5*d.rng.Float64()) + 0.5)
	}
	return min(max(n, 1), maxQPs)
}

// drawFlows distributes a tenant's queue pairs over its hosts, each of which sends to one receiver.
func (d *drawing) drawFlows(tenant string, from []ident.PortID, qps int) []tenants.Flow {
	var out []tenants.Flow
	from = from[:min(len(from), qps)]
	for i, src := range from {
		n := qps / len(from)
		if i < qps%len(from) {
			n++
		}
		at := d.between(0, len(d.receivers)-1)
		if d.receivers[at] == src {
			at = (at + 1) % len(d.receivers)
		}
		out = append(out, tenants.Flow{Tenant: tenant, Src: src, Dst: d.receivers[at], QPs: n})
	}
	return out
}

// leastPart is the minimum fraction of all packet hops for the smallest tenant: with fewer packets its rate would not be
// accurate enough for the effort.
const leastPart = 0.003

// suits returns errNoContention if the case has no contention, or too little traffic of some tenant.
func (c *Case) suits() error {
	if c.Form == FormCrowd { // all tenants contend, and the lightest has enough traffic
		return nil
	}
	in := c.Input
	in.Options.Plane = policy.PlaneIB // routes by forwarding tables, because hashed paths would need a network
	target, err := policy.Entitle(in)
	if err != nil {
		return fmt.Errorf("entitlements: %w", err)
	}
	paths, err := policy.Paths(in.Fabric, in.Flows)
	if err != nil {
		return fmt.Errorf("paths: %w", err)
	}
	if len(target.Links) == 0 {
		return errNoContention
	}
	of := make(map[string]float64, len(in.Tenants))
	hops := 0.0
	for i, e := range target.Flows {
		of[in.Flows[i].Tenant] += float64(e.Rate)
		hops += float64(e.Rate) * float64(len(paths[i]))
	}
	for _, t := range in.Tenants {
		if of[t.Name] < leastPart*hops {
			return errNoContention
		}
	}
	return nil
}
