package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"sync"

	"github.com/k8snetworkplumbingwg/rdma-cni/pkg/cache"
	rdmatypes "github.com/k8snetworkplumbingwg/rdma-cni/pkg/types"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicfiles"
)

const (
	pciDevices = "sys/bus/pci/devices/"
	auxDevices = "sys/bus/auxiliary/devices/"
)

// PodDevices are the devices of the host that pods may have: virtual functions and sub-functions. It remembers what each
// is, because a device that moved to the network namespace of a pod is no longer visible.
type PodDevices struct {
	host *Host

	mu        sync.Mutex
	known     map[string]podsock.Device // by id
	functions map[string]*physical      // by PCI address
}

var _ pods.Devices = (*PodDevices)(nil)

// PodDevices returns the devices of the host that pods may have.
func (h *Host) PodDevices() *PodDevices {
	return &PodDevices{host: h, known: map[string]podsock.Device{}, functions: map[string]*physical{}}
}

func (d *PodDevices) inventory() *inventory {
	return &inventory{files: d.host.files, mapper: d.host.mapper}
}

// Refresh implements pods.Devices. It starts from the RDMA devices that are visible.
func (d *PodDevices) Refresh(ctx context.Context) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	names, err := d.host.files.List(path.Clean(rdmaClass))
	if errors.Is(err, fs.ErrNotExist) {
		names, err = nil, nil // a host without RDMA
	}
	if err != nil {
		return 0, fmt.Errorf("RDMA devices: %w", err)
	}
	v := d.inventory()
	d.prune(v)
	for _, name := range names {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		id := v.uevent(rdmaClass + name + "/device")["PCI_SLOT_NAME"]
		if id == "" {
			if link, err := d.host.inodes.Readlink(rdmaClass + name + "/device"); err == nil {
				id = path.Base(link)
			}
		}
		if found, err := d.locate(v, id); err == nil {
			d.known[id] = merged(found, d.known[id])
		}
	}
	return len(d.known), nil
}

// prune drops what is remembered of devices that were removed, and of physical functions that changed.
func (d *PodDevices) prune(v *inventory) {
	for id := range d.known {
		if _, err := v.files.List(deviceDir(id)); errors.Is(err, fs.ErrNotExist) {
			delete(d.known, id)
		}
	}
	for pci, p := range d.functions {
		if p.stale(v) {
			delete(d.functions, pci)
		}
	}
}

// deviceDir returns the directory of a device whose name was checked.
func deviceDir(id string) string {
	if podsock.IsAuxiliary(id) {
		return auxDevices + id
	}
	return pciDevices + id
}

// locate reads a device. The caller holds mu.
func (d *PodDevices) locate(v *inventory, id string) (podsock.Device, error) {
	out := podsock.Device{ID: id}
	if err := podsock.CheckDevice(id); err != nil || id == "" {
		return out, fmt.Errorf("device %s: want a PCI address or an auxiliary device", podsock.Clip(id))
	}
	dir := deviceDir(id)
	if _, err := v.files.List(dir); errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("/%s: %w", dir, pods.ErrGone)
	} else if err != nil {
		return out, fmt.Errorf("/%s: %w", dir, err)
	}
	rdma := v.auxiliary
	if podsock.IsPCI(id) {
		rdma = v.devices
		out.PF = cmp.Or(v.uevent(dir + "/physfn")["PCI_SLOT_NAME"], id)
	} else if link, err := d.host.inodes.Readlink(dir); err == nil {
		out.PF = path.Base(path.Dir(link)) // .../0000:3b:00.0/mlx5_core.sf.4
	}
	if names, err := v.files.List(dir + "/net"); err == nil && len(names) == 1 {
		out.NetDev = names[0]
	}
	if devices := rdma(id); len(devices) == 1 { // several are representors, none of which is the pod's
		out.RDMA = devices[0]
		out.RDMAPort = rdmaPort(v, out.RDMA, out.NetDev)
		out.Link = v.linkLayer(out.RDMA, out.RDMAPort)
		if guid, _ := v.nodeGUID(out.RDMA); guid != 0 {
			out.GUID = guid.String()
		}
	}
	if !pciAddress.MatchString(out.PF) {
		out.PF = ""
		return out, nil
	}
	p := d.physical(v, out.PF)
	out.PFNetDev, out.Link = p.NetDev, cmp.Or(out.Link, p.link)
	if p.GUID != 0 {
		out.Port = p.id().String()
	}
	if i := slices.IndexFunc(p.Functions, func(f Function) bool { return f.PCI == id }); i >= 0 {
		out.VF = new(p.Functions[i].Index)
	}
	return out, nil
}

