package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/Mellanox/rdmamap"
	"github.com/google/go-cmp/cmp"
	"github.com/k8snetworkplumbingwg/rdma-cni/pkg/cache"
	rdmatypes "github.com/k8snetworkplumbingwg/rdma-cni/pkg/types"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/ccconfig/nic/vfshare"
)

const (
	pf0   = "sys/devices/pci0000:3a/0000:3b:00.0"
	vf1   = "0000:3b:01.1"
	sf4   = "mlx5_core.sf.4"
	cmTOS = "/ports/1/default_roce_tos"
)

// podMachine is a host with a card of two virtual functions and a sub-function, each with an RDMA device, and configfs.
func podMachine(t testing.TB, switchdev bool) *machine {
	t.Helper()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	m.functions(0, 2, switchdev)
	for i := range 2 {
		pci := fmt.Sprintf("0000:3b:01.%d", i)
		m.rdma("sys/devices/pci0000:3a/"+pci, fmt.Sprintf("mlx5_%d", 2+i), fmt.Sprintf("b859:9f03:0000:01%02d", i))
	}
	m.file(pf0+"/"+sf4+"/sfnum", "88")
	m.file(pf0+"/"+sf4+"/uevent", "DRIVER=mlx5_core.sf\nMODALIAS=auxiliary:mlx5_core.sf")
	m.file(pf0+"/"+sf4+"/net/enp59s0f0s88/ifindex", "40")
	m.link("sys/bus/auxiliary/devices/"+sf4, pf0+"/"+sf4)
	m.rdma(pf0+"/"+sf4, "mlx5_8", "b859:9f03:0000:0200")
	m.link("sys/class/infiniband/mlx5_8", pf0+"/"+sf4+"/infiniband/mlx5_8")
	return m
}

// rdma adds the files of a device's RDMA device, with its directory of rdma_cm in configfs.
func (m *machine) rdma(dev, name, guid string) {
	for file, text := range map[string]string{
		"node_guid": guid, "hca_type": "MT4126", "ports/1/link_layer": "Ethernet", "ports/1/counters/port_xmit_data": "4242", "ports/1/hw_counters/np_cnp_sent": "17",
		"ports/1/hw_counters/lifespan": "10",
	} {
		m.file(dev+"/infiniband/"+name+"/"+file, text)
	}
	// The kernel's links end in the name of their target.
	if err := os.Symlink("../../../"+filepath.Base(dev), m.path(dev+"/infiniband/"+name+"/device")); err != nil {
		m.t.Fatal(err)
	}
	m.file(configfs+"/"+name+cmTOS, "0")
}

// moved makes a virtual function look as after it moved to the network namespace of a pod.
func (m *machine) moved(pci, rdma string) {
	dev := "sys/devices/pci0000:3a/" + pci
	m.remove("sys/class/infiniband/" + rdma)
	m.remove(dev + "/infiniband")
	m.remove(dev + "/net")
	m.mkdir(dev + "/net")
}

func legacy(m *machine, l *noLinks) *PodDevices {
	return m.open(func(o *Options) { o.Links, o.Devlink = l, devlink(legacyText) }).PodDevices()
}

func refreshed(t *testing.T, d *PodDevices, want int) {
	t.Helper()
	if n, err := d.Refresh(t.Context()); n != want || err != nil {
		t.Fatalf("%d devices, %v, want %d", n, err, want)
	}
}

