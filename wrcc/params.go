package wrcc

import (
	"errors"
	"fmt"
	"math"

	"fairlane/internal/quantity"
)

// Legal ranges (S0, section 3.6, item 3 and table 2) and the widths of a switch's configuration.
const (
	MinRateRatioPct = 100 // RateRatioMax, percent
	MaxRateRatioPct = 200
	MinQRatioPct    = 10 // QRatioMax, percent
	MaxQRatioPct    = 60
	MinPeriodRTTs   = 2 // WRCCT in units of the largest RTT inside a data centre
	MaxPeriodRTTs   = 4

	MinFairRate = quantity.Mbps                             // the unit of the header's FairRate
	MaxFairRate = quantity.BitRate(1<<32-1) * quantity.Mbps // the largest value of 32 bits
	MinPeriod   = quantity.Microsecond                      // the unit of WRCCT
	MaxPeriod   = quantity.Picoseconds(1<<16-1) * MinPeriod // the largest value of 16 bits
	MaxTimer    = quantity.Second                           // largest T1; with a longer one, rates would hardly increase
)

// Values that S0 recommends or uses.
const (
	DefaultRateRatioPct = 110
	DefaultQRatioPct    = 50
	DefaultPeriodRTTs   = 2
	DefaultLambda       = 0.1
	DefaultFmin         = 100 * quantity.Mbps // in S0's experiments, with 100 Gbit/s hosts
	FminPart            = 1000                // hosts' line rate divided by Fmin in those experiments
)

// Params are the settings of one egress port of a WRCC switch (S0, tables 1 and 2).
type Params struct {
	Fmin         quantity.BitRate     `json:"fmin_bps"`       // minimum port fair rate, normalized; whole Mbit/s on a device
	Fmax         quantity.BitRate     `json:"fmax_bps"`       // maximum port fair rate, likewise
	Target       quantity.BitRate     `json:"target_bps"`     // Btar, target rate of the port
	Period       quantity.Picoseconds `json:"period_ps"`      // WRCCT: sampling period, and the minimum gap between two FCNPs of a flow
	RateRatioPct int                  `json:"rate_ratio_pct"` // RateRatioMax, percent of Btar above which the rate is divided
	QRatioPct    int                  `json:"q_ratio_pct"`    // QRatioMax, percent of Qmax allowed in the queue
	Lambda       float64              `json:"lambda"`         // weight of a period in the average RTT, above 0 to 1
}

// DefaultParams returns S0's settings for a port of the given rate: the target is the rate itself, because S0 needs no reserve
// in its target rate (section 1), Fmax is the rate, and Fmin a thousandth of it.
func DefaultParams(rate quantity.BitRate, period quantity.Picoseconds) Params {
	return Params{
		Fmin: max(rate/FminPart, MinFairRate), Fmax: rate, Target: rate, Period: period,
		RateRatioPct: DefaultRateRatioPct, QRatioPct: DefaultQRatioPct, Lambda: DefaultLambda,
	}
}

// Validate returns an error for every setting out of its legal range, with the value found and the allowed range.
func (p *Params) Validate() error {
	return errors.Join(
		inRange("minimum fair rate", p.Fmin, MinFairRate, MaxFairRate),
		inRange("maximum fair rate", p.Fmax, max(p.Fmin, MinFairRate), MaxFairRate),
		inRange("target rate", p.Target, MinFairRate, quantity.MaxBitRate),
		inRange("sampling period WRCCT", p.Period, MinPeriod, MaxPeriod),
		percent("RateRatioMax", p.RateRatioPct, MinRateRatioPct, MaxRateRatioPct),
		percent("QRatioMax", p.QRatioPct, MinQRatioPct, MaxQRatioPct),
		checkLambda(p.Lambda),
	)
}

func inRange[T interface {
	~int64
	fmt.Stringer
}](name string, v, lo, hi T) error {
	if v < lo || v > hi {
		return fmt.Errorf("%s %s: want %s to %s", name, v, lo, hi)
	}
	return nil
}

func percent(name string, v, lo, hi int) error {
	if v < lo || v > hi {
		return fmt.Errorf("%s %d %%: want %d to %d %%", name, v, lo, hi)
	}
	return nil
}

func checkLambda(v float64) error {
	if !(v > 0 && v <= 1) {
		return fmt.Errorf("weight of a period in the average RTT %v: want above 0 to 1", v)
	}
	return nil
}

