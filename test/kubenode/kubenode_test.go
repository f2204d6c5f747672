package kubenode_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/log"

	"fairlane/agent/pods/podsock"
	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
	"fairlane/test/kubenode"
)

var cluster *kubetest.Cluster

func TestMain(m *testing.M) {
	if !kubetest.Enabled() || !kubenode.Enabled() {
		fmt.Println("skipped: no programs of a node; run make kube")
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	c, err := kubetest.Start()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	cluster = c
	defer func() {
		if err := c.Stop(); err != nil {
			fmt.Println(err)
		}
	}()
	return m.Run()
}

const vfResource = "fairlane.test/vf"

// bind creates a namespace that is bound to a tenant, whose class has the share.
func bind(t *testing.T, tenant string, share int32) string {
	t.Helper()
	name := cluster.Namespace(t, tenant, labels(tenant))
	status(t, create(t, "lab", tenant), share)
	return name
}

// labels are those of the namespaces that a binding of create selects.
func labels(tenant string) map[string]string {
	return map[string]string{v1alpha1.LabelPrefix + "tenant": tenant}
}

// create creates a binding of a tenant, which is removed with the test: by then no controller removes its finalizer.
func create(t *testing.T, fabric, tenant string) *v1alpha1.TenantBinding {
	t.Helper()
	b := &v1alpha1.TenantBinding{ObjectMeta: metav1.ObjectMeta{Name: tenant}, Spec: v1alpha1.TenantBindingSpec{
		Fabric: fabric, Tenant: tenant, CachedFor: metav1.Duration{Duration: time.Hour}, NamespaceSelector: v1alpha1.NamespaceSelector{MatchLabels: labels(tenant)},
	}}
	if err := cluster.Admin.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		_ = cluster.Admin.Get(ctx, client.ObjectKeyFromObject(b), b)
		b.Finalizers = nil
		_ = cluster.Admin.Update(ctx, b)
		_ = cluster.Admin.Delete(ctx, b)
	})
	return b
}

// status writes the status of a binding, as the controller does with what the manager says.
func status(t *testing.T, b *v1alpha1.TenantBinding, share int32) {
	t.Helper()
	b.Status = v1alpha1.TenantBindingStatus{Weight: "1", Classes: []v1alpha1.BindingClass{{Name: "default", Weight: "1", ShareOf1000: &share, DSCP: new(int32(26))}}}
	if err := cluster.Admin.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// onNetwork gives a pod a device of a network's resource.
func onNetwork(network string, device corev1.ResourceName) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{"k8s.v1.cni.cncf.io/networks": network}
		one := corev1.ResourceList{device: resource.MustParse("1")}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
	}
}

func plugin(n *kubenode.Node) map[string]any {
	return map[string]any{"type": "fairlane-cni", "socket": n.Socket(), "spool": n.Spool()}
}

// capacity waits until a node offers a number of devices of each resource.
func capacity(t *testing.T, n *kubenode.Node, want int64, resources ...string) {
	t.Helper()
	kubetest.Eventually(t, time.Minute, func() string {
		var node corev1.Node
		if err := cluster.Admin.Get(t.Context(), client.ObjectKey{Name: n.Name}, &node); err != nil {
			return err.Error()
		}
		for _, r := range resources {
			if got := node.Status.Allocatable[corev1.ResourceName(r)]; got.Value() != want {
				return fmt.Sprintf("node offers %d of %s, want %d", got.Value(), r, want)
			}
		}
		return ""
	})
}

