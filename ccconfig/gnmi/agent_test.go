package gnmi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// twoPorts is a host with a card of two ports, and its devices.
func twoPorts(t testing.TB) (*rig, *fakeAgent, [2]driver.Device) {
	t.Helper()
	one, two := ident.PortID{Node: 0x11, Port: 1}, ident.PortID{Node: 0x12, Port: 1}
	r, a := newRig(t), newFakeAgent(one, two)
	r.add(t, "host-1", a)
	return r, a, [2]driver.Device{nicDevice(driver.PlaneRoCE, one, "host-1/P1"), nicDevice(driver.PlaneRoCE, two, "host-1/P2")}
}

func params(ps ...driver.NICParam) driver.Settings {
	s := &driver.NICState{Params: ps}
	s.Sort()
	return driver.Settings{NIC: s}
}

// refused fails the test unless err is of a kind and contains the texts.
func refused(t *testing.T, what string, err, kind error, wantText ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: error %v, want kind %v", what, err, kind)
		return
	}
	for _, s := range wantText {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%s: error %q, want it to contain %q", what, err, s)
		}
	}
}

func TestAPortIsFoundByItsIdentity(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	want := params(driver.NICParam{Name: "rpg_ai_rate", Value: 77}, driver.NICParam{Name: "rpg_gd", Value: 11}, driver.NICParam{Name: "user_programmable_cc", Value: 1})
	receipt, err := d.Apply(t.Context(), devs[1], want)
	if err != nil {
		t.Fatal(err)
	}
	if got := fields(receipt, driver.OutcomeAcknowledged); !slices.Equal(got, []string{"nic.rpg_ai_rate", "nic.user_programmable_cc"}) {
		t.Errorf("acknowledged %q", got)
	}
	if got := fields(receipt, driver.OutcomeUnchanged); !slices.Equal(got, []string{"nic.rpg_gd"}) {
		t.Errorf("unchanged %q", got)
	}
	if one, two := a.ports[0].values[keyOf(1, "rpg_ai_rate", 0)], a.ports[1].values[keyOf(2, "rpg_ai_rate", 0)]; one != 5 || two != 77 {
		t.Errorf("ports have %d and %d, want 5 and 77", one, two)
	}
	if a.device[keyOf(0, "user_programmable_cc", 0)] != 1 {
		t.Error("the card's parameter is not set on the card")
	}
	r.with("host-1", func(w *messageFaults) {
		if n := len(w.lastSet.GetUpdate()); w.sets != 1 || n != 2 || len(w.lastSet.GetReplace())+len(w.lastSet.GetDelete()) != 0 {
			t.Errorf("%d Sets, the last of %d updates: want one of the two that differ", w.sets, n)
		}
		w.gets = 0
	})
	for _, dev := range devs { // both were found by the first request
		if _, err := d.Read(t.Context(), dev); err != nil {
			t.Error(err)
		}
	}
	r.with("host-1", func(w *messageFaults) {
		if w.gets != 4 {
			t.Errorf("%d requests for two readings, want 4: values and identity", w.gets)
		}
	})
}

func TestUnwantedSharesAreRemoved(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	share := func(function int) nicparam.Key { return keyOf(1, driver.ShareParam, function) }
	for function, mbps := range []uint64{100, 200, 0, 400} {
		a.ports[0].values[share(function)] = mbps
	}
	want := params(driver.NICParam{Name: driver.ShareParam, Index: 1, Value: 250})
	if _, err := d.Apply(t.Context(), devs[0], want); err != nil {
		t.Fatal(err)
	}
	if a.ports[0].values[share(0)] != 100 || a.ports[0].values[share(1)] != 250 {
		t.Errorf("a set of some parameters: %v", a.ports[0].values)
	}
	want.NIC.AllShares, want.NIC.Params[0].Value = true, 300
	receipt, err := d.Apply(t.Context(), devs[0], want)
	if err != nil {
		t.Fatal(err)
	}
	if got := fields(receipt, driver.OutcomeAcknowledged); !slices.Equal(got, []string{"nic.vf_tx_share", "nic.vf_tx_share[1]", "nic.vf_tx_share[3]"}) {
		t.Errorf("acknowledged %q", got)
	}
	for function, mbps := range []uint64{0, 300, 0, 0} {
		if got := a.ports[0].values[share(function)]; got != mbps {
			t.Errorf("function %d has %d Mbit/s, want %d", function, got, mbps)
		}
	}
	if got, err := d.Read(t.Context(), devs[0]); err != nil || !want.Equal(got) {
		t.Errorf("read back: %v, %v", want.Diff(got), err)
	}
	if _, err := d.Apply(t.Context(), devs[0], want); err != nil || r.sets("host-1") != 2 {
		t.Errorf("again: %v, %d Sets, want 2", err, r.sets("host-1"))
	}
}

