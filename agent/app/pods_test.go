package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/agent/app"
	"fairlane/agent/pods/podsock"
	"fairlane/internal/testkit/filetest"
	"fairlane/internal/testkit/tlstest"
)

const podVF = "0000:3b:01.0"

// podMachine is a machine with a virtual function that pods may have, and a configuration for pods.
func podMachine(t testing.TB) (m *machine, config, socket string) {
	t.Helper()
	m = newMachine(t)
	const vf = "sys/devices/pci0000:3a/" + podVF
	m.file(port+"/sriov_numvfs", "1")
	m.file(vf+"/uevent", "DRIVER=mlx5_core\nPCI_SLOT_NAME="+podVF)
	m.link("sys/bus/pci/devices/"+podVF, vf)
	m.link(port+"/virtfn0", vf)
	m.link(vf+"/physfn", port)
	m.file(vf+"/infiniband/mlx5_2/node_guid", "b859:9f03:0000:0101")
	m.file(vf+"/infiniband/mlx5_2/ports/1/link_layer", "Ethernet")
	m.file(vf+"/infiniband/mlx5_2/ports/1/counters/port_xmit_data", "4242")
	m.link("sys/class/infiniband/mlx5_2", vf+"/infiniband/mlx5_2")
	m.link(vf+"/infiniband/mlx5_2/device", vf)
	m.file("sys/kernel/config/rdma_cm/mlx5_2/ports/1/default_roce_tos", "0")
	socket = filepath.Join(filetest.ShortDir(t), "pods.sock")
	bindings := filetest.Write(t, "bindings.yaml", "bindings:\n  - {namespace: team-a, tenant: gold, class: bulk, levers: {maxMbps: 40000, tos: 104}}\n")
	// The last of back_ends wins over that of config.
	config = m.config(fmt.Sprintf("insecure: true\nlisten: [127.0.0.1:0]\npods: {socket: %s, state: %s, allowed_uid: [%d], bindings: %s}\n", socket, filepath.Join(m.dir, "pods"), os.Getuid(), bindings))
	text, err := os.ReadFile(config)
	if err == nil {
		err = os.WriteFile(config, []byte(strings.Replace(string(text), "[sysfs]", "[sysfs, configfs]", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, config, socket
}

func (m *machine) tos() string {
	m.t.Helper()
	b, err := os.ReadFile(m.root("sys/kernel/config/rdma_cm/mlx5_2/ports/1/default_roce_tos"))
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func TestTheAgentServesPodsAndListsThem(t *testing.T) {
	t.Parallel()
	m, config, socket := podMachine(t)
	if code, _, stderr := run(t, "pods", "list", "--config", config); code != 1 || !strings.Contains(stderr, "does it run") {
		t.Error(code, stderr)
	}
	if code, stdout, stderr := run(t, "check", "--config", config); code != 0 || strings.Contains(stdout, "problem") {
		t.Error(code, stdout, stderr)
	}
	_, out, stop := start(t, config, nil)
	c := podsock.NewClient(socket)
	a := podsock.Attachment{Key: podsock.Key{Network: "rdma-net", ContainerID: "c1", Interface: "net1"}, Pod: podsock.Pod{Namespace: "team-a", Name: "job-0", UID: "u1"}, Device: podVF}
	if code, stdout, _ := run(t, "pods", "list", "--config", config); code != 0 || !strings.Contains(stdout, "no pod has a device") {
		t.Error(code, stdout)
	}
	r, err := c.Attach(t.Context(), &a)
	if err != nil || r.Tenant != "gold" || *r.ReadBack.TOS != 104 || m.tos() != "104" || !strings.Contains(r.Missing, "max_mbps: devlink is not among back_ends") {
		t.Fatalf("%+v, %v", r, err)
	}
	code, stdout, stderr := run(t, "pods", "list", "--counters", "--config", config)
	for _, want := range []string{"team-a/job-0", "gold", "bulk", podVF, "mlx5_2", "104", "verified", "max_mbps: devlink is not", "port_xmit_data", "4242"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%d, %s: the list lacks %q:\n%s", code, stderr, want, stdout)
		}
	}
	if code, stdout, _ := run(t, "pods", "list", "--lang", "zh", "--config", config); code != 0 || !strings.Contains(stdout, "已核验") {
		t.Error(code, stdout)
	}
	code, stdout, _ = run(t, "pods", "list", "--json", "--config", config)
	var list podsock.List
	if err := json.Unmarshal([]byte(stdout), &list); code != 0 || err != nil || len(list.Records) != 1 || list.Records[0].Counters["port_xmit_data"] != 4242 || *list.Records[0].Before.TOS != 0 {
		t.Error(code, stdout, err)
	}
	if code := stop(); code != 0 {
		t.Error(code, out)
	}
	// The record and the class outlive the agent; a request that was kept meanwhile is executed.
	if m.tos() != "104" {
		t.Error(m.tos())
	}
	_, _, stop = start(t, config, nil)
	if err := c.Check(t.Context(), &a); err != nil {
		t.Error(err)
	}
	if err := errors.Join(c.Release(t.Context(), a.Key), c.Release(t.Context(), a.Key)); err != nil || m.tos() != "0" {
		t.Error(err, m.tos())
	}
	// Removing the agent restores the devices of running pods.
	if _, err := c.Attach(t.Context(), &a); err != nil || m.tos() != "104" {
		t.Error(err, m.tos())
	}
	stop()
	if code, stdout, stderr := run(t, "restore", "--dry-run", "--config", config); code != 0 || !strings.Contains(stdout, podVF) || !strings.Contains(stderr, "1 parameter would get its earlier value") || m.tos() != "104" {
		t.Error(code, stdout, stderr)
	}
	if code, stdout, stderr := run(t, "restore", "--json", "--config", config); code != 0 || !strings.Contains(stdout, `"original": 0`) || m.tos() != "0" {
		t.Error(code, stdout, stderr)
	}
	if code, stdout, stderr := run(t, "restore", "--config", config); code != 0 || !strings.Contains(stdout, "nothing was ever set") {
		t.Error(code, stdout, stderr)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

func TestConfigurationsForPodsThatAreRefused(t *testing.T) {
	t.Parallel()
	m, ca := newMachine(t), tlstest.New(t)
	for text, want := range map[string]string{
		"pods: {socket: pods.sock}":                                 `pods.socket: found "pods.sock", want an absolute path`,
		"pods: {socket: /run/x}":                                    `pods.bindings: found "", want an absolute path`,
		"pods: {socket: /run/x, bindings: /x, allowed_uid: []}":     `pods.allowed_uid: found no user id`,
		"pods: {socket: /run/x, bindings: /x, allowed_uid: [root]}": `found "root", want 0 to 4294967295`,
		"pods: {socket: /tmp/none/x, bindings: /none}":              `no such file`,
		"pods: {sockets: /run/x}":                                   `found "pods.sockets", want a known setting`,
	} {
		if code, _, stderr := run(t, "--config", m.config(text+"\n"+serving(ca))); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d, %s, want %q", text, code, stderr, want)
		}
	}
	if code, _, stderr := run(t, "pods", "lost"); code != 2 || !strings.Contains(stderr, "lost") {
		t.Error(code, stderr)
	}
	if c := app.Default(); c.Pods.Socket != "" {
		t.Error("pods are served by default")
	}
}
