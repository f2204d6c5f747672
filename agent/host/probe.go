package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlane/agent"
	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/ccalgo"
	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/dms"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/vfshare"
)

const configfs = "sys/kernel/config/rdma_cm"

func ccParams(pci string) string { return "sys/kernel/debug/mlx5/" + pci + "/cc_params" }

// prober probes the back ends of one card.
type prober struct {
	*Host
	ctx      context.Context
	card     *Card
	caps     nicparam.Caps
	mode     map[int]vfshare.Mode // by port; empty where unknown
	shares   map[int][]vfshare.Function
	table    *nicparam.Table
	nv       *nicfiles.NV
	nvState  *adopt.State
	nvWhy    error
	modeWhy  map[int]error
	findings []Finding
	failed   bool // a failure that may be temporary
}

// probe probes all back ends of a card's parameters: first the card's capabilities, which determine the parameter table,
// then each back end.
func (h *Host) probe(ctx context.Context, c *Card) *known {
	p := &prober{Host: h, ctx: ctx, card: c, caps: h.options.Assume, mode: map[int]vfshare.Mode{}, modeWhy: map[int]error{}, shares: map[int][]vfshare.Function{}}
	p.capabilities()
	p.table = nicparam.New(p.caps)
	var accessors []nicfiles.Accessor
	for _, b := range h.options.Backends {
		accessors = append(accessors, p.accessors(b)...)
	}
	nic := agent.NIC{
		Name: c.Name, PCI: c.PCI, Vendor: c.Vendor, Model: c.Model, Firmware: c.Firmware, Driver: c.Driver, NodeGUID: c.Ports[0].GUID,
		Incarnation: h.incarnation(c), Table: p.table, Device: nicfiles.NewDevice(p.table, accessors...), Problem: strings.Join(c.Problems, "; "),
	}
	if p.nv != nil && p.allowed(nicparam.NV) {
		nic.NV = p.nv
	}
	for i := range c.Ports {
		f := &c.Ports[i]
		nic.Ports = append(nic.Ports, agent.Port{
			Number: f.Number, ID: f.id(), NetDev: f.NetDev, RDMA: f.RDMA, RDMAPort: f.RDMAPort,
			Meter: &meter{host: h, port: *f}, Functions: p.functionsOf(f),
		})
	}
	return &known{nic: nic, fixed: p.fixedFunction(), findings: p.findings, failed: p.failed || p.nvWhy != nil || len(p.modeWhy) > 0}
}

func (p *prober) allowed(b nicparam.Backend) bool {
	for _, o := range p.options.Backends {
		if o == b {
			return true
		}
	}
	return false
}

// functionsOf returns the number of a port's functions that can have shares.
func (p *prober) functionsOf(f *PortFound) int {
	if n := len(p.shares[f.Number]); n > 0 && p.allowed(nicparam.Devlink) {
		return n
	}
	if p.mode[f.Number] == vfshare.Legacy && p.allowed(nicparam.Link) {
		return len(f.Functions)
	}
	return 0
}

// capabilities determines the card's capabilities.
func (p *prober) capabilities() {
	for i := range p.card.Ports {
		f := &p.card.Ports[i]
		if _, err := p.files.Read(ccParams(f.PCI) + "/rtt_resp_dscp"); err == nil {
			p.caps.GeneralCC = true
		}
		if len(f.Functions) > 0 {
			p.switchMode(f)
		}
	}
	p.caps.Bnxt = ccalgo.Of(p.card.Vendor, p.card.Driver) == ccalgo.Thor
	if p.allowed(nicparam.NV) && !p.caps.Bnxt {
		p.nonVolatile()
	}
}

