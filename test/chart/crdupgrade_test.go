package chart

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentcluster "fairlane/agent/cluster"
	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/internal/testkit/proctest"
	"fairlane/kube/admission"
	"fairlane/kube/app"
	"fairlane/kube/controller"
	"fairlane/kube/controller/managertest"
	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
	"fairlane/test/kubenode"
)

const (
	upgradeNode   = "work-1"
	upgradeDevice = "0000:3b:01.0"
	laterDevice   = "0000:3b:01.1"
	upgradePort   = "0xb8599f0300000001:1"
)

// before writes a copy of the chart with the first version of the CRDs, which lacks claimed rates and plans of ports, and has a field
// that was removed since.
func before(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fairlane")
	if out, err := exec.CommandContext(t.Context(), "cp", "-rL", chartDir, dir).CombinedOutput(); err != nil { // links lead out of the chart
		t.Fatalf("%v: %s", err, out)
	}
	files, err := filepath.Glob("testdata/crds-before/*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		text := read(t, f)
		const last = "\n              tenant:\n" // of the binding's specification
		if name := filepath.Base(f); name == "fairlane.dev_tenantbindings.yaml" {
			if bytes.Count(text, []byte(last)) != 1 {
				t.Fatalf("%s has no property tenant", f)
			}
			text = bytes.Replace(text, []byte(last), []byte("\n              owner:\n                type: string"+last), 1)
		}
		if err := os.WriteFile(filepath.Join(dir, "files/crds", filepath.Base(f)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// property reports whether a CRD's schema has a property.
func property(t *testing.T, c *kubetest.Cluster, crd string, path ...string) bool {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	if err := c.Admin.Get(t.Context(), client.ObjectKey{Name: crd}, u); err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(u.Object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatal(versions, err)
	}
	at := []string{"schema", "openAPIV3Schema"}
	for _, p := range path {
		at = append(at, "properties", p)
	}
	_, found, err := unstructured.NestedMap(versions[0].(object), at...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// oneNamespace stands for the network namespace of every pod, which lives as long as the test.
type oneNamespace struct{}

func (oneNamespace) Identify(path string) (string, error) {
	if path == "" {
		return "", fs.ErrNotExist
	}
	return "4:1", nil
}
func (oneNamespace) Gone(string, string) bool { return false }

// agent runs the node's agent with the account of the chart, on records in dir, until stop.
func agent(t *testing.T, c *kubetest.Cluster, card *kubenode.Card, dir string) (table *pods.Table, stop func()) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	on, err := agentcluster.New(agentcluster.Options{Config: c.As(t, "fairlane-agent", upgradeNode), Node: upgradeNode, File: filepath.Join(dir, "bindings.json"), Every: time.Second, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	table, err = pods.Open(pods.Options{Dir: dir, Version: "test", BootID: "boot", Bindings: on, Devices: card, Namespaces: oneNamespace{}, Now: time.Now, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	group.Go(func() { table.Run(ctx, 200*time.Millisecond) })
	group.Go(func() { on.Run(ctx, table) })
	stop = sync.OnceFunc(func() { cancel(); group.Wait() })
	t.Cleanup(stop)
	return table, stop
}

// control runs the controller with the account of the chart.
func control(t *testing.T, c *kubetest.Cluster, m controller.Manager) {
	t.Helper()
	_, number, err := net.SplitHostPort(proctest.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	config := c.As(t, "fairlane-kube", "control-1")
	go func() {
		ended <- app.Run(ctx, config, m, app.Options{
			Cluster: "lab1", Namespace: system, HostNetwork: admission.Warn, Resources: admission.DefaultResources(), Debounce: 50 * time.Millisecond, Every: 500 * time.Millisecond,
			WebhookHost: "127.0.0.1", WebhookPort: port, Health: "0", Metrics: "0", Names: []string{"localhost"},
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the controller ended with %v", err)
		}
	})
}

// TestAnUpgradeOfTheCRDsKeepsObjectsAndClasses upgrades a release whose CRDs are older, while a pod has a class.
func TestAnUpgradeOfTheCRDsKeepsObjectsAndClasses(t *testing.T) {
	t.Parallel()
	for _, version := range helms {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c, kubeconfig := cluster(t)
			upgradeCRDs(t, version, c, kubeconfig)
		})
	}
}

func upgradeCRDs(t *testing.T, version string, c *kubetest.Cluster, kubeconfig string) {
	ctx := t.Context()
	values := []string{"--values", "testdata/values/minimal.yaml"}
	fromHelm(t, version, kubeconfig, append([]string{"install", "fairlane", before(t)}, values...)...)
	if property(t, c, "tenantbindings.fairlane.dev", "status", "claimedBps") || !property(t, c, "tenantbindings.fairlane.dev", "spec", "owner") {
		t.Fatal("the older CRD is not older")
	}
	ns := c.Namespace(t, "red", map[string]string{"tenancy.fairlane.dev/tenant": "red"})
	old := oldBinding(t, c)
	card := kubenode.NewCard(upgradePort, 100_000, upgradeDevice, laterDevice)
	var written changes
	card.Changed = written.add
	dir := t.TempDir()
	table, stop := agent(t, c, card, dir)
	add(t, table, trainer(t, c, ns, "trainer-0"), upgradeDevice, 0)
	first := attached(t, c, ns, "trainer-0", func(f *v1alpha1.FabricAttachment) bool { return f.Spec.Class == "gold" })
	class, count := fmt.Sprint(*card.Settings(upgradeDevice).MaxMbps), written.count()
	if class != "20000" {
		t.Fatalf("the pod's rate is %s", class)
	}

	fromHelm(t, version, kubeconfig, append([]string{"upgrade", "fairlane", chartDir}, values...)...)
	if !property(t, c, "tenantbindings.fairlane.dev", "status", "claimedBps") || !property(t, c, "fabricattachments.fairlane.dev", "status", "planned") {
		t.Fatal("the upgrade did not upgrade the CRDs")
	}
	// An object with a field that the schema does not have any more is kept, with what the schema has.
	var kept v1alpha1.TenantBinding
	if err := c.Admin.Get(ctx, client.ObjectKey{Name: "red"}, &kept); err != nil {
		t.Fatal(err)
	}
	if kept.UID != old.GetUID() || kept.Generation != old.GetGeneration() || kept.Spec.Tenant != "red" || kept.Spec.Class != "gold" || len(kept.Status.Classes) != 2 {
		t.Errorf("the binding is %+v", kept)
	}

	stop() // the agents and the controller are replaced
	table, _ = agent(t, c, card, dir)
	add(t, table, trainer(t, c, ns, "trainer-1"), laterDevice, 5_000_000_000)
	m := managertest.New()
	red := m.Tenants["red"]
	red.CapBps, red.Ports = 20e9, []controller.Port{{ID: upgradePort, Name: "work-1/P1"}}
	m.Tenants["red"], m.Places = red, []controller.Placement{{Tenant: "red", Port: upgradePort, SL: new(int32(3))}}
	control(t, c, m)
	now := attached(t, c, ns, "trainer-0", func(f *v1alpha1.FabricAttachment) bool { return f.Status.Planned != nil && f.Status.Planned.SL != nil })
	attached(t, c, ns, "trainer-1", func(f *v1alpha1.FabricAttachment) bool { return f.Spec.ClaimedBps != nil && f.Spec.Class == "gold" })
	if now.UID != first.UID || now.Spec.Class != "gold" || now.Spec.Device.ID != first.Spec.Device.ID || now.Spec.Device.Port != first.Spec.Device.Port {
		t.Errorf("the attachment is %+v, before %+v", now, first)
	}
	kubetest.Eventually(t, time.Minute, func() string {
		if err := c.Admin.Get(ctx, client.ObjectKey{Name: "red"}, &kept); err != nil {
			return err.Error()
		}
		if !meta.IsStatusConditionTrue(kept.Status.Conditions, v1alpha1.ConditionBound) || kept.Status.ClaimedBps == nil || *kept.Status.ClaimedBps != 5_000_000_000 || kept.Status.Pods != 2 {
			return fmt.Sprintf("status %+v", kept.Status)
		}
		return ""
	})
	if kept.UID != old.GetUID() || kept.Spec.Class != "gold" {
		t.Errorf("the binding is %+v", kept)
	}
	if got := fmt.Sprint(*card.Settings(upgradeDevice).MaxMbps); got != class || written.count() != count {
		t.Errorf("the pod's rate is %s, before %s; the device was written %d times, before %d", got, class, written.count(), count)
	}
}

// add attaches a device to a pod, when the bindings have been read.
func add(t *testing.T, table *pods.Table, pod *corev1.Pod, device string, claimed int64) {
	t.Helper()
	a := podsock.Attachment{
		Key: podsock.Key{Network: "rdma", ContainerID: pod.Name, Interface: "net1"}, Pod: podsock.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)},
		Device: device, NetNS: "/run/netns/" + pod.Name, ClaimedBps: claimed,
	}
	kubetest.Eventually(t, time.Minute, func() string {
		if _, err := table.Add(t.Context(), a, podsock.SourceCNI); err != nil {
			return err.Error()
		}
		return ""
	})
}

// changes counts the writes of the first function.
type changes struct {
	mu sync.Mutex
	n  int
}

func (c *changes) add(_ string, function int, _ podsock.Settings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if function == 0 {
		c.n++
	}
}

func (c *changes) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// oldBinding creates a binding as the earlier release has them, with the field that was removed since, and the status that its
// controller wrote.
func oldBinding(t *testing.T, c *kubetest.Cluster) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: object{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "TenantBinding", "metadata": object{"name": "red"},
		"spec": object{"fabric": "lab", "tenant": "red", "class": "gold", "owner": "storage team", "namespaceSelector": object{"matchLabels": object{"tenancy.fairlane.dev/tenant": "red"}}},
	}}
	kubetest.Eventually(t, time.Minute, func() string { // the CRD may not be served yet
		if err := client.IgnoreAlreadyExists(c.Admin.Create(t.Context(), u)); err != nil {
			return err.Error()
		}
		return ""
	})
	u.Object["status"] = object{
		"weight": "3", "namespaces": int64(1), "pods": int64(0), "ports": int64(0),
		"classes": []any{object{"name": "bulk", "weight": "1", "maxMbps": int64(20_000)}, object{"name": "gold", "weight": "2", "maxMbps": int64(20_000)}},
	}
	if err := c.Admin.Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if owner, _, err := unstructured.NestedString(u.Object, "spec", "owner"); err != nil || owner == "" {
		t.Fatalf("the older CRD dropped the field: %v", err)
	}
	return u
}

// trainer creates a pod on the node.
func trainer(t *testing.T, c *kubetest.Cluster, namespace, name string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		NodeName: upgradeNode, Containers: []corev1.Container{{Name: "c", Image: "none", ImagePullPolicy: corev1.PullNever}},
	}}
	if err := c.Admin.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// attached waits until a pod has one attachment, with a property, and returns it.
func attached(t *testing.T, c *kubetest.Cluster, namespace, pod string, is func(*v1alpha1.FabricAttachment) bool) (found v1alpha1.FabricAttachment) {
	t.Helper()
	kubetest.Eventually(t, time.Minute, func() string {
		var all v1alpha1.FabricAttachmentList
		if err := c.Admin.List(t.Context(), &all, client.InNamespace(namespace)); err != nil {
			return err.Error()
		}
		items := slices.DeleteFunc(all.Items, func(f v1alpha1.FabricAttachment) bool { return f.Spec.Pod.Name != pod })
		if len(items) != 1 || !is(&items[0]) {
			return fmt.Sprintf("attachments %+v", items)
		}
		found = items[0]
		return ""
	})
	return found
}
