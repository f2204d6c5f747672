package kubenode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/agent/pods/podsock"
	"fairlane/kube/kubetest"
	"fairlane/test/kubenode"
)

const (
	classTOS  = "106" // of bind: DSCP 26, ECN 2
	devices   = 4
	addLimit  = 5 * time.Second // of one verb of the plugin
	residents = 2
)

// exclusive starts a node whose RDMA devices move to pods, with rdma-cni and the compiled agent, and a bound namespace.
func exclusive(t *testing.T, name, tenant, subnet string) (*kubenode.Node, *kubenode.Host, string) {
	t.Helper()
	root, err := os.MkdirTemp("", "host")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	t.Setenv(kubenode.RDMARoot, root)
	kubenode.Networks(t, cluster)
	n := kubenode.Start(t, cluster, name)
	h := n.NewHost(t, root, devices)
	n.Devices(t, vfResource, h.VFs...)
	capacity(t, n, devices, vfResource)
	ns := bind(t, tenant, 571)
	n.Network(t, ns, "rdma", vfResource, subnet, map[string]any{"type": "rdma"}, plugin(n))
	serves(t, h)
	return n, h, ns
}

// serves waits until the agent answers and has the bindings.
func serves(t *testing.T, h *kubenode.Host) {
	t.Helper()
	kubetest.Eventually(t, time.Minute, func() string {
		if s, err := h.Status(t.Context()); err != nil || !s.Loaded {
			return fmt.Sprintf("status %+v, %v", s, err)
		}
		return ""
	})
}

// untouched waits until all devices are on the host, with their values from before.
func untouched(t *testing.T, h *kubenode.Host) {
	t.Helper()
	kubetest.Eventually(t, time.Minute, func() string {
		tos, onHost := h.TOS(t)
		if slices.ContainsFunc(tos, func(s string) bool { return s != "8" }) || slices.Contains(onHost, false) {
			return fmt.Sprintf("devices have %v, on the host: %v", tos, onHost)
		}
		return ""
	})
}

func TestDevicesThatMoveToPodsGetTheirClass(t *testing.T) {
	n, h, ns := exclusive(t, "node-5", "silver", "10.231.9.0/24")
	start := func(name string) *corev1.Pod {
		t.Helper()
		p, err := n.Pod(t.Context(), ns, name, onNetwork("rdma", vfResource))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	moved := func(name string) {
		t.Helper()
		r := recordOf(t, h, name)
		i := slices.Index(h.VFs, r.Device)
		tos, onHost := h.TOS(t)
		if i < 0 || r.Found.RDMA == "" || r.Found.VF == nil || *r.Found.VF != i || r.Applied.TOS == nil || tos[i] != classTOS || onHost[i] {
			t.Errorf("record %+v, values %v, on the host: %v", r, tos, onHost)
		}
	}
	first := start("first")
	n.Running(t, first, 2*time.Minute)
	moved("first")

	h.Kill() // a pod that starts without the agent gets its class when one runs; the device moves back after each attempt
	second := start("second")
	event(t, second, "agent")
	h.Start()
	n.Running(t, second, 2*time.Minute)
	moved("second")
	moved("first") // whose device the new agent has never seen on the host
	n.Delete(t, first, time.Minute)
	n.Delete(t, second, time.Minute)
	untouched(t, h)

	if err := os.WriteFile(filepath.Join(os.Getenv(kubenode.RDMARoot), "netns-mode"), []byte("shared\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	third := start("third")
	event(t, third, "expecting it to be set to exclusive") // rdma-cni's own words
	untouched(t, h)
	n.Delete(t, third, time.Minute)
}

// recordOf waits for the record of a pod, in force.
func recordOf(t *testing.T, h *kubenode.Host, pod string) (found podsock.Record) {
	t.Helper()
	kubetest.Eventually(t, time.Minute, func() string {
		all, err := h.Records(t.Context())
		if i := slices.IndexFunc(all, func(r podsock.Record) bool { return r.Pod.Name == pod && !r.Pending }); i >= 0 {
			found = all[i]
			return ""
		}
		return fmt.Sprintf("records %+v, %v", all, err)
	})
	return found
}

// TestTheAgentIsReplacedWhilePodsComeAndGo replaces the agent as a rolling update of its DaemonSet does, while some pods run and others
// start and end.
func TestTheAgentIsReplacedWhilePodsComeAndGo(t *testing.T) {
	n, h, ns := exclusive(t, "node-6", "bronze", "10.231.10.0/24")
	var running []*corev1.Pod
	held := map[string]podsock.Record{}
	for i := range residents {
		p, err := n.Pod(t.Context(), ns, fmt.Sprintf("resident-%d", i), onNetwork("rdma", vfResource))
		if err != nil {
			t.Fatal(err)
		}
		n.Running(t, p, 2*time.Minute)
		running, held[p.Name] = append(running, p), recordOf(t, h, p.Name)
	}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var gap time.Duration
	group.Go(func() { gap = watch(ctx, t, h, held) })
	const rounds = 5
	for i := range rounds {
		p, err := n.Pod(t.Context(), ns, fmt.Sprintf("short-%d", i), onNetwork("rdma", vfResource))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * 150 * time.Millisecond) // the pod is at another point of its start in each round
		h.Replace(t)
		n.Running(t, p, 2*time.Minute)
		recordOf(t, h, p.Name)
		if err := cluster.Admin.Delete(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second + time.Duration(i)*150*time.Millisecond) // of its end, which begins after the grace period of 1 s
		h.Replace(t)
		kubetest.Eventually(t, time.Minute, func() string {
			if err := cluster.Admin.Get(t.Context(), client.ObjectKeyFromObject(p), p); client.IgnoreNotFound(err) == nil && err != nil {
				return ""
			}
			return "pod " + p.Name + " is still there"
		})
	}
	serves(t, h)
	stop()
	group.Wait()
	t.Logf("%d pods came and went, with %d replacements; the longest time without an answer of an agent was %s", rounds, 2*rounds, gap.Round(time.Millisecond))
	if gap > addLimit {
		t.Errorf("no agent answered for %s, want at most %s", gap, addLimit)
	}
	for _, p := range running {
		now, before := recordOf(t, h, p.Name), held[p.Name]
		if now.Key != before.Key || now.Device != before.Device || now.Class != before.Class || now.Tenant != before.Tenant {
			t.Errorf("record %+v, before %+v", now, before)
		}
		n.Delete(t, p, time.Minute)
	}
	untouched(t, h) // the last agent restored what the first one recorded
}

// watch checks that the devices of pods keep their class until the context ends, and returns the longest time without an answer of an
// agent.
func watch(ctx context.Context, t *testing.T, h *kubenode.Host, held map[string]podsock.Record) (longest time.Duration) {
	last := time.Now()
	for ctx.Err() == nil {
		if _, err := h.Status(ctx); err == nil {
			longest, last = max(longest, time.Since(last)), time.Now()
		}
		tos, onHost := h.TOS(t)
		for name, r := range held {
			if i := slices.Index(h.VFs, r.Device); tos[i] != classTOS || onHost[i] {
				t.Errorf("the device of %s has %s, on the host: %v", name, tos[i], onHost[i])
				return longest
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return longest
}
