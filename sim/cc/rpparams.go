package cc

import (
	"fmt"
	"math"

	"fairlane/internal/quantity"
)

// rpMaxSpan is the longest duration in a scenario file.
const rpMaxSpan = 1000 * quantity.Second

// noStop is a rate above all flows' rates.
var noStop = math.Inf(1)

// rpGauges returns the gauges of all DCQCN readings: R_T in bit/s, alpha from 0 to 1, and the larger of the two stage counters.
func rpGauges() []string { return []string{"target_bps", "alpha", "stage"} }

// counted adds to a byte counter and reports whether it expired. It is checked once per packet: a threshold below the packet
// size expires with every packet.
func counted(sent *int64, wire int, threshold int64) bool {
	if threshold <= 0 {
		return false
	}
	*sent += int64(wire)
	if *sent < threshold {
		return false
	}
	*sent %= threshold
	return true
}

func spanParam(name string, def quantity.Picoseconds, doc string) Param {
	return Param{Name: name, Kind: ParamDuration, Default: float64(def), Min: float64(quantity.Nanosecond), Max: float64(rpMaxSpan), Doc: doc}
}

func gapParam(name string, def quantity.Picoseconds, doc string) Param {
	return Param{Name: name, Kind: ParamDuration, Default: float64(def), Min: 0, Max: float64(rpMaxSpan), Doc: doc}
}

func rateParam(name string, def float64, doc string) Param {
	return Param{Name: name, Kind: ParamRate, Default: def, Min: 1, Max: float64(quantity.MaxBitRate), Doc: doc}
}

// ratePer is the parameter with the NIC rate that the increases refer to.
const ratePer = "rate_per"

// ratePerParam returns the parameter with the NIC rate that an algorithm's increases refer to.
func ratePerParam(def quantity.BitRate, steps string) Param {
	return Param{
		Name: ratePer, Kind: ParamRate, Default: float64(def), Min: float64(quantity.Mbps), Max: float64(quantity.MaxBitRate), None: true,
		Doc: "rate of the NIC that " + steps + " are for: they grow with the line rate; none: they are the same at every line rate",
	}
}

// stepParam returns a parameter for a rate increase in bit/s.
func stepParam(name string, def float64, doc string) Param {
	p := rateParam(name, def, doc)
	p.Step = true
	return p
}

// scaledStep returns a rate increase scaled to a NIC's rate.
func scaledStep(step, per, line float64) float64 {
	if per == 0 {
		return step
	}
	return step * line / per
}

// setSteps sets r_ai and r_hai, as fractions of the line rate if they refer to a NIC rate.
func (p *RPParams) setSteps(v Values) {
	p.AI, p.HAI = v["r_ai"], v["r_hai"]
	if per := v[ratePer]; per > 0 {
		p.AI, p.HAI, p.Relative = p.AI/per, p.HAI/per, true
	}
}

func compareParam(def float64) Param {
	return Param{
		Name: "stage_compare", Kind: ParamWord, Default: def, Words: []string{"at-most", "below"},
		Doc: "fast recovery while the larger stage counter is at most F, or below F; hyper increase once the smaller one is past that too; not published for the vendor's implementation",
	}
}

func hyperParam() Param {
	return Param{
		Name: "hyper_by_stage", Kind: ParamFlag,
		Doc: "hyper increase adds its step once for each stage past the threshold, as in QCN; otherwise once; not published for the vendor's implementation",
	}
}

// wholeUnits returns an error that names the first value that is not a whole number of units.
func wholeUnits(v Values, unit float64, word string, names ...string) error {
	for _, name := range names {
		if x := v[name] / unit; x != math.Trunc(x) {
			return fmt.Errorf("%s is %v: want a whole number of %s", name, x, word)
		}
	}
	return nil
}
