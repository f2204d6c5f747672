package kubelarge

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/internal/testkit/proctest"
	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
	"fairlane/test/kubenode"
)

// large is the cluster with everything that runs.
type large struct {
	*model
	cluster *kubetest.Cluster
	audit   *audit
	manager *manager
}

func conditionOf(b *v1alpha1.TenantBinding, name string) string {
	c := meta.FindStatusCondition(b.Status.Conditions, name)
	if c == nil {
		return "none"
	}
	return string(c.Status) + " " + c.Reason
}

// wrongBindings returns how bindings differ from the model and from the service; empty: they do not.
func (l *large) wrongBindings(t *testing.T) string {
	t.Helper()
	var all v1alpha1.TenantBindingList
	if err := l.cluster.Admin.List(t.Context(), &all); err != nil {
		return err.Error()
	}
	if len(all.Items) != len(l.tenants) {
		return fmt.Sprintf("%d bindings, want %d", len(all.Items), len(l.tenants))
	}
	plan, revision := l.manager.planInForce(t)
	for i := range all.Items {
		b := &all.Items[i]
		x := l.tenants[slices.IndexFunc(l.tenants, func(x *tenant) bool { return x.name == b.Name })]
		ports, pods := l.ports(x)
		for _, c := range []struct {
			what      string
			got, want any
		}{
			{"namespaces", int(b.Status.Namespaces), len(x.spaces)}, {"pods", int(b.Status.Pods), pods}, {"ports", int(b.Status.Ports), len(ports)},
			{"weight", b.Status.Weight, strconv.FormatFloat(x.weight, 'f', -1, 64)}, {"plan", b.Status.Plan, plan}, {"revision", b.Status.PolicyRevision, revision},
			{"generation", b.Status.ObservedGeneration, b.Generation}, {"Bound", conditionOf(b, v1alpha1.ConditionBound), "True Bound"},
			{"Unambiguous", conditionOf(b, v1alpha1.ConditionUnambiguous), "True Unambiguous"}, {"InForce", conditionOf(b, v1alpha1.ConditionInForce), "True InForce"},
		} {
			if c.got != c.want {
				return fmt.Sprintf("binding %s: %s is %v, want %v", b.Name, c.what, c.got, c.want)
			}
		}
	}
	return ""
}

// wrong returns how the cluster and the service differ from the model, and what the plan has for each pod; empty: they do not.
func (l *large) wrong(t *testing.T) (string, map[string]int32) {
	t.Helper()
	if why := l.wrongBindings(t); why != "" {
		return why, nil
	}
	var all v1alpha1.FabricAttachmentList
	if err := l.cluster.Admin.List(t.Context(), &all, cached()); err != nil {
		return err.Error(), nil
	}
	planned := map[string]int32{}
	for i := range all.Items {
		a := &all.Items[i]
		key := a.Namespace + "/" + a.Spec.Pod.Name
		p := l.pods[key]
		switch {
		case p == nil || string(a.Spec.Pod.UID) != p.uid || a.Spec.Node != p.node.name:
			return fmt.Sprintf("attachment %s/%s is of no pod", a.Namespace, a.Name), nil
		case a.Status.Applied == nil || a.Status.ReadBack == nil:
			return fmt.Sprintf("attachment of pod %s has lost what its agent wrote: %+v", key, a.Status), nil
		case a.Status.Planned == nil || a.Status.Planned.ShareOf1000 == nil || *a.Status.Planned.ShareOf1000 != p.node.share(p.tenant):
			return fmt.Sprintf("attachment of pod %s on %s: planned %+v, want a share of %d", key, p.node.name, a.Status.Planned, p.node.share(p.tenant)), nil
		}
		planned[key] = *a.Status.Planned.ShareOf1000
	}
	if len(planned) != len(l.pods) {
		return fmt.Sprintf("%d attachments, want %d", len(planned), len(l.pods)), nil
	}
	for _, x := range l.tenants {
		if why := l.manager.wrong(t, l.model, x); why != "" {
			return why, nil
		}
	}
	return "", planned
}

// step is a change that the controller follows.
type step struct {
	began   time.Time
	took    time.Duration // until the controller's last write
	planned map[string]int32
	writes  map[string]int
	rolled  []rollout
}

