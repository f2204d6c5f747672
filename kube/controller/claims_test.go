package controller_test

import (
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/v1alpha1"
)

// claimed is an attachment by a ResourceClaim with a rate, in Gbit/s.
func claimed(namespace, pod, claim, port string, gbps int64) *v1alpha1.FabricAttachment {
	a := attach(namespace, pod, port)
	a.Name += "-" + claim
	a.Spec.Source, a.Spec.Network, a.Spec.Interface = v1alpha1.SourceClaim, claim, "device0"
	a.Spec.ClaimedBps = new(gbps * 1_000_000_000)
	return a
}

func TestRatesOfClaimsAreSummedByPort(t *testing.T) {
	t.Parallel()
	r := newRig(t, bind("red", "red"), bind("also-red", "also-red"), bind("blue", "blue"), space("a", "red"), space("b", "also-red"), space("c", "blue"),
		claimed("a", "p", "nic", "h1:1", 10), claimed("a", "q", "nic2", "h1:1", 20), // two pods, a claim each
		claimed("a", "r", "both", "h2:1", 5), claimed("a", "s", "both", "h2:1", 5), // two pods with one claim
		attach("a", "t", "h3:1"),            // without a claim
		claimed("b", "p", "nic", "h1:1", 1), // a claim of the same name in another namespace
		claimed("a", "u", "lost", "", 40),   // the port is not known
		claimed("c", "p", "nic", "h1:1", 7))
	other := r.binding("also-red")
	other.Spec.Tenant = "red"
	if err := r.client.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	r.pass()
	for tenant, want := range map[string][]string{"red": {"h1:1=31000000000", "h2:1=5000000000", "h3:1"}, "blue": {"h1:1=7000000000"}} {
		if got := r.manager.Feed(tenant, "kubernetes-lab1"); !slices.Equal(got, want) {
			t.Errorf("feed of %s is %v, want %v", tenant, got, want)
		}
	}
	for name, want := range map[string]int64{"red": 35_000_000_000, "also-red": 1_000_000_000, "blue": 7_000_000_000} {
		if got := r.binding(name).Status.ClaimedBps; got == nil || *got != want {
			t.Errorf("binding %s claims %v, want %d", name, got, want)
		}
	}
	// The end of a claim is reported, though the ports stay.
	calls := r.manager.Count("PutFeed")
	r.pass()
	if n := r.manager.Count("PutFeed") - calls; n != 0 {
		t.Errorf("%d feeds written without a change", n)
	}
	for _, a := range []*v1alpha1.FabricAttachment{claimed("a", "q", "nic2", "h1:1", 20), claimed("a", "r", "both", "h2:1", 5), claimed("a", "s", "both", "h2:1", 5)} {
		if err := r.client.Delete(t.Context(), a, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}
	r.pass()
	if got := r.manager.Feed("red", "kubernetes-lab1"); !slices.Equal(got, []string{"h1:1=11000000000", "h3:1"}) {
		t.Errorf("feed is %v", got)
	}
}
