package policy_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// hostPort returns the name of the port of an input's i-th host.
func hostPort(in policy.Input, i int) string {
	return in.Fabric.PortName(subnet.PortRef{Node: in.Fabric.Hosts()[i], Port: 1})
}

func starred(t testing.TB, hosts int) policy.Input {
	t.Helper()
	f, err := topogen.Star(hosts, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	return policy.Input{Fabric: f}
}

func admitted(t rapid.TB, in policy.Input, r policy.AdmitRequest) *policy.Admission {
	t.Helper()
	a, err := policy.Admit(in, r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func checkOf(a *policy.Admission, tenant string) policy.GuaranteeCheck {
	for _, g := range a.Guarantees {
		if g.Tenant == tenant {
			return g
		}
	}
	return policy.GuaranteeCheck{}
}

// drawnInput is a random input whose first tenants have guarantees, some of which do not fit; some tenants have no flows.
func drawnInput(t *rapid.T) policy.Input {
	in := plantest.Input(t)
	in.Options.Plane = rapid.SampledFrom([]policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC}).Draw(t, "plane")
	hosts := plantest.Hosts(in.Fabric)
	for i := range in.Tenants {
		if rapid.Bool().Draw(t, "guaranteed") {
			in.Tenants[i].Guarantee = quantity.BitRate(rapid.IntRange(1, 60).Draw(t, "guarantee")) * quantity.Gbps
		}
	}
	if rapid.Bool().Draw(t, "idle") {
		idle := tenants.Tenant{Name: "idle", Weight: 1000, Guarantee: 20 * quantity.Gbps}
		for _, h := range hosts[:rapid.IntRange(1, len(hosts)).Draw(t, "idle ports")] {
			idle.Attachments = append(idle.Attachments, tenants.Attachment{Port: h})
		}
		in.Tenants = append(in.Tenants, idle)
	}
	return in
}

func drawnRequest(t *rapid.T, in policy.Input) policy.AdmitRequest {
	r := policy.AdmitRequest{Tenant: "new", Weight: 2000}
	n := len(in.Fabric.Hosts())
	if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
		r.Tenant, r.Change = in.Tenants[0].Name, true
	}
	first := rapid.IntRange(0, n-2).Draw(t, "first")
	for i := first; i < first+rapid.IntRange(2, n-first).Draw(t, "ports"); i++ {
		r.Ports = append(r.Ports, hostPort(in, i))
	}
	return r
}

func TestALargerGuaranteeIsNeverAdmittedWhereASmallerOneIsRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawnInput(t)
		r := drawnRequest(t, in)
		small := quantity.BitRate(rapid.IntRange(1, 100).Draw(t, "small")) * quantity.Gbps
		large := small + quantity.BitRate(rapid.IntRange(1, 50).Draw(t, "more"))*quantity.Gbps
		r.Guarantee = &small
		a := admitted(t, in, r)
		r.Guarantee = &large
		b := admitted(t, in, r)
		if a.Verdict == policy.VerdictNo && b.Verdict != policy.VerdictNo {
			t.Fatalf("%s is refused, and %s admitted: %+v", small, large, b.Guarantees)
		}
		if a.Fits.Guarantee != b.Fits.Guarantee {
			t.Fatalf("the fitting request depends on the requested values: %+v and %+v", a.Fits, b.Fits)
		}
	})
}

// crossed lists, by tenant, the links that the declared flows may cross, independently of the compiler: by the paths of Paths on InfiniBand;
// on Ethernet a link is on a shortest path when the distances to both of its ends sum up.
func crossed(t *rapid.T, in policy.Input) map[string]map[subnet.PortRef]bool {
	f := in.Fabric
	out := map[string]map[subnet.PortRef]bool{}
	note := func(tenant string, p subnet.PortRef) {
		if out[tenant] == nil {
			out[tenant] = map[subnet.PortRef]bool{}
		}
		out[tenant][p] = true
	}
	if in.Options.Plane == policy.PlaneIB {
		paths, err := policy.Paths(f, in.Flows)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range paths {
			for _, hop := range p {
				note(in.Flows[i].Tenant, hop)
			}
		}
		return out
	}
	far := distances(f)
	for _, fl := range in.Flows {
		src, _ := f.PortByID(fl.Src)
		dst, _ := f.PortByID(fl.Dst)
		for i := range f.Links {
			for _, e := range [][2]subnet.PortRef{{f.Links[i].A, f.Links[i].B}, {f.Links[i].B, f.Links[i].A}} {
				if far[src.Node][e[0].Node]+1+far[e[1].Node][dst.Node] == far[src.Node][dst.Node] {
					note(fl.Tenant, e[0])
				}
			}
		}
	}
	return out
}

