package kubenode

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fairlane/agent/pods/podsock"
	"fairlane/internal/testkit/proctest"
	"fairlane/kube/kubetest"
)

// RDMARoot is the environment variable by which rdma-cni, as test/kube.sh builds it, finds the tree of a Host.
const RDMARoot = "FAIRLANE_TEST_RDMA"

const hostPF = "0000:3b:00.0"

// Host is the tree of a host's files with one card, whose functions have RDMA devices that move to the network namespaces of pods
// (mode exclusive), and the compiled agent on it. The kernel of a test has no RDMA device; everything else is real.
type Host struct {
	*proctest.Program

	VFs  []string // PCI addresses
	root string
	node *Node
}

// NewHost writes the tree and starts the agent with the rights of deploy/kubernetes. The environment must have RDMARoot
// when the runtime starts.
func (n *Node) NewHost(t testing.TB, root string, vfs int) *Host {
	t.Helper()
	h := &Host{root: root, node: n}
	files := map[string]string{"proc/sys/kernel/random/boot_id": "3f1a1e9c-8d6b-4f43-9a0e-0c7a0f3f6a11", "netns-mode": "exclusive", "sys/class/net/lo/ifindex": "1"}
	links := map[string]string{"run/netns": "/run/netns", "var/lib/cni/rdma": "/var/lib/cni/rdma"}
	device := func(pci, rdma string, number int) string {
		dir := "sys/devices/pci0000:3a/" + pci
		files[dir+"/uevent"] = "DRIVER=mlx5_core\nPCI_SLOT_NAME=" + pci
		files[dir+"/infiniband/"+rdma+"/node_guid"] = fmt.Sprintf("b859:9f03:0000:%04x", number)
		files[dir+"/infiniband/"+rdma+"/ports/1/link_layer"] = "Ethernet"
		links["sys/bus/pci/devices/"+pci] = dir
		links["sys/class/infiniband/"+rdma] = dir + "/infiniband/" + rdma
		links[dir+"/infiniband/"+rdma+"/device"] = dir
		return dir
	}
	pf := device(hostPF, "mlx5_0", 1)
	files[pf+"/sriov_numvfs"], files[pf+"/net/eth2/phys_port_name"], files[pf+"/net/eth2/speed"] = fmt.Sprint(vfs), "p0", "100000"
	links["sys/class/net/eth2"], links[pf+"/net/eth2/device"] = pf+"/net/eth2", pf
	for i := range vfs {
		pci := fmt.Sprintf("0000:3b:01.%d", i)
		dir := device(pci, h.rdma(i), 0x101+i)
		links[dir+"/physfn"], links[fmt.Sprintf("%s/virtfn%d", pf, i)] = pf, dir
		files[h.tosFile(i)] = "8"
		h.VFs = append(h.VFs, pci)
	}
	var own syscall.Stat_t
	if err := syscall.Stat("/proc/self/ns/net", &own); err != nil {
		t.Fatal(err)
	}
	files["host-netns"] = fmt.Sprint(own.Ino)
	for name, text := range files {
		write(t, filepath.Join(root, name), text+"\n")
	}
	for from, to := range links {
		at := filepath.Join(root, from)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(to, "/") {
			to = strings.Repeat("../", strings.Count(from, "/")) + to
		}
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := n.path("agent-kubeconfig")
	if err := kubetest.WriteKubeconfig(n.cluster.As(t, "fairlane-agent", n.Name), kubeconfig); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(n.path("agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, n.path("agent.yaml"), fmt.Sprintf("root: %s\njournal: %s\nback_ends: [configfs]\nlisten: []\nintervals: {sweep: 200ms}\npods: {socket: %s, state: %s, kubeconfig: %s, node: %s}\n",
		root, n.path("agent", "journal"), n.Socket(), n.path("agent"), kubeconfig, n.Name))
	h.Program = proctest.New(t, n.path("agent.log"), func() *exec.Cmd {
		return exec.CommandContext(context.Background(), n.program("fairlane-agent"), "--config", n.path("agent.yaml"))
	})
	return h
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (h *Host) rdma(i int) string { return fmt.Sprintf("mlx5_%d", i+2) }

func (h *Host) tosFile(i int) string {
	return "sys/kernel/config/rdma_cm/" + h.rdma(i) + "/ports/1/default_roce_tos"
}

// TOS returns the type of service of each function's device, and whether the host sees the device.
func (h *Host) TOS(t testing.TB) (tos []string, onHost []bool) {
	t.Helper()
	for i := range h.VFs {
		text, err := os.ReadFile(filepath.Join(h.root, h.tosFile(i)))
		if err != nil {
			t.Error(err) // which goroutines of a test may call
		}
		_, err = os.Lstat(filepath.Join(h.root, "sys/class/infiniband", h.rdma(i)))
		tos, onHost = append(tos, strings.TrimSpace(string(text))), append(onHost, err == nil)
	}
	return tos, onHost
}

// Replace ends the agent as the kubelet does in a rolling update, and starts the next when it has ended.
func (h *Host) Replace(t testing.TB) {
	t.Helper()
	if err := h.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status, err := h.Wait(); err != nil || status.ExitStatus() != 0 {
		t.Fatalf("the agent ended with %v, %v", status, err)
	}
	h.Start()
}

// Records returns the records of the running agent.
func (h *Host) Records(ctx context.Context) ([]podsock.Record, error) {
	return podsock.NewClient(h.node.Socket()).List(ctx, false)
}

// Status returns the status of the running agent.
func (h *Host) Status(ctx context.Context) (*podsock.Status, error) {
	return podsock.NewClient(h.node.Socket()).Status(ctx)
}
