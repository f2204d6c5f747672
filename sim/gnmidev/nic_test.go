package gnmidev

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/internal/quantity"
	"fairlane/sim/plane"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// Paths of the card and its ports.
const (
	card1 = "/nics/nic[name=mlx5_0]"
	port1 = card1 + "/ports/port[number=1]"
	port2 = card1 + "/ports/port[number=2]"
)

// param is the path of a parameter's value.
func param(port, name string, index int) string {
	return port + "/params/param[index=" + strconv.Itoa(index) + "][name=" + name + "]/config/value"
}

// state returns the state of a parameter as the agent reports it.
func (r *rig) state(t testing.TB, port, name string, index int) string {
	t.Helper()
	return r.must(t, "host-1", strings.TrimSuffix(param(port, name, index), "config/value")+"state")
}

// lastPortState returns the last state that the port passed to its data plane.
func lastPortState(t testing.TB, h *Host, port ident.PortNum) plane.PortState {
	t.Helper()
	s, err := h.State(portID(port))
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.cardOf(testGUID)
	if err != nil {
		t.Fatal(err)
	}
	still, ok := c.ports[port-1].plane.(*Still)
	if !ok {
		t.Fatal("the data plane of the port is not a Still")
	}
	received, _ := still.State()
	if received.Registers != s.Registers || received.Priority() != s.Priority() || received.Reaction != s.Reaction || received.MaxRate != s.MaxRate {
		t.Fatalf("the data plane has state %+v, the port %+v", received, s)
	}
	return received
}

func TestAPortStartsWithVendorDefaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, nil)
	got, want := lastPortState(t, h, 1), plane.DefaultPort()
	if got.Registers != want.Registers || got.Reaction != want.Reaction || got.Notification != want.Notification || got.Priority() != want.Priority() || got.CNPsPerPort || got.MaxRate != 0 || got.Functions != nil || got.WRCC != nil {
		t.Errorf("found %+v, want %+v", got, want)
	}
}

func TestManagerSettingsReachTheDataPlane(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, func(o *CardOptions) { o.Driver = BothDrivers })
	if err := r.set(t, "host-1",
		`update `+param(port1, "rpg_ai_rate", 0)+` "200"`, `update `+param(port1, "rpg_gd", 0)+` "13"`, `update `+param(port1, "rp_enable", 3)+` "0"`,
		`update `+param(port1, "tc_maxrate", 3)+` "40000000"`, `update `+param(port1, "vf_tx_weight", 0)+` "3"`, `update `+param(port1, "vf_tx_max", 1)+` "10000"`,
		`update `+param(port1, "vf_tx_share", 1)+` "2000"`,
		`update `+port1+`/wrcc/senders/sender[name=a/b]/config {"multiplier":3,"shift":1}`); err != nil {
		t.Fatal(err)
	}
	got := lastPortState(t, h, 1)
	if got.Registers.AIRate != 200 || got.Registers.GD != 13 || got.Reaction != 0xf7 || got.Notification != 0xff || got.MaxRate != 40*quantity.Gbps {
		t.Errorf("found %+v", got)
	}
	f := []plane.Function{{Index: 0, Weight: 3}, {Index: 1, Weight: 1, Min: 2 * quantity.Gbps, Max: 10 * quantity.Gbps}}
	if len(got.Functions) != 2 || got.Functions[0] != f[0] || got.Functions[1].Min != f[1].Min || got.Functions[1].Max != f[1].Max {
		t.Errorf("functions %+v, want %+v", got.Functions, f)
	}
	if got.WRCC == nil || len(got.WRCC.Senders) != 1 || got.WRCC.Senders[0].Weight != (wrcc.FixedWeight{Multiplier: 3, Shift: 1}) {
		t.Errorf("senders %+v", got.WRCC)
	}
	if other := lastPortState(t, h, 2); other.Registers != plane.DefaultPort().Registers {
		t.Errorf("state of the other port: %+v", other.Registers)
	}
}

