package cni_test

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/agent/pods/podsock"
	"fairlane/internal/testkit/filetest"
	"fairlane/internal/testkit/peertest"
)

// The tests of this file run real chains: cnitool and the reference plugins of the CNI project, the built plugin, and the
// built agent on a fake tree of devices, in real network namespaces.

// build builds a program of the repository, once for all tests.
var build = func() func(testing.TB, string) string {
	var mu sync.Mutex
	built := map[string]string{}
	return func(t testing.TB, name string) string {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if built[name] == "" {
			path := filepath.Join(buildDir, name)
			if out, err := exec.Command("go", "build", "-trimpath", "-o", path, "fairlane/cmd/"+name).CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			built[name] = path
		}
		return built[name]
	}
}()

// buildDir holds the built programs.
var buildDir string

func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "fairlane-build"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(buildDir)
		os.Exit(code)
	}))
}

// node is a node with an agent, plugins and a network.
type node struct {
	t      testing.TB
	number int // of the node in this process
	dir    string
	root   string // of the agent's files
	bin    string // of plugins
	net    string // name of the network, and of its bridge
	socket string
	config string
	pid    int // of the agent
	stop   func()
}

const (
	nodePF = "sys/devices/pci0000:3a/0000:3b:00.0"
	nodeVF = "0000:3b:01.0"
	tosOf  = "sys/kernel/config/rdma_cm/mlx5_2/ports/1/default_roce_tos"
)

var (
	nodes   int
	nodesMu sync.Mutex
)

// newNode makes a node whose agent does not run yet.
func newNode(t testing.TB) *node {
	t.Helper()
	peertest.Superuser(t)
	ip := peertest.Program(t, "ip")
	tools := filepath.Join(peertest.Root(t), "bin", "cni")
	if _, err := os.Stat(filepath.Join(tools, "cnitool")); err != nil {
		peertest.Missing(t, "bin/cni has no cnitool: make peers builds it")
	}
	if out, err := exec.Command(ip, "netns", "list").CombinedOutput(); err != nil {
		peertest.Missing(t, fmt.Sprintf("no network namespaces: %v: %s", err, out))
	}
	nodesMu.Lock()
	nodes++
	number := nodes
	nodesMu.Unlock()
	name := fmt.Sprintf("fl%d-%d", os.Getpid()%100000, number)
	d := filetest.ShortDir(t)
	n := &node{t: t, number: number, dir: d, root: filepath.Join(d, "root"), bin: filepath.Join(d, "bin"), net: name, socket: filepath.Join(d, "pods.sock"), config: filepath.Join(d, "agent.yaml"), stop: func() {}}
	for _, plugin := range []string{"bridge", "host-local", "loopback"} {
		n.link(filepath.Join(tools, plugin), filepath.Join(n.bin, plugin))
	}
	n.link(build(t, "fairlane-cni"), filepath.Join(n.bin, "fairlane-cni"))
	n.devices()
	n.write(n.config, fmt.Sprintf("root: %s\njournal: %s/journal\nback_ends: [configfs]\ninsecure: true\nlisten: [127.0.0.1:0]\nintervals: {sweep: 200ms}\n"+
		"pods: {socket: %s, state: %s/pods, bindings: %s/bindings.yaml}\n", n.root, d, n.socket, d, d))
	n.bind("tos: 104")
	n.list("1.1.0", "")
	t.Cleanup(func() {
		n.stop()
		_ = exec.Command(ip, "link", "del", name).Run()                   // the bridge, if a chain made it
		cached, _ := filepath.Glob("/var/lib/cni/results/" + name + "-*") // of cnitool; a failed test leaves some
		for _, path := range append(cached, "/var/lib/cni/networks/"+name) {
			_ = os.RemoveAll(path)
		}
	})
	return n
}

