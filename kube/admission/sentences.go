package admission

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlane/kube/v1alpha1"
)

// The sentences of the webhook, in English as all texts of the cluster's objects. The API server shows them to the pod's creator.

func saidHostNetwork(b *v1alpha1.TenantBinding, namespace, device string) string {
	return fmt.Sprintf("namespace %s belongs to tenant %s of fabric %s, and this pod uses the host's network with RDMA devices (by %s): "+
		"its traffic gets no class and no share of the tenant. Attach the device through a pod network or a resource claim instead of hostNetwork",
		namespace, b.Spec.Tenant, b.Spec.Fabric, device)
}

func saidEnvFrom(container string, env []corev1.EnvVar) string {
	all := make([]string, len(env))
	for i, e := range env {
		all[i] = e.Name + "=" + e.Value
	}
	return fmt.Sprintf("container %s takes its environment from a ConfigMap or Secret, so Fairlane adds nothing to it; set there, if RDMA is used: %s",
		container, strings.Join(all, " "))
}