func TestDSCPSelectsThePriority(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		set   []string
		want  uint8
	}{
		{"default state", nil, 3},
		{"another priority for DSCP 26", []string{param(port1, "dscp2prio", 26) + ` "5"`}, 5},
		{"another DSCP with a priority", []string{param(port1, "default_roce_tos", 0) + ` "194"`}, 6},
		{"another DSCP without a priority", []string{param(port1, "default_roce_tos", 0) + ` "42"`}, 0},
		{"trust of VLANs", []string{param(port1, "trust", 0) + ` "0"`}, 0},
	} {
		r := newRig(t)
		h := r.host(t, nil)
		for _, s := range c.set {
			if err := r.set(t, "host-1", "update "+s); err != nil {
				t.Fatalf("%s: %v", c.title, err)
			}
		}
		if s := lastPortState(t, h, 1); s.Priority() != c.want {
			t.Errorf("%s: priority %d, want %d", c.title, s.Priority(), c.want)
		}
	}
}

func TestSimulatedFilesBehaveLikeTheKernelDriver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, nil)
	files := root{h}
	const dir = "sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/"
	read := func(name string) string {
		b, err := files.Read(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	write := func(name, text string) error { return files.Write(dir+name, []byte(text)) }
	for name, text := range map[string]string{"np_cnp_prio_mode": "1\n", "rp_ai_rate": "0x20", "rp_hai_rate": "020", "rtt_resp_dscp": "12"} {
		if err := write(name, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{"np_cnp_prio_mode": "1\n", "rp_ai_rate": "32\n", "rp_hai_rate": "16\n", "rtt_resp_dscp_valid": "1\n"} {
		if got := read(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if err := write("np_cnp_prio", "5"); err != nil || read("np_cnp_prio_mode") != "0\n" {
		t.Errorf("the mode of a fixed priority is %s, error %v", read("np_cnp_prio_mode"), err)
	}
	for name, text := range map[string]string{"rp_gd": "16", "rp_min_dec_fac": "101", "rp_ai_rate": "4294967296", "np_cnp_dscp": "64", "rp_dce_tcp_g": "0", "rp_clamp_tgt_rate": "2", "rp_threshold": "x", "rp_time_reset": ""} {
		if err := write(name, text); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s took %q: %v", name, text, err)
		}
	}
	for _, name := range []string{dir + "none", "sys/kernel/debug/mlx5/0000:3b:00.2/cc_params/rp_gd", "sys/class/net/ens1f0np0/ecn/roce_rp/rpg_gd", "etc/passwd", "", "/", "sys/class/infiniband/mlx5_0/ports/3/hw_counters/np_cnp_sent"} {
		if _, err := files.Read(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: error %v, want fs.ErrNotExist", name, err)
		}
	}
	if err := files.Write("sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", []byte("0")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error for a write to a counter: %v", err)
	}
}

func TestNonVolatileValuesActAfterAReset(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, nil)
	if err := r.set(t, "host-1", `update `+param(port1, "roce_cc_prio_mask", 0)+` "7"`, `update `+param(port1, "roce_cc_cnp_moderation", 0)+` "1"`); err != nil {
		t.Fatal(err)
	}
	if got := lastPortState(t, h, 1); got.Reaction != 0xff || got.CNPsPerPort {
		t.Errorf("state of the port before the reset: %+v", got)
	}
	if s := r.state(t, port1, "roce_cc_prio_mask", 0); !strings.Contains(s, `pending-reset":true`) {
		t.Errorf("state %s", s)
	}
	if out, err := (tool{h}).Run(t.Context(), []string{"-d", "0000:3b:00.0", "-y", "set", "RPG_AI_RATE_P1=77"}); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h.ResetFirmware()
	if got := lastPortState(t, h, 1); got.Reaction != 7 || got.Notification != 7 || !got.CNPsPerPort || got.Registers.AIRate != 77 {
		t.Errorf("state of the port after the reset: %+v", got)
	}
	if got := lastPortState(t, h, 2); got.Reaction != 0xff {
		t.Errorf("state of the other port: %+v", got)
	}
}

func TestAgentRestoresSettingsAfterAReboot(t *testing.T) {
	t.Parallel()
	for what, happens := range map[string]func(*Host){"a reboot": (*Host).Reboot, "a driver reload": (*Host).ReloadDriver} {
		r := newRig(t)
		h := r.host(t, nil)
		if err := r.set(t, "host-1", `update `+param(port1, "rpg_ai_rate", 0)+` "200"`); err != nil {
			t.Fatal(err)
		}
		boot := r.must(t, "host-1", "/agent/state/boot-id")
		happens(h)
		a, err := h.Agent()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := lastPortState(t, h, 1).Registers.AIRate; got != 200 {
			t.Errorf("after %s rpg_ai_rate is %d, want 200", what, got)
		}
		if again := r.must(t, "host-1", "/agent/state/boot-id"); (again != boot) != (what == "a reboot") {
			t.Errorf("after %s the boot ID is %s, before it %s", what, again, boot)
		}
		h.Reset()
		if got := lastPortState(t, h, 1).Registers.AIRate; got != 5 {
			t.Errorf("initially rpg_ai_rate is %d, want 5", got)
		}
		if got := r.must(t, "host-1", param(port1, "rpg_ai_rate", 0)); got != `"5"` {
			t.Errorf("the agent reports %s, want 5", got)
		}
	}
}

// TestFaultsOfAPortAreReportedAndLeaveItUnchanged injects the faults of real cards, one at a time. The agent must report each, and
// the port must keep its settings.
func TestFaultsOfAPortAreReportedAndLeaveItUnchanged(t *testing.T) {
	t.Parallel()
	rate := func(v string) string { return `update ` + param(port1, "rpg_hai_rate", 0) + ` "` + v + `"` }
	for _, c := range []struct {
		title  string
		fault  func(*PortFaults)
		set    []string
		code   codes.Code
		reason nicyang.Reason
	}{
		{"a parameter is absent", func(f *PortFaults) { f.Absent = []string{"rpg_hai_rate"} }, []string{rate("70")}, codes.Unimplemented, nicyang.ReasonAbsent},
		{"a parameter cannot be read", func(f *PortFaults) { f.Unreadable = []string{"rpg_hai_rate"} }, []string{rate("70")}, codes.Unavailable, nicyang.ReasonUnreadable},
		{"rejected by the firmware", func(f *PortFaults) { f.Refused = []string{"rpg_hai_rate"} }, []string{rate("70")}, codes.Aborted, nicyang.ReasonRefused},
		{"clipped to 17 bits", func(f *PortFaults) { f.Clip17 = true }, []string{rate("200000")}, codes.Aborted, nicyang.ReasonClipped},
		{"accepted without effect", func(f *PortFaults) { f.Ignored = []string{"rpg_hai_rate"} }, []string{rate("70")}, codes.Aborted, nicyang.ReasonIgnored},
		{"partial application", func(f *PortFaults) { f.PassWrites, f.Refuse = 1, 1 },
			[]string{`update ` + param(port1, "rpg_ai_rate", 0) + ` "9"`, rate("70"), `update ` + param(port1, "rpg_gd", 0) + ` "12"`}, codes.Aborted, nicyang.ReasonRefused},
		{"one of two ports is down", func(f *PortFaults) { f.Dead = true }, []string{`update ` + param(port2, "rpg_hai_rate", 0) + ` "70"`, rate("70")}, codes.Aborted, ""},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			h := r.host(t, nil)
			r.must(t, "host-1", card1+"/state") // the agent has read the card before the fault
			at := portID(1)
			if c.reason == "" {
				at = portID(2)
			}
			if err := h.InjectPort(at, c.fault); err != nil {
				t.Fatal(err)
			}
			err := r.set(t, "host-1", c.set...)
			if err == nil {
				t.Fatal("the set succeeded")
			}
			failures := nicyang.Failures(err)
			if c.reason == "" {
				c.reason = failures[0].Reason // a dead port may be reported with several reasons
			} else {
				wantCode(t, "set", err, c.code)
			}
			if len(failures) == 0 || failures[0].Reason != c.reason || failures[0].Text == "" {
				t.Errorf("failures %+v, want reason %s", failures, c.reason)
			}
			h.Heal()
			want := plane.DefaultPort().Registers
			for port := range ident.PortNum(2) {
				if got := lastPortState(t, h, port+1).Registers; got != want {
					t.Errorf("port %d uses %+v", port+1, got)
				}
			}
			if err := r.set(t, "host-1", rate("70")); err != nil {
				t.Errorf("without the fault: %v", err)
			}
		})
	}
}

func TestAVirtualFunctionHasCountersAndNoParameters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.host(t, func(o *CardOptions) { o.Virtual = true })
	if s := r.must(t, "host-1", port1+"/state"); strings.Contains(s, "parameter") {
		t.Errorf("state %s", s)
	}
	if s := r.must(t, "host-1", port1+"/counters/counter[name=np_cnp_sent]/state"); !strings.Contains(s, `"0"`) {
		t.Errorf("counter %s", s)
	}
	err := r.set(t, "host-1", `update `+param(port1, "rpg_hai_rate", 0)+` "70"`)
	wantCode(t, "set", err, codes.Unimplemented, "rpg_hai_rate")
}

