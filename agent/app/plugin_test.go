package app_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/agent/pods/podsock"
)

// write writes a file below a folder, and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// names returns the names of a folder's files.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.Name()
	}
	return strings.Join(all, " ")
}

func TestThePluginIsReplacedAtOneInstantAndAnEqualOneStays(t *testing.T) {
	t.Parallel()
	dir, from := t.TempDir(), t.TempDir()
	one, two := write(t, from, "one", "version 1"), write(t, from, "two", "version 2")
	plugin := filepath.Join(dir, "fairlane-cni")
	install := func(program string) os.FileInfo {
		t.Helper()
		if code, stdout, stderr := run(t, "plugin", "install", "--from", program, dir); code != 0 || !strings.Contains(stdout, plugin) {
			t.Fatal(code, stdout, stderr)
		}
		st, err := os.Stat(plugin)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(plugin)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := os.ReadFile(program); err != nil || !bytes.Equal(text, want) || st.Mode().Perm() != 0o755 {
			t.Errorf("%v, %s, mode %v", err, text, st.Mode())
		}
		return st
	}
	write(t, dir, "bridge", "of another project")
	write(t, dir, ".fairlane-new-KILLED", "half a pro")
	first := install(one)
	// A runtime that executes the plugin holds the file: a changed one must be another file.
	if again := install(one); !os.SameFile(first, again) {
		t.Error("an equal plugin was replaced")
	}
	if next := install(two); os.SameFile(first, next) {
		t.Error("the plugin was overwritten in place")
	}
	if got := names(t, dir); got != "bridge fairlane-cni" {
		t.Errorf("the folder has %s", got)
	}
	if code, _, stderr := run(t, "plugin", "install", "--from", filepath.Join(from, "none"), dir); code != 1 || !strings.Contains(stderr, "none") {
		t.Error(code, stderr)
	}
	if code, _, _ := run(t, "plugin", "install"); code != 2 {
		t.Error("a missing folder is no wrong usage:", code)
	}
}

// TestANodeIsRestored removes everything from a host, as the chart does before its removal: the plugin stays while a pod needs it.
func TestANodeIsRestored(t *testing.T) {
	t.Parallel()
	m, config, socket := podMachine(t)
	bin := t.TempDir()
	write(t, bin, "bridge", "of another project")
	plugin := write(t, bin, "fairlane-cni", "the plugin")
	const netns = "/run/netns/cni-1"
	m.file(netns, "")
	_, _, stop := start(t, config, nil)
	a := podsock.Attachment{Key: podsock.Key{Network: "rdma-net", ContainerID: "c1", Interface: "net1"}, Pod: podsock.Pod{Namespace: "team-a", Name: "job-0", UID: "u1"}, Device: podVF, NetNS: netns}
	if _, err := podsock.NewClient(socket).Attach(t.Context(), &a); err != nil {
		t.Fatal(err)
	}
	if code := stop(); code != 0 || m.tos() != "104" {
		t.Fatal(code, m.tos())
	}
	code, _, stderr := run(t, "plugin", "remove", "--config", config, bin)
	if code != 1 || !strings.Contains(stderr, "to end 1 pod of this host, team-a/job-0") || names(t, bin) != "bridge fairlane-cni" {
		t.Error(code, stderr, names(t, bin))
	}
	if err := os.Remove(m.root(netns)); err != nil { // the pod is deleted, while no agent runs
		t.Fatal(err)
	}
	for range 2 {
		if code, stdout, stderr := run(t, "plugin", "remove", "--config", config, bin); code != 0 || !strings.Contains(stdout, plugin) || names(t, bin) != "bridge" {
			t.Error(code, stdout, stderr, names(t, bin))
		}
	}
	if code, _, stderr := run(t, "restore", "--purge", "--dry-run", "--config", config); code != 0 || m.tos() != "104" {
		t.Error(code, stderr, m.tos())
	}
	for range 2 {
		if code, _, stderr := run(t, "restore", "--purge", "--config", config); code != 0 || m.tos() != "0" {
			t.Error(code, stderr, m.tos())
		}
	}
	if _, err := os.Stat(filepath.Join(m.dir, "pods")); !os.IsNotExist(err) {
		t.Errorf("records of pods: %v", err)
	}
	if got := names(t, filepath.Dir(m.journal)); got != "" {
		t.Errorf("the journal's folder has %s", got)
	}
}

func TestAnAgentWithoutGNMIServesPods(t *testing.T) {
	t.Parallel()
	m, config, socket := podMachine(t)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, m.dir, "agent.yaml", strings.Replace(string(text), "insecure: true\nlisten: [127.0.0.1:0]\n", "listen: []\n", 1))
	address, out, stop := start(t, config, nil)
	if address != socket {
		t.Errorf("listens at %s: %s", address, out)
	}
	if code, stdout, stderr := run(t, "pods", "list", "--config", config); code != 0 || !strings.Contains(stdout, "no pod has a device") {
		t.Error(code, stdout, stderr)
	}
	if code, stdout, stderr := run(t, "check", "--config", config); code != 0 {
		t.Error(code, stdout, stderr)
	}
	if code := stop(); code != 0 {
		t.Error(code, out)
	}
	if code, _, stderr := run(t, "--config", m.config("listen: []")); code != 2 || !strings.Contains(stderr, "listen: found no address") {
		t.Error(code, stderr)
	}
}
