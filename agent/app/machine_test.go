package app_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"fairlane/agent/app"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/testkit/tlstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is a directory in the form of the root of a host with one card of one port.
type machine struct {
	t       testing.TB
	dir     string // of the root and the configuration
	journal string
}

const (
	nic  = "0000:3b:00"
	port = "sys/devices/pci0000:3a/0000:3b:00.0"
	rp   = "sys/class/net/ens1f0np0/ecn/roce_rp/"
)

func newMachine(t testing.TB) *machine {
	t.Helper()
	return newMachineAt(t, t.TempDir())
}

func newMachineAt(t testing.TB, dir string) *machine {
	t.Helper()
	m := &machine{t, dir, filepath.Join(t.TempDir(), "journal")}
	for name, text := range map[string]string{
		"proc/sys/kernel/random/boot_id":                            "3f1a1e9c-8d6b-4f43-9a0e-0c7a0f3f6a11",
		port + "/uevent":                                            "DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:101D\nPCI_SLOT_NAME=0000:3b:00.0",
		port + "/sriov_numvfs":                                      "0",
		port + "/net/ens1f0np0/ifindex":                             "4",
		port + "/net/ens1f0np0/address":                             "b8:59:9f:00:00:00",
		port + "/net/ens1f0np0/operstate":                           "up",
		port + "/net/ens1f0np0/speed":                               "200000",
		port + "/net/ens1f0np0/dev_port":                            "0",
		port + "/net/ens1f0np0/phys_port_name":                      "p0",
		port + "/net/ens1f0np0/phys_switch_id":                      "",
		port + "/infiniband/mlx5_0/fw_ver":                          "22.35.1012",
		port + "/infiniband/mlx5_0/board_id":                        "MT_0000000359",
		port + "/infiniband/mlx5_0/hca_type":                        "MT4125",
		port + "/infiniband/mlx5_0/node_guid":                       "b859:9f03:0000:0001",
		port + "/infiniband/mlx5_0/ports/1/link_layer":              "Ethernet",
		port + "/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0":       "ens1f0np0",
		port + "/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent": "11",
	} {
		m.file(name, text)
	}
	m.link("sys/bus/pci/devices/0000:3b:00.0", port)
	m.link(port+"/net/ens1f0np0/device", port)
	m.link("sys/class/net/ens1f0np0", port+"/net/ens1f0np0")
	m.link("sys/class/infiniband/mlx5_0", port+"/infiniband/mlx5_0")
	m.link(port+"/infiniband/mlx5_0/device", port)
	for _, p := range nicparam.New(nicparam.Caps{}).By(nicparam.Sysfs) {
		s, _ := p.Source(nicparam.Sysfs)
		for i := range p.Scope.Size() {
			m.file("sys/class/net/ens1f0np0/ecn/"+strings.ReplaceAll(s.Name, "<index>", strconv.Itoa(i)), strconv.FormatUint(p.Default, 10))
		}
	}
	return m
}

func (m *machine) root(name string) string { return filepath.Join(m.dir, "root", name) }

func (m *machine) file(name, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.root(name)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.root(name), []byte(text+"\n"), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) link(name, target string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.root(name)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	to, err := filepath.Rel(filepath.Dir(m.root(name)), m.root(target))
	if err == nil {
		err = os.Symlink(to, m.root(name))
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// value returns the content of a file of the reaction point.
func (m *machine) value(name string) string {
	m.t.Helper()
	b, err := os.ReadFile(m.root(rp + name))
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// config writes a configuration with the machine's root and journal and returns its path.
func (m *machine) config(more string) string {
	m.t.Helper()
	path := filepath.Join(m.dir, "agent.yaml")
	text := fmt.Sprintf("root: %s\njournal: %s\nback_ends: [sysfs]\n%s\n", filepath.Join(m.dir, "root"), m.journal, more)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// run runs a command and returns its exit code and its output.
func run(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = app.Main(t.Context(), args, func(string) string { return "" }, &out, &err)
	return code, out.String(), err.String()
}

// log collects the output of a process.
type log struct {
	mu    sync.Mutex
	b     bytes.Buffer
	lines chan string // with "listening" in them
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(string(b), `"msg":"listening"`) {
		l.lines <- string(b)
	}
	return l.b.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs the agent until stop is called, which returns its exit code, and returns its address.
func start(t testing.TB, config string, env map[string]string) (address string, out *log, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out = &log{lines: make(chan string, 4)}
	done := make(chan int, 1)
	go func() {
		done <- app.Main(ctx, []string{"--config", config}, func(k string) string { return env[k] }, out, out)
	}()
	stop = sync.OnceValue(func() int { cancel(); return <-done })
	t.Cleanup(func() { stop() })
	select {
	case line := <-out.lines:
		_, rest, _ := strings.Cut(line, `"addr":"`)
		address, _, _ = strings.Cut(rest, `"`)
	case code := <-done:
		done <- code
		t.Fatalf("ended with %d: %s", code, out)
	case <-time.After(time.Minute):
		t.Fatalf("no listener: %s", out)
	}
	return address, out, stop
}

// tlsLine returns the configuration of a listener that only the manager may write to.
func tlsLine(ca *tlstest.Authority, certificate, key string) string {
	return fmt.Sprintf("tls: {certificate: %s, key: %s, client_ca: %s, allowed: [manager]}\n", certificate, key, ca.File)
}

// serving returns a configuration for start with a certificate of ca.
func serving(ca *tlstest.Authority) string {
	own := ca.Issue("agent", tlstest.Valid())
	return "listen: [127.0.0.1:0]\n" + tlsLine(ca, own.CertFile, own.KeyFile)
}

// client connects with a certificate of ca for a name.
func client(t testing.TB, ca *tlstest.Authority, address, name string, v tlstest.Validity) gnmi.GNMIClient {
	t.Helper()
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: ca.Pool, Certificates: []tls.Certificate{ca.Issue(name, v).Certificate}, MinVersion: tls.VersionTLS13})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return gnmi.NewGNMIClient(c)
}
