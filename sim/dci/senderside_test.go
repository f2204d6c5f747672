package dci_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/dci"
)

const (
	us = quantity.Microsecond
	ms = quantity.Millisecond
)

// config returns the settings of S0: 100 Gbit/s hosts, round trips of 12 us within a data centre and of 2 ms between data
// centres, and a CNP gap of 50 us.
func config() dci.Config { return dci.DefaultConfig(100*quantity.Gbps, 12*us, 2*ms) }

func newSenderSide(t *testing.T) *dci.SenderSide {
	t.Helper()
	n, err := dci.NewSenderSide(config())
	if err != nil {
		t.Fatal(err)
	}
	n.Reserve(4, 4)
	return n
}

func TestDefaultConfig(t *testing.T) {
	t.Parallel()
	c := config()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.VOQs != 128 || c.NoticeBytes != 300_000 || c.CNPInterval != 50*us || c.NoticeInterval != 100*us || c.HaulRTT != 2*ms {
		t.Errorf("%+v", c)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*dci.Config){
		"0 virtual output queues: want 1 to 4096":   func(c *dci.Config) { c.VOQs = 0 },
		"5000 virtual output queues":                func(c *dci.Config) { c.VOQs = 5000 },
		"line rate 0 bit/s: want 1 Mbit/s":          func(c *dci.Config) { c.LineRate = 0 },
		"round trip inside the data centre 0 ps":    func(c *dci.Config) { c.LocalRTT = 0 },
		"round trip of the long haul 0 ps":          func(c *dci.Config) { c.HaulRTT = 0 },
		"gap between CNPs 2 s: want above 0 to 1 s": func(c *dci.Config) { c.CNPInterval = 2 * quantity.Second },
		"gap between notices -1 ps":                 func(c *dci.Config) { c.NoticeInterval = -1 },
		"target backlog of 0 bytes":                 func(c *dci.Config) { c.NoticeBytes = 0 },
		"payload of 2000 bytes in a packet of 1048": func(c *dci.Config) { c.Payload = 2000 },
	} {
		c := config()
		change(&c)
		_, near := dci.NewSenderSide(c)
		_, far := dci.NewReceiverSide(c, &halvingControl{})
		for _, err := range []error{c.Validate(), near, far} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
	}
}

func TestMarksEndAtTheSenderSideSwitch(t *testing.T) {
	t.Parallel()
	n := newSenderSide(t)
	for i, c := range []struct {
		flow   int32
		marked bool
		at     quantity.Picoseconds
		want   dci.Verdict
	}{
		{0, false, 0, dci.Verdict{}},
		{0, true, 0, dci.Verdict{CNP: true, Clear: true}},
		{0, true, 50*us - 1, dci.Verdict{Clear: true}}, // within the CNP gap: the mark is removed without a CNP
		{1, true, 50*us - 1, dci.Verdict{CNP: true, Clear: true}},
		{0, false, 60 * us, dci.Verdict{}},
		{0, true, 60 * us, dci.Verdict{CNP: true, Clear: true}},
	} {
		if got := n.Outbound(c.flow, 2, 1048, c.marked, c.at); got != c.want {
			t.Errorf("step %d: %+v, want %+v", i, got, c.want)
		}
	}
	n.Start(0)
	if got := n.Outbound(0, 2, 1048, true, 61*us); !got.CNP {
		t.Error("a new flow in a used slot inherits the gap")
	}
}

// A destination's flows send 1,250 bytes each microsecond, 10 Gbit/s; the far switch requests 8 Gbit/s. The virtual queue
// grows by 250 bytes a packet and passes its limit of 300,000 bytes with packet 1,197.
func TestVirtualQueueFollowsTheReceiversNotice(t *testing.T) {
	t.Parallel()
	n := newSenderSide(t)
	var first, cnps, other int
	for i := range 4000 {
		now := quantity.Picoseconds(i) * us
		if i%100 == 0 {
			n.Notice(2, 8e9, now)
		}
		v := n.Outbound(0, 2, 1250, false, now)
		if v.Clear {
			t.Fatal("the verdict on an unmarked packet clears a mark")
		}
		if v.CNP && cnps == 0 {
			first = i
		}
		if v.CNP {
			cnps++
		}
		if n.Outbound(1, 3, 12_500, false, now).CNP {
			other++
		}
	}
	if first < 1195 || first > 1197 || cnps != (4000-first+49)/50 {
		t.Errorf("%d CNPs from packet %d: want one each 50 us from packet 1,196", cnps, first)
	}
	if other != 0 {
		t.Errorf("%d CNPs for a destination without a notice", other)
	}
}

