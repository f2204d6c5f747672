package tenancy_test

import (
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

func TestFlowsAreReplacedOnlyAtTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	s, ctx := r.Service, t.Context()
	_, version, err := s.Flows(ctx, "lab")
	if err != nil || version == 0 {
		t.Fatalf("version %d, %v", version, err)
	}
	one := controltest.Tenants().Flows[:1]
	for _, stale := range []int64{version - 1, version + 1} {
		leaves(t, s, "a stale version", func() {
			_, _, err := s.PutFlows(ctx, "lab", stale, one)
			controltest.MustFail(t, "a stale version", err, control.ErrPrecondition)
		})
	}
	flows, next, err := s.PutFlows(ctx, "lab", version, one)
	if err != nil || next <= version || len(flows) != 1 {
		t.Fatalf("%v at %d, %v", flows, next, err)
	}
	if stored, at, err := s.Flows(ctx, "lab"); err != nil || at != next || !slices.Equal(stored, flows) {
		t.Errorf("stored are %v at %d, %v; want %v at %d", stored, at, err, flows, next)
	}
	_, _, err = s.PutFlows(ctx, "lab", version, one)
	controltest.MustFail(t, "the version before, again", err, control.ErrPrecondition)
}

func TestFlowsKeepTheirOrderAndHaveAtLeastOneQueuePair(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	in := []tenancy.FlowInput{
		{Tenant: "red", Src: "h4", Dst: "h1", QPs: 7, Demand: 5 * quantity.Gbps},
		{Tenant: "green", Class: "bulk", Src: "h3/P1", Dst: "h1"},
		{Tenant: "blue", Src: "h2", Dst: "h4", QPs: 1},
		{Tenant: "red", Src: "h1", Dst: "h4"},
		{Tenant: "red", Src: "h1", Dst: "h4"},
	}
	if _, _, err := s.PutFlows(t.Context(), "lab", control.AnyVersion, in); err != nil {
		t.Fatal(err)
	}
	h := func(tenant, name string) ident.PortID { return port(t, s, tenant, name).Port }
	want := []tenants.Flow{
		{Tenant: "red", Src: h("red", "h4"), Dst: h("red", "h1"), QPs: 7, Demand: 5 * quantity.Gbps},
		{Tenant: "green", Class: "bulk", Src: h("green", "h3"), Dst: h("green", "h1"), QPs: 1},
		{Tenant: "blue", Src: h("blue", "h2"), Dst: h("blue", "h4"), QPs: 1},
		{Tenant: "red", Src: h("red", "h1"), Dst: h("red", "h4"), QPs: 1},
		{Tenant: "red", Src: h("red", "h1"), Dst: h("red", "h4"), QPs: 1},
	}
	if got, _, err := s.Flows(t.Context(), "lab"); err != nil || !slices.Equal(got, want) {
		t.Errorf("flows are\n%v, %v; want\n%v", got, err, want)
	}
}

func TestRejectedFlowsNameTheirFieldAndStayAsTheyWere(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	good := tenancy.FlowInput{Tenant: "red", Src: "h1", Dst: "h4"}
	for name, c := range map[string]struct {
		flow tenancy.FlowInput
		want string
	}{
		"of an unknown tenant":    {tenancy.FlowInput{Tenant: "purple", Src: "h1", Dst: "h4"}, "/flows/1/tenant"},
		"of no class":             {tenancy.FlowInput{Tenant: "green", Class: "gold", Src: "h1", Dst: "h3"}, "/flows/1/class"},
		"from nowhere":            {tenancy.FlowInput{Tenant: "red", Src: "nowhere", Dst: "h4"}, "/flows/1/src"},
		"to a switch":             {tenancy.FlowInput{Tenant: "red", Src: "h1", Dst: "sw1:1"}, "/flows/1/dst"},
		"to itself":               {tenancy.FlowInput{Tenant: "red", Src: "h1", Dst: "h1"}, "/flows/1/dst"},
		"from a port of others":   {tenancy.FlowInput{Tenant: "red", Src: "h2", Dst: "h4"}, "/flows/1/src"},
		"of too many queue pairs": {tenancy.FlowInput{Tenant: "red", Src: "h1", Dst: "h4", QPs: tenants.MaxQPs + 1}, "/flows/1/qps"},
		"of negative demand":      {tenancy.FlowInput{Tenant: "red", Src: "h1", Dst: "h4", Demand: -1}, "/flows/1/demand_bps"},
	} {
		leaves(t, s, name, func() {
			_, _, err := s.PutFlows(t.Context(), "lab", control.AnyVersion, []tenancy.FlowInput{good, c.flow})
			if got := pointers(err); !slices.Equal(got, []string{c.want}) {
				t.Errorf("%s: %v at %q, want %s", name, err, got, c.want)
			}
		})
	}
	for _, in := range [][]tenancy.FlowInput{nil, {good}} {
		_, _, err := s.PutFlows(t.Context(), "nowhere", control.AnyVersion, in)
		controltest.MustFail(t, "flows of no fabric", err, control.ErrNotFound)
	}
}

