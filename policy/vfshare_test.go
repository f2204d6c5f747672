package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// onOnePort is tenants of equal weights that send from one port to another.
func onOnePort(t *testing.T, inForce *policy.Plan, names ...string) *policy.Plan {
	t.Helper()
	return plantest.Compiled(t, onSharedPort(t, inForce, nil, names...))
}

// functionsOf returns the tenants of each function of the plan's first port.
func functionsOf(p *policy.Plan) string {
	var out []string
	for _, s := range p.RoCE.Functions()[p.RoCE.NICs[0].Port] {
		out = append(out, fmt.Sprintf("%d=%s", s.Function, s.Tenant))
	}
	return strings.Join(out, " ")
}

func TestTenantsKeepTheirFunctionsOfThePlanInForce(t *testing.T) {
	t.Parallel()
	p := onOnePort(t, nil, "c", "a", "b")
	for _, step := range []struct {
		what    string
		tenants []string
		want    string
		bare    string // without a plan in force
	}{
		{"nothing changes", []string{"a", "b", "c"}, "0=a 1=b 2=c", "0=a 1=b 2=c"},
		{"the first one leaves", []string{"b", "c"}, "1=b 2=c", "0=b 1=c"},
		{"two are added", []string{"b", "c", "aa", "z"}, "0=aa 1=b 2=c 3=z", "0=aa 1=b 2=c 3=z"},
		{"one tenant on the port", []string{"z"}, "", ""},
		{"and then not", []string{"z", "q", "r"}, "0=q 1=r 3=z", "0=q 1=r 2=z"},
	} {
		if got := functionsOf(onOnePort(t, nil, step.tenants...)); got != step.bare {
			t.Errorf("%s, with nothing in force: functions %q, want %q", step.what, got, step.bare)
		}
		p = onOnePort(t, p, step.tenants...)
		if got := functionsOf(p); got != step.want {
			t.Errorf("%s: functions %q, want %q", step.what, got, step.want)
		}
		if again := onOnePort(t, p, step.tenants...); again.Name != p.Name {
			t.Errorf("%s: with itself in force the plan is another one", step.what)
		}
	}
}

func TestFunctionsThatCannotBeAreNotTakenOver(t *testing.T) {
	t.Parallel()
	p := onOnePort(t, nil, "a", "b", "c")
	for _, bad := range []int{-1, 4096, 1} {
		old := onOnePort(t, nil, "a", "b", "c")
		for i := range old.RoCE.Traffic {
			old.RoCE.Traffic[i].Function = bad
		}
		got := functionsOf(onOnePort(t, old, "a", "b", "c"))
		if want := map[bool]string{false: "0=a 1=b 2=c", true: "0=b 1=a 2=c"}[bad == 1]; got != want {
			t.Errorf("all at %d: functions %q, want %q", bad, got, want)
		}
	}
	for _, other := range []*policy.Plan{{}, {RoCE: &policy.RoCEPlan{}}} {
		if got := onOnePort(t, other, "a", "b", "c"); got.Name != p.Name {
			t.Errorf("a plan without functions: %q", functionsOf(got))
		}
	}
}

func TestEveryShareOfAFunctionHasItsReason(t *testing.T) {
	t.Parallel()
	p := onOnePort(t, onOnePort(t, nil, "a", "b", "c"), "b", "c")
	var got []string
	for _, r := range p.RoCE.NICs[0].Reasons {
		if strings.HasPrefix(r.Field, "vf_tx_share") {
			got = append(got, fmt.Sprintf("%s=%s %s of %s", r.Field, r.Value, r.Unit, r.Tenant))
		}
	}
	want := []string{"vf_tx_share[1]=50000 Mbit/s of b", "vf_tx_share[2]=50000 Mbit/s of c", "vf_tx_share of other functions=0 Mbit/s of "}
	if !slices.Equal(got, want) {
		t.Errorf("reasons %q, want %q", got, want)
	}
	if s := (policy.FunctionShare{Thousandths: 1}).Mbps(100 * quantity.Mbps); s != 1 {
		t.Errorf("the minimum share of a slow port is %d Mbit/s, want 1: 0 means no share", s)
	}
}

