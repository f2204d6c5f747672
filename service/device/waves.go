package device

import (
	"cmp"
	"fmt"

	"fairlane/ccconfig/driver"
	"fairlane/internal/disjoint"
	"fairlane/subnet"
)

// Domain is a kind of failure domain: devices that fail together, and so should not be written before others have shown
// that the settings are good.
type Domain string

// Domains.
const (
	DomainLeaf Domain = "leaf" // the hosts of one leaf switch; every switch by itself
	DomainPod  Domain = "pod"  // a component of the fabric without its topmost switches
	DomainNone Domain = "none" // no domains: waves are divided by number only
)

// Domains lists the domains.
func Domains() []Domain { return []Domain{DomainLeaf, DomainPod, DomainNone} }

// WaveOptions bound the waves of a rollout. Zero fields take the default in their comment.
type WaveOptions struct {
	Canary int    // devices of each kind written first, alone; default 1
	Wave   int    // maximum number of devices in a wave; default 1024
	Domain Domain // default DomainLeaf
}

// Step is one wave: the indices of its targets in the order of writing.
type Step struct {
	Canary  bool
	Targets []int
}

// PlanWaves divides targets, sorted by device, into waves: the kinds one after the other in the safe order (see the
// package comment), each with its canaries first. Then follow whole failure domains: one, two, four and so on, up to
// WaveOptions.Wave devices; a larger domain is divided. The result depends on the arguments only. An option out of range
// is an error.
func PlanWaves(targets []Target, f *subnet.Fabric, o WaveOptions) ([]Step, error) {
	switch {
	case o.Canary < 0 || o.Canary > MaxTargets:
		return nil, fmt.Errorf("rollout option canary: %d, want 0 to %d", o.Canary, MaxTargets)
	case o.Wave < 0 || o.Wave > MaxTargets:
		return nil, fmt.Errorf("rollout option wave: %d, want 0 to %d", o.Wave, MaxTargets)
	}
	o.Canary, o.Wave = cmp.Or(o.Canary, 1), cmp.Or(o.Wave, 1024)
	domain, err := domainOf(f, o.Domain)
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, kind := range kinds(targets) {
		n := min(o.Canary, len(kind))
		if n > 0 {
			steps = append(steps, Step{Canary: true, Targets: kind[:n]})
		}
		steps = append(steps, grow(groups(targets, kind[n:], domain), o.Wave)...)
	}
	return steps, nil
}

// kinds returns the indices of adapters and switches in the order in which they are written.
func kinds(targets []Target) [2][]int {
	var cas, switches []int
	marks, fair := false, false
	for i := range targets {
		fair = fair || targets[i].Device.Plane == driver.PlaneWRCC
		if targets[i].Device.Kind == subnet.KindSwitch {
			switches = append(switches, i)
			marks = marks || targets[i].Want.Marks()
		} else {
			cas = append(cas, i)
		}
	}
	switch {
	case fair:
		// Switches make room for the weights before senders have any; the earlier fair rates lose no packet.
		return [2][]int{switches, cas}
	case marks:
		return [2][]int{cas, switches}
	}
	// The plan turns marking off: end marking before the adapters stop to react.
	return [2][]int{switches, cas}
}

// groups groups targets by domain, with domains in the order of their first target.
func groups(targets []Target, list []int, domain func(*Target) int32) [][]int {
	at := map[int32]int{}
	var out [][]int
	for _, i := range list {
		d := domain(&targets[i])
		g, ok := at[d]
		if !ok || d < 0 {
			g = len(out)
			at[d] = g
			out = append(out, nil)
		}
		out[g] = append(out[g], i)
	}
	return out
}

// grow makes waves of 1, 2, 4, ... groups with at most most targets each.
func grow(groups [][]int, most int) []Step {
	var steps []Step
	for take := 1; len(groups) > 0; take *= 2 {
		var w []int
		for k := 0; k < take && len(groups) > 0; k++ {
			g := groups[0]
			if len(w)+len(g) > most && len(w) > 0 {
				break
			}
			n := min(len(g), most)
			w = append(w, g[:n]...)
			if groups[0] = g[n:]; len(groups[0]) == 0 {
				groups = groups[1:]
			}
		}
		steps = append(steps, Step{Targets: w})
	}
	return steps
}

// domainOf returns the function that numbers a target's domain; a negative number means a domain of its own.
func domainOf(f *subnet.Fabric, d Domain) (func(*Target) int32, error) {
	switch d {
	case DomainNone:
		return func(*Target) int32 { return -1 }, nil
	case DomainPod:
		pods := podsOf(f)
		return func(t *Target) int32 { return pods(nodeOf(f, t)) }, nil
	case DomainLeaf, "":
		return func(t *Target) int32 {
			ref, ok := f.PortByID(t.Device.ID)
			if !ok || t.Device.Kind == subnet.KindSwitch {
				return -1
			}
			if peer, ok := f.Peer(ref); ok {
				return peer.Node
			}
			return -1
		}, nil
	}
	return nil, fmt.Errorf("rollout option domain: %q, want one of %q", d, Domains())
}

func nodeOf(f *subnet.Fabric, t *Target) int32 {
	n, ok := f.NodeByGUID(t.Device.ID.Node)
	if !ok {
		return -1
	}
	return n
}

// podsOf returns a function that numbers the components of the fabric without its topmost switches; each topmost switch
// is a pod of its own.
func podsOf(f *subnet.Fabric) func(int32) int32 {
	tiers := f.Tiers()
	top := 0
	for i := range f.Nodes {
		if f.Nodes[i].Kind == subnet.KindSwitch {
			top = max(top, tiers[i])
		}
	}
	sets := disjoint.New(len(f.Nodes))
	for i := range f.Links {
		a, b := f.Links[i].A.Node, f.Links[i].B.Node
		// With one tier the leaves are the only switches: without them only single hosts would remain.
		if top <= 1 || tiers[a] < top && tiers[b] < top {
			sets.Join(a, b)
		}
	}
	return func(n int32) int32 {
		if n < 0 {
			return -1
		}
		return sets.Find(n)
	}
}
