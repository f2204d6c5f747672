package host

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"fairlane/agent"
	"fairlane/ccconfig/nic/dms"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/vfshare"
)

var _ agent.Host = (*Host)(nil)

func nics(t testing.TB, h *Host) []agent.NIC {
	t.Helper()
	out, err := h.NICs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// findings lists the back ends that were found, or the reason why one was not.
func findings(h *Host) map[string]string {
	out := map[string]string{}
	for _, f := range h.Report().Findings {
		word := fmt.Sprintf("%d", f.Params)
		if !f.Found {
			word = f.Why
		}
		out[fmt.Sprintf("%d %s", f.Port, f.Backend)] = word
	}
	return out
}

func TestACardIsFoundWithItsPortsAndIdentity(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(1)
	m.nic(0)
	got := nics(t, m.open(nil))
	if len(got) != 1 {
		t.Fatalf("%d cards", len(got))
	}
	n := got[0]
	if n.Name != "0000:3b:00" || n.PCI != "0000:3b:00.0" || n.Vendor != "0x15b3" || n.Model != "MT_0000000359" || n.Firmware != "22.35.1012" ||
		n.Driver != "mlx5_core" || n.NodeGUID.String() != "0xb8599f0300000001" || n.Problem != "" || len(n.Ports) != 2 {
		t.Errorf("%+v", n)
	}
	for i, p := range n.Ports {
		if p.Number != i+1 || p.ID.String() != fmt.Sprintf("0xb8599f030000000%d:1", i+1) || p.NetDev != fmt.Sprintf("ens1f%dnp%d", i, i) || p.RDMA != fmt.Sprintf("mlx5_%d", i) || p.RDMAPort != 1 {
			t.Errorf("%+v", p)
		}
		l, err := p.Meter.Link(t.Context())
		if want := (agent.Link{MAC: fmt.Sprintf("b8:59:9f:00:00:%02x", i), SpeedMbps: 200000, Up: true}); err != nil || l != want {
			t.Errorf("%+v, %v", l, err)
		}
	}
}

func TestEveryInterfaceIsProbedAndReportsWhatIsMissing(t *testing.T) {
	t.Parallel()
	sysfs, debugfs := len(keys(nicparam.Sysfs, nicparam.Caps{})), len(keys(nicparam.Debugfs, nicparam.Caps{}))
	for _, c := range []struct {
		name string
		make func(*machine, *Options)
		want map[string]string // number of parameters, or a part of the reason
	}{
		{"nothing at all", func(*machine, *Options) {}, map[string]string{
			"1 sysfs": "vendor's driver has it", "1 debugfs": "debugfs cannot be read: mount it", "1 dcb": "operation not supported", "1 configfs": "mount configfs",
			"1 devlink": "no virtual functions", "1 link": "no virtual functions", "1 dms": "no management service", "0 nv": "refused",
		}},
		{"vendor's driver", func(m *machine, _ *Options) { m.vendorFiles(0, "") }, map[string]string{"1 sysfs": fmt.Sprint(sysfs)}},
		{"vendor's driver with params", func(m *machine, _ *Options) { m.vendorFiles(0, "params/") }, map[string]string{"1 sysfs": fmt.Sprint(sysfs)}},
		{"kernel's driver", func(m *machine, _ *Options) { m.kernelFiles(0, nicparam.Caps{}) }, map[string]string{"1 debugfs": fmt.Sprint(debugfs), "1 sysfs": "is not there"}},
		{"debugfs without the card", func(m *machine, _ *Options) { m.mkdir("sys/kernel/debug/mlx5") }, map[string]string{"1 debugfs": "firmware grants neither"}},
		{"general congestion control", func(m *machine, _ *Options) { m.kernelFiles(0, nicparam.Caps{GeneralCC: true}) }, map[string]string{
			"1 debugfs": fmt.Sprint(len(keys(nicparam.Debugfs, nicparam.Caps{GeneralCC: true}))),
		}},
		{"DCB", func(_ *machine, o *Options) { o.Socket = newDCB("ens1f0np0") }, map[string]string{"1 dcb": fmt.Sprint(1 + 64 + 8 + 8 + 8 + 8 + 8 + 1)}},
		{"configfs", func(m *machine, _ *Options) {
			m.file(configfs+"/mlx5_0/ports/1/default_roce_tos", "0")
			m.file(configfs+"/mlx5_0/ports/1/default_roce_mode", "RoCE v2")
		}, map[string]string{"1 configfs": "2"}},
		{"rdma_cm without the device, read-only", func(m *machine, o *Options) {
			m.mkdir(configfs)
			o.ReadOnly = true
		}, map[string]string{"1 configfs": "/mlx5_0 is not there: the agent makes it"}},
		{"rdma_cm without the device", func(m *machine, _ *Options) { m.mkdir(configfs) }, map[string]string{"1 configfs": "not offered"}},
		{"mstconfig", func(_ *machine, o *Options) { o.Mstconfig = mstconfig("RPG_GD_P1 11 11 11", "RPG_AI_RATE_P1 5 5 5") }, map[string]string{"0 nv": "2"}},
		{"a card without such parameters", func(_ *machine, o *Options) { o.Mstconfig = mstconfig("SRIOV_EN True(1) True(1) True(1)") }, map[string]string{"0 nv": "none of the parameters"}},
		{"management service of another card", func(_ *machine, o *Options) { o.DMS = func(string) dms.Client { return nil } }, map[string]string{"1 dms": "no such card"}},
		{"management service that does not answer", func(_ *machine, o *Options) { o.DMSAddress = DMSAddress{Target: "127.0.0.1:1"} }, map[string]string{"1 dms": "Unavailable"}},
		{"only the allowed back ends", func(m *machine, o *Options) {
			m.vendorFiles(0, "")
			m.kernelFiles(0, nicparam.Caps{})
			o.Backends = []nicparam.Backend{nicparam.Debugfs}
		}, map[string]string{"1 debugfs": fmt.Sprint(debugfs), "1 sysfs": "", "0 nv": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, t.TempDir())
			m.nic(0)
			h := m.open(func(o *Options) { c.make(m, o) })
			nics(t, h)
			got := findings(h)
			for way, want := range c.want {
				if found, ok := got[way]; want == "" && ok || !strings.Contains(found, want) {
					t.Errorf("%s: %q, want %q", way, found, want)
				}
			}
		})
	}
}

