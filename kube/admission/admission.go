// Package admission is the mutating webhook for pods: in namespaces that a TenantBinding selects, it gives containers the
// service level or traffic class of their tenant's class, which libraries for RDMA read from the environment. It also decides on
// pods that no CNI plugin meets: those on the host's network with RDMA devices. The environment is a request, not a bound: what
// a tenant gains by another service level is limited by the fabric's settings.
//
// The webhook fails open. A pod in an unbound namespace never depends on it.
package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"fairlane/kube/v1alpha1"
)

// HostNetwork is what happens to pods on the host's network with RDMA devices in bound namespaces.
type HostNetwork string

// Decisions on such pods.
const (
	Warn HostNetwork = "warn" // the pod is created with a warning
	Deny HostNetwork = "deny" // the pod is refused
)

// Pods is the webhook's handler.
type Pods struct {
	Reader      client.Reader // of a cache
	HostNetwork HostNetwork
	// Resources are patterns, as path.Match has them, of extended resources that give a container an RDMA device.
	Resources []string
}

// DefaultResources are the patterns of resources that common device plugins offer.
func DefaultResources() []string { return []string{"rdma/*", "*/*rdma*", "*/hca*", "*/*roce*"} }

// Handle decides on the creation of a pod.
func (p *Pods) Handle(ctx context.Context, req admission.Request) admission.Response {
	var pod corev1.Pod
	if err := json.Unmarshal(req.Object.Raw, &pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	binding, err := p.binding(ctx, req.Namespace)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if binding == nil {
		return admission.Allowed("")
	}
	var warnings []string
	if device := p.hostDevice(&pod.Spec); pod.Spec.HostNetwork && device != "" {
		text := saidHostNetwork(binding, req.Namespace, device)
		if p.HostNetwork == Deny {
			return admission.Denied(text)
		}
		warnings = append(warnings, text)
	}
	before, err := json.Marshal(&pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	warnings = append(warnings, inject(&pod.Spec, environment(binding))...)
	after, err := json.Marshal(&pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	// Not from the request's own text: the patch would remove the fields that this version of the types does not have.
	return admission.PatchResponseFromRaw(before, after).WithWarnings(warnings...)
}

// binding returns the one binding that selects the namespace, nil if there is none or more than one.
func (p *Pods) binding(ctx context.Context, namespace string) (*v1alpha1.TenantBinding, error) {
	var ns corev1.Namespace
	if err := p.Reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns); err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", namespace, err)
	}
	var all v1alpha1.TenantBindingList
	if err := p.Reader.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list tenantbindings: %w", err)
	}
	if found := v1alpha1.Selecting(all.Items, labels.Set(ns.Labels)); len(found) == 1 {
		return found[0], nil
	}
	return nil, nil
}