func TestSimulatedCardReportsNoCounterSets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.host(t, nil)
	if s := r.must(t, "host-1", port1+"/counter-sets"); !strings.Contains(s, `"problem":"counter sets are not offered`) || strings.Contains(s, "value") {
		t.Error(s)
	}
}

func TestCountersComeFromTheDataPlane(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := &Still{}
	h := r.host(t, func(o *CardOptions) { o.Ports[0].Plane = p })
	p.Count(plane.PortCounters{
		TxOctets: 1 << 33, RxOctets: 400, TransportCounters: plane.TransportCounters{CNPsSent: 1<<32 + 5, Nacks: 1<<32 + 7}, PausesReceived: [plane.Priorities]uint64{3: 9},
		Functions: []plane.FunctionCounters{{Index: 1, TxOctets: 11, RxOctets: 12, TransportCounters: plane.TransportCounters{CNPsHandled: 6}}}, Senders: []plane.SenderCounters{{Name: "a/b", TxOctets: 13}},
	})
	counter := func(name string) string { return r.must(t, "host-1", port1+"/counters/counter[name="+name+"]/state") }
	for name, want := range map[string]string{
		"np_cnp_sent": "4294967301", "packet_seq_err": "7", "port_xmit_data": "2147483648", "tx_bytes_phy": "8589934592", "rx_prio3_pause": "9",
	} {
		if got := counter(name); got != `{"fairlane-nic:value":"`+want+`"}` {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := r.must(t, "host-1", port1+"/functions/function[index=1]/state"); !strings.Contains(got, `"tx-octets":"11"`) && !strings.Contains(got, `tx-octets":"11"`) {
		t.Errorf("function %s", got)
	}
	handled := func() string { return r.must(t, "host-1", port1+"/functions/function[index=1]/counters") }
	if got := handled(); !strings.Contains(got, `{"name":"rp_cnp_handled","state":{"value":"6"}}`) {
		t.Errorf("counters of a function: %s", got)
	}
	if err := h.InjectPort(portID(1), func(f *PortFaults) { f.Elsewhere = []int{1} }); err != nil {
		t.Fatal(err)
	}
	if got := handled(); strings.Contains(got, "value") || !strings.Contains(got, "network namespace") {
		t.Errorf("counters of a container's function: %s", got)
	}
	if err := r.set(t, "host-1", `update `+port1+`/wrcc/senders/sender[name=a/b]/config {"multiplier":3,"shift":1}`); err != nil {
		t.Fatal(err)
	}
	if got := r.must(t, "host-1", port1+"/wrcc/senders/sender[name=a/b]/state"); !strings.Contains(got, `tx-octets":"13"`) {
		t.Errorf("sender %s", got)
	}
	if err := h.InjectPort(portID(1), func(f *PortFaults) { f.Wrap32, f.Unreadable = true, []string{"port_xmit_data", "rp_cnp_handled"} }); err != nil {
		t.Fatal(err)
	}
	if got := counter("np_cnp_sent"); got != `{"fairlane-nic:value":"5"}` {
		t.Errorf("wrapped: %s", got)
	}
	for _, name := range []string{"port_xmit_data", "rp_cnp_handled"} {
		if got := counter(name); strings.Contains(got, "value") || !strings.Contains(got, "problem") {
			t.Errorf("unreadable %s: %s", name, got)
		}
	}
	if err := h.InjectPort(portID(1), func(f *PortFaults) { f.CNPsPerPort = true }); err != nil {
		t.Fatal(err)
	}
	if !lastPortState(t, h, 1).CNPsPerPort {
		t.Error("CNPsPerPort is not set")
	}
}

func TestWrongHostClockIsVisible(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, nil)
	h.SetClock(-24 * time.Hour)
	want := strconv.FormatInt(r.clock.Now().Add(-24*time.Hour).UnixNano(), 10)
	if got := r.must(t, "host-1", "/agent/state/clock"); got != `"`+want+`"` {
		t.Errorf("clock %s, want %s", got, want)
	}
}

func TestASecondWriterIsSeen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, nil)
	if err := r.set(t, "host-1", `update `+param(port1, "rpg_ai_rate", 0)+` "200"`); err != nil {
		t.Fatal(err)
	}
	before := r.must(t, "host-1", "/agent/state/config-generation")
	if err := h.Put(portID(1), []nicparam.Setting{{Key: nicparam.Key{Name: "rpg_ai_rate"}, Value: 10}, {Key: nicparam.Key{Name: "pfc", Index: 4}, Value: 1}}); err != nil {
		t.Fatal(err)
	}
	if s := r.state(t, port1, "rpg_ai_rate", 0); !strings.Contains(s, `overridden"`) || !strings.Contains(s, `value":"10"`) {
		t.Errorf("state %s", s)
	}
	if got := r.must(t, "host-1", param(port1, "pfc", 4)); got != `"1"` {
		t.Errorf("pfc of priority 4 is %s, want 1", got)
	}
	if after := r.must(t, "host-1", "/agent/state/config-generation"); after == before {
		t.Errorf("the generation is still %s", after)
	}
	if err := h.Put(portID(1), []nicparam.Setting{{Key: nicparam.Key{Name: "none"}}}); err == nil {
		t.Error("Put accepted a parameter that does not exist")
	}
	if err := h.Put(portID(9), nil); err == nil {
		t.Error("Put accepted a port that does not exist")
	}
}

