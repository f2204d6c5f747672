package kubetest_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/admission"
	"fairlane/kube/app"
	"fairlane/kube/controller"
	"fairlane/kube/controller/managertest"
	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
)

// writes counts the requests of a client that are not reads, by method and path. It leaves out leases.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) wrap(r *rest.Config) {
	r.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			if req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/leases") {
				w.mu.Lock()
				w.all = append(w.all, req.Method+" "+req.URL.Path)
				w.mu.Unlock()
			}
			return next.RoundTrip(req)
		})
	})
}

func (w *writes) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// replica is a running process of the controller.
type replica struct {
	stop   context.CancelFunc
	ended  chan error
	writes *writes
	port   int
}

// start starts a replica as the service account of the manifests.
func start(t *testing.T, node string, m controller.Manager, host admission.HostNetwork) *replica {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	config := cluster.As(t, "fairlane-kube", node)
	r := &replica{ended: make(chan error, 1), writes: &writes{}, port: port}
	r.writes.wrap(config)
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	go func() {
		r.ended <- app.Run(ctx, config, m, app.Options{
			Cluster: "lab1", Namespace: kubetest.System, HostNetwork: host, Resources: admission.DefaultResources(),
			Debounce: 50 * time.Millisecond, Every: 200 * time.Millisecond,
			WebhookHost: "127.0.0.1", WebhookPort: port, Health: "0", Metrics: "0", Names: []string{"localhost"},
		})
	}()
	return r
}

// end stops a replica and waits for its end.
func (r *replica) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("the replica ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the replica does not end")
	}
}

func condition(b *v1alpha1.TenantBinding, name string) string {
	c := meta.FindStatusCondition(b.Status.Conditions, name)
	if c == nil {
		return "none"
	}
	return string(c.Status) + " " + c.Reason
}

