package nicparam

import "fairlane/ccconfig/dcqcn"

// notification returns the parameters of the notification point that dcqcn does not have, and those of responses to RTT probes.
func notification() []Param {
	return []Param{
		{Name: "cnp_dscp", Group: GroupNP, Scope: ScopePort, Kind: Uint, Max: 63, Default: 48, Known: true,
			Description: "DSCP of notifications",
			Sources:     []Source{runtimeSource(Sysfs, "roce_np/cnp_dscp"), runtimeSource(Debugfs, "np_cnp_dscp"), nvSource("CNP_DSCP", 6, 6)}},
		{Name: "cnp_802p_prio", Group: GroupNP, Scope: ScopePort, Kind: Uint, Max: 7, Default: 6, Known: true,
			Description: "fixed 802.1p priority of notifications",
			Sources: []Source{
				runtimeSource(Sysfs, "roce_np/cnp_802p_prio"), runtimeSource(Debugfs, "np_cnp_prio", Effect{"cnp_prio_mode", 0}),
				nvSource("CNP_802P_PRIO", 3, 3),
			}},
		{Name: "cnp_prio_mode", Group: GroupNP, Scope: ScopePort, Kind: Bool, Max: 1,
			Description: "notifications copy the 802.1p priority of the packet that they answer",
			Sources: []Source{
				runtimeSource(Debugfs, "np_cnp_prio_mode"),
				nvSource("CNP_RES_PRIO_MODE", 1, 1),
			}},
		{Name: "rtt_resp_dscp", Group: GroupRTT, Scope: ScopePort, Kind: Uint, Max: 63, Needs: NeedsGeneralCC,
			Description: "DSCP of responses to RTT probes",
			Sources: []Source{
				runtimeSource(Debugfs, "rtt_resp_dscp", Effect{"rtt_resp_dscp_valid", 1}),
				nvSource("ROCE_RTT_RESP_DSCP", 6, 6),
			}},
		{Name: "rtt_resp_dscp_valid", Group: GroupRTT, Scope: ScopePort, Kind: Bool, Max: 1, Needs: NeedsGeneralCC,
			Description: "whether rtt_resp_dscp applies",
			Sources:     []Source{runtimeSource(Debugfs, "rtt_resp_dscp_valid")}},
		{Name: "rp_enable", Group: GroupEnable, Scope: ScopePriority, Kind: Bool, Max: 1,
			Description: "senders of the priority act on notifications",
			Sources:     []Source{{Backend: Sysfs, Name: "roce_rp/enable/<index>", Bits: 1, WideBits: 1}, dms("nvidia/cc/config/priority[id=<index>]/rp_enabled", 1)}},
		{Name: "np_enable", Group: GroupEnable, Scope: ScopePriority, Kind: Bool, Max: 1,
			Description: "receivers of the priority send notifications",
			Sources:     []Source{{Backend: Sysfs, Name: "roce_np/enable/<index>", Bits: 1, WideBits: 1}, dms("nvidia/cc/config/priority[id=<index>]/np_enabled", 1)}},
	}
}

// firmware returns the parameters that exist only in the non-volatile configuration. Numbers of enumerations other than 0
// follow the order of the database. PCC_INT_NP_RTT_DATA_MODE is omitted, because its values are not published.
func firmware() []Param {
	row := func(name, nv string, scope Scope, kind Kind, bits uint8, known bool, needs Capability, text string, values ...Value) Param {
		p := Param{Name: name, Group: GroupFirmware, Scope: scope, Kind: kind, Max: 1<<bits - 1, Known: known, Needs: needs,
			Values: values, Description: text, Sources: []Source{nvSource(nv, bits, bits)}}
		if kind == Enum {
			p.Max = values[len(values)-1].Number
		}
		return p
	}
	mask := row("roce_cc_prio_mask", "ROCE_CC_PRIO_MASK", ScopePort, Uint, 8, true, NeedsNothing, "priorities with congestion control, one bit each")
	mask.Group, mask.Default = GroupEnable, 255
	return []Param{
		mask,
		row("roce_cc_algorithm", "ROCE_CC_ALGORITHM", ScopePort, Enum, 1, true, NeedsNothing, "algorithm; newer devices support only one",
			Value{0, "ECN"}, Value{1, "QCN"}),
		row("cnp_dscp_mode", "CNP_DSCP_MODE", ScopePort, Enum, 2, true, NeedsNewNV, "source of the DSCP of notifications",
			Value{0, "DEVICE_DEFAULT"}, Value{1, "FIXED"}, Value{2, "FROM_RECEIVED_PACKET"}),
		row("roce_cc_cnp_moderation", "ROCE_CC_CNP_MODERATION", ScopePort, Enum, 2, true, NeedsNewNV, "scope of the gap between notifications",
			Value{0, "DEVICE_DEFAULT"}, Value{1, "PER_PORT"}, Value{2, "PER_FLOW"}),
		row("roce_cc_shaper_coalesce", "ROCE_CC_SHAPER_COALESCE", ScopePort, Enum, 2, true, NeedsNewNV, "traffic that shares one rate limiter",
			Value{0, "DEVICE_DEFAULT"}, Value{1, "DEST_IP"}, Value{2, "SOURCE_QP"}, Value{3, "FIVE_TUPLE"}),
		row("roce_cc_dcqcn_compatibility_mode", "ROCE_CC_DCQCN_COMPATIBILITY_MODE", ScopePort, Enum, 2, true, NeedsNewNV, "device generation whose behaviour applies",
			Value{0, "DEVICE_DEFAULT"}, Value{1, "GEN_5"}, Value{2, "GEN_6"}),
		row("user_programmable_cc", "USER_PROGRAMMABLE_CC", ScopeDevice, Bool, 1, true, NeedsNothing, "user congestion control programs may be loaded"),
		row("roce_cc_legacy_dcqcn", "ROCE_CC_LEGACY_DCQCN", ScopeDevice, Bool, 1, false, NeedsNothing, "the fixed-function DCQCN engine is used"),
		row("pcc_int_en", "PCC_INT_EN", ScopeDevice, Bool, 1, false, NeedsNewNV, "telemetry in RTT probes"),
	}
}

