package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlane/agent"
	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/ccalgo"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
)

const (
	// readsUntilStatus is the number of reads until the status of algorithms is read again: a program may load another
	// algorithm at any time.
	readsUntilStatus = 6
	// statusTimeout bounds the reading of one card's status.
	statusTimeout = 10 * time.Second
)

// algorithms returns the ports of a probed card with their congestion-control algorithms. Those that they have are of the last reading.
func (h *Host) algorithms(ctx context.Context, c *Card, k *known) []agent.Port {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	out := slices.Clone(k.nic.Ports)
	for i := range out {
		f := &c.Ports[i]
		s := ccalgo.State{Name: ccalgo.Of(c.Vendor, c.Driver), Driver: ccalgo.Bare(c.Driver), Model: c.Model, NetDev: f.NetDev}
		switch {
		case s.Name == ccalgo.Unverified && f.Virtual:
			s.Evidence = "a virtual function: its physical function has the status of algorithms"
		case s.Name == ccalgo.Unverified:
			active, err := h.activeSlots(ctx, f)
			if was := &out[i].Algorithm; err != nil && !was.Name.IsDCQCN() { // a failed reading does not permit what the last one refused
				s.Name, s.Evidence = was.Name, was.Evidence
				break
			}
			s.Name, s.Evidence = ccalgo.Status{Active: active, Fixed: k.fixed, Err: err}.Judge()
		default:
			s.Evidence = h.evidence(s.Name, c, f)
		}
		out[i].Algorithm = s
	}
	return out
}

// activeSlots reads which algorithm slots of a port's firmware are active.
func (h *Host) activeSlots(ctx context.Context, f *PortFound) ([]int, error) {
	out, err := h.options.Mstreg.Run(ctx, ccalgo.ListArgs(f.PCI, f.RDMAPort))
	if err != nil {
		return nil, err
	}
	slots, err := ccalgo.ParseList(out)
	if err != nil {
		return nil, err
	}
	var active []int
	for _, slot := range slots {
		if out, err = h.options.Mstreg.Run(ctx, ccalgo.StatusArgs(f.PCI, f.RDMAPort, slot)); err != nil {
			return nil, err
		}
		on, err := ccalgo.ParseStatus(out)
		if err != nil {
			return nil, fmt.Errorf("slot %d: %w", slot, err)
		}
		if on {
			active = append(active, slot)
		}
	}
	return active, nil
}

// fixedFunction returns the current value of the non-volatile flag of the fixed-function DCQCN; nil when it is unknown.
func (p *prober) fixedFunction() *bool {
	if p.nvState == nil {
		return nil
	}
	v, ok := p.nvState.Value(nicparam.Key{Name: "roce_cc_legacy_dcqcn"}, adopt.StageCurrent)
	if !ok {
		return nil
	}
	on := v != 0
	return &on
}

// evidence describes, from files that are only read, what shows the algorithm of a NIC of another vendor than NVIDIA.
func (h *Host) evidence(name ccalgo.Name, c *Card, f *PortFound) string {
	found := "PCI vendor " + c.Vendor + ", driver " + ccalgo.Bare(c.Driver)
	values := func(dir string, names ...string) {
		for _, n := range names {
			b, err := h.files.Read(dir + "/" + n)
			if err == nil {
				found += fmt.Sprintf(", %s %.16q", n, strings.TrimSpace(string(b)))
			}
		}
	}
	switch name {
	case ccalgo.Thor:
		values(nicfiles.BnxtDir(f.Port), "ecn_enable", "cc_mode")
		if _, err := h.files.List("sys/kernel/debug/bnxt_re/" + f.PCI + "/cc_config"); err == nil {
			found += ", parameters in debugfs, which does not report refused writes"
		}
	case ccalgo.Window:
		values("sys/kernel/config/irdma/"+f.RDMA, "roce_dcqcn_enable", "roce_dctcp_enable", "roce_timely_enable")
		values("sys/module/irdma/parameters", "dcqcn_enable", "dcqcn_cc_cfg_valid")
	case ccalgo.Profiles:
		for _, parent := range []string{"", "/lif0"} { // by release of the driver
			if profiles, err := h.files.List("sys/kernel/debug/ionic/" + f.PCI + parent + "/rdma/dcqcn/profiles"); err == nil {
				found += ", " + strconv.Itoa(len(profiles)) + " profiles"
			}
		}
	case ccalgo.DCQCN, ccalgo.Unverified, ccalgo.Programmable, ccalgo.Inactive, ccalgo.Unknown:
	}
	return found
}

// otherAlgorithms names the ports whose algorithm is not DCQCN: their parameters of DCQCN are not written.
func otherAlgorithms(ports []agent.Port) []Note {
	var out []Note
	for i := range ports {
		if a := &ports[i].Algorithm; !a.Name.IsDCQCN() {
			out = append(out, Note{ports[i].NetDev, fmt.Sprintf("algorithm %s: %s (%s); parameters of DCQCN are refused; %s", a.Name, a.Name.Title(), a.Evidence, a.Name.Fix())})
		}
	}
	return out
}