func TestPodsGetTheClassOfTheirNamespace(t *testing.T) {
	vfs := []string{"0000:3b:01.0", "0000:3b:01.1", "0000:3b:01.2", "0000:3b:01.3"}
	card := kubenode.NewCard("0xb8599f0300000001:1", 100_000, vfs...)
	kubenode.Networks(t, cluster)
	n := kubenode.Start(t, cluster, "node-1")
	agent := n.Agent(t, card)
	n.Devices(t, vfResource, vfs...)
	capacity(t, n, int64(len(vfs)), vfResource)
	bound, free := bind(t, "gold", 571), cluster.Namespace(t, "free", nil)
	for i, ns := range []string{bound, free} {
		n.Network(t, ns, "rdma", vfResource, fmt.Sprintf("10.231.%d.0/24", i+1), plugin(n))
	}

	start := time.Now()
	trainer, err := n.Pod(t.Context(), bound, "trainer-0", onNetwork("rdma", vfResource))
	if err != nil {
		t.Fatal(err)
	}
	n.Running(t, trainer, 2*time.Minute)
	t.Logf("pod running in %.1fs", time.Since(start).Seconds())
	r := agent.Record(t, bound, "trainer-0")
	if r.Tenant != "gold" || r.Source != podsock.SourceCNI || r.Pending || *card.Settings(r.Device).ShareMbps != 57_100 || *card.Settings(r.Device).TOS != 106 {
		t.Errorf("record %+v, device %+v", r, card.Settings(r.Device))
	}
	kubetest.Eventually(t, time.Minute, func() string {
		var all v1alpha1.FabricAttachmentList
		if err := cluster.Admin.List(t.Context(), &all, client.InNamespace(bound)); err != nil {
			return err.Error()
		}
		if len(all.Items) != 1 || all.Items[0].Spec.Device.ID != r.Device || all.Items[0].Spec.Device.Port != card.Port || all.Items[0].Status.ReadBack == nil || *all.Items[0].Status.ReadBack.TOS != 106 {
			return fmt.Sprintf("attachments %+v", all.Items)
		}
		return ""
	})

	t.Run("a namespace without a tenant", func(t *testing.T) {
		p, err := n.Pod(t.Context(), free, "other-0", onNetwork("rdma", vfResource))
		if err != nil {
			t.Fatal(err)
		}
		n.Running(t, p, 2*time.Minute)
		if r := agent.Record(t, free, "other-0"); r.Tenant != "" || *card.Settings(r.Device).ShareMbps != 0 {
			t.Errorf("record %+v, device %+v", r, card.Settings(r.Device))
		}
		n.Delete(t, p, time.Minute)
	})
	t.Run("a device that refuses", func(t *testing.T) {
		card.Fail(errors.New("firmware error 0x42"))
		p, err := n.Pod(t.Context(), bound, "trainer-1", onNetwork("rdma", vfResource))
		if err != nil {
			t.Fatal(err)
		}
		event(t, p, "firmware error 0x42")
		card.Fail(nil)
		n.Running(t, p, 2*time.Minute)
		n.Delete(t, p, time.Minute)
	})
	t.Run("without the agent", func(t *testing.T) {
		agent.Stop()
		p, err := n.Pod(t.Context(), bound, "trainer-2", onNetwork("rdma", vfResource))
		if err != nil {
			t.Fatal(err)
		}
		event(t, p, "agent")
		n.Delete(t, trainer, time.Minute) // a pod can end while no agent runs
		again := n.Agent(t, card)
		n.Running(t, p, 2*time.Minute)
		kubetest.Eventually(t, time.Minute, func() string {
			for _, r := range again.Table.List(t.Context(), false) {
				if r.Pod.Name == "trainer-0" {
					return "the record of a deleted pod is still there"
				}
			}
			return ""
		})
		n.Delete(t, p, time.Minute)
		kubetest.Eventually(t, time.Minute, func() string {
			if left := again.Table.List(t.Context(), false); len(left) > 0 {
				return fmt.Sprintf("%d records are left", len(left))
			}
			for _, vf := range vfs {
				if s := card.Settings(vf); *s.ShareMbps != 0 || *s.TOS != 0 {
					return fmt.Sprintf("device %s has %+v", vf, s)
				}
			}
			return ""
		})
	})
}

// event waits for an event of a pod with a text.
func event(t *testing.T, p *corev1.Pod, want string) {
	t.Helper()
	kubetest.Eventually(t, 2*time.Minute, func() string {
		var all corev1.EventList
		if err := cluster.Admin.List(t.Context(), &all, client.InNamespace(p.Namespace)); err != nil {
			return err.Error()
		}
		var seen []string
		for i := range all.Items {
			if e := &all.Items[i]; e.InvolvedObject.UID == p.UID {
				if seen = append(seen, e.Message); strings.Contains(e.Message, want) {
					return ""
				}
			}
		}
		return fmt.Sprintf("events %q, want one with %q", seen, want)
	})
}