// TestTheControllerWithItsManifests runs the whole: bindings and attachments become a feed, a plan and a rollout; status and
// events; leader change; no write when nothing changes; the webhook, and pods without it. It runs alone, for the writes.
func TestTheControllerWithItsManifests(t *testing.T) {
	ctx, admin := t.Context(), cluster.Admin
	m := managertest.New()
	m.Places = []controller.Placement{{Tenant: "red", SL: new(int32(3))}}
	red := m.Tenants["red"]
	red.Ports = []controller.Port{{ID: "0x10:1", Name: "work-1/P1"}, {ID: "0x20:1", Name: "work-2/P1"}}
	m.Tenants["red"] = red
	webhook, err := kubetest.Objects("webhook.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(ctx, webhook[0]); err != nil { // the replicas name their certificate in it when they start
		t.Fatal(err)
	}
	defer func() { _ = admin.Delete(context.WithoutCancel(ctx), webhook[0]) }()
	one := start(t, "control-1", m, admission.Deny)
	kubetest.Eventually(t, time.Minute, func() string { return leader(ctx, 1) })
	two := start(t, "control-2", m, admission.Deny)
	defer two.end(t)

	ns := cluster.Namespace(t, "bound", map[string]string{"tenancy.fairlane.dev/tenant": "red"})
	for _, node := range []string{"work-1", "work-2"} {
		agent := cluster.Client(t, cluster.As(t, "fairlane-agent", node))
		if err := agent.Create(ctx, attachment(ns, node, "job-0")); err != nil {
			t.Fatal(err)
		}
	}
	b := &v1alpha1.TenantBinding{ObjectMeta: metav1.ObjectMeta{Name: "red"}, Spec: v1alpha1.TenantBindingSpec{
		Fabric: "lab", Tenant: "red", Class: "gold", CachedFor: metav1.Duration{Duration: time.Hour},
		NamespaceSelector: v1alpha1.NamespaceSelector{MatchLabels: map[string]string{"tenancy.fairlane.dev/tenant": "red"}},
	}}
	if err := admin.Create(ctx, b); err != nil {
		t.Fatal(err)
	}
	become := func(want ...string) {
		t.Helper()
		kubetest.Eventually(t, 20*time.Second, func() string {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
				return err.Error()
			}
			got := []string{condition(b, "Bound"), condition(b, "Unambiguous"), condition(b, "InForce"), condition(b, "SharesHeld")}
			if !slices.Equal(got, want) {
				return fmt.Sprintf("conditions %q, want %q: %+v", got, want, b.Status)
			}
			return ""
		})
	}
	become("True Bound", "True Unambiguous", "False RollingOut", "Unknown NotMeasured")
	if got := m.Feed("red", "kubernetes-lab1"); !slices.Equal(got, []string{"work-1:1", "work-2:1"}) {
		t.Errorf("feed is %v", got)
	}
	m.End("succeeded", "2 devices verified")
	become("True Bound", "True Unambiguous", "True InForce", "Unknown NotMeasured")
	if s := b.Status; s.Weight != "3" || s.Namespaces != 1 || s.Pods != 1 || s.Ports != 2 || len(s.Classes) != 2 || s.Classes[1].SL == nil || *s.Classes[1].SL != 3 {
		t.Errorf("status: %+v", s)
	}
	m.Do(func(m *managertest.Manager) { m.Measured = managertest.Contended(time.Now(), "0x10:1", 0.8) })
	become("True Bound", "True Unambiguous", "True InForce", "False BelowShare")
	kubetest.Eventually(t, 20*time.Second, func() string {
		return eventOf(ctx, ns, "job-0", "1 of 2 ports below entitlement: contention within rights")
	})
	a := &v1alpha1.FabricAttachment{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "job-0-net1-work-1"}, a); err != nil || a.Status.DeliveredBps == nil || *a.Status.DeliveredBps != 60e9 || *a.Status.EntitledBps != 75e9 {
		t.Errorf("%v, status %+v", err, a.Status)
	}

	t.Run("nothing is written when nothing changes", func(t *testing.T) { checkIdle(t, m, one, two) })
	t.Run("webhook", func(t *testing.T) { checkWebhook(t, ns, two.port) })
	t.Run("a new leader continues", func(t *testing.T) {
		one.end(t)
		before := m.Count("Tenant")
		kubetest.Eventually(t, time.Minute, func() string { return leader(ctx, 2) })
		agent := cluster.Client(t, cluster.As(t, "fairlane-agent", "work-1"))
		if err := agent.Delete(ctx, a); err != nil {
			t.Fatal(err)
		}
		kubetest.Eventually(t, 20*time.Second, func() string {
			if got := m.Feed("red", "kubernetes-lab1"); !slices.Equal(got, []string{"work-2:1"}) {
				return fmt.Sprintf("feed is %v", got)
			}
			return ""
		})
		if m.Count("Tenant") == before {
			t.Error("the new leader asked nothing")
		}
		m.End("succeeded", "")
		become("True Bound", "True Unambiguous", "True InForce", "False BelowShare")
	})
	t.Run("a deleted binding leaves no feed", func(t *testing.T) {
		m.Do(func(m *managertest.Manager) { m.Away = true })
		if err := admin.Delete(ctx, b); err != nil {
			t.Fatal(err)
		}
		become("Unknown Removing", "True Unambiguous", "Unknown Removing", "Unknown NotMeasured")
		m.Do(func(m *managertest.Manager) { m.Away = false })
		kubetest.Eventually(t, 20*time.Second, func() string {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
				return fmt.Sprintf("the binding is still there (%v)", err)
			}
			return ""
		})
		if got := m.Feed("red", "kubernetes-lab1"); got != nil {
			t.Errorf("feed is still %v", got)
		}
	})
}

// leader returns an empty text once the nth replica has the lease. Both run in one process of one host, so their identities differ
// only at random: the first one is first, and the second takes the lease over when the first has released it. The lease of the
// manifests has no holder.
func leader(ctx context.Context, nth int32) string {
	var l coordinationv1.Lease
	if err := cluster.Admin.Get(ctx, client.ObjectKey{Namespace: kubetest.System, Name: "fairlane-kube"}, &l); err != nil {
		return err.Error()
	}
	if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" || l.Spec.LeaseTransitions == nil || *l.Spec.LeaseTransitions < nth {
		return fmt.Sprintf("lease: %+v", l.Spec)
	}
	return ""
}