func TestAPortThatMovesIsFoundAgain(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(*fakeAgent){
		"by a reboot": func(a *fakeAgent) { a.reboot() },
		"silently":    func(*fakeAgent) {},
		"to a card of another name": func(a *fakeAgent) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.nic = "mlx5_7"
		},
	} {
		r, a, devs := twoPorts(t)
		d := r.driver(t, gnmi.Agent)
		if _, err := d.Read(t.Context(), devs[0]); err != nil {
			t.Fatal(err)
		}
		a.mu.Lock()
		a.ports[0].id, a.ports[1].id = a.ports[1].id, a.ports[0].id
		a.mu.Unlock()
		move(a)
		if _, err := d.Apply(t.Context(), devs[0], params(driver.NICParam{Name: "rpg_ai_rate", Value: 77})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if v := a.ports[1].values[keyOf(2, "rpg_ai_rate", 0)]; v != 77 {
			t.Errorf("%s: the port at its new place has %d, want 77", name, v)
		}
	}
}

func TestMissingPorts(t *testing.T) {
	t.Parallel()
	r, _, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	unknownDevice := devs[0]
	unknownDevice.ID.Node = 0x77
	_, err := d.Read(t.Context(), unknownDevice)
	refused(t, "another port", err, driver.ErrUnreachable, "0x0000000000000077:1", "0x0000000000000011:1, 0x0000000000000012:1")
	elsewhere := devs[0]
	elsewhere.Name = "host-9/P1"
	_, err = d.Read(t.Context(), elsewhere)
	refused(t, "another host", err, driver.ErrUnreachable, `no target "host-9"`)
	_, err = d.Read(t.Context(), switchDevice("host-1", 4))
	refused(t, "a switch", err, driver.ErrInvalid, "not switches")
	infiniband := devs[0]
	infiniband.Plane, infiniband.LID = "ib", 4
	_, err = d.Read(t.Context(), infiniband)
	refused(t, "another plane", err, driver.ErrInvalid, `plane "ib"`)
	weighed := devs[0]
	weighed.Plane = driver.PlaneWRCC
	_, err = d.Read(t.Context(), weighed)
	refused(t, "no senders", err, driver.ErrUnsupported, "no WRCC senders")
	_, err = d.Capabilities(t.Context(), weighed)
	refused(t, "no senders", err, driver.ErrUnsupported, "no WRCC senders")
}

func TestAVirtualFunctionWithoutFiles(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	a.ports[1].values, a.device = nil, nil
	for what, f := range map[string]func() error{
		"read":         func() error { _, err := d.Read(t.Context(), devs[1]); return err },
		"capabilities": func() error { _, err := d.Capabilities(t.Context(), devs[1]); return err },
		"apply": func() error {
			_, err := d.Apply(t.Context(), devs[1], params(driver.NICParam{Name: "rpg_gd", Value: 10}))
			return err
		},
	} {
		refused(t, what, f(), driver.ErrUnsupported, "host-1/P2", "virtual function", "fairlane-agent check")
	}
	if _, err := d.Apply(t.Context(), devs[0], params(driver.NICParam{Name: "rpg_gd", Value: 10})); err != nil {
		t.Errorf("the other port: %v", err)
	}
	if n := r.sets("host-1"); n != 1 {
		t.Errorf("%d Sets, want that of the other port", n)
	}
}

