package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/kube/v1alpha1"
)

const label = v1alpha1.LabelPrefix + "team"

func namespace(name, team string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: team}}}
}

func binding(name, team string, classes ...v1alpha1.BindingClass) *v1alpha1.TenantBinding {
	return &v1alpha1.TenantBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.TenantBindingSpec{
			Fabric: "lab", Tenant: "t-" + team, Class: "default", NamespaceSelector: v1alpha1.NamespaceSelector{MatchLabels: map[string]string{label: team}},
			CachedFor: metav1.Duration{Duration: time.Hour},
		},
		Status: v1alpha1.TenantBindingStatus{Classes: classes},
	}
}

func ready() []v1alpha1.BindingClass {
	return []v1alpha1.BindingClass{{Name: "default", Weight: "1", DSCP: new(int32(26)), MaxMbps: new(int64(40000)), ShareOf1000: new(int32(250))}, {Name: "bulk", Weight: "3"}}
}

func TestANamespaceGetsTheClassesOfItsBinding(t *testing.T) {
	got := bindingsOf([]*v1alpha1.TenantBinding{binding("red", "red", ready()...)}, []*corev1.Namespace{namespace("a", "red"), namespace("b", "blue")}, nil)
	want := map[string]Bound{"a": {
		Name: "red", Tenant: "t-red", Class: "default", FailPolicy: podsock.Closed, CachedFor: time.Hour,
		Classes: map[string]podsock.Levers{"default": {MaxMbps: new(uint32(40000)), ShareOf1000: new(uint16(250)), TOS: new(uint8(106))}, "bulk": {}},
		Weights: map[string]float64{"default": 1, "bulk": 3},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestWhyANamespaceHasNoClass(t *testing.T) {
	other := binding("also", "red", ready()...)
	express := binding("red", "red", ready()...)
	express.Spec.Class = "express"
	deleted := binding("old", "red", ready()...)
	deleted.DeletionTimestamp = new(metav1.Now())
	for name, c := range map[string]struct {
		bindings []*v1alpha1.TenantBinding
		want     string
	}{
		"two bindings":           {[]*v1alpha1.TenantBinding{binding("red", "red", ready()...), other}, "namespace a is selected by the tenant bindings also and red, want one"},
		"classes not read":       {[]*v1alpha1.TenantBinding{binding("red", "red")}, "tenant binding red has no classes yet: the controller has not read tenant t-red from the manager"},
		"a class that is absent": {[]*v1alpha1.TenantBinding{express}, `tenant binding red: found no class "express" of tenant t-red, want bulk, default`},
		"a deleted one beside":   {[]*v1alpha1.TenantBinding{binding("red", "red", ready()...), deleted}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := bindingsOf(c.bindings, []*corev1.Namespace{namespace("a", "red")}, nil)
			if b, ok := got["a"]; !ok || b.Problem != c.want {
				t.Errorf("problem %q, bound %v, want %q", b.Problem, ok, c.want)
			}
		})
	}
}

func TestValuesOutsideTheirRangeAreNotApplied(t *testing.T) {
	c := v1alpha1.BindingClass{DSCP: new(int32(64)), ShareOf1000: new(int32(1001)), MaxMbps: new(int64(-1))}
	if got := leversOf(&c); got != (podsock.Levers{}) {
		t.Errorf("levers %+v, want none", got)
	}
}

func TestBindingsAgeAndSurviveARestartWithoutTheAPIServer(t *testing.T) {
	file, now := filepath.Join(t.TempDir(), "bindings.json"), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	open := func() *Bindings {
		t.Helper()
		b, err := openBindings(file, clock)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	expect := func(b *Bindings, namespace string, wantAge time.Duration, want pods.State) {
		t.Helper()
		got, age, s := b.Binding(namespace)
		if age != wantAge || s != want || (s == pods.Bound) != (got.Tenant == "t-red") {
			t.Errorf("namespace %s: tenant %q, age %s, state %d, want age %s, state %d", namespace, got.Tenant, age, s, wantAge, want)
		}
	}
	b := open()
	expect(b, "a", 0, pods.Unknown)
	bound := bindingsOf([]*v1alpha1.TenantBinding{binding("red", "red", ready()...)}, []*corev1.Namespace{namespace("a", "red")}, nil)
	if err := b.update(bound); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	expect(b, "a", 0, pods.Bound) // connected: no age
	expect(b, "b", 0, pods.Unbound)
	if err := b.update(bound); err != nil { // writes the time of confirmation
		t.Fatal(err)
	}
	b.lost()
	now = now.Add(10 * time.Minute)
	expect(b, "a", 10*time.Minute, pods.Bound)
	expect(b, "b", 10*time.Minute, pods.Unbound)

	restarted := open()
	expect(restarted, "a", 10*time.Minute, pods.Bound)
	now = now.Add(-time.Hour) // the clock was set back
	expect(restarted, "a", 0, pods.Bound)

	if err := os.WriteFile(file, []byte(`{"version":1,"bound":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openBindings(file, clock); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged file: error %v", err)
	}
	if err := os.WriteFile(file, []byte(`{"version":9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openBindings(file, clock); err == nil || !strings.Contains(err.Error(), "found 9, want 1") {
		t.Errorf("a file of another version: error %v", err)
	}
}

func TestBindingsThatWereNotKeptAreKeptByTheNextUpdate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "later", "bindings.json")
	b, err := openBindings(file, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	b.written = time.Now() // by an update before
	if err := b.update(map[string]Bound{"a": {Tenant: "t-red"}}); err == nil {
		t.Error("written into a missing directory")
	}
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := b.update(map[string]Bound{"a": {Tenant: "t-red"}}); err != nil {
		t.Fatal(err)
	}
	restarted, err := openBindings(file, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _ := restarted.Binding("a"); got.Tenant != "t-red" {
		t.Errorf("%+v", got)
	}
}

func TestAChangeOfBindingsIsNotifiedOnce(t *testing.T) {
	b, err := openBindings("", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	notified := func() bool {
		select {
		case <-b.Changed():
			return true
		default:
			return false
		}
	}
	bound := func(max int64) map[string]Bound {
		c := ready()
		c[0].MaxMbps = &max
		return bindingsOf([]*v1alpha1.TenantBinding{binding("red", "red", c...)}, []*corev1.Namespace{namespace("a", "red")}, nil)
	}
	for i, c := range []struct {
		max  int64
		want bool
	}{{1000, true}, {1000, false}, {2000, true}} {
		if err := b.update(bound(c.max)); err != nil {
			t.Fatal(err)
		}
		if got := notified(); got != c.want {
			t.Errorf("update %d: notified %v, want %v", i, got, c.want)
		}
	}
}

func TestSharesOfPortsComeFromTheAttachmentsOfTheNode(t *testing.T) {
	at := func(binding, port string, share *int32) *v1alpha1.FabricAttachment {
		a := &v1alpha1.FabricAttachment{Spec: v1alpha1.FabricAttachmentSpec{Binding: binding, Device: v1alpha1.AttachedDevice{Port: port}}}
		if share != nil {
			a.Status.Planned = &v1alpha1.DeviceClass{ShareOf1000: share}
		}
		return a
	}
	got := bindingsOf([]*v1alpha1.TenantBinding{binding("red", "red", ready()...), binding("blue", "blue", ready()...)}, []*corev1.Namespace{namespace("a", "red"), namespace("b", "blue")},
		[]*v1alpha1.FabricAttachment{
			at("red", "h1:1", new(int32(600))), at("red", "h1:1", new(int32(500))), // the controller is writing a new share
			at("red", "h2:1", new(int32(0))), at("red", "h3:1", nil), at("red", "h4:1", new(int32(1001))), at("red", "", new(int32(9))), at("", "h1:1", new(int32(9))),
		})
	if d := cmp.Diff(map[string]uint16{"h1:1": 500, "h2:1": 0}, got["a"].Shares); d != "" {
		t.Error(d)
	}
	if got["b"].Shares != nil {
		t.Errorf("shares of blue: %v", got["b"].Shares)
	}
}
