package etherlive_test

import (
	"slices"
	"strings"
	"testing"

	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/sim/etherlive"
	"fairlane/sim/plane"
	"fairlane/tenants"
)

// queuesInUse returns the queues of a switch port that send packets within 2 ms.
func queuesInUse(f *etherlive.Fabric, s *etherlive.Switch, port int) (out []int) {
	before := s.Measure(port)
	f.RunUntil(f.Now() + 2*ms)
	after := s.Measure(port)
	for q := range after.Queues {
		if after.Queues[q].Packets > before.Queues[q].Packets {
			out = append(out, q)
		}
	}
	return out
}

// A fabric with another priority starts with this priority at NICs and switches, and a reset restores it.
func TestNewFabricUsesTheRoCEPriority(t *testing.T) {
	t.Parallel()
	for _, wrcc := range []bool{false, true} {
		topo, ids := star(t, 2, 25*quantity.Gbps)
		f := live(t, topo, []tenants.Flow{flow("ant", ids[0], ids[1], 2)}, etherlive.Options{Seed: 1, Priority: 5, WRCC: wrcc})
		s, err := f.Switch(topo.Nodes[topo.Switches()[0]].GUID)
		must(t, err)
		if got := queuesInUse(f, s, 2); !slices.Equal(got, []int{5}) {
			t.Errorf("WRCC %v: queues %v send, want 5", wrcc, got)
		}
		n, err := f.NIC(ids[0])
		must(t, err)
		p := n.State()
		p.DSCP = 7
		n.Configure(p)
		ports := []plane.SwitchPort{plane.DefaultSwitchPort(), plane.DefaultSwitchPort()}
		ports[0].Queues[7] = 1
		s.ConfigurePorts(ports)
		f.RunUntil(f.Now() + ms)
		want := 1
		if wrcc { // a WRCC fabric has one class
			want = 5
		}
		if got := queuesInUse(f, s, 2); !slices.Equal(got, []int{want}) {
			t.Errorf("WRCC %v: queues %v send for DSCP 7, want %d", wrcc, got, want)
		}
		n.Reset()
		s.ConfigurePorts(nil)
		f.RunUntil(f.Now() + ms)
		if got := queuesInUse(f, s, 2); !slices.Equal(got, []int{5}) {
			t.Errorf("WRCC %v: queues %v send after a reset, want 5", wrcc, got)
		}
		must(t, f.Err())
	}
}

// Acknowledgements have the priority that the receiver's map assigns to the DSCP of the data, and CNPs the priority of their
// own DSCP.
func TestAnswersHaveThePriorityOfTheirPort(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 3, 25*quantity.Gbps)
	f := live(t, topo, []tenants.Flow{flow("ant", ids[0], ids[2], 2), flow("bee", ids[1], ids[2], 2)}, etherlive.Options{Seed: 1})
	n, err := f.NIC(ids[2])
	must(t, err)
	p := plane.DefaultPort()
	p.Priorities[p.DSCP], p.CNPDSCP, p.Priorities[20] = 2, 20, 7
	n.Configure(p)
	f.RunUntil(10 * ms)
	before := n.Measure()
	f.RunUntil(20 * ms)
	c := n.Measure()
	for prio := range c.Sent {
		sent := c.Sent[prio].Packets - before.Sent[prio].Packets
		if want := prio == 2 || prio == 7; (sent > 0) != want {
			t.Errorf("%d packets of priority %d", sent, prio)
		}
	}
	if cnps := c.CNPsSent - before.CNPsSent; c.Sent[7].Packets-before.Sent[7].Packets > cnps+1 || cnps == 0 {
		t.Errorf("%d CNPs, %d packets of the priority of CNPs", cnps, c.Sent[7].Packets-before.Sent[7].Packets)
	}
	must(t, f.Err())
}

// The masks of reaction and notification points apply to the priority of the port's RoCE traffic.
func TestDCQCNIsOnByPriority(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 3, 25*quantity.Gbps)
	f := live(t, topo, []tenants.Flow{flow("ant", ids[0], ids[2], 2), flow("bee", ids[1], ids[2], 2)}, etherlive.Options{Seed: 1})
	n, err := f.NIC(ids[0])
	must(t, err)
	heeded := func(mask, priority uint8) bool {
		p := plane.DefaultPort()
		p.Reaction, p.Priorities[p.DSCP] = mask, priority
		n.Configure(p)
		f.RunUntil(f.Now() + ms)
		before := n.Measure()
		f.RunUntil(f.Now() + 10*ms)
		after := n.Measure()
		handled, ignored := after.CNPsHandled-before.CNPsHandled, after.CNPsIgnored-before.CNPsIgnored
		if (handled > 0) == (ignored > 0) {
			t.Errorf("mask %08b, priority %d: %d CNPs handled, %d ignored", mask, priority, handled, ignored)
		}
		return handled > 0
	}
	for _, c := range []struct {
		mask, priority uint8
		want           bool
	}{{1 << 3, 3, true}, {1 << 3, 4, false}, {1 << 4, 4, true}, {0, 3, false}, {0xff, 3, true}} {
		if got := heeded(c.mask, c.priority); got != c.want {
			t.Errorf("mask %08b, priority %d: CNPs handled: %v", c.mask, c.priority, got)
		}
	}
}