func TestParametersWithoutAValue(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	a.ports[0].unreadable[keyOf(1, "rpg_gd", 0)] = "rpg_gd: input/output error"
	_, err := d.Apply(t.Context(), devs[0], params(driver.NICParam{Name: "rpg_gd", Value: 10}))
	refused(t, "unreadable", err, driver.ErrBusy, "nothing was sent", "port 1 rpg_gd", "input/output error")
	_, err = d.Apply(t.Context(), devs[0], params(driver.NICParam{Name: "rpg_gd", Value: 10}, driver.NICParam{Name: "rtt_resp_dscp", Value: 1}))
	refused(t, "absent", err, driver.ErrUnsupported, "nothing was sent", "port 1 rtt_resp_dscp: its host has no path to it")
	got, err := d.Read(t.Context(), devs[0])
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := got.NIC.Param("rpg_gd", 0); ok {
		t.Errorf("the unreadable parameter is %d", v)
	}
	if n := r.sets("host-1"); n != 0 {
		t.Errorf("%d Sets", n)
	}
}

func TestIllegalExistingValuesAreReadButNotWritten(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	a.ports[0].values[keyOf(1, "rpg_threshold", 0)] = 99
	got, err := d.Read(t.Context(), devs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.NIC.Params {
		if got.NIC.Params[i].Name == "rpg_ai_rate" {
			got.NIC.Params[i].Value = 50
		}
	}
	_, err = d.Apply(t.Context(), devs[0], got)
	refused(t, "pushed again", err, driver.ErrInvalid, "rpg_threshold")
	_, err = d.Apply(t.Context(), devs[0], params(driver.NICParam{Name: "rpg_threshold", Value: 33}))
	refused(t, "pushed", err, driver.ErrInvalid, "nothing was sent", "rpg_threshold")
}

func TestValuesThatWaitForAReset(t *testing.T) {
	t.Parallel()
	r, _, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	c, err := d.Capabilities(t.Context(), devs[0])
	if err != nil || !slices.Equal(c.NIC.Reset, []string{"roce_cc_algorithm"}) || !slices.Contains(c.NIC.Params, "roce_cc_algorithm") || !c.NIC.Wide {
		t.Fatalf("capabilities %+v: %v", c.NIC, err)
	}
	want := params(driver.NICParam{Name: "roce_cc_algorithm", Value: 1}, driver.NICParam{Name: "rpg_gd", Value: 10})
	for _, o := range []driver.Outcome{driver.OutcomeAcknowledged, driver.OutcomeUnchanged} {
		receipt, err := d.Apply(t.Context(), devs[0], want)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range receipt.Fields {
			waits := f.Field == "nic.roce_cc_algorithm"
			if f.Outcome != o || waits != strings.Contains(f.Detail, "firmware reset or a reboot of the host; its value until then is 0") {
				t.Errorf("%s %s: %q", f.Field, f.Outcome, f.Detail)
			}
		}
	}
	if got, err := d.Read(t.Context(), devs[0]); err != nil || !want.Equal(got) {
		t.Errorf("the configuration differs from the values that were set: %v, %v", want.Diff(got), err)
	}
}

// failure is the error of a Set whose changes the agent has rolled back.
func failure(code codes.Code, fs ...nicyang.Failure) error {
	return nicyang.StatusError(code, "nothing has changed", fs)
}

func TestFailedSetNamesTheField(t *testing.T) {
	t.Parallel()
	gd := nicparam.Key{Port: 1, Name: "rpg_gd"}
	want := params(driver.NICParam{Name: "rpg_ai_rate", Value: 200_000}, driver.NICParam{Name: "rpg_gd", Value: 10}, driver.NICParam{Name: "rpg_threshold", Value: 1})
	for name, c := range map[string]struct {
		err      error
		kind     error
		wantText string
		gd       driver.Outcome // of the field that failed, and of the other one that was to be written
		ai       driver.Outcome
	}{
		"clipped to 17 bits":   {failure(codes.Aborted, nicyang.Failure{Reason: nicyang.ReasonClipped, Key: gd, Text: "port 1 rpg_gd: the register holds 17 bits"}), driver.ErrUnsupported, "17 bits", driver.OutcomeRefused, driver.OutcomeSkipped},
		"ignored":              {failure(codes.Aborted, nicyang.Failure{Reason: nicyang.ReasonIgnored, Key: gd, Text: "read back as before"}), driver.ErrBusy, "read back", driver.OutcomeRefused, driver.OutcomeSkipped},
		"write failed":         {failure(codes.Aborted, nicyang.Failure{Reason: nicyang.ReasonRefused, Key: gd, Text: "I/O error"}), driver.ErrBusy, "I/O error", driver.OutcomeRefused, driver.OutcomeSkipped},
		"overridden":           {failure(codes.Aborted, nicyang.Failure{Reason: nicyang.ReasonOverridden, Key: gd, Text: "somebody else wrote 12"}), driver.ErrConflict, "somebody else", driver.OutcomeRefused, driver.OutcomeSkipped},
		"not undone":           {failure(codes.DataLoss, nicyang.Failure{Reason: nicyang.ReasonNotRestored, Key: gd, Text: "has neither value"}), driver.ErrBusy, "neither", driver.OutcomeRefused, driver.OutcomeSkipped},
		"out of its table":     {failure(codes.InvalidArgument, nicyang.Failure{Reason: nicyang.ReasonInvalid, Key: gd, Text: "want 11"}), driver.ErrInvalid, "want 11", driver.OutcomeRefused, driver.OutcomeSkipped},
		"absent":               {failure(codes.FailedPrecondition, nicyang.Failure{Reason: nicyang.ReasonAbsent, Key: gd, Text: "no such file"}), driver.ErrUnsupported, "no such file", driver.OutcomeRefused, driver.OutcomeSkipped},
		"without details":      {status.Error(codes.Aborted, "undone"), driver.ErrBusy, "undone", driver.OutcomeRefused, driver.OutcomeRefused},
		"too often":            {status.Error(codes.ResourceExhausted, "10 sets a second"), driver.ErrBusy, "10 sets", driver.OutcomeRefused, driver.OutcomeRefused},
		"not entirely undone":  {status.Error(codes.DataLoss, "lost"), driver.ErrBusy, "not completely rolled back", driver.OutcomeRefused, driver.OutcomeRefused},
		"another master":       {status.Error(codes.PermissionDenied, "election id 1 is lower than 2"), driver.ErrConflict, "lower than 2", driver.OutcomeRefused, driver.OutcomeRefused},
		"not allowed":          {status.Error(codes.PermissionDenied, "manager-2 may not set"), driver.ErrInvalid, "may not set", driver.OutcomeRefused, driver.OutcomeRefused},
		"no answer":            {status.Error(codes.Unavailable, "gone"), driver.ErrUnreachable, "gone", driver.OutcomeSent, driver.OutcomeSent},
		"unknown to all":       {status.Error(codes.Internal, "panic"), driver.ErrUnreachable, "panic", driver.OutcomeSent, driver.OutcomeSent},
		"made by someone else": {status.Error(codes.AlreadyExists, "exists"), driver.ErrConflict, "exists", driver.OutcomeRefused, driver.OutcomeRefused},
	} {
		r, a, devs := twoPorts(t)
		d := r.driver(t, gnmi.Agent)
		r.with("host-1", func(w *messageFaults) { w.failSets = c.err })
		receipt, err := d.Apply(t.Context(), devs[0], want)
		refused(t, name, err, c.kind, c.wantText)
		got := map[string]driver.Outcome{}
		for _, f := range receipt.Fields {
			got[f.Field] = f.Outcome
			if (f.Detail == "") != (f.Outcome == driver.OutcomeSkipped || f.Outcome == driver.OutcomeUnchanged) {
				t.Errorf("%s: field %s %s with detail %q", name, f.Field, f.Outcome, f.Detail)
			}
		}
		if got["nic.rpg_gd"] != c.gd || got["nic.rpg_ai_rate"] != c.ai || got["nic.rpg_threshold"] != driver.OutcomeUnchanged {
			t.Errorf("%s: receipt %v", name, receipt)
		}
		// The other port is unchanged and can be set.
		r.with("host-1", func(w *messageFaults) { w.failSets = nil })
		if _, err := d.Apply(t.Context(), devs[1], params(driver.NICParam{Name: "rpg_gd", Value: 10})); err != nil || a.ports[0].values[gd] != 11 {
			t.Errorf("%s: the other port: %v", name, err)
		}
	}
}

func TestManyFailuresAreSummarised(t *testing.T) {
	t.Parallel()
	r, _, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	var fs []nicyang.Failure
	for i := range 20 {
		fs = append(fs, nicyang.Failure{Reason: nicyang.ReasonRefused, Key: keyOf(1, "rpg_gd", i), Text: fmt.Sprintf("failure %d.", i)})
	}
	r.with("host-1", func(w *messageFaults) { w.failSets = failure(codes.Aborted, fs...) })
	_, err := d.Apply(t.Context(), devs[0], params(driver.NICParam{Name: "rpg_gd", Value: 10}))
	refused(t, "20 failures", err, driver.ErrBusy, "failure 3.", "and 16 more")
	if strings.Contains(err.Error(), "failure 4.") {
		t.Errorf("error %q", err)
	}
}

func TestElections(t *testing.T) {
	t.Parallel()
	r, _, devs := twoPorts(t)
	low := r.driver(t, gnmi.Agent, func(o *gnmi.Options) { o.Election, o.Role = gnmi.ElectionID{Low: 1}, "fairlane" })
	high := r.driver(t, gnmi.Agent, func(o *gnmi.Options) { o.Election, o.Role = gnmi.ElectionID{High: 1}, "fairlane" })
	other := r.driver(t, gnmi.Agent, func(o *gnmi.Options) { o.Election, o.Role = gnmi.ElectionID{Low: 1}, "others" })
	set := func(v uint64) driver.Settings { return params(driver.NICParam{Name: "rpg_ai_rate", Value: v}) }
	for i, d := range []*gnmi.Driver{low, high, high, other} {
		if _, err := d.Apply(t.Context(), devs[0], set(uint64(10+i))); err != nil {
			t.Errorf("Set %d: %v", i, err)
		}
	}
	receipt, err := low.Apply(t.Context(), devs[0], set(99))
	refused(t, "a lower election id", err, driver.ErrConflict, "election id")
	if got := fields(receipt, driver.OutcomeRefused); len(got) != 1 {
		t.Errorf("receipt %v", receipt)
	}
}

func TestSendersAreReplacedTogether(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	dev := devs[1]
	dev.Plane = driver.PlaneWRCC
	a.ports[1].wrcc = &wrcc.NICConfig{T1Us: 24, MinRateMbps: 100, Increase: "timer", Senders: []wrcc.SenderWeight{{Name: "old", Weight: wrcc.FixedWeight{Multiplier: 1}}}}
	want := driver.Settings{NIC: &driver.NICState{WRCC: &wrcc.NICConfig{
		Domain: 9, T1Us: 48, MinRateMbps: 7, Increase: "ask",
		Senders: []wrcc.SenderWeight{{Name: `a/[b]\"c`, Weight: wrcc.FixedWeight{Multiplier: 3, Shift: 1}, Peers: []wrcc.PeerWeight{{Port: ident.PortID{Node: 5, Port: 2}, Weight: wrcc.FixedWeight{Multiplier: 9}}}}},
	}}}
	for _, o := range []driver.Outcome{driver.OutcomeAcknowledged, driver.OutcomeUnchanged} {
		receipt, err := d.Apply(t.Context(), dev, want)
		if err != nil || len(receipt.Fields) != 1 || receipt.Fields[0].Field != "nic.wrcc" || receipt.Fields[0].Outcome != o {
			t.Errorf("receipt %v: %v", receipt, err)
		}
		if got, err := d.Read(t.Context(), dev); err != nil || !want.Equal(got) {
			t.Errorf("read back: %v, %v", want.Diff(got), err)
		}
	}
	// On the other plane they are ignored.
	dev.Plane = driver.PlaneRoCE
	if got, err := d.Read(t.Context(), dev); err != nil || got.NIC.WRCC != nil {
		t.Errorf("read on plane roce: %+v, %v", got.NIC.WRCC, err)
	}
	a.ports[1].wrcc.T1Us = 0 // which no device can have
	dev.Plane = driver.PlaneWRCC
	if _, err := d.Read(t.Context(), dev); err == nil || !strings.Contains(err.Error(), "t1_us") {
		t.Errorf("T1 of 0: %v", err)
	}
}

func TestCountersOfANICPort(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	a.count(nicyang.Counter(a.nic, 1, "np_cnp_sent"), "value", "42", "")
	a.count(nicyang.Counter(a.nic, 1, "rp_cnp_handled"), "value", "", "rp_cnp_handled: permission denied")
	a.count(nicyang.Counter(a.nic, 1, "port_xmit_data"), "value", "25", "")
	a.count(nicyang.Function(a.nic, 1, 1), "tx-octets", "7", "rx-octets: no such file")
	a.count(nicyang.Function(a.nic, 1, 0), "name", "eth0", "")
	a.count(nicyang.FunctionCounters(a.nic, 1, 0).Child("counter", gnmitree.Key{Name: "name", Value: "rp_cnp_handled"}), "value", "9", "")
	a.count(nicyang.FunctionCounters(a.nic, 1, 0).Child("counter", gnmitree.Key{Name: "name", Value: "np_cnp_sent"}), "value", "", "np_cnp_sent: N/A")
	a.count(nicyang.FunctionCounters(a.nic, 1, 0).Child("counter", gnmitree.Key{Name: "name", Value: "out_of_sequence"}), "value", "1", "") // not asked for
	a.count(nicyang.FunctionCounters(a.nic, 1, 1), "", "", "a container has it")
	a.count(nicyang.Sender(a.nic, 1, "astro/bulk"), "tx-octets", "5", "")
	a.count(nicyang.Counter(a.nic, 2, "np_cnp_sent"), "value", "1000", "")
	got, err := d.ReadCounters(t.Context(), devs[0])
	if err != nil {
		t.Fatal(err)
	}
	if v, err := got.Counters.Read("np_cnp_sent"); v != 42 || err != nil || !got.At.Equal(time.Unix(1_700_000_000, 0)) {
		t.Errorf("np_cnp_sent %d at %s: %v", v, got.At, err)
	}
	if v, err := got.Counters.Read("rp_cnp_handled"); err == nil || v != 0 || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("the unreadable parameter is %d: %v", v, err)
	}
	if len(got.Functions) != 2 || got.Functions[0].Name != "eth0" || got.Functions[0].TxOctets.Err == nil || got.Functions[1].TxOctets.Value != 7 ||
		got.Functions[1].TxOctets.Err != nil || got.Functions[1].RxOctets.Err == nil {
		t.Errorf("functions %+v", got.Functions)
	}
	if f := got.Functions[0]; len(f.Counters) != 2 || f.Problem != nil || f.Counters["rp_cnp_handled"].Value != 9 || f.Counters["np_cnp_sent"].Err == nil {
		t.Errorf("counters of a function %+v", f)
	}
	if f := got.Functions[1]; len(f.Counters) != 0 || f.Problem == nil || f.Problem.Error() != "a container has it" {
		t.Errorf("counters of a container's function %+v", f)
	}
	if len(got.Senders) != 1 || got.Senders[0].Name != "astro/bulk" || got.Senders[0].TxOctets.Value != 5 {
		t.Errorf("senders %+v", got.Senders)
	}
	a.reboot()
	if again, err := d.ReadCounters(t.Context(), devs[0]); err != nil || again.Counters["np_cnp_sent"].Value != 42 {
		t.Errorf("after a reboot: %+v, %v", again, err)
	}
	if _, err := d.QueueCounters(t.Context(), devs[0], 3); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("queues of a NIC: %v", err)
	}
	if _, err := d.Preflight(t.Context(), devs[0], gnmi.Expectation{}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("preflight of a NIC: %v", err)
	}
	ports, err := d.HostPorts(t.Context(), devs[0])
	if err != nil || len(ports) != 2 || ports[0].ID != devs[0].ID || ports[0].SpeedMbps != 100_000 {
		t.Errorf("ports of the host: %+v, %v", ports, err)
	}
}

