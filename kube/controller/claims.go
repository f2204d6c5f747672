package controller

import (
	"maps"
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
	claimed     map[string]int64 // rates booked for pods, in bit/s, by port
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
		cl := &claim{binding: b, pods: map[types.UID]bool{}, ports: map[string]bool{}, claimed: map[string]int64{}}
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
	booked := map[booking]bool{}
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
		if of := bookingOf(a); a.Spec.ClaimedBps != nil && a.Spec.Device.Port != "" && !booked[of] {
			booked[of] = true
			cl.claimed[a.Spec.Device.Port] += *a.Spec.ClaimedBps
		}
	}
	return all
}

// booking is one allocation of a claim: pods that share the claim have one attachment each, and the rate together.
type booking struct{ namespace, claim, device, port string }

func bookingOf(a *v1alpha1.FabricAttachment) booking {
	return booking{a.Namespace, a.Spec.Network, a.Spec.Interface, a.Spec.Device.Port}
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

// feed returns the ports that the claims on a tenant hold together, sorted, with the rates booked there.
func feed(all []*claim, tenant string) []FeedPort {
	ports := map[string]int64{}
	for _, c := range all {
		if c.binding.Spec.Tenant == tenant {
			for p := range c.ports {
				ports[p] += c.claimed[p]
			}
		}
	}
	list := make([]FeedPort, 0, len(ports))
	for _, p := range slices.Sorted(maps.Keys(ports)) {
		list = append(list, FeedPort{p, min(ports[p], MaxClaimedBps)})
	}
	return list
}
