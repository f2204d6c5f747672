// Package dcqcn holds the typed settings of DCQCN, the congestion control of RoCE NICs, in one vendor's form: names, units,
// widths and legal ranges of the reaction point (sender) and the notification point (receiver). The scope is a NIC port: all
// queue pairs of all its functions use the same settings.
package dcqcn

// Settings are the parameters of one NIC port. Zero never means a default; for some parameters it is a legal value. Default
// returns the defaults.
type Settings struct {
	ClampTargetRate         bool   `json:"clamp_tgt_rate"`                // every cut lowers the target rate to the current rate
	ClampTargetRateAfterInc bool   `json:"clamp_tgt_rate_after_time_inc"` // also after an increase by the timer
	TimeReset               uint32 `json:"rpg_time_reset"`                // us between increase events without a CNP
	ByteReset               uint32 `json:"rpg_byte_reset"`                // 64-byte units between increase events without a CNP; 0 means off
	Threshold               uint8  `json:"rpg_threshold"`                 // increase events before additive increase, 0 to 31
	MaxRate                 uint32 `json:"rpg_max_rate"`                  // Mbit/s; 0 means the port's speed
	AIRate                  uint32 `json:"rpg_ai_rate"`                   // Mbit/s per step of additive increase
	HAIRate                 uint32 `json:"rpg_hai_rate"`                  // Mbit/s per step of hyper increase
	GD                      uint8  `json:"rpg_gd"`                        // a cut is A/2^GD of the rate; 10 and 11 are documented
	MinDecFac               uint8  `json:"rpg_min_dec_fac"`               // minimum new rate after a cut, percent of the old rate
	MinRate                 uint32 `json:"rpg_min_rate"`                  // Mbit/s
	RateOnFirstCNP          uint32 `json:"rate_to_set_on_first_cnp"`      // Mbit/s; 0 means the port's speed
	G                       uint16 `json:"dce_tcp_g"`                     // retained part of alpha, in 1/1024
	AlphaPeriod             uint32 `json:"dce_tcp_rtt"`                   // us between updates of alpha
	MonitorPeriod           uint32 `json:"rate_reduce_monitor_period"`    // us between two cuts
	InitialAlpha            uint16 `json:"initial_alpha_value"`           // in 1/1024
	CNPGap                  uint32 `json:"min_time_between_cnps"`         // us between two CNPs of a flow
}

// Default returns the values that the vendor's devices report in their initial state.
func Default() Settings {
	return Settings{
		ClampTargetRateAfterInc: true, TimeReset: 300, ByteReset: 32767, Threshold: 1, AIRate: 5, HAIRate: 50, GD: 11,
		MinDecFac: 50, MinRate: 1, G: 1019, AlphaPeriod: 1, MonitorPeriod: 4, InitialAlpha: 1023, CNPGap: 4,
	}
}
