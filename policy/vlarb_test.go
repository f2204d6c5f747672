package policy_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// senders is one host that sends for tenants of the given weights, each with queue pairs of its own to a host of
// its own, so that only the sending port is contended.
func senders(t *testing.T, weights []quantity.Weight, qps []int) policy.Input {
	t.Helper()
	in := attached(t, len(weights), func(i int) []int { return []int{0, i + 1} })
	h := plantest.Hosts(in.Fabric)
	for i := range weights {
		in.Tenants[i].Weight = weights[i]
		in.Flows = append(in.Flows, tenants.Flow{Tenant: in.Tenants[i].Name, Src: h[0], Dst: h[i+1], QPs: qps[i]})
	}
	in.Options.VLArbitration = true
	return in
}

func TestLanesDivideASendingPortByWeight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		weights []quantity.Weight
		qps     []int
		within  float64
	}{
		"three to one against the queue pairs": {[]quantity.Weight{3000, 1000}, []int{1, 7}, 1e-6},
		"sixteen to one":                       {[]quantity.Weight{16000, 1000}, []int{1, 1}, 1e-6},
		"five to three to two":                 {[]quantity.Weight{5000, 3000, 2000}, []int{4, 4, 32}, 1e-6},
		"odd ratio":                            {[]quantity.Weight{3141, 2718}, []int{1, 1}, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := senders(t, c.weights, c.qps)
			p := compile(t, in)
			if len(p.Lanes) != 1 || p.Lanes[0].Port != in.Flows[0].Src {
				t.Fatalf("lanes %+v, want those of the sending port", p.Lanes)
			}
			if has(p, policy.CodeSourcePort) && c.within < 0.01 || !has(p, policy.CodeLanesNeedSM) {
				t.Errorf("findings %+v", p.Findings)
			}
			for _, s := range p.Tenants {
				if s.PredictedError > c.within {
					t.Errorf("%s is predicted %s instead of %s", s.Tenant, s.Predicted, s.Entitled)
				}
			}
			checkLanes(t, in, p)
			if again, err := policy.Predict(in, p); err != nil || !slices.Equal(stripBounds(again.Tenants), stripBounds(p.Tenants)) {
				t.Errorf("Predict returns %+v (%v), the plan has %+v", again, err, p.Tenants)
			}
		})
	}
}

func stripBounds(ts []policy.TenantShare) []policy.TenantShare {
	out := slices.Clone(ts)
	for i := range out {
		out[i].Bound = 0
	}
	return out
}

// checkLanes checks the requirements of every table: legal, no longer than the port has lanes, whole packets, lane 0 served.
func checkLanes(t interface {
	Helper()
	Fatalf(string, ...any)
}, in policy.Input, p *policy.Plan) {
	t.Helper()
	for _, l := range p.Lanes {
		ref, _ := in.Fabric.PortByID(l.Port)
		vls := int(in.Fabric.Port(ref).VLCap)
		served := map[ident.VL]bool{}
		for _, e := range l.Low {
			served[e.VL] = true
			if int(e.VL) >= vls || e.Weight == 0 || e.Weight%65 != 0 {
				t.Fatalf("port %s: entry %+v on a port with %d lanes and packets of 65 units", l.Name, e, vls)
			}
		}
		if len(l.Low) > vls || !served[0] || len(l.High) > 0 {
			t.Fatalf("port %s: tables %+v and %+v: want at most %d entries, all low, with lane 0", l.Name, l.High, l.Low, vls)
		}
		for _, pl := range p.Placements {
			if pl.Port == l.Port && !served[l.SL2VL[pl.SL]] {
				t.Fatalf("port %s: tenant %s is on lane %d, which the table %+v does not serve", l.Name, pl.Tenant, l.SL2VL[pl.SL], l.Low)
			}
		}
	}
}

func TestLanesAreCreatedOnlyWhereRequestedAndUseful(t *testing.T) {
	t.Parallel()
	in := senders(t, []quantity.Weight{3000, 1000}, []int{1, 1})
	in.Options.VLArbitration = false
	if p := compile(t, in); p.Lanes != nil || !has(p, policy.CodeSourcePort) || has(p, policy.CodeLanesNeedSM) {
		t.Errorf("not asked for: lanes %+v, findings %+v", p.Lanes, p.Findings)
	}
	one := senders(t, []quantity.Weight{3000}, []int{4})
	if p := compile(t, one); p.Lanes != nil {
		t.Errorf("one tenant: lanes %+v", p.Lanes)
	}
	idle := incast(t)
	idle.Options.VLArbitration = true
	if p := compile(t, idle); p.Lanes != nil {
		t.Errorf("no port sends for two tenants: lanes %+v", p.Lanes)
	}
}

func TestAdaptersWithOneLaneGetNoLaneWeights(t *testing.T) {
	t.Parallel()
	in := senders(t, []quantity.Weight{3000, 1000}, []int{1, 1})
	withVLs(t, &in, 1)
	if p := compile(t, in); p.Lanes != nil || !has(p, policy.CodeSourcePort) {
		t.Errorf("lanes %+v, findings %+v", p.Lanes, p.Findings)
	}
}

// withVLs sets the number of data lanes of all ports.
func withVLs(t *testing.T, in *policy.Input, vls uint8) {
	t.Helper()
	f := in.Fabric
	for i := range f.Nodes {
		for j := range f.Nodes[i].Ports {
			f.Nodes[i].Ports[j].VLCap = vls
		}
	}
}

