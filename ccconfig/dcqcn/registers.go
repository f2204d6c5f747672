package dcqcn

// Widths of the registers (vendor's firmware configuration database).
const (
	// MaxNarrow is the largest value of a 17-bit register: periods in us, and rates in Mbit/s if the firmware lacks the 32-bit
	// rate capability.
	MaxNarrow = 1<<17 - 1
	// MaxByteResetNarrow is the largest value of RPG_BYTE_RESET without that capability.
	MaxByteResetNarrow = 1<<15 - 1
	// MaxWide is the largest value of a 32-bit register.
	MaxWide = 1<<32 - 1
	// AlphaScale represents 1 in the fixed-point numbers of alpha and its filter.
	AlphaScale = 1024
)

// GD values that the vendor's parameter page documents; the register has four bits.
const (
	MinDocumentedGD = 10
	MaxDocumentedGD = 11
	MaxGD           = 15
)

// Limits are the capabilities of a kind of device beyond the ranges common to all.
type Limits struct {
	Rate32         bool // 32-bit rates and byte counter; otherwise 17 and 15 bits
	UndocumentedGD bool // RPG_GD from 0 to 15; otherwise 10 and 11
}

// MaxRate returns the largest value of a rate register, in Mbit/s.
func (l Limits) MaxRate() uint64 {
	if l.Rate32 {
		return MaxWide
	}
	return MaxNarrow
}

// Register describes a numeric register of a port.
type Register struct {
	Name     string // as in the vendor's files, and in JSON
	Unit     string // empty for a plain number
	Min, Max uint64 // inclusive
	Value    func(*Settings) uint64
}

// Registers returns a port's registers in the order of Settings, with the legal ranges of a kind of device (vendor's parameter
// page and firmware configuration database). A flag has the range 0 to 1.
func (l Limits) Registers() []Register {
	rate, bytes := l.MaxRate(), uint64(MaxByteResetNarrow)
	if l.Rate32 {
		bytes = MaxWide
	}
	gdMin, gdMax := uint64(MinDocumentedGD), uint64(MaxDocumentedGD)
	if l.UndocumentedGD {
		gdMin, gdMax = 0, MaxGD
	}
	return []Register{
		{"clamp_tgt_rate", "", 0, 1, func(s *Settings) uint64 { return flag(s.ClampTargetRate) }},
		{"clamp_tgt_rate_after_time_inc", "", 0, 1, func(s *Settings) uint64 { return flag(s.ClampTargetRateAfterInc) }},
		{"rpg_time_reset", "us", 1, MaxNarrow, func(s *Settings) uint64 { return uint64(s.TimeReset) }},
		{"rpg_byte_reset", "64 B", 0, bytes, func(s *Settings) uint64 { return uint64(s.ByteReset) }},
		{"rpg_threshold", "", 0, 31, func(s *Settings) uint64 { return uint64(s.Threshold) }},
		{"rpg_max_rate", "Mbit/s", 0, rate, func(s *Settings) uint64 { return uint64(s.MaxRate) }},
		{"rpg_ai_rate", "Mbit/s", 0, rate, func(s *Settings) uint64 { return uint64(s.AIRate) }},
		{"rpg_hai_rate", "Mbit/s", 0, rate, func(s *Settings) uint64 { return uint64(s.HAIRate) }},
		{"rpg_gd", "log2", gdMin, gdMax, func(s *Settings) uint64 { return uint64(s.GD) }},
		{"rpg_min_dec_fac", "percent", 1, 100, func(s *Settings) uint64 { return uint64(s.MinDecFac) }},
		{"rpg_min_rate", "Mbit/s", 1, rate, func(s *Settings) uint64 { return uint64(s.MinRate) }},
		{"rate_to_set_on_first_cnp", "Mbit/s", 0, rate, func(s *Settings) uint64 { return uint64(s.RateOnFirstCNP) }},
		{"dce_tcp_g", "1/1024", 1, AlphaScale - 1, func(s *Settings) uint64 { return uint64(s.G) }},
		{"dce_tcp_rtt", "us", 1, MaxNarrow, func(s *Settings) uint64 { return uint64(s.AlphaPeriod) }},
		{"rate_reduce_monitor_period", "us", 1, MaxNarrow, func(s *Settings) uint64 { return uint64(s.MonitorPeriod) }},
		{"initial_alpha_value", "1/1024", 0, AlphaScale - 1, func(s *Settings) uint64 { return uint64(s.InitialAlpha) }},
		{"min_time_between_cnps", "us", 0, MaxNarrow, func(s *Settings) uint64 { return uint64(s.CNPGap) }},
	}
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