func keys(b nicparam.Backend, c nicparam.Caps) (out []string) {
	for _, p := range nicparam.New(c).By(b) {
		for range p.Scope.Size() {
			out = append(out, p.Name)
		}
	}
	return out
}

// mstconfig answers a query with rows "NAME default current next".
func mstconfig(rows ...string) *program {
	var b strings.Builder
	b.WriteString("\nDevice #1:\n----------\n\nDevice type:    ConnectX6DX\nDevice:         0000:3b:00.0\n\nConfigurations:    Default     Current     Next Boot\n")
	for _, r := range rows {
		f := strings.Fields(r)
		fmt.Fprintf(&b, "         %-36s%-16s%-16s%-16s\n", f[0], f[1], f[2], f[3])
	}
	return &program{answers: map[string]string{"-d 0000:3b:00.0": b.String()}}
}

// The firmware's answer determines the width of its registers and its generation.
func TestCapabilitiesFollowTheFirmware(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		rows []string
		wide bool
		new  bool
	}{
		{"narrow", []string{"RPG_AI_RATE_P1 5 131071 5"}, false, false},
		{"rate above 17 bits", []string{"RPG_AI_RATE_P1 5 131072 5"}, true, false},
		{"byte counter above 15 bits", []string{"RPG_BYTE_RESET_P1 32768 32768 32768"}, true, false},
		{"a newer name", []string{"ROCE_CC_CNP_MODERATION_P1 DEVICE_DEFAULT(0) DEVICE_DEFAULT(0) PER_FLOW(2)"}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, t.TempDir())
			m.nic(0)
			n := nics(t, m.open(func(o *Options) { o.Mstconfig = mstconfig(c.rows...) }))[0]
			if caps := n.Table.Caps(); caps.Rate32 != c.wide || caps.NewNV != c.new {
				t.Errorf("%+v", caps)
			}
			if n.NV == nil {
				t.Error("no interface to the stages")
			}
		})
	}
}