// follow waits until the controller has brought everything into step after a moment, and at most for the time that usage.allowed gives.
// The time ends with the controller's last write. Writes are counted from the moment at which the change began.
func (l *large) follow(t *testing.T, what string, began time.Time, before usage) *step {
	t.Helper()
	s := &step{began: began}
	why := "not looked at"
	for {
		if time.Since(before.at) > use(t).allowed(before)+bound { // the last look at 20,000 objects takes a while
			t.Fatalf("%s: after %s: %s", what, time.Since(before.at).Round(time.Second), why)
		}
		time.Sleep(time.Second)
		if !l.quiet(t, s.began) { // a look at all attachments costs the API server a second
			why = "the controller writes"
			continue
		}
		if why, s.planned = l.wrong(t); why == "" {
			break
		}
	}
	after := use(t)
	controller, _ := l.audit.of(t, s.began, time.Now())
	if len(controller) > 0 {
		s.took = max(0, controller[len(controller)-1].At.Sub(before.at))
	}
	s.writes, s.rolled = tally(controller), l.manager.rollouts(t, s.began)
	after.log(t, what, before)
	for _, r := range slices.Backward(s.rolled) {
		end := "is " + r.State
		if r.Finished != nil {
			end = fmt.Sprintf("%s after %.1f s", r.State, r.Finished.Sub(before.at).Seconds())
		}
		t.Logf("%s: rollout %d of %s began after %.1f s and %s", what, r.ID, r.Actor, r.Created.Sub(before.at).Seconds(), end)
	}
	t.Logf("%s: in step after %.1f s; the controller wrote %v", what, s.took.Seconds(), s.writes)
	if most := after.allowed(before); s.took > most {
		t.Errorf("%s: in step after %.1f s, want less than %.1f s", what, s.took.Seconds(), most.Seconds())
	}
	return s
}

// quiet reports whether the controller has written since a moment, but not in the last two seconds, and all bindings are right.
func (l *large) quiet(t *testing.T, began time.Time) bool {
	t.Helper()
	controller, _ := l.audit.of(t, began, time.Now())
	return len(controller) > 0 && time.Since(controller[len(controller)-1].At) > 2*time.Second && l.wrongBindings(t) == ""
}

// TestALargeCluster starts the controller on a cluster of 1,000 nodes and 20,000 pods that nobody has looked at before, leaves it alone,
// and changes the cluster.
func TestALargeCluster(t *testing.T) {
	f, ports := startFabric(t)
	l := &large{model: newModel(ports)}
	l.manager = startManager(t, f, l.model)
	l.cluster, l.audit = startCluster(t)
	fill(t, l.cluster, l.model)
	logMemory(t)

	token := filepath.Join(t.TempDir(), "token")
	l.manager.Feeder(t, token, fabric)
	counted, before := countRequests(t, l.cluster.Config), use(t)
	began := time.Now()
	replicas := []*proctest.Program{}
	for _, node := range []string{l.nodes[0].name, l.nodes[1].name} {
		p, _ := kubenode.NewReplica(t, l.cluster, l.manager.Service, node, token)
		replicas = append(replicas, p)
	}
	cold := l.follow(t, "cold start", before.at, before)
	now := countRequests(t, l.cluster.Config)
	all, writing, _ := now.since(counted)
	t.Logf("cold start: %.0f requests a second to the API server, of which %.0f write", all/time.Since(began).Seconds(), writing/time.Since(began).Seconds())
	spent := time.Duration(0)
	for _, p := range replicas {
		spent += spentBy(p.PID())
	}
	if spent > controllerTime {
		t.Errorf("cold start: the replicas used %.1f s of processor time, want at most %s", spent.Seconds(), controllerTime)
	}
	if n := cold.writes["patch fabricattachments/status"]; n != len(l.pods) {
		t.Errorf("cold start: %d writes of attachments, want one for each of %d", n, len(l.pods))
	}
	logMemory(t)
	t.Run("nothing is written when nothing changes", l.idle)
	t.Run("pods come and go", func(t *testing.T) { l.churn(t, cold) })
	t.Run("a namespace's pods triple", l.triple)
	t.Run("a weight changes", l.weigh)
	logMemory(t)
	for i, p := range replicas {
		if got := memory(t, p.PID()); got > memoryLimit {
			t.Errorf("replica %d: at most %d MB resident, want at most %d MB", i+1, got>>20, memoryLimit>>20)
		}
	}
}

