package kubelarge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/agent/cluster"
	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
	"fairlane/test/kubenode"
)

// fabric is the name of the fabric.
const fabric = "lab"

// workers is the number of requests that the test has under way at once.
const workers = 16

// startCluster starts an API server with the manifests, and kwok, which plays the kubelets.
func startCluster(t *testing.T) (*kubetest.Cluster, *audit) {
	t.Helper()
	flags, log := flagsOfAudit(t)
	c, err := kubetest.StartWith(flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	c.Config.QPS = -1 // no limit of the client's own
	if c.Admin, err = client.New(c.Config, client.Options{Scheme: c.Admin.Scheme()}); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := kubetest.WriteKubeconfig(c.User(t, "kwok", "system:masters"), kubeconfig); err != nil {
		t.Fatal(err)
	}
	// Without leases: renewals that come late, as on a busy machine, would have kwok let nodes go, and list their pods again.
	kubenode.NewProgram(t, "kwok", t.TempDir(), nil, "--config", filepath.Join(os.Getenv(kubenode.Programs), "stages.yaml"), "--kubeconfig", kubeconfig, "--manage-all-nodes=true", "--node-lease-duration-seconds=0")
	return c, openAudit(t, log)
}

// each calls a function for all elements, several at a time, and fails on the first error.
func each[T any](t *testing.T, all []T, do func(ctx context.Context, x T) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(workers)
	for _, x := range all {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return do(ctx, x)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// fill creates nodes, bound namespaces, pods, and what the agents of the nodes report.
func fill(t *testing.T, c *kubetest.Cluster, m *model) {
	t.Helper()
	began := time.Now()
	step := func(format string, args ...any) {
		t.Helper()
		t.Logf("%s after %.0f s", fmt.Sprintf(format, args...), time.Since(began).Seconds())
	}
	each(t, m.nodes, func(ctx context.Context, n *node) error {
		room := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110"), "rdma/vf": *resource.NewQuantity(functions, resource.DecimalSI)}
		if err := c.Admin.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}, Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}); err != nil {
			return err
		}
		account, err := c.Login(ctx, "fairlane-agent", n.name) // also creates the pod of the agent
		if err != nil {
			return err
		}
		account.QPS = -1
		n.reporter, err = cluster.NewReporter(account, n.name)
		return err
	})
	step("%d nodes with the accounts of their agents", len(m.nodes))
	ready(t, c) // kwok lists the pods of each node that it takes up, for which the API server reads all pods
	step("all nodes are ready")
	each(t, m.tenants, func(ctx context.Context, x *tenant) error {
		labels := map[string]string{v1alpha1.LabelPrefix + "tenant": x.name}
		for _, name := range x.spaces {
			if err := c.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
				return err
			}
		}
		return c.Admin.Create(ctx, &v1alpha1.TenantBinding{ObjectMeta: metav1.ObjectMeta{Name: x.name}, Spec: v1alpha1.TenantBindingSpec{
			Fabric: fabric, Tenant: x.name, CachedFor: metav1.Duration{Duration: time.Hour}, NamespaceSelector: v1alpha1.NamespaceSelector{MatchLabels: labels}, Limit: new(int32(1_000_000)),
		}})
	})
	create(t, c, m.all())
	step("%d pods", len(m.pods))
	running(t, c)
	step("all pods run")
	each(t, m.nodes, report)
	step("the agents have reported their pods")
}

// create creates pods. Their nodes are chosen already, as by a scheduler.
func create(t *testing.T, c *kubetest.Cluster, all []*pod) {
	t.Helper()
	each(t, all, func(ctx context.Context, p *pod) error {
		one := corev1.ResourceList{"rdma/vf": resource.MustParse("1")}
		o := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, Annotations: map[string]string{"k8s.v1.cni.cncf.io/networks": "rdma"}},
			Spec: corev1.PodSpec{
				NodeName: p.node.name, AutomountServiceAccountToken: new(false),
				Containers: []corev1.Container{{Name: "main", Image: kubenode.Image, Resources: corev1.ResourceRequirements{Requests: one, Limits: one}}},
			},
		}
		err := c.Admin.Create(ctx, o)
		p.uid = string(o.UID)
		return err
	})
}

// cached has a list answered from the API server's cache. With Debian's etcd 3.4 it would otherwise read all objects from etcd.
func cached() client.ListOption {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
}

// ready waits until kwok has made all nodes ready.
func ready(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	kubetest.Eventually(t, 5*time.Minute, func() string {
		var all corev1.NodeList
		if err := c.Admin.List(t.Context(), &all, cached()); err != nil {
			return err.Error()
		}
		n := 0
		for i := range all.Items {
			if slices.ContainsFunc(all.Items[i].Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}) {
				n++
			}
		}
		if n < nodeCount {
			time.Sleep(time.Second)
			return fmt.Sprintf("%d of %d nodes are ready", n, nodeCount)
		}
		return ""
	})
}

// running waits until kwok has started all pods.
func running(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	kubetest.Eventually(t, 10*time.Minute, func() string {
		waiting := metav1.PartialObjectMetadataList{}
		waiting.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		selector := client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("status.phase", string(corev1.PodRunning))}
		if err := c.Admin.List(t.Context(), &waiting, selector, cached()); err != nil {
			return err.Error()
		}
		if len(waiting.Items) > 0 {
			time.Sleep(2 * time.Second)
			return fmt.Sprintf("%d pods do not run", len(waiting.Items))
		}
		return ""
	})
}

// report has the agent of a node write the attachments of its pods.
func report(ctx context.Context, n *node) error { return n.reporter.Report(ctx, n.records(), nil, nil) }