// sharesOf compiles tenants of the given weights on one port, and returns their shares of it by name.
func sharesOf(t *testing.T, weights []quantity.Weight) ([]policy.FunctionShare, error) {
	t.Helper()
	f, err := topogen.Star(2, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	hosts := starHosts(f)
	in := policy.Input{Fabric: f, Options: policy.Options{Plane: policy.PlaneRoCE}}
	for i, w := range weights {
		name := fmt.Sprintf("t%04d", i)
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: w})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: f.PortID(hosts[0]), Dst: f.PortID(hosts[1]), QPs: 1})
	}
	p, err := policy.Compile(in)
	if err != nil {
		return nil, err
	}
	return p.RoCE.Functions()[f.PortID(hosts[0])], nil
}

func TestEveryTenantOfACrowdedPortHasAShareOfIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		light, heavy       int // tenants of weight 0.001, and of 10, and two of these have 100 times that
		first, last, least int // shares: of the first and the last, and the smallest
	}{
		"a thousand alike":                  {light: 1000, first: 1, last: 1, least: 1},
		"many tenants of negligible weight": {light: 400, heavy: 100, first: 1, last: 201, least: 1}, // 600 thousandths for 98 + 2·100 parts
		"a few":                             {light: 2, heavy: 3, first: 1, last: 497, least: 1},
	} {
		weights := slices.Repeat([]quantity.Weight{1}, c.light)
		for k := range c.heavy {
			weights = append(weights, 10_000)
			if k >= c.heavy-2 {
				weights[len(weights)-1] *= 100
			}
		}
		shares, err := sharesOf(t, weights)
		if err != nil {
			t.Fatal(err)
		}
		sum, least := 0, 1000
		for _, s := range shares {
			sum, least = sum+s.Thousandths, min(least, s.Thousandths)
		}
		if n := len(weights); len(shares) != n || sum > 1000 || least != c.least || shares[0].Thousandths != c.first || shares[n-1].Thousandths != c.last {
			t.Errorf("%s: %d shares of %d, %d in all, at least %d, first %d, last %d; want %+v",
				name, len(shares), n, sum, least, shares[0].Thousandths, shares[n-1].Thousandths, c)
		}
	}
}

func TestAPortWithMoreTenantsThanSharesIsRefused(t *testing.T) {
	t.Parallel()
	_, err := sharesOf(t, slices.Repeat([]quantity.Weight{quantity.WeightOne}, 1001))
	if !errors.Is(err, policy.ErrInput) || !strings.Contains(err.Error(), "has 1001 tenants that send: want at most 1000") || !strings.Contains(err.Error(), "/P1") {
		t.Errorf("error %v", err)
	}
}