func TestDCBIsJudgedAsTheDriverDoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, nil)
	for _, c := range []struct {
		title string
		set   []string
		ok    bool
	}{
		{"shares that sum to 100", []string{param(port1, "tc_bw", 0) + ` "20"`, param(port1, "tc_bw", 3) + ` "80"`}, true},
		{"shares that do not sum to 100", []string{param(port1, "tc_bw", 0) + ` "30"`}, false},
		{"a buffer for pause without a size", []string{param(port1, "prio2buffer", 3) + ` "7"`}, false},
		{"buffers larger than the port's", []string{param(port1, "buffer_size", 2) + ` "4000000"`}, false},
		{"pause on another priority", []string{param(port1, "pfc", 3) + ` "0"`, param(port1, "pfc", 4) + ` "1"`, param(port1, "prio2buffer", 4) + ` "1"`}, true},
	} {
		words := make([]string, len(c.set))
		for i, s := range c.set {
			words[i] = "update " + s
		}
		before, _, err := h.Settings(portID(1))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.set(t, "host-1", words...); (err == nil) != c.ok {
			t.Errorf("%s: error %v", c.title, err)
		}
		after, _, err := h.Settings(portID(1))
		if err != nil {
			t.Fatal(err)
		}
		if same := len(before) == len(after) && equalSettings(before, after); same == c.ok {
			t.Errorf("%s: the port has %v, before it had %v", c.title, after, before)
		}
	}
}

