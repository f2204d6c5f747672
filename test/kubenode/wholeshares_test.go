package kubenode_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/internal/quantity"
	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
	"fairlane/test/kubenode"
)

// TestWeightsOfTheServiceAreDeliveredToPods joins all parts: weights at the service become shares of the functions of pods, as pods come
// and go, and what they receive becomes status in the cluster.
func TestWeightsOfTheServiceAreDeliveredToPods(t *testing.T) {
	ruby, opal, jade := &party{name: "ruby", weight: 4, qps: 1}, &party{name: "opal", weight: 2, qps: 4}, &party{name: "jade", weight: 1, qps: 16}
	w := newWhole(t, "node-4", 30, ruby, opal, jade)
	for _, x := range w.teams {
		w.add(x, 0)
	}
	t.Logf("three namespaces are in force %.1f s after their last pod started", w.settle(2*time.Minute).Seconds())

	t.Run("without shares of functions", func(t *testing.T) {
		at, id := w.ports[0], w.host(w.ports[0])
		state, err := id.State(at)
		if err != nil {
			t.Fatal(err)
		}
		put := func(of func(i int) uint32) {
			for i := range functions {
				if err := id.Hold(at, i, of(i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		put(func(int) uint32 { return 0 })
		if worst := w.held(0); worst <= bound {
			t.Errorf("share error %.1f %%: the test proves nothing", worst*100)
		}
		put(func(i int) uint32 {
			for _, f := range state.Functions {
				if f.Index == i {
					return uint32(f.Min / quantity.Mbps)
				}
			}
			return 0
		})
	})
	t.Run("delivered", func(t *testing.T) { w.mustHold(0) })
	t.Run("the pods of a namespace triple", func(t *testing.T) {
		// Two of them on another port of the node, with another tenant: the controller reports the port and starts the rollout.
		w.add(jade, 1)
		w.add(jade, 1)
		w.add(ruby, 1)
		t.Logf("in force %.1f s after the last pod started", w.settle(2*time.Minute).Seconds())
		w.mustHold(0)
		w.mustHold(1)
	})
	t.Run("a pod more on a shared port", func(t *testing.T) {
		w.add(jade, 0)
		t.Logf("divided anew after %.1f s", w.settle(time.Minute).Seconds())
		w.mustHold(0)
	})
	t.Run("a weight changes", func(t *testing.T) {
		opal.weight = 4
		w.declareTenants()
		began := time.Now()
		w.service.RollOut(t, "lab")
		rolled := time.Since(began)
		t.Logf("rolled out in %.1f s; in the cluster and on the devices %.1f s later, with passes every %s", rolled.Seconds(), w.settle(time.Minute).Seconds(), kubenode.Interval)
		w.mustHold(0)
	})
	t.Run("status", func(t *testing.T) { w.checkStatus(t) })
	t.Run("a pod is deleted", func(t *testing.T) {
		w.remove(jade, jade.pods[len(jade.pods)-1])
		t.Logf("its function has no share, and the others' are divided anew, %.1f s after the end of the pod", w.settle(time.Minute).Seconds())
		w.mustHold(0)
	})
	w.auditVerifies(t)
}

// declareTenants declares the tenants with their present weights and flows. Claims of the cluster stay.
func (w *whole) declareTenants(flows ...kubenode.Object) {
	w.t.Helper()
	var list []kubenode.Object
	for _, x := range w.teams {
		attachments := []kubenode.Object{{"port": x.sinks[0].String()}, {"port": x.sinks[1].String()}}
		for _, f := range flows { // begin at ports that the operator claims too
			if f["tenant"] == x.name {
				attachments = append(attachments, kubenode.Object{"port": f["src"]})
			}
		}
		list = append(list, kubenode.Object{"name": x.name, "weight": x.weight, "attachments": attachments})
	}
	body := kubenode.Object{"tenants": list}
	if len(flows) > 0 {
		body["flows"] = flows
	}
	w.service.Must(w.t, http.MethodPut, "/fabrics/lab/tenants", body, nil)
}

// checkStatus declares the traffic, which an operator must for the service to measure it, measures it, and compares the objects of the cluster with the fabric's own counts.
func (w *whole) checkStatus(t *testing.T) {
	var flows []kubenode.Object
	for port, id := range w.ports {
		all, _ := w.senders(port)
		for _, x := range all {
			flows = append(flows, kubenode.Object{"tenant": x.name, "src": id.String(), "dst": x.sinks[port].String(), "qps": x.qps})
		}
	}
	w.declareTenants(flows...)
	w.service.RollOut(t, "lab")
	var shares struct {
		Tenants []struct {
			Tenant       string   `json:"tenant"`
			DeliveredBps *float64 `json:"delivered_bps"`
			Problem      string   `json:"problem"`
		} `json:"tenants"`
	}
	truth := w.delivered(0, 20*quantity.Millisecond)
	for tenant, rate := range w.delivered(1, 20*quantity.Millisecond) {
		truth[tenant] += rate
	}
	w.service.Must(t, http.MethodPost, "/fabrics/lab/shares/history?window_ms=20", nil, &shares)
	if len(shares.Tenants) != len(w.teams) {
		t.Fatalf("measured %+v", shares)
	}
	for _, s := range shares.Tenants {
		if s.DeliveredBps == nil || math.Abs(*s.DeliveredBps-truth[s.Tenant]) > 0.1*truth[s.Tenant] {
			t.Errorf("the service measured %.3g of %s, the fabric delivers %.3g: %s", deref(s.DeliveredBps), s.Tenant, truth[s.Tenant], s.Problem)
		}
		t.Logf("%-6s %.2f Gbit/s measured by the service, %.2f by the fabric", s.Tenant, deref(s.DeliveredBps)/1e9, truth[s.Tenant]/1e9)
	}
	kubetest.Eventually(t, time.Minute, func() string {
		var all v1alpha1.FabricAttachmentList
		if err := cluster.Admin.List(t.Context(), &all); err != nil {
			return err.Error()
		}
		seen := 0
		for i := range all.Items {
			a := &all.Items[i]
			mine := slices.ContainsFunc(w.teams, func(x *party) bool { return x.namespace == a.Namespace })
			if !mine || a.Spec.Device.Port != w.ports[0].String() {
				continue
			}
			seen++
			s := &a.Status
			if s.DeliveredBps == nil || s.EntitledBps == nil || s.Planned == nil || s.Planned.ShareOf1000 == nil || s.ReadBack == nil || s.Drift {
				return fmt.Sprintf("attachment %s: %+v", a.Name, s)
			}
		}
		if seen == 0 {
			return "no attachments"
		}
		for _, x := range w.teams {
			var b v1alpha1.TenantBinding
			if err := cluster.Admin.Get(t.Context(), client.ObjectKey{Name: x.name}, &b); err != nil {
				return err.Error()
			}
			c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSharesHeld)
			if c == nil || c.Reason != "Held" || b.Status.EntitledBps == nil {
				return fmt.Sprintf("binding %s: %+v", x.name, c)
			}
		}
		return ""
	})
}

func deref(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// auditVerifies checks the chain of the service's audit log.
func (w *whole) auditVerifies(t *testing.T) {
	t.Helper()
	var audit struct {
		OK      bool  `json:"ok"`
		Entries int64 `json:"entries"`
	}
	w.service.Must(t, http.MethodGet, "/audit/verify", nil, &audit)
	if !audit.OK || audit.Entries == 0 {
		t.Errorf("audit log: %+v", audit)
	}
	t.Logf("the audit log of %d entries verifies", audit.Entries)
}
