package agent_test

import (
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/ccalgo"
	"fairlane/ccconfig/nic/nicyang"
)

// A port with another algorithm keeps its parameters of DCQCN, although their files exist. Its other parameters can be set, and
// original values are still restored.
func TestParametersOfDCQCNAreRefusedUnderAnotherAlgorithm(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	before := r.file("rp_ai_rate")
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20))
	r.do(func() {
		r.algorithm = ccalgo.State{Name: ccalgo.Programmable, Driver: "mlx5_core", NetDev: "ens1f0", Evidence: "active slots 1"}
	})
	sweep(t, a)
	writes := len(r.writes)
	failures := refuses(t, a, codes.Unimplemented, "", give("eth-a", key(1, "rpg_ai_rate"), 40), give("eth-a", key(1, "cnp_dscp"), 46))
	if len(failures) != 2 || failures[0].Reason != nicyang.ReasonAbsent || len(r.writes) != writes || r.file("rp_ai_rate") != "20" {
		t.Errorf("%+v, file %s", failures, r.file("rp_ai_rate"))
	}
	for _, part := range []string{"mlx5_core", "ens1f0", "programmable", "active slots 1", "USER_PROGRAMMABLE_CC"} {
		if !strings.Contains(failures[0].Text, part) {
			t.Errorf("%q does not name %s", failures[0].Text, part)
		}
	}
	mustSet(t, a, give("eth-a", key(0, "user_programmable_cc"), 1))
	original, err := strconv.ParseUint(before, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), original)) // as a manager that returns the port to its baseline
	if got := r.file("rp_ai_rate"); got != before {
		t.Errorf("set back to %s, want %s", got, before)
	}
	refuses(t, a, codes.Unimplemented, "", give("eth-a", key(1, "rpg_ai_rate"), 20))
	mustSet(t, a, gnmitree.Operation{Op: gnmitree.OpDelete, Path: nicyang.ParamValue("eth-a", key(1, "rpg_ai_rate"))})
	if got := r.file("rp_ai_rate"); got != before {
		t.Errorf("restored %s, want %s", got, before)
	}
}