// Codes of transmission selection algorithms (IEEE 802.1Qaz, as the kernel numbers them).
const (
	TSAStrict = 0
	TSACredit = 1
	TSAETS    = 2
	TSAVendor = 255
)

// MaxClassRate is the largest maximum rate of a traffic class, in kbit/s. The register of mlx5 has 8 bits, in units of 100 Mbit/s or
// 1 Gbit/s; older kernels write the lowest 8 bits of a larger rate without an error (drivers/net/ethernet/mellanox/mlx5/core,
// en_dcbnl.c).
const MaxClassRate = 255_000_000

// Values of trust.
const (
	TrustPCP  = 0
	TrustDSCP = 1
)

// qos returns the parameters of DCB netlink and configfs. Numbers of one attribute are written together.
func qos() []Param {
	dcb := func(name string, bits uint8, atomic string) []Source {
		return []Source{{Backend: DCB, Name: name, Bits: bits, WideBits: bits, Atomic: atomic}}
	}
	return []Param{
		{Name: "trust", Group: GroupQoS, Scope: ScopePort, Kind: Enum, Max: TrustDSCP, Known: true, Disruptive: true,
			Values:      []Value{{TrustPCP, "pcp"}, {TrustDSCP, "dscp"}},
			Description: "field that determines a packet's priority; dscp once the application table has a DSCP entry", Sources: append(dcb("app", 1, "app"), dms("nvidia/qos/config/trust-mode", 1))},
		{Name: "dscp2prio", Group: GroupQoS, Scope: ScopeDSCP, Kind: Uint, Max: 7, Description: "priority of a DSCP", Sources: dcb("app", 8, "app")},
		{Name: "prio2tc", Group: GroupQoS, Scope: ScopePriority, Kind: Uint, Max: 7, Description: "traffic class of a priority", Sources: dcb("ets.prio_tc", 8, "ets")},
		{Name: "tsa", Group: GroupQoS, Scope: ScopeTC, Kind: Enum, Max: TSAVendor,
			Values:      []Value{{TSAStrict, "strict"}, {TSACredit, "cbs"}, {TSAETS, "ets"}, {TSAVendor, "vendor"}},
			Description: "transmission selection algorithm of a traffic class", Sources: dcb("ets.tc_tsa", 8, "ets")},
		{Name: "tc_bw", Group: GroupQoS, Scope: ScopeTC, Kind: Uint, Unit: "percent", Max: 100, Description: "bandwidth share of a traffic class; shares of ets classes sum to 100", Sources: dcb("ets.tc_tx_bw", 8, "ets")},
		{Name: "tc_maxrate", Group: GroupQoS, Scope: ScopeTC, Kind: Uint, Unit: "kbit/s", Max: MaxClassRate, Known: true, Description: "maximum rate of a traffic class; 0 is no limit", Sources: dcb("maxrate", 64, "maxrate")},
		{Name: "pfc", Group: GroupQoS, Scope: ScopePriority, Kind: Bool, Max: 1, Known: true, Disruptive: true, Description: "priority flow control", Sources: append(dcb("pfc.pfc_en", 1, "pfc"), dms("nvidia/qos/config/pfc", 1))},
		{Name: "cable_len", Group: GroupQoS, Scope: ScopePort, Kind: Uint, Unit: "m", Max: 65535, Disruptive: true, Description: "cable length from which buffer thresholds are computed", Sources: dcb("pfc.delay", 16, "pfc")},
		{Name: "prio2buffer", Group: GroupQoS, Scope: ScopePriority, Kind: Uint, Max: 7, Disruptive: true, Description: "receive buffer of a priority", Sources: dcb("buffer.prio2buffer", 8, "buffer")},
		{Name: "buffer_size", Group: GroupQoS, Scope: ScopeBuffer, Kind: Uint, Unit: "bytes", Max: dcqcn.MaxWide, Disruptive: true, Description: "size of a receive buffer", Sources: dcb("buffer.buffer_size", 32, "buffer")},
		{Name: "default_roce_tos", Group: GroupToS, Scope: ScopePort, Kind: Uint, Max: 255, Known: true, Description: "default type of service of RDMA-CM connections: DSCP * 4 + ECN",
			Sources: []Source{{Backend: Configfs, Name: "default_roce_tos", Bits: 8, WideBits: 8}, dms("nvidia/roce/config/tos", 8)}},
		{Name: "default_roce_mode", Group: GroupToS, Scope: ScopePort, Kind: Enum, Max: 1, Values: []Value{{0, "IB/RoCE v1"}, {1, "RoCE v2"}},
			Description: "default RoCE version of RDMA-CM connections", Sources: []Source{{Backend: Configfs, Name: "default_roce_mode", Bits: 1, WideBits: 1}}},
	}
}