func equalSettings(a, b []nicparam.Setting) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestServersRefuseDevicesThatCannotBe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.host(t, nil)
	one := []PortOptions{{}}
	for title, o := range map[string]CardOptions{
		"no ports":                       {GUID: 1},
		"port 17":                        {GUID: 1, Ports: []PortOptions{{Number: 17}}},
		"ports out of order":             {GUID: 1, Ports: []PortOptions{{Number: 2}, {Number: 1}}},
		"too many functions":             {GUID: 1, Ports: []PortOptions{{Functions: maxFunctions + 1}}},
		"too many senders":               {GUID: 1, Ports: []PortOptions{{Senders: maxSenders + 1}}},
		"an unknown driver":              {GUID: 1, Driver: BothDrivers + 1, Ports: one},
		"a negative number of functions": {GUID: 1, Ports: []PortOptions{{Functions: -1}}},
		"WRCC senders below 0":           {GUID: 1, Ports: []PortOptions{{Senders: -1}}},
		"a negative port number":         {GUID: 1, Ports: []PortOptions{{Number: -1}}},
	} {
		if _, err := r.AddHost("new", HostOptions{Cards: []CardOptions{o}}); err == nil {
			t.Errorf("%s: made", title)
		}
	}
	for title, o := range map[string]HostOptions{
		"no cards":           {},
		"the same GUID":      {Cards: []CardOptions{{GUID: 1, Ports: one}, {GUID: 1, Ports: one}}},
		"the same card name": {Cards: []CardOptions{{Name: "a", GUID: 1, Ports: one}, {Name: "a", GUID: 2, Ports: one}}},
	} {
		if _, err := r.AddHost("new", o); err == nil {
			t.Errorf("%s: made", title)
		}
	}
	good := HostOptions{Cards: []CardOptions{{GUID: 1, Ports: one}}}
	for _, name := range []string{"", "host-1"} {
		if _, err := r.AddHost(name, good); err == nil {
			t.Errorf("name %q: made", name)
		}
	}
	ports := make([]SwitchPort, 1)
	for title, o := range map[string]SwitchOptions{
		"no ports":                    {},
		"too many ports":              {Ports: make([]SwitchPort, maxPorts+1)},
		"the same port twice":         {Ports: []SwitchPort{{Name: "a"}, {Name: "a"}}},
		"a dialect":                   {Ports: ports, Dialect: OpenConfig + 1},
		"a negative polling interval": {Ports: ports, QueuePolling: -1},
		"no JSON":                     {Ports: ports, Config: []byte("{")},
		"a bad configuration":         {Ports: ports, Config: []byte(`{"QUEUE":{"Ethernet0|3":{"scheduler":"none"}}}`)},
		"a number":                    {Ports: ports, Config: []byte(`{"QUEUE":{"Ethernet0|3":{"scheduler":1}}}`)},
	} {
		if _, err := r.AddSwitch("new", o); err == nil {
			t.Errorf("%s: made", title)
		}
	}
	h := r.hosts[0]
	if _, _, err := h.Settings(portID(3)); err == nil {
		t.Error("a port that the card does not have was accepted")
	}
	if err := h.InjectCard(1, func(*CardFaults) {}); err == nil {
		t.Error("a card that the host does not have was accepted")
	}
	r.Close()
	_, err := r.get(t, "host-1", "/agent/state")
	wantCode(t, "a closed server", err, codes.Unavailable)
}

