package evaluate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Cases are as documented on every plane, and have the same fabric and traffic on all planes.
func TestCasesAreAsDocumented(t *testing.T) {
	t.Parallel()
	const cases = 150
	shared, even, quarters, forms := 0, 0, 0, make(map[Form]int)
	kinds := make(map[string]int)
	for i := range cases {
		var first *Case
		for _, plane := range policy.Planes() {
			c, err := Generate(42, i, plane)
			if err != nil {
				t.Fatal(err)
			}
			checkCase(t, c)
			if first == nil {
				first = c
				continue
			}
			if c.Kind != first.Kind || c.Shared != first.Shared || len(c.Input.Flows) != len(first.Input.Flows) {
				t.Errorf("case %d is not the same on %s: %+v", i, plane, c)
			}
			for k := range c.Input.Flows {
				if c.Input.Flows[k] != first.Input.Flows[k] {
					t.Errorf("case %d: flow %d differs between planes", i, k)
				}
			}
		}
		kinds[first.Kind[:4]]++
		forms[first.Form]++
		if first.Shared {
			shared++
		}
		if first.Even {
			even++
		}
		for _, x := range first.Input.Tenants {
			if x.Weight%quantity.WeightOne != 0 {
				quarters++
				break
			}
		}
	}
	// The limits are five standard deviations of a binomial distribution with probability a quarter, a half, and nearly a
	// quarter.
	if shared < 10 || shared > 64 || even < 45 || even > 110 || quarters < 10 || quarters > 64 {
		t.Errorf("of %d cases, %d share ports, %d are even, and %d have fractional weights", cases, shared, even, quarters)
	}
	for _, f := range []Form{FormUnequal, FormCrowd, FormSenders} {
		if forms[f] < 3 || forms[f] > 34 {
			t.Errorf("forms: %v, want about a tenth of %q", forms, f)
		}
	}
	if len(kinds) != 4 {
		t.Errorf("kinds of fabrics: %v, want four", kinds)
	}
}

func checkCase(t *testing.T, c *Case) {
	t.Helper()
	in := &c.Input
	if n := len(in.Fabric.Hosts()); n < 6 || n > 128 {
		t.Errorf("case %d: %d hosts", c.Index, n)
	}
	if n := len(in.Tenants); n < minTenants || n > maxTenants && c.Form != FormCrowd {
		t.Errorf("case %d: %d tenants", c.Index, n)
	}
	checkForm(t, c)
	qps, senders := make(map[string]int), make(map[any]string)
	for _, f := range in.Flows {
		qps[f.Tenant] += f.QPs
		if other, ok := senders[f.Src]; ok && other != f.Tenant && !c.Shared {
			t.Errorf("case %d: %s and %s both send from %s", c.Index, other, f.Tenant, f.Src)
		}
		senders[f.Src] = f.Tenant
		if f.Src == f.Dst || f.Demand != 0 {
			t.Errorf("case %d: flow %+v", c.Index, f)
		}
	}
	for _, x := range in.Tenants {
		if w := x.Weight.Float(); w < 1 || w > 16 || w*4 != float64(int(w*4)) {
			t.Errorf("case %d: %s has weight %s", c.Index, x.Name, x.Weight)
		}
		if n := qps[x.Name]; n < 1 || n > maxQPs {
			t.Errorf("case %d: %s has %d queue pairs", c.Index, x.Name, n)
		}
	}
	checkRoutes(t, c)
}

// checkForm verifies that the traffic has the form of the case.
func checkForm(t *testing.T, c *Case) {
	t.Helper()
	in := &c.Input
	receivers, senders, qps := make(map[ident.PortID]bool), make(map[ident.PortID]map[string]bool), make(map[string]int)
	for _, f := range in.Flows {
		receivers[f.Dst] = true
		if senders[f.Src] == nil {
			senders[f.Src] = make(map[string]bool)
		}
		senders[f.Src][f.Tenant] = true
		qps[f.Tenant] += f.QPs
	}
	switch c.Form {
	case FormCrowd:
		if len(in.Tenants) != 40 || len(receivers) != 1 || len(senders) != 40 {
			t.Errorf("case %d: %d tenants from %d ports to %d receivers", c.Index, len(in.Tenants), len(senders), len(receivers))
		}
	case FormUnequal:
		for i, x := range in.Tenants {
			if n := qps[x.Name]; i == 0 && n != 1 || i > 0 && n < 8 || n > 16 {
				t.Errorf("case %d: %s has %d queue pairs", c.Index, x.Name, n)
			}
		}
	case FormSenders:
		if len(senders) > 4 || !c.Shared {
			t.Errorf("case %d: %d senders, shared %v", c.Index, len(senders), c.Shared)
		}
	}
}

// checkRoutes verifies that the routes of a flow lead from its source to its destination and contain all its queue pairs.
func checkRoutes(t *testing.T, c *Case) {
	t.Helper()
	in := &c.Input
	if c.Plane == policy.PlaneIB {
		if in.Routes != nil {
			t.Errorf("case %d: InfiniBand has forwarding tables", c.Index)
		}
		return
	}
	for i, routes := range in.Routes {
		sum := 0.0
		for _, w := range routes {
			sum += w.QPs
			src, _ := in.Fabric.PortByID(in.Flows[i].Src)
			dst, _ := in.Fabric.PortByID(in.Flows[i].Dst)
			at := src
			for k, ref := range w.Path {
				if k > 0 && ref.Node != at.Node || k == 0 && ref != src {
					t.Fatalf("case %d: flow %d: path %v has a gap", c.Index, i, w.Path)
				}
				at, _ = in.Fabric.Peer(ref)
			}
			if at != dst {
				t.Errorf("case %d: flow %d: path %v ends at %v, want %v", c.Index, i, w.Path, at, dst)
			}
		}
		if sum != float64(in.Flows[i].QPs) {
			t.Errorf("case %d: flow %d: %g of %d queue pairs have a route", c.Index, i, sum, in.Flows[i].QPs)
		}
	}
}

func TestCaseDependsOnlyOnSeedAndNumber(t *testing.T) {
	t.Parallel()
	a, err := Generate(3, 5, policy.PlaneWRCC)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Generate(3, 5, policy.PlaneWRCC)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Generate(4, 5, policy.PlaneWRCC)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a, b, cmp.AllowUnexported(subnet.Fabric{}), cmp.Comparer(func(x, y *subnet.Fabric) bool {
		return x.Name == y.Name && len(x.Nodes) == len(y.Nodes) && x.Links[0] == y.Links[0]
	})); d != "" {
		t.Errorf("drawn twice: %s", d)
	}
	if a.Kind == other.Kind && cmp.Equal(a.Input.Flows, other.Input.Flows) {
		t.Error("a different seed gives the same case")
	}
}

func TestCasesOutOfRange(t *testing.T) {
	t.Parallel()
	if _, err := Generate(1, -1, policy.PlaneIB); err == nil {
		t.Error("case -1 is accepted")
	}
	if _, err := Generate(1, 0, "atm"); err == nil {
		t.Error("plane atm is accepted")
	}
	if c, err := Generate(1, 0, ""); err != nil || c.Plane != policy.PlaneIB {
		t.Errorf("no plane: %v, want InfiniBand", err)
	}
}
