package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Selector returns the selector of namespaces. A deleted binding selects none, and neither does a selector that the schema
// would have refused.
func (b *TenantBinding) Selector() labels.Selector {
	s := metav1.LabelSelector{MatchLabels: b.Spec.NamespaceSelector.MatchLabels}
	for _, e := range b.Spec.NamespaceSelector.MatchExpressions {
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: e.Key, Operator: e.Operator, Values: slices.Clone(e.Values)})
	}
	match, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil || match.Empty() || b.DeletionTimestamp != nil {
		return labels.Nothing()
	}
	return match
}

// Selecting returns those of the bindings that select a namespace with the labels, in their order. A namespace with more than
// one is ambiguous: its new pods get no class.
func Selecting(bindings []TenantBinding, namespace labels.Labels) []*TenantBinding {
	var found []*TenantBinding
	for i := range bindings {
		if bindings[i].Selector().Matches(namespace) {
			found = append(found, &bindings[i])
		}
	}
	return found
}

// Budget returns the number of device settings that one automatic rollout for the binding may change.
func (b *TenantBinding) Budget() int {
	if b.Spec.Limit == nil {
		return DefaultLimit
	}
	return int(*b.Spec.Limit)
}