func TestASetGoesToTheHostsFiles(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	m.vendorFiles(0, "params/")
	m.kernelFiles(0, nicparam.Caps{})
	d := nics(t, m.open(nil))[0].Device
	r, err := d.Set(t.Context(), []nicparam.Setting{{Key: nicparam.Key{Port: 1, Name: "rpg_ai_rate"}, Value: 80}, {Key: nicparam.Key{Port: 1, Name: "cnp_prio_mode"}, Value: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Fields[0].By != nicparam.Sysfs || r.Fields[1].By != nicparam.Debugfs {
		t.Errorf("%+v", r.Fields)
	}
	b, err := (&inventory{files: m.open(nil).files}).files.Read("sys/class/net/ens1f0np0/ecn/roce_rp/params/rpg_ai_rate")
	if err != nil || strings.TrimSpace(string(b)) != "80" {
		t.Errorf("%q, %v", b, err)
	}
}

// A card keeps its Device until the kernel's devices change.
func TestADriverThatReloadsMakesANewDevice(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	h := m.open(nil)
	first := nics(t, h)[0]
	if again := nics(t, h)[0]; again.Device != first.Device || again.Incarnation != first.Incarnation {
		t.Error("a card that has not changed has another device")
	}
	const dev = "sys/devices/pci0000:3a/0000:3b:00.0/"
	m.file(dev+"net/ens1f0np0/ifindex", "77")
	second := nics(t, h)[0]
	if second.Device == first.Device || second.Incarnation == first.Incarnation {
		t.Error("a re-created network device was not detected")
	}
	m.file("kept", "") // occupies the inode number that the removal would free
	m.mkdir(dev + "infiniband/new")
	for _, name := range []string{"fw_ver", "board_id", "hca_type", "node_guid", "ports/1/link_layer", "ports/1/gid_attrs/ndevs/0"} {
		b, err := h.files.Read(dev + "infiniband/mlx5_0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		m.file(dev+"infiniband/new/"+name, strings.TrimSpace(string(b)))
	}
	m.remove("sys/class/infiniband/mlx5_0")
	m.remove(dev + "infiniband/mlx5_0")
	m.link("sys/class/infiniband/new", dev+"infiniband/new")
	third := nics(t, h)[0]
	if third.Incarnation == second.Incarnation || third.Ports[0].RDMA != "new" {
		t.Error("a re-created RDMA device was not detected")
	}
	m.vendorFiles(0, "")
	if fourth := nics(t, h)[0]; fourth.Device == third.Device {
		t.Error("new files were not detected")
	}
	m.remove("sys/class/net/ens1f0np0")
	if left := nics(t, h); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// A number that is temporarily unreadable does not count as another device; otherwise managers' settings would
// overwrite later changes.
func TestATemporarilyUnreadableNumberDoesNotChangeTheDevice(t *testing.T) {
	t.Parallel()
	const dev = "sys/devices/pci0000:3a/0000:3b:00.0/"
	for _, name := range []string{"net/ens1f0np0/ifindex", "infiniband/mlx5_0/fw_ver"} {
		m := newMachine(t, t.TempDir())
		m.nic(0)
		h := m.open(nil)
		first := nics(t, h)[0]
		b, err := h.files.Read(dev + name)
		if err != nil {
			t.Fatal(err)
		}
		m.remove(dev + name)
		if again := nics(t, h)[0]; again.Incarnation != first.Incarnation || again.Device != first.Device {
			t.Errorf("%s is missing: %q, want %q", name, again.Incarnation, first.Incarnation)
		}
		m.file(dev+name, strings.TrimSpace(string(b)))
		if again := nics(t, h)[0]; again.Incarnation != first.Incarnation {
			t.Errorf("%s is readable again: %q, want %q", name, again.Incarnation, first.Incarnation)
		}
		m.file(dev+name, "99")
		if other := nics(t, h)[0]; other.Incarnation == first.Incarnation {
			t.Errorf("another %s was not detected", name)
		}
		m.remove("sys/class/net/ens1f0np0")
		if nics(t, h); len(h.last) != 0 {
			t.Errorf("state of removed cards: %v", h.last)
		}
	}
}

// A program that failed is run again. The card gets a new Device only if the program then succeeds.
func TestFailedReadsAreRetried(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	tool := &program{}
	h := m.open(func(o *Options) { o.Mstconfig = tool })
	first := nics(t, h)[0]
	for range 2 * readsUntilRetry {
		if again := nics(t, h)[0]; again.Device != first.Device {
			t.Fatal("the same ways make another device")
		}
	}
	if len(tool.runs) != 3 {
		t.Errorf("asked %d times", len(tool.runs))
	}
	tool.answers = mstconfig("RPG_GD_P1 11 11 11").answers
	for range readsUntilRetry {
		nics(t, h)
	}
	if again := nics(t, h)[0]; again.Device == first.Device || again.NV == nil || again.Incarnation != first.Incarnation {
		t.Error("a newly installed program was not detected")
	}
	asked := len(tool.runs)
	for range 2 * readsUntilRetry {
		nics(t, h)
	}
	if len(tool.runs) != asked {
		t.Error("a card without failed programs is probed again")
	}
}

// BenchmarkLook reads an unchanged host with one card of two ports.
func BenchmarkLook(b *testing.B) {
	m := newMachine(b, b.TempDir())
	m.nic(0)
	m.nic(1)
	h := m.open(func(o *Options) { o.Mstconfig = mstconfig("RPG_GD_P1 11 11 11") })
	nics(b, h)
	b.ReportAllocs()
	for b.Loop() {
		nics(b, h)
	}
}

func TestDevicesThatAreNotPortsAreSkippedWithAReason(t *testing.T) {
	t.Parallel()
	const dev = "sys/devices/pci0000:3a/0000:3b:00.0/"
	for _, c := range []struct {
		name, says string
		mend       func(*machine)
	}{
		{"InfiniBand", `"InfiniBand"`, func(m *machine) { m.file(dev+"infiniband/mlx5_0/ports/1/link_layer", "InfiniBand") }},
		{"no RDMA driver", "no RDMA device", func(m *machine) { m.remove(dev + "infiniband") }},
		{"no GUID", "node GUID", func(m *machine) { m.remove(dev + "infiniband/mlx5_0/node_guid") }},
		{"GUID of zeros", "node GUID", func(m *machine) { m.file(dev+"infiniband/mlx5_0/node_guid", "0000:0000:0000:0000") }},
		{"two that name it", "cannot determine", func(m *machine) { m.file(dev+"infiniband/mlx5_0/ports/2/gid_attrs/ndevs/0", "ens1f0np0") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, t.TempDir())
			m.nic(0)
			c.mend(m)
			h := m.open(nil)
			if got := nics(t, h); len(got) != 0 {
				t.Errorf("%+v", got)
			}
			if !slices.ContainsFunc(h.Report().Notes, func(n Note) bool { return n.What == "ens1f0np0" && strings.Contains(n.Why, c.says) }) {
				t.Errorf("%+v", h.Report().Notes)
			}
		})
	}
}

// In switchdev mode representors have RDMA devices on the same PCI function, and a bond names itself in the table of GIDs.
func TestRepresentorsAndBondsDoNotMislead(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	m.functions(0, 2, true)
	const dev = "sys/devices/pci0000:3a/0000:3b:00.0/infiniband/mlx5_0/"
	m.file(dev+"ports/2/gid_attrs/ndevs/0", "ens1f0npf0vf0")
	got := nics(t, m.open(nil))
	if len(got) != 1 || len(got[0].Ports) != 1 || got[0].Ports[0].RDMAPort != 1 {
		t.Fatalf("%+v", got)
	}
	m.remove(dev + "ports/2")
	m.file(dev+"ports/1/gid_attrs/ndevs/0", "bond0")
	if got := nics(t, m.open(nil)); len(got) != 1 || got[0].Ports[0].RDMA != "mlx5_0" {
		t.Fatalf("%+v", got)
	}
}

// The answers of devlink about the mode of the card's e-switch.
const (
	switchdevText = `{"dev":{"pci/0000:3b:00.0":{"mode":"switchdev"}}}`
	legacyText    = `{"dev":{"pci/0000:3b:00.0":{"mode":"legacy"}}}`
)

func devlink(mode string) *program {
	return &program{answers: map[string]string{
		"-j dev eswitch show pci/0000:3b:00.0": mode,
		"-j port show": `{"port":{"pci/0000:3b:00.0/1":{"flavour":"pcivf","pfnum":0,"vfnum":0,"netdev":"ens1f0npf0vf0"},
			"pci/0000:3b:00.0/2":{"flavour":"pcivf","pfnum":0,"vfnum":1,"netdev":"ens1f0npf0vf1"}}}`,
		"-j port function rate show": `{"rate":{"pci/0000:3b:00.0/1":{"type":"leaf","tx_max":125000000},"pci/0000:3b:00.0/2":{"type":"leaf","tc-bw":{"0":100}}}}`,
	}}
}

func TestRatesOfFunctionsUseTheInterfaceOfTheMode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		switchdev bool
		tool      vfshare.Tool
		want      map[string]string
		by        nicparam.Backend
		functions int
	}{
		{"switchdev", true, devlink(switchdevText), map[string]string{"1 devlink": "14", "1 link": "switchdev mode"}, nicparam.Devlink, 2},
		{"legacy", false, devlink(legacyText), map[string]string{"1 link": "4", "1 devlink": "legacy mode"}, nicparam.Link, 2},
		{"unknown mode", true, &program{}, map[string]string{"1 link": "is unknown", "1 devlink": "is unknown"}, "", 0},
		{"no devlink", true, anyProgram{"no-such-program"}, map[string]string{"1 link": "not installed", "1 devlink": "not installed"}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, t.TempDir())
			m.nic(0)
			m.functions(0, 2, c.switchdev)
			h := m.open(func(o *Options) {
				o.Devlink, o.Links = c.tool, &noLinks{[]vfshare.LinkRate{{Function: 0}, {Function: 1}}}
			})
			n := nics(t, h)[0]
			got := findings(h)
			for way, want := range c.want {
				if !strings.Contains(got[way], want) {
					t.Errorf("%s: %q, want %q", way, got[way], want)
				}
			}
			r := n.Device.Read(t.Context(), []nicparam.Key{{Port: 1, Name: "vf_tx_max", Index: 1}})[0]
			if r.By != c.by || (r.Err == nil) != (c.by != "") || n.Ports[0].Functions != c.functions {
				t.Errorf("by %q: %v, %d functions", r.By, r.Err, n.Ports[0].Functions)
			}
		})
	}
}