// distances returns the distances between all nodes, in links (Floyd and Warshall).
func distances(f *subnet.Fabric) [][]int {
	n := len(f.Nodes)
	d := make([][]int, n)
	for i := range d {
		d[i] = slices.Repeat([]int{1 << 20}, n)
		d[i][i] = 0
	}
	for i := range f.Links {
		a, b := f.Links[i].A.Node, f.Links[i].B.Node
		d[a][b], d[b][a] = 1, 1
	}
	for k := range n {
		for i := range n {
			for j := range n {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	return d
}

// The test adds an admitted tenant by hand and sums every guarantee on every link: the verdict must hold.
func TestAnAdmittedPlanKeepsAllGuarantees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawnInput(t)
		in.Tenants = slices.DeleteFunc(in.Tenants, func(x tenants.Tenant) bool { return x.Name == "idle" })
		g := quantity.BitRate(rapid.IntRange(1, 100).Draw(t, "asked")) * quantity.Gbps
		r := drawnRequest(t, in)
		r.Change, r.Tenant, r.Guarantee = false, "new", &g
		a := admitted(t, in, r)

		with := in
		with.Tenants = append(slices.Clone(in.Tenants), tenants.Tenant{Name: "new", Weight: r.Weight, Guarantee: g})
		with.Flows = slices.Clone(in.Flows)
		for _, p := range r.Ports {
			for _, q := range r.Ports {
				src, _ := in.Fabric.ResolvePort(p)
				if dst, _ := in.Fabric.ResolvePort(q); src != dst {
					with.Flows = append(with.Flows, tenants.Flow{Tenant: "new", Src: in.Fabric.PortID(src), Dst: in.Fabric.PortID(dst), QPs: 1})
				}
			}
		}
		on := crossed(t, with)
		short := map[string]bool{} // tenants on an overbooked link
		for i := range in.Fabric.Links {
			l := &in.Fabric.Links[i]
			for _, p := range []subnet.PortRef{l.A, l.B} {
				var sum quantity.BitRate
				var who []string
				for _, x := range with.Tenants {
					if on[x.Name][p] {
						sum += x.Guarantee
						who = append(who, x.Name)
					}
				}
				if sum*100 > l.Rate*99 {
					for _, name := range who {
						short[name] = true
					}
				}
			}
		}
		was := plantest.Compiled(t, in)
		with.InForce = was
		p := plantest.Compiled(t, with)
		for _, x := range with.Tenants {
			c := checkOf(a, x.Name)
			if x.Guarantee > 0 && short[x.Name] != (c.Status == policy.GuaranteeBroken) {
				t.Fatalf("%s: %+v, by hand broken: %v", x.Name, c, short[x.Name])
			}
			if c.Status == policy.GuaranteeAtRisk && c.New != worse(was, p, x) {
				t.Fatalf("%s: %+v, by hand worse: %v", x.Name, c, worse(was, p, x))
			}
			if a.Verdict != policy.VerdictYes || c.Status != policy.GuaranteeKept {
				continue
			}
			for _, l := range p.Links {
				for _, part := range l.Tenants {
					if part.Tenant == x.Name && float64(part.Predicted) < 0.94*float64(min(x.Guarantee, part.Entitled)) {
						t.Fatalf("%s is admitted, and %s gets %s of %s on %s", "new", x.Name, part.Predicted, x.Guarantee, l.Name)
					}
				}
			}
		}
		if overbooked := findingOf(p, policy.CodeOverbooked) != nil; overbooked && len(short) == 0 || a.Verdict == policy.VerdictNo && !short["new"] {
			t.Fatalf("overbooked %v, by hand %v, verdict %s", overbooked, short, a.Verdict)
		}
	})
}

