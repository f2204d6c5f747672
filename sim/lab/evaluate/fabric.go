package evaluate

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// speed draws the rate of host links. Slow rates are more frequent.
func (d *drawing) speed(plane policy.Plane) quantity.BitRate {
	rates := []quantity.BitRate{10, 10, 10, 25, 25, 25, 40, 50, 100}
	if plane == policy.PlaneRoCE {
		rates = []quantity.BitRate{25, 25, 25, 25, 25, 40, 40, 50, 100}
	}
	return rates[d.speeds.Uint64n(uint64(len(rates)))] * quantity.Gbps
}

// drawAny draws any fabric, with its senders and receivers.
func (d *drawing) drawAny(w topogen.Wire) error {
	both := d.chance(6)
	var err error
	switch d.rng.Uint64n(5) {
	case 0:
		err = d.drawStar(w)
	case 1:
		err = d.drawDumbbell(w)
	case 2, 3:
		err = d.drawLeafSpine(w)
	default:
		err = d.drawFatTree(w)
	}
	if err != nil {
		return fmt.Errorf("draw a fabric: %w", err)
	}
	if both && len(d.receivers) > 1 {
		d.senders = append(d.senders, d.receivers...)
		d.shuffle(d.senders)
	}
	return nil
}

// ports returns the hosts' ports in the order of the fabric.
func ports(f *subnet.Fabric) []ident.PortID {
	var out []ident.PortID
	for _, h := range f.Hosts() {
		out = append(out, f.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	return out
}

func (d *drawing) drawStar(w topogen.Wire) (err error) {
	n := d.between(8, 32)
	d.fabric, err = topogen.Star(n, w)
	if err != nil {
		return err
	}
	d.kind = fmt.Sprintf("star %d", n)
	d.split(ports(d.fabric), d.between(1, maxReceivers))
	return nil
}

// split divides the hosts into receivers and senders, in random order.
func (d *drawing) split(all []ident.PortID, receivers int) {
	d.shuffle(all)
	d.receivers, d.senders = all[:receivers:receivers], all[receivers:]
}

func (d *drawing) drawDumbbell(w topogen.Wire) (err error) {
	left, right := d.between(4, 24), d.between(4, 24)
	core := w.Rate * quantity.BitRate(d.between(1, 2))
	d.fabric, err = topogen.Dumbbell(topogen.DumbbellOptions{Left: left, Right: right, Wire: w, CoreRate: core})
	if err != nil {
		return err
	}
	d.kind = fmt.Sprintf("dumbbell %d+%d", left, right)
	all := ports(d.fabric)
	d.senders, d.receivers = all[:left:left], all[left:]
	d.shuffle(d.senders)
	return nil
}

func (d *drawing) drawLeafSpine(w topogen.Wire) (err error) {
	leaves, hosts, spines := d.between(2, 6), d.between(4, 16), d.between(1, 3)
	d.fabric, err = topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: leaves, HostsPerLeaf: hosts, Spines: spines, Wire: w})
	if err != nil {
		return err
	}
	d.kind = fmt.Sprintf("leaf-spine %dx%d/%d", leaves, hosts, spines)
	all := ports(d.fabric)
	if d.chance(2) {
		d.split(all, d.between(1, maxReceivers))
		return nil
	}
	// All flows use the uplinks of the sending leaves, and contend there or at the spines.
	half := leaves / 2 * hosts
	d.senders, d.receivers = all[:half:half], all[half:]
	d.shuffle(d.senders)
	return nil
}

func (d *drawing) drawFatTree(w topogen.Wire) (err error) {
	k := 4
	if d.chance(4) {
		k = 8
	}
	d.fabric, err = topogen.FatTree(topogen.FatTreeOptions{K: k, Wire: w})
	if err != nil {
		return err
	}
	d.kind = fmt.Sprintf("fat tree %d", k)
	all := ports(d.fabric)
	if d.chance(2) {
		d.split(all, d.between(1, maxReceivers))
		return nil
	}
	d.split(all, len(all)/2)
	d.receivers = d.receivers[:min(len(d.receivers), 8)]
	return nil
}
