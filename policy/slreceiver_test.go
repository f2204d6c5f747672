package policy_test

import (
	"fmt"
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

// toStorage is n tenants of unequal weights that each send from a host of their own to one port, which is returned.
func toStorage(t *testing.T, n int) (policy.Input, ident.PortID) {
	t.Helper()
	f, err := topogen.Star(n+1, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	h := plantest.Hosts(f)
	in := policy.Input{Fabric: f}
	for i := range n {
		name := fmt.Sprintf("t%02d", i)
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: []quantity.Weight{1000, 2000, 3000, 5000}[i%4], PKey: ident.PKey(0x10 + i)})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: h[i+1], Dst: h[0], QPs: 2})
	}
	return in, h[0]
}

// onPort returns the tenants of each SL on a port, and how many of them the plan marks as receivers.
func onPort(p *policy.Plan, port ident.PortID) (bySL map[ident.SL][]string, receive int) {
	bySL = map[ident.SL][]string{}
	for _, pl := range p.Placements {
		if pl.Port == port {
			bySL[pl.SL] = append(bySL[pl.SL], pl.Tenant)
			if pl.Receives {
				receive++
			}
		}
	}
	return bySL, receive
}

func TestTenantsThatSendToOnePortNeedNoSLOfTheirOwnThere(t *testing.T) {
	t.Parallel()
	for _, n := range []int{16, 17, 40} {
		in, storage := toStorage(t, n)
		p := compile(t, in)
		// Slow queue pairs have few marks, which is independent of service levels.
		if slices.ContainsFunc(p.Findings, func(f policy.Finding) bool { return f.Code != policy.CodeShareUncertain }) {
			t.Errorf("%d tenants: findings %+v, want none of service levels", n, p.Findings)
		}
		for _, x := range p.Tenants {
			if x.PredictedError > 0.01 {
				t.Errorf("%d tenants: %s is predicted %s instead of %s", n, x.Tenant, x.Predicted, x.Entitled)
			}
		}
		bySL, receive := onPort(p, storage)
		shared := 0
		for sl, ts := range bySL {
			if sl == 0 || len(ts) > (n+13)/14 {
				t.Errorf("%d tenants: SL %d has %v on the storage port, want them even over SLs 1 to 14", n, sl, ts)
			}
			if len(ts) > 1 {
				shared += len(ts)
			}
		}
		if receive != shared || shared == 0 {
			t.Errorf("%d tenants: %d placements share a counter where they only receive, want %d", n, receive, shared)
		}
	}
}

func TestAnyNumberOfTenantsMayBeOnOnePortOnEveryPlane(t *testing.T) {
	t.Parallel()
	in, _ := toStorage(t, 40)
	for _, plane := range []policy.Plane{policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC} {
		in.Options.Plane = plane
		if p, err := policy.Compile(in); err != nil || len(p.Tenants) != len(in.Tenants) {
			t.Errorf("%s: %v", plane, err)
		}
		if _, _, err := policy.Apply(in, policy.Edit{Kind: policy.EditWeight, Tenant: "t00", Weight: 3000}); err != nil {
			t.Errorf("%s: an edit: %v", plane, err)
		}
	}
}

func TestTenantsThatSendFromOnePortNeedDifferentSLs(t *testing.T) {
	t.Parallel()
	in, storage := toStorage(t, 40)
	for i := range 16 { // they read, too
		in.Flows = append(in.Flows, tenants.Flow{Tenant: in.Tenants[i].Name, Src: storage, Dst: in.Flows[i].Src, QPs: 1})
	}
	p := compile(t, in)
	i := slices.IndexFunc(p.Findings, func(f policy.Finding) bool { return f.Code == policy.CodeSLExhausted })
	if i < 0 || !strings.Contains(p.Findings[i].Message, "16 tenants send or may send from port") || len(p.Findings[i].Tenants) != 2 {
		t.Fatalf("findings %+v, want one pair of sixteen senders", p.Findings)
	}
	in.Flows = in.Flows[:len(in.Flows)-1]
	if p = compile(t, in); has(p, policy.CodeSLExhausted) {
		t.Errorf("fifteen senders: findings %+v", p.Findings)
	}
	bySL, _ := onPort(p, storage)
	for sl, ts := range bySL {
		if n := len(slices.DeleteFunc(ts, func(name string) bool { return name > "t14" })); n > 1 {
			t.Errorf("SL %d has %d of the senders", sl, n)
		}
	}
}

func TestNoSLIsExhaustedByDeclaredReceivers(t *testing.T) {
	t.Parallel()
	with, _ := toStorage(t, 20)
	in := with
	in.Tenants, in.Flows = tenants.Attach(with.Tenants, with.Flows), nil
	p := compile(t, in)
	i := slices.IndexFunc(p.Findings, func(f policy.Finding) bool { return f.Code == policy.CodeSLExhausted })
	if i < 0 || !strings.Contains(p.Findings[i].Fix, "declare the tenants' flows") {
		t.Fatalf("findings %+v, want tenants without declared flows to count as senders", p.Findings)
	}
	in.Flows = with.Flows // the advice
	if p = compile(t, in); len(p.Findings) > 0 {
		t.Errorf("findings %+v", p.Findings)
	}
}