// worse reports whether a tenant is predicted to miss its guarantee by more than 5 % on a link where it did not before, or by 1 % more.
func worse(before, after *policy.Plan, x tenants.Tenant) bool {
	misses := func(p *policy.Plan) map[string][2]float64 { // predicted part, and the part that it could use
		out := map[string][2]float64{}
		for _, l := range p.Links {
			for _, part := range l.Tenants {
				if use := float64(min(x.Guarantee, part.Entitled)); part.Tenant == x.Name && float64(part.Predicted) < 0.95*use {
					out[l.Name] = [2]float64{float64(part.Predicted), use}
				}
			}
		}
		return out
	}
	old := misses(before)
	for link, now := range misses(after) {
		if was, ok := old[link]; !ok || was[0]-now[0] > now[1]/100 {
			return true
		}
	}
	return false
}

func TestAdmitChangesNoInput(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawnInput(t)
		before := plantest.Compiled(t, in).Name
		ts, flows := deepTenants(in.Tenants), slices.Clone(in.Flows)
		admitted(t, in, drawnRequest(t, in))
		if !reflect.DeepEqual(ts, in.Tenants) || !slices.Equal(flows, in.Flows) || plantest.Compiled(t, in).Name != before {
			t.Fatal("the input has changed")
		}
	})
}

func deepTenants(ts []tenants.Tenant) []tenants.Tenant {
	out := slices.Clone(ts)
	for i := range out {
		out[i].Attachments = slices.Clone(out[i].Attachments)
	}
	return out
}

// The reported fit is the largest guarantee that fits.
func TestTheLargestGuaranteeFitsAndNoMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawnInput(t)
		r := drawnRequest(t, in)
		r.Change, r.Tenant = false, "new"
		most := admitted(t, in, r).Fits.Guarantee
		if most == 0 {
			return
		}
		r.Guarantee = &most
		if a := admitted(t, in, r); a.Verdict == policy.VerdictNo {
			t.Fatalf("%s fits, and is refused: %+v", most, a.Guarantees)
		}
		more := most + 1
		r.Guarantee = &more
		if a := admitted(t, in, r); a.Verdict != policy.VerdictNo {
			t.Fatalf("%s is the most that fits, and %d bit/s are admitted", most, more)
		}
	})
}

