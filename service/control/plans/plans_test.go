package plans_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/policy"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
)

func TestTheSameInputGivesTheSamePlan(t *testing.T) {
	t.Parallel()
	r, name := controltest.LabWithPlan(t)
	p, created, err := r.Service.CreatePlan(t.Context(), "lab", policy.Options{}, false)
	if err != nil || created || p.Plan.Name != name {
		t.Errorf("compiling again: created %v, name %s, %v; want %s again", created, p.Plan.Name, err, name)
	}
	if _, err := r.Service.UpdateTenant(t.Context(), "lab", 0, tenancy.TenantInput{
		Name: "red", Weight: 9000, PKey: 0x8001, Attachments: []tenancy.AttachmentInput{{Port: "h1"}, {Port: "h4"}}}); err != nil {
		t.Fatal(err)
	}
	p, created, err = r.Service.CreatePlan(t.Context(), "lab", policy.Options{}, false)
	if err != nil || !created || p.Plan.Name == name {
		t.Errorf("compiling with another weight: created %v, name %s, %v", created, p.Plan.Name, err)
	}
	back, err := r.Service.Plan(t.Context(), "lab", p.Plan.Name[:8])
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p.Plan, back.Plan); d != "" {
		t.Errorf("the stored plan differs:\n%s", d)
	}
}
