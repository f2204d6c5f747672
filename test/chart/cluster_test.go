package chart

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/internal/testkit/tlstest"
	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
)

const system = kubetest.System

// cluster starts an API server without any object of Fairlane, but with those of other projects that the chart uses: its own
// namespace, and definitions of the Prometheus Operator's and Multus's objects without their schemas.
func cluster(t *testing.T) (c *kubetest.Cluster, kubeconfig string) {
	t.Helper()
	kubetest.Need(t, kubetest.Folder)
	c, err := kubetest.StartEmpty()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Apply(t.Context(), "namespace.yaml"); err != nil {
		t.Fatal(err)
	}
	for plural, kind := range map[string]schema.GroupVersionKind{
		"servicemonitors":                {Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
		"prometheusrules":                {Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
		"network-attachment-definitions": {Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"},
	} {
		c.Define(t, plural, kind)
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := kubetest.WriteKubeconfig(c.Config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return c, kubeconfig
}

// everything lists the objects of the cluster as "KIND NAMESPACE/NAME", but for events and what the API server keeps for itself.
func everything(t *testing.T, c *kubetest.Cluster) map[string]bool {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	_, lists, err := d.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") || r.Kind == "Event" || r.Kind == "APIService" || r.Kind == "IPAddress" || r.Kind == "ServiceCIDR" || r.Kind == "ComponentStatus" {
				continue
			}
			l := &unstructured.UnstructuredList{}
			l.SetGroupVersionKind(group.WithKind(r.Kind + "List"))
			if err := c.Admin.List(t.Context(), l); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
				t.Fatal(err)
			}
			for _, u := range l.Items {
				if strings.HasPrefix(u.GetNamespace(), "kube-") || u.GetNamespace() == "default" || strings.HasPrefix(u.GetName(), "apiserver-") {
					continue
				}
				all[r.Kind+" "+u.GetNamespace()+"/"+u.GetName()] = true
			}
		}
	}
	return all
}

// added returns the objects that a cluster has more than before, sorted.
func added(before, after map[string]bool) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if !before[k] {
			out = append(out, k)
		}
	}
	return out
}

// fromHelm runs Helm against the cluster.
func fromHelm(t *testing.T, version, kubeconfig string, args ...string) {
	t.Helper()
	if out, err := kubetest.Helm(t, version, append([]string{"--kubeconfig", kubeconfig, "--namespace", system}, args...)...); err != nil {
		t.Fatalf("%s %v: %v%s", version, args, err, out)
	}
}

// TestTheServerAcceptsEveryRenderedObject asks for a dry run of the chart with each file of values, and of the examples.
func TestTheServerAcceptsEveryRenderedObject(t *testing.T) {
	t.Parallel()
	c, _ := cluster(t)
	strict := client.WithFieldValidation(c.Admin, "Strict")
	kinds := map[string]int{}
	try := func(where string, u *unstructured.Unstructured) {
		t.Helper()
		kinds[u.GetKind()]++
		if err := strict.Create(t.Context(), u, client.DryRunAll); err != nil {
			t.Errorf("%s: %s %s: %v", where, u.GetKind(), u.GetName(), err)
		}
	}
	for _, file := range valueFiles(t) {
		for _, u := range rendered(t, strings.TrimSuffix(filepath.Base(file), ".yaml")) {
			try(file, u)
		}
	}
	files, err := filepath.Glob(examples + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		all, err := kubetest.Objects("examples/" + filepath.Base(f))
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range all {
			u.SetNamespace(system)
			try(f, u)
		}
	}
	if len(kinds) < 20 {
		t.Errorf("only these kinds were tried: %v", kinds)
	}
	// A field that does not exist is found.
	wrong := rendered(t, "minimal")
	for _, u := range wrong {
		if u.GetKind() == "DaemonSet" {
			if err := unstructured.SetNestedField(u.Object, true, "spec", "template", "spec", "hostNetworks"); err != nil {
				t.Fatal(err)
			}
			if err := strict.Create(t.Context(), u, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "hostNetworks") {
				t.Errorf("an unknown field: %v", err)
			}
		}
	}
}

