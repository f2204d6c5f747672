package tenancy_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/usecases"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// content is what a revision holds, apart from its number and author.
type content struct {
	Tenants []tenants.Tenant
	Flows   []tenants.Flow
	Options policy.Options
}

// revision returns what a revision holds; 0 is the latest.
func revision(ctx context.Context, t rapid.TB, s *usecases.Services, fabric string, number int64) (content, control.Policy) {
	t.Helper()
	c, err := s.Policy(ctx, fabric, number)
	if err != nil {
		t.Fatal(err)
	}
	if c.Policy.Tenants != len(c.List) || c.Policy.Flows != len(c.Traffic) {
		t.Fatalf("revision %d counts %d tenants and %d flows: it has %d and %d", c.Number, c.Policy.Tenants, c.Policy.Flows, len(c.List), len(c.Traffic))
	}
	return content{c.List, c.Traffic, c.Options}, c.Policy
}

// live returns what the fabric has.
func live(ctx context.Context, t rapid.TB, s *usecases.Services, fabric string) (c content, options int64) {
	t.Helper()
	list, _, err := s.ListTenants(ctx, fabric, control.Page{Limit: control.MaxPageLimit})
	if err != nil {
		t.Fatal(err)
	}
	if c.Flows, _, err = s.Flows(ctx, fabric); err != nil {
		t.Fatal(err)
	}
	if c.Options, options, err = s.Options(ctx, fabric); err != nil {
		t.Fatal(err)
	}
	c.Tenants = control.Plain(list)
	return c, options
}

