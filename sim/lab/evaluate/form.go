package evaluate

import (
	"cmp"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// Form is the form of a case's traffic.
type Form string

// Forms of traffic.
const (
	// FormAny is a random number of tenants with random hosts and queue pairs.
	FormAny Form = "any"
	// FormUnequal is one tenant with a single fast queue pair, and other tenants with many slow ones.
	FormUnequal Form = "unequal"
	// FormCrowd is crowdTenants tenants, each with its own host, that all send to one receiver.
	FormCrowd Form = "crowd"
	// FormSenders is tenants that contend for few sending ports, and also at some of the receivers.
	FormSenders Form = "senders"
)

// crowdTenants is the number of tenants with one receiver in FormCrowd.
const crowdTenants = 40

// formOf draws the form of a case: three cases of ten have a special one. It uses a separate random stream.
func formOf(seed uint64, index int) Form {
	r := sim.NewRNG(sim.Hash(seed, uint64(index), 0, 2))
	forms := [10]Form{FormUnequal, FormCrowd, FormSenders}
	return cmp.Or(forms[r.Uint64n(10)], FormAny)
}

// drawFabric draws the fabric, with its senders and receivers.
func (d *drawing) drawFabric(plane policy.Plane) error {
	w := topogen.Wire{Rate: d.speed(plane)}
	var err error
	switch d.form {
	case FormUnequal:
		err = d.drawUnequal(w)
	case FormCrowd:
		err = d.drawCrowd(w)
	case FormSenders:
		err = d.drawSenders(w)
	default:
		return d.drawAny(w)
	}
	if err != nil {
		return fmt.Errorf("draw a fabric: %w", err)
	}
	return nil
}

// drawTraffic draws hosts, weights and queue pairs of tenants in the form of the case.
func (d *drawing) drawTraffic() ([]tenants.Tenant, []tenants.Flow) {
	switch d.form {
	case FormUnequal:
		d.shared, d.even = false, false
		return d.unequalTenants()
	case FormCrowd:
		d.shared, d.even = false, false
		return d.crowdTenants()
	case FormSenders:
		d.shared = true
		return d.senderTenants()
	}
	return d.drawTenants()
}

// drawUnequal draws a star with a speed at which a single queue pair is fast.
func (d *drawing) drawUnequal(w topogen.Wire) (err error) {
	w.Rate = []quantity.BitRate{25, 50, 100, 200}[d.rng.Uint64n(4)] * quantity.Gbps
	d.fabric, err = topogen.Star(12, w)
	if err != nil {
		return err
	}
	d.kind = "star 12"
	d.split(ports(d.fabric), 1)
	return nil
}

// unequalTenants have weights of 1 to 4 and 8 to 16 queue pairs from one or two hosts, except the first, which has one queue
// pair and a weight of 1 to 6.
func (d *drawing) unequalTenants() ([]tenants.Tenant, []tenants.Flow) {
	var l tenantList
	at := 1
	for i := range d.between(2, 4) {
		if i == 0 {
			l.add(d, quantity.Weight(d.between(1, 6))*quantity.WeightOne, d.senders[:1], 1)
			continue
		}
		hosts := d.between(1, 2)
		l.add(d, quantity.Weight(d.between(1, 4))*quantity.WeightOne, d.senders[at:at+hosts], d.between(8, 16))
		at += hosts
	}
	return l.tenants, l.flows
}

// drawCrowd draws one receiver, in a star or behind the uplinks of leaves.
func (d *drawing) drawCrowd(w topogen.Wire) (err error) {
	if d.chance(2) {
		n := d.between(crowdTenants+1, 64)
		d.kind = fmt.Sprintf("star %d", n)
		d.fabric, err = topogen.Star(n, w)
	} else {
		spines := d.between(1, 3)
		d.kind = fmt.Sprintf("leaf-spine 4x16/%d", spines)
		d.fabric, err = topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 4, HostsPerLeaf: 16, Spines: spines, Wire: w})
	}
	if err != nil {
		return err
	}
	d.split(ports(d.fabric), 1)
	return nil
}

// crowdTenants have weights of 1 to 8 and one to four queue pairs from their own host.
func (d *drawing) crowdTenants() ([]tenants.Tenant, []tenants.Flow) {
	var l tenantList
	for i := range crowdTenants {
		l.add(d, quantity.Weight(d.between(1, 8))*quantity.WeightOne, d.senders[i:i+1], d.between(1, 4))
	}
	return l.tenants, l.flows
}

// drawSenders draws two to four sending hosts and at least twice as many receiving hosts.
func (d *drawing) drawSenders(w topogen.Wire) (err error) {
	senders := d.between(2, 4)
	n := senders + d.between(2*senders, 12)
	d.fabric, err = topogen.Star(n, w)
	if err != nil {
		return err
	}
	d.kind = fmt.Sprintf("star %d", n)
	d.split(ports(d.fabric), n-senders)
	return nil
}

// senderTenants send from one or two of the sending hosts.
func (d *drawing) senderTenants() ([]tenants.Tenant, []tenants.Flow) {
	var l tenantList
	for i := range d.between(2, 4*len(d.senders)) {
		from := []ident.PortID{d.senders[i%len(d.senders)]}
		if d.chance(3) {
			from = append(from, d.senders[(i+1)%len(d.senders)])
		}
		weight := d.weight()
		l.add(d, weight, from, d.queuePairs(weight))
	}
	return l.tenants, l.flows
}

// tenantList collects the tenants of a case.
type tenantList struct {
	tenants []tenants.Tenant
	flows   []tenants.Flow
}

// add adds a tenant with a number of queue pairs, distributed over its ports.
func (l *tenantList) add(d *drawing, weight quantity.Weight, from []ident.PortID, qps int) {
	i := len(l.tenants)
	t := tenants.Tenant{Name: fmt.Sprintf("tenant-%02d", i+1), Weight: weight, PKey: ident.PKey(0x8001 + i)}
	l.tenants = append(l.tenants, t)
	l.flows = append(l.flows, d.drawFlows(t.Name, from, qps)...)
}
