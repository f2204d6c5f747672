package simdev

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// outcomes sends the same request n times and returns the outcomes.
func (r *rig) outcomes(n int, node int32) []string {
	var out []string
	for range n {
		m, v := r.send(r.lid(node), ccGet(mad.AttrTimeStamp, 0))
		s := v.Outcome.String()
		if m.MAD.Status().Busy() && v.Outcome == Replied {
			s = "busy"
		}
		if v.Delay > 0 {
			s = "late"
		}
		out = append(out, s)
	}
	return out
}

func TestCountedFaultsComeFirstAndInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{Faults: Faults{LoseRequests: 2, BusyReplies: 1, LoseReplies: 1}})
	want := []string{"dropped", "dropped", "busy", "dropped", "replied", "replied"}
	if got := r.outcomes(6, host3); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLostReplyLeavesTheEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{Faults: Faults{LoseReplies: 1}})
	s := mad.CACongestionSetting{ControlMap: 1, Entries: [16]mad.CACongestionEntry{{Timer: 5}}}
	set := r.with(ccSet(mad.AttrCACongestionSetting, 0), &s)
	if _, v := r.send(r.lid(host3), set); v.Outcome != Dropped {
		t.Errorf("%s, want dropped", v.Outcome)
	}
	if _, p := r.net.CAParams(host3, 1); p[0].Timer != 5 {
		t.Error("the setting was lost with its reply")
	}
	r.dev.SetFaults(Faults{LoseRequests: 1})
	s.Entries[0].Timer = 9
	r.send(r.lid(host3), r.with(set, &s))
	if _, p := r.net.CAParams(host3, 1); p[0].Timer != 5 {
		t.Error("a lost request took effect")
	}
	r.dev.SetFaults(Faults{BusyReplies: 1})
	r.send(r.lid(host3), r.with(set, &s))
	if _, p := r.net.CAParams(host3, 1); p[0].Timer != 5 {
		t.Error("a busy agent executed the request")
	}
}

func TestRandomFaultsRepeatWithTheirSeed(t *testing.T) {
	t.Parallel()
	f := Faults{Seed: 9, DropRequest: 0.2, DropReply: 0.2, Busy: 0.2, DelayReply: 0.2, Delay: time.Second}
	a, b := newRig(t, Options{Faults: f}).outcomes(300, host3), newRig(t, Options{Faults: f}).outcomes(300, host3)
	if !slices.Equal(a, b) {
		t.Error("the same seed caused different faults")
	}
	count := map[string]int{}
	for _, s := range a {
		count[s]++
	}
	// Expected values out of 300: dropped 0.2 + 0.8*0.8*0.2, busy 0.8*0.2, late 0.8*0.8*0.8*0.2.
	for s, want := range map[string]int{"dropped": 98, "busy": 48, "late": 31} {
		if n := count[s]; n < want/2 || n > want*2 {
			t.Errorf("%d of 300 %s, want about %d", n, s, want)
		}
	}
	f.Seed = 10
	if slices.Equal(a, newRig(t, Options{Faults: f}).outcomes(300, host3)) {
		t.Error("a different seed caused the same faults")
	}
}

func TestFaultsAreLimitedToTheirNodesAndClasses(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{Faults: Faults{DropRequest: 1, Nodes: []int32{host3}, Classes: []mad.Class{mad.ClassCongestion}}})
	if got := r.outcomes(1, host2); got[0] != "replied" {
		t.Errorf("another node: %s", got[0])
	}
	if got := r.outcomes(1, host3); got[0] != "dropped" {
		t.Errorf("the node: %s", got[0])
	}
	if _, v := r.send(r.lid(host3), mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)); v.Outcome != Replied {
		t.Errorf("another class: %s", v.Outcome)
	}
}

func TestLocalTransportRetriesAndGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Faults: Faults{LoseRequests: 2}})
		l, err := r.dev.Local(r.from)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		req := mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0)
		resp, err := l.Exchange(ctx, mad.Target{Path: []ident.PortNum{1}}, &req)
		if err != nil || resp.Method() != mad.MethodGetResp {
			t.Errorf("after two losses: %v", err)
		}
		r.dev.SetFaults(Faults{DropRequest: 1})
		smp := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
		if _, err := l.Exchange(ctx, mad.Target{LID: r.lid(host3)}, &smp); !errors.Is(err, mad.ErrTimeout) {
			t.Errorf("with everything lost: %v", err)
		}
		r.dev.SetFaults(Faults{DelayReply: 1, Delay: 5 * time.Millisecond})
		start := time.Now()
		if _, err := l.Exchange(ctx, mad.Target{}, &req); err != nil || time.Since(start) != 5*time.Millisecond {
			t.Errorf("delayed by %s: %v", time.Since(start), err)
		}
		r.dev.SetFaults(Faults{})
		if _, err := l.Exchange(ctx, mad.Target{LID: 999}, &smp); !errors.Is(err, mad.ErrTimeout) {
			t.Errorf("unknown LID: %v", err)
		}
		if _, err := l.Exchange(ctx, mad.Target{LID: 3}, &req); err == nil {
			t.Error("a directed-route packet was delivered to a LID")
		}
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := l.Exchange(canceled, mad.Target{}, &req); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
	})
	if _, err := newRig(t, Options{}).dev.Local(subnet.PortRef{Node: leaf1, Port: 1}); err == nil {
		t.Error("Local attached to a switch's external port")
	}
}

