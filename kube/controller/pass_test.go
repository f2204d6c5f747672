package controller_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlane/kube/controller"
	"fairlane/kube/controller/managertest"
	"fairlane/kube/v1alpha1"
)

// rig is a controller with a fake cluster and a manager in memory.
type rig struct {
	t       *testing.T
	manager *managertest.Manager
	client  client.WithWatch
	control *controller.Reconciler
	next    time.Duration // until the next pass, as the last one wanted
	events  []string
	now     time.Time
}

// Eventf keeps an event of a pod.
func (r *rig) Eventf(pod, _ runtime.Object, kind, reason, _, note string, args ...any) {
	r.events = append(r.events, fmt.Sprintf("%s %s %s: ", pod.(*corev1.Pod).Name, kind, reason)+fmt.Sprintf(note, args...))
}

const tenantLabel = v1alpha1.LabelPrefix + "tenant"

func newRig(t *testing.T, objects ...client.Object) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, manager: managertest.New(), now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
	r.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.TenantBinding{}, &v1alpha1.FabricAttachment{}).Build()
	r.restart()
	return r
}

// restart replaces the controller by a new one, which remembers nothing.
func (r *rig) restart() {
	r.control = &controller.Reconciler{
		Client: &cached{Client: r.client, t: r.t}, Manager: r.manager, Events: r, Feed: "kubernetes-lab1",
		Every: 30 * time.Second, Repeat: 10 * time.Minute, Now: func() time.Time { return r.now },
	}
}

func (r *rig) pass() {
	r.t.Helper()
	result, err := r.control.Reconcile(r.t.Context(), "lab")
	if err != nil {
		r.t.Fatal(err)
	}
	if c, ok := r.control.Client.(*cached); ok { // a test may have put another client in its place
		c.unchanged()
	}
	r.next = result.RequeueAfter
	r.now = r.now.Add(30 * time.Second)
}

// cached lists objects as the process's caches hold them: without what these do not keep, and shared where a list requests that.
type cached struct {
	client.Client
	t      *testing.T
	shared [][2]client.ObjectList // and copies of them
}

// List lists objects.
func (c *cached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := c.Client.List(ctx, list, options...); err != nil {
		return err
	}
	if err := meta.EachListItem(list, func(o runtime.Object) error {
		for kind, by := range controller.Caches() {
			if reflect.TypeOf(kind) == reflect.TypeOf(o) {
				_, err := by.Transform(o)
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	o := client.ListOptions{}
	if o.ApplyOptions(options); o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy {
		c.shared = append(c.shared, [2]client.ObjectList{list, list.DeepCopyObject().(client.ObjectList)})
	}
	return nil
}

// unchanged checks that no shared object was changed.
func (c *cached) unchanged() {
	c.t.Helper()
	for _, s := range c.shared {
		if d := cmp.Diff(s[1], s[0]); d != "" {
			c.t.Errorf("an object of the cache was changed:\n%s", d)
		}
	}
	c.shared = nil
}

func (r *rig) binding(name string) *v1alpha1.TenantBinding {
	r.t.Helper()
	b := &v1alpha1.TenantBinding{}
	if err := r.client.Get(r.t.Context(), client.ObjectKey{Name: name}, b); err != nil {
		r.t.Fatal(err)
	}
	return b
}

// condition returns status, reason and message of a condition.
func (r *rig) condition(binding, name string) string {
	r.t.Helper()
	c := meta.FindStatusCondition(r.binding(binding).Status.Conditions, name)
	if c == nil {
		return "none"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (r *rig) expect(binding, name, want string) {
	r.t.Helper()
	if got := r.condition(binding, name); !strings.HasPrefix(got, want) {
		r.t.Errorf("%s of %s is\n\t%s, want\n\t%s", name, binding, got, want)
	}
}

func bind(name, tenant string) *v1alpha1.TenantBinding {
	class := map[string]string{"red": "gold"}[tenant]
	if class == "" {
		class = "default"
	}
	return &v1alpha1.TenantBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}, Spec: v1alpha1.TenantBindingSpec{
		Fabric: "lab", Tenant: tenant, Class: class,
		NamespaceSelector: v1alpha1.NamespaceSelector{MatchLabels: map[string]string{tenantLabel: tenant}},
	}}
}

func space(name, tenant string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{tenantLabel: tenant}}}
}

func attach(namespace, pod, port string) *v1alpha1.FabricAttachment {
	return &v1alpha1.FabricAttachment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod + "-" + strings.ReplaceAll(port, ":", "-")},
		Spec: v1alpha1.FabricAttachmentSpec{
			Pod: v1alpha1.AttachedPod{Name: pod, UID: types.UID(namespace + "/" + pod)}, Node: "n", Interface: "net1", Source: v1alpha1.SourceCNI,
			Device: v1alpha1.AttachedDevice{ID: "0000:3b:00.2", Port: port},
		},
	}
}

