package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/vfshare"
)

// The parameters behind the levers of a class.
const (
	paramMax   = "vf_tx_max"
	paramShare = "vf_tx_share"
	paramTOS   = "default_roce_tos"
)

// physical is a physical function with the rates of its virtual functions.
type physical struct {
	PortFound
	link string // link layer

	mu     sync.Mutex
	device *nicfiles.Device // rates of the functions; nil: not offered, or not probed yet
	why    string           // why they are not offered
}

const infiniBand = "InfiniBand"

// notOffered is the reason of a device that gives none of its own.
const notOffered = "the device does not offer it"

// physical returns a physical function, from its directory the first time. The caller holds mu.
func (d *PodDevices) physical(v *inventory, pci string) *physical {
	if p := d.functions[pci]; p != nil {
		return p
	}
	dir := pciDevices + pci
	p := &physical{PortFound: PortFound{Port: nicfiles.Port{PCI: pci, Number: 1}}}
	names, _ := v.files.List(dir + "/net") // none: unknown
	for _, name := range names {
		label := v.text(netClass + name + "/phys_port_name")
		if p.NetDev == "" && !represents(label) {
			p.NetDev, p.Number, p.Switch = name, v.number(pci, netClass+name, label), v.text(netClass+name+"/phys_switch_id")
		}
	}
	if err := v.place(&p.PortFound, v.devices(pci)); err == nil {
		p.link = v.linkLayer(p.RDMA, p.RDMAPort)
		p.GUID, _ = v.nodeGUID(p.RDMA)
	}
	p.Functions = v.functions(dir)
	d.functions[pci] = p
	return p
}

// stale reports whether a physical function must be read again: its functions or the mode of its e-switch changed, or its rates
// could not be probed.
func (p *physical) stale(v *inventory) bool {
	n, _ := strconv.Atoi(v.text(pciDevices + p.PCI + "/sriov_numvfs")) // missing: none
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(n, nicparam.MaxFunctions) != len(p.Functions) || p.Switch != v.text(netClass+p.NetDev+"/phys_switch_id") || p.why != "" || p.GUID == 0 ||
		slices.ContainsFunc(p.Functions, func(f Function) bool { return f.PCI == "" })
}

// rates returns access to the rates of the functions, or the reason why there is none.
func (p *physical) rates(ctx context.Context, h *Host) (*nicfiles.Device, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.device != nil || p.why != "" {
		return p.device, p.why
	}
	if p.link == infiniBand {
		p.why = "virtual functions have no rates on InfiniBand"
		return nil, p.why
	}
	one := &prober{
		Host: h, ctx: ctx, card: &Card{Name: p.PCI, PCI: p.PCI, Ports: []PortFound{p.PortFound}}, caps: h.options.Assume,
		mode: map[int]vfshare.Mode{}, modeWhy: map[int]error{}, shares: map[int][]vfshare.Function{},
	}
	one.switchMode(&p.PortFound)
	one.table = nicparam.New(one.caps)
	var whys []string
	for _, b := range []nicparam.Backend{nicparam.Devlink, nicparam.Link} {
		if !one.allowed(b) {
			whys = append(whys, string(b)+" is not among back_ends")
			continue
		}
		a, why := one.share(b, &p.PortFound)
		if a != nil {
			p.device = nicfiles.NewDevice(one.table, a)
			return p.device, ""
		}
		whys = append(whys, why)
	}
	if ctx.Err() != nil {
		return nil, "not probed in time" // the next call tries again
	}
	p.why = strings.Join(slices.Compact(whys), "; ")
	return nil, p.why
}

// part is access to some parameters of a pod's device.
type part struct {
	device *nicfiles.Device
	why    string // why there is none
	keys   map[string]nicparam.Key
}

// rateOf returns access to the rates of a device.
func (d *PodDevices) rateOf(ctx context.Context, of podsock.Device) part {
	if of.VF == nil || of.PF == "" {
		return part{why: "it is no virtual function"}
	}
	d.mu.Lock()
	p := d.physical(d.inventory(), of.PF)
	d.mu.Unlock()
	device, why := p.rates(ctx, d.host)
	return part{device, why, map[string]nicparam.Key{
		paramMax: {Port: p.Number, Name: paramMax, Index: *of.VF}, paramShare: {Port: p.Number, Name: paramShare, Index: *of.VF},
	}}
}

// tosOf returns access to the default type of service of a device. The directory of configfs belongs to the host's view of
// the device, which stays when the device is in a pod's network namespace.
func (d *PodDevices) tosOf(of podsock.Device) (part, error) {
	switch {
	case of.Link == infiniBand:
		return part{why: "InfiniBand has no type of service"}, nil
	case of.RDMA == "":
		return part{why: "its RDMA device is unknown"}, nil
	case !slices.Contains(d.host.options.Backends, nicparam.Configfs):
		return part{why: "configfs is not among back_ends"}, nil
	}
	table := nicparam.New(d.host.options.Assume)
	a, err := nicfiles.Configfs(d.host.files, table, nicfiles.Port{Number: 1, RDMA: of.RDMA, RDMAPort: of.RDMAPort})
	switch {
	case errors.Is(err, nicfiles.ErrAbsent):
		return part{why: "/" + configfs + " is not there: mount configfs at /sys/kernel/config and load rdma_cm"}, nil
	case errors.Is(err, syscall.ENODEV):
		return part{why: "rdma_cm has no device " + of.RDMA}, nil
	case err != nil:
		return part{}, err
	}
	return part{nicfiles.NewDevice(table, a), "", map[string]nicparam.Key{paramTOS: {Port: 1, Name: paramTOS}}}, nil
}

