package kubenode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/agent/pods/podsock"
	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
	"fairlane/test/kubenode"
)

// Budgets of the agent's resident memory at its peak, in KB.
const (
	bareMemory  = 40 << 10
	boundMemory = 70 << 10
)

// fill creates bound namespaces, with a binding for each tenant.
func fill(t *testing.T, spaces, tenants int) {
	t.Helper()
	ctx := t.Context()
	for i := range tenants {
		name := fmt.Sprintf("large-%d", i)
		b := &v1alpha1.TenantBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TenantBindingSpec{
			Fabric: "large", Tenant: name, CachedFor: metav1.Duration{Duration: time.Hour}, NamespaceSelector: v1alpha1.NamespaceSelector{MatchLabels: map[string]string{v1alpha1.LabelPrefix + "large": name}},
		}}
		create(t, b)
		b.Status = v1alpha1.TenantBindingStatus{Weight: "1", Classes: []v1alpha1.BindingClass{{Name: "default", Weight: "1", ShareOf1000: new(int32(15)), DSCP: new(int32(26))}}}
		if err := cluster.Admin.Status().Update(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	errs := make(chan error, spaces)
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < spaces; i += 8 {
				errs <- cluster.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("large-%d", i), Labels: map[string]string{v1alpha1.LabelPrefix + "large": fmt.Sprintf("large-%d", i%tenants)},
				}})
			}
		})
	}
	group.Wait()
	for range spaces {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheAgentOfALargeClusterStaysSmall measures the memory of fairlane-agent on a host without a cluster, and on a node with 200
// pods of a cluster with 2,000 bound namespaces, two for each of 1,000 nodes, of 64 tenants.
func TestTheAgentOfALargeClusterStaysSmall(t *testing.T) {
	const pods, spaces, tenants, node = 200, 2000, 64, "node-7"
	bare := startAgent(t, "bare", "")
	time.Sleep(3 * time.Second) // its first sweeps
	report(t, "without a cluster", bare, bareMemory)
	bare.Kill()

	fill(t, spaces, tenants)
	ctx := t.Context()
	dir := t.TempDir()
	if err := kubenode.Kubeconfig(cluster.As(t, "fairlane-agent", node), filepath.Join(dir, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	state, err := os.MkdirTemp("", "agent") // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	parent := state
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	state = filepath.Join(state, "pods") // its parent belongs to the agent alone
	socket := filepath.Join(state, "pods.sock")
	bound := startAgent(t, "bound", fmt.Sprintf("pods: {socket: %q, state: %q, kubeconfig: %q, node: %q}\n", socket, state, filepath.Join(dir, "kubeconfig"), node))
	c := podsock.NewClient(socket)
	for i := range pods {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("large-%d", i), Name: "worker"}, Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "main", Image: kubenode.Image}}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		}}
		if err := cluster.Admin.Create(ctx, p); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cluster.Admin.Delete(context.Background(), p, client.GracePeriodSeconds(0)) })
		kubetest.Eventually(t, time.Minute, func() string {
			_, err := c.Attach(ctx, &podsock.Attachment{
				Key:   podsock.Key{Network: "rdma", ContainerID: fmt.Sprintf("c%d", i), Interface: "net1"},
				NetNS: "/proc/1/ns/net", Pod: podsock.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)},
			})
			if err != nil {
				return err.Error()
			}
			return ""
		})
	}
	kubetest.Eventually(t, 2*time.Minute, func() string {
		var all v1alpha1.FabricAttachmentList
		if err := cluster.Admin.List(ctx, &all, client.MatchingLabels{v1alpha1.NodeLabel: node}); err != nil {
			return err.Error()
		}
		if len(all.Items) != pods {
			return fmt.Sprintf("%d attachments, want %d", len(all.Items), pods)
		}
		return ""
	})
	time.Sleep(3 * time.Second)
	report(t, fmt.Sprintf("%d pods, %d namespaces", pods, spaces), bound, boundMemory)
}

// startAgent starts fairlane-agent with further lines of its configuration.
func startAgent(t *testing.T, name, more string) *kubenode.Program {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "agent.yaml")
	text := fmt.Sprintf("listen: [%q]\ninsecure: true\njournal: %q\nintervals: {sweep: 1s}\n%s", kubenode.FreeAddress(t), filepath.Join(dir, "journal"), more)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubenode.NewProgram(t, "fairlane-agent", filepath.Join(dir), nil, "--config", config)
}

var memoryLine = regexp.MustCompile(`(?m)^(VmHWM|VmRSS):\s+(\d+) kB$`)

// report prints the memory of a program, and fails above the budget of its peak.
func report(t *testing.T, what string, p *kubenode.Program, budget int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, m := range memoryLine.FindAllSubmatch(text, -1) {
		if got[string(m[1])], err = strconv.Atoi(string(m[2])); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("fairlane-agent, %s: resident %.1f MB, at most %.1f MB", what, float64(got["VmRSS"])/1024, float64(got["VmHWM"])/1024)
	if got["VmHWM"] == 0 || got["VmHWM"] >= budget {
		t.Errorf("%s: at most %d KB resident, want less than %d KB", what, got["VmHWM"], budget)
	}
}
