// Package plantest makes fabrics, tenants and flows for the compiler's property tests and benchmarks. Only tests import it.
package plantest

import (
	"fmt"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// Compiled compiles an input that must compile.
func Compiled(t rapid.TB, in policy.Input) *policy.Plan {
	t.Helper()
	p, err := policy.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Input draws a small fabric of one of several shapes, with up to seven tenants and up to thirty flows:
// classes, unequal rates and finite demands included.
func Input(t *rapid.T) policy.Input {
	f := Fabric(t)
	hosts := Hosts(f)
	in := policy.Input{Fabric: f}
	for i := range rapid.IntRange(1, 7).Draw(t, "tenants") {
		tn := tenants.Tenant{Name: fmt.Sprintf("t%d", i), Weight: weight(t)}
		if rapid.IntRange(0, 3).Draw(t, "classed") == 0 {
			for c := range rapid.IntRange(1, 3).Draw(t, "classes") {
				tn.Classes = append(tn.Classes, tenants.Class{Name: fmt.Sprintf("c%d", c), Weight: weight(t)})
			}
		}
		in.Tenants = append(in.Tenants, tn)
	}
	for range rapid.IntRange(1, 30).Draw(t, "flows") {
		tn := in.Tenants[rapid.IntRange(0, len(in.Tenants)-1).Draw(t, "tenant")]
		src := rapid.IntRange(0, len(hosts)-1).Draw(t, "src")
		dst := (src + rapid.IntRange(1, len(hosts)-1).Draw(t, "dst")) % len(hosts)
		fl := tenants.Flow{Tenant: tn.Name, Src: hosts[src], Dst: hosts[dst], QPs: rapid.IntRange(1, 16).Draw(t, "qps")}
		if len(tn.Classes) > 0 {
			fl.Class = tn.Classes[rapid.IntRange(0, len(tn.Classes)-1).Draw(t, "class")].Name
		}
		if rapid.IntRange(0, 4).Draw(t, "finite") == 0 {
			fl.Demand = quantity.BitRate(rapid.IntRange(1, 60).Draw(t, "demand")) * quantity.Gbps
		}
		in.Flows = append(in.Flows, fl)
	}
	return in
}

func weight(t *rapid.T) quantity.Weight {
	return quantity.Weight(rapid.SampledFrom([]int{500, 1000, 1500, 2000, 3000, 4000, 8000}).Draw(t, "weight"))
}

// Fabric draws a star, a dumbbell, S1's testbed or a leaf-spine fabric with or without
// oversubscription.
func Fabric(t *rapid.T) *subnet.Fabric {
	var f *subnet.Fabric
	var err error
	wire := topogen.Wire{Rate: 100 * quantity.Gbps}
	switch rapid.IntRange(0, 3).Draw(t, "shape") {
	case 0:
		f, err = topogen.Star(rapid.IntRange(3, 8).Draw(t, "hosts"), wire)
	case 1:
		f, err = topogen.Dumbbell(topogen.DumbbellOptions{Left: 3, Right: 3, Wire: wire,
			CoreRate: quantity.BitRate(rapid.SampledFrom([]int{25, 100, 200}).Draw(t, "core")) * quantity.Gbps})
	case 2:
		f, err = topogen.S1Testbed()
	default:
		f, err = topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: rapid.IntRange(2, 4).Draw(t, "leaves"), HostsPerLeaf: rapid.IntRange(2, 4).Draw(t, "hosts"),
			Spines: rapid.IntRange(1, 2).Draw(t, "spines"), Wire: wire})
	}
	if err != nil {
		t.Fatalf("build fabric: %v", err)
	}
	return f
}

// Hosts lists the first port of every channel adapter.
func Hosts(f *subnet.Fabric) []ident.PortID {
	var out []ident.PortID
	for _, h := range f.Hosts() {
		out = append(out, f.PortID(subnet.PortRef{Node: h, Port: 1}))
	}
	return out
}

// LargeOptions are the sizes of Large.
type LargeOptions struct {
	Leaves, HostsPerLeaf, Spines int
	Tenants, Flows               int
	Seed                         uint64
}

// Large makes a leaf-spine fabric of 100 Gbit/s whose hosts belong to one to four random tenants each,
// and flows between random hosts of one tenant. The same options give the same input.
func Large(o LargeOptions) (policy.Input, error) {
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: o.Leaves, HostsPerLeaf: o.HostsPerLeaf, Spines: o.Spines,
		Wire: topogen.Wire{Rate: 100 * quantity.Gbps}, UplinkRate: 400 * quantity.Gbps})
	if err != nil {
		return policy.Input{}, err
	}
	hosts := Hosts(f)
	r := rng(o.Seed)
	in := policy.Input{Fabric: f, Flows: make([]tenants.Flow, 0, o.Flows)}
	// A host belongs to up to four tenants, so that its port has SLs for all of them.
	member := make([][]ident.PortID, o.Tenants)
	for _, h := range hosts {
		for range 1 + r.below(4) {
			t := r.below(o.Tenants)
			member[t] = append(member[t], h)
		}
	}
	for t := range o.Tenants {
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: fmt.Sprintf("tenant-%04d", t), Weight: quantity.Weight(1000 * (1 + r.below(8)))})
	}
	for len(in.Flows) < o.Flows {
		t := r.below(o.Tenants)
		if len(member[t]) < 2 {
			continue
		}
		src, dst := member[t][r.below(len(member[t]))], member[t][r.below(len(member[t]))]
		if src != dst {
			in.Flows = append(in.Flows, tenants.Flow{Tenant: in.Tenants[t].Name, Src: src, Dst: dst, QPs: 1 + r.below(4)})
		}
	}
	return in, nil
}

// rngState is splitmix64.
type rngState struct{ s uint64 }

func rng(seed uint64) *rngState { return &rngState{seed} }

func (r *rngState) next() uint64 {
	r.s += 0x9e3779b97f4a7c15
	z := r.s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *rngState) below(n int) int { return int(r.next() % uint64(n)) }