// older writes a copy of the chart of an earlier release: another version, and a CRD without one of its columns.
func older(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fairlane")
	if out, err := exec.CommandContext(t.Context(), "cp", "-rL", chartDir, dir).CombinedOutput(); err != nil { // links lead out of the chart
		t.Fatalf("%v: %s", err, out)
	}
	edit := func(path, from, through, to string) {
		path = filepath.Join(dir, path)
		before, rest, begins := strings.Cut(string(read(t, path)), from)
		_, after, ends := strings.Cut(rest, through)
		if !begins || !ends {
			t.Fatalf("%s has no %q with %q after it", path, from, through)
		}
		if err := os.WriteFile(path, []byte(before+to+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit("Chart.yaml", "version: ", "0.1.0", "version: 0.0.9")
	edit("files/crds/fairlane.dev_tenantbindings.yaml", "  - additionalPrinterColumns:\n", "    name: v1alpha1\n", "  - name: v1alpha1\n")
	return dir
}

// TestInstallUpgradeAndUninstall goes through the life of a release on an API server, with both versions of Helm.
func TestInstallUpgradeAndUninstall(t *testing.T) {
	t.Parallel()
	for _, version := range helms {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c, kubeconfig := cluster(t)
			life(t, version, c, kubeconfig)
		})
	}
}

func life(t *testing.T, version string, c *kubetest.Cluster, kubeconfig string) {
	values := []string{"--values", "testdata/values/everything.yaml"}
	empty := everything(t, c)
	crds := []string{"CustomResourceDefinition /fabricattachments.fairlane.dev", "CustomResourceDefinition /tenantbindings.fairlane.dev"}
	fromHelm(t, version, kubeconfig, append([]string{"install", "fairlane", older(t)}, values...)...)
	if n := len(added(empty, everything(t, c))); n < 40 {
		t.Errorf("%d objects were created", n)
	}
	authority := read(t, tlstest.New(t).File)
	kubetest.Eventually(t, time.Minute, func() string { return create(t.Context(), c, authority) })
	kept := keep(t, c)
	if columns(t, c) != 0 {
		t.Error("the older CRD has columns")
	}
	agents, controllers := generation(t, c, "DaemonSet", "fairlane-agent"), generation(t, c, "Deployment", "fairlane-kube")

	fromHelm(t, version, kubeconfig, append([]string{"upgrade", "fairlane", chartDir, "--set", "controller.interval=20s"}, values...)...)
	if got := keep(t, c); got != kept {
		t.Errorf("the upgrade changed what the controller keeps: %s, before %s", got, kept)
	}
	if columns(t, c) == 0 {
		t.Error("the upgrade did not upgrade the CRD")
	}
	// An upgrade of the controller alone restarts no agent.
	if got := generation(t, c, "DaemonSet", "fairlane-agent"); got != agents {
		t.Errorf("the agents' generation is %d, before %d", got, agents)
	}
	if got := generation(t, c, "Deployment", "fairlane-kube"); got == controllers {
		t.Error("the controller was not upgraded")
	}

	fromHelm(t, version, kubeconfig, "uninstall", "fairlane")
	gone(t, c, empty, append(slices.Clone(crds), "TenantBinding /red"))
	// The CRDs and the bindings stay, and belong to the next release.
	fromHelm(t, version, kubeconfig, "install", "fairlane", chartDir, "--values", "testdata/values/remove.yaml")
	if err := c.Admin.Delete(t.Context(), &v1alpha1.TenantBinding{ObjectMeta: metav1.ObjectMeta{Name: "red"}}); err != nil {
		t.Error(err)
	}
	fromHelm(t, version, kubeconfig, "uninstall", "fairlane")
	gone(t, c, empty, nil) // without crds.keep
}

// gone waits until the cluster has no more than before, but for some objects. A CRD is removed in the background.
func gone(t *testing.T, c *kubetest.Cluster, before map[string]bool, but []string) {
	t.Helper()
	kubetest.Eventually(t, 30*time.Second, func() string {
		if rest := added(before, everything(t, c)); !slices.Equal(rest, but) {
			return fmt.Sprintf("after uninstall the cluster has %q, want %q", rest, but)
		}
		return ""
	})
}

// create creates a binding, and what a running controller writes into objects of the chart. Its CRD may not be served yet.
func create(ctx context.Context, c *kubetest.Cluster, authority []byte) string {
	b := &v1alpha1.TenantBinding{ObjectMeta: metav1.ObjectMeta{Name: "red"}, Spec: v1alpha1.TenantBindingSpec{
		Fabric: "lab", Tenant: "red", CachedFor: metav1.Duration{Duration: time.Hour},
		NamespaceSelector: v1alpha1.NamespaceSelector{MatchLabels: map[string]string{"tenancy.fairlane.dev/tenant": "red"}},
	}}
	if err := client.IgnoreAlreadyExists(c.Admin.Create(ctx, b)); err != nil {
		return err.Error()
	}
	s := &corev1.Secret{}
	if err := c.Admin.Get(ctx, client.ObjectKey{Namespace: system, Name: "fairlane-kube-certificate"}, s); err != nil {
		return err.Error()
	}
	s.Data = map[string][]byte{corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte("key")}
	if err := c.Admin.Update(ctx, s); err != nil {
		return err.Error()
	}
	l := &coordinationv1.Lease{}
	if err := c.Admin.Get(ctx, client.ObjectKey{Namespace: system, Name: "fairlane-kube"}, l); err != nil {
		return err.Error()
	}
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = new("replica-1"), new(int32(15))
	if err := c.Admin.Update(ctx, l); err != nil {
		return err.Error()
	}
	w := &admissionv1.MutatingWebhookConfiguration{}
	if err := c.Admin.Get(ctx, client.ObjectKey{Name: "fairlane-pods"}, w); err != nil {
		return err.Error()
	}
	before := w.DeepCopy()
	w.Webhooks[0].ClientConfig.CABundle = authority
	if err := c.Admin.Patch(ctx, w, client.MergeFrom(before)); err != nil {
		return err.Error()
	}
	return ""
}

// keep returns what the controller keeps in objects of the chart, and the binding.
func keep(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	var (
		s corev1.Secret
		l coordinationv1.Lease
		w admissionv1.MutatingWebhookConfiguration
		b v1alpha1.TenantBinding
	)
	for _, err := range []error{
		c.Admin.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "fairlane-kube-certificate"}, &s),
		c.Admin.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "fairlane-kube"}, &l),
		c.Admin.Get(t.Context(), client.ObjectKey{Name: "fairlane-pods"}, &w),
		c.Admin.Get(t.Context(), client.ObjectKey{Name: "red"}, &b),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	holder := "nobody"
	if l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	return fmt.Sprintf("%s %s %d %s %s", s.Data[corev1.TLSCertKey], holder, len(w.Webhooks[0].ClientConfig.CABundle), b.UID, b.Spec.Tenant)
}

// columns returns the number of columns in the definition of bindings.
func columns(t *testing.T, c *kubetest.Cluster) int {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := c.Admin.Get(t.Context(), client.ObjectKey{Name: "tenantbindings.fairlane.dev"}, crd); err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatal(versions, err)
	}
	all, _, err := unstructured.NestedSlice(versions[0].(object), "additionalPrinterColumns")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// generation returns the generation of a workload, which counts changes of its specification.
func generation(t *testing.T, c *kubetest.Cluster, kind, name string) int64 {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind})
	if err := c.Admin.Get(t.Context(), client.ObjectKey{Namespace: system, Name: name}, u); err != nil {
		t.Fatal(err)
	}
	return u.GetGeneration()
}