func TestAdmissionsReportBrokenGuaranteesAndAlternatives(t *testing.T) {
	t.Parallel()
	in := starred(t, 6)
	in.Tenants = []tenants.Tenant{{Name: "gold", Weight: 3000, Guarantee: 60 * quantity.Gbps}, {Name: "silver", Weight: 1000}}
	hosts := plantest.Hosts(in.Fabric)
	for _, fl := range []struct {
		tenant   string
		from, to int
	}{{"gold", 0, 1}, {"silver", 2, 1}} {
		in.Flows = append(in.Flows, tenants.Flow{Tenant: fl.tenant, Src: hosts[fl.from], Dst: hosts[fl.to], QPs: 4})
	}
	ask := func(g quantity.BitRate, ports ...int) policy.AdmitRequest {
		r := policy.AdmitRequest{Tenant: "new", Weight: 1000, Guarantee: &g}
		for _, p := range ports {
			r.Ports = append(r.Ports, hostPort(in, p))
		}
		return r
	}
	if a := admitted(t, in, ask(39*quantity.Gbps, 1, 3, 4)); a.Verdict == policy.VerdictNo || a.Tenants[0].Tenant != "new" || a.Tenants[0].Before != nil {
		t.Errorf("39 of the remaining 39 Gbit/s: %+v", a)
	}
	a := admitted(t, in, ask(50*quantity.Gbps, 1, 3, 4))
	gold, own := checkOf(a, "gold"), checkOf(a, "new")
	if a.Verdict != policy.VerdictNo || gold.Status != policy.GuaranteeBroken || own.Status != policy.GuaranteeBroken || !gold.New ||
		gold.Booked != 110*quantity.Gbps || gold.Bookable != 99*quantity.Gbps || gold.Left != 54*quantity.Gbps || own.Left != 45*quantity.Gbps || gold.Links.Count != 1 {
		t.Errorf("110 Gbit/s on a link of 100: %+v", a.Guarantees)
	}
	if a.Fits.Guarantee != 39*quantity.Gbps || a.Fits.Link != gold.Links.Names[0] || !slices.Equal(a.Fits.Without, []string{hostPort(in, 1)}) {
		t.Errorf("fits %+v", a.Fits)
	}
	if a := admitted(t, in, ask(50*quantity.Gbps, 3, 4)); a.Verdict != policy.VerdictYes || a.Devices.Ports < 2 || a.Traffic.Flows != 2 {
		t.Errorf("on ports of its own: %+v", a)
	}
	// Silver's weight increases: nothing is booked, shares move.
	a = admitted(t, in, policy.AdmitRequest{Tenant: "silver", Change: true, Weight: 3000})
	if a.Verdict == policy.VerdictNo || a.Tenants[0].Before.Predicted >= a.Tenants[0].After.Predicted || a.Traffic.Kind != policy.TrafficDeclared {
		t.Errorf("a heavier tenant: %+v", a.Tenants[0])
	}
	// A requested guarantee is new, regardless of the tenant's present rate.
	fifty := 50 * quantity.Gbps
	shared := in
	shared.Options.Plane = policy.PlaneRoCE
	shared.Flows = append(slices.Clone(in.Flows), tenants.Flow{Tenant: "gold", Src: hosts[2], Dst: hosts[4], QPs: 60})
	shared.Tenants = []tenants.Tenant{{Name: "gold", Weight: 3000}, in.Tenants[1]}
	a = admitted(t, shared, policy.AdmitRequest{Tenant: "silver", Change: true, Guarantee: &fifty})
	if c := checkOf(a, "silver"); c.Status != policy.GuaranteeAtRisk || !c.New || a.Verdict != policy.VerdictReservations {
		t.Errorf("a guarantee at a sending port that is shared: %s, %+v", a.Verdict, c)
	}
	// A tenant without declared flows keeps its guarantee on its own links.
	in.Tenants = append(in.Tenants, tenants.Tenant{Name: "quiet", Weight: 1000, Guarantee: 70 * quantity.Gbps,
		Attachments: []tenants.Attachment{{Port: hosts[3]}, {Port: hosts[5]}}})
	a = admitted(t, in, ask(50*quantity.Gbps, 3, 4))
	if a.Verdict != policy.VerdictNo || checkOf(a, "quiet").Status != policy.GuaranteeBroken || a.Traffic.Idle == nil || a.Traffic.Idle.Names[0] != "quiet" {
		t.Errorf("beside a tenant without flows: %+v", a)
	}
	// An earlier broken guarantee does not count against a tenant that affects none of its links.
	in.Tenants[0].Guarantee = 60 * quantity.Gbps
	in.Tenants[1].Guarantee = 60 * quantity.Gbps
	a = admitted(t, in, ask(10*quantity.Gbps, 3, 4))
	if a.Verdict == policy.VerdictNo || checkOf(a, "gold").Status != policy.GuaranteeBroken || checkOf(a, "gold").New {
		t.Errorf("broken before: %+v", a)
	}
}

