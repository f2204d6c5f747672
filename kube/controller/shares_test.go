package controller_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/controller"
	"fairlane/kube/controller/managertest"
	"fairlane/kube/v1alpha1"
)

// measured returns a rig with a pod of red on two ports, of which one is measured.
func measured(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, bind("red", "red"), space("a", "red"), attach("a", "p", "h1:1"), attach("a", "p", "0x20:1"))
	r.manager.Do(func(m *managertest.Manager) {
		red := m.Tenants["red"]
		red.Ports = []controller.Port{{ID: "0x10:1", Name: "h1/P1"}, {ID: "0x20:1", Name: "h2/P1"}}
		m.Tenants["red"] = red
	})
	return r
}

func (r *rig) measure(fraction float64, edit func(*controller.Shares)) {
	s := managertest.Contended(r.now, "0x10:1", fraction)
	if edit != nil {
		edit(&s)
	}
	r.manager.Do(func(m *managertest.Manager) { m.Measured = s })
}

func TestPodsGetEventsForPortsBelowTheirEntitlement(t *testing.T) {
	t.Parallel()
	r := measured(t)
	r.pass() // nothing measured, nothing to say
	r.measure(0.96, nil)
	r.pass() // within the tolerance
	r.measure(0.8, nil)
	r.pass()
	r.pass() // said once
	r.measure(0.7, func(s *controller.Shares) { s.Links[0].Tenants[0].DeliveredBps = new(int64(30e9)) })
	r.pass()
	r.measure(0.7, func(s *controller.Shares) { s.Links[0].Tenants[1].Contention = "path-down" })
	r.pass()
	r.measure(0.7, func(s *controller.Shares) { s.Links[0].Tenants[1].Contention = "demand" })
	r.pass()
	want := []string{
		"p Warning BelowEntitlement: 1 of 2 ports below entitlement: contention within rights",
		"p Warning BelowEntitlement: 1 of 2 ports below entitlement: another tenant exceeds its share",
		"p Warning BelowEntitlement: 1 of 2 ports below entitlement: no link",
		"p Normal AtEntitlement: 2 ports at or above entitlement",
	}
	if d := cmp.Diff(want, r.events); d != "" {
		t.Error(d)
	}
}

func TestFiguresOfAttachmentsAreThoseOfTheirPort(t *testing.T) {
	t.Parallel()
	r := measured(t)
	figures := func() (entitled, delivered int64, version string) {
		t.Helper()
		a := &v1alpha1.FabricAttachment{}
		if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "p-h1-1"}, a); err != nil {
			t.Fatal(err)
		}
		if a.Status.Drift != true || a.Status.Reason != "of the agent" {
			t.Errorf("the agent's fields are %+v", a.Status)
		}
		if a.Status.EntitledBps != nil {
			entitled = *a.Status.EntitledBps
		}
		if a.Status.DeliveredBps != nil {
			delivered = *a.Status.DeliveredBps
		}
		return entitled, delivered, a.ResourceVersion
	}
	a := &v1alpha1.FabricAttachment{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "p-h1-1"}, a); err != nil {
		t.Fatal(err)
	}
	a.Status.Drift, a.Status.Reason = true, "of the agent"
	if err := r.client.Status().Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	r.measure(0.8, nil)
	r.pass()
	entitled, delivered, version := figures()
	if entitled != 75e9 || delivered != 60e9 {
		t.Errorf("%d of %d", delivered, entitled)
	}
	r.measure(0.805, nil) // noise
	r.pass()
	if _, delivered, v := figures(); delivered != 60e9 || v != version {
		t.Errorf("noise was written: %d", delivered)
	}
	r.measure(0.9, nil)
	r.pass()
	if _, delivered, _ := figures(); delivered != 67.5e9 {
		t.Errorf("delivered is %d", delivered)
	}
	r.now = r.now.Add(11 * time.Minute) // too old to be shown
	r.pass()
	if entitled, delivered, _ := figures(); entitled != 0 || delivered != 0 {
		t.Errorf("%d of %d by an old measurement", delivered, entitled)
	}
	r.expect("red", "SharesHeld", "Unknown NotMeasured")
}

func TestSharesOfATenant(t *testing.T) {
	t.Parallel()
	for contention, want := range map[string]string{
		"contending": "True Held", "idle": "True Idle", "cap": "True Capped", "own-port": "True OwnPort", "other-link": "True OtherLink", "demand": "True Demand",
		"path-down": "False PathDown", "not-measured": "Unknown NotMeasured", "": "Unknown NotMeasured",
	} {
		t.Run(contention, func(t *testing.T) {
			t.Parallel()
			r := measured(t)
			r.measure(1, func(s *controller.Shares) {
				share := controller.TenantShare{Contention: contention}
				if contention == "contending" {
					share.Received = new(0.951)
				}
				s.Tenants["red"] = share
			})
			r.pass()
			r.expect("red", "SharesHeld", want)
		})
	}
	r := measured(t)
	r.measure(0.94, nil)
	r.pass()
	r.expect("red", "SharesHeld", "False BelowShare: The tenant receives less than its share on a contended link.")
}

func TestWhatThePlanHasForAPortIsInItsAttachments(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"), space("a", "red"), attach("a", "p", "h1:1"), attach("a", "q", "h2:1"), attach("a", "s", "h3:1"))
	places := func(first int32) {
		r.manager.Do(func(m *managertest.Manager) {
			red := m.Tenants["red"]
			red.Ports = []controller.Port{{ID: "0x10:1", Name: "h1/P1"}, {ID: "0x20:1", Name: "h2/P1"}}
			m.Tenants["red"] = red
			m.Places = []controller.Placement{
				{Tenant: "blue", Port: "0x10:1", DSCP: new(int32(26)), Share: new(1000 - first)},
				{Tenant: "red", Port: "0x10:1", DSCP: new(int32(26)), Share: &first}, {Tenant: "red", Port: "0x20:1", DSCP: new(int32(26))},
			}
		})
		r.pass()
	}
	planned := func(name string) *v1alpha1.DeviceClass {
		t.Helper()
		var all v1alpha1.FabricAttachmentList
		if err := r.client.List(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		for i := range all.Items {
			if all.Items[i].Spec.Pod.Name == name {
				return all.Items[i].Status.Planned
			}
		}
		t.Fatalf("no attachment of %s", name)
		return nil
	}
	places(750)
	for name, want := range map[string]*v1alpha1.DeviceClass{
		"p": {ShareOf1000: new(int32(750))}, "q": {ShareOf1000: new(int32(0))}, // that port is not divided
		"s": nil, // that port is in no plan yet
	} {
		if d := cmp.Diff(want, planned(name)); d != "" {
			t.Errorf("attachment of %s: %s", name, d)
		}
	}
	// A port that is not divided says nothing about a new pod's port.
	if got := r.binding("red").Status.Classes[0].ShareOf1000; got == nil || *got != 750 {
		t.Errorf("share of the class: %v", got)
	}
	places(600)
	if d := cmp.Diff(&v1alpha1.DeviceClass{ShareOf1000: new(int32(600))}, planned("p")); d != "" {
		t.Error(d)
	}
}
