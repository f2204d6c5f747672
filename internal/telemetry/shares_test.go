package telemetry

import (
	"math"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/subnet/ident"
)

var (
	hostA = ident.PortID{Node: 0xa, Port: 1}
	hostB = ident.PortID{Node: 0xb, Port: 1}
	trunk = ident.PortID{Node: 0x90, Port: 7}
)

func measured(id ident.PortID, sl map[ident.SL]quantity.BitRate) PortRate {
	r := PortRate{Port: Port{ID: id, Name: id.String()}, Elapsed: 50 * ms}
	for s, v := range sl {
		r.SL[s] = v
		r.Xmit += v
	}
	return r
}

// twoTenants is gold (weight 3) on two hosts, SL 1 and 2, and silver (weight 1) on one, SL 3.
func twoTenants() *policy.Plan {
	return &policy.Plan{
		Placements: []policy.Placement{
			{Tenant: "gold", Port: hostA, SL: 1}, {Tenant: "gold", Port: hostB, SL: 2}, {Tenant: "silver", Port: hostA, SL: 3},
		},
		Tenants: []policy.TenantShare{
			{Tenant: "gold", Weight: 3000, Entitled: 75 * quantity.Gbps},
			{Tenant: "silver", Weight: 1000, Entitled: 25 * quantity.Gbps},
		},
		Links: []policy.LinkShare{{
			Port: trunk, Name: "leaf-1/P7", Capacity: 100 * quantity.Gbps,
			Tenants: []policy.LinkTenant{{Tenant: "gold", Entitled: 75 * quantity.Gbps}, {Tenant: "silver", Entitled: 25 * quantity.Gbps}},
		}},
	}
}

func goodWindow() Window {
	return Window{Elapsed: 50 * ms, Ports: []PortRate{
		measured(hostA, map[ident.SL]quantity.BitRate{0: 5 * quantity.Gbps, 1: 40 * quantity.Gbps, 3: 20 * quantity.Gbps}),
		measured(hostB, map[ident.SL]quantity.BitRate{2: 38 * quantity.Gbps, 3: 9 * quantity.Gbps}),
		measured(trunk, map[ident.SL]quantity.BitRate{1: 40 * quantity.Gbps, 2: 37 * quantity.Gbps, 3: 20 * quantity.Gbps}),
	}}
}

func TestSharesSumATenantsOwnCounters(t *testing.T) {
	t.Parallel()
	r := Shares(twoTenants(), goodWindow())
	gold, silver := r.Tenants[0], r.Tenants[1]
	if gold.Delivered != 78*quantity.Gbps || math.Abs(gold.ShareError-0.04) > 1e-12 || !gold.Measured {
		t.Errorf("gold %+v", gold)
	}
	if silver.Delivered != 20*quantity.Gbps || math.Abs(silver.ShareError-0.2) > 1e-12 {
		t.Errorf("silver %+v: SL 3 of a host where it has no placement must not count", silver)
	}
	x, y := 78.0/75, 20.0/25
	if want := (x + y) * (x + y) / (2 * (x*x + y*y)); math.Abs(r.Jain-want) > 1e-12 || !r.Complete || r.MaxShareError != silver.ShareError || r.Window != 50*ms {
		t.Errorf("report %+v, want Jain index %f", r, want)
	}
	l := r.Links[0]
	if l.Used != 97*quantity.Gbps || math.Abs(l.Utilisation-0.97) > 1e-12 || !l.Measured {
		t.Errorf("link %+v", l)
	}
	if l.Tenants[0].Delivered != 77*quantity.Gbps || l.Tenants[1].Delivered != 20*quantity.Gbps || !l.Tenants[0].Measured {
		t.Errorf("tenants of the link %+v", l.Tenants)
	}
}

func TestWhatCannotBeMeasuredIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*policy.Plan, *Window)
		tenant int // that is not measured, or -1
		says   string
		link   bool // the link is measured
	}{
		"port unread":         {func(_ *policy.Plan, w *Window) { w.Ports[1].Err = ErrGap }, 0, "too long", true},
		"port not in window":  {func(_ *policy.Plan, w *Window) { w.Ports = w.Ports[1:] }, 1, "not read", true},
		"no counters by SL":   {func(_ *policy.Plan, w *Window) { w.Ports[1].SLErr = ErrNoSLCounters }, 0, "service level", true},
		"SL shared on a port": {func(p *policy.Plan, _ *Window) { p.Placements[2].SL = 1 }, 1, "shared", true},
		"no placement":        {func(p *policy.Plan, _ *Window) { p.Placements = p.Placements[:2] }, 1, "no placement", true},
		"SL out of range":     {func(p *policy.Plan, _ *Window) { p.Placements[2].SL = 99 }, 1, "want 0 to 15", true},
		"link unread":         {func(_ *policy.Plan, w *Window) { w.Ports[2].Err = ErrReset }, -1, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, w := twoTenants(), goodWindow()
			c.change(p, &w)
			r := Shares(p, w)
			if r.Complete || r.Links[0].Measured != c.link || (r.Links[0].Problem == "") != c.link {
				t.Errorf("report %+v", r)
			}
			if c.tenant < 0 {
				return
			}
			ts := r.Tenants[c.tenant]
			if ts.Measured || ts.Delivered != 0 || ts.ShareError != 0 || !strings.Contains(ts.Problem, c.says) {
				t.Errorf("tenant %+v, want a problem that says %q", ts, c.says)
			}
		})
	}
}

func TestLinkTenantsNeedAnSLOfTheirOwnEverywhere(t *testing.T) {
	t.Parallel()
	p := twoTenants()
	// Silver uses SL 2 on the other host, where gold has SL 2: each host can be told apart, the
	// trunk cannot, neither for gold's SL 1.
	p.Placements[2] = policy.Placement{Tenant: "silver", Port: hostA, SL: 2}
	r := Shares(p, goodWindow())
	if !r.Tenants[0].Measured || !r.Tenants[1].Measured {
		t.Errorf("tenants %+v", r.Tenants)
	}
	for _, lt := range r.Links[0].Tenants {
		if lt.Measured || lt.Delivered != 0 {
			t.Errorf("%s is told apart on the trunk", lt.Tenant)
		}
	}
}

func TestTheSamePlacementTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	p := twoTenants()
	p.Placements = append(p.Placements, p.Placements...)
	if got := Shares(p, goodWindow()).Tenants[0]; got.Delivered != 78*quantity.Gbps {
		t.Errorf("gold %+v", got)
	}
}

func TestAnEmptyPlanIsCompletelyMeasured(t *testing.T) {
	t.Parallel()
	if r := Shares(&policy.Plan{}, Window{}); !r.Complete || r.Jain != 0 || len(r.Tenants) != 0 {
		t.Errorf("empty plan: %+v", r)
	}
}
