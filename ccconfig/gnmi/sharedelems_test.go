package gnmi_test

import (
	"testing"

	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
)

func TestSharedElems(t *testing.T) {
	t.Parallel()
	param := func(nic string, port int, name string) gnmitree.Operation {
		return gnmitree.Operation{Op: gnmitree.OpUpdate, Path: nicyang.ParamValue(nic, nicparam.Key{Port: port, Name: name}), Value: gnmitree.Uint(1)}
	}
	senders := gnmitree.Operation{Op: gnmitree.OpReplace, Path: nicyang.WRCC("a", 1)}
	for _, tc := range []struct {
		name string
		ops  []gnmitree.Operation
		want string
	}{
		{"one parameter", []gnmitree.Operation{param("a", 1, "x")}, nicyang.Param("a", nicparam.Key{Port: 1, Name: "x"}).Child("config").String()},
		{"two of a port", []gnmitree.Operation{param("a", 1, "x"), param("a", 1, "y")}, nicyang.Params("a", 1).String()},
		{"a port's and the card's", []gnmitree.Operation{param("a", 1, "x"), param("a", 0, "y")}, nicyang.NIC("a").String()},
		{"two ports", []gnmitree.Operation{param("a", 1, "x"), param("a", 2, "x")}, nicyang.NIC("a").Child("ports").String()},
		{"two cards", []gnmitree.Operation{param("a", 1, "x"), param("b", 1, "x")}, "/nics"},
		{"parameters and senders", []gnmitree.Operation{param("a", 1, "x"), senders}, nicyang.Port("a", 1).String()},
		{"senders", []gnmitree.Operation{senders}, nicyang.Port("a", 1).String()},
	} {
		if got := tc.ops[0].Path.First(gnmi.SharedElems(tc.ops)).String(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