// rdmaPort returns the port of an RDMA device that belongs to a network device; 1 when only that one exists, or none is known.
func rdmaPort(v *inventory, device, netdev string) int {
	for _, word := range v.ports(device) {
		if n, err := strconv.Atoi(word); err == nil && n >= 1 && netdev != "" && v.names(device, n, netdev) {
			return n
		}
	}
	return 1
}

// merged completes a device by what is known from before.
func merged(now podsock.Device, before ...podsock.Device) podsock.Device {
	for _, b := range before {
		if b.ID != now.ID {
			continue
		}
		if now.RDMA == "" {
			now.RDMA, now.RDMAPort, now.GUID = b.RDMA, b.RDMAPort, b.GUID
		}
		now.NetDev, now.PF, now.PFNetDev = cmp.Or(now.NetDev, b.NetDev), cmp.Or(now.PF, b.PF), cmp.Or(now.PFNetDev, b.PFNetDev)
		now.Port, now.Link, now.VF = cmp.Or(now.Port, b.Port), cmp.Or(now.Link, b.Link), cmp.Or(now.VF, b.VF)
	}
	return now
}

// Find implements pods.Devices. The name of an RDMA device that already moved comes from an earlier inventory or record, or
// from the state file of rdma-cni.
func (d *PodDevices) Find(_ context.Context, q pods.Query) (podsock.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.inventory()
	found, err := d.locate(v, q.ID)
	if err != nil {
		return found, err
	}
	found = merged(found, d.known[q.ID], q.Known)
	if found.RDMA == "" {
		if name := d.rdmaState(q); name != "" {
			found.RDMA, found.RDMAPort = name, 1
		}
	}
	d.known[q.ID] = found
	return found, nil
}

// stateDir is the directory of rdma-cni's state.
const stateDir = "/var/lib/cni/rdma"

// stateMutex guards the directory of package cache, which is a variable of it.
var stateMutex sync.Mutex

// rdmaState returns the name that the device of an attachment had on the host, from rdma-cni's state file; empty when
// there is none.
func (d *PodDevices) rdmaState(q pods.Query) string {
	stateMutex.Lock()
	cache.CacheDir = path.Join(d.host.options.Root, stateDir)
	states := cache.NewStateCache()
	stateMutex.Unlock()
	var s rdmatypes.RdmaNetState
	if err := states.Load(states.GetStateRef(q.Network, q.ContainerID, q.Interface), &s); err != nil || s.DeviceID != q.ID {
		return ""
	}
	return s.SandboxRdmaDevName
}

// Counters implements pods.Devices: those of the RDMA port while the host sees it, and the octets of a virtual function by
// route netlink (vf_tx_octets, vf_rx_octets).
func (d *PodDevices) Counters(ctx context.Context, of podsock.Device) (map[string]uint64, error) {
	all := niccount.Counters{}
	var errs []error
	if of.RDMA != "" {
		m := &meter{host: d.host, port: PortFound{Port: nicfiles.Port{RDMA: of.RDMA, RDMAPort: of.RDMAPort}}}
		basic, err := m.basic()
		hw, hwErr := nicfiles.HWCounters(d.host.files, of.RDMA, of.RDMAPort)
		add(all, basic)
		add(all, hw)
		errs = append(errs, err, hwErr)
	}
	if d.host.counts != nil && of.VF != nil && of.PFNetDev != "" {
		vfs, err := d.host.counts.functions(ctx, of.PFNetDev)
		if o, ok := octetsOf(vfs)[*of.VF]; ok && o.err == nil {
			all["vf_tx_octets"], all["vf_rx_octets"] = niccount.Counter{Value: o.sent}, niccount.Counter{Value: o.received}
		}
		errs = append(errs, err)
	}
	out := map[string]uint64{}
	for name, c := range all {
		if c.Err == nil {
			out[name] = c.Value
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("counters of %s: %w", of.ID, cmp.Or(errors.Join(errs...), niccount.ErrAbsent))
	}
	return out, nil
}