func TestAttachmentsBecomeAFeedAPlanAndARollout(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"), bind("blue", "blue"), space("a", "red"), space("b", "red"), space("c", "blue"), space("free", "none"),
		attach("a", "p", "h1:1"), attach("a", "p", "h2:1"), attach("b", "q", "h1:1"), attach("c", "r", "h3:1"), attach("free", "s", "h4:1"), attach("b", "no-port", ""))
	r.pass()
	for tenant, want := range map[string][]string{"red": {"h1:1", "h2:1"}, "blue": {"h3:1"}} {
		if d := cmp.Diff(want, r.manager.Feed(tenant, "kubernetes-lab1")); d != "" {
			t.Errorf("feed of %s:\n%s", tenant, d)
		}
	}
	r.expect("red", "Bound", "True Bound: Tenant red exists on fabric lab.")
	r.expect("red", "InForce", "False RollingOut: Rollout 1 brings plan ")
	s := r.binding("red").Status
	if s.Namespaces != 2 || s.Pods != 3 || s.Ports != 2 || s.Weight != "3" {
		t.Errorf("status %+v", s)
	}
	r.pass()
	if n := len(r.manager.Rollouts()); n != 1 {
		t.Fatalf("%d rollouts while the first one runs", n)
	}
	if r.next > 2*time.Second {
		t.Errorf("while a rollout runs, the next pass is in %s", r.next)
	}
	r.manager.End("succeeded", "4 devices verified")
	r.pass()
	r.expect("red", "InForce", "True InForce: All attachments are in the plan in force, ")
	r.expect("blue", "InForce", "True InForce")
	if r.next != 30*time.Second {
		t.Errorf("without a rollout, the next pass is in %s", r.next)
	}
}

func TestNothingIsRequestedTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"), space("a", "red"), attach("a", "p", "h1:1"))
	r.pass()
	r.manager.End("succeeded", "")
	r.pass()
	version := r.binding("red").ResourceVersion
	feeds, plans := r.manager.Count("PutFeed"), r.manager.Count("Plan")
	for range 15 {
		r.pass()
	}
	if got := r.binding("red").ResourceVersion; got != version {
		t.Errorf("status was written without a change: version %s, before %s", got, version)
	}
	if r.manager.Count("PutFeed") != feeds || r.manager.Count("Plan") != plans {
		t.Errorf("%d feeds, %d plans, want %d, %d", r.manager.Count("PutFeed"), r.manager.Count("Plan"), feeds, plans)
	}
	for range 6 { // beyond the time of Repeat
		r.pass()
	}
	if r.manager.Count("PutFeed") != feeds+1 || r.manager.Count("Plan") != plans+1 || len(r.manager.Rollouts()) != 1 {
		t.Errorf("after ten minutes: %d feeds, %d plans, %d rollouts", r.manager.Count("PutFeed"), r.manager.Count("Plan"), len(r.manager.Rollouts()))
	}
	r.restart()
	r.pass()
	if got := r.binding("red").ResourceVersion; got != version || len(r.manager.Rollouts()) != 1 {
		t.Errorf("a new leader wrote status or started a rollout: version %s, %d rollouts", got, len(r.manager.Rollouts()))
	}
}

