package cc

import (
	"fmt"
	"math"

	"fairlane/internal/quantity"
)

const (
	mlxSource = "vendor's DCQCN parameter page and firmware configuration database"

	// mlxNarrow is the largest value of a 17-bit register.
	mlxNarrow = 1<<17 - 1
)

func dcqcnMlxSpec() Spec {
	return Spec{
		Name: "dcqcn-mlx", Title: "DCQCN as the vendor's NICs have it", Source: mlxSource,
		Params: append(mlxPublished(), mlxDisputed()...),
		New:    newDCQCNMlx,
	}
}

// mlxPublished returns the parameters of the reaction point and the gap of the notification point, with the vendor's names,
// ranges and defaults.
func mlxPublished() []Param {
	flag := func(name string, def float64, doc string) Param {
		return Param{Name: name, Kind: ParamFlag, Default: def, Doc: doc}
	}
	number := func(name string, def, low, high float64, doc string) Param {
		return Param{Name: name, Default: def, Min: low, Max: high, Doc: doc}
	}
	micros := func(name string, def float64, doc string) Param {
		return Param{
			Name: name, Kind: ParamDuration, Default: def * 1e6, Min: 1e6, Max: mlxNarrow * 1e6,
			Doc: doc + "; whole us, 17 bits",
		}
	}
	step := func(p Param) Param {
		p.Step = true
		return p
	}
	mbits := func(name string, def, low float64, doc string) Param {
		return Param{
			Name: name, Kind: ParamRate, Default: def * 1e6, Min: low * 1e6, Max: float64(quantity.MaxBitRate),
			Doc: doc + "; whole Mbit/s, 17 bits unless wide_rates",
		}
	}
	return []Param{
		flag("clamp_tgt_rate", 0, "every cut pulls the target down to the current rate"),
		flag("clamp_tgt_rate_after_time_inc", 1, "a cut also pulls the target down if the last increase came from the timer, not only from the byte counter"),
		micros("rpg_time_reset", 300, "time between increases without a cut"),
		number("rpg_byte_reset", 32767, 0, math.MaxUint32, "data sent between increases without a cut, in rpg_byte_unit; 0 is off"),
		number("rpg_threshold", 1, 0, 31, "stages counted before additive and before hyper increase"),
		mbits("rpg_max_rate", 0, 0, "rate at which the limiter is released; 0 is line rate"),
		step(mbits("rpg_ai_rate", 5, 0, "additive increase of the target")),
		step(mbits("rpg_hai_rate", 50, 0, "hyper increase of the target")),
		number("rpg_gd", 11, 0, 15, "a cut divides the 10-bit alpha by 2 to this power: 11 is 1 - alpha/2, larger is gentler; documented are 10 and 11"),
		number("rpg_min_dec_fac", 50, 0, 100, "least new rate of one cut, percent of the old; 100 never cuts"),
		mbits("rpg_min_rate", 1, 1, "minimum rate"),
		mbits("rate_to_set_on_first_cnp", 0, 0, "current and target rate of a limiter when attached; 0 is line rate"),
		number("dce_tcp_g", 1019, 1, 1023, "constant of the alpha filter in 1024ths, see alpha_filter"),
		micros("dce_tcp_rtt", 1, "period of alpha"),
		micros("rate_reduce_monitor_period", 4, "least time between two cuts"),
		number("initial_alpha_value", 1023, 0, 1023, "alpha of a limiter when attached, in 1024ths"),
		{
			Name: "min_time_between_cnps", Kind: ParamDuration, Default: 4e6, Max: mlxNarrow * 1e6,
			Doc: "of the notification point: least time between notifications made of echoes in acknowledgements; whole us, 17 bits",
		},
	}
}

