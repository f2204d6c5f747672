package agent_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/agent"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

func mustSet(t testing.TB, a *agent.Agent, ops ...gnmitree.Operation) {
	t.Helper()
	if _, err := a.Set(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
}

// refuses expects a Set to be refused with a code and texts, and returns the failures.
func refuses(t testing.TB, a *agent.Agent, code codes.Code, says string, ops ...gnmitree.Operation) []nicyang.Failure {
	t.Helper()
	_, err := a.Set(t.Context(), ops)
	if status.Code(err) != code || !strings.Contains(fmt.Sprint(err), says) {
		t.Errorf("set gave %v, want %s with %q", err, code, says)
	}
	return nicyang.Failures(err)
}

func TestSetIsWrittenReadBackAndReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	before := leaf(t, a, nicyang.AgentState().Child("config-generation"))
	mustSet(t, a,
		gnmitree.Operation{Op: gnmitree.OpUpdate, Path: nicyang.SetID(), Value: gnmitree.String("plan-7")},
		give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(2, "rpg_hai_rate"), 200), give("eth-b", key(1, "rpg_gd"), 10))
	if r.file("rp_ai_rate") != "20" || r.files["sys/class/net/ens1f1/ecn/roce_rp/rpg_hai_rate"] != "200" || r.files["sys/kernel/debug/mlx5/0000:5e:00.0/cc_params/rp_gd"] != "10" {
		t.Error(r.writes)
	}
	if len(r.writes) != 3 {
		t.Errorf("wrote %q, want three parameters", r.writes)
	}
	want := map[string]string{"value": "20", "outcome": "verified", "back-end": "debugfs", "persistence": "runtime", "cost": "live", "unit": "Mbit/s",
		"min": "0", "max": "131071", "allowed": "0..131071", "default": "5", "set-value": "20", "pending-reset": "false"}
	got := map[string]string{}
	for p, v := range ask(t, a, nicyang.Param("eth-a", key(1, "rpg_ai_rate")).Child("state")) {
		got[p[strings.LastIndexByte(p, '/')+1:]] = v
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if applied(t, a, "outcome") != "done" || applied(t, a, "id") != "plan-7" || applied(t, a, "sequence") != "1" {
		t.Error(ask(t, a, nicyang.ApplyState()))
	}
	if after := leaf(t, a, nicyang.AgentState().Child("config-generation")); after == before {
		t.Errorf("generation stays %s", after)
	}
}

func TestSetOfCurrentValuesWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20))
	ops, generation := r.ops, leaf(t, a, nicyang.AgentState().Child("config-generation"))
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 20))
	if r.ops != ops {
		t.Errorf("%d operations more, want none", r.ops-ops)
	}
	if g := leaf(t, a, nicyang.AgentState().Child("config-generation")); g != generation {
		t.Errorf("generation went from %s to %s", generation, g)
	}
	if state(t, a, "eth-a", key(1, "rpg_ai_rate"), "outcome") != "unchanged" {
		t.Error("the parameter does not show the outcome")
	}
}

func TestInvalidSetsAreRejectedBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	good := give("eth-a", key(1, "rpg_ai_rate"), 20)
	at := func(s string, v gnmitree.Value) gnmitree.Operation {
		p, err := gnmitree.ParsePath(s)
		if err != nil {
			t.Fatal(err)
		}
		return gnmitree.Operation{Op: gnmitree.OpUpdate, Path: p, Value: v}
	}
	for _, c := range []struct {
		name string
		op   gnmitree.Operation
		code codes.Code
		says string
	}{
		{"above the range", give("eth-a", key(1, "rpg_gd"), 12), codes.InvalidArgument, "port 1 rpg_gd: found 12, want 10..11"},
		{"below the range", give("eth-a", key(1, "rpg_min_dec_fac"), 0), codes.InvalidArgument, "want 1..100"},
		{"no such parameter", give("eth-a", key(1, "rpg_warp"), 1), codes.InvalidArgument, "no such parameter"},
		{"no such index", give("eth-a", key(1, "rp_enable", 8), 1), codes.InvalidArgument, "index 0..7"},
		{"not on this port", give("eth-a", key(1, "rp_enable", 3), 1), codes.Unimplemented, "not offered by the device"},
		{"no such card", give("eth-z", key(1, "rpg_gd"), 11), codes.NotFound, `no card "eth-z"`},
		{"no such port", give("eth-b", key(2, "rpg_gd"), 11), codes.NotFound, "no port 2"},
		{"a port's parameter on the card", give("eth-a", key(0, "rpg_gd"), 11), codes.InvalidArgument, "want port 1..16"},
		{"state", at("/nics/nic[name=eth-a]/state/vendor", gnmitree.String("x")), codes.InvalidArgument, "no configuration"},
		{"state of a parameter", at("/nics/nic[name=eth-a]/ports/port[number=1]/params/param[name=rpg_gd][index=0]/state/value", gnmitree.Uint(11)), codes.InvalidArgument, "config/value of a parameter"},
		{"not a number", at("/nics/nic[name=eth-a]/ports/port[number=1]/params/param[name=rpg_gd][index=0]/config/value", gnmitree.String("eleven")), codes.InvalidArgument, "want an integer"},
		{"a container with a number", at("/nics/nic[name=eth-a]/ports", gnmitree.Uint(1)), codes.InvalidArgument, "a leaf that can be written"},
		{"no WRCC", at("/nics/nic[name=eth-b]/ports/port[number=1]/wrcc/config/domain", gnmitree.Uint(1)), codes.Unimplemented, "no WRCC"},
		{"T1 of zero", at("/nics/nic[name=eth-a]/ports/port[number=1]/wrcc/config/t1-us", gnmitree.Uint(0)), codes.InvalidArgument, "t1_us"},
		{"a shift that is too large", at("/nics/nic[name=eth-a]/ports/port[number=1]/wrcc/senders/sender[name=x]/config/shift", gnmitree.Uint(256)), codes.InvalidArgument, "at most 255"},
		{"a long name", gnmitree.Operation{Op: gnmitree.OpUpdate, Path: nicyang.SetID(), Value: gnmitree.String(strings.Repeat("x", 65))}, codes.InvalidArgument, "want at most 64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.agent(t)
			ops := r.ops
			refuses(t, a, c.code, c.says, good, c.op)
			if r.ops != ops {
				t.Errorf("%d operations, want none", r.ops-ops)
			}
		})
	}
}

func TestAFailureNamesFieldFoundAndAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	got := refuses(t, a, codes.InvalidArgument, "rpg_gd", give("eth-a", key(1, "rpg_gd"), 12), give("eth-b", key(1, "rpg_min_dec_fac"), 101))
	want := []nicyang.Failure{
		{Reason: nicyang.ReasonInvalid, NIC: "eth-a", Key: key(1, "rpg_gd"), Found: "12", Allowed: "10..11", Path: nicyang.ParamValue("eth-a", key(1, "rpg_gd")).String(), Text: "eth-a: port 1 rpg_gd: found 12, want 10..11"},
		{Reason: nicyang.ReasonInvalid, NIC: "eth-b", Key: key(1, "rpg_min_dec_fac"), Found: "101", Allowed: "1..100", Path: nicyang.ParamValue("eth-b", key(1, "rpg_min_dec_fac")).String(), Text: "eth-b: port 1 rpg_min_dec_fac: found 101, want 1..100"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestEveryParameterTakesBothEndsOfItsRangeAndNothingBeyond(t *testing.T) {
	t.Parallel()
	for _, b := range []nicparam.Backend{nicparam.Debugfs, nicparam.Sysfs} {
		r := newRig(t)
		a := r.agent(t)
		port := map[nicparam.Backend]int{nicparam.Debugfs: 1, nicparam.Sysfs: 2}[b]
		for _, p := range r.table.By(b) {
			for _, v := range []uint64{p.Max, p.Min} {
				if p.Name == "rpg_min_rate" && v == p.Max || p.Name == "rpg_max_rate" && v == p.Min {
					mustSet(t, a, give("eth-a", key(port, "rpg_min_rate"), 1), give("eth-a", key(port, "rpg_max_rate"), 0))
				}
				mustSet(t, a, give("eth-a", key(port, p.Name), v))
				if got := leaf(t, a, nicyang.ParamValue("eth-a", key(port, p.Name))); got != fmt.Sprint(v) {
					t.Errorf("%s is %s, want %d", p.Name, got, v)
				}
			}
			if p.Min > 0 {
				refuses(t, a, codes.InvalidArgument, p.Name, give("eth-a", key(port, p.Name), p.Min-1))
			}
			refuses(t, a, codes.InvalidArgument, p.Name, give("eth-a", key(port, p.Name), p.Max+1))
		}
	}
}

func TestAFailedWritePutsEverythingBackOnAllCards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		write  func(string) (string, error)
		reason nicyang.Reason
		value  uint64
	}{
		{"refused", func(string) (string, error) { return "", errors.New("invalid argument") }, nicyang.ReasonRefused, 200000},
		{"cut to 17 bits", func(s string) (string, error) {
			if s == "200000" {
				return fmt.Sprint(200000 & 131071), nil
			}
			return s, nil
		}, nicyang.ReasonClipped, 200000},
		{"ignored", func(s string) (string, error) {
			return "50", nil
		}, nicyang.ReasonIgnored, 60},
		{"another one writes", func(s string) (string, error) {
			if s == "60" {
				return "61", nil
			}
			return s, nil
		}, nicyang.ReasonOverridden, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			*r.table = *nicparam.New(wide())
			a := r.agent(t)
			before := r.everything()
			r.onWrite["sys/kernel/debug/mlx5/0000:5e:00.0/cc_params/rp_hai_rate"] = c.write
			failures := refuses(t, a, codes.Aborted, "all previous values are restored",
				give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(2, "rpg_gd"), 10), sender("astro/bulk", 4), give("eth-b", key(1, "rpg_hai_rate"), c.value))
			if d := cmp.Diff(before, r.everything()); d != "" {
				t.Error(d)
			}
			if len(failures) != 1 || failures[0].Reason != c.reason || failures[0].Key.Name != "rpg_hai_rate" || failures[0].NIC != "eth-b" {
				t.Errorf("%+v", failures)
			}
			if applied(t, a, "outcome") != "undone" || state(t, a, "eth-a", key(1, "rpg_ai_rate"), "outcome") == "verified" {
				t.Error(ask(t, a, nicyang.ApplyState()))
			}
		})
	}
}