func TestATenantThatWasCreatedAgainGetsItsFeed(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"), space("a", "red"), attach("a", "p", "h1:1"))
	r.pass()
	r.manager.End("succeeded", "")
	r.pass()
	red, feeds, plans := r.manager.Tenants["red"], r.manager.Count("PutFeed"), r.manager.Count("Plan")
	r.manager.Do(func(m *managertest.Manager) { delete(m.Tenants, "red") })
	r.pass()
	r.manager.Do(func(m *managertest.Manager) { m.Tenants["red"] = red })
	r.pass()
	if r.manager.Count("PutFeed") != feeds+1 || r.manager.Count("Plan") != plans+1 {
		t.Errorf("%d feeds, %d plans, want %d, %d", r.manager.Count("PutFeed"), r.manager.Count("Plan"), feeds+1, plans+1)
	}
}

func TestRolloutsStayWithinTheirBounds(t *testing.T) {
	t.Parallel()
	limited := func(n int32) *v1alpha1.TenantBinding {
		b := bind("red", "red")
		b.Spec.Limit = &n
		return b
	}
	for name, c := range map[string]struct {
		binding *v1alpha1.TenantBinding
		edit    func(m *managertest.Manager)
		want    string
		started int
	}{
		"at the default limit": {bind("red", "red"), func(m *managertest.Manager) { m.Settings = 200 }, "False RollingOut", 1},
		"over the default":     {bind("red", "red"), func(m *managertest.Manager) { m.Settings = 201 }, "False OverLimit: The manager refuses the rollout of plan ", 0},
		"over its own limit":   {limited(9), func(*managertest.Manager) {}, "False OverLimit", 0},
		"plan only":            {limited(0), func(*managertest.Manager) {}, "False Planned: Plan ", 0},
		"an operator's change": {bind("red", "red"), func(m *managertest.Manager) { m.Operator = true }, "False NeedsOperator: The manager refuses the rollout of plan ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := bind("blue", "blue") // with the default limit
			r := newRig(t, c.binding, other, space("a", "red"), attach("a", "p", "h1:1"))
			r.manager.Do(c.edit)
			r.pass()
			r.expect("red", "InForce", c.want)
			if n := len(r.manager.Rollouts()); n != c.started {
				t.Errorf("%d rollouts, want %d", n, c.started)
			}
			asked := r.manager.Count("Rollout")
			r.pass()
			if c.started == 0 && (r.manager.Count("Rollout") != asked || !strings.Contains(r.condition("red", "InForce"), "fairlane rollout start --fabric lab --plan ")) {
				t.Errorf("asked again (%d times), or no command in %s", r.manager.Count("Rollout"), r.condition("red", "InForce"))
			}
		})
	}
}

func TestAFailedRolloutIsRepeatedLaterAndLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"), space("a", "red"), attach("a", "p", "h1:1"))
	r.pass()
	for attempt, passes := range []int{1, 2, 4} { // of 30 s each
		r.manager.End("failed", "h1 did not answer.")
		r.pass()
		r.expect("red", "InForce", fmt.Sprintf("False RolloutFailed: Rollout %d of plan ", attempt+1))
		if !strings.Contains(r.condition("red", "InForce"), "It is repeated after 12:") {
			t.Errorf("no time of the next attempt in %s", r.condition("red", "InForce"))
		}
		for range passes {
			if n := len(r.manager.Rollouts()); n != attempt+1 {
				t.Fatalf("%d rollouts, want %d", n, attempt+1)
			}
			r.pass()
		}
		r.expect("red", "InForce", fmt.Sprintf("False RollingOut: Rollout %d ", attempt+2))
	}
	r.manager.End("succeeded", "")
	r.pass()
	r.expect("red", "InForce", "True InForce")
}

func TestARolloutThatWasRolledBackIsNotRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"), space("a", "red"), attach("a", "p", "h1:1"))
	r.pass()
	r.manager.End("rolled-back", "share error 0.2 above 0.1.")
	r.pass()
	r.restart()
	r.pass()
	r.expect("red", "InForce", "False RolloutFailed: Rollout 1 of plan ")
	if n := len(r.manager.Rollouts()); n != 1 {
		t.Errorf("%d rollouts", n)
	}
	if err := r.client.Create(t.Context(), attach("a", "q", "h2:1")); err != nil {
		t.Fatal(err)
	}
	r.pass()
	r.expect("red", "InForce", "False RollingOut: Rollout 2 ")
}

func TestAnotherRolloutIsAwaited(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"), space("a", "red"), attach("a", "p", "h1:1"))
	if _, err := r.manager.Rollout(t.Context(), "lab", "0123456789abcdef", 1000); err != nil {
		t.Fatal(err)
	}
	r.pass()
	r.expect("red", "InForce", "False Waiting: Rollout 1 of another plan")
	r.manager.End("failed", "")
	r.pass()
	r.expect("red", "InForce", "False RollingOut: Rollout 2 ")
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Parallel()
	wrongClass := bind("class", "red")
	wrongClass.Spec.Class = "silver"
	plainClass := bind("plain", "blue")
	plainClass.Spec.Class = "gold"
	r := newRig(t, bind("none", "green"), wrongClass, plainClass)
	r.manager.Release()
	r.pass()
	r.expect("none", "Bound", "False TenantNotFound: The manager has no tenant green on fabric lab.")
	r.expect("none", "InForce", "False TenantNotFound")
	r.expect("class", "Bound", "False ClassNotFound: Tenant red has no class silver; allowed: bulk, gold.")
	r.expect("plain", "Bound", "False ClassNotFound: Tenant blue has no classes, so only the class default is allowed; found gold.")
	r.expect("plain", "InForce", "False NoPlan: Fabric lab has no plan in force.")
}

func TestPortsThatTheFabricLacksAreLeftOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"), bind("blue", "blue"), space("a", "red"), space("b", "blue"),
		attach("a", "p", "h1:1"), attach("a", "q", "h9:1"), attach("b", "r", "h2:1"))
	r.manager.Do(func(m *managertest.Manager) { m.Unknown["h9:1"] = `no host "h9"` })
	r.pass()
	if got := r.manager.Feed("red", "kubernetes-lab1"); !slices.Equal(got, []string{"h1:1"}) {
		t.Errorf("feed is %v", got)
	}
	r.expect("red", "InForce", `False PortsRefused: Fabric lab does not accept 1 port: h9:1 (no host "h9"). Discover`)
	r.expect("blue", "InForce", "False RollingOut")
}

func TestADisputedNamespaceKeepsItsRunningPods(t *testing.T) {
	t.Parallel()
	old, fresh, lost := attach("a", "old", "h1:1"), attach("a", "new", "h2:1"), attach("a", "lost", "h3:1")
	old.Spec.Binding, fresh.Spec.Binding, lost.Spec.Binding = "red", "", "gone"
	second := bind("second", "blue")
	second.Spec.NamespaceSelector.MatchLabels[tenantLabel] = "red"
	second.Spec.Fabric = "other" // a dispute counts on any fabric
	r := newRig(t, bind("red", "red"), second, space("a", "red"), old, fresh, lost)
	r.pass()
	if got := r.manager.Feed("red", "kubernetes-lab1"); !slices.Equal(got, []string{"h1:1"}) {
		t.Errorf("feed is %v", got)
	}
	r.expect("red", "Unambiguous", "False NamespaceDisputed: 1 namespace is also selected by other bindings: a (second).")
	if n := r.binding("red").Status.Namespaces; n != 0 {
		t.Errorf("%d namespaces", n)
	}
	if err := r.client.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	r.pass()
	r.expect("red", "Unambiguous", "True Unambiguous")
	if got := r.manager.Feed("red", "kubernetes-lab1"); !slices.Equal(got, []string{"h1:1", "h2:1", "h3:1"}) {
		t.Errorf("feed is %v", got)
	}
}

