package site

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/testkit/tlstest"
	"fairlane/policy"
	"fairlane/sim/gnmidev"
	"fairlane/sim/live"
	"fairlane/sim/live/livetest"
	"fairlane/subnet/topofile"
)

// The census checks those settings of switches that the classes of service of plans need.
func TestASwitchWithoutPauseIsReported(t *testing.T) {
	t.Parallel()
	l := livetest.Ethernet(t, livetest.SlowCase(t, policy.PlaneRoCE), live.EthernetOptions{TimeScale: 1e-6})
	livetest.PauseOff(t, l.Addr)
	o, err := DiscoverSource(t.Context(), Source{Ethernet: strings.TrimPrefix(l.Source(), "ethernet:")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0].String(), "leaf1: pfc-off: ") || o.Answered != o.Asked {
		t.Errorf("%q", o.Warnings)
	}
}

func TestIdentitiesOfInventoryDevicesAreQueried(t *testing.T) {
	t.Parallel()
	l := livetest.Ethernet(t, livetest.SlowCase(t, policy.PlaneRoCE), live.EthernetOptions{TimeScale: 1e-6, Dir: filepath.Join(t.TempDir(), "lab")})
	find := func() *Found {
		t.Helper()
		s, err := ParseSource(l.Source())
		if err != nil {
			t.Fatal(err)
		}
		o, err := DiscoverSource(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := find(); len(o.Warnings) > 0 || o.Asked != 7 || o.Answered != 7 || len(o.Fabric.Nodes) != 7 {
		t.Errorf("%d of %d answered; %q", o.Answered, o.Asked, o.Warnings)
	}
	rewrite(t, l.Dir, "fabric.yaml", "rate: 100 Mbit/s", "rate: 200 Mbit/s")
	rewrite(t, l.Dir, live.InventoryName, "protocol: sonic\n", `protocol: sonic
devices:
  - {node: host-002, address: "`+l.Addr+`", target: host-003}
  - {node: host-004, address: "127.0.0.1:1"}
  - {node: leaf2, address: "`+l.Addr+`", target: leaf1}
  - {node: spine1, address: "`+l.Addr+`", target: nobody}
`)
	o := find()
	text := strings.Join(phrase.English(o.Warnings), "\n")
	for _, want := range []string{
		"host-001: port 1 runs at 100 Mbit/s; the fabric file has 200 Mbit/s",
		"host-002: the agent at " + l.Addr + " belongs to another host: it has no port",
		"host-004: the agent at 127.0.0.1:1 does not identify itself",
		"spine1: the switch at " + l.Addr + " does not identify itself",
		"leaf2: another device: who answers at " + l.Addr + " calls itself \"leaf1\", want \"leaf2\"; nothing is written to it",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the warnings do not say %q:\n%s", want, text)
		}
	}
	if o.Answered != 5 {
		t.Errorf("%d of %d answered, want 5 of 7", o.Answered, o.Asked)
	}
	rewrite(t, l.Dir, live.InventoryName, "protocol: sonic\n", "protocol: p4runtime\n")
	if text := strings.Join(phrase.English(find().Warnings), "\n"); !strings.Contains(text, "host-001: port 1 runs at 100 Mbit/s") || !strings.Contains(text, "host-001: port 1 has no WRCC") {
		t.Errorf("hosts without WRCC on a WRCC fabric are not reported:\n%s", text)
	}
	rewrite(t, l.Dir, live.InventoryName, "protocol: p4runtime\n", "protocol: sonic\n")
	rewrite(t, l.Dir, live.InventoryName, "agents: "+l.Addr+"\n", "")
	if text := strings.Join(phrase.English(find().Warnings), "\n"); !strings.Contains(text, "2 hosts and switches have no address") {
		t.Errorf("unlisted hosts are not reported:\n%s", text)
	}
	// The error names the place of the fault and never the content of the file.
	rewrite(t, l.Dir, live.InventoryName, "insecure: true", "insecure: canary")
	if _, _, err := (&Access{}).Discover(t.Context(), l.Source(), policy.Options{}); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), live.InventoryName+":") {
		t.Errorf("a faulty inventory: %v", err)
	}
}