func (n *node) link(to, from string) {
	n.t.Helper()
	if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Symlink(to, from); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) write(path, text string) {
	n.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// devices writes the agent's tree: a card with a virtual function that has an RDMA device, as the kernel presents them.
func (n *node) devices() {
	vf := "sys/devices/pci0000:3a/" + nodeVF
	for name, text := range map[string]string{
		"proc/sys/kernel/random/boot_id": "3f1a1e9c-8d6b-4f43-9a0e-0c7a0f3f6a11", nodePF + "/uevent": "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:3b:00.0", nodePF + "/sriov_numvfs": "1",
		nodePF + "/net/ens1f0np0/phys_port_name": "p0", nodePF + "/net/ens1f0np0/speed": "200000", nodePF + "/infiniband/mlx5_0/node_guid": "b859:9f03:0000:0001",
		nodePF + "/infiniband/mlx5_0/ports/1/link_layer": "Ethernet", vf + "/uevent": "DRIVER=mlx5_core\nPCI_SLOT_NAME=" + nodeVF, vf + "/infiniband/mlx5_2/node_guid": "b859:9f03:0000:0101",
		vf + "/infiniband/mlx5_2/ports/1/link_layer": "Ethernet", tosOf: "8", "sys/class/net/lo/ifindex": "1",
	} {
		n.write(filepath.Join(n.root, name), text+"\n")
	}
	up := func(name string) string { return strings.Repeat("../", strings.Count(name, "/")) }
	for from, to := range map[string]string{
		"sys/bus/pci/devices/0000:3b:00.0": nodePF, "sys/bus/pci/devices/" + nodeVF: vf, nodePF + "/virtfn0": vf, vf + "/physfn": nodePF,
		"sys/class/net/ens1f0np0": nodePF + "/net/ens1f0np0", nodePF + "/net/ens1f0np0/device": nodePF, "sys/class/infiniband/mlx5_0": nodePF + "/infiniband/mlx5_0",
		nodePF + "/infiniband/mlx5_0/device": nodePF, "sys/class/infiniband/mlx5_2": vf + "/infiniband/mlx5_2", vf + "/infiniband/mlx5_2/device": vf,
	} {
		n.link(up(from)+to, filepath.Join(n.root, from))
	}
	n.link("/run/netns", filepath.Join(n.root, "run/netns")) // network namespaces are real
}

// bind writes the binding of the namespace team-a.
func (n *node) bind(levers string) {
	n.write(filepath.Join(n.dir, "bindings.yaml"), "bindings:\n  - {namespace: team-a, tenant: gold, class: bulk, levers: {"+levers+"}}\n")
}

// list writes the configuration list: bridge with host-local, and the plugin; more are further members of the plugin.
func (n *node) list(version, more string) {
	n.t.Helper()
	n.write(filepath.Join(n.dir, "net.d", "10-net.conflist"), fmt.Sprintf(`{"cniVersion":%q,"name":%q,"plugins":[
		{"type":"bridge","bridge":%q,"ipam":{"type":"host-local","subnet":"10.99.%d.0/24"},"deviceID":%q},
		{"type":"fairlane-cni","capabilities":{"deviceID":true,"infinibandGUID":true},"socket":%q,"spool":%q,"deviceID":%q,%s "args":{"cni":{"tenant":"forged","tos":200}}}]}`,
		version, n.net, n.net, n.number%250, nodeVF, n.socket, filepath.Join(n.dir, "pods", "spool"), nodeVF, more))
}

// start starts the agent and waits for its socket.
func (n *node) start() {
	n.t.Helper()
	cmd := exec.Command(build(n.t, "fairlane-agent"), "--config", n.config)
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.pid = cmd.Process.Pid
	n.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if n.t.Failed() {
			n.t.Logf("agent:\n%s", out.String())
		}
	})
	n.until("the agent serves", func() bool {
		s, err := n.client().Status(context.Background())
		return err == nil && s.Loaded
	})
}

func (n *node) client() *podsock.Client { return podsock.NewClient(n.socket) }