// Facts are the inputs of a port's settings. A zero field has the default stated in its comment.
type Facts struct {
	PortRate    quantity.BitRate     // of the egress port
	HostRate    quantity.BitRate     // of the fastest sender; 0 means PortRate
	MaxIntraRTT quantity.Picoseconds // largest RTT between two hosts of the data centre, unloaded
	PeriodRTTs  float64              // WRCCT / MaxIntraRTT, 2 to 4; 0 means 2, as in S0's experiments
	TargetPct   int                  // Btar / PortRate, 50 to 100 %; 0 means 100
	MinWeight   float64              // smallest weight of a flow; 0 means 1
	WeightSum   float64              // largest sum of the weights of concurrent flows at the port; 0 means MinWeight: one flow
}

// Limits of a target rate, percent of the port's rate: below half, Algorithm 1 would leave most of the port unused.
const (
	MinTargetPct = 50
	MaxTargetPct = 100
)

// Settings are the derived settings of both ends of the loop.
type Settings struct {
	Port Params
	T1   quantity.Picoseconds // of the senders
}

// Derive returns the settings for a topology, by the rules of S0, section 3.6:
//
//	WRCCT = PeriodRTTs · MaxIntraRTT, in whole microseconds, rounded up
//	T1    = WRCCT, the minimum that is allowed
//	Btar  = TargetPct of PortRate
//	Fmax  = HostRate / MinWeight: the lightest flow alone on the port may fill it
//	Fmin  = HostRate / 1000, or Btar / WeightSum where that is less, but at most Fmax:
//	        the fair rate of the port with the most flows must be above Fmin
//
// The last two are S0's own values (100 Gbit/s and 100 Mbit/s with 100 Gbit/s hosts) for flows of weight one. Facts in range
// always give legal settings; otherwise the error names the invalid fact.
func Derive(f Facts) (Settings, error) {
	f = f.withDefaults()
	if err := f.validate(); err != nil {
		return Settings{}, err
	}
	us := math.Ceil(f.PeriodRTTs * float64(f.MaxIntraRTT) / float64(quantity.Microsecond))
	target := f.PortRate * quantity.BitRate(f.TargetPct) / 100
	top := float64(f.HostRate) / f.MinWeight
	p := Params{
		Fmin: wholeMbps(min(float64(f.HostRate)/FminPart, float64(target)/f.WeightSum, top)),
		Fmax: wholeMbps(top), Target: target, Period: quantity.Picoseconds(us) * quantity.Microsecond,
		RateRatioPct: DefaultRateRatioPct, QRatioPct: DefaultQRatioPct, Lambda: DefaultLambda,
	}
	return Settings{Port: p, T1: p.Period}, nil
}

// wholeMbps rounds a rate down to whole Mbit/s within the header's range.
func wholeMbps(bps float64) quantity.BitRate {
	return quantity.BitRate(min(max(math.Floor(bps/1e6), 1), 1<<32-1)) * quantity.Mbps
}

func (f Facts) withDefaults() Facts {
	if f.HostRate == 0 {
		f.HostRate = f.PortRate
	}
	if f.PeriodRTTs == 0 {
		f.PeriodRTTs = DefaultPeriodRTTs
	}
	if f.TargetPct == 0 {
		f.TargetPct = MaxTargetPct
	}
	if f.MinWeight == 0 {
		f.MinWeight = 1
	}
	if f.WeightSum == 0 {
		f.WeightSum = f.MinWeight
	}
	return f
}

func (f *Facts) validate() error {
	maxRTT := MaxPeriod / MaxPeriodRTTs
	errs := []error{
		inRange("port rate", f.PortRate, 2*MinFairRate, quantity.MaxBitRate),
		inRange("host rate", f.HostRate, MinFairRate, quantity.MaxBitRate),
		inRange("largest RTT inside the data centre", f.MaxIntraRTT, quantity.Nanosecond, maxRTT),
		percent("target rate over port rate", f.TargetPct, MinTargetPct, MaxTargetPct),
		checkWeight("least weight", f.MinWeight, MinWeight, MaxWeight),
		checkWeight("sum of weights", f.WeightSum, f.MinWeight, MaxWeightSum),
	}
	if !(f.PeriodRTTs >= MinPeriodRTTs && f.PeriodRTTs <= MaxPeriodRTTs) {
		errs = append(errs, fmt.Errorf("WRCCT of %v RTTs: want %d to %d", f.PeriodRTTs, MinPeriodRTTs, MaxPeriodRTTs))
	}
	return errors.Join(errs...)
}

// Ranges of the weight of a flow, for example of a tenant, and of the sum of concurrent flows at a port.
const (
	MinWeight    = 0.001
	MaxWeight    = 1e6
	MaxWeightSum = 1e12
)

func checkWeight(name string, w, lo, hi float64) error {
	if !(w >= lo && w <= hi) {
		return fmt.Errorf("%s %v: want %v to %v", name, w, lo, hi)
	}
	return nil
}