// Devices are queried over TLS with certificates on both sides. A manager with none, or with an expired one, gets the
// reason.
func TestInventoriesWithCertificates(t *testing.T) {
	t.Parallel()
	a, dir := tlstest.New(t), t.TempDir()
	server, manager, old := a.Issue("server", tlstest.Valid()), a.Issue("manager", tlstest.Valid()), a.Issue("old", tlstest.Until(-time.Minute))
	var off atomic.Int64 // of the agent's clock
	s, err := gnmidev.NewServer(gnmidev.Options{Clock: func() time.Time { return time.Now().Add(time.Duration(off.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	c := livetest.SlowCase(t, policy.PlaneRoCE)
	host := &c.Fabric.Nodes[c.Fabric.Hosts()[0]]
	_, err = s.AddHost(host.Name, gnmidev.HostOptions{Cards: []gnmidev.CardOptions{{GUID: host.GUID, Caps: live.SimulatedCaps(), Ports: []gnmidev.PortOptions{{Number: 1, Speed: 100 * quantity.Mbps}}}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	creds := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{server.Certificate}, ClientCAs: a.Pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13})
	go func() { done <- s.Serve(ctx, l, grpc.Creds(creds)) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.Close()
	}()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ca, err := os.ReadFile(a.File)
	if err != nil {
		t.Fatal(err)
	}
	put("ca.pem", string(ca))
	put("text.pem", "no certificate\n")
	var file bytes.Buffer
	if err := topofile.WriteYAML(&file, c.Fabric); err != nil {
		t.Fatal(err)
	}
	put("fabric.yaml", file.String())
	for name, x := range map[string]struct {
		tls, says string
		fails     bool // at once, without a request
	}{
		"right":          {"{ca: ca.pem, certificate: " + manager.CertFile + ", key: " + manager.KeyFile + "}", "", false},
		"none":           {"{ca: ca.pem}", "we show no certificate", false},
		"over":           {"{ca: ca.pem, certificate: " + old.CertFile + ", key: " + old.KeyFile + "}", "has expired", false},
		"other name":     {"{ca: ca.pem, server_name: elsewhere, certificate: " + manager.CertFile + ", key: " + manager.KeyFile + "}", "elsewhere", false},
		"no file":        {"{ca: none.pem}", "none.pem", true},
		"no certificate": {"{ca: text.pem}", "found no certificate", true},
		"wrong key":      {"{ca: ca.pem, certificate: " + manager.CertFile + ", key: " + old.KeyFile + "}", "the manager's certificate", true},
	} {
		put("inv.yaml", "version: 1\nfabric: fabric.yaml\ntls: "+x.tls+"\ndevices:\n  - {node: "+host.Name+", address: \""+l.Addr().String()+"\"}\n")
		o, err := DiscoverSource(t.Context(), Source{Ethernet: filepath.Join(dir, "inv.yaml")}, nil)
		switch {
		case x.fails:
			if err == nil || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%s: %v, want an error that says %q", name, err, x.says)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case x.says == "" && (o.Answered != 1 || strings.Contains(o.Warnings[0].String(), "does not identify") || strings.Contains(o.Warnings[0].String(), "clock")):
			t.Errorf("%s: %q", name, o.Warnings)
		case x.says != "" && (o.Answered != 0 || !strings.Contains(strings.Join(phrase.English(o.Warnings), "\n"), x.says)):
			t.Errorf("%s: %q, want a warning that says %q", name, o.Warnings, x.says)
		}
	}
	put("inv.yaml", "version: 1\nfabric: fabric.yaml\ntls: {ca: ca.pem, certificate: "+manager.CertFile+", key: "+manager.KeyFile+"}\ndevices:\n  - {node: "+host.Name+", address: \""+l.Addr().String()+"\"}\n")
	for by, says := range map[time.Duration]string{24 * time.Hour: " ahead of this machine's", -24 * time.Hour: " behind this machine's", time.Minute: ""} {
		off.Store(int64(by))
		o, err := DiscoverSource(t.Context(), Source{Ethernet: filepath.Join(dir, "inv.yaml")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(phrase.English(o.Warnings), "\n"); o.Answered != 1 || says == "" && strings.Contains(text, "clock") || says != "" && !strings.Contains(text, host.Name+": its clock is 2") || !strings.Contains(text, says) {
			t.Errorf("a clock off by %s: %d answered, %q", by, o.Answered, o.Warnings)
		}
	}
}

// rewrite changes the inventory or the fabric file of a live fabric.
func rewrite(t *testing.T, dir, name, old, replacement string) {
	t.Helper()
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(b), old, replacement, 1)
	if text == string(b) {
		t.Fatalf("%s has no %q:\n%s", name, old, b)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
