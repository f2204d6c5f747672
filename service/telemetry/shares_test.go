package telemetry

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/phrase"
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
	sum := quantity.BitRate(0)
	for s := range r.SL {
		r.SL[s] = Measured(sl[ident.SL(s)])
		sum += sl[ident.SL(s)]
	}
	r.Xmit = Measured(sum)
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
	return Window{Elapsed: 50 * ms, Coverage: 0.9, Ports: []PortRate{
		measured(hostA, map[ident.SL]quantity.BitRate{0: 5 * quantity.Gbps, 1: 40 * quantity.Gbps, 3: 20 * quantity.Gbps}),
		measured(hostB, map[ident.SL]quantity.BitRate{2: 38 * quantity.Gbps, 3: 9 * quantity.Gbps}),
		measured(trunk, map[ident.SL]quantity.BitRate{1: 40 * quantity.Gbps, 2: 37 * quantity.Gbps, 3: 20 * quantity.Gbps}),
	}}
}

func TestSharesSumATenantsOwnCounters(t *testing.T) {
	t.Parallel()
	r := Shares(twoTenants(), goodWindow())
	gold, silver := r.Tenants[0], r.Tenants[1]
	if *gold.Delivered != 78*quantity.Gbps || math.Abs(*gold.ShareError-0.04) > 1e-12 || gold.Problem != nil {
		t.Errorf("gold %+v", gold)
	}
	if *silver.Delivered != 20*quantity.Gbps || math.Abs(*silver.ShareError-0.2) > 1e-12 {
		t.Errorf("silver %+v: SL 3 of a host where it has no placement must not count", silver)
	}
	x, y := 78.0/75, 20.0/25
	if want := (x + y) * (x + y) / (2 * (x*x + y*y)); math.Abs(*r.Jain-want) > 1e-12 || *r.MaxShareError != *silver.ShareError || r.Coverage != 0.9 || r.Window != 50*ms {
		t.Errorf("report %+v, want Jain index %f", r, want)
	}
	l := r.Links[0]
	if *l.Used != 97*quantity.Gbps || math.Abs(*l.Utilisation-0.97) > 1e-12 || l.Problem != nil {
		t.Errorf("link %+v", l)
	}
	if *l.Tenants[0].Delivered != 77*quantity.Gbps || *l.Tenants[1].Delivered != 20*quantity.Gbps {
		t.Errorf("tenants of the link %+v", l.Tenants)
	}
}

func TestSharesReportWhyTheyAreNotMeasured(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*policy.Plan, *Window)
		tenant int // that is not measured, or -1
		says   string
		link   bool // the link is measured
	}{
		"port unread":        {func(_ *policy.Plan, w *Window) { w.Ports[1].Err = ErrGap }, 0, "too long", true},
		"port not in window": {func(_ *policy.Plan, w *Window) { w.Ports = w.Ports[1:] }, 1, "not read", true},
		"no counters by SL":  {func(_ *policy.Plan, w *Window) { w.Ports[1].SL[2] = Unmeasured(ErrNoSLCounters) }, 0, "service level", true},
		"counter at its end": {func(_ *policy.Plan, w *Window) {
			w.Ports[0].SL[3] = Unmeasured(phrase.Because(ErrSaturated, phrase.Of("measure.sl-saturated", "sl", 3)))
		}, 1, "the counter of SL 3 has reached its maximum", true},
		"SL shared on a port": {func(p *policy.Plan, _ *Window) { p.Placements[2].SL = 1 }, 1, "shared", true},
		"no placement":        {func(p *policy.Plan, _ *Window) { p.Placements = p.Placements[:2] }, 1, "no port from which", true},
		"SL out of range":     {func(p *policy.Plan, _ *Window) { p.Placements[2].SL = 99 }, 1, "want 0 to 15", true},
		"link unread":         {func(_ *policy.Plan, w *Window) { w.Ports[2].Err = ErrReset }, -1, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, w := twoTenants(), goodWindow()
			c.change(p, &w)
			r := Shares(p, w)
			if l := r.Links[0]; (l.Used != nil) != c.link || (l.Utilisation != nil) != c.link || (l.Problem == nil) != c.link {
				t.Errorf("link %+v", l)
			}
			if c.tenant < 0 {
				return
			}
			ts := r.Tenants[c.tenant]
			if ts.Delivered != nil || ts.ShareError != nil || !strings.Contains(english(ts.Problem), c.says) {
				t.Errorf("tenant %+v, want a problem that says %q", ts, c.says)
			}
			other := r.Tenants[1-c.tenant]
			if !slices.Contains([]string{"SL shared on a port", "port not in window"}, name) && // these leave no tenant measured
				(other.Delivered == nil || *r.MaxShareError != *other.ShareError || *r.Jain != 1) {
				t.Errorf("the other tenant %+v, worst error %v, Jain index %v: want those of the other alone", other, r.MaxShareError, r.Jain)
			}
		})
	}
}

func TestLinkTenantsNeedAnSLOfTheirOwnEverywhere(t *testing.T) {
	t.Parallel()
	p := twoTenants()
	// Silver uses SL 2 on the other host, where gold has SL 2: each host can be distinguished, the
	// trunk cannot, neither for gold's SL 1.
	p.Placements[2] = policy.Placement{Tenant: "silver", Port: hostA, SL: 2}
	r := Shares(p, goodWindow())
	if r.Tenants[0].Delivered == nil || r.Tenants[1].Delivered == nil {
		t.Errorf("tenants %+v", r.Tenants)
	}
	for _, lt := range r.Links[0].Tenants {
		if lt.Delivered != nil || lt.ShareError != nil {
			t.Errorf("%s is measured separately on the trunk", lt.Tenant)
		}
	}
}

func TestTheSamePlacementTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	p := twoTenants()
	p.Placements = append(p.Placements, p.Placements...)
	if got := Shares(p, goodWindow()).Tenants[0]; *got.Delivered != 78*quantity.Gbps {
		t.Errorf("gold %+v", got)
	}
}

func TestNoFiguresWithoutMeasuredTenants(t *testing.T) {
	t.Parallel()
	if r := Shares(&policy.Plan{}, Window{}); r.Jain != nil || r.MaxShareError != nil || len(r.Tenants) != 0 {
		t.Errorf("empty plan: %+v", r)
	}
	p := twoTenants()
	if r := Shares(p, Window{}); r.Jain != nil || r.MaxShareError != nil || r.Coverage != 0 {
		t.Errorf("no tenant measured: %+v", r)
	}
	p.Tenants[1].Entitled, p.Links[0].Capacity = 0, 0
	if r := Shares(p, goodWindow()); r.Tenants[1].Delivered == nil || r.Tenants[1].ShareError != nil || r.Links[0].Utilisation != nil {
		t.Errorf("no entitlement to compare with: %+v", r)
	}
}

// manyToOne is three tenants that send from hosts of their own to one port: gold and silver by one SL, which the plan says of the
// port where they receive. Silver has a second flow, which does not cross the trunk.
func manyToOne() (*policy.Plan, Window) {
	hostC, storage := ident.PortID{Node: 0xc, Port: 1}, ident.PortID{Node: 0xd, Port: 1}
	p := &policy.Plan{
		Placements: []policy.Placement{
			{Tenant: "gold", Port: hostA, SL: 1}, {Tenant: "gold", Port: storage, SL: 1, Receives: true},
			{Tenant: "red", Port: hostC, SL: 2}, {Tenant: "red", Port: storage, SL: 2},
			{Tenant: "silver", Port: hostB, SL: 1}, {Tenant: "silver", Port: storage, SL: 1, Receives: true},
		},
		Tenants: []policy.TenantShare{
			{Tenant: "gold", QPs: 4, Entitled: 50 * quantity.Gbps}, {Tenant: "red", QPs: 2, Entitled: 25 * quantity.Gbps},
			{Tenant: "silver", QPs: 3, Entitled: 25 * quantity.Gbps},
		},
		Links: []policy.LinkShare{{Port: trunk, Capacity: 100 * quantity.Gbps, Tenants: []policy.LinkTenant{
			{Tenant: "gold", QPs: 4, Entitled: 50 * quantity.Gbps}, {Tenant: "red", QPs: 2, Entitled: 25 * quantity.Gbps},
			{Tenant: "silver", QPs: 2, Entitled: 25 * quantity.Gbps},
		}}},
	}
	return p, Window{Elapsed: 50 * ms, Ports: []PortRate{
		measured(hostA, map[ident.SL]quantity.BitRate{1: 48 * quantity.Gbps}),
		measured(hostB, map[ident.SL]quantity.BitRate{1: 26 * quantity.Gbps}),
		measured(hostC, map[ident.SL]quantity.BitRate{2: 24 * quantity.Gbps}),
		measured(storage, map[ident.SL]quantity.BitRate{1: quantity.Gbps, 2: quantity.Gbps}),
		measured(trunk, map[ident.SL]quantity.BitRate{1: 72 * quantity.Gbps, 2: 24 * quantity.Gbps}),
	}}
}

func TestTenantsSharingAReceiveCounterAreMeasuredAtTheirSenders(t *testing.T) {
	t.Parallel()
	rate := func(r *quantity.BitRate) quantity.BitRate {
		if r == nil {
			return -1
		}
		return *r / quantity.Gbps
	}
	p, w := manyToOne()
	r := Shares(p, w)
	for i, want := range []struct {
		delivered, ambiguous quantity.BitRate // Gbit/s, or -1
		atSenders            bool
		off                  float64
	}{{48, 1, true, 0.04}, {25, -1, false, 0}, {26, 1, true, 0.04}} { // red's own counter counts where it receives, too
		x := r.Tenants[i]
		if rate(x.Delivered) != want.delivered || rate(x.Ambiguous) != want.ambiguous || x.AtSenders != want.atSenders || math.Abs(*x.ShareError-want.off) > 1e-9 {
			t.Errorf("%s: delivered %d, ambiguous %d, at senders %t; want %+v", x.Tenant, rate(x.Delivered), rate(x.Ambiguous), x.AtSenders, want)
		}
	}
	links := r.Links[0].Tenants
	if x := links[0]; !x.AtSenders || rate(x.Delivered) != 48 {
		t.Errorf("gold on the trunk %+v, want what its sender counts", x)
	}
	if x := links[1]; x.AtSenders || rate(x.Delivered) != 24 {
		t.Errorf("red on the trunk %+v, want what the trunk counts", x)
	}
	if x := links[2]; x.Delivered != nil {
		t.Errorf("silver on the trunk %+v: part of its traffic uses other links", x)
	}

	w.Ports = append(w.Ports[:3:3], w.Ports[4:]...) // the port where they receive is silent
	if r = Shares(p, w); r.Tenants[0].Delivered == nil || r.Tenants[0].Ambiguous != nil || r.Tenants[1].Delivered != nil {
		t.Errorf("without that port: %+v", r.Tenants)
	}
	p.Placements[0].Port = hostB // two senders by one counter
	if r = Shares(p, w); r.Tenants[0].Delivered != nil || !strings.Contains(english(r.Tenants[0].Problem), "is shared with another tenant") || r.Links[0].Tenants[0].Delivered != nil {
		t.Errorf("two that send by one counter: %+v", r)
	}
}

// english is a sentence in English, "" for none.
func english(t *phrase.Text) string {
	if t == nil {
		return ""
	}
	return t.String()
}