// until waits for a condition.
func (n *node) until(what string, done func() bool) {
	n.t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			n.stop()
			n.t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// netns makes a network namespace, which stands for a pod, and returns its path.
func (n *node) netns(name string) string {
	n.t.Helper()
	full := n.net + name
	if out, err := exec.Command("ip", "netns", "add", full).CombinedOutput(); err != nil {
		n.t.Fatalf("ip netns add: %v: %s", err, out)
	}
	n.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", full).Run() }) // a test may have done so
	return "/run/netns/" + full
}

// end deletes the network namespace of a pod.
func (n *node) end(netns string) {
	n.t.Helper()
	if out, err := exec.Command("ip", "netns", "del", filepath.Base(netns)).CombinedOutput(); err != nil {
		n.t.Fatalf("ip netns del: %v: %s", err, out)
	}
}

// containerID returns the container that cnitool makes of a network namespace.
func containerID(netns string) string {
	sum := sha512.Sum512([]byte(netns))
	return fmt.Sprintf("cnitool-%x", sum[:10])
}

// tool runs cnitool and returns its result, or the error that it printed.
func (n *node) tool(verb, netns string, env ...string) (string, error) {
	n.t.Helper()
	cmd := exec.Command(filepath.Join(peertest.Root(n.t), "bin", "cni", "cnitool"), verb, n.net, netns)
	cmd.Env = append(os.Environ(), append([]string{"CNI_PATH=" + n.bin, "NETCONFPATH=" + filepath.Join(n.dir, "net.d"), "CNI_IFNAME=net1", "CNI_ARGS=" + podEnv}, env...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%w: %s", err, stderr.String()+stdout.String())
	}
	return stdout.String(), nil
}

// plugin runs the plugin as a runtime does, without the rest of a chain, and returns what it printed; more are further members of
// its configuration.
func (n *node) plugin(command, more string) (stdout string, state *os.ProcessState, err error) {
	cmd := exec.Command(filepath.Join(n.bin, "fairlane-cni"))
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command, "CNI_CONTAINERID=c1", "CNI_IFNAME=net1", "CNI_NETNS=/run/netns/"+n.net, "CNI_PATH="+n.bin, "CNI_ARGS="+podEnv)
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"cniVersion":"1.1.0","name":%q,"type":"fairlane-cni","socket":%q,"spool":%q,"deviceID":%q%s}`, n.net, n.socket, filepath.Join(n.dir, "pods/spool"), nodeVF, more))
	out, err := cmd.Output()
	return string(out), cmd.ProcessState, err
}

// ok runs cnitool, and fails the test with its error.
func (n *node) ok(verb, netns string, env ...string) string {
	n.t.Helper()
	out, err := n.tool(verb, netns, env...)
	if err != nil {
		n.stop()
		n.t.Fatalf("%s: %v", verb, err)
	}
	return out
}

// tos returns the type of service of the device.
func (n *node) tos() string {
	n.t.Helper()
	b, err := os.ReadFile(filepath.Join(n.root, tosOf))
	if err != nil {
		n.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// records returns the agent's records.
func (n *node) records() []podsock.Record {
	n.t.Helper()
	all, err := n.client().List(context.Background(), false)
	if err != nil {
		n.t.Fatal(err)
	}
	return all
}

// leases returns the number of addresses that host-local holds.
func (n *node) leases() int {
	found, err := filepath.Glob("/var/lib/cni/networks/" + n.net + "/10.*")
	if err != nil {
		n.t.Fatal(err)
	}
	return len(found)
}

func TestAChainInEveryVersion(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.start()
	for _, version := range []string{"0.4.0", "1.0.0", "1.1.0"} {
		n.list(version, "")
		pod := n.netns("a")
		out := n.ok("add", pod)
		var result struct {
			CNIVersion string
			Interfaces []struct{ Name string }
			IPs        []struct{ Address string }
		}
		if err := json.Unmarshal([]byte(out), &result); err != nil || result.CNIVersion != version || len(result.Interfaces) != 3 || len(result.IPs) != 1 {
			t.Errorf("%s: result %s, %v", version, out, err)
		}
		all := n.records()
		if n.tos() != "104" || len(all) != 1 || all[0].Tenant != "gold" || all[0].Found.RDMA != "mlx5_2" || all[0].Pod.Name != "job-0" || all[0].ContainerID != containerID(pod) || *all[0].Before.TOS != 8 {
			t.Errorf("%s: tos %s, %+v", version, n.tos(), all)
		}
		n.ok("check", pod)
		n.write(filepath.Join(n.root, tosOf), "32\n")
		if _, err := n.tool("check", pod); err == nil || !strings.Contains(err.Error(), "found tos 32, want tos 104") {
			t.Errorf("%s: CHECK of a drifted device: %v", version, err)
		}
		for range 3 { // as container runtimes do
			n.ok("del", pod)
		}
		if n.tos() != "8" || len(n.records()) != 0 || n.leases() != 0 {
			t.Errorf("%s: after DEL: tos %s, %+v, %d addresses", version, n.tos(), n.records(), n.leases())
		}
		n.end(pod)
	}
	if out, err := n.tool("status", n.netns("s")); err != nil {
		t.Errorf("STATUS: %v, %s", err, out)
	}
}

func TestAPodInANamespaceThatIsNotBound(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.start()
	pod := n.netns("a")
	n.ok("add", pod, "CNI_ARGS="+strings.Replace(podEnv, "team-a", "team-b", 1))
	if all := n.records(); n.tos() != "8" || len(all) != 1 || all[0].Tenant != "" {
		t.Errorf("tos %s, %+v", n.tos(), all)
	}
	n.ok("del", pod)
	if _, err := n.tool("add", pod, "CNI_ARGS=IgnoreUnknown=1;TENANT=gold"); err == nil || !strings.Contains(err.Error(), "K8S_POD_NAMESPACE") {
		t.Errorf("no namespace: %v", err)
	}
	n.ok("del", pod)
	if n.leases() != 0 {
		t.Errorf("%d addresses", n.leases())
	}
}

func TestWithoutAnAgentAClosedNetworkWaitsAndAnOpenOneStarts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	pod := n.netns("a")
	if _, err := n.tool("add", pod); err == nil || !strings.Contains(err.Error(), "host agent not reachable") {
		t.Errorf("closed: %v", err)
	}
	n.ok("del", pod) // runtimes do this after a failed ADD; the plugins before release what they made
	if n.leases() != 0 {
		t.Errorf("%d addresses after a failed ADD and DEL", n.leases())
	}
	if _, err := n.tool("status", pod); err == nil {
		t.Error("STATUS succeeds without an agent")
	}
	n.start()
	n.ok("add", pod)
	n.ok("del", pod)
	n.stop()
	n.list("1.1.0", `"failPolicy":"open",`)
	n.ok("add", pod)
	if n.tos() != "8" {
		t.Error(n.tos())
	}
	n.start()
	n.until("the kept attachment is applied", func() bool { return n.tos() == "104" })
	n.ok("check", pod)
	// A DEL without the agent is kept, and executed once it runs.
	n.stop()
	n.ok("del", pod)
	if n.tos() != "104" || n.leases() != 0 {
		t.Errorf("tos %s, %d addresses", n.tos(), n.leases())
	}
	n.start()
	n.until("the kept release is executed", func() bool { return n.tos() == "8" && len(n.records()) == 0 })
}

func TestAnAgentThatIsKilledKeepsItsRecords(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.start()
	pod := n.netns("a")
	n.ok("add", pod)
	before := n.records()
	n.stop() // SIGKILL
	n.start()
	if after := n.records(); len(after) != 1 || after[0].Key != before[0].Key || *after[0].Before.TOS != 8 {
		t.Errorf("%+v, was %+v", after, before)
	}
	n.ok("check", pod)
	// The namespace is bound again while the pod runs.
	n.bind("tos: 96")
	n.until("the new class is applied", func() bool { return n.tos() == "96" })
	n.until("CHECK succeeds", func() bool { _, err := n.tool("check", pod); return err == nil })
	n.ok("del", pod)
	if n.tos() != "8" {
		t.Error(n.tos())
	}
}

func TestADeviceOfAnEndedPodIsTakenOver(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.start()
	first, second := n.netns("a"), n.netns("b")
	n.ok("add", first)
	if _, err := n.tool("add", second); err == nil || !strings.Contains(err.Error(), "found in use by pod team-a/job-0") {
		t.Errorf("%v", err)
	}
	n.ok("del", second)
	if n.tos() != "104" {
		t.Error("the DEL of a refused pod released the device of another")
	}
	n.end(first)
	n.ok("add", second)
	if all := n.records(); len(all) != 1 || all[0].ContainerID != containerID(second) {
		t.Errorf("%+v", all)
	}
	n.ok("del", second)
	n.ok("del", first)
	if n.tos() != "8" || len(n.records()) != 0 {
		t.Errorf("tos %s, %+v", n.tos(), n.records())
	}
}

func TestCollectionThroughTheLibrary(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.start()
	pod := n.netns("a")
	n.ok("add", pod)
	// A GC of the plugin itself without a list keeps everything; with an empty list it releases everything.
	gc := func(list string) {
		t.Helper()
		if out, _, err := n.plugin("GC", list); err != nil || out != "" {
			t.Errorf("%v, printed %q", err, out)
		}
	}
	gc("")
	gc(fmt.Sprintf(`,"cni.dev/valid-attachments":[{"containerID":%q,"ifname":"net1"}]`, containerID(pod)))
	if len(n.records()) != 1 {
		t.Errorf("%+v", n.records())
	}
	gc(`,"cni.dev/attachments":[]`)
	if len(n.records()) != 0 || n.tos() != "8" {
		t.Errorf("%+v, tos %s", n.records(), n.tos())
	}
	n.ok("del", pod)
	n.ok("add", pod)
	n.ok("gc", pod) // cnitool passes no list: the library sends a DEL for every attachment, then GC
	if len(n.records()) != 0 || n.leases() != 0 {
		t.Errorf("%+v, %d addresses", n.records(), n.leases())
	}
}

func TestAFailedClassLeavesNothing(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.start()
	pod := n.netns("a")
	if err := os.Remove(filepath.Join(n.root, tosOf)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(n.root, tosOf), 0o755); err != nil { // can be neither read nor written
		t.Fatal(err)
	}
	if _, err := n.tool("add", pod); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("%v", err)
	}
	n.ok("del", pod)
	if len(n.records()) != 0 || n.leases() != 0 {
		t.Errorf("%+v, %d addresses", n.records(), n.leases())
	}
}

// A runtime that stops in the middle of a pod's start or end finds out from the exit code and stdout alone.
func TestNothingButTheResultIsOnStandardOutput(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.start()
	if out, _, err := n.plugin("ADD", `,"prevResult":`+prev); err != nil || out != prev+"\n" {
		t.Errorf("ADD: %v, %q", err, out)
	}
	for _, command := range []string{"CHECK", "DEL", "DEL", "STATUS", "GC"} {
		if out, _, err := n.plugin(command, ""); err != nil || out != "" {
			t.Errorf("%s: %v, %q", command, err, out)
		}
	}
	var e struct {
		CNIVersion string
		Code       uint
		Msg        string
	}
	if out, _, err := n.plugin("ADD", ""); err == nil || json.Unmarshal([]byte(out), &e) != nil || e.Code != 7 || !strings.Contains(e.Msg, "prevResult") {
		t.Errorf("ADD without a result: %v, %q", err, out)
	}
	out, err := exec.Command(build(t, "fairlane-cni")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "CNI protocol versions supported: 0.4.0, 1.0.0, 1.1.0") {
		t.Errorf("%v, %q", err, out)
	}
}