// Shares divide what a port sends among the tenants that send from it. A receiver of several tenants needs no virtual functions.
func TestOnlyPortsFromWhichSeveralTenantsSendAreDivided(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(3, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	type flow struct {
		tenant   string
		src, dst int
	}
	for name, c := range map[string]struct {
		flows []flow
		bare  []string // tenants on the third host without a declared flow
		want  string   // functions and thousandths of the third host's port
		why   string   // of "other functions" there
	}{
		"both only receive":         {[]flow{{"a", 0, 2}, {"b", 1, 2}}, nil, "", "only receive"},
		"one of them sends":         {[]flow{{"a", 0, 2}, {"b", 2, 1}}, nil, "", "only one tenant of the port sends"},
		"both send":                 {[]flow{{"a", 2, 0}, {"b", 2, 1}}, nil, "0=a:500 1=b:500", "without a tenant"},
		"two send and one receives": {[]flow{{"a", 0, 2}, {"b", 2, 1}, {"c", 2, 0}}, nil, "1=b:500 2=c:500", "without a tenant"},
		"one has no flow":           {[]flow{{"a", 0, 2}, {"b", 2, 1}}, []string{"z"}, "1=b:500 2=z:500", "without a tenant"},
		"neither has a flow":        {nil, []string{"y", "z"}, "0=y:500 1=z:500", "without a tenant"},
		"one tenant, sending only":  {[]flow{{"a", 2, 0}}, nil, "", "has the whole port"},
	} {
		in := policy.Input{Fabric: f, Options: policy.Options{Plane: policy.PlaneRoCE}}
		add := func(tenant string, at ...tenants.Attachment) {
			if !slices.ContainsFunc(in.Tenants, func(x tenants.Tenant) bool { return x.Name == tenant }) {
				in.Tenants = append(in.Tenants, tenants.Tenant{Name: tenant, Weight: quantity.WeightOne, Attachments: at})
			}
		}
		for _, x := range c.flows {
			add(x.tenant)
			in.Flows = append(in.Flows, tenants.Flow{Tenant: x.tenant, Src: h[x.src], Dst: h[x.dst], QPs: 1})
		}
		for _, x := range c.bare {
			add(x, tenants.Attachment{Port: h[2]})
		}
		p := plantest.Compiled(t, in)
		var got []string
		for _, s := range p.RoCE.Functions()[h[2]] {
			got = append(got, fmt.Sprintf("%d=%s:%d", s.Function, s.Tenant, s.Thousandths))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: shares %q, want %q", name, got, c.want)
		}
		at := slices.IndexFunc(p.RoCE.NICs, func(n policy.NICPlan) bool { return n.Port == h[2] })
		if at < 0 || !slices.ContainsFunc(p.RoCE.NICs[at].Reasons, func(r policy.Reason) bool {
			return r.Field == "vf_tx_share of other functions" && strings.Contains(r.Formula, c.why)
		}) {
			t.Errorf("%s: no reason with %q", name, c.why)
		}
	}
}

// onSharedPort is the input of onOnePort; the host chooses the functions of the tenants in node.
func onSharedPort(t *testing.T, inForce *policy.Plan, node []string, names ...string) policy.Input {
	t.Helper()
	f, err := topogen.Star(2, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	hosts := starHosts(f)
	in := policy.Input{Fabric: f, InForce: inForce, Options: policy.Options{Plane: policy.PlaneRoCE}}
	for _, name := range names {
		tn := tenants.Tenant{Name: name, Weight: quantity.WeightOne}
		for _, h := range hosts {
			tn.Attachments = append(tn.Attachments, tenants.Attachment{Port: f.PortID(h), NodeFunctions: slices.Contains(node, name)})
		}
		in.Tenants = append(in.Tenants, tn)
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: f.PortID(hosts[0]), Dst: f.PortID(hosts[1]), QPs: 1})
	}
	return in
}

func TestATenantWhoseHostChoosesFunctionsHasAShareAndNoNumber(t *testing.T) {
	t.Parallel()
	before := onOnePort(t, nil, "a", "b", "c")
	for name, inForce := range map[string]*policy.Plan{"first": nil, "after a plan that numbered it": before} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plantest.Compiled(t, onSharedPort(t, inForce, []string{"a"}, "a", "b", "c"))
			want := map[bool]string{true: "0=b 1=c", false: "1=b 2=c"}[inForce == nil] // others keep theirs
			if got := functionsOf(p); got != want {
				t.Errorf("functions %q, want %q", got, want)
			}
			shares := map[string]int{}
			for _, x := range p.RoCE.Traffic {
				if x.Port == p.RoCE.NICs[0].Port {
					shares[x.Tenant] = x.VFShare
					if (x.Function == policy.NodeFunction) != (x.Tenant == "a") {
						t.Errorf("%s has function %d", x.Tenant, x.Function)
					}
				}
			}
			if shares["a"] != 333 || shares["b"] != 333 || shares["c"] != 333 {
				t.Errorf("shares %v, want a third each", shares)
			}
			why := ""
			for _, r := range p.RoCE.NICs[0].Reasons {
				if strings.HasPrefix(r.Field, "vf_tx_share") {
					why += fmt.Sprintf("%s %s=%s; ", r.Tenant, r.Field, r.Value)
				}
			}
			if !strings.Contains(why, "a vf_tx_share of the functions that the host assigns=33300; ") || !strings.Contains(why, "vf_tx_share of other functions=0") {
				t.Error(why)
			}
		})
	}
	in := onSharedPort(t, nil, []string{"a", "b"}, "a", "b")
	all := plantest.Compiled(t, in)
	if got := functionsOf(all); got != "" {
		t.Errorf("functions %q, want none", got)
	}
	in.InForce = all
	if again := plantest.Compiled(t, in); again.Name != all.Name {
		t.Error("with itself in force the plan is another one")
	}
}