// idle leaves the controller alone, and counts writes by the API server's audit log and its counters.
func (l *large) idle(t *testing.T) {
	window := defaultIdle
	if text := os.Getenv(Idle); text != "" {
		var err error
		if window, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", Idle, err)
		}
	}
	counted, before := countRequests(t, l.cluster.Config), use(t)
	time.Sleep(window)
	now := countRequests(t, l.cluster.Config)
	controller, others := l.audit.of(t, before.at, time.Now())
	use(t).log(t, "idle", before)
	if len(controller) > 0 || len(others) > 0 {
		t.Errorf("idle: the controller wrote %v, others wrote %v to Fairlane's objects", tally(controller), tally(others))
	}
	all, writing, fairlane := now.since(counted)
	t.Logf("idle: %.1f requests a second to the API server, of which %.1f write, %.0f of them in all to Fairlane's objects", all/window.Seconds(), writing/window.Seconds(), fairlane)
	if fairlane > 0 {
		t.Errorf("idle: the API server counted %.0f writes to Fairlane's objects", fairlane)
	}
	renewals := 0
	for _, w := range l.audit.writes {
		if w.Object.Resource == "leases" && w.User.Username == controllerUser && w.At.After(before.at) {
			renewals++
		}
	}
	if renewals == 0 { // the audit log would not show other writes either
		t.Error("idle: the audit log has no renewal of the controller's lease")
	}
	t.Logf("idle: %d renewals of the controller's lease", renewals)
}

// bounded checks that the controller wrote no more than what changed: each attachment whose share changed or that is new once a plan,
// and each binding four times a plan, for the states rolling out, waiting and in force and for its numbers.
func (s *step) bounded(t *testing.T, before *step) {
	t.Helper()
	changed := 0
	for key, share := range s.planned {
		if old, ok := before.planned[key]; !ok || old != share {
			changed++
		}
	}
	plans := max(1, len(s.rolled))
	if got, most := s.writes["patch fabricattachments/status"], plans*changed; got > most {
		t.Errorf("%d writes of attachments, want at most %d: %d changed, with %d plans", got, most, changed, plans)
	}
	if got, most := s.writes["update tenantbindings/status"], plans*tenantCount*4; got > most {
		t.Errorf("%d writes of bindings, want at most %d", got, most)
	}
	for what, n := range s.writes {
		switch what {
		case "patch fabricattachments/status", "update tenantbindings/status":
		case "patch fabricattachments/status (404)": // its pod ended while the pass ran
		default:
			t.Errorf("the controller wrote %s: %d", what, n)
		}
	}
	t.Logf("%d attachments have another share, or are new", changed)
}

// look returns the present state as a step.
func (l *large) look(t *testing.T) *step {
	t.Helper()
	why, planned := l.wrong(t)
	if why != "" {
		t.Fatal(why)
	}
	return &step{planned: planned}
}

// churn deletes 200 pods, and creates as many on the next nodes of their tenants.
func (l *large) churn(t *testing.T, last *step) {
	const pods = 200
	before := use(t)
	touched := map[*node]bool{}
	var added, removed []*pod
	all := l.all()
	for i := range pods {
		p := all[i*len(all)/pods]
		l.remove(p)
		removed = append(removed, p)
		touched[p.node] = true
		next := p.tenant.nodes[(slices.Index(p.tenant.nodes, p.node)+1)%len(p.tenant.nodes)]
		touched[next] = true
		added = append(added, l.add(p.tenant, p.namespace, next))
	}
	each(t, removed, func(ctx context.Context, p *pod) error {
		return l.cluster.Admin.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name}})
	})
	create(t, l.cluster, added)
	running(t, l.cluster)
	each(t, slices.Collect(maps.Keys(touched)), report)
	t.Logf("changed in %.1f s", time.Since(before.at).Seconds())
	l.follow(t, fmt.Sprintf("%d pods deleted and created", pods), before.at, use(t)).bounded(t, last)
	for _, p := range removed {
		err := l.cluster.Admin.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: p.name}, &corev1.Pod{})
		if err == nil || client.IgnoreNotFound(err) != nil {
			t.Fatalf("pod %s/%s is still there: %v", p.namespace, p.name, err)
		}
	}
}

// triple adds twice as many pods to a namespace as it has.
func (l *large) triple(t *testing.T) {
	last := l.look(t)
	before := use(t)
	x := l.tenants[7]
	var added []*pod
	for _, p := range l.all() {
		if p.namespace == x.spaces[2] {
			for range 2 {
				added = append(added, l.add(x, p.namespace, x.nodes[len(added)%len(x.nodes)]))
			}
		}
	}
	create(t, l.cluster, added)
	running(t, l.cluster)
	each(t, x.nodes, report)
	t.Logf("%d pods created in %.1f s", len(added), time.Since(before.at).Seconds())
	l.follow(t, "a namespace's pods triple", before.at, use(t)).bounded(t, last)
}

// weigh changes the weight of a tenant at the service, and rolls that out as an operator does.
func (l *large) weigh(t *testing.T) {
	last := l.look(t)
	x := l.tenants[11]
	x.weight *= 3
	before := use(t)
	l.manager.declare(t, l.model)
	l.manager.RollOut(t, fabric)
	l.follow(t, "a weight changes", before.at, use(t)).bounded(t, last)
}
