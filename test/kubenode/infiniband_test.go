package kubenode_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
	"fairlane/test/kubenode"
)

// subnetOfHosts is an InfiniBand fabric. No subnet manager runs, so the traffic has the service levels that the plan chooses, by name.
const subnetOfHosts = `name: ib
fabric: {topology: star, hosts: 4, rate: 100Gbit/s, delay: 1us}
tenants:
  - {name: azure, weight: 1, pkey: "0x8001"}
  - {name: cobalt, weight: 3, pkey: "0x8002"}
flows:
  - {tenant: azure, src: h1, dst: h4, sl: 1}
  - {tenant: cobalt, src: h2, dst: h4, sl: 2}
`

// startSubnet starts the fabric and a service whose plan for two tenants is in force.
func startSubnet(t *testing.T) *kubenode.Service {
	t.Helper()
	ctx := t.Context()
	dir := t.TempDir()
	scenario := filepath.Join(dir, "ib.yaml")
	if err := os.WriteFile(scenario, []byte(subnetOfHosts), 0o600); err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("unix:fairlane-kubenode-%d", os.Getpid())
	kubenode.NewProgram(t, "fairlane", dir, nil, "sim", "serve", scenario, "--addr", address, "--time-scale", "0.01")
	s := kubenode.NewService(t)
	s.Must(t, http.MethodPost, "/fabrics", kubenode.Object{"name": "ib", "source": "ibsim:" + address, "time_scale": 0.01}, nil)
	kubetest.Eventually(t, time.Minute, func() string {
		if err := s.Call(ctx, http.MethodPost, "/fabrics/ib/discover", nil, nil); err != nil {
			return err.Error()
		}
		return ""
	})
	at := func(ports ...string) (out []kubenode.Object) {
		for _, p := range ports {
			out = append(out, kubenode.Object{"port": p})
		}
		return out
	}
	s.Must(t, http.MethodPut, "/fabrics/ib/tenants", kubenode.Object{
		"tenants": []kubenode.Object{
			{"name": "azure", "weight": 1, "pkey": "0x8001", "attachments": at("h1", "h4")},
			{"name": "cobalt", "weight": 3, "pkey": "0x8002", "cap_bps": 50e9, "attachments": at("h2", "h4")},
		},
		"flows": []kubenode.Object{{"tenant": "azure", "src": "h1", "dst": "h4"}, {"tenant": "cobalt", "src": "h2", "dst": "h4"}},
	}, nil)
	s.RollOut(t, "ib")
	return s
}

// TestAPodOnInfiniBandGetsItsServiceLevel joins the parts on InfiniBand, where nothing can be set on the device of a pod: the service
// level of the tenant reaches the containers as variables, and the attachment of the pod as a figure of the plan.
func TestAPodOnInfiniBandGetsItsServiceLevel(t *testing.T) {
	ctx := t.Context()
	s := startSubnet(t)
	_, port := kubenode.NewController(t, cluster, s, "ib")
	webhook(t, port)
	card := kubenode.NewCard("h3:1", 100_000, "0000:d8:01.0")
	card.Link = "InfiniBand"
	kubenode.Networks(t, cluster)
	n := kubenode.Start(t, cluster, "node-6")
	agent := n.Agent(t, card)
	n.Devices(t, vfResource, card.VFs...)
	capacity(t, n, 1, vfResource)
	ns := cluster.Namespace(t, "cobalt", labels("cobalt"))
	n.Network(t, ns, "rdma", vfResource, "10.231.60.0/24", plugin(n))
	b := create(t, "ib", "cobalt")
	kubetest.Eventually(t, time.Minute, func() string {
		if err := cluster.Admin.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err.Error()
		}
		if len(b.Status.Classes) != 1 || b.Status.Classes[0].SL == nil || *b.Status.Classes[0].SL != 2 {
			return fmt.Sprintf("status %+v", b.Status)
		}
		return ""
	})
	const want = "NCCL_IB_SL=2 UCX_IB_SL=2 NVSHMEM_IB_SL=2 EP_OVERRIDE_RDMA_SL=2 MC_IB_SL=2"
	var p *corev1.Pod
	kubetest.Eventually(t, 2*time.Minute, func() string { // the webhook's configuration reaches the API server's cache
		var err error
		if p, err = n.Pod(ctx, ns, "rank-0", onNetwork("rdma", vfResource)); err != nil {
			return err.Error()
		}
		var all []string
		for _, e := range p.Spec.Containers[0].Env {
			all = append(all, e.Name+"="+e.Value)
		}
		if got := strings.Join(all, " "); got != want {
			n.Delete(t, p, time.Minute)
			return "environment: " + got
		}
		return ""
	})
	n.Running(t, p, 2*time.Minute)
	r := agent.Record(t, ns, "rank-0")
	if r.Tenant != "cobalt" || r.Pending || !strings.Contains(r.Missing, "no rates on InfiniBand") {
		t.Errorf("record %+v", r)
	}
	// The pod's port is new: the controller reports it, and its rollout brings it into the plan.
	kubetest.Eventually(t, 2*time.Minute, func() string {
		var all v1alpha1.FabricAttachmentList
		if err := cluster.Admin.List(ctx, &all, client.InNamespace(ns)); err != nil {
			return err.Error()
		}
		if len(all.Items) != 1 {
			return fmt.Sprintf("%d attachments", len(all.Items))
		}
		a := &all.Items[0].Status
		if a.Planned == nil || a.Planned.SL == nil || *a.Planned.SL != 2 || a.Planned.ShareOf1000 != nil || a.Applied != nil || !strings.Contains(a.Reason, "no rates on InfiniBand") {
			_ = cluster.Admin.Get(ctx, client.ObjectKeyFromObject(b), b)
			return fmt.Sprintf("attachment %+v, binding %+v", a, b.Status.Conditions)
		}
		return ""
	})
}

// webhook makes the API server call the webhook on a port of this machine, by the name in its certificate: test/kube.sh gives that
// name the loopback address.
func webhook(t *testing.T, port string) {
	t.Helper()
	objects, err := kubetest.Objects("webhook.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Admin.Create(t.Context(), objects[0]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Admin.Delete(context.Background(), objects[0]) })
	var w admissionv1.MutatingWebhookConfiguration
	kubetest.Eventually(t, 3*time.Minute, func() string { // the controller writes its certificate within a minute
		if err := cluster.Admin.Get(t.Context(), client.ObjectKey{Name: objects[0].GetName()}, &w); err != nil {
			return err.Error()
		}
		if len(w.Webhooks[0].ClientConfig.CABundle) == 0 {
			return "no certificate yet"
		}
		before := w.DeepCopy()
		w.Webhooks[0].ClientConfig.Service = nil
		w.Webhooks[0].ClientConfig.URL = new("https://fairlane-kube.fairlane-system.svc:" + port + "/pods")
		if err := cluster.Admin.Patch(t.Context(), &w, client.MergeFrom(before)); err != nil {
			return err.Error()
		}
		return ""
	})
}
