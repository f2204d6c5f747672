package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/v1alpha1"
)

// Caches says what the process's caches keep of objects, for cache.Options: what the passes and the webhook use. A large cluster has
// tens of thousands of attachments, most of which is the node agents' own.
func Caches() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Namespace{}:          {Transform: slim(slimNamespace)},
		&v1alpha1.FabricAttachment{}: {Transform: slim(slimAttachment)},
	}
}

// slim returns the transformation of a kind. Other objects, such as the last known state of a deleted one, pass unchanged.
func slim[T any](reduce func(T)) func(any) (any, error) {
	return func(o any) (any, error) {
		if object, ok := o.(T); ok {
			reduce(object)
		}
		return o, nil
	}
}

func slimMeta(m *metav1.ObjectMeta) {
	m.ManagedFields, m.Annotations, m.OwnerReferences = nil, nil, nil
}

func slimNamespace(n *corev1.Namespace) {
	slimMeta(&n.ObjectMeta)
	n.Spec, n.Status = corev1.NamespaceSpec{}, corev1.NamespaceStatus{}
}

func slimAttachment(a *v1alpha1.FabricAttachment) {
	slimMeta(&a.ObjectMeta)
	a.Labels = nil
	a.Spec = v1alpha1.FabricAttachmentSpec{
		Pod: a.Spec.Pod, Network: a.Spec.Network, Interface: a.Spec.Interface, Binding: a.Spec.Binding, ClaimedBps: a.Spec.ClaimedBps,
		Device: v1alpha1.AttachedDevice{Port: a.Spec.Device.Port},
	}
	a.Status = v1alpha1.FabricAttachmentStatus{Planned: a.Status.Planned, EntitledBps: a.Status.EntitledBps, DeliveredBps: a.Status.DeliveredBps}
}