// same compares contents; the order of flows and empty lists do not count.
func same(a, b content) string {
	order := func(c content) content {
		c.Flows = slices.SortedFunc(slices.Values(c.Flows), func(a, b tenants.Flow) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		c.Tenants = slices.Clone(c.Tenants)
		for i := range c.Tenants {
			c.Tenants[i].Classes = append([]tenants.Class{}, c.Tenants[i].Classes...)
			c.Tenants[i].Attachments = append([]tenants.Attachment{}, c.Tenants[i].Attachments...)
		}
		return c
	}
	return gocmp.Diff(order(a), order(b))
}

// drawnSet draws a valid declared state.
func drawnSet(t *rapid.T) tenancy.TenantSet {
	set := tenancy.TenantSet{Prune: true, Flows: []tenancy.FlowInput{}}
	for i, name := range []string{"red", "blue", "green"} {
		if !rapid.Bool().Draw(t, "has "+name) {
			continue
		}
		in := tenancy.TenantInput{Name: name, Weight: quantity.Weight(rapid.IntRange(1, 9).Draw(t, "weight")) * quantity.WeightOne, PKey: ident.PKey(0x8001 + i)}
		in.Guarantee = quantity.BitRate(rapid.IntRange(0, 1).Draw(t, "guarantee")) * quantity.Gbps
		in.Cap = quantity.BitRate(rapid.IntRange(0, 1).Draw(t, "cap")) * 50 * quantity.Gbps
		class := ""
		if rapid.Bool().Draw(t, "classes") {
			class = "bulk"
			in.Classes = []tenants.Class{{Name: "urgent", Weight: 2000}, {Name: class, Weight: 1000}}
		}
		ports := []string{"h1", "h2", "h3", "h4"}
		if rapid.Bool().Draw(t, "attached") {
			for _, p := range ports {
				a := tenancy.AttachmentInput{Port: p}
				if rapid.Bool().Draw(t, "pinned") {
					a.SL = new(ident.SL(i + 1))
				}
				in.Attachments = append(in.Attachments, a)
			}
		}
		set.Tenants = append(set.Tenants, in)
		for range rapid.IntRange(0, 2).Draw(t, "flows") {
			src := rapid.IntRange(0, 3).Draw(t, "src")
			set.Flows = append(set.Flows, tenancy.FlowInput{Tenant: name, Class: class, Src: ports[src], Dst: ports[(src+1)%4],
				QPs: rapid.IntRange(1, 4).Draw(t, "qps"), Demand: quantity.BitRate(rapid.IntRange(0, 3).Draw(t, "demand")) * quantity.Gbps})
		}
	}
	return set
}

func TestRestoredRevisionIsExactlyWhatItWas(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	s, ctx := r.Service, t.Context()
	fabrics := 0
	rapid.Check(t, func(t *rapid.T) {
		fabrics++
		fabric := fmt.Sprintf("lab%d", fabrics)
		if _, err := s.CreateFabric(ctx, control.Fabric{Name: fabric, Source: controltest.Source}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Discover(ctx, fabric); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateTenant(ctx, fabric, tenancy.TenantInput{Name: "first", Weight: 1}); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			if _, err := s.ApplyTenants(ctx, fabric, drawnSet(t), false); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "options") {
				if _, err := s.PutOptions(ctx, fabric, control.AnyVersion, policy.Options{VLArbitration: rapid.Bool().Draw(t, "arbitration")}); err != nil {
					t.Fatal(err)
				}
			}
		}
		now, at := revision(ctx, t, s, fabric, 0)
		is, options := live(ctx, t, s, fabric)
		if d := same(now, is); d != "" {
			t.Fatalf("revision %d is not what the fabric has:\n%s", at.Number, d)
		}
		number := rapid.Int64Range(1, at.Number).Draw(t, "number")
		then, _ := revision(ctx, t, s, fabric, number)
		diff, err := s.DiffPolicies(ctx, fabric, number, 0)
		if err != nil || diff.Empty() != (same(then, now) == "") {
			t.Fatalf("the difference is empty: %v, %v; it is\n%s", diff.Empty(), err, same(then, now))
		}
		p, changed, err := s.RestorePolicy(ctx, fabric, number, at.Number)
		if err != nil || changed == diff.Empty() {
			t.Fatalf("restoring %d: changed %v, %v", number, changed, err)
		}
		if changed && (p.Number != at.Number+1 || p.Restores != number) || !changed && p.Number != at.Number {
			t.Fatalf("restoring %d at %d gave %+v", number, at.Number, p)
		}
		now, _ = revision(ctx, t, s, fabric, 0)
		is, since := live(ctx, t, s, fabric)
		if d := cmp.Or(same(then, now), same(then, is)); d != "" {
			t.Fatalf("restored is not what it was:\n%s", d)
		}
		if equal := control.SameJSON(diff.Before, diff.After); equal != (since == options) {
			t.Fatalf("the version of the options was %d and is %d; they are equal: %v", options, since, equal)
		}
		if _, changed, err := s.RestorePolicy(ctx, fabric, number, control.AnyVersion); err != nil || changed {
			t.Fatalf("restoring %d again: changed %v, %v", number, changed, err)
		}
	})
}

func TestOnlyTheLatestRevisionThatWasReadIsReplaced(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := t.Context()
	_, latest := revision(ctx, t, s, "lab", 0)
	for _, stale := range []int64{0, latest.Number - 1, latest.Number + 1} {
		leaves(t, s, "a stale restoration", func() {
			_, changed, err := s.RestorePolicy(ctx, "lab", 1, stale)
			controltest.MustFail(t, "at a stale version", err, control.ErrPrecondition)
			if changed {
				t.Error("it says that it changed something")
			}
		})
	}
	for fabric, number := range map[string]int64{"lab": latest.Number + 1, "nowhere": 1} {
		_, _, err := s.RestorePolicy(ctx, fabric, number, control.AnyVersion)
		controltest.MustFail(t, "a revision that does not exist", err, control.ErrNotFound)
	}
	ctx = control.WithActor(ctx, "ada")
	p, changed, err := s.RestorePolicy(ctx, "lab", 1, latest.Number)
	if err != nil || !changed || p.Actor != "ada" || p.Restores != 1 {
		t.Fatalf("%+v, changed %v, %v", p, changed, err)
	}
	e := controltest.LastAuditEntry(t, s)
	if e.Action != "policy.restored" || e.Object != "1" || e.Actor != "ada" || string(e.Before) != fmt.Sprint(latest.Number) || string(e.After) != fmt.Sprint(p.Number) {
		t.Errorf("the log has %+v", e)
	}
}