// limited returns the principal of a role.
func limited(r tenants.Role, fabric, tenant string) control.Principal {
	return control.Principal{Kind: control.PrincipalUser, Name: "eve", Grants: []tenants.Grant{{Role: r, Domain: tenants.Domain{Fabric: fabric, Tenant: tenant}}}}
}

func TestCallerSeesTheTenantsAndFlowsOfItsOwnDomainOnly(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	for name, c := range map[string]struct {
		who     control.Principal
		tenants []string
		flows   int
		whole   bool
	}{
		"administrator of a tenant":        {limited(tenants.RoleTenantAdmin, "lab", "red"), []string{"red"}, 1, false},
		"viewer of a tenant without flows": {limited(tenants.RoleTenantViewer, "lab", "green"), []string{"green"}, 0, false},
		"deleted tenant":                   {limited(tenants.RoleTenantAdmin, "lab", "gone"), nil, 0, false},
		"tenant of that name elsewhere":    {limited(tenants.RoleTenantAdmin, "other", "red"), nil, 0, false},
		"auditor of another fabric":        {limited(tenants.RoleAuditor, "other", ""), nil, 0, false},
		"user without roles":               {control.Principal{Kind: control.PrincipalUser, Name: "eve"}, nil, 0, false},
		"auditor of the fabric":            {limited(tenants.RoleAuditor, "lab", ""), []string{"blue", "green", "red"}, 2, true},
		"auditor of everything":            {limited(tenants.RoleAuditor, "", ""), []string{"blue", "green", "red"}, 2, true},
	} {
		ctx := control.WithPrincipal(t.Context(), c.who)
		var names []string
		for p := (control.Page{Limit: 1}); ; {
			list, next, err := s.ListTenants(ctx, "lab", p)
			if err != nil || len(list) > 1 {
				t.Fatalf("%s: page of %d, %v", name, len(list), err)
			}
			for _, x := range list {
				names = append(names, x.Name)
			}
			if p.After = next; next == "" {
				break
			}
		}
		if !slices.Equal(names, c.tenants) {
			t.Errorf("%s sees %q, want %q", name, names, c.tenants)
		}
		flows, version, err := s.Flows(ctx, "lab")
		if err != nil || len(flows) != c.flows || (version != 0) != c.whole {
			t.Errorf("%s sees %d flows at version %d, %v; want %d, with a version: %v", name, len(flows), version, err, c.flows, c.whole)
		}
		for _, f := range flows {
			if !slices.Contains(c.tenants, f.Tenant) {
				t.Errorf("%s sees a flow of %s", name, f.Tenant)
			}
		}
	}
	red := control.WithPrincipal(t.Context(), limited(tenants.RoleTenantAdmin, "lab", "red"))
	_, _, err := s.ListTenants(red, "nowhere", control.Page{})
	controltest.MustFail(t, "tenants of no fabric", err, control.ErrNotFound)
	_, _, err = s.Flows(red, "nowhere")
	controltest.MustFail(t, "flows of no fabric", err, control.ErrNotFound)
}

func TestPortsAreNamedByTheLatestTopology(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	name, err := s.PortNames(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	known := port(t, s, "green", "h3").Port
	for range 2 { // the second one from memory
		if got := name(known); got != "h3/P1" {
			t.Errorf("%s is called %q", known, got)
		}
		if got := name(ident.PortID{Node: 1, Port: 1}); got != "" {
			t.Errorf("a port that the fabric lacks is called %q", got)
		}
	}
	if _, err := s.CreateFabric(t.Context(), control.Fabric{Name: "new", Source: controltest.Source}); err != nil {
		t.Fatal(err)
	}
	if name, err = s.PortNames(t.Context(), "new"); err != nil || name(known) != "" {
		t.Errorf("before the first discovery: %v", err)
	}
	_, err = s.PortNames(t.Context(), "nowhere")
	controltest.MustFail(t, "ports of no fabric", err, control.ErrNotFound)
}
