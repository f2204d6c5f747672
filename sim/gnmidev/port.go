package gnmidev

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/quantity"
	"fairlane/sim/plane"
	"fairlane/wrcc"
)

// maxSenders is the largest number of WRCC senders of a port.
const maxSenders = wrcc.MaxSenders

// port holds the settings of one port of a simulated NIC. Unchanged components are nil, so ten thousand unmanaged ports are
// cheap.
type port struct {
	card      *card
	number    int
	netdev    string
	pci       string // PCI address of the port's PCI function
	plane     NICPlane
	speed     quantity.BitRate
	functions int
	senders   int

	registers []uint64 // in the layout's order; nil means initial values
	off       [2]uint8 // bit masks of the priorities with DCQCN off: of senders, of receivers
	dcb       *dcbnl.IEEE
	made      bool // the configfs directory exists
	tos       uint64
	version   uint64             // RoCE version of RDMA-CM connections, as in default_roce_mode
	rates     map[rateKey]uint64 // rates of virtual functions, as managers set them
	held      map[rateKey]uint64 // rates of functions that pods have, which act instead
	wrcc      *wrcc.NICConfig    // nil means not configured
	faults    PortFaults
}

// rateKey identifies a rate of a virtual function.
type rateKey struct {
	name  string
	index int
}

const (
	reaction     = 0
	notification = 1
)

// reset returns the port to its state after a driver load. The caller holds the card's lock.
func (p *port) reset() {
	p.registers, p.off = nil, [2]uint8{}
	p.dcb, p.rates, p.held, p.wrcc = nil, nil, nil, nil
	p.made, p.tos, p.version = false, 0, roceV2
}

// roceV2 is the initial value of default_roce_mode.
const roceV2 = 1

// startsWith returns the value of a register after a driver load: from the current non-volatile configuration, or the vendor's
// default.
func (p *port) startsWith(i int) uint64 {
	if p.card.nv != nil {
		if v, ok := p.card.nv.current(p.card.layout.rows[i], p.number); ok {
			return v
		}
	}
	return p.card.layout.defaults[i]
}

// register returns a run-time register.
func (p *port) register(i int) uint64 {
	if p.registers == nil {
		return p.startsWith(i)
	}
	return p.registers[i]
}

// setRegister stores the value of a run-time register, unchecked.
func (p *port) setRegister(i int, v uint64) {
	if p.registers == nil {
		all := make([]uint64, len(p.card.layout.rows))
		for j := range all {
			all[j] = p.startsWith(j)
		}
		p.registers = all
	}
	p.registers[i] = v
}

// enabled returns the bit mask of the priorities with DCQCN on, for senders or receivers.
func (p *port) enabled(side int) uint8 {
	mask := uint8(0xff)
	if p.card.nv != nil {
		if v, ok := p.card.nv.value("ROCE_CC_PRIO_MASK", p.number); ok {
			mask = uint8(v) // the field has 8 bits, so the conversion cannot overflow
		}
	}
	return mask &^ p.off[side]
}

// ieee returns the port's DCB objects. The caller must not change them.
func (p *port) ieee() *dcbnl.IEEE {
	switch {
	case p.dcb != nil:
		return p.dcb
	case p.card.host.dcb != nil:
		return p.card.host.dcb
	}
	return p.card.layout.dcb
}

// configure passes the port's state to the data plane. The caller holds the card's lock.
func (p *port) configure() { p.plane.Configure(p.state()) }

// state returns the complete state of the port.
func (p *port) state() plane.PortState {
	s := plane.PortState{
		Registers: p.dcqcn(), Reaction: p.enabled(reaction), Notification: p.enabled(notification), CNPsPerPort: p.perPort(),
		DSCP: p.dscp(), CNPDSCP: p.cnpDSCP(), Priorities: p.priorities(),
	}
	s.NotECT, s.Inert = p.typeOfService()&ecnBits == 0, p.card.nv.flag("USER_PROGRAMMABLE_CC")
	if p.card.nv.flag(fmt.Sprintf("ROCE_CC_ALGORITHM_P%d", p.number)) { // QCN: no simulated switch sends QCN frames
		s.Notification = 0
	}
	o := p.ieee()
	s.PFC, s.Service = o.PFC.Enabled, serviceOf(o.ETS)
	if o.MaxRate != nil && o.ETS != nil {
		s.MaxRate = quantity.BitRate(min(o.MaxRate[o.ETS.PrioTC[s.Priority()]&7], maxKbps)) * quantity.Kbps
	}
	if p.card.virtual {
		s.MaxRate = 0
	}
	s.Functions = p.shares()
	if p.wrcc != nil {
		s.WRCC = p.wrcc.Clone()
	}
	return s
}