func TestAFunctionOfAnotherHostHasCountersAndNoParameters(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	const dev = "sys/devices/pci0000:3a/0000:3b:00.0/"
	m.file(dev+"infiniband/mlx5_0/hca_type", "MT4126 VF")
	m.remove(dev + "net/ens1f0np0/phys_port_name")
	h := m.open(nil)
	n := nics(t, h)[0]
	if f := findings(h); !strings.Contains(f["1 sysfs"], "obeys the parameters of its physical function") || !strings.Contains(f["1 debugfs"], "virtual function") {
		t.Errorf("%q", f)
	}
	if c, err := n.Ports[0].Meter.Counters(t.Context()); err != nil || c["np_cnp_sent"].Value != 11 {
		t.Errorf("%v, %v", c, err)
	}
	if r := n.Device.ReadAll(t.Context()); len(r) != 0 {
		t.Errorf("%v", r)
	}
}

func TestBootID(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	h := m.open(nil)
	if id, err := h.BootID(t.Context()); err != nil || id != "3f1a1e9c-8d6b-4f43-9a0e-0c7a0f3f6a11" {
		t.Errorf("%q, %v", id, err)
	}
	m.file("proc/sys/kernel/random/boot_id", "")
	if _, err := h.BootID(t.Context()); err == nil {
		t.Error("an empty boot id was accepted")
	}
	m.remove("proc")
	if _, err := h.BootID(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestOnlyConfiguredCardsCount(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	for _, d := range []string{"0000:3b:00", "0000:3b:00.0", "ens1f0np0", "mlx5_0"} {
		if got := nics(t, m.open(func(o *Options) { o.Devices = []string{d} })); len(got) != 1 {
			t.Errorf("%s: %d cards", d, len(got))
		}
	}
	h := m.open(func(o *Options) { o.Devices = []string{"ens9"} })
	if got := nics(t, h); len(got) != 0 || len(h.Report().Notes) != 1 {
		t.Errorf("%v %v", got, h.Report())
	}
}

func TestTwoNetworkDevicesOfOneNumberAreAProblem(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	m.nic(1)
	m.file("sys/devices/pci0000:3a/0000:3b:00.1/net/ens1f1np1/phys_port_name", "p0")
	if n := nics(t, m.open(nil))[0]; !strings.Contains(n.Problem, "both are port 1") || len(n.Ports) != 1 {
		t.Errorf("%+v", n)
	}
}

func TestAHostWithoutNetworkDevices(t *testing.T) {
	t.Parallel()
	h, err := Open(Options{Root: t.TempDir(), Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if got := nics(t, h); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if _, err := Open(Options{Root: t.TempDir(), Quiet: true, DMSAddress: DMSAddress{Target: "192.0.2.1:9339"}}); err == nil {
		t.Error("a service elsewhere without TLS was accepted")
	}
	if _, err := Open(Options{Root: t.TempDir() + "/nothing"}); err == nil {
		t.Error("a missing root was opened")
	}
}