// mlxDisputed returns the parameters for behaviour that the published texts leave open.
func mlxDisputed() []Param {
	return []Param{
		{Name: "rpg_byte_unit", Kind: ParamWord, Words: []string{"64-bytes", "bytes"}, Doc: "unit of rpg_byte_reset; published as bytes, but in bytes the default fires every 2.6 us at 100 Gbit/s and the loop holds no queue"},
		{Name: "wide_rates", Kind: ParamFlag, Default: 1, Doc: "the firmware has the 32-bit rate capability; without it no rate is above 131071 Mbit/s and rpg_byte_reset not above 32767"},
		{Name: "alpha_filter", Kind: ParamWord, Words: []string{"retained", "gain"}, Doc: "dce_tcp_g is the share of alpha that a period retains (parameter page; the only reading that fits the default and the paper), or the gain (firmware database)"},
		{Name: "alpha_state", Kind: ParamWord, Words: []string{"fraction", "integer"}, Doc: "alpha is filtered with fraction bits and truncated at the cut, or truncated to 10 bits in every period; not published"},
		{Name: "cut_reading", Kind: ParamWord, Words: []string{"period", "spacing"}, Doc: "a cut comes at the end of a free-running monitor period with a notification, or at a notification a monitor period after the last cut; not published"},
		compareParam(0),
		hyperParam(),
	}
}

func newDCQCNMlx(v Values) (Algorithm, error) {
	p, err := newMlxPoint(v)
	if err != nil {
		return nil, err
	}
	return &dcqcnMlx{mlxPoint: *p, common: new(slots[dcqcnMlxFlow])}, nil
}

// newMlxPoint returns a reaction point for a complete set of values of the Spec.
func newMlxPoint(v Values) (*mlxPoint, error) {
	if err := checkMlx(v); err != nil {
		return nil, err
	}
	keep, unit := v["dce_tcp_g"]/alphaScale, int64(64)
	if v["alpha_filter"] == 1 {
		keep = 1 - keep
	}
	if v["rpg_byte_unit"] == 1 {
		unit = 1
	}
	d := &mlxPoint{
		rp: RPParams{
			Reading: RecoverDCQCN, Threshold: uint16(v["rpg_threshold"]), Below: v["stage_compare"] == 1,
			HyperByStage: v.Flag("hyper_by_stage"), AI: v["rpg_ai_rate"], HAI: v["rpg_hai_rate"], Floor: v["rpg_min_rate"],
		},
		alpha:   newAlphaFilter(v.Span("dce_tcp_rtt"), keep, (1-keep)*alphaScale, alphaMost),
		initial: v["initial_alpha_value"],
		monitor: v.Span("rate_reduce_monitor_period"), inc: v.Span("rpg_time_reset"),
		bytes:   int64(v["rpg_byte_reset"]) * unit,
		divisor: math.Exp2(v["rpg_gd"]), least: v["rpg_min_dec_fac"] / 100,
		maxRate: v["rpg_max_rate"], first: v["rate_to_set_on_first_cnp"],
		gap:   v.Span("min_time_between_cnps"),
		clamp: v.Flag("clamp_tgt_rate"), clampAT: v.Flag("clamp_tgt_rate_after_time_inc"),
		spaced: v["cut_reading"] == 1,
	}
	d.alpha.whole = v["alpha_state"] == 1
	return d, nil
}

// checkMlx returns an error for values that no register can hold.
func checkMlx(v Values) error {
	rates := []string{"rpg_max_rate", "rpg_ai_rate", "rpg_hai_rate", "rpg_min_rate", "rate_to_set_on_first_cnp"}
	spans := []string{"rpg_time_reset", "dce_tcp_rtt", "rate_reduce_monitor_period", "min_time_between_cnps"}
	numbers := []string{"rpg_byte_reset", "rpg_threshold", "rpg_gd", "rpg_min_dec_fac", "dce_tcp_g", "initial_alpha_value"}
	if err := wholeUnits(v, 1e6, "Mbit/s", rates...); err != nil {
		return err
	}
	if err := wholeUnits(v, 1e6, "us", spans...); err != nil {
		return err
	}
	if err := wholeUnits(v, 1, "units", numbers...); err != nil {
		return err
	}
	if v.Flag("wide_rates") {
		return nil
	}
	for _, name := range rates {
		if v[name] > mlxNarrow*1e6 {
			return fmt.Errorf("%s is %s: want at most %d Mbit/s without wide_rates", name, quantity.BitRate(v[name]), mlxNarrow)
		}
	}
	if v["rpg_byte_reset"] > 32767 {
		return fmt.Errorf("rpg_byte_reset is %v: want at most 32767 without wide_rates", v["rpg_byte_reset"])
	}
	return nil
}
