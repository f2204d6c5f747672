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

// Bounds of what a case holds.
const (
	minTenants, maxTenants = 2, 16
	maxQPs                 = 32 // of a tenant
	maxSenders             = 4  // hosts that a tenant sends from
	maxReceivers           = 3  // hosts that a case sends to, where they meet at the receiver
)

// Case is one random case.
type Case struct {
	Seed  uint64
	Index int
	Plane policy.Plane
	Kind  string // of the fabric, such as "dumbbell 8+8"
	Form  Form   // of the traffic
	// Shared says that tenants share sending ports.
	Shared bool
	// Even says that queue pairs are dealt out so that their rates are near each other.
	Even  bool
	Input policy.Input
}

// Traffic returns the seed of everything random that happens in the simulation of the case.
func (c *Case) Traffic() uint64 { return sim.Hash(c.Seed, uint64(c.Index), 2) }

// draws is how many times a case may be drawn anew.
const draws = 200

var errNoContention = errors.New("tenants do not meet")

// Generate draws case index of a seed for a plane; an empty plane is PlaneIB. It is a pure function. It fails for an index
// below 0 and an unknown plane.
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
		// Whether a draw serves depends on ratios only, so that all planes take the same one.
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
	return nil, fmt.Errorf("case %d: nothing suitable in %d draws", index, draws)
}

// drawing is what one draw has so far.
type drawing struct {
	rng, speeds sim.RNG
	form        Form
	fabric      *subnet.Fabric
	kind        string
	senders     []ident.PortID
	receivers   []ident.PortID
	shared      bool
	even        bool
	quarters    bool // weights in quarters
}

// between draws a whole number from low to high, both inclusive.
func (d *drawing) between(low, high int) int {
	return low + int(d.rng.Uint64n(uint64(high-low+1)))
}

// chance is true in one case of n.
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
	// The draw is made on every plane, for all that follows to be the same.
	in.Options.VLArbitration = d.chance(2) && d.shared && plane == policy.PlaneIB
	return &Case{Plane: plane, Kind: d.kind, Form: d.form, Shared: d.shared, Even: d.even, Input: in}, nil
}

// drawTenants gives tenants hosts, weights and queue pairs.
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

// weight draws 1 to 16, whole or in quarters.
func (d *drawing) weight() quantity.Weight {
	if d.quarters {
		return quantity.Weight(d.between(4, 64)) * quantity.WeightOne / 4
	}
	return quantity.Weight(d.between(1, 16)) * quantity.WeightOne
}

// queuePairs draws 1 to 32; where they are even, between a half and twice as many as the weight.
func (d *drawing) queuePairs(w quantity.Weight) int {
	n := d.between(1, maxQPs)
	if d.even {
		n = int(w.Float()*(0.5+1.5*d.rng.Float64()) + 0.5)
	}
	return min(max(n, 1), maxQPs)
}

// drawFlows deals a tenant's queue pairs out to its hosts, each of which sends to one receiver.
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

// leastPart is the least part of all packet hops that the smallest tenant must have: with fewer of its
// packets a rate would not be known well enough for the effort.
const leastPart = 0.003

// suits returns errNoContention when the case shows nothing, or too little of some tenant.
func (c *Case) suits() error {
	if c.Form == FormCrowd { // all meet, and the lightest of them has enough
		return nil
	}
	in := c.Input
	in.Options.Plane = policy.PlaneIB // routes by tables: the ways of hashed flows need a network
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
