// Package kubenode starts a real node for tests: containerd, a kubelet and Multus on this machine, registered with the API
// server of package kubetest. Its devices are those of a fake device plugin, since no machine of a test has virtual functions.
// `make kube` builds the programs and runs the tests in a mount namespace of their own.
package kubenode

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/internal/testkit/proctest"
	"fairlane/kube/kubetest"
)

// Programs is the environment variable with the folder of the node's programs: kubelet, multus, bridge, host-local, loopback,
// rdma, fairlane-cni, fairlane-agent, and containerd, containerd-shim-runc-v2, ctr and runc of Debian. test/kube.sh sets it, and Private
// after it made a mount namespace in which the folders of a kubelet are empty.
const (
	Programs = "FAIRLANE_NODE_PROGRAMS"
	Private  = "FAIRLANE_NODE_PRIVATE"
)

// Image is the image of the sandbox and of all pods: a program that waits for a signal.
const Image = "fairlane.test/pause:1"

// Node is a running node.
type Node struct {
	Name     string
	Dir      string // of its files
	programs string
	cluster  *kubetest.Cluster
	running  []*exec.Cmd
}

// Enabled reports whether a node can run here; tests skip otherwise.
func Enabled() bool { return os.Getenv(Programs) != "" && os.Getenv(Private) != "" }

// Start starts a node and waits until it is ready. It is stopped with the test.
func Start(t testing.TB, c *kubetest.Cluster, name string) *Node {
	t.Helper()
	dir, err := os.MkdirTemp("", "node") // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{Name: name, Dir: dir, programs: os.Getenv(Programs), cluster: c}
	t.Cleanup(func() { n.stop(t) })
	for _, step := range []func(testing.TB) error{n.network, n.containerd, n.image, n.access, n.kubelet} {
		if err := step(t); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	kubetest.Eventually(t, 3*time.Minute, func() string {
		var node corev1.Node
		if err := c.Admin.Get(t.Context(), client.ObjectKey{Name: name}, &node); err != nil {
			return err.Error()
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return ""
			}
		}
		return "node is not ready"
	})
	t.Logf("node ready in %.1fs", time.Since(start).Seconds())
	return n
}

// program returns the path of a program.
func (n *Node) program(name string) string { return filepath.Join(n.programs, name) }

// path returns the path of a file of the node.
func (n *Node) path(name ...string) string {
	return filepath.Join(append([]string{n.Dir}, name...)...)
}

// start runs a program until the node stops, which is after the end of the test's context, with its output in a file.
func (n *Node) start(name string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), n.program(name), args...)
	cmd.Env = append(os.Environ(), "PATH="+n.programs+":"+os.Getenv("PATH"))
	if err := proctest.Start(cmd, n.path(name+".log")); err != nil {
		return err
	}
	n.running = append(n.running, cmd)
	return nil
}

// stop ends the node. Sandboxes that tests left are removed first.
func (n *Node) stop(t testing.TB) {
	for i := len(n.running) - 1; i >= 0; i-- {
		if i == 0 { // containerd, last
			n.removeSandboxes()
		}
		_ = n.running[i].Process.Signal(syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = n.running[i].Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			_ = n.running[i].Process.Kill()
			<-done
		}
	}
	if t.Failed() {
		n.logs(t)
	}
	_ = exec.CommandContext(context.Background(), "ip", "link", "del", bridgeName).Run()
	n.unmount()
	if err := os.RemoveAll(n.Dir); err != nil {
		t.Log(err)
	}
}

// unmount removes what ended sandboxes leave mounted below the node's folder, the last first.
func (n *Node) unmount() {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return
	}
	lines := strings.Split(string(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if fields := strings.Fields(lines[i]); len(fields) > 4 && strings.HasPrefix(fields[4], n.Dir+"/") {
			_ = syscall.Unmount(fields[4], syscall.MNT_DETACH)
		}
	}
}

// removeSandboxes ends all tasks of the runtime.
func (n *Node) removeSandboxes() {
	out, _ := n.ctr("task", "ls", "-q").Output()
	for _, id := range strings.Fields(string(out)) {
		_ = n.ctr("task", "rm", "-f", id).Run()
	}
}

func (n *Node) ctr(args ...string) *exec.Cmd {
	return exec.CommandContext(context.Background(), n.program("ctr"), append([]string{"-a", n.path("containerd.sock"), "-n", "k8s.io"}, args...)...)
}

// logs prints the ends of the logs of a failed test.
func (n *Node) logs(t testing.TB) {
	for _, name := range []string{"containerd", "kubelet", "agent"} {
		text, err := os.ReadFile(n.path(name + ".log"))
		if err == nil {
			t.Logf("%s: …%s", name, text[max(0, len(text)-6000):])
		}
	}
}