func TestACapHoldsNoTenantThatSharesAnSLWhereBothReceive(t *testing.T) {
	t.Parallel()
	in, storage := toStorage(t, 40)
	h := plantest.Hosts(in.Fabric)
	// Half are capped. One without a cap also sends from the storage port, and may share its SL there with a capped one.
	for i := range in.Tenants {
		if i%2 == 0 {
			in.Tenants[i].Cap = quantity.Gbps
		}
	}
	in.Flows = append(in.Flows, tenants.Flow{Tenant: "t01", Src: storage, Dst: h[2], QPs: 1})
	p := compile(t, in)
	held := func(sl ident.SL) uint8 {
		i := slices.IndexFunc(p.CAs, func(c policy.CAPlan) bool { return c.Port == storage })
		return p.CAs[i].Settings.SLs[sl].Min
	}
	bySL, _ := onPort(p, storage)
	for sl, ts := range bySL {
		free := slices.ContainsFunc(ts, func(name string) bool { return name[2]%2 == 1 })
		if least := held(sl); free && least > 0 || !free && least == 0 {
			t.Errorf("SL %d of %v has CCTI_Min %d", sl, ts, least)
		}
	}
	for _, f := range p.Findings {
		if slices.Contains(f.Tenants, "t01") && f.Code != policy.CodeSourcePort {
			t.Errorf("finding %+v", f)
		}
	}
	for i := range in.Tenants { // where all are capped, the highest cap holds
		in.Tenants[i].Cap = quantity.BitRate(1+i%2) * quantity.Gbps
	}
	in.Flows = in.Flows[:40]
	p = compile(t, in)
	bySL, _ = onPort(p, storage)
	for sl, ts := range bySL {
		wide := slices.ContainsFunc(ts, func(name string) bool { return name[2]%2 == 1 })
		for other, us := range bySL {
			if !slices.ContainsFunc(us, func(name string) bool { return name[2]%2 == 1 }) && wide && held(sl) >= held(other) {
				t.Errorf("SL %d of %v is held at entry %d, SL %d of %v at %d", sl, ts, held(sl), other, us, held(other))
			}
		}
	}
}

func TestReceiversThatComeAndGoMoveNoSL(t *testing.T) {
	t.Parallel()
	full, storage := toStorage(t, 41)
	in := full
	in.Tenants, in.Flows = full.Tenants[:40], full.Flows[:40]
	old := compile(t, in)
	in.InForce = old
	if p := compile(t, in); p.Name != old.Name {
		t.Error("compiled again, tenants moved")
	}
	full.InForce = old
	p := compile(t, full)
	if n := movesBetween(old, p); n > 0 {
		t.Errorf("one more moved %d", n)
	}
	if bySL, _ := onPort(p, storage); len(bySL) != 14 {
		t.Errorf("SLs %v", bySL)
	}
	in.Tenants, in.Flows = full.Tenants[:10], full.Flows[:10]
	if n := movesBetween(old, compile(t, in)); n > 0 {
		t.Errorf("thirty fewer moved %d", n)
	}
}

// sl-exhausted is reported exactly where two tenants that may send from a port have one SL there.
func TestAnSLIsExhaustedOnlyWhereTwoSendersShareIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := crowd(t)
		for i := range in.Tenants {
			as := in.Tenants[i].Attachments
			for range rapid.IntRange(0, 2).Draw(t, "flows") {
				a, b := rapid.IntRange(0, len(as)-1).Draw(t, "from"), rapid.IntRange(0, len(as)-1).Draw(t, "to")
				if a != b {
					in.Flows = append(in.Flows, tenants.Flow{Tenant: in.Tenants[i].Name, Src: as[a].Port, Dst: as[b].Port, QPs: 1})
				}
			}
		}
		p := compile(t, in)
		maySend := func(tenant string, port ident.PortID) bool {
			ends := false
			for _, f := range in.Flows {
				if f.Tenant == tenant && f.Src == port {
					return true
				}
				ends = ends || f.Tenant == tenant && f.Dst == port
			}
			return !ends
		}
		want := false
		for i, a := range p.Placements {
			for _, b := range p.Placements[:i] {
				want = want || a.Port == b.Port && a.SL == b.SL && maySend(a.Tenant, a.Port) && maySend(b.Tenant, b.Port)
			}
		}
		if has(p, policy.CodeSLExhausted) != want {
			t.Fatalf("two senders share an SL: %t; placements %+v, findings %+v", want, p.Placements, p.Findings)
		}
	})
}