// switchMode determines which of the two back ends for rates of functions a port has. A card without devlink is in legacy
// mode.
func (p *prober) switchMode(f *PortFound) {
	mode, err := p.readMode(f.PCI)
	if err != nil {
		p.modeWhy[f.Number] = err
		return
	}
	p.mode[f.Number] = mode
	if mode == vfshare.Legacy {
		p.caps.VFRates = true
		return
	}
	p.caps.Switchdev = true
	out, err := p.options.Devlink.Run(p.ctx, vfshare.PortArgs())
	if err == nil {
		p.shares[f.Number], err = vfshare.ParsePorts(out, f.PCI, int(f.PCI[len(f.PCI)-1]-'0'))
	}
	if err != nil {
		p.modeWhy[f.Number] = err
		return
	}
	if out, err = p.options.Devlink.Run(p.ctx, vfshare.RateArgs()); err != nil {
		p.modeWhy[f.Number] = err
		return
	}
	rates, err := vfshare.ParseRates(out)
	if err != nil {
		p.modeWhy[f.Number] = err
		return
	}
	for _, s := range p.shares[f.Number] {
		p.caps.TCRates = p.caps.TCRates || rates[s.Handle].TCBW != nil
	}
}

// readMode reads the mode of the e-switch by devlink.
func (p *prober) readMode(pci string) (vfshare.Mode, error) {
	out, err := p.options.Devlink.Run(p.ctx, vfshare.ModeArgs(pci))
	if err != nil {
		return "", err
	}
	return vfshare.ParseMode(out, pci)
}

// nonVolatile reads the non-volatile configuration, whose names and values show the generation of the firmware and the
// width of its registers.
func (p *prober) nonVolatile() {
	// This read alone accepts every name and every width.
	all := p.caps
	all.Limits, all.NewNV, all.GeneralCC = dcqcn.Limits{Rate32: true, UndocumentedGD: true}, true, true
	ports := p.card.Ports[len(p.card.Ports)-1].Number
	nv, err := nicfiles.NewNV(p.options.Mstconfig, nicparam.New(all), p.card.PCI, ports)
	if err == nil {
		p.nvState, err = nv.Query(p.ctx)
	}
	if err != nil {
		p.nvWhy = err
		return
	}
	for _, f := range p.nvState.Settings {
		row, _ := nicparam.New(all).Find(f.Name)
		if row.Needs == nicparam.NeedsNewNV {
			p.caps.NewNV = true
		}
		narrow := nicparam.New(nicparam.Caps{})
		if n, ok := narrow.Find(f.Name); ok && !n.Holds(nicparam.NV, f.Value, nicparam.Caps{}) {
			p.caps.Rate32 = true
		}
	}
	if p.nv, err = nicfiles.NewNV(p.options.Mstconfig, nicparam.New(p.caps), p.card.PCI, ports); err != nil {
		p.nvWhy = err
	}
}

// find records a back end.
func (p *prober) find(port *PortFound, b nicparam.Backend, params int, why string) {
	f := Finding{NIC: p.card.Name, Backend: b, Found: params > 0, Params: params, Why: why}
	if port != nil {
		f.Port, f.NetDev = port.Number, port.NetDev
	}
	p.findings = append(p.findings, f)
}

// accessors probes one kind of back end at all ports.
func (p *prober) accessors(b nicparam.Backend) []nicfiles.Accessor {
	if b == nicparam.NV {
		return p.keepNV()
	}
	var out []nicfiles.Accessor
	for i := range p.card.Ports {
		f := &p.card.Ports[i]
		a, why := p.accessor(b, f)
		if a == nil {
			p.find(f, b, 0, why)
			continue
		}
		readings := a.Read(p.ctx, a.Keys())
		if b == nicparam.DMS && len(readings) > 0 && !answers(readings) {
			p.failed = true // it may start after the agent
			p.find(f, b, 0, readings[0].Err.Error())
			continue
		}
		n, absent := offered(readings)
		if n == 0 {
			p.find(f, b, 0, p.nothing(b, f, absent))
			continue
		}
		p.find(f, b, n, why)
		out = append(out, a)
	}
	return out
}

