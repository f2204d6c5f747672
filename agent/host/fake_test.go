package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/vfshare"
)

// machine is a root for a test: a host with cards, as the kernel presents them.
type machine struct {
	t   testing.TB
	dir string
}

func newMachine(t testing.TB, dir string) *machine {
	m := &machine{t, dir}
	m.file("proc/sys/kernel/random/boot_id", "3f1a1e9c-8d6b-4f43-9a0e-0c7a0f3f6a11")
	m.mkdir("sys/class/net/lo")
	m.mkdir("sys/class/infiniband")
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) mkdir(name string) {
	m.t.Helper()
	if err := os.MkdirAll(m.path(name), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) file(name, text string) {
	m.t.Helper()
	m.mkdir(filepath.Dir(name))
	if err := os.WriteFile(m.path(name), []byte(text+"\n"), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// link makes a symbolic link from name to target, both below the root, relative as in sysfs.
func (m *machine) link(name, target string) {
	m.t.Helper()
	m.mkdir(filepath.Dir(name))
	to, err := filepath.Rel(filepath.Dir(m.path(name)), m.path(target))
	if err != nil {
		m.t.Fatal(err)
	}
	if err := os.Symlink(to, m.path(name)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) remove(name string) {
	m.t.Helper()
	if err := os.RemoveAll(m.path(name)); err != nil {
		m.t.Fatal(err)
	}
}

// nic adds a port of a card: function n of a card of the vendor, with network device ens1f<n>np<n> and RDMA device
// mlx5_<n>.
func (m *machine) nic(n int) {
	pci := fmt.Sprintf("0000:3b:00.%d", n)
	dev := "sys/devices/pci0000:3a/" + pci
	net, rdma := fmt.Sprintf("ens1f%dnp%d", n, n), fmt.Sprintf("mlx5_%d", n)
	m.file(dev+"/uevent", "DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:101D\nPCI_SLOT_NAME="+pci)
	m.file(dev+"/sriov_numvfs", "0")
	m.link("sys/bus/pci/devices/"+pci, dev)
	for name, text := range map[string]string{
		"ifindex": strconv.Itoa(4 + n), "address": fmt.Sprintf("b8:59:9f:00:00:%02x", n), "operstate": "up", "speed": "200000",
		"dev_port": "0", "phys_port_name": fmt.Sprintf("p%d", n), "phys_switch_id": "",
	} {
		m.file(dev+"/net/"+net+"/"+name, text)
	}
	m.link(dev+"/net/"+net+"/device", dev)
	m.link("sys/class/net/"+net, dev+"/net/"+net)
	for name, text := range map[string]string{
		"fw_ver": "22.35.1012", "board_id": "MT_0000000359", "hca_type": "MT4125", "node_guid": fmt.Sprintf("b859:9f03:0000:%04x", n+1),
		"ports/1/link_layer": "Ethernet", "ports/1/gid_attrs/ndevs/0": net,
		"ports/1/hw_counters/np_cnp_sent": "11", "ports/1/hw_counters/rp_cnp_handled": "12", "ports/1/hw_counters/lifespan": "10",
		"ports/1/counters/port_xmit_data": "1000",
	} {
		m.file(dev+"/infiniband/"+rdma+"/"+name, text)
	}
	m.link("sys/class/infiniband/"+rdma, dev+"/infiniband/"+rdma)
	m.link(dev+"/infiniband/"+rdma+"/device", dev)
}

// functions adds virtual functions to a port, each with a representor when the e-switch is in switchdev mode.
func (m *machine) functions(n, count int, switchdev bool) {
	dev := fmt.Sprintf("sys/devices/pci0000:3a/0000:3b:00.%d", n)
	m.file(dev+"/sriov_numvfs", strconv.Itoa(count))
	for i := range count {
		pci := fmt.Sprintf("0000:3b:01.%d", i)
		vf := "sys/devices/pci0000:3a/" + pci
		m.file(vf+"/uevent", "DRIVER=mlx5_core\nPCI_ID=15B3:101E\nPCI_SLOT_NAME="+pci)
		m.link(fmt.Sprintf("%s/virtfn%d", dev, i), vf)
		m.link(vf+"/physfn", dev)
		m.link("sys/bus/pci/devices/"+pci, vf)
		rdma := fmt.Sprintf("mlx5_%d", 2+i)
		m.file(vf+"/infiniband/"+rdma+"/ports/1/hw_counters/rp_cnp_handled", strconv.Itoa(100+i))
		m.file(vf+"/infiniband/"+rdma+"/ports/1/hw_counters/out_of_sequence", "N/A")
		m.link("sys/class/infiniband/"+rdma, vf+"/infiniband/"+rdma)
		if !switchdev {
			name := fmt.Sprintf("ens1f%dv%d", n, i)
			m.file(vf+"/net/"+name+"/ifindex", strconv.Itoa(20+i))
			m.link(vf+"/net/"+name+"/device", vf)
			m.link("sys/class/net/"+name, vf+"/net/"+name)
			continue
		}
		name := fmt.Sprintf("ens1f%dnpf%dvf%d", n, n, i)
		m.file(dev+"/net/"+name+"/phys_port_name", fmt.Sprintf("pf%dvf%d", n, i))
		m.file(dev+"/net/"+name+"/phys_switch_id", "aabb")
		m.link(dev+"/net/"+name+"/device", dev)
		m.link("sys/class/net/"+name, dev+"/net/"+name)
	}
	if switchdev {
		m.file(fmt.Sprintf("%s/net/ens1f%dnp%d/phys_switch_id", dev, n, n), "aabb")
	}
}

// vendorFiles adds the files of the vendor's driver; params is "params/" or nothing.
func (m *machine) vendorFiles(n int, params string) {
	for _, p := range nicparam.New(nicparam.Caps{}).By(nicparam.Sysfs) {
		s, _ := p.Source(nicparam.Sysfs)
		role, file, _ := strings.Cut(s.Name, "/")
		for i := range p.Scope.Size() {
			name := params + file
			if p.Scope != nicparam.ScopePort {
				name = strings.ReplaceAll(file, "<index>", strconv.Itoa(i))
			}
			m.file(fmt.Sprintf("sys/class/net/ens1f%dnp%d/ecn/%s/%s", n, n, role, name), strconv.FormatUint(p.Default, 10))
		}
	}
}

// kernelFiles adds the files of the kernel's driver.
func (m *machine) kernelFiles(n int, caps nicparam.Caps) {
	for _, p := range nicparam.New(caps).By(nicparam.Debugfs) {
		s, _ := p.Source(nicparam.Debugfs)
		m.file(fmt.Sprintf("%s/%s", ccParams(fmt.Sprintf("0000:3b:00.%d", n)), s.Name), strconv.FormatUint(p.Default, 10))
	}
}

// program answers arguments by their first words.
type program struct {
	mu      sync.Mutex
	answers map[string]string
	runs    []string
}

var errProgram = errors.New("exit status 1: refused")

func (p *program) Run(ctx context.Context, args []string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := strings.Join(args, " ")
	p.runs = append(p.runs, line)
	for _, begin := range slices.Backward(slices.Sorted(maps.Keys(p.answers))) {
		if strings.HasPrefix(line, begin) {
			return []byte(p.answers[begin]), ctx.Err()
		}
	}
	return nil, errProgram
}

// dcbKernel answers DCB netlink for one network device.
type dcbKernel struct {
	netdev string
	ieee   dcbnl.IEEE
}

func newDCB(netdev string) *dcbKernel {
	return &dcbKernel{netdev, dcbnl.IEEE{ETS: &dcbnl.ETS{Cap: 8, TxBW: [8]uint8{50, 50}, TSA: [8]uint8{2, 2}}, PFC: &dcbnl.PFC{Cap: 8}, MaxRate: &[8]uint64{}}}
}

// Exchange implements nicfiles.Socket.
func (k *dcbKernel) Exchange(_ context.Context, request []byte) ([]byte, error) {
	c := dcbnl.Native()
	m, err := c.Decode(request)
	if err != nil {
		return nil, err
	}
	if m.Interface != k.netdev {
		return refusal(m.Sequence, 95), nil // EOPNOTSUPP
	}
	b, err := c.Encode(&dcbnl.Message{Type: m.Type, Sequence: m.Sequence, Command: m.Command, Interface: m.Interface, IEEE: &k.ieee})
	if err != nil {
		return nil, err
	}
	return append(b, refusal(m.Sequence, 0)...), nil
}

// refusal returns the kernel's final message for a request, with an error number; 0 means success.
func refusal(sequence uint32, number int32) []byte {
	b := make([]byte, 36)
	binary.NativeEndian.PutUint32(b, 36)
	binary.NativeEndian.PutUint16(b[4:], dcbnl.TypeError)
	binary.NativeEndian.PutUint32(b[8:], sequence)
	binary.NativeEndian.PutUint32(b[16:], uint32(-number))
	return b
}

// noLinks is a fake vfshare.Links.
type noLinks struct{ rates []vfshare.LinkRate }

func (l *noLinks) Rates(context.Context, string) ([]vfshare.LinkRate, error) { return l.rates, nil }
func (l *noLinks) SetRate(_ context.Context, _ string, r vfshare.LinkRate) error {
	l.rates[r.Function] = r
	return nil
}

// open opens the machine as a host.
func (m *machine) open(change func(*Options)) *Host {
	m.t.Helper()
	o := Options{Root: m.dir, Socket: &dcbKernel{}, Links: &noLinks{}, Mstconfig: &program{}, Mstreg: &program{}, Devlink: &program{}, Ethtool: &program{}, Quiet: true}
	if change != nil {
		change(&o)
	}
	h, err := Open(o)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if err := h.Close(); err != nil {
			m.t.Error(err)
		}
	})
	return h
}