func TestAVirtualQueueDrainsWhenFlowsSlow(t *testing.T) {
	t.Parallel()
	n := newSenderSide(t)
	n.Notice(2, 8e9, 0)
	if !n.Outbound(0, 2, 500_000, false, 0).CNP {
		t.Fatal("no CNP for a queue above the limit")
	}
	// The queue is full at 337,500 bytes. At 8 Gbit/s it drains 1,000 bytes per microsecond, so after 37 us it is below the
	// limit.
	if n.Outbound(1, 2, 0, false, 38*us).CNP {
		t.Error("a CNP, although the queue has drained")
	}
	if !n.Outbound(1, 2, 1000, false, 36*us+1).CNP && !n.Outbound(2, 2, 1000, false, 38*us).CNP {
		t.Error("no CNP for a packet that passes the limit again")
	}
}

func TestNoticeExpires(t *testing.T) {
	t.Parallel()
	n := newSenderSide(t)
	n.Notice(2, 1e9, 0)
	if n.Outbound(0, 2, 1_000_000, false, 2100*us).CNP {
		t.Error("a notice is still valid after a round trip of the long haul and a notice gap")
	}
	n.Notice(2, 1e9, 3*ms)
	if n.Outbound(0, 2, 299_000, false, 3*ms).CNP {
		t.Error("the queue was not empty after its notice expired")
	}
	n.Notice(2, 100e9, 3*ms+20*us) // 2,500 bytes have drained at the old rate
	if v := n.Outbound(0, 2, 3_000, false, 3*ms+20*us); v.CNP {
		t.Errorf("%+v at 299,500 bytes", v)
	}
	if v := n.Outbound(0, 2, 1_000, false, 3*ms+20*us); !v.CNP {
		t.Errorf("%+v at 300,500 bytes", v)
	}
}

// Every mark is removed, only marks are removed, and no flow gets two CNPs within the gap.
func TestSenderSideInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := newSenderSide(t)
		now, last := quantity.Picoseconds(0), map[int32]quantity.Picoseconds{}
		for range rapid.IntRange(1, 100).Draw(rt, "packets") {
			now += quantity.Picoseconds(rapid.Int64Range(0, 4e7).Draw(rt, "wait"))
			flow, dst := rapid.Int32Range(0, 3).Draw(rt, "flow"), rapid.Int32Range(0, 3).Draw(rt, "dst")
			if rapid.IntRange(0, 4).Draw(rt, "what") == 0 {
				n.Notice(dst, rapid.Float64Range(0, 1e11).Draw(rt, "rate"), now)
				continue
			}
			marked := rapid.Bool().Draw(rt, "marked")
			v := n.Outbound(flow, dst, rapid.IntRange(64, 100_000).Draw(rt, "wire"), marked, now)
			if v.Clear != marked {
				rt.Fatalf("marked %v: %+v", marked, v)
			}
			if at, ok := last[flow]; v.CNP && ok && now-at < 50*us {
				rt.Fatalf("flow %d has CNPs at %s and %s", flow, at, now)
			}
			if v.CNP {
				last[flow] = now
			}
		}
	})
}

func TestSenderSideDoesNotAllocate(t *testing.T) {
	n := newSenderSide(t)
	now := quantity.Picoseconds(0)
	if a := testing.AllocsPerRun(100, func() { now += 60 * us; n.Notice(1, 1e9, now); n.Outbound(1, 1, 1048, true, now) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