func TestCardReloadDuringSetIsRepaired(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, nil)
	r.must(t, "host-1", card1+"/state")
	if err := h.InjectCard(testGUID, func(f *CardFaults) { f.ReloadAfter = 2 }); err != nil {
		t.Fatal(err)
	}
	words := []string{`update ` + param(port1, "rpg_ai_rate", 0) + ` "200"`, `update ` + param(port1, "rpg_gd", 0) + ` "12"`, `update ` + param(port1, "rpg_hai_rate", 0) + ` "70"`}
	if err := r.set(t, "host-1", words...); err == nil {
		t.Error("values lost by a reload were acknowledged")
	}
	if err := r.set(t, "host-1", words...); err != nil {
		t.Fatal(err)
	}
	if got := lastPortState(t, h, 1).Registers; got.AIRate != 200 || got.GD != 12 || got.HAIRate != 70 {
		t.Errorf("found %+v", got)
	}
}

// TestDeleteRestoresPortWithoutDSCPPriorities starts with the usual state of a port: it trusts the priority in the
// packet, and no DSCP has an entry.
func TestDeleteRestoresPortWithoutDSCPPriorities(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.host(t, nil)
	if err := h.Put(portID(1), []nicparam.Setting{{Key: nicparam.Key{Port: 1, Name: "trust"}, Value: nicparam.TrustPCP}}); err != nil {
		t.Fatal(err)
	}
	before, _, err := h.Settings(portID(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.set(t, "host-1", `update `+param(port1, "trust", 0)+` "1"`, `update `+param(port1, "dscp2prio", 26)+` "3"`); err != nil {
		t.Fatal(err)
	}
	if err := r.set(t, "host-1", "delete "+port1+"/params"); err != nil {
		t.Fatal(err)
	}
	after, _, err := h.Settings(portID(1))
	if err != nil || len(after) != len(before) || !equalSettings(before, after) {
		t.Errorf("%v: the port has %v, before it had %v", err, after, before)
	}
}