// containerd starts the runtime.
func (n *Node) containerd(t testing.TB) error {
	config := fmt.Sprintf(`version = 2
root = %q
state = %q
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = %q
`, n.path("lib"), n.path("run"), n.path("containerd.sock"), Image, n.programs, n.path("net.d"), n.program("runc"))
	if err := os.WriteFile(n.path("containerd.toml"), []byte(config), 0o600); err != nil {
		return err
	}
	if err := n.start("containerd", "--config", n.path("containerd.toml")); err != nil {
		return err
	}
	kubetest.Eventually(t, time.Minute, func() string {
		c, err := new(net.Dialer).DialContext(t.Context(), "unix", n.path("containerd.sock"))
		if err != nil {
			return err.Error()
		}
		_ = c.Close()
		return ""
	})
	return nil
}

// access gives the kubelet the rights of a node, and writes its configuration for the API server.
func (n *Node) access(t testing.TB) error {
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "nodes"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:nodes"}}}
	if err := client.IgnoreAlreadyExists(n.cluster.Admin.Create(t.Context(), binding)); err != nil {
		return err
	}
	return kubetest.WriteKubeconfig(n.cluster.User(t, "system:node:"+n.Name, "system:nodes"), n.path("kubeconfig"))
}

// kubelet starts the kubelet.
func (n *Node) kubelet(testing.TB) error {
	config := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"containerRuntimeEndpoint": "unix://" + n.path("containerd.sock"),
		"cgroupDriver":             "cgroupfs", "cgroupsPerQOS": false, "enforceNodeAllocatable": []string{}, "failSwapOn": false, "failCgroupV1": false,
		"authentication": map[string]any{"anonymous": map[string]any{"enabled": true}, "webhook": map[string]any{"enabled": false}},
		"authorization":  map[string]any{"mode": "AlwaysAllow"},
		"address":        "127.0.0.1", "healthzPort": 0, "readOnlyPort": 0,
		"evictionHard":                map[string]string{"memory.available": "1Mi", "nodefs.available": "0.1%", "imagefs.available": "0.1%", "nodefs.inodesFree": "0.1%"},
		"imageGCHighThresholdPercent": 100, "nodeStatusUpdateFrequency": "5s", "syncFrequency": "10s", "maxPods": 110,
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	if err := os.WriteFile(n.path("kubelet.json"), text, 0o600); err != nil {
		return err
	}
	return n.start("kubelet", "--config", n.path("kubelet.json"), "--kubeconfig", n.path("kubeconfig"), "--hostname-override", n.Name, "--cert-dir", n.path("pki"), "-v", "1")
}

// RestartKubelet kills the kubelet, and starts it again.
func (n *Node) RestartKubelet(t testing.TB) {
	t.Helper()
	last := n.running[len(n.running)-1]
	_ = last.Process.Kill()
	_ = last.Wait()
	n.running = n.running[:len(n.running)-1]
	if err := n.kubelet(t); err != nil {
		t.Fatal(err)
	}
}

// Pod creates a pod on the node that waits, with what edit adds.
func (n *Node) Pod(ctx context.Context, namespace, name string, edit func(*corev1.Pod)) (*corev1.Pod, error) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		NodeName: n.Name, AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(1)), EnableServiceLinks: new(false),
		Containers:  []corev1.Container{{Name: "main", Image: Image, ImagePullPolicy: corev1.PullNever}},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}}
	if edit != nil {
		edit(p)
	}
	return p, n.cluster.Admin.Create(ctx, p)
}

// Running waits until a pod runs.
func (n *Node) Running(t testing.TB, p *corev1.Pod, most time.Duration) {
	t.Helper()
	kubetest.Eventually(t, most, func() string {
		if err := n.cluster.Admin.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
			return err.Error()
		}
		if p.Status.Phase == corev1.PodRunning {
			return ""
		}
		return fmt.Sprintf("pod %s/%s is %s", p.Namespace, p.Name, p.Status.Phase)
	})
}

// Delete deletes a pod and waits until the kubelet has removed it.
func (n *Node) Delete(t testing.TB, p *corev1.Pod, most time.Duration) {
	t.Helper()
	if err := n.cluster.Admin.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, most, func() string {
		err := n.cluster.Admin.Get(t.Context(), client.ObjectKeyFromObject(p), &corev1.Pod{})
		if client.IgnoreNotFound(err) == nil && err != nil {
			return ""
		}
		return fmt.Sprintf("pod %s/%s is still there (%v)", p.Namespace, p.Name, err)
	})
}
