// Package v1alpha1 holds the Kubernetes objects of the group fairlane.dev: a TenantBinding gives the namespaces that it
// selects to a tenant of a fabric; a FabricAttachment is one pod's presence on one port of a fabric. The package needs no
// client, so that the controller, the admission webhook and the node agent share it.
//
// +kubebuilder:object:generate=true
// +groupName=fairlane.dev
package v1alpha1

//go:generate sh ../../tools/kube/generate.sh