func TestTooFewLanesGroupEqualTenantsWithAFinding(t *testing.T) {
	t.Parallel()
	in := senders(t, []quantity.Weight{8000, 1000, 1000, 8000, 1000}, []int{1, 1, 1, 1, 1})
	withVLs(t, &in, 2)
	p := compile(t, in)
	if len(p.Lanes) != 1 {
		t.Fatalf("lanes %+v", p.Lanes)
	}
	on := map[ident.VL][]string{}
	for _, tn := range in.Tenants {
		sl, _ := p.SL(tn.Name, p.Lanes[0].Port)
		on[p.Lanes[0].SL2VL[sl]] = append(on[p.Lanes[0].SL2VL[sl]], tn.Name)
	}
	if len(on) != 2 {
		t.Fatalf("lanes %v, want two", on)
	}
	for _, names := range on {
		if !slices.Equal(names, []string{"t00", "t03"}) && !slices.Equal(names, []string{"t01", "t02", "t04"}) {
			t.Errorf("lanes %v: want tenants of one weight together", on)
		}
	}
	if f := found(t, p, policy.CodeLanesCoarse); !strings.Contains(f.Message, "2 table entries") {
		t.Errorf("finding %+v", f)
	}
	unequal := senders(t, []quantity.Weight{8000, 4000, 1000}, []int{1, 1, 1})
	withVLs(t, &unequal, 2)
	if f := found(t, compile(t, unequal), policy.CodeLanesCoarse); !strings.Contains(f.Message, "2 data lanes, fewer than its SLs") || !strings.Contains(f.Message, "t00, t01 on lane") {
		t.Errorf("finding %+v", f)
	}
	withVLs(t, &in, 8) // the advice: adapters with more lanes
	if p = compile(t, in); has(p, policy.CodeLanesCoarse) {
		t.Errorf("eight lanes: %+v", p.Findings)
	}
}

func TestCoarseTableHasAFindingAndASmallerMTURemovesIt(t *testing.T) {
	t.Parallel()
	in := senders(t, []quantity.Weight{20_000, 2_000, 1_000}, []int{1, 1, 1})
	p := compile(t, in)
	found(t, p, policy.CodeLanesCoarse)
	for i := range in.Fabric.Nodes {
		for j := range in.Fabric.Nodes[i].Ports {
			in.Fabric.Nodes[i].Ports[j].MTU = 256
		}
	}
	if p = compile(t, in); has(p, policy.CodeLanesCoarse) {
		t.Errorf("findings %+v", p.Findings)
	}
}

func TestTheFixForOneTableIsOpenSMsOptions(t *testing.T) {
	t.Parallel()
	in := senders(t, []quantity.Weight{3000, 1000}, []int{1, 1})
	f := found(t, compile(t, in), policy.CodeLanesNeedSM)
	if !strings.Contains(f.Fix, "qos_ca_sl2vl 0,1,2,0,0,0,0,0,0,0,0,0,0,0,0,0") || !strings.Contains(f.Fix, "qos_ca_vlarb_low") {
		t.Errorf("advice %q", f.Fix)
	}
	h := plantest.Hosts(in.Fabric)
	for i := range in.Tenants { // another port with the tenants in reverse order
		in.Tenants[i].Attachments = append(in.Tenants[i].Attachments, tenants.Attachment{Port: h[5]}, tenants.Attachment{Port: h[6+i]})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: in.Tenants[i].Name, Src: h[5], Dst: h[6+i], QPs: 1,
			Demand: []quantity.BitRate{10 * quantity.Gbps, 0}[i]})
	}
	if f = found(t, compile(t, in), policy.CodeLanesNeedSM); !strings.Contains(f.Fix, "2 different ones") {
		t.Errorf("advice %q", f.Fix)
	}
}

// A lane is shared by a queue pair that another link limits to 5 Gbit/s and one that no other link limits: the second gets the rest of the
// lane, not the same as the first.
func TestUnusedShareOfAQueuePairStaysInItsLane(t *testing.T) {
	t.Parallel()
	f, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 2, Right: 3, Wire: topogen.Wire{Rate: 100 * quantity.Gbps}, CoreRate: 5 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	in := policy.Input{Fabric: f, Options: policy.Options{VLArbitration: true}, Tenants: []tenants.Tenant{{Name: "a", Weight: 1000}, {Name: "b", Weight: 1000}},
		Flows: []tenants.Flow{
			{Tenant: "a", Src: h[0], Dst: h[2], QPs: 1},
			{Tenant: "a", Src: h[0], Dst: h[1], QPs: 1},
			{Tenant: "b", Src: h[0], Dst: h[1], QPs: 1, Demand: 0}}}
	p := compile(t, in)
	for _, s := range p.Tenants {
		if d := math.Abs(s.Predicted.Gbit()/50 - 1); d > 0.03 {
			t.Errorf("%s is predicted %s, want near half of the port", s.Tenant, s.Predicted)
		}
	}
}

func TestLanesAreLegalOnAnyInput(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := plantest.Input(t)
		in.Options.VLArbitration = true
		checkLanes(t, in, compile(t, in))
	})
}

func TestPredictRefusesLanesThatThePlanDoesNotWeigh(t *testing.T) {
	t.Parallel()
	in := senders(t, []quantity.Weight{3000, 1000}, []int{1, 1})
	p := compile(t, in)
	for name, corrupt := range map[string]func(l *policy.LanePlan){
		"no table":     func(l *policy.LanePlan) { l.Low = nil },
		"lane 15":      func(l *policy.LanePlan) { l.SL2VL[1] = 15 },
		"no such lane": func(l *policy.LanePlan) { l.SL2VL[1] = 200 },
	} {
		q := *p
		q.Lanes = slices.Clone(p.Lanes)
		corrupt(&q.Lanes[0])
		if _, err := policy.Predict(in, &q); !errors.Is(err, policy.ErrInput) {
			t.Errorf("%s: error %v, want one that wraps ErrInput", name, err)
		}
	}
}
