package phrase

import (
	"math"
	"strconv"
	"strings"

	"fairlane/internal/quantity"
)

// Kind is the type of a parameter.
type Kind uint8

// The kinds of parameters.
const (
	KindPlain   Kind = iota // text that is the same in every language, such as a name
	KindInt                 // an integer, such as a count or an SL
	KindRate                // bit/s
	KindTime                // ps
	KindPercent             // thousandths of a percent
	KindNames               // names; the separator depends on the language
	KindTexts               // sentences, with Join between them
)

// Value is the value of one parameter; only the fields of its kind are set.
type Value struct {
	Kind  Kind
	Plain string
	N     int64
	Names []string
	Texts []Text
	Join  string // id of the separator between Texts; "": a semicolon
}

// Percent is a fraction, in thousandths of a percent.
type Percent int64

// PercentOf converts a fraction to percent, rounded to 0 to 3 decimals: PercentOf(0.12345, 1) prints "12.3 %".
func PercentOf(fraction float64, decimals int) Percent {
	scale := math.Pow10(decimals)
	return Percent(math.Round(math.Round(float64(100*fraction)*scale) / scale * 1000))
}

// String returns the percentage without trailing zeros: "12.3 %".
func (p Percent) String() string { return p.number() + " %" }

func (p Percent) number() string { return strconv.FormatFloat(float64(p)/1000, 'f', -1, 64) }

// String returns a value in English.
func (v Value) String() string {
	switch v.Kind {
	case KindInt:
		return strconv.FormatInt(v.N, 10)
	case KindRate:
		return quantity.BitRate(v.N).String()
	case KindTime:
		return quantity.Picoseconds(v.N).String()
	case KindPercent:
		return Percent(v.N).String()
	case KindNames:
		return strings.Join(v.Names, ", ")
	case KindTexts:
		return Of(verbatim, "text", v).String()
	default:
		return v.Plain
	}
}
