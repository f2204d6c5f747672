package ibprofile

import "fairlane/ccconfig/ibcc"

// Names of built-in profiles.
const (
	GenericAdapter = "ibta-adapter"
	GenericSwitch  = "ibta-switch"
	RestartAdapter = "restart-adapter"
	QLogicAdapter  = "qlogic-qib"
)

// genericQueue is the input buffer of one port and VL of the generic switch, in bytes; threshold codes are fractions of it.
const genericQueue = 128 << 10

// annexAdapter returns an adapter with the full ranges of the annex's fields, and a table of 128 entries, the size that OpenSM's
// cc_cct fills.
func annexAdapter() AdapterModel {
	return AdapterModel{
		TableEntries: 2 * ibcc.BlockEntries, MaxShift: ibcc.MaxShift, MaxMultiplier: ibcc.MaxMultiplier,
		TimerUnit: ibcc.TimerUnitPicoseconds, MaxTimer: 1<<16 - 1, MaxIncrease: 1<<8 - 1, PerQP: true, PerSL: true,
	}
}

func builtin() []Profile {
	restarting, qib := annexAdapter(), annexAdapter()
	restarting.TimerRestart = true
	return []Profile{
		{
			Name: GenericAdapter, Title: "Channel adapter as IBTA annex A10 describes it", Kind: Adapter, Basis: Standard,
			Origin: "IBTA vol. 1, annex A10, CACongestionSetting and CongestionControlTable", Adapter: annexAdapter(),
			Assumptions: []string{
				"the table holds 128 entries; the device states its own limit in ControlTableCap",
				"CCTI_Timer runs free; a BECN does not restart it",
				"in SL mode a CCTI slows its own SL, not the whole port",
			},
		},
		{
			Name: GenericSwitch, Title: "Switch as IBTA annex A10 describes it", Kind: Switch, Basis: Assumed,
			Origin: "IBTA vol. 1, annex A10, SwitchCongestionSetting, which leaves the meaning of threshold codes to the vendor",
			Switch: SwitchModel{Thresholds: Linear(genericQueue), QueueBytes: genericQueue, MinMarkingRate: 1, MaxMarkingRate: 1<<16 - 1, MaxPacketSize: 1<<8 - 1, PortMarking: true},
			Assumptions: []string{
				"threshold code c marks above (16-c)/16 of 128 KiB held for one output port and VL",
				"each port can have a marking of its own (SwitchPortCongestionSetting)",
			},
		},
		{
			Name: RestartAdapter, Title: "Channel adapter whose CCTI_Timer restarts on every BECN", Kind: Adapter, Basis: Assumed,
			Origin: "Algorithm 1 of the differentiated-bandwidth paper (S1)", Adapter: restarting,
			Assumptions: []string{"each BECN restarts CCTI_Timer; everything else is as in ibta-adapter"},
		},
		{
			Name: QLogicAdapter, Title: "QLogic 7300 series adapter with the qib driver", Kind: Adapter, Basis: Source,
			Origin: "Linux driver qib: layout of CACongestionSetting's entries, module parameter cc_table_size", Adapter: qib,
			Layout: Layout{PackedCA: true},
			Assumptions: []string{
				"the driver was loaded with cc_table_size of 128 or more; with its default of 0 the adapter has no congestion control",
				"the timer runs free in units of 1.024 us; the sources of the driver do not show who applies it",
			},
		},
	}
}

// builtinRules select built-in profiles by NodeInfo's vendor and device.
func builtinRules() []Rule {
	const qlogic, qle7300 = 0x001175, 0x7322
	return []Rule{{Profile: QLogicAdapter, VendorID: qlogic, DeviceIDs: []uint16{qle7300}}}
}
