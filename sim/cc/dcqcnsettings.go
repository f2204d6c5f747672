package cc

import (
	"errors"

	registers "fairlane/ccconfig/dcqcn"
)

// MlxFromSettings converts a NIC port's settings to parameters of "dcqcn-mlx": Mbit/s to bit/s, and us to picoseconds.
// Parameters without a register keep their defaults. min_time_between_cnps belongs to the receiving port: if notifications are
// packets, the simulated fabric applies the gap.
func MlxFromSettings(s *registers.Settings) Values {
	const mbit, micro = 1e6, 1e6
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	return Values{
		"clamp_tgt_rate":                flag(s.ClampTargetRate),
		"clamp_tgt_rate_after_time_inc": flag(s.ClampTargetRateAfterInc),
		"rpg_time_reset":                float64(s.TimeReset) * micro,
		"rpg_byte_reset":                float64(s.ByteReset),
		"rpg_threshold":                 float64(s.Threshold),
		"rpg_max_rate":                  float64(s.MaxRate) * mbit,
		"rpg_ai_rate":                   float64(s.AIRate) * mbit,
		"rpg_hai_rate":                  float64(s.HAIRate) * mbit,
		"rpg_gd":                        float64(s.GD),
		"rpg_min_dec_fac":               float64(s.MinDecFac),
		"rpg_min_rate":                  float64(s.MinRate) * mbit,
		"rate_to_set_on_first_cnp":      float64(s.RateOnFirstCNP) * mbit,
		"dce_tcp_g":                     float64(s.G),
		"dce_tcp_rtt":                   float64(s.AlphaPeriod) * micro,
		"rate_reduce_monitor_period":    float64(s.MonitorPeriod) * micro,
		"initial_alpha_value":           float64(s.InitialAlpha),
		"min_time_between_cnps":         float64(s.CNPGap) * micro,
	}
}

// NewMlx builds "dcqcn-mlx" for a NIC port. It returns an error for values out of range; the error names the register.
func NewMlx(s *registers.Settings) (Algorithm, error) {
	spec := dcqcnMlxSpec()
	return spec.Build(MlxFromSettings(s))
}

// NewMlxEach builds "dcqcn-mlx" for NIC ports of one run, one algorithm per port, in the order of registers. The algorithms
// share the memory for flows. NewMlxEach returns the same errors as NewMlx.
func NewMlxEach(registers []registers.Settings) ([]Algorithm, error) {
	common := new(slots[dcqcnMlxFlow])
	out := make([]Algorithm, len(registers))
	for i := range registers {
		a, err := NewMlx(&registers[i])
		if err != nil {
			return nil, err
		}
		d, ok := a.(*dcqcnMlx)
		if !ok {
			return nil, errOtherKind
		}
		d.common, out[i] = common, d
	}
	return out, nil
}

// errOtherKind reports that Build returned an algorithm of an unexpected type.
var errOtherKind = errors.New("dcqcn-mlx is of another kind")