func wide() nicparam.Caps {
	c := nicparam.Caps{GeneralCC: true}
	c.Rate32 = true
	return c
}

// sender returns an update of a sender's weight on eth-a's first port.
func sender(name string, multiplier uint64) gnmitree.Operation {
	return gnmitree.Operation{Op: gnmitree.OpUpdate, Path: nicyang.Sender("eth-a", 1, name).Child("config").Child("multiplier"), Value: gnmitree.Uint(multiplier)}
}

func TestValuesThatCannotBeRestoredAreNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	broken := false
	r.onWrite[debugfsA+"rp_ai_rate"] = func(s string) (string, error) {
		if broken {
			return "", errors.New("device hangs")
		}
		broken = true
		return s, nil
	}
	r.onWrite["sys/kernel/debug/mlx5/0000:5e:00.0/cc_params/rp_gd"] = func(string) (string, error) { return "", errors.New("no") }
	failures := refuses(t, a, codes.DataLoss, "NOT RESTORED", give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-b", key(1, "rpg_gd"), 10))
	if !slices.ContainsFunc(failures, func(f nicyang.Failure) bool {
		return f.Reason == nicyang.ReasonNotRestored && strings.Contains(f.Text, "rpg_ai_rate")
	}) {
		t.Errorf("%+v", failures)
	}
	if applied(t, a, "outcome") != "partial" || !strings.Contains(applied(t, a, "not-restored"), "rpg_ai_rate") {
		t.Error(ask(t, a, nicyang.ApplyState()))
	}
}

func TestDeleteRestoresEarlierValues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.files[debugfsA+"rp_gd"] = "13" // a value of the device that the table does not allow
	r.files[debugfsA+"np_cnp_prio_mode"] = "1"
	before := r.everything()
	a := r.agent(t)
	mustSet(t, a, give("eth-a", key(1, "rpg_gd"), 10), give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(1, "cnp_802p_prio"), 5), sender("astro/bulk", 4))
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 30))
	mustSet(t, a, drop(nicyang.ParamValue("eth-a", key(1, "rpg_gd"))))
	if r.file("rp_gd") != "13" || r.file("rp_ai_rate") != "30" {
		t.Error(r.writes)
	}
	if got := state(t, a, "eth-a", key(1, "rpg_gd"), "set-value"); got != "absent" {
		t.Errorf("set-value is %s", got)
	}
	mustSet(t, a, drop(nicyang.Port("eth-a", 1)))
	if d := cmp.Diff(before, r.everything()); d != "" {
		t.Error(d)
	}
	if strings.Contains(string(r.document), "rpg_") || strings.Contains(string(r.document), "astro") {
		t.Errorf("the journal still has %s", r.document)
	}
}

