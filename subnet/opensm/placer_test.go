package opensm

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"fairlane/policy"
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
		plan := func(ps ...policy.Placement) *policy.Plan { return &policy.Plan{Placements: ps} }
		old := plan(policy.Placement{Tenant: "gold", PKey: 1, Port: ids[0], SL: 2}, policy.Placement{Tenant: "old", PKey: 2, Port: ids[1], SL: 3})
		if err := p.Check(t.Context(), old); err != nil || s.disk[partPath].Present {
			t.Fatalf("%v, or a check writes", err)
		}
		if err := p.Place(t.Context(), old, false); err != nil {
			t.Fatal(err)
		}
		next := plan(policy.Placement{Tenant: "gold", PKey: 1, Port: ids[0], SL: 4}, policy.Placement{Tenant: "new", PKey: 3, Port: ids[2], SL: 5})
		if err := p.Verify(t.Context(), next); err == nil || !strings.Contains(err.Error(), "hands out SL 2 in partition 0x0001") || !strings.Contains(err.Error(), "knows no path in partition 0x0003") {
			t.Errorf("before: %v", err)
		}
		if err := p.Place(t.Context(), next, false); err != nil {
			t.Fatal(err)
		}
		if err := p.Verify(t.Context(), next); err != nil {
			t.Error(err)
		}
		if !strings.Contains(s.disk[partPath].Data, "old=0x0002") {
			t.Error("what traffic may still use is gone")
		}
		if err := p.Place(t.Context(), next, true); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.disk[partPath].Data, "old=0x0002") || !last.Changed {
			t.Errorf("left over:\n%s", s.disk[partPath].Data)
		}
		var refused *RefusedError
		err := p.Check(t.Context(), plan(policy.Placement{Tenant: "lost", PKey: 1, Port: ident.PortID{Node: 99, Port: 1}}))
		if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodeNoMembers {
			t.Errorf("a port that is not there: %v", err)
		}
		// The split tenant of a plan is refused before anything is written.
		was := s.disk[partPath]
		split := plan(policy.Placement{Tenant: "gold", PKey: 1, Port: ids[0], SL: 4}, policy.Placement{Tenant: "gold", PKey: 1, Port: ids[1], SL: 5})
		if err = p.Check(t.Context(), split); !errors.As(err, &refused) {
			t.Errorf("two service levels: %v", err)
		}
		err = p.Place(t.Context(), split, false)
		if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodeTwoSLs || s.disk[partPath] != was {
			t.Errorf("two service levels: %v", err)
		}
	})
}