// smallStar discovers a star without its last host.
type smallStar struct{ control.Discoverer }

func (smallStar) Discover(context.Context, string, policy.Options) (*subnet.Fabric, control.DiscoverStats, error) {
	f, err := topogen.Star(3, topogen.Wire{})
	return f, control.DiscoverStats{}, err
}

func TestRevisionWhosePortsAreGoneIsNotRestored(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	s, ctx := r.Service, t.Context()
	if _, err := s.ApplyTenants(ctx, "lab", tenancy.TenantSet{Prune: true, Flows: []tenancy.FlowInput{}}, false); err != nil {
		t.Fatal(err)
	}
	small := r.Manager(t, func(d *control.Deps) { d.Discoverer = smallStar{} })
	if _, err := small.Discover(ctx, "lab"); err != nil {
		t.Fatal(err)
	}
	leaves(t, small, "a restoration that fails", func() {
		_, _, err := small.RestorePolicy(ctx, "lab", 1, control.AnyVersion)
		controltest.MustFail(t, "with h4 gone", err, control.ErrInvalid)
	})
}

func TestEachChangeMakesOneRevisionAndOthersNone(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := control.WithActor(t.Context(), "ada")
	red := controltest.Tenants().Tenants[0]
	other := red
	other.Weight = 9000
	update := func(in tenancy.TenantInput) error { _, err := s.UpdateTenant(ctx, "lab", 0, in); return err }
	options := func(o policy.Options) error {
		_, err := s.PutOptions(ctx, "lab", control.AnyVersion, o)
		return err
	}
	for _, c := range []struct {
		name           string
		change         func() error
		makes          int64
		tenants, flows int
	}{
		{"a new weight", func() error { return update(other) }, 1, 3, 2},
		{"the same weight", func() error { return update(other) }, 0, 3, 2},
		{"a new tenant", func() error {
			_, err := s.CreateTenant(ctx, "lab", tenancy.TenantInput{Name: "new", Weight: 1})
			return err
		}, 1, 4, 2},
		{"the tenant goes", func() error { return s.DeleteTenant(ctx, "lab", "new", 0) }, 1, 3, 2},
		{"no flows", func() error { _, _, err := s.PutFlows(ctx, "lab", control.AnyVersion, nil); return err }, 1, 3, 0},
		{"a declared set", func() error { _, err := s.ApplyTenants(ctx, "lab", controltest.Tenants(), false); return err }, 1, 3, 2},
		{"the same set", func() error { _, err := s.ApplyTenants(ctx, "lab", controltest.Tenants(), false); return err }, 0, 3, 2},
		{"another set, dry", func() error {
			_, err := s.ApplyTenants(ctx, "lab", tenancy.TenantSet{Flows: []tenancy.FlowInput{}}, true)
			return err
		}, 0, 3, 2},
		{"options", func() error { return options(policy.Options{VLArbitration: true}) }, 1, 3, 2},
		{"the same options", func() error { return options(policy.Options{VLArbitration: true}) }, 0, 3, 2},
		{"a label", func() error { _, err := s.LabelPolicy(ctx, "lab", 1, "x"); return err }, 0, 3, 2},
	} {
		_, before := revision(ctx, t, s, "lab", 0)
		if err := c.change(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_, p := revision(ctx, t, s, "lab", 0)
		if p.Number != before.Number+c.makes || p.Tenants != c.tenants || p.Flows != c.flows {
			t.Errorf("%s: revision %d became %d with %d tenants and %d flows, want %d more with %d and %d", c.name, before.Number, p.Number, p.Tenants, p.Flows, c.makes, c.tenants, c.flows)
		}
		if c.makes > 0 && (p.Actor != "ada" || p.Said.String() == "" || p.Restores != 0) {
			t.Errorf("%s made %+v", c.name, p)
		}
	}
	list, next, err := s.ListPolicies(ctx, "lab", control.Page{Limit: 2})
	_, latest := revision(ctx, t, s, "lab", 0)
	if err != nil || len(list) != 2 || list[0].Number != latest.Number || list[1].Number != latest.Number-1 {
		t.Fatalf("the newest two are %+v, %v", list, err)
	}
	if list, _, err = s.ListPolicies(ctx, "lab", control.Page{Limit: 2, After: next}); err != nil || len(list) != 2 || list[0].Number != latest.Number-2 {
		t.Errorf("the two before are %+v, %v", list, err)
	}
}

func TestLabelOfARevision(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := t.Context()
	for _, good := range []string{"before the move", strings.Repeat("x", 200), strings.Repeat("租", 200), ""} {
		if p, err := s.LabelPolicy(ctx, "lab", 1, good); err != nil || p.Label != good || p.Number != 1 {
			t.Errorf("label %.20q: %+v, %v", good, p, err)
		}
	}
	if _, err := s.LabelPolicy(ctx, "lab", 1, "kept"); err != nil {
		t.Fatal(err)
	}
	e := controltest.LastAuditEntry(t, s)
	if e.Action != "policy.labelled" || e.Object != "1" || string(e.Before) != `""` || string(e.After) != `"kept"` {
		t.Errorf("the log has %s of %s: %s to %s", e.Action, e.Object, e.Before, e.After)
	}
	leaves(t, s, "a rejected label", func() {
		for _, bad := range []string{strings.Repeat("x", 201), strings.Repeat("租", 201), "two\nlines", "\x00", "\x7f"} {
			_, err := s.LabelPolicy(ctx, "lab", 1, bad)
			if got := pointers(err); !slices.Equal(got, []string{"/label"}) {
				t.Errorf("label %.20q: %v", bad, err)
			}
		}
		for fabric, number := range map[string]int64{"lab": 99, "nowhere": 1} {
			_, err := s.LabelPolicy(ctx, fabric, number, "x")
			controltest.MustFail(t, "a revision that does not exist", err, control.ErrNotFound)
		}
	})
	if _, p := revision(ctx, t, s, "lab", 1); p.Label != "kept" {
		t.Errorf("the label is %q", p.Label)
	}
	if _, p := revision(ctx, t, s, "lab", 2); p.Label != "" {
		t.Errorf("the label of another revision is %q", p.Label)
	}
}

func TestDifferenceOfTwoRevisions(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	s, ctx := r.Service, t.Context()
	set := controltest.Tenants()
	set.Tenants[0].Weight = 9000
	set.Tenants[1].Name, set.Flows[1].Tenant = "green", "green"
	set.Flows = []tenancy.FlowInput{set.Flows[0], set.Flows[1]}
	for range 150 { // of one, so that duplicates count
		set.Flows = append(set.Flows, set.Flows[0])
	}
	set.Prune = true
	if _, err := s.ApplyTenants(ctx, "lab", set, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutOptions(ctx, "lab", control.AnyVersion, policy.Options{VLArbitration: true}); err != nil {
		t.Fatal(err)
	}
	d, err := s.DiffPolicies(ctx, "lab", 1, 0)
	if err != nil || d.From != 1 || d.To != 3 {
		t.Fatalf("from %d to %d, %v", d.From, d.To, err)
	}
	if len(d.Added) != 1 || d.Added[0].Name != "green" || len(d.Removed) != 1 || d.Removed[0].Name != "blue" {
		t.Errorf("added %+v, removed %+v", d.Added, d.Removed)
	}
	if len(d.Changed) != 1 || d.Changed[0].Before.Weight != 3000 || d.Changed[0].After.Weight != 9000 {
		t.Errorf("changed %+v", d.Changed)
	}
	if d.FlowsAddedN != 151 || len(d.FlowsAdded) != 100 || d.FlowsRemovedN != 1 || len(d.FlowsRemoved) != 1 || d.FlowsRemoved[0].Tenant != "blue" {
		t.Errorf("%d flows were added, %d of them listed, and %d removed: %+v", d.FlowsAddedN, len(d.FlowsAdded), d.FlowsRemovedN, d.FlowsRemoved)
	}
	if d.Before.VLArbitration || !d.After.VLArbitration {
		t.Errorf("options %+v became %+v", d.Before, d.After)
	}
	back, err := s.DiffPolicies(ctx, "lab", 3, 1)
	if err != nil || back.FlowsRemovedN != 151 || len(back.Added) != 1 || back.Added[0].Name != "blue" || back.Before.VLArbitration != true {
		t.Errorf("the reverse difference is %+v, %v", back, err)
	}
	if none, err := s.DiffPolicies(ctx, "lab", 0, 3); err != nil || !none.Empty() {
		t.Errorf("from a revision to itself it is %+v, %v", none, err)
	}
	if only, err := s.DiffPolicies(ctx, "lab", 2, 3); err != nil || only.Empty() || len(only.Changed)+only.FlowsAddedN != 0 {
		t.Errorf("of options alone it is %+v, %v", only, err)
	}
	for _, c := range [][2]int64{{1, 9}, {9, 1}} {
		_, err := s.DiffPolicies(ctx, "lab", c[0], c[1])
		controltest.MustFail(t, "a revision that does not exist", err, control.ErrNotFound)
	}
}

func TestOptionsAreReplacedOnlyAtTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := t.Context()
	o, version, err := s.Options(ctx, "lab")
	if err != nil || version != 0 || !control.SameJSON(o, policy.Options{}) {
		t.Fatalf("at first: %+v at %d, %v", o, version, err)
	}
	next, err := s.PutOptions(ctx, "lab", 0, policy.Options{VLArbitration: true})
	if _, latest := revision(ctx, t, s, "lab", 0); err != nil || next != latest.Number {
		t.Fatalf("version %d, %v: the revision is %d", next, err, latest.Number)
	}
	e := controltest.LastAuditEntry(t, s)
	if e.Action != "options.replaced" || string(e.Before) != `{}` || string(e.After) != `{"vl_arbitration":true}` {
		t.Errorf("the log has %s: %s to %s", e.Action, e.Before, e.After)
	}
	// A change of tenants does not affect the version.
	if err := s.PutClass(ctx, "lab", "green", tenancy.AnyTag, tenants.Class{Name: "bulk", Weight: 5000}); err != nil {
		t.Fatal(err)
	}
	leaves(t, s, "rejected options", func() {
		for _, stale := range []int64{0, next - 1, next + 1} {
			_, err := s.PutOptions(ctx, "lab", stale, policy.Options{})
			controltest.MustFail(t, "a stale version", err, control.ErrPrecondition)
		}
		_, err := s.PutOptions(ctx, "lab", next, policy.Options{Profile: "connectx-6", Plane: policy.PlaneRoCE, VLArbitration: true, TableEntries: 16})
		if got := pointers(err); !slices.Equal(got, []string{"/table_entries", "/vl_arbitration"}) {
			t.Errorf("options of another plane: %v at %q", err, got)
		}
		_, err = s.PutOptions(ctx, "lab", next, policy.Options{Profile: "connectx-6"})
		if got := pointers(err); !slices.Equal(got, []string{"/profile"}) {
			t.Errorf("an option of another plane than the fabric's: %v at %q", err, got)
		}
		_, err = s.PutOptions(ctx, "nowhere", control.AnyVersion, policy.Options{})
		controltest.MustFail(t, "options of no fabric", err, control.ErrNotFound)
		_, _, err = s.Options(ctx, "nowhere")
		controltest.MustFail(t, "options of no fabric", err, control.ErrNotFound)
	})
	if again, err := s.PutOptions(ctx, "lab", next, policy.Options{VLArbitration: true}); err != nil || again != next {
		t.Errorf("the same options again: version %d after %d, %v", again, next, err)
	}
	if o, at, err := s.Options(ctx, "lab"); err != nil || at != next || !o.VLArbitration {
		t.Errorf("stored are %+v at %d, %v", o, at, err)
	}
}