func TestReplaceReleasesOmittedParameters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	mustSet(t, a, give("eth-a", key(1, "rpg_gd"), 10), give("eth-a", key(1, "rpg_ai_rate"), 20), give("eth-a", key(2, "rpg_gd"), 10))
	v, err := gnmitree.ParseJSON([]byte(`{"fairlane-nic:param":[{"name":"rpg_ai_rate","index":"0","config":{"value":"40"}},{"name":"rpg_hai_rate","index":0,"config":{"value":400}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	mustSet(t, a, gnmitree.Operation{Op: gnmitree.OpReplace, Path: nicyang.Port("eth-a", 1).Child("params"), Value: v})
	if r.file("rp_gd") != "11" || r.file("rp_ai_rate") != "40" || r.file("rp_hai_rate") != "400" || r.files["sys/class/net/ens1f1/ecn/roce_rp/rpg_gd"] != "10" {
		t.Error(r.writes)
	}
}

func TestSendersAreWrittenAsAWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	want := &wrcc.NICConfig{Domain: 2, T1Us: 30, MinRateMbps: 50, Increase: "timer", Senders: []wrcc.SenderWeight{
		{Name: "astro/bulk", Weight: wrcc.FixedWeight{Multiplier: 4}},
		{Name: "bio/x", Weight: wrcc.FixedWeight{Multiplier: 1, Shift: 1}, Peers: []wrcc.PeerWeight{{Port: portID(guidB, 1), Weight: wrcc.FixedWeight{Multiplier: 3}}}},
	}}
	replace := gnmitree.Operation{Op: gnmitree.OpReplace, Path: nicyang.WRCC("eth-a", 1), Value: nicyang.WRCCValue(want)}
	mustSet(t, a, sender("old/one", 2))
	mustSet(t, a, replace)
	if d := cmp.Diff(want, r.senders); d != "" {
		t.Error(d)
	}
	got := ask(t, a, nicyang.WRCC("eth-a", 1))
	if got[nicyang.WRCC("eth-a", 1).String()+"/state/outcome"] != "verified" || got[nicyang.Sender("eth-a", 1, "astro/bulk").String()+"/state/tx-octets"] != "1234" {
		t.Error(got)
	}
	mustSet(t, a, drop(nicyang.Sender("eth-a", 1, "bio/x")))
	if len(r.senders.Senders) != 1 {
		t.Error(r.senders)
	}
	var many []gnmitree.Operation
	for i := range 4 {
		many = append(many, sender(fmt.Sprint("t", i), 1))
	}
	refuses(t, a, codes.InvalidArgument, "want at most 4, which the device holds", many...)
	r.sendersOn = func(c *wrcc.NICConfig) (*wrcc.NICConfig, error) {
		c.Domain = 9
		return c, nil
	}
	refuses(t, a, codes.DataLoss, "not restored", replace)
	r.sendersOn = nil
	mustSet(t, a, drop(nicyang.WRCC("eth-a", 1)))
	if d := cmp.Diff(&wrcc.NICConfig{Domain: 1, T1Us: 24, MinRateMbps: 100, Increase: "ask"}, r.senders); d != "" {
		t.Error(d)
	}
}

func TestNonVolatileParametersWaitForAReset(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t)
	k := key(1, "roce_cc_algorithm")
	mustSet(t, a, give("eth-a", k, 1))
	got := ask(t, a, nicyang.Param("eth-a", k))
	base := nicyang.Param("eth-a", k).String()
	for name, want := range map[string]string{"/config/value": "1", "/state/value": "0", "/state/next-value": "1", "/state/pending-reset": "true", "/state/cost": "reset", "/state/persistence": "non_volatile", "/state/outcome": "verified"} {
		if got[base+name] != want {
			t.Errorf("%s is %q, want %q", name, got[base+name], want)
		}
	}
	r.do(func() { // the operator resets the card
		r.nv["ROCE_CC_ALGORITHM_P1"] = [3]uint64{0, 1, 1}
		r.life = "life-2"
	})
	if err := a.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state(t, a, "eth-a", k, "value") != "1" || state(t, a, "eth-a", k, "pending-reset") != "false" {
		t.Error(ask(t, a, nicyang.Param("eth-a", k)))
	}
}

func TestTransactionsAreLimited(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t, func(o *agent.Options) { o.SetsPerSecond = 1 })
	for i := range 5 {
		mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), uint64(i+1)))
	}
	refuses(t, a, codes.ResourceExhausted, "the maximum", give("eth-a", key(1, "rpg_ai_rate"), 9))
	r.do(func() { r.now = r.now.Add(1e9) })
	mustSet(t, a, give("eth-a", key(1, "rpg_ai_rate"), 9))
}

func TestRatesOfFunctionsOfPodsAreNotSetByManagers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agent(t, func(o *agent.Options) { o.Tenants = func(ident.PortID) map[int]string { return nil } })
	for _, name := range []string{"vf_tx_share", "vf_tx_max"} {
		got := refuses(t, a, codes.Unimplemented, "the agent divides the port among the functions of pods", give("eth-a", key(1, name), 5), give("eth-a", key(1, "rpg_ai_rate"), 20))
		if len(got) != 1 || got[0].Key != key(1, name) {
			t.Errorf("failures %+v", got)
		}
	}
	if got := r.file("rp_ai_rate"); got == "20" {
		t.Error("a refused set was written in part")
	}
}
