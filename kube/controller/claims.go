package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"fairlane/kube/v1alpha1"
)

// cluster is what one pass reads of the cluster.
type cluster struct {
	bindings    []v1alpha1.TenantBinding // of all fabrics, by name
	namespaces  []corev1.Namespace
	attachments []v1alpha1.FabricAttachment
}

// claim is what one binding claims for its tenant.
type claim struct {
	binding     *v1alpha1.TenantBinding
	namespaces  int
	pods        map[types.UID]bool
	ports       map[string]bool
	attachments []*v1alpha1.FabricAttachment
	// disputed are namespaces that other bindings select too, with the names of those.
	disputed []dispute
}

type dispute struct {
	namespace string
	others    []string
}

// claims returns what each binding of the fabric claims, in the order of the bindings. A namespace that two bindings select,
// whatever their fabrics, is disputed: its attachments stay with the binding by which their node applied their class, so that
// a mistake in a new binding changes nothing for running pods.
func claims(c cluster, fabric string) []*claim {
	byName := map[string]*claim{}
	var all []*claim
	for i := range c.bindings {
		b := &c.bindings[i]
		if b.Spec.Fabric != fabric {
			continue
		}
		cl := &claim{binding: b, pods: map[types.UID]bool{}, ports: map[string]bool{}}
		byName[b.Name] = cl
		all = append(all, cl)
	}
	selectors := make([]labels.Selector, len(c.bindings)) // made once for all namespaces
	for i := range c.bindings {
		selectors[i] = c.bindings[i].Selector()
	}
	holders := map[string][]*v1alpha1.TenantBinding{}
	for i := range c.namespaces {
		ns := &c.namespaces[i]
		var found []*v1alpha1.TenantBinding
		for j, s := range selectors {
			if s.Matches(labels.Set(ns.Labels)) {
				found = append(found, &c.bindings[j])
			}
		}
		holders[ns.Name] = found
		for _, b := range found {
			cl := byName[b.Name]
			if cl == nil {
				continue
			}
			if len(found) == 1 {
				cl.namespaces++
				continue
			}
			cl.disputed = append(cl.disputed, dispute{ns.Name, otherNames(found, b.Name)})
		}
	}
	for i := range c.attachments {
		a := &c.attachments[i]
		cl := byName[holder(holders[a.Namespace], a)]
		if cl == nil || a.DeletionTimestamp != nil {
			continue
		}
		cl.attachments = append(cl.attachments, a)
		cl.pods[a.Spec.Pod.UID] = true
		if a.Spec.Device.Port != "" {
			cl.ports[a.Spec.Device.Port] = true
		}
	}
	return all
}

// holder returns the name of the binding to which an attachment belongs, of those that select its namespace.
func holder(found []*v1alpha1.TenantBinding, a *v1alpha1.FabricAttachment) string {
	if len(found) == 1 {
		return found[0].Name
	}
	if slices.ContainsFunc(found, func(b *v1alpha1.TenantBinding) bool { return b.Name == a.Spec.Binding }) {
		return a.Spec.Binding
	}
	return ""
}

func otherNames(found []*v1alpha1.TenantBinding, name string) []string {
	var others []string
	for _, b := range found {
		if b.Name != name {
			others = append(others, b.Name)
		}
	}
	return others
}

// feed returns the sorted ports that the claims on a tenant hold together.
func feed(all []*claim, tenant string) []string {
	ports := map[string]bool{}
	for _, c := range all {
		if c.binding.Spec.Tenant == tenant {
			for p := range c.ports {
				ports[p] = true
			}
		}
	}
	return sorted(ports)
}

func sorted(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for p := range set {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}