// serviceOf returns the scheduling of priorities by their traffic classes. Drivers serve classes of algorithm vendor like strict ones, and lift an ETS
// class of 0 percent to a minimum.
func serviceOf(e *dcbnl.ETS) (out [plane.Priorities]plane.QueueService) {
	for p := range out {
		tc := e.PrioTC[p] & 7
		out[p] = plane.QueueService{Strict: e.TSA[tc] != nicparam.TSAETS, Weight: max(1, e.TxBW[tc])}
	}
	return out
}

// maxKbps is the largest rate that quantity.BitRate holds, in kbit/s.
const maxKbps = 1 << 52

// perPort reports whether the minimum gap between CNPs applies to the port.
func (p *port) perPort() bool {
	if p.faults.CNPsPerPort {
		return true
	}
	const moderationPerPort = 1
	if p.card.nv == nil {
		return false
	}
	v, ok := p.card.nv.value("ROCE_CC_CNP_MODERATION", p.number)
	return ok && v == moderationPerPort
}

// applicationToS is the type of service that applications request if the host has no default: DSCP 26, ECN-capable.
const applicationToS = 26<<2 | 2

// ecnBits masks the ECN field of a type of service; 0 means that the transport is not ECN-capable (RFC 3168, 5).
const ecnBits = 3

// typeOfService returns the type of service of the port's RoCE traffic.
func (p *port) typeOfService() uint64 { return cmp.Or(p.tos, applicationToS) }

// dscp returns the DSCP of the port's RoCE traffic.
func (p *port) dscp() uint8 {
	return uint8(p.typeOfService() >> 2 & (plane.DSCPs - 1)) // 6 bits
}

// cnpDSCP returns the DSCP of the port's notification packets.
func (p *port) cnpDSCP() uint8 {
	i, ok := p.card.layout.byName["cnp_dscp"]
	if !ok {
		return plane.CNPDSCP
	}
	return uint8(p.register(i) & (plane.DSCPs - 1)) // 6 bits
}

// priorities returns the priorities of sent packets, by DSCP if the port trusts DSCP, and otherwise the priority of packets
// without a VLAN.
func (p *port) priorities() (out [plane.DSCPs]uint8) {
	for _, a := range p.ieee().Apps {
		if a.Selector == dcbnl.SelectorDSCP && a.Protocol < plane.DSCPs {
			out[a.Protocol] = max(out[a.Protocol], a.Priority&(plane.Priorities-1))
		}
	}
	return out
}

// shares returns the shares of configured virtual functions.
func (p *port) shares() []plane.Function {
	acting := maps.Clone(p.rates)
	if acting == nil {
		acting = map[rateKey]uint64{}
	}
	maps.Copy(acting, p.held)
	by := map[int]*plane.Function{}
	for k, v := range acting {
		if k.name == "vf_tc_bw" { // all tenant traffic of the port is in one traffic class
			continue
		}
		f := by[k.index]
		if f == nil {
			f = &plane.Function{Index: k.index}
			by[k.index] = f
		}
		rate := quantity.BitRate(v) * quantity.Mbps // 32 bits
		switch k.name {
		case "vf_tx_weight":
			f.Weight = uint32(v) // 32 bits
		case "vf_tx_share":
			f.Min = rate
		case "vf_tx_max":
			f.Max = rate
		}
	}
	var out []plane.Function
	for _, i := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[i])
	}
	return out
}

// dcqcn returns the DCQCN registers as settings.
func (p *port) dcqcn() dcqcn.Settings {
	if p.registers == nil && p.card.nv == nil {
		return dcqcn.Default()
	}
	l := p.card.layout
	get := func(name string) uint64 { return p.register(l.byName[name]) }
	word := func(name string) uint32 { return uint32(get(name)) } // registers have 32 bits
	byteOf := func(name string) uint8 { return uint8(get(name)) } // the table's range is 8 bits
	half := func(name string) uint16 { return uint16(get(name)) } // the table's range is 10 bits
	return dcqcn.Settings{
		ClampTargetRate: get("clamp_tgt_rate") != 0, ClampTargetRateAfterInc: get("clamp_tgt_rate_after_time_inc") != 0,
		TimeReset: word("rpg_time_reset"), ByteReset: word("rpg_byte_reset"), Threshold: byteOf("rpg_threshold"), MaxRate: word("rpg_max_rate"),
		AIRate: word("rpg_ai_rate"), HAIRate: word("rpg_hai_rate"), GD: byteOf("rpg_gd"), MinDecFac: byteOf("rpg_min_dec_fac"),
		MinRate: word("rpg_min_rate"), RateOnFirstCNP: word("rate_to_set_on_first_cnp"), G: half("dce_tcp_g"), AlphaPeriod: word("dce_tcp_rtt"),
		MonitorPeriod: word("rate_reduce_monitor_period"), InitialAlpha: half("initial_alpha_value"), CNPGap: word("min_time_between_cnps"),
	}
}