// dms returns a source by the vendor's management service. One request sets any number of its leaves.
func dms(path string, bits uint8) Source {
	return Source{Backend: DMS, Name: path, Bits: bits, WideBits: bits, Atomic: "dms"}
}

// share returns the rates of virtual functions; two of them also exist in legacy mode. Devlink's own unit of rates is bytes/s.
// The unit here is Mbit/s, to which the driver rounds. The kernel gives weights 32 bits; a driver may allow less.
func share() []Param {
	row := func(name string, scope Scope, unit string, least, most uint64, needs Capability, text string) Param {
		return Param{Name: "vf_" + name, Group: GroupShare, Scope: scope, Kind: Uint, Unit: unit, Min: least, Max: most, Needs: needs, Description: text,
			Sources: []Source{{Backend: Devlink, Name: name, Bits: 32, WideBits: 32}}}
	}
	// One attribute of route netlink contains both rates of a function (linux/if_link.h, ifla_vf_rate).
	legacy := func(p Param, name string) Param {
		p.Sources = append(p.Sources, Source{Backend: Link, Name: name, Bits: 32, WideBits: 32, Atomic: "vf_rate"})
		return p
	}
	return []Param{
		legacy(row("tx_share", ScopeFunction, "Mbit/s", 0, dcqcn.MaxWide, NeedsVFRates, "guaranteed rate of the function; 0 is none"), "min_tx_rate"),
		legacy(row("tx_max", ScopeFunction, "Mbit/s", 0, dcqcn.MaxWide, NeedsVFRates, "maximum rate of the function; 0 is no limit"), "max_tx_rate"),
		row("tx_weight", ScopeFunction, "", 1, dcqcn.MaxWide, NeedsSwitchdev, "weight among the functions of a group"),
		row("tc_bw", ScopeFunctionTC, "", 0, 100, NeedsTCRates, "relative share of a traffic class within the function"),
	}
}

// broadcom returns the parameters of Broadcom NICs that are no part of a rate law: whether the port reacts to marks, and how its
// traffic and its notifications are marked. No parameter of DCQCN corresponds to another one of these NICs.
func broadcom() []Param {
	row := func(file string, kind Kind, most uint64, text string) Param {
		return Param{Name: "bnxt_" + file, Group: GroupBnxt, Scope: ScopePort, Kind: kind, Max: most, Needs: NeedsBnxt, Description: text,
			Sources: []Source{{Backend: Bnxt, Name: file, Bits: 8, WideBits: 8, Atomic: "apply"}}}
	}
	return []Param{
		row("ecn_enable", Bool, 1, "Broadcom: senders react to marks"),
		row("ecn_marking", Uint, 2, "Broadcom: ECN codepoint of packets; 0 is not ECN-capable"),
		row("roce_dscp", Uint, 63, "Broadcom: DSCP of RoCE traffic"),
		row("roce_prio", Uint, 7, "Broadcom: priority of RoCE traffic"),
		row("cnp_dscp", Uint, 63, "Broadcom: DSCP of notifications"),
		row("cnp_prio", Uint, 7, "Broadcom: priority of notifications"),
	}
}
