package opensm

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

func TestAPlacerPreparesVerifiesAndFinishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, ids := star(t)
		s := newFakeSM("-", "-", "-")
		var last Report
		p := &Placer{Manager: manager(t, s, Config{}), Fabric: f, Done: func(r Report) { last = r }}
		plan := func(ps ...Placement) *Plan { return &Plan{Placements: ps} }
		old := plan(Placement{Tenant: "gold", PKey: 1, Port: ids[0], SL: 2}, Placement{Tenant: "old", PKey: 2, Port: ids[1], SL: 3})
		if err := p.Check(t.Context(), old); err != nil || s.disk[partPath].Present {
			t.Fatalf("%v, or a check writes", err)
		}
		if err := p.Place(t.Context(), old, false); err != nil {
			t.Fatal(err)
		}
		next := plan(Placement{Tenant: "gold", PKey: 1, Port: ids[0], SL: 4}, Placement{Tenant: "new", PKey: 3, Port: ids[2], SL: 5})
		if err := p.Verify(t.Context(), next); err == nil || !strings.Contains(err.Error(), "returns SL 2 in partition 0x0001") || !strings.Contains(err.Error(), "found no path in partition 0x0003") {
			t.Errorf("before: %v", err)
		}
		if err := p.Place(t.Context(), next, false); err != nil {
			t.Fatal(err)
		}
		if err := p.Verify(t.Context(), next); err != nil {
			t.Error(err)
		}
		if !strings.Contains(s.disk[partPath].Data, "old=0x0002") {
			t.Error("an entry that traffic may still use is missing")
		}
		if err := p.Place(t.Context(), next, true); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.disk[partPath].Data, "old=0x0002") || !last.Changed {
			t.Errorf("left over:\n%s", s.disk[partPath].Data)
		}
		var refused *RefusedError
		err := p.Check(t.Context(), plan(Placement{Tenant: "lost", PKey: 1, Port: ident.PortID{Node: 99, Port: 1}}))
		if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodeNoMembers {
			t.Errorf("a missing port: %v", err)
		}
		// Two service levels of a port in one partition are refused before any write.
		was := s.disk[partPath]
		both := plan(Placement{Tenant: "gold", PKey: 1, Port: ids[0], SL: 4}, Placement{Tenant: "silver", PKey: 1, Port: ids[0], SL: 5})
		if err = p.Check(t.Context(), both); !errors.As(err, &refused) {
			t.Errorf("two service levels: %v", err)
		}
		err = p.Place(t.Context(), both, false)
		if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodeTwoSLs || s.disk[partPath] != was {
			t.Errorf("two service levels: %v", err)
		}
	})
}

// A tenant whose ports have two service levels gets a policy, is proven port by port and changed in two steps. With one
// level again, the policy is removed.
func TestSplitTenantIsPlacedByPort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, ids := star(t)
		s := newFakeSM("-", "-", "-")
		p := &Placer{Manager: manager(t, s, Config{}), Fabric: f}
		plan := func(sls ...ident.SL) *Plan {
			out := &Plan{}
			for i, sl := range sls {
				out.Placements = append(out.Placements, Placement{Tenant: "gold", PKey: 1, Port: ids[i], SL: sl})
			}
			return out
		}
		sl := func(from, to int) ident.SL {
			a, _ := f.PortByID(ids[from])
			b, _ := f.PortByID(ids[to])
			got, _ := s.path(f.Port(a).GUID, f.Port(b).GUID, 1)
			return got
		}
		if err := p.Place(t.Context(), plan(2, 2, 5, 5), true); err != nil {
			t.Fatal(err)
		}
		if a, b, c, d := sl(0, 1), sl(2, 3), sl(0, 2), sl(2, 0); a != 2 || b != 5 || c != 2 || d != 5 {
			t.Errorf("SLs %d and %d within the groups, %d and %d between them", a, b, c, d)
		}
		err := p.Verify(t.Context(), plan(2, 5, 5, 5))
		if err == nil || !strings.Contains(err.Error(), "returns SL 2 in partition 0x0001") {
			t.Errorf("another plan: %v", err)
		}
		// Only the changed port shows that OpenSM has not read the policy.
		was := s.disk[polPath]
		s.deaf = true
		if err = p.Place(t.Context(), plan(2, 2, 5, 2), true); err == nil || !strings.Contains(err.Error(), "returns SL 5") || s.disk[polPath] != was {
			t.Errorf("an OpenSM that does not reload: %v, policy\n%s", err, s.disk[polPath].Data)
		}
		s.deaf = false
		if err = p.Place(t.Context(), plan(2, 2, 5), false); err != nil || sl(3, 2) != 5 {
			t.Errorf("a port that leaves: %v, SL %d", err, sl(3, 2))
		}
		if err = p.Place(t.Context(), plan(2, 2, 2), true); err != nil || s.disk[polPath].Present || sl(2, 0) != 2 {
			t.Errorf("whole again: %v, SL %d, policy\n%s", err, sl(2, 0), s.disk[polPath].Data)
		}
	})
}
