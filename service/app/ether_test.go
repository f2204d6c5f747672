package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"fairlane/ccconfig/driver"
	"fairlane/command/cmdline"
	"fairlane/internal/gnmid"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/reconcile"
	"fairlane/sim/gnmidev"
	"fairlane/sim/live"
	"fairlane/sim/live/livetest"
	"fairlane/subnet"
)

// connectTo reads the inventory of a source and speaks with its devices until the test ends.
func connectTo(t *testing.T, from string) (*keptInventory, *etherDriver) {
	t.Helper()
	k, err := readInventory(strings.TrimPrefix(from, "ethernet:"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.close() }) // everything was answered
	return k, d
}

// etherLab is a demo on a live Ethernet fabric, with nothing rolled out yet.
func etherLab(t *testing.T, p policy.Plane) *demo {
	t.Helper()
	return etherLabOf(t, livetest.SlowCase(t, p))
}

// etherLabOf is etherLab with another case.
func etherLabOf(t *testing.T, c *live.Case) *demo {
	t.Helper()
	l, err := live.StartEthernet(t.Context(), c, live.EthernetOptions{TimeScale: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	m, err := openManager(t.Context(), filepath.Join(t.TempDir(), "fairlane.db"), &ports{}, workOptions{still: true})
	if err != nil {
		t.Fatal(err)
	}
	d := &demo{app: &app{&cmdline.App{Stdout: io.Discard, Stderr: io.Discard}}, timeScale: 0.5, ether: l, manager: m, step: func(string, ...any) {}}
	t.Cleanup(func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.onboard(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// A plan for an Ethernet plane takes the whole way: its devices are written, read back, found changed by somebody else,
// repaired, and brought back to what they were.
func TestAPlanOnEthernetIsRolledOutReadBackRepairedAndUndone(t *testing.T) {
	t.Parallel()
	for _, p := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			d := etherLab(t, p)
			svc, ctx := d.manager.service, t.Context()
			plan, _, err := svc.CreatePlan(ctx, demoFabric, control.CompileOptions{}, false)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Plan.Plane != string(p) {
				t.Fatalf("the plan is for the plane %s, its fabric is of %s", plan.Plan.Plane, p)
			}
			ro := rollToEnd(t, d, plan.Plan.Name)
			if ro.State != control.RolloutSucceeded {
				t.Fatalf("rollout %s: %s", ro.State, ro.Result)
			}
			states := func() (in, drifted []string) {
				_, list, err := svc.Devices(ctx, demoFabric, plan.Plan.Name)
				if err != nil {
					t.Fatal(err)
				}
				for i := range list {
					switch reconcile.State(list[i].State) {
					case reconcile.InSync:
						in = append(in, list[i].Device.Name)
					case reconcile.Drifted:
						drifted = append(drifted, list[i].Device.Name)
					default:
						t.Errorf("%s is %s: %s", list[i].Device.Name, list[i].State, list[i].Error)
					}
				}
				return in, drifted
			}
			if in, drifted := states(); len(drifted) > 0 || len(in) != len(ro.Devices) {
				t.Errorf("after the rollout %q are as wanted, %q are not", in, drifted)
			}
			shares, err := svc.Shares(ctx, demoFabric, plan.Plan.Name, 20*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range shares.Tenants {
				if s.Delivered == nil || *s.Delivered <= 0 {
					t.Errorf("tenant %+v", s)
				}
			}
			victim := meddleEther(t, d, p)
			if _, drifted := states(); !slices.Equal(drifted, []string{victim}) {
				t.Errorf("%q drifted, want %s", drifted, victim)
			}
			repair, err := svc.RepairDevice(ctx, demoFabric, deviceID(t, d, plan.Plan, victim))
			if err != nil {
				t.Fatal(err)
			}
			waitRollout(t, d, repair.ID)
			if _, drifted := states(); len(drifted) > 0 {
				t.Errorf("after the repair %q drifted", drifted)
			}
			d.ether.Case.Tenants[0].Weight = 3 * quantity.WeightOne
			second := d.replan(t)
			next := rollToEnd(t, d, second)
			if next.State != control.RolloutSucceeded {
				t.Fatalf("the second rollout %s: %s", next.State, next.Result)
			}
			back, err := svc.RollBack(ctx, demoFabric, next.ID, "")
			if err != nil {
				t.Fatal(err)
			}
			waitRollout(t, d, back.ID)
			if _, drifted := states(); len(drifted) > 0 {
				t.Errorf("after the way back %q are not as the first plan wants", drifted)
			}
		})
	}
}

// replan declares the case's tenants anew and makes a plan.
func (d *demo) replan(t *testing.T) string {
	t.Helper()
	svc, list := d.manager.service, d.ether.Case.Tenants
	set := control.TenantSet{}
	for _, x := range list {
		in := control.TenantInput{Name: x.Name, Weight: x.Weight}
		for _, at := range x.Attachments {
			in.Attachments = append(in.Attachments, control.AttachmentInput{Port: at.Port.String()})
		}
		set.Tenants = append(set.Tenants, in)
	}
	if _, err := svc.ApplyTenants(t.Context(), demoFabric, set, false); err != nil {
		t.Fatal(err)
	}
	plan, _, err := svc.CreatePlan(t.Context(), demoFabric, control.CompileOptions{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Plan.Name
}

// waitRollout waits for the end of a rollout, which must be a success.
func waitRollout(t *testing.T, d *demo, id int64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		ro, err := d.manager.service.Rollout(t.Context(), demoFabric, id)
		switch {
		case err != nil:
			t.Fatal(err)
		case ro.State == control.RolloutSucceeded:
			return
		case ro.State != control.RolloutRunning || time.Now().After(deadline):
			t.Fatalf("rollout %d %s: %s", id, ro.State, ro.Result)
		}
	}
}

func deviceID(t *testing.T, d *demo, p *policy.Plan, name string) string {
	t.Helper()
	targets, err := reconcile.Desired(p, d.ether.Case.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		if target.Device.Name == name {
			return target.Device.ID.String()
		}
	}
	t.Fatalf("the plan has no device %s", name)
	return ""
}

// meddleEther changes a device as a second manager would and returns its name: a register of a NIC, or a table of a WRCC
// switch.
func meddleEther(t *testing.T, d *demo, p policy.Plane) string {
	t.Helper()
	k, other := connectTo(t, d.source())
	f := k.fabric
	dev := portDevice(f, subnet.PortRef{Node: f.Hosts()[0], Port: 1}, string(p))
	if p == policy.PlaneRoCE {
		want := driver.Settings{NIC: &driver.NICState{Params: []driver.NICParam{{Name: "rpg_ai_rate", Value: 77}}}}
		if _, err := other.Apply(t.Context(), dev, want); err != nil {
			t.Fatal(err)
		}
		return dev.Name
	}
	got, err := other.Read(t.Context(), dev)
	if err != nil {
		t.Fatal(err)
	}
	got.NIC.Params = nil
	got.NIC.WRCC.Senders[0].Weight.Multiplier++
	if _, err := other.Apply(t.Context(), dev, got); err != nil {
		t.Fatal(err)
	}
	return dev.Name
}

func TestPlansOfOtherPlanesStayOnPaper(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneRoCE)
	svc := d.manager.service
	plan, _, err := svc.CreatePlan(t.Context(), demoFabric, control.CompileOptions{Plane: policy.PlaneWRCC}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = svc.StartRollout(t.Context(), demoFabric, control.RolloutInput{Plan: plan.Plan.Name})
	if err == nil || !strings.Contains(err.Error(), "is for the plane wrcc") {
		t.Errorf("a plan of another plane: %v", err)
	}
	if _, _, err := svc.CreatePlan(t.Context(), demoFabric, control.CompileOptions{Mode: policy.ModeTheorem1}, false); err == nil {
		t.Error("options of InfiniBand are taken on Ethernet")
	}
	for want, f := range map[string]control.Fabric{
		"want the plane roce or wrcc": {Name: "a", Plane: "ib", Source: "ethernet:x"},
		"want the plane ib":           {Name: "b", Plane: "roce", Source: "ibsim:unix:x"},
		"is an InfiniBand fabric":     {Name: "b", Plane: "wrcc", Source: "umad:mlx5_0:1"},
		"want ib, roce or wrcc":       {Name: "c", Plane: "token-ring", Source: "file:x"},
		"source is empty":             {Name: "d", Plane: "roce"},
	} {
		if _, err := svc.CreateFabric(t.Context(), f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
	if f, err := svc.CreateFabric(t.Context(), control.Fabric{Name: "e", Source: "ethernet:x"}); err != nil || f.Plane != "roce" {
		t.Errorf("an inventory without a plane is %q, %v", f.Plane, err)
	}
	if _, err := svc.UpdateFabric(t.Context(), control.Fabric{Name: "e", Source: "ibsim:unix:x", TimeScale: 1}); err == nil {
		t.Error("an Ethernet fabric moves to InfiniBand")
	}
}

// A port that cannot be divided as a plan wants it is refused as a whole: it stays as it was, and the refusal names the setting
// that its host lacks, what it offers, and what to do.
func TestAPortWithoutFunctionsForItsTenantsIsRefusedAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	l := livetest.Ethernet(t, livetest.SlowCase(t, policy.PlaneRoCE), live.EthernetOptions{TimeScale: 1e-6})
	k, d := connectTo(t, l.Source())
	dev := portDevice(k.fabric, subnet.PortRef{Node: k.fabric.Hosts()[0], Port: 1}, driver.PlaneRoCE)
	before, err := d.Read(t.Context(), dev)
	if err != nil {
		t.Fatal(err)
	}
	params := []driver.NICParam{{Name: "rpg_ai_rate", Value: 77}, {Name: driver.ShareParam, Value: 66}, {Name: driver.ShareParam, Index: 1, Value: 33}}
	receipt, err := d.Apply(t.Context(), dev, driver.Settings{NIC: &driver.NICState{Params: params}})
	if !errors.Is(err, driver.ErrUnsupported) || len(receipt.Fields) > 0 {
		t.Fatalf("a port with one function takes shares of two: %+v, %v", receipt, err)
	}
	for _, part := range []string{"vf_tx_share[1]", "among 2 tenants", "offers 1 such function", "make virtual functions with rates on the host, or give each tenant a port"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the refusal %q has no %q", err, part)
		}
	}
	after, err := d.Read(t.Context(), dev)
	if err != nil || !before.Equal(after) {
		t.Errorf("the refused port reads %+v, was %+v, %v", after.NIC, before.NIC, err)
	}
	// Other lacks are not explained by functions.
	_, err = d.Apply(t.Context(), dev, driver.Settings{NIC: &driver.NICState{Params: []driver.NICParam{{Name: "pfc", Index: 9, Value: 1}}}})
	if err == nil || strings.Contains(err.Error(), "tenants") {
		t.Errorf("another lack: %v", err)
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

// Switches are looked at as far as plans take their classes of service for granted.
// pauseOff takes pause away from one port of the switch leaf1.
func pauseOff(t *testing.T, addr string) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	path := gnmid.PathOf("CONFIG_DB", "localhost", "PORT_QOS_MAP", "Ethernet0", "pfc_enable")
	path.Origin = "sonic-db"
	_, err = gpb.NewGNMIClient(conn).Set(t.Context(), &gpb.SetRequest{
		Prefix:  &gpb.Path{Target: "leaf1"},
		Replace: []*gpb.Update{{Path: path.Proto(), Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`"6"`)}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestASwitchOnWhichPauseIsOffIsNamed(t *testing.T) {
	t.Parallel()
	l := livetest.Ethernet(t, livetest.SlowCase(t, policy.PlaneRoCE), live.EthernetOptions{TimeScale: 1e-6})
	pauseOff(t, l.Addr)
	o, err := discoverSource(t.Context(), source{ethernet: strings.TrimPrefix(l.Source(), "ethernet:")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.warnings) != 1 || !strings.HasPrefix(o.warnings[0].String(), "leaf1: pfc-off: ") || o.answered != o.asked {
		t.Errorf("%q", o.warnings)
	}
}

func TestDevicesOfAnInventoryAreAskedWhoTheyAre(t *testing.T) {
	t.Parallel()
	l := livetest.Ethernet(t, livetest.SlowCase(t, policy.PlaneRoCE), live.EthernetOptions{TimeScale: 1e-6, Dir: filepath.Join(t.TempDir(), "lab")})
	find := func() *found {
		t.Helper()
		s, err := parseSource(l.Source())
		if err != nil {
			t.Fatal(err)
		}
		o, err := discoverSource(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := find(); len(o.warnings) > 0 || o.asked != 7 || o.answered != 7 || len(o.fabric.Nodes) != 7 {
		t.Errorf("%d of %d answered; %q", o.answered, o.asked, o.warnings)
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
	text := strings.Join(phrase.English(o.warnings), "\n")
	for _, want := range []string{
		"host-001: port 1 runs at 100 Mbit/s, the fabric file says 200 Mbit/s",
		"host-002: the agent at " + l.Addr + " is of another host: it has no port",
		"host-004: the agent at 127.0.0.1:1 does not say who it is",
		"spine1: the switch at " + l.Addr + " does not say who it is",
		"leaf2: another device: who answers at " + l.Addr + " calls itself \"leaf1\", want \"leaf2\"; nothing is written to it",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the warnings do not say %q:\n%s", want, text)
		}
	}
	if o.answered != 5 {
		t.Errorf("%d of %d answered, want 5 of 7", o.answered, o.asked)
	}
	rewrite(t, l.Dir, live.InventoryName, "protocol: sonic\n", "protocol: p4runtime\n")
	if text := strings.Join(phrase.English(find().warnings), "\n"); !strings.Contains(text, "host-001: port 1 runs at 100 Mbit/s") || !strings.Contains(text, "host-001: port 1 has no WRCC") {
		t.Errorf("hosts without WRCC among its switches are not told:\n%s", text)
	}
	rewrite(t, l.Dir, live.InventoryName, "protocol: p4runtime\n", "protocol: sonic\n")
	rewrite(t, l.Dir, live.InventoryName, "agents: "+l.Addr+"\n", "")
	if text := strings.Join(phrase.English(find().warnings), "\n"); !strings.Contains(text, "2 hosts and switches have no address") {
		t.Errorf("unlisted hosts are not told:\n%s", text)
	}
	// A client of the service learns where a fault is and never what the file holds.
	rewrite(t, l.Dir, live.InventoryName, "insecure: true", "insecure: canary")
	if _, _, err := (&ports{}).Discover(t.Context(), l.Source()); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), live.InventoryName+":") {
		t.Errorf("a faulty inventory: %v", err)
	}
}

// Devices are asked over TLS with certificates of both sides, and a manager without one, or with one that is over, is told why.
func TestInventoriesWithCertificates(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	serverFiles := a.files(t.TempDir(), "server", time.Now().Add(time.Hour))
	manager := a.files(t.TempDir(), "manager", time.Now().Add(time.Hour))
	old := a.files(t.TempDir(), "old", time.Now().Add(-time.Minute))
	pair, err := tls.LoadX509KeyPair(serverFiles.CertFile, serverFiles.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
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
	creds := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13})
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
	put("ca.pem", string(a.pem))
	put("text.pem", "no certificate\n")
	if err := writeFabric(filepath.Join(dir, "fabric.yaml"), c.Fabric); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		tls, says string
		fails     bool // at once, without asking anybody
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
		o, err := discoverSource(t.Context(), source{ethernet: filepath.Join(dir, "inv.yaml")}, nil)
		switch {
		case x.fails:
			if err == nil || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%s: %v, want an error that says %q", name, err, x.says)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case x.says == "" && (o.answered != 1 || strings.Contains(o.warnings[0].String(), "does not say") || strings.Contains(o.warnings[0].String(), "clock")):
			t.Errorf("%s: %q", name, o.warnings)
		case x.says != "" && (o.answered != 0 || !strings.Contains(strings.Join(phrase.English(o.warnings), "\n"), x.says)):
			t.Errorf("%s: %q, want a warning that says %q", name, o.warnings, x.says)
		}
	}
	put("inv.yaml", "version: 1\nfabric: fabric.yaml\ntls: {ca: ca.pem, certificate: "+manager.CertFile+", key: "+manager.KeyFile+"}\ndevices:\n  - {node: "+host.Name+", address: \""+l.Addr().String()+"\"}\n")
	for by, says := range map[time.Duration]string{24 * time.Hour: " ahead of ours", -24 * time.Hour: " behind ours", time.Minute: ""} {
		off.Store(int64(by))
		o, err := discoverSource(t.Context(), source{ethernet: filepath.Join(dir, "inv.yaml")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(phrase.English(o.warnings), "\n"); o.answered != 1 || says == "" && strings.Contains(text, "clock") || says != "" && !strings.Contains(text, host.Name+": its clock is 2") || !strings.Contains(text, says) {
			t.Errorf("a clock off by %s: %d answered, %q", by, o.answered, o.warnings)
		}
	}
}