func TestAManagerThatIsAwayChangesNoClass(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"), space("a", "red"), attach("a", "p", "h1:1"))
	r.manager.Do(func(m *managertest.Manager) {
		m.Places = []controller.Placement{{Tenant: "red", SL: new(int32(3))}, {Tenant: "blue", SL: new(int32(1))}, {Tenant: "red", SL: new(int32(3))}}
		red := m.Tenants["red"]
		red.DeliveredBps, red.CapBps = new(int64(70e9)), 50e9
		m.Tenants["red"] = red
	})
	r.pass()
	want := []v1alpha1.BindingClass{
		{Name: "bulk", Weight: "1", SL: new(int32(3)), MaxMbps: new(int64(50000))}, {Name: "gold", Weight: "2", SL: new(int32(3)), MaxMbps: new(int64(50000))},
	}
	if d := cmp.Diff(want, r.binding("red").Status.Classes); d != "" {
		t.Error(d)
	}
	r.manager.Do(func(m *managertest.Manager) { m.Away = true })
	r.pass()
	for _, c := range []string{"Bound", "InForce"} {
		r.expect("red", c, "Unknown ManagerUnreachable: The manager does not answer.")
	}
	r.expect("red", "SharesHeld", "Unknown NotMeasured")
	s := r.binding("red").Status
	if d := cmp.Diff(want, s.Classes); d != "" || s.DeliveredBps != nil || s.Weight != "3" {
		t.Errorf("status %+v\n%s", s, d)
	}
}

func TestAnSLThatDiffersBetweenPortsIsNotGiven(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("blue", "blue"))
	r.manager.Do(func(m *managertest.Manager) {
		m.Places = []controller.Placement{{Tenant: "blue", SL: new(int32(1)), DSCP: new(int32(26))}, {Tenant: "blue", SL: new(int32(2)), DSCP: new(int32(26))}}
	})
	r.pass()
	if d := cmp.Diff([]v1alpha1.BindingClass{{Name: "default", Weight: "1", DSCP: new(int32(26))}}, r.binding("blue").Status.Classes); d != "" {
		t.Error(d)
	}
}

func TestAFinalizerOfAnotherControllerStays(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"))
	const other = "example.com/other"
	r.control.Client = interceptor.NewClient(r.client, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
		if b := r.binding("red"); controllerutil.AddFinalizer(b, other) { // after the pass has read the binding
			if err := r.client.Update(ctx, b); err != nil {
				return err
			}
		}
		return c.Patch(ctx, o, p, options...)
	}})
	if _, err := r.control.Reconcile(t.Context(), "lab"); !apierrors.IsConflict(err) {
		t.Errorf("%v, want a conflict", err)
	}
	r.pass()
	if d := cmp.Diff([]string{other, v1alpha1.FeedFinalizer}, r.binding("red").Finalizers); d != "" {
		t.Error(d)
	}
}

func TestADeletedBindingLeavesWhatOthersClaim(t *testing.T) {
	t.Parallel()
	second := bind("second", "red")
	second.Spec.NamespaceSelector.MatchLabels[tenantLabel] = "red-too"
	r := newRig(t, bind("red", "red"), second, space("a", "red"), space("b", "red-too"), attach("a", "p", "h1:1"), attach("b", "q", "h2:1"))
	r.pass()
	if err := r.client.Delete(t.Context(), r.binding("red")); err != nil {
		t.Fatal(err)
	}
	r.manager.Do(func(m *managertest.Manager) { m.Away = true })
	r.pass()
	r.expect("red", "Bound", "Unknown Removing: The manager does not answer.")
	r.manager.Do(func(m *managertest.Manager) { m.Away = false })
	r.pass()
	if err := r.client.Get(t.Context(), client.ObjectKey{Name: "red"}, &v1alpha1.TenantBinding{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the binding is still there: %v", err)
	}
	if got := r.manager.Feed("red", "kubernetes-lab1"); !slices.Equal(got, []string{"h2:1"}) {
		t.Errorf("feed is %v", got)
	}
}