// On a tree, a guarantee is booked on the links between switches too.
func TestAGuaranteeIsBookedBetweenSwitches(t *testing.T) {
	t.Parallel()
	f, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 3, Right: 3, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}, CoreRate: 50 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	in := policy.Input{Fabric: f}
	g := 60 * quantity.Gbps
	for _, plane := range []policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC} {
		in.Options.Plane = plane
		n := len(f.Hosts())
		a := admitted(t, in, policy.AdmitRequest{Tenant: "new", Weight: 1000, Guarantee: &g, Ports: []string{hostPort(in, 0)}, To: []string{hostPort(in, n-1)}})
		if c := checkOf(a, "new"); a.Verdict != policy.VerdictNo || c.Links.Count != 1 || c.Bookable != 495*quantity.Gbps/10 || a.Fits.Guarantee != c.Bookable {
			t.Errorf("%s: %s, %+v, fits %+v", plane, a.Verdict, c, a.Fits)
		}
	}
}

func TestAdmitNamesTheInvalidField(t *testing.T) {
	t.Parallel()
	in := starred(t, 4)
	in.Tenants = []tenants.Tenant{{Name: "gold", Weight: 1000}}
	hosts := plantest.Hosts(in.Fabric)
	in.Flows = []tenants.Flow{{Tenant: "gold", Src: hosts[0], Dst: hosts[1], QPs: 1}}
	two := []string{hostPort(in, 0), hostPort(in, 1)}
	rate := func(r quantity.BitRate) *quantity.BitRate { return &r }
	for _, c := range []struct {
		r    policy.AdmitRequest
		want string
	}{
		{policy.AdmitRequest{Tenant: "New", Weight: 1000, Ports: two}, `tenant: "New": want a name of a-z`},
		{policy.AdmitRequest{Tenant: "gold", Weight: 1000, Ports: two}, `tenant: "gold" exists: want another name, or set change to request more for it`},
		{policy.AdmitRequest{Tenant: "glod", Change: true, Ports: two}, `tenant: no tenant "glod"; did you mean gold?`},
		{policy.AdmitRequest{Tenant: "new", Ports: two}, "weight: missing: want 0.001 to 1000000"},
		{policy.AdmitRequest{Tenant: "new", Weight: quantity.MaxWeight + 1, Ports: two}, "weight: "},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, Ports: two, Guarantee: rate(10)}, "guarantee: 10 bit/s: want at least 1 Mbit/s"},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, Ports: two, Guarantee: rate(quantity.Gbps), Cap: rate(quantity.Mbps)}, "cap: 1 Mbit/s: want at least the guarantee"},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000}, "ports: found no ports; want 2 to 1000 ports"},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, Ports: two[:1]}, "ports: found 1 port; want 2 to 1000 ports"},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, Ports: []string{two[0], two[0]}}, "want each port once"},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, Ports: []string{two[0], "nowhere"}}, "ports: "},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, Ports: two, To: []string{"nowhere"}}, "to: "},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, To: two}, "ports: found destination ports only"},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, Ports: two[:1], To: two[:1]}, "to: the same port"},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, Ports: two, QPs: tenants.MaxQPs + 1}, "qps: 65537: want 1 to 65536"},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, QPs: 4, Flows: []tenants.Flow{{Tenant: "new", Src: hosts[0], Dst: hosts[1], QPs: 1}}}, "qps: the flows of new are declared"},
		{policy.AdmitRequest{Tenant: "new", Weight: 1000, Flows: []tenants.Flow{{Tenant: "gold", Src: hosts[0], Dst: hosts[1], QPs: 1}}}, `flows: a flow of "gold"`},
	} {
		_, err := policy.Admit(in, c.r)
		var refused *policy.AdmitError
		if !errors.As(err, &refused) || !errors.Is(err, policy.ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.r, err, c.want)
		}
	}
}

// BenchmarkAdmit requests a tenant on every host of a fabric of 500 hosts with 20 tenants.
func BenchmarkAdmit(b *testing.B) {
	in, err := plantest.Large(plantest.LargeOptions{Leaves: 25, HostsPerLeaf: 20, Spines: 8, Tenants: 20, Flows: 20_000, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	r := policy.AdmitRequest{Tenant: "new", Weight: 2000}
	for i := range 100 {
		r.Ports = append(r.Ports, hostPort(in, 5*i))
	}
	for b.Loop() {
		if _, err := policy.Admit(in, r); err != nil {
			b.Fatal(err)
		}
	}
}
