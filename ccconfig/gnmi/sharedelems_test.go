package gnmi_test

import (
	"testing"

	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/internal/gnmid"
)

func TestSharedElems(t *testing.T) {
	t.Parallel()
	param := func(nic string, port int, name string) gnmid.Operation {
		return gnmid.Operation{Op: gnmid.OpUpdate, Path: nicyang.ParamValue(nic, nicparam.Key{Port: port, Name: name}), Value: gnmid.Uint(1)}
	}
	senders := gnmid.Operation{Op: gnmid.OpReplace, Path: nicyang.WRCC("a", 1)}
	for _, tc := range []struct {
		name string
		ops  []gnmid.Operation
		want string
	}{
		{"one parameter", []gnmid.Operation{param("a", 1, "x")}, nicyang.Param("a", nicparam.Key{Port: 1, Name: "x"}).Child("config").String()},
		{"two of a port", []gnmid.Operation{param("a", 1, "x"), param("a", 1, "y")}, nicyang.Params("a", 1).String()},
		{"a port's and the card's", []gnmid.Operation{param("a", 1, "x"), param("a", 0, "y")}, nicyang.NIC("a").String()},
		{"two ports", []gnmid.Operation{param("a", 1, "x"), param("a", 2, "x")}, nicyang.NIC("a").Child("ports").String()},
		{"two cards", []gnmid.Operation{param("a", 1, "x"), param("b", 1, "x")}, "/nics"},
		{"parameters and senders", []gnmid.Operation{param("a", 1, "x"), senders}, nicyang.Port("a", 1).String()},
		{"senders", []gnmid.Operation{senders}, nicyang.Port("a", 1).String()},
	} {
		if got := tc.ops[0].Path.First(gnmi.SharedElems(tc.ops)).String(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