// answers reports whether any reading has an answer, even that the parameter is absent.
func answers(readings []nicfiles.Reading) bool {
	return slices.ContainsFunc(readings, func(r nicfiles.Reading) bool { return r.Err == nil || errors.Is(r.Err, nicfiles.ErrAbsent) })
}

// offered counts the parameters that exist, readable or not, and returns an error of one that does not.
func offered(readings []nicfiles.Reading) (n int, absent error) {
	for _, r := range readings {
		if r.Err == nil || !errors.Is(r.Err, nicfiles.ErrAbsent) {
			n++
			continue
		}
		absent = r.Err
	}
	return n, absent
}

// accessor returns a back end of a port. When it is unavailable, it is nil and why gives the reason.
func (p *prober) accessor(b nicparam.Backend, f *PortFound) (a nicfiles.Accessor, why string) {
	var err error
	switch b {
	case nicparam.Sysfs:
		a, err = nicfiles.Sysfs(p.files, p.table, f.Port)
		why = "files of the vendor's driver, " + p.layout(f)
	case nicparam.Debugfs:
		a, err = nicfiles.Debugfs(p.files, p.table, f.Port)
		why = "files of the kernel's driver, /" + ccParams(f.PCI)
	case nicparam.DCB:
		a, err = p.dcb(f)
		why = "the kernel answers DCB netlink"
	case nicparam.Configfs:
		if _, missing := p.files.List(configfs); missing != nil {
			return nil, "/" + configfs + " is not there: mount configfs at /sys/kernel/config and load rdma_cm"
		}
		if _, missing := p.files.List(configfs + "/" + f.RDMA); missing != nil && p.options.ReadOnly {
			return nil, "/" + configfs + "/" + f.RDMA + " is not there: the agent makes it when it serves; until then connections have the kernel's defaults"
		}
		a, err = nicfiles.Configfs(p.files, p.table, f.Port)
		why = "rdma_cm in configfs"
	case nicparam.Bnxt:
		a, err = p.bnxt(f)
		why = "congestion control of Broadcom in configfs, /" + nicfiles.BnxtDir(f.Port)
	case nicparam.Devlink, nicparam.Link:
		a, why := p.share(b, f)
		return p.underHolder(a, f), why
	case nicparam.DMS:
		if p.options.DMS == nil {
			return nil, "no management service is configured"
		}
		client := p.options.DMS(f.PCI)
		if client == nil {
			return nil, "the management service has no such card"
		}
		a, err = dms.New(client, p.table, f.PCI, f.Port)
		why = "the vendor's management service answers"
	default:
		return nil, fmt.Sprintf("no such back end: %q", b)
	}
	if err != nil {
		return nil, err.Error()
	}
	return a, why
}

// bnxt returns the back end of a Broadcom port. Configfs has its files once the device's directory is made.
func (p *prober) bnxt(f *PortFound) (nicfiles.Accessor, error) {
	if !p.caps.Bnxt {
		return nil, errors.New("the NIC is not one of Broadcom")
	}
	if _, missing := p.files.List(nicfiles.BnxtRoot); missing != nil {
		return nil, errors.New("/" + nicfiles.BnxtRoot + " is not there: mount configfs at /sys/kernel/config and load Broadcom's own driver; the kernel's driver does not report refused writes")
	}
	if !p.options.ReadOnly {
		if err := nicfiles.MakeBnxt(p.files, f.Port); err != nil {
			return nil, err
		}
	}
	return nicfiles.NewBnxt(p.files, p.table, f.Port)
}

// layout returns the directory of the vendor driver's files.
func (p *prober) layout(f *PortFound) string {
	dir := netClass + f.NetDev + "/ecn/roce_rp"
	if _, err := p.files.List(dir + "/params"); err == nil {
		return "/" + dir + "/params"
	}
	return "/" + dir
}

