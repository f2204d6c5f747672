package kubenode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/agent/pods/podsock"
	"fairlane/internal/testkit/proctest"
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
	for i := range tenants {
		status(t, create(t, "large", fmt.Sprintf("large-%d", i)), 15)
	}
	var group errgroup.Group
	group.SetLimit(8)
	for i := range spaces {
		group.Go(func() error {
			return cluster.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i), Labels: labels(fmt.Sprintf("large-%d", i%tenants))}})
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
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
	if err := kubetest.WriteKubeconfig(cluster.As(t, "fairlane-agent", node), filepath.Join(dir, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	parent, err := os.MkdirTemp("", "agent") // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	state := filepath.Join(parent, "pods") // its parent belongs to the agent alone
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
func startAgent(t *testing.T, name, more string) *proctest.Program {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "agent.yaml")
	text := fmt.Sprintf("listen: [%q]\ninsecure: true\njournal: %q\nintervals: {sweep: 1s}\n%s", proctest.FreeAddress(t), filepath.Join(dir, "journal"), more)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubenode.NewProgram(t, "fairlane-agent", dir, nil, "--config", config)
}

var memoryLine = regexp.MustCompile(`(?m)^(VmHWM|VmRSS):\s+(\d+) kB$`)

// report prints the memory of a program, and fails above the budget of its peak.
func report(t *testing.T, what string, p *proctest.Program, budget int) {
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
