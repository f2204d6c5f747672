//nolint:staticcheck // fields that gNMI has deprecated
package gnmitree_test

//lint:file-ignore SA1019 what gNMI has deprecated

import "github.com/openconfig/gnmi/proto/gnmi"

func oldPath() *gnmi.Path { return &gnmi.Path{Element: []string{"nics"}} }

func oldUpdate() *gnmi.Update { return &gnmi.Update{Path: wire(rate1), Value: &gnmi.Value{}} }

// oldNumbers returns 2.5 in each deprecated form.
func oldNumbers() []*gnmi.TypedValue {
	return []*gnmi.TypedValue{
		{Value: &gnmi.TypedValue_FloatVal{FloatVal: 2.5}},
		{Value: &gnmi.TypedValue_DecimalVal{DecimalVal: &gnmi.Decimal64{Digits: 25, Precision: 1}}},
	}
}