// dcb returns the DCB netlink back end, unless the kernel refuses the first request.
func (p *prober) dcb(f *PortFound) (nicfiles.Accessor, error) {
	a, err := nicfiles.NewDCB(p.options.Socket, dcbnl.Native(), p.table, f.Port)
	if err != nil {
		return nil, err
	}
	var refused *dcbnl.KernelError
	first := a.Read(p.ctx, []nicparam.Key{{Port: f.Number, Name: "trust"}})[0]
	if errors.As(first.Err, &refused) {
		return nil, fmt.Errorf("the kernel refuses DCB of %s: %w: it was built without CONFIG_DCB, or the driver has none", f.NetDev, errno(refused.Errno))
	}
	if first.Err != nil && !errors.Is(first.Err, nicfiles.ErrAbsent) {
		p.failed = true
		return nil, first.Err
	}
	return a, nil
}

// share returns the back end for rates of functions that matches the mode of the e-switch.
func (p *prober) share(b nicparam.Backend, f *PortFound) (nicfiles.Accessor, string) {
	if len(f.Functions) == 0 {
		return nil, "no virtual functions (sriov_numvfs)"
	}
	mode := p.mode[f.Number]
	if mode == "" {
		return nil, fmt.Sprintf("the mode of the e-switch is unknown, and rates through the wrong interface are unsafe: %v", p.modeWhy[f.Number])
	}
	switch {
	case b == nicparam.Link && mode == vfshare.Switchdev:
		return nil, "the e-switch is in switchdev mode: rates go by devlink"
	case b == nicparam.Devlink && mode == vfshare.Legacy:
		return nil, "the e-switch is in legacy mode: rates go by link netlink"
	case b == nicparam.Devlink && p.modeWhy[f.Number] != nil:
		return nil, p.modeWhy[f.Number].Error()
	}
	var a nicfiles.Accessor
	var err error
	if b == nicparam.Link {
		a, err = vfshare.NewLink(p.options.Links, p.table, f.Number, f.NetDev, len(f.Functions))
	} else {
		a, err = vfshare.NewDevlink(p.options.Devlink, p.table, f.Number, p.shares[f.Number])
	}
	if err != nil {
		return nil, err.Error()
	}
	return a, fmt.Sprintf("%d functions, e-switch in %s mode", len(f.Functions), mode)
}

// nothing returns the reason why a back end offers no parameter.
func (p *prober) nothing(b nicparam.Backend, f *PortFound, absent error) string {
	switch {
	case f.Virtual && (b == nicparam.Sysfs || b == nicparam.Debugfs):
		return "it is a virtual function, which obeys the parameters of its physical function: ask the agent of the host that has that"
	case b == nicparam.Sysfs:
		return "/" + netClass + f.NetDev + "/ecn is not there: the vendor's driver has it, the kernel's has not"
	case b == nicparam.Debugfs:
		if _, err := p.files.List("sys/kernel/debug"); err != nil {
			return "debugfs cannot be read: mount it at /sys/kernel/debug, as root, in a kernel that is not locked down"
		}
		return "/" + ccParams(f.PCI) + " is not there: the firmware grants neither asking for nor changing congestion parameters, or the driver is older"
	case absent != nil:
		return absent.Error()
	}
	return "it offers no parameter"
}

// keepNV returns the back end of the non-volatile configuration, for all ports.
func (p *prober) keepNV() []nicfiles.Accessor {
	if p.nv == nil {
		p.find(nil, nicparam.NV, 0, fmt.Sprint(p.nvWhy))
		return nil
	}
	n := 0
	for _, k := range p.nv.Keys() {
		if _, ok := p.nvState.Value(k, adopt.StageNext); ok {
			n++
		}
	}
	if n == 0 {
		p.find(nil, nicparam.NV, 0, "the card's configuration contains none of the parameters")
		return nil
	}
	width := 17
	if p.caps.Rate32 {
		width = 32
	}
	p.find(nil, nicparam.NV, n, fmt.Sprintf("mstconfig answers, rates of %d bits; values act after a firmware reset", width))
	return []nicfiles.Accessor{p.nv}
}