func TestRebootReturnsToDefaults(t *testing.T) {
	t.Parallel()
	for _, mode := range []SMMode{Configured, Cold} {
		r := newRig(t, Options{SMMode: mode, CCKey: 7})
		for range 10 {
			r.portInfo(0, 1) // increments counters
		}
		if mode == Cold {
			r.bringUp()
		}
		ca := ibcc.CASettings{PerSL: true, Limit: 1, Table: []ibcc.Entry{{}, {Multiplier: 3}}}
		ca.SLs[1] = ibcc.SLParams{Timer: 10, Increase: 1}
		ref := subnet.PortRef{Node: host1, Port: 1}
		if err := r.dev.OverwriteCA(ref, ca); err != nil {
			t.Fatal(err)
		}
		r.dev.port(ref).cc.key = 99
		if err := r.dev.Reboot(host1); err != nil {
			t.Fatal(err)
		}
		perSL, params := r.net.CAParams(host1, 1)
		if perSL || params[1].Timer != 0 || r.net.CCTILimit(host1, 1) != 0 || r.net.CCTBlock(host1, 1, 0)[1].Multiplier != 0 {
			t.Errorf("mode %d: congestion control is still on after the reboot", mode)
		}
		if k := r.dev.port(ref).cc.key; k != 7 {
			t.Errorf("mode %d: CC_Key %x", mode, uint64(k))
		}
		lid, _ := r.net.LID(host1, 1)
		info := r.portInfo(0)
		if active := info.State == mad.StateActive; active != (mode == Configured) || (lid != 0) != (mode == Configured) {
			t.Errorf("mode %d: state %d, LID %d", mode, info.State, lid)
		}
		if mode == Cold {
			continue // a port in INIT answers no performance queries
		}
		c := mad.PortCounters{PortSelect: 1}
		if r.pm(mad.MethodGet, mad.AttrPortCounters, lid, &c); c.RcvPkts > 3 {
			t.Errorf("%d packets received since the reboot", c.RcvPkts)
		}
	}
	r := newRig(t, Options{})
	if err := r.dev.OverwriteSwitch(leaf1, ibcc.SwitchSettings{Threshold: 3}); err != nil {
		t.Fatal(err)
	}
	if err := r.dev.Reboot(leaf1); err != nil || r.net.SwitchCC(leaf1).Threshold != 0 {
		t.Errorf("switch after reboot: threshold %d, %v", r.net.SwitchCC(leaf1).Threshold, err)
	}
	if id := r.flow(host1, host3, 0); func() bool { r.dev.Advance(quantity.Millisecond); return r.net.Delivered(id) == 0 }() {
		t.Error("the stand-in did not restore the routes of a rebooted switch")
	}
	if err := r.dev.Reboot(99); err == nil {
		t.Error("Reboot accepted a node that does not exist")
	}
}

func TestSecondWriterIsRefusedNonsense(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	if err := r.dev.OverwriteCA(subnet.PortRef{Node: leaf1, Port: 1}, ibcc.CASettings{}); err == nil {
		t.Error("a switch port accepted channel-adapter settings")
	}
	if err := r.dev.OverwriteCA(subnet.PortRef{Node: host1, Port: 1}, ibcc.CASettings{Limit: 9}); err == nil {
		t.Error("a limit beyond the table was accepted")
	}
	if err := r.dev.OverwriteSwitch(host1, ibcc.SwitchSettings{}); err == nil {
		t.Error("a channel adapter accepted switch settings")
	}
	if err := r.dev.OverwriteSwitch(leaf1, ibcc.SwitchSettings{Threshold: 16}); err == nil {
		t.Error("threshold 16 was accepted")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{TimeScale: -1}, {Slice: -1}, {Vendor: 1 << 24}, {SMMode: 2}} {
		n, err := fabric.New(testTopology(t), fabric.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(n, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}
