package doctor

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/agent/pods/podsock"
	"fairlane/internal/testkit/filetest"
)

// chain returns a configuration list of plugins, given by their types or their whole configurations.
func chain(version string, plugins ...string) string {
	for i, p := range plugins {
		if !strings.HasPrefix(p, "{") {
			plugins[i] = `{"type":"` + p + `"}`
		}
	}
	return `{"cniVersion":"` + version + `","name":"rdma-net","plugins":[` + strings.Join(plugins, ",") + `]}`
}

const ours = `{"type":"fairlane-cni","capabilities":{"deviceID":true}}`

// examine examines a host with a mode of RDMA devices and a file.
func examine(t *testing.T, mode, text string) []Finding {
	t.Helper()
	root := t.TempDir()
	if mode != "" {
		write(t, filepath.Join(root, netnsMode), mode+"\n")
	}
	return Examine(t.Context(), Options{Root: root, ConfDir: filepath.Join(root, "none"), BinDir: root, Socket: filepath.Join(root, "none.sock"), Files: []File{{"net.conflist", []byte(text)}}, Now: time.Now()})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestChains has the table of supported orders (docs/cni.md) and every deviation from it.
func TestChains(t *testing.T) {
	t.Parallel()
	isolated := `{"type":"ib-sriov","rdmaIsolation":true}`
	for _, c := range []struct{ name, mode, text, want string }{
		{"RoCE, exclusive", "N", chain("1.1.0", "sriov", "rdma", ours), "ok supported order: sriov, rdma, fairlane-cni"},
		{"RoCE, shared", "Y", chain("1.1.0", "sriov", ours), "ok supported order"},
		{"InfiniBand, exclusive", "N", chain("1.1.0", isolated, ours), "ok supported order"},
		{"InfiniBand, shared", "Y", chain("1.1.0", "ib-sriov", ours), "ok supported order"},
		{"another plugin after it", "Y", chain("1.1.0", "sriov", ours, "tuning"), "ok supported order"},
		{"shared device", "Y", chain("1.1.0", "macvlan", ours), "warning with macvlan pods share a device"},
		{"first", "Y", chain("1.1.0", ours, "sriov"), "problem fairlane-cni is the first plugin"},
		{"alone, in the old form", "Y", `{"cniVersion":"1.1.0","name":"n","type":"fairlane-cni"}`, "problem fairlane-cni is the first plugin"},
		{"before rdma", "N", chain("1.1.0", "sriov", ours, "rdma"), "problem rdma is after fairlane-cni"},
		{"before sriov", "Y", chain("1.1.0", "tuning", ours, "sriov"), "problem sriov is after fairlane-cni"},
		{"rdma first", "N", chain("1.1.0", "rdma", "sriov", ours), "problem rdma is before sriov"},
		{"rdma in mode shared", "Y", chain("1.1.0", "sriov", "rdma", ours), "problem rdma needs mode exclusive"},
		{"no rdma in mode exclusive", "N", chain("1.1.0", "sriov", ours), "problem RDMA devices are in mode exclusive, and the list lacks rdma"},
		{"rdma with ib-sriov", "N", chain("1.1.0", isolated, "rdma", ours), "problem found rdma with ib-sriov"},
		{"no isolation", "N", chain("1.1.0", "ib-sriov", ours), "problem RDMA devices are in mode exclusive, and ib-sriov has no rdmaIsolation"},
		{"isolation in mode shared", "Y", chain("1.1.0", isolated, ours), "problem ib-sriov has rdmaIsolation"},
		{"twice", "Y", chain("1.1.0", "sriov", ours, ours), "problem fairlane-cni is in the list twice"},
		{"old version", "Y", chain("1.0.0", "sriov", ours), "warning cniVersion 1.0.0 has neither GC nor STATUS"},
		{"too old a version", "Y", chain("0.3.1", "sriov", ours), `problem cniVersion: found "0.3.1"`},
		{"no capability", "Y", chain("1.1.0", "sriov", "fairlane-cni"), "warning found no capability deviceID"},
		{"fail policy", "Y", chain("1.1.0", "sriov", `{"type":"fairlane-cni","failPolicy":"ajar"}`), `problem fairlane: network configuration: fail policy: found "ajar"`},
		{"mistyped key", "Y", chain("1.1.0", "sriov", `{"type":"fairlane-cni","failpolicies":"open"}`), `warning unknown key "failpolicies"`},
		{"without the plugin", "Y", chain("1.1.0", "sriov"), "problem found no fairlane-cni"},
		{"no JSON", "Y", "plugins: []", "problem found no network configuration"},
		{"unknown mode", "maybe", chain("1.1.0", "sriov", ours), `warning found "maybe"`},
		{"no RDMA", "", chain("1.1.0", "sriov", ours), "warning found no RDMA core"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var all []string
			for _, f := range examine(t, c.mode, c.text) {
				if f.Check != "program" && f.Check != "socket" {
					all = append(all, string(f.State)+" "+f.Text.String())
				}
			}
			found := strings.Join(all, "\n")
			if !strings.Contains(found, c.want) {
				t.Errorf("found\n%s\nwant %s", found, c.want)
			}
			if strings.HasPrefix(c.want, "ok") && strings.Contains(found, "problem") {
				t.Errorf("a supported chain has problems:\n%s", found)
			}
		})
	}
}

func TestTheDefaultNetworkTheProgramAndTheSocket(t *testing.T) {
	t.Parallel()
	root := filetest.ShortDir(t)
	conf, bin, socket := filepath.Join(root, "net.d"), filepath.Join(root, "bin"), filepath.Join(root, "s")
	o := Options{Root: root, ConfDir: conf, BinDir: bin, Version: "1", Now: time.Now()}
	said := func() string {
		var all []string
		for _, f := range Examine(t.Context(), o) {
			all = append(all, f.Check+" "+string(f.State)+" "+f.Text.String())
		}
		return strings.Join(all, "\n")
	}
	has := func(want string) {
		t.Helper()
		if got := said(); !strings.Contains(got, want) {
			t.Errorf("found\n%s\nwant %s", got, want)
		}
	}
	has("conflist warning no configuration list")
	has("program problem")
	spool := filepath.Join(root, "spool")
	member := `{"type":"fairlane-cni","capabilities":{"deviceID":true},"socket":"` + socket + `","spool":"` + spool + `"}`
	write(t, filepath.Join(conf, "20-rdma.conflist"), chain("1.1.0", "sriov", member))
	has("default-network problem")
	write(t, filepath.Join(conf, "10-bridge.conflist"), chain("1.0.0", "bridge"))
	has("conflist ok supported order")
	if strings.Contains(said(), "default-network") {
		t.Error("a secondary network is the default one")
	}
	write(t, filepath.Join(bin, "fairlane-cni"), "")
	has("program problem found mode")
	if err := os.Chmod(filepath.Join(bin, "fairlane-cni"), 0o755); err != nil {
		t.Fatal(err)
	}
	has("program ok")
	has("socket problem found no socket")
	write(t, socket, "")
	has("socket problem found mode")
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	has("socket warning found mode")
	has("agent problem the agent does not answer")
	if err := podsock.SpoolRelease(spool, podsock.Key{Network: "n", ContainerID: "c", Interface: "i"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	has("spool warning 1 request is kept for the agent")
	o.Socket = socket
	has("spool warning 1 request is kept for the agent")
}
