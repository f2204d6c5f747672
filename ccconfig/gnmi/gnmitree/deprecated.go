//nolint:staticcheck // fields that gNMI has deprecated, and clients may still send
package gnmitree

//lint:file-ignore SA1019 what gNMI has deprecated, and clients may still send

import (
	"math"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// inElements reports whether a path has only the form deprecated in gNMI 0.4.0. Some clients send both.
func inElements(p *gnmi.Path) bool { return len(p.GetElement()) > 0 && len(p.GetElem()) == 0 }

// inValue reports whether an update has a value in the field deprecated in gNMI 0.3.0.
func inValue(u *gnmi.Update) bool { return u.GetValue() != nil }

// oldNumber returns a number in one of the forms that double_val has replaced.
func oldNumber(t *gnmi.TypedValue) (float64, bool) {
	switch v := t.GetValue().(type) {
	case *gnmi.TypedValue_FloatVal:
		return float64(v.FloatVal), true
	case *gnmi.TypedValue_DecimalVal:
		return float64(v.DecimalVal.GetDigits()) / math.Pow10(int(min(v.DecimalVal.GetPrecision(), 18))), true
	}
	return 0, false
}