// read reads a parameter; nil when it is not offered.
func (p part) read(ctx context.Context, name string) (*uint64, error) {
	if p.device == nil {
		return nil, nil
	}
	r := p.device.Read(ctx, []nicparam.Key{p.keys[name]})[0]
	switch {
	case errors.Is(r.Err, nicfiles.ErrAbsent):
		return nil, nil
	case r.Err != nil:
		return nil, r.Err
	}
	return &r.Value, nil
}

// as converts an optional value to the type of a setting; a larger value is unknown.
func as[T uint8 | uint32](v *uint64) *T {
	if v == nil || *v > uint64(^T(0)) {
		return nil
	}
	return new(T(*v))
}

// Read implements pods.Devices.
func (d *PodDevices) Read(ctx context.Context, of podsock.Device) (podsock.Settings, error) {
	var out podsock.Settings
	rates := d.rateOf(ctx, of)
	most, err := rates.read(ctx, paramMax)
	if err != nil {
		return out, err
	}
	share, err := rates.read(ctx, paramShare)
	if err != nil {
		return out, err
	}
	tos, err := d.tosOf(of)
	if err != nil {
		return out, err
	}
	value, err := tos.read(ctx, paramTOS)
	if err != nil {
		return out, err
	}
	return podsock.Settings{MaxMbps: as[uint32](most), ShareMbps: as[uint32](share), TOS: as[uint8](value)}, nil
}

// Apply implements pods.Devices.
func (d *PodDevices) Apply(ctx context.Context, of podsock.Device, l podsock.Levers) (pods.Applied, error) {
	var out pods.Applied
	var missing []string
	rates := d.rateOf(ctx, of)
	var set []nicparam.Setting
	if l.MaxMbps != nil {
		if now, err := rates.read(ctx, paramMax); err != nil {
			return out, err
		} else if now == nil {
			missing = append(missing, "max_mbps: "+cmp.Or(rates.why, notOffered))
		} else {
			out.Settings.MaxMbps = l.MaxMbps
			set = append(set, nicparam.Setting{Key: rates.keys[paramMax], Value: uint64(*l.MaxMbps)})
		}
	}
	if l.ShareOf1000 != nil {
		if now, err := rates.read(ctx, paramShare); err != nil {
			return out, err
		} else if now == nil {
			missing = append(missing, "share_of_1000: "+cmp.Or(rates.why, notOffered))
		} else {
			share, err := d.share(of, *l.ShareOf1000)
			if err != nil {
				return out, err
			}
			out.Settings.ShareMbps = &share
			set = append(set, nicparam.Setting{Key: rates.keys[paramShare], Value: uint64(share)})
		}
	}
	var before []nicparam.Setting
	if len(set) > 0 {
		receipt, err := rates.device.Set(ctx, set)
		if err != nil {
			return pods.Applied{}, err
		}
		for _, f := range receipt.Fields {
			before = append(before, nicparam.Setting{Key: f.Key, Value: f.Before})
		}
	}
	why, err := d.applyTOS(ctx, of, l.TOS)
	if err != nil {
		if len(before) > 0 { // all or none
			err = errors.Join(err, rates.device.Restore(context.WithoutCancel(ctx), before))
		}
		return pods.Applied{}, err
	}
	if why != "" {
		missing = append(missing, "tos: "+why)
	} else {
		out.Settings.TOS = l.TOS
	}
	out.Missing = strings.Join(missing, "; ")
	return out, nil
}

// applyTOS sets the default type of service. why says why the device has none.
func (d *PodDevices) applyTOS(ctx context.Context, of podsock.Device, tos *uint8) (why string, err error) {
	if tos == nil {
		return "", nil
	}
	p, err := d.tosOf(of)
	if err != nil {
		return "", err
	}
	now, err := p.read(ctx, paramTOS)
	if err != nil {
		return "", err
	}
	if now == nil {
		return cmp.Or(p.why, notOffered), nil
	}
	_, err = p.device.Set(ctx, []nicparam.Setting{{Key: p.keys[paramTOS], Value: uint64(*tos)}})
	return "", err
}

// share returns a part of the rate of a device's port, in Mbit/s.
func (d *PodDevices) share(of podsock.Device, thousandths uint16) (uint32, error) {
	speed := d.inventory().speed(of.PFNetDev)
	if speed == 0 {
		return 0, fmt.Errorf("share_of_1000: the rate of port %s is unknown: it may be down", of.PFNetDev)
	}
	return uint32(max(speed*uint64(thousandths)/1000, 1)), nil
}

// Restore implements pods.Devices.
func (d *PodDevices) Restore(ctx context.Context, of podsock.Device, s podsock.Settings) error {
	if _, err := d.host.files.List(deviceDir(of.ID)); podsock.CheckDevice(of.ID) != nil || err != nil {
		return fmt.Errorf("/%s: %w", deviceDir(of.ID), pods.ErrGone)
	}
	var errs []error
	rates := d.rateOf(ctx, of)
	var set []nicparam.Setting
	if s.MaxMbps != nil {
		set = append(set, nicparam.Setting{Key: rates.keys[paramMax], Value: uint64(*s.MaxMbps)})
	}
	if s.ShareMbps != nil {
		set = append(set, nicparam.Setting{Key: rates.keys[paramShare], Value: uint64(*s.ShareMbps)})
	}
	switch {
	case len(set) == 0:
	case rates.device == nil:
		errs = append(errs, fmt.Errorf("rates of %s: %s", of.ID, rates.why))
	default:
		errs = append(errs, rates.device.Restore(ctx, set))
	}
	if s.TOS != nil {
		p, err := d.tosOf(of)
		if err == nil && p.device != nil { // without one, nothing is left to restore
			err = p.device.Restore(ctx, []nicparam.Setting{{Key: p.keys[paramTOS], Value: uint64(*s.TOS)}})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
