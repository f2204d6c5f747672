package demo

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

func TestPlanesThatTheFlagsAskFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    demoFlags
		want []policy.Plane
	}{
		{demoFlags{plane: "roce"}, []policy.Plane{policy.PlaneRoCE}},
		{demoFlags{plane: "ib", scenario: "x"}, []policy.Plane{policy.PlaneIB}},
		{demoFlags{plane: "all", once: true}, policy.Planes()},
		{demoFlags{plane: "all"}, nil},
		{demoFlags{plane: "all", once: true, scenario: "x"}, nil},
		{demoFlags{plane: "all", once: true, fabric: "x"}, nil},
		{demoFlags{plane: "all", once: true, tenants: "x"}, nil},
		{demoFlags{plane: "atm", once: true}, nil},
		{demoFlags{plane: "ib", once: true, signIns: "x"}, nil},
		{demoFlags{plane: "ib", signIns: "x"}, []policy.Plane{policy.PlaneIB}},
	} {
		got, err := c.f.planes()
		if !slices.Equal(got, c.want) || c.want == nil && !errors.As(err, new(*usage.Error)) {
			t.Errorf("%+v: %q, %v; want %q", c.f, got, err, c.want)
		}
	}
}

func TestLargestChangeOfATenantsRate(t *testing.T) {
	t.Parallel()
	shares := func(rates ...int64) (s control.Shares) {
		for _, r := range rates {
			share := control.TenantShare{}
			if r >= 0 {
				share.Delivered = new(quantity.BitRate(r))
			}
			s.Tenants = append(s.Tenants, share)
		}
		return s
	}
	for _, c := range []struct {
		a, b control.Shares
		want float64
	}{
		{shares(100, 100), shares(100, 110), 0.1},
		{shares(100, 200), shares(80, 190), 0.2},
		{shares(100), shares(300), 2},
		{shares(100), shares(0), 1},
		{shares(0), shares(0), 0},
		{shares(0), shares(50), 1}, // it began to send: nothing has settled
		{shares(100, -1), shares(100, 100), 1},
		{shares(100, 100), shares(100, -1), 1},
		{shares(), shares(), 0},
	} {
		if got := largestChange(c.a, c.b); got != c.want {
			t.Errorf("%+v to %+v: %v, want %v", c.a.Tenants, c.b.Tenants, got, c.want)
		}
	}
}

func TestSpreadTakesEvenlySpacedPorts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ports := make([]ident.PortID, rapid.IntRange(1, 40).Draw(t, "ports"))
		for i := range ports {
			ports[i].Node = ident.GUID(i)
		}
		n := rapid.IntRange(0, len(ports)).Draw(t, "n")
		taken, left := spread(ports, n)
		if len(taken) != n || len(left) != len(ports)-n {
			t.Fatalf("%d taken and %d left of %d, want %d taken", len(taken), len(left), len(ports), n)
		}
		all := slices.Concat(taken, left)
		slices.SortFunc(all, ident.PortID.Compare)
		if !slices.Equal(all, ports) {
			t.Fatalf("taken %v and left %v are not the ports", taken, left)
		}
		for i := range max(n-1, 0) {
			if gap := int(taken[i+1].Node - taken[i].Node); gap < len(ports)/n || gap > (len(ports)+n-1)/n {
				t.Fatalf("a gap of %d between %d of %d", gap, n, len(ports))
			}
		}
	})
}

func TestSampleTenantsAreValidOnAnyFabric(t *testing.T) {
	t.Parallel()
	for hosts := 1; hosts <= 12; hosts++ {
		f, err := topogen.Star(hosts, topogen.Wire{})
		if err != nil {
			t.Fatal(err)
		}
		ts, flows, err := SampleTenants(f)
		if (err != nil) != (hosts < 4) || err != nil && !errors.As(err, new(*usage.Error)) {
			t.Errorf("%d hosts: %v", hosts, err)
		}
		if err != nil {
			continue
		}
		if err := tenants.Validate(ts, flows); err != nil {
			t.Errorf("%d hosts: %v", hosts, err)
		}
		pairs := map[string]int{}
		from := map[ident.PortID]string{}
		for _, f := range flows {
			if other, had := from[f.Src]; had {
				t.Errorf("%d hosts: %s and %s send from %s", hosts, other, f.Tenant, f.Src)
			}
			from[f.Src] = f.Tenant
			pairs[f.Tenant] += f.QPs
		}
		if want := map[string]int{"gold": 1, "silver": 4, "bronze": 16}; !maps.Equal(pairs, want) {
			t.Errorf("%d hosts: queue pairs %v, want %v", hosts, pairs, want)
		}
	}
}