func find(t *testing.T, d *PodDevices, id string) podsock.Device {
	t.Helper()
	found, err := d.Find(t.Context(), pods.Query{Key: podsock.Key{Network: "n", ContainerID: "c", Interface: "net1"}, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestADeviceIsMappedAndRememberedAfterItMoved(t *testing.T) {
	t.Parallel()
	m := podMachine(t, false)
	d := legacy(m, &noLinks{})
	refreshed(t, d, 4) // the physical function, two virtual ones, a sub-function
	want := podsock.Device{
		ID: vf1, RDMA: "mlx5_3", RDMAPort: 1, GUID: "0xb8599f0300000101", NetDev: "ens1f0v1", PF: "0000:3b:00.0", PFNetDev: "ens1f0np0", VF: new(1),
		Port: "0xb8599f0300000001:1", Link: "Ethernet",
	}
	if diff := cmp.Diff(want, find(t, d, vf1)); diff != "" {
		t.Error(diff)
	}
	m.moved(vf1, "mlx5_3")
	refreshed(t, d, 4)
	if diff := cmp.Diff(want, find(t, d, vf1)); diff != "" {
		t.Errorf("after the move:\n%s", diff)
	}
	aux := podsock.Device{
		ID: sf4, RDMA: "mlx5_8", RDMAPort: 1, GUID: "0xb8599f0300000200", NetDev: "enp59s0f0s88", PF: "0000:3b:00.0", PFNetDev: "ens1f0np0",
		Port: "0xb8599f0300000001:1", Link: "Ethernet",
	}
	if diff := cmp.Diff(aux, find(t, d, sf4)); diff != "" {
		t.Errorf("auxiliary device:\n%s", diff)
	}
	m.remove("sys/bus/pci/devices/" + vf1)
	refreshed(t, d, 3) // a removed function is not remembered
}

// An agent that started after the device moved learns its name from an earlier record, or from rdma-cni's state file.
func TestTheNameOfAMovedDeviceComesFromARecordOrRDMACNI(t *testing.T) {
	t.Parallel()
	m := podMachine(t, false)
	m.moved(vf1, "mlx5_3")
	d := legacy(m, &noLinks{})
	refreshed(t, d, 3)
	q := pods.Query{Key: podsock.Key{Network: "n", ContainerID: "c", Interface: "net1"}, ID: vf1}
	if found, err := d.Find(t.Context(), q); err != nil || found.RDMA != "" || found.PF != "0000:3b:00.0" || *found.VF != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	known := q
	known.Known = podsock.Device{ID: vf1, RDMA: "mlx5_3", RDMAPort: 1, GUID: "0xb8599f0300000101"}
	if found, err := legacy(m, &noLinks{}).Find(t.Context(), known); err != nil || found.RDMA != "mlx5_3" || found.GUID == "" {
		t.Errorf("%+v, %v", found, err)
	}
	stateMutex.Lock()
	cache.CacheDir = m.path("var/lib/cni/rdma")
	states := cache.NewStateCache()
	stateMutex.Unlock()
	s := rdmatypes.NewRdmaNetState()
	s.DeviceID, s.SandboxRdmaDevName, s.ContainerRdmaDevName = "0000:3b:01.0", "mlx5_2", "mlx5_2"
	ref := states.GetStateRef("n", "c", "net1")
	if err := states.Save(ref, s); err != nil {
		t.Fatal(err)
	}
	if found := find(t, d, vf1); found.RDMA != "" {
		t.Errorf("the state of another device was used: %+v", found)
	}
	s.DeviceID, s.SandboxRdmaDevName = vf1, "mlx5_3"
	if err := states.Save(ref, s); err != nil {
		t.Fatal(err)
	}
	if found := find(t, d, vf1); found.RDMA != "mlx5_3" || found.RDMAPort != 1 {
		t.Errorf("%+v", found)
	}
}

func TestNamesThatAreNoDevices(t *testing.T) {
	t.Parallel()
	m := podMachine(t, false)
	d := legacy(m, &noLinks{})
	for _, id := range []string{"", "..", "0000:3b:00.0/../0000:3b:01.1", "mlx5_core.sf.4/../../x", "0000:3B:01.1"} {
		if _, err := d.Find(t.Context(), pods.Query{ID: id}); err == nil {
			t.Errorf("%q was found", id)
		}
		if err := d.Restore(t.Context(), podsock.Device{ID: id}, podsock.Settings{}); id != "" && !errors.Is(err, pods.ErrGone) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := d.Find(t.Context(), pods.Query{ID: "0000:99:00.0"}); !errors.Is(err, pods.ErrGone) {
		t.Error(err)
	}
}

// levers of a test: 40 Gbit/s at most, a quarter of 200 Gbit/s guaranteed, DSCP 26.
func levers() podsock.Levers {
	return podsock.Levers{MaxMbps: new(uint32(40000)), ShareOf1000: new(uint16(250)), TOS: new(uint8(104))}
}

// applies applies levers, reads them back, and restores the earlier values.
func applies(t *testing.T, d *PodDevices, id string, want, before podsock.Settings, missing string) {
	t.Helper()
	found := find(t, d, id)
	was, err := d.Read(t.Context(), found)
	if diff := cmp.Diff(before, was); diff != "" || err != nil {
		t.Fatalf("before: %v\n%s", err, diff)
	}
	applied, err := d.Apply(t.Context(), found, levers())
	if diff := cmp.Diff(want, applied.Settings); diff != "" || err != nil || !strings.Contains(applied.Missing, missing) || missing == "" && applied.Missing != "" {
		t.Fatalf("%v, missing %q\n%s", err, applied.Missing, diff)
	}
	now, err := d.Read(t.Context(), found)
	if diff := cmp.Diff(want, now); diff != "" || err != nil {
		t.Errorf("read back: %v\n%s", err, diff)
	}
	if err := d.Restore(t.Context(), found, was); err != nil {
		t.Error(err)
	}
	now, err = d.Read(t.Context(), found)
	if diff := cmp.Diff(before, now); diff != "" || err != nil {
		t.Errorf("restored: %v\n%s", err, diff)
	}
}

func settings(most, share uint32, tos uint8) podsock.Settings {
	return podsock.Settings{MaxMbps: &most, ShareMbps: &share, TOS: &tos}
}

func TestLeversOfAVirtualFunctionInLegacyMode(t *testing.T) {
	t.Parallel()
	m := podMachine(t, false)
	l := &noLinks{rates: []vfshare.LinkRate{{Function: 0, Min: 1, Max: 2}, {Function: 1, Min: 3, Max: 4}}}
	d := legacy(m, l)
	refreshed(t, d, 4)
	m.moved(vf1, "mlx5_3") // levers work from the host's namespaces
	applies(t, d, vf1, settings(40000, 50000, 104), settings(4, 3, 0), "")
	if l.rates[0] != (vfshare.LinkRate{Function: 0, Min: 1, Max: 2}) {
		t.Errorf("another function has %+v", l.rates[0])
	}
	applies(t, d, sf4, podsock.Settings{TOS: new(uint8(104))}, podsock.Settings{TOS: new(uint8(0))}, "it is no virtual function")
}

// eswitch is a fake devlink for a card in switchdev mode with two functions.
type eswitch struct {
	mu    sync.Mutex
	rates map[string]map[string]uint64
}

func (e *eswitch) Run(_ context.Context, args []string) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	line := strings.Join(args, " ")
	switch {
	case strings.HasPrefix(line, "-j dev eswitch"):
		return []byte(`{"dev":{"pci/0000:3b:00.0":{"mode":"switchdev"}}}`), nil
	case strings.HasPrefix(line, "-j port show"):
		return []byte(`{"port":{"pci/0000:3b:00.0/1":{"flavour":"pcivf","pfnum":0,"vfnum":0},"pci/0000:3b:00.0/2":{"flavour":"pcivf","pfnum":0,"vfnum":1}}}`), nil
	case strings.HasPrefix(line, "-j port function rate show"):
		var all []string
		for handle, rates := range e.rates {
			text := `"` + handle + `":{"type":"leaf"`
			for name, v := range rates {
				text += fmt.Sprintf(`,%q:%d`, name, v*125000)
			}
			all = append(all, text+"}")
		}
		return []byte(`{"rate":{` + strings.Join(all, ",") + `}}`), nil
	case strings.HasPrefix(line, "port function rate set "):
		for i := 5; i+1 < len(args); i += 2 {
			v, err := strconv.ParseUint(strings.TrimSuffix(args[i+1], "mbit"), 10, 64)
			if err != nil {
				return nil, err
			}
			e.rates[args[4]][args[i]] = v
		}
		return nil, nil
	}
	return nil, errProgram
}

func TestLeversOfAVirtualFunctionInSwitchdevMode(t *testing.T) {
	t.Parallel()
	m := podMachine(t, true)
	e := &eswitch{rates: map[string]map[string]uint64{"pci/0000:3b:00.0/1": {}, "pci/0000:3b:00.0/2": {}}}
	d := m.open(func(o *Options) { o.Devlink = e }).PodDevices()
	refreshed(t, d, 4)
	applies(t, d, vf1, settings(40000, 50000, 104), settings(0, 0, 0), "")
	if len(e.rates["pci/0000:3b:00.0/1"]) != 0 {
		t.Errorf("another function has %v", e.rates)
	}
}

func TestAnEswitchThatChangesItsModeIsProbedAgain(t *testing.T) {
	t.Parallel()
	m, tool := podMachine(t, false), devlink(legacyText)
	d := m.open(func(o *Options) {
		o.Links, o.Devlink = &noLinks{rates: []vfshare.LinkRate{{Function: 0, Max: 2}, {Function: 1}}}, tool
	}).PodDevices()
	rate := func(want uint32) {
		t.Helper()
		refreshed(t, d, 4)
		if now, err := d.Read(t.Context(), find(t, d, vf0)); err != nil || now.MaxMbps == nil || *now.MaxMbps != want {
			t.Errorf("%+v, %v, want max_mbps %d", now, err, want)
		}
	}
	rate(2)
	tool.answers = devlink(switchdevText).answers
	m.file(pf0+"/net/ens1f0np0/phys_switch_id", "aabb")
	rate(1000)
}

func TestLeversThatADeviceDoesNotOffer(t *testing.T) {
	t.Parallel()
	m := podMachine(t, false)
	m.remove("sys/kernel/config")
	d := m.open(nil).PodDevices() // devlink does not answer: the mode is unknown
	applies(t, d, vf1, podsock.Settings{}, podsock.Settings{}, "the mode of the e-switch is unknown")
	ib := podMachine(t, false)
	for _, dev := range []string{pf0 + "/infiniband/mlx5_0", "sys/devices/pci0000:3a/" + vf1 + "/infiniband/mlx5_3"} {
		ib.file(dev+"/ports/1/link_layer", "InfiniBand")
	}
	applies(t, legacy(ib, &noLinks{}), vf1, podsock.Settings{}, podsock.Settings{}, "no rates on InfiniBand")
	down := podMachine(t, false)
	down.file(pf0+"/net/ens1f0np0/speed", "-1")
	of := legacy(down, &noLinks{rates: []vfshare.LinkRate{{Function: 0}, {Function: 1}}})
	if _, err := of.Apply(t.Context(), find(t, of, vf1), levers()); err == nil || !strings.Contains(err.Error(), "may be down") {
		t.Error(err)
	}
}

// A device has all levers of a class or none.
func TestAFailedLeverRestoresTheOthers(t *testing.T) {
	t.Parallel()
	m := podMachine(t, false)
	l := &noLinks{rates: []vfshare.LinkRate{{Function: 0}, {Function: 1, Min: 3, Max: 4}}}
	d := legacy(m, l)
	m.remove(configfs + "/mlx5_3" + cmTOS)
	m.mkdir(configfs + "/mlx5_3" + cmTOS) // can be neither read nor written
	if _, err := d.Apply(t.Context(), find(t, d, vf1), levers()); err == nil {
		t.Error("no error")
	}
	if l.rates[1] != (vfshare.LinkRate{Function: 1, Min: 3, Max: 4}) {
		t.Errorf("%+v", l.rates[1])
	}
}

func TestCountersOfADevice(t *testing.T) {
	t.Parallel()
	m := podMachine(t, false)
	d := legacy(m, &noLinks{})
	got, err := d.Counters(t.Context(), find(t, d, vf1))
	if diff := cmp.Diff(map[string]uint64{"port_xmit_data": 4242, "np_cnp_sent": 17, "rp_cnp_handled": 101}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	of := find(t, d, vf1)
	m.moved(vf1, "mlx5_3")
	if got, err := d.Counters(t.Context(), of); err == nil {
		t.Errorf("counters of a device that is not visible: %v", got)
	}
}

// The packages rdmamap and rdma map devices of the same tree as the files do. The roots of rdmamap are variables of the
// package, so this test does not run in parallel.
func TestRdmamapAgreesWithTheFiles(t *testing.T) {
	m := podMachine(t, false)
	class, pci, aux := rdmamap.RdmaClassDir, rdmamap.PciDevDir, rdmamap.AuxDevDir
	defer func() { rdmamap.RdmaClassDir, rdmamap.PciDevDir, rdmamap.AuxDevDir = class, pci, aux }()
	rdmamap.RdmaClassDir, rdmamap.PciDevDir, rdmamap.AuxDevDir = m.path("sys/class/infiniband"), m.path("sys/bus/pci/devices"), m.path("sys/bus/auxiliary/devices")
	h := m.open(nil)
	files, packages := fileMap{h.files}, newRDMAMap()
	if got, want := packages.devices(vf1), []string{"mlx5_3"}; !slices.Equal(got, want) || !slices.Equal(files.devices(vf1), want) {
		t.Errorf("PCI: %v, %v", got, files.devices(vf1))
	}
	if got, want := packages.auxiliary(sf4), []string{"mlx5_8"}; !slices.Equal(got, want) || !slices.Equal(files.auxiliary(sf4), want) {
		t.Errorf("auxiliary: %v, %v", got, files.auxiliary(sf4))
	}
	if got, want := packages.ports("mlx5_3"), []string{"1"}; !slices.Equal(got, want) || !slices.Equal(files.ports("mlx5_3"), want) {
		t.Errorf("ports: %v, %v", got, files.ports("mlx5_3"))
	}
	if got := packages.devices("0000:99:00.0"); len(got) != 0 {
		t.Errorf("a missing device has %v", got)
	}
}

func TestNetworkNamespacesAreGoneOnlyWhenThatIsKnown(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.file("run/netns/a", "")
	m.file("proc/1/stat", "")
	n := m.open(nil).NetNamespaces()
	id, err := n.Identify("/var/run/netns/a")
	if err != nil || id == "" || n.Gone("/run/netns/a", id) {
		t.Fatal(id, err)
	}
	for path, want := range map[string]bool{
		"/run/netns/b":         true,
		"/run/other/b":         false, // perhaps not mounted here
		"/proc/4711/ns/net":    true,
		"/proc/4711/ns/netfoo": false,
	} {
		if n.Gone(path, id) != want {
			t.Errorf("%s: gone %v, want %v", path, !want, want)
		}
	}
	if _, err := n.Identify("/run/netns/b"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Rename(m.path("run/netns/a"), m.path("run/netns/old")); err != nil {
		t.Fatal(err)
	}
	m.file("run/netns/a", "")
	if !n.Gone("/run/netns/a", id) {
		t.Error("another namespace at the same path is the one before")
	}
}
