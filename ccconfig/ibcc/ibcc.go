// Package ibcc holds typed InfiniBand congestion-control settings with units (IBTA annex A10): the desired state of a device,
// independent of the protocol. It is pure.
package ibcc

import "fairlane/subnet/ident"

// Entry is one congestion-control-table entry: an injection rate delay of
// Multiplier / 2^Shift packet transmission times inserted after each packet.
// A flow at this entry gets line rate / (1 + Multiplier/2^Shift).
type Entry struct {
	Shift      uint8  `json:"shift"`      // 0..3
	Multiplier uint16 `json:"multiplier"` // 0..16383
}

// Limits of the encoding.
const (
	MaxShift      = 3
	MaxMultiplier = 1<<14 - 1
	BlockEntries  = 64 // entries in one CongestionControlTable block
)

// TimerUnitPicoseconds is the unit of CCTI_Timer and of the CC TimeStamp: 1.024 us.
const TimerUnitPicoseconds = 1_024_000

// SLParams are the CACongestionSetting parameters of one (port, SL).
type SLParams struct {
	Timer    uint16 `json:"timer"`    // CCTI_Timer, units of 1.024 us; 0 means no decay
	Increase uint8  `json:"increase"` // CCTI_Increase per BECN; 0 disables the reaction
	Trigger  uint8  `json:"trigger"`  // Trigger_Threshold: log when CCTI reaches it; 0 means off
	Min      uint8  `json:"min"`      // CCTI_Min: minimum CCTI, a permanent rate cap when above 0
}

// CASettings is the complete congestion-control state of one channel-adapter port.
type CASettings struct {
	PerSL bool                   `json:"per_sl"` // Port_Control bit 0: one CCTI per SL (true) or per QP (false)
	SLs   [ident.NumSLs]SLParams `json:"sls"`
	Limit uint16                 `json:"ccti_limit"` // CCTI_Limit: highest valid index
	Table []Entry                `json:"table"`      // entries 0..Limit
}

// SwitchSettings is SwitchCongestionSetting: the marking defaults of a whole switch.
type SwitchSettings struct {
	VictimMask    PortMask `json:"victim_mask"` // ports that also mark as victims
	CreditMask    PortMask `json:"credit_mask"` // ports that apply credit starvation
	Threshold     uint8    `json:"threshold"`   // 0 never .. 15 most aggressive
	PacketSize    uint8    `json:"packet_size"` // smaller packets are not marked, unit 64 bytes
	CSThreshold   uint8    `json:"cs_threshold"`
	CSReturnDelay Entry    `json:"cs_return_delay"`
	MarkingRate   uint16   `json:"marking_rate"` // mean eligible packets per mark; 0 or 1 marks all
}

// PortMarking is one SwitchPortCongestionSetting element: when Valid it overrides the
// switch-wide marking on that port.
type PortMarking struct {
	Valid            bool   `json:"valid"`
	CreditStarvation bool   `json:"credit_starvation"` // Control_Type
	Threshold        uint8  `json:"threshold"`
	PacketSize       uint8  `json:"packet_size"`
	MarkingRate      uint16 `json:"marking_rate"`
}

// PortMask is a set of port numbers, bit n for port n; word 0 holds ports 0..63.
type PortMask [4]uint64

// Has reports whether port p is in the set.
func (m PortMask) Has(p ident.PortNum) bool { return m[p>>6]&(1<<(p&63)) != 0 }

// Set adds port p.
func (m *PortMask) Set(p ident.PortNum) { m[p>>6] |= 1 << (p & 63) }