func TestTwoPortsOfOneIdentity(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	a.ports[1].id = a.ports[0].id
	_, err := r.driver(t, gnmi.Agent).Read(t.Context(), devs[0])
	refused(t, "twins", err, driver.ErrInvalid, "two ports", "number 1", "number 2")
}

func TestInvalidResponses(t *testing.T) {
	t.Parallel()
	for name, leaf := range map[string]gnmitree.Leaf{
		"an index beyond":      {Path: nicyang.ParamValue("mlx5_0", keyOf(1, "rpg_gd", 1<<40)), Value: gnmitree.Uint(1), Class: gnmitree.ClassConfig},
		"no number":            {Path: nicyang.ParamValue("mlx5_0", keyOf(1, "rpg_gdx", 0)), Value: gnmitree.String("many"), Class: gnmitree.ClassConfig},
		"no number, card":      {Path: nicyang.ParamValue("mlx5_0", keyOf(0, "pcc", 0)), Value: gnmitree.String("many"), Class: gnmitree.ClassConfig},
		"two values of a name": {Path: nicyang.ParamValue("mlx5_0", keyOf(0, "rpg_gd", 0)), Value: gnmitree.Uint(1), Class: gnmitree.ClassConfig},
	} {
		r, a, devs := twoPorts(t)
		a.extra = []gnmitree.Leaf{leaf}
		_, err := r.driver(t, gnmi.Agent).Read(t.Context(), devs[0])
		if name == "an index beyond" {
			if err != nil {
				t.Errorf("%s: %v", name, err) // is ignored: no table has it
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "host-1/P1") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestTheDriverClosesAndHidesItsKeys(t *testing.T) {
	t.Parallel()
	r, _, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent)
	if s := fmt.Sprintf("%v %+v %#v %s", d, d, d, d); s != strings.TrimSuffix(strings.Repeat("gNMI driver ", 4), " ") {
		t.Errorf("printed as %q", s)
	}
	if _, err := d.Read(t.Context(), devs[0]); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := d.Read(t.Context(), devs[0])
	refused(t, "closed", err, driver.ErrUnreachable, "closed")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	good := gnmi.Options{Options: grpclink.Options{Insecure: true}, Target: func(driver.Device) (gnmi.Target, error) { return gnmi.Target{}, nil }}
	for name, change := range map[string]func(*gnmi.Options){
		"no target":   func(o *gnmi.Options) { o.Target = nil },
		"neither":     func(o *gnmi.Options) { o.Insecure = false },
		"a long role": func(o *gnmi.Options) { o.Role = strings.Repeat("r", gnmi.MaxRole+1) },
	} {
		o := good
		change(&o)
		if _, err := gnmi.New(o); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	d, err := gnmi.New(good)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Read(t.Context(), nicDevice(driver.PlaneRoCE, ident.PortID{Node: 1, Port: 1}, "x"))
	refused(t, "no dialect", err, driver.ErrInvalid, `dialect ""`)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	good.Target = func(driver.Device) (gnmi.Target, error) { return gnmi.Target{}, errors.New("not in the inventory") }
	if d, err = gnmi.New(good); err != nil {
		t.Fatal(err)
	}
	_, err = d.Read(t.Context(), nicDevice(driver.PlaneRoCE, ident.PortID{Node: 1, Port: 1}, "x"))
	refused(t, "no address", err, driver.ErrInvalid, "not in the inventory")
}

func TestATimeoutIsNoAnswer(t *testing.T) {
	t.Parallel()
	r, _, devs := twoPorts(t)
	d := r.driver(t, gnmi.Agent, func(o *gnmi.Options) { o.Timeout = time.Nanosecond })
	_, err := d.Read(t.Context(), devs[0])
	refused(t, "a nanosecond", err, driver.ErrUnreachable, "no answer from targets within 1ns")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.driver(t, gnmi.Agent).Read(ctx, devs[0])
	refused(t, "cancelled", err, context.Canceled)
}

// An agent answers by a reading that may be older than the answer; rates need the time of the reading.
func TestCountersHaveTheTimeOfTheirReading(t *testing.T) {
	t.Parallel()
	r, a, devs := twoPorts(t)
	at := time.Unix(1_700_000_000, 0).Add(-900 * time.Millisecond)
	for i, path := range []gnmitree.Path{nicyang.Counter(a.nic, 1, "port_xmit_data"), nicyang.Function(a.nic, 1, 0), nicyang.Sender(a.nic, 1, "astro/bulk")} {
		a.count(path, []string{"value", "tx-octets", "tx-octets"}[i], "25", "")
		a.extra[len(a.extra)-1].Time = at.Add(time.Duration(i) * time.Millisecond)
	}
	got, err := r.driver(t, gnmi.Agent).ReadCounters(t.Context(), devs[0])
	if err != nil {
		t.Fatal(err)
	}
	if !got.CountersAt.Equal(at) || !got.FunctionsAt.Equal(at.Add(time.Millisecond)) || !got.SendersAt.Equal(at.Add(2*time.Millisecond)) || !got.At.Equal(time.Unix(1_700_000_000, 0)) {
		t.Errorf("read at %s, %s and %s, answered at %s", got.CountersAt, got.FunctionsAt, got.SendersAt, got.At)
	}
}