// Classes out of range are rejected, and the previous settings stay.
func TestClassesOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 2, 25*quantity.Gbps)
	f := live(t, topo, []tenants.Flow{flow("ant", ids[0], ids[1], 1)}, etherlive.Options{Seed: 1})
	n, err := f.NIC(ids[0])
	must(t, err)
	p := plane.DefaultPort()
	p.DSCP = 64
	n.Configure(p)
	s, err := f.Switch(topo.Nodes[topo.Switches()[0]].GUID)
	must(t, err)
	bad := plane.DefaultSwitchPort()
	bad.Queues[26] = 8
	s.ConfigurePorts([]plane.SwitchPort{bad})
	f.RunUntil(ms)
	if err := f.Err(); err == nil || !strings.Contains(err.Error(), "DSCPs 64 and 48: want 0 to 63") || !strings.Contains(err.Error(), "class 8 of code 26: want 0 to 7") {
		t.Errorf("%v", err)
	}
	if got := queuesInUse(f, s, 2); !slices.Equal(got, []int{plane.RoCEPriority}) {
		t.Errorf("queues %v send, want %d as before", got, plane.RoCEPriority)
	}
	if got := n.State().DSCP; got != plane.RoCEDSCP {
		t.Errorf("DSCP %d, want the previous DSCP", got)
	}
}

// Tenants that send from one port by different traffic classes share it by the classes' weights. A class that stops leaves its part to the others.
func TestTrafficClassesDivideANICPort(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 3, 25*quantity.Gbps)
	flows := []tenants.Flow{flow("ant", ids[0], ids[1], 2), flow("bee", ids[0], ids[2], 2)}
	classes := []qos.TrafficClass{{DSCP: 26, Queue: 3}, {DSCP: 34, Queue: 4}}
	f := live(t, topo, flows, etherlive.Options{Seed: 1, Classes: classes, DSCPs: map[string]uint8{"bee": 34}})
	n, err := f.NIC(ids[0])
	must(t, err)
	p := plane.DefaultPort()
	p.Priorities[34], p.PFC = 4, 1<<3|1<<4
	s, err := f.Switch(topo.Nodes[topo.Switches()[0]].GUID)
	must(t, err)
	ports := make([]plane.SwitchPort, 3)
	for i := range ports {
		ports[i] = plane.DefaultSwitchPort()
		ports[i].Queues[34], ports[i].PFC = 4, 1<<3|1<<4
	}
	s.ConfigurePorts(ports)
	for _, c := range []struct {
		three, four uint8
		want        float64
	}{{50, 50, 0.5}, {80, 20, 0.8}, {6, 94, 0.06}} {
		p.Service[3].Weight, p.Service[4].Weight = c.three, c.four
		n.Configure(p)
		f.RunUntil(f.Now() + 10*ms)
		before := n.Measure()
		f.RunUntil(f.Now() + 20*ms)
		after := n.Measure()
		a, b := float64(after.Sent[3].Octets-before.Sent[3].Octets), float64(after.Sent[4].Octets-before.Sent[4].Octets)
		if got := a / (a + b); got < c.want-0.02 || got > c.want+0.02 {
			t.Errorf("shares %d and %d: class 3 has %.3f of the port, want %.2f", c.three, c.four, got, c.want)
		}
		if rate := (a + b) * 8 / 0.020; rate < 0.97*25e9 {
			t.Errorf("shares %d and %d: %.2f of 25 Gbit/s", c.three, c.four, rate/1e9)
		}
	}
	must(t, f.StopFlow(1))
	f.RunUntil(f.Now() + ms)
	before := n.Measure()
	f.RunUntil(f.Now() + 10*ms)
	if rate := float64(n.Measure().Sent[3].Octets-before.Sent[3].Octets) * 8 / 0.010; rate < 0.97*25e9 {
		t.Errorf("alone, class 3 sends %.2f of 25 Gbit/s", rate/1e9)
	}
	must(t, f.Err())
}

func TestClassesAndDSCPsOutOfRangeMakeNoFabric(t *testing.T) {
	t.Parallel()
	topo, ids := star(t, 2, 25*quantity.Gbps)
	flows := []tenants.Flow{flow("ant", ids[0], ids[1], 1)}
	for title, o := range map[string]etherlive.Options{
		"a class with queue 8": {Classes: []qos.TrafficClass{{Queue: 8}}},
		"DSCP 64":              {DSCPs: map[string]uint8{"ant": 64}},
	} {
		if _, err := etherlive.New(topo, flows, o); err == nil {
			t.Errorf("%s: a fabric was made", title)
		}
	}
}
