package kubetest_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/v1alpha1"
)

// binding returns a binding that is accepted, with a name of the test's own.
func binding(edit func(*v1alpha1.TenantBinding)) *v1alpha1.TenantBinding {
	b := &v1alpha1.TenantBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Spec: v1alpha1.TenantBindingSpec{
			Fabric: "lab", Tenant: "red",
			NamespaceSelector: v1alpha1.NamespaceSelector{MatchLabels: map[string]string{"tenancy.fairlane.dev/tenant": "none"}},
			CachedFor:         metav1.Duration{Duration: time.Hour},
		},
	}
	if edit != nil {
		edit(b)
	}
	return b
}

func TestTheSchemaOfBindings(t *testing.T) {
	t.Parallel()
	expression := func(key string, op metav1.LabelSelectorOperator, values ...string) func(*v1alpha1.TenantBinding) {
		return func(b *v1alpha1.TenantBinding) {
			b.Spec.NamespaceSelector = v1alpha1.NamespaceSelector{MatchExpressions: []v1alpha1.NamespaceRequirement{{Key: key, Operator: op, Values: values}}}
		}
	}
	for name, c := range map[string]struct {
		edit func(*v1alpha1.TenantBinding)
		want string // empty: accepted
	}{
		"plain":                {nil, ""},
		"the namespace's name": {expression("kubernetes.io/metadata.name", "In", "a", "b"), ""},
		"a label exists":       {expression("tenancy.fairlane.dev/bound", "Exists"), ""},
		"a limit of 0":         {func(b *v1alpha1.TenantBinding) { b.Spec.Limit = new(int32(0)) }, ""},
		"open":                 {func(b *v1alpha1.TenantBinding) { b.Spec.FailPolicy = v1alpha1.FailOpen }, ""},
		"720h":                 {func(b *v1alpha1.TenantBinding) { b.Spec.CachedFor.Duration = 720 * time.Hour }, ""},

		"upper case":         {func(b *v1alpha1.TenantBinding) { b.Spec.Tenant = "Red" }, "spec.tenant"},
		"no fabric":          {func(b *v1alpha1.TenantBinding) { b.Spec.Fabric = "" }, "spec.fabric"},
		"a label of anybody": {func(b *v1alpha1.TenantBinding) { b.Spec.NamespaceSelector.MatchLabels["team"] = "x" }, "tenancy.fairlane.dev/"},
		"a prefix of the prefix": {func(b *v1alpha1.TenantBinding) {
			b.Spec.NamespaceSelector.MatchLabels = map[string]string{"tenancy.fairlane.dev.example.com/x": "y"}
		}, "tenancy.fairlane.dev/"},
		"an expression of anybody": {expression("team", "In", "x"), "tenancy.fairlane.dev/"},
		"every namespace":          {func(b *v1alpha1.TenantBinding) { b.Spec.NamespaceSelector = v1alpha1.NamespaceSelector{} }, "every namespace"},
		"all but some":             {expression("tenancy.fairlane.dev/tenant", "NotIn", "x"), "every namespace"},
		"all without a label":      {expression("tenancy.fairlane.dev/tenant", "DoesNotExist"), "every namespace"},
		"In without values":        {expression("tenancy.fairlane.dev/tenant", "In"), "values are needed"},
		"Exists with values":       {expression("tenancy.fairlane.dev/tenant", "Exists", "x"), "not allowed with Exists"},
		"another operator":         {expression("tenancy.fairlane.dev/tenant", "Like", "x"), "operator"},
		"another fail policy":      {func(b *v1alpha1.TenantBinding) { b.Spec.FailPolicy = "Maybe" }, "failPolicy"},
		"a negative limit":         {func(b *v1alpha1.TenantBinding) { b.Spec.Limit = new(int32(-1)) }, "limit"},
		"59s":                      {func(b *v1alpha1.TenantBinding) { b.Spec.CachedFor.Duration = 59 * time.Second }, "from 1m to 720h"},
		"721h":                     {func(b *v1alpha1.TenantBinding) { b.Spec.CachedFor.Duration = 721 * time.Hour }, "from 1m to 720h"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := cluster.Admin.Create(t.Context(), binding(c.edit), client.DryRunAll)
			checkRefusal(t, err, c.want)
		})
	}
}

func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted, want a refusal with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused by %v, want %q in it", err, want)
	}
}

func TestABindingKeepsItsFabricAndTenantAndGetsDefaults(t *testing.T) {
	t.Parallel()
	b := binding(func(b *v1alpha1.TenantBinding) { b.Spec.CachedFor = metav1.Duration{Duration: 24 * time.Hour} })
	if err := cluster.Admin.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Admin.Delete(t.Context(), b) })
	if b.Spec.Class != "default" || b.Spec.FailPolicy != v1alpha1.FailClosed || b.Spec.Limit == nil || *b.Spec.Limit != v1alpha1.DefaultLimit {
		t.Errorf("defaults: %+v", b.Spec)
	}
	for want, edit := range map[string]func(*v1alpha1.TenantBinding){
		"fabric cannot be changed": func(b *v1alpha1.TenantBinding) { b.Spec.Fabric = "other" },
		"tenant cannot be changed": func(b *v1alpha1.TenantBinding) { b.Spec.Tenant = "blue" },
		"":                         func(b *v1alpha1.TenantBinding) { b.Spec.Class = "bulk" },
	} {
		changed := b.DeepCopy()
		edit(changed)
		checkRefusal(t, cluster.Admin.Update(t.Context(), changed, client.DryRunAll), want)
	}
}

func TestAnAttachmentStaysWithItsPod(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t, "stays", nil)
	agent := cluster.Client(t, cluster.As(t, "fairlane-agent", "node-1"))
	a := attachment(ns, "node-1", "p1")
	if err := agent.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	a.Spec.Class = "bulk" // the binding of a running pod may change
	if err := agent.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*v1alpha1.FabricAttachment){
		"pod":       func(a *v1alpha1.FabricAttachment) { a.Spec.Pod.Name = "p2" },
		"interface": func(a *v1alpha1.FabricAttachment) { a.Spec.Interface = "net2" },
	} {
		changed := a.DeepCopy()
		edit(changed)
		t.Run(name, func(t *testing.T) { checkRefusal(t, agent.Update(t.Context(), changed), "cannot move") })
	}
	changed := a.DeepCopy()
	changed.Spec.Source = "Guess"
	checkRefusal(t, agent.Update(t.Context(), changed), "source")
}