// checkIdle counts writes to the cluster and changes at the manager over 20 passes without a change.
func checkIdle(t *testing.T, m *managertest.Manager, all ...*replica) {
	kubetest.Eventually(t, 20*time.Second, func() string { // the last events are written
		n := 0
		for _, r := range all {
			n += len(r.writes.list())
		}
		time.Sleep(time.Second)
		for _, r := range all {
			n -= len(r.writes.list())
		}
		if n != 0 {
			return "still writing"
		}
		return ""
	})
	before := make([]int, len(all))
	for i, r := range all {
		before[i] = len(r.writes.list())
	}
	passes, feeds, plans := m.Count("Tenant"), m.Count("PutFeed"), m.Count("Plan")
	kubetest.Eventually(t, time.Minute, func() string {
		if n := m.Count("Tenant") - passes; n < 20 {
			return fmt.Sprintf("%d passes", n)
		}
		return ""
	})
	for i, r := range all {
		if got := r.writes.list(); len(got) > before[i] {
			t.Errorf("replica %d wrote %v", i+1, got[before[i]:])
		}
	}
	if m.Count("PutFeed") != feeds || m.Count("Plan") != plans {
		t.Errorf("%d feeds and %d plans were requested", m.Count("PutFeed")-feeds, m.Count("Plan")-plans)
	}
}

func eventOf(ctx context.Context, ns, pod, note string) string {
	var l eventsv1.EventList
	if err := cluster.Admin.List(ctx, &l, client.InNamespace(ns)); err != nil {
		return err.Error()
	}
	var notes []string
	for _, e := range l.Items {
		if e.Regarding.Name == pod && e.Regarding.Kind == "Pod" && e.Note == note && e.Type == corev1.EventTypeWarning {
			return ""
		}
		notes = append(notes, e.Regarding.Name+": "+e.Note)
	}
	return fmt.Sprintf("no event %q on %s, only %q", note, pod, notes)
}

// checkWebhook gives the webhook's configuration an address that the API server can reach here.
func checkWebhook(t *testing.T, ns string, port int) {
	ctx := t.Context()
	free := cluster.Namespace(t, "free", nil)
	pointTo := func(port int) {
		var w admissionv1.MutatingWebhookConfiguration
		if err := cluster.Admin.Get(ctx, client.ObjectKey{Name: "fairlane-pods"}, &w); err != nil {
			t.Fatal(err)
		}
		before := w.DeepCopy()
		w.Webhooks[0].ClientConfig.Service = nil
		w.Webhooks[0].ClientConfig.URL = new(fmt.Sprintf("https://localhost:%d/pods", port))
		if err := cluster.Admin.Patch(ctx, &w, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	pointTo(port)
	environment := func(p *corev1.Pod) string {
		var all []string
		for _, e := range p.Spec.Containers[0].Env {
			all = append(all, e.Name+"="+e.Value)
		}
		return strings.Join(all, " ")
	}
	create := func(p *corev1.Pod) string {
		if err := cluster.Admin.Create(ctx, p); err != nil {
			return err.Error()
		}
		return environment(p)
	}
	const want = "NCCL_IB_SL=3 UCX_IB_SL=3 NVSHMEM_IB_SL=3 EP_OVERRIDE_RDMA_SL=3 MC_IB_SL=3"
	kubetest.Eventually(t, 2*time.Minute, func() string { // a change of the configuration reaches the API server's cache
		if got := create(pod(ns, "job-")); got != want {
			return "environment: " + got
		}
		return ""
	})
	own := pod(ns, "own-")
	own.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "UCX_IB_SL", Value: "1"}}
	if got := create(own); got != "UCX_IB_SL=1 NCCL_IB_SL=3 NVSHMEM_IB_SL=3 EP_OVERRIDE_RDMA_SL=3 MC_IB_SL=3" {
		t.Errorf("a container's own value: %s", got)
	}
	if got := create(pod(free, "job-")); got != "" {
		t.Errorf("an unbound namespace: %s", got)
	}
	direct := func(ns string) *corev1.Pod {
		p := pod(ns, "direct-")
		p.Spec.HostNetwork = true
		p.Spec.Volumes = []corev1.Volume{{Name: "verbs", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/dev/infiniband/uverbs0"}}}}
		return p
	}
	if got := create(direct(ns)); !strings.Contains(got, "belongs to tenant red of fabric lab") || !strings.Contains(got, "the volume verbs") {
		t.Errorf("a pod on the host's network: %s", got)
	}
	if got := create(direct(free)); got != "" {
		t.Errorf("a pod on the host's network in an unbound namespace: %s", got)
	}
	pointTo(1) // nothing listens there
	kubetest.Eventually(t, 20*time.Second, func() string {
		if got := create(pod(ns, "without-")); got != "" {
			return "without the webhook: " + got
		}
		return ""
	})
	if got := create(pod(free, "without-")); got != "" {
		t.Errorf("an unbound namespace without the webhook: %s", got)
	}
}
