package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestBindingsSelectByAllTheirTerms(t *testing.T) {
	t.Parallel()
	const key = LabelPrefix + "tenant"
	expression := func(op metav1.LabelSelectorOperator, values ...string) NamespaceSelector {
		return NamespaceSelector{MatchExpressions: []NamespaceRequirement{{Key: key, Operator: op, Values: values}}}
	}
	both := expression(metav1.LabelSelectorOpExists)
	both.MatchLabels = map[string]string{"kubernetes.io/metadata.name": "a"}
	deleted := metav1.Now()
	for name, c := range map[string]struct {
		selector NamespaceSelector
		deleted  *metav1.Time
		labels   labels.Set
		want     bool
	}{
		"a label":                   {NamespaceSelector{MatchLabels: map[string]string{key: "red"}}, nil, labels.Set{key: "red", "x": "y"}, true},
		"another value":             {NamespaceSelector{MatchLabels: map[string]string{key: "red"}}, nil, labels.Set{key: "blue"}, false},
		"in":                        {expression(metav1.LabelSelectorOpIn, "red", "blue"), nil, labels.Set{key: "blue"}, true},
		"both terms":                {both, nil, labels.Set{key: "x", "kubernetes.io/metadata.name": "a"}, true},
		"one of two":                {both, nil, labels.Set{"kubernetes.io/metadata.name": "a"}, false},
		"empty":                     {NamespaceSelector{}, nil, labels.Set{key: "red"}, false}, // as the schema refuses it
		"an unknown operator":       {expression("Like", "red"), nil, labels.Set{key: "red"}, false},
		"a binding that is leaving": {NamespaceSelector{MatchLabels: map[string]string{key: "red"}}, &deleted, labels.Set{key: "red"}, false},
	} {
		b := TenantBinding{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: c.deleted}, Spec: TenantBindingSpec{NamespaceSelector: c.selector}}
		if got := b.Selector().Matches(c.labels); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if n := len(Selecting([]TenantBinding{b, b}, c.labels)); (n == 2) != c.want {
			t.Errorf("%s: %d selecting", name, n)
		}
	}
}

func TestALimitOfZeroIsNotTheDefault(t *testing.T) {
	t.Parallel()
	zero := TenantBinding{Spec: TenantBindingSpec{Limit: new(int32)}}
	if zero.Budget() != 0 || (&TenantBinding{}).Budget() != DefaultLimit {
		t.Error(zero.Budget(), (&TenantBinding{}).Budget())
	}
}
