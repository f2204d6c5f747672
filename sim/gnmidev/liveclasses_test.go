package gnmidev

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	cgnmi "fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/sim/etherlive"
	"fairlane/sim/plane"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// lab is a live fabric of three hosts at one switch, whose devices answer gNMI. The tenants ant and bee send to the third
// host.
type lab struct {
	*rig
	f    *etherlive.Fabric
	leaf *etherlive.Switch
}

func newLab(t *testing.T, o etherlive.Options, classes ...qos.TrafficClass) *lab {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	topo, err := topogen.Star(3, topogen.Wire{Rate: 25 * quantity.Gbps, Delay: quantity.Microsecond})
	check(err)
	hosts := topo.Hosts()
	to := topo.PortID(subnet.PortRef{Node: hosts[2], Port: 1})
	var flows []tenants.Flow
	for i, name := range []string{"ant", "bee"} {
		flows = append(flows, tenants.Flow{Tenant: name, Src: topo.PortID(subnet.PortRef{Node: hosts[i], Port: 1}), Dst: to, QPs: 2})
	}
	l := &lab{rig: newRig(t)}
	l.f, err = etherlive.New(topo, flows, o)
	check(err)
	for i, n := range hosts {
		id := topo.PortID(subnet.PortRef{Node: n, Port: 1})
		p, err := l.f.NIC(id)
		check(err)
		card := CardOptions{GUID: id.Node, Caps: richCaps(), Ports: []PortOptions{{Plane: p, Speed: 25 * quantity.Gbps, Functions: 1}}}
		_, err = l.AddHost("host-"+strconv.Itoa(i), HostOptions{Cards: []CardOptions{card}, Classes: classes})
		check(err)
	}
	l.leaf, err = l.f.Switch(topo.Nodes[topo.Switches()[0]].GUID)
	check(err)
	_, err = l.AddSwitch("leaf", SwitchOptions{Ports: make([]SwitchPort, 3), Plane: l.leaf, Classes: classes, Guard: Guard2026, Unguarded: len(classes) == 0})
	check(err)
	t.Cleanup(func() { check(l.f.Err()) })
	return l
}

// mustSet writes settings through gNMI.
func (l *lab) mustSet(t *testing.T, target string, words ...string) {
	t.Helper()
	if err := l.set(t, target, words...); err != nil {
		t.Fatal(err)
	}
}

// queues returns the octets that the queues of the port to the third host send in a time span, after a settling time.
func (l *lab) queues(settle, span quantity.Picoseconds) (out [plane.Priorities]float64) {
	l.f.RunUntil(l.f.Now() + settle)
	before := l.leaf.Measure(3)
	l.f.RunUntil(l.f.Now() + span)
	after := l.leaf.Measure(3)
	for q := range out {
		out[q] = float64(after.Queues[q].Octets - before.Queues[q].Octets)
	}
	return out
}

// separate gives bee DSCP 34 with priority 4 and queue 4. Queue 4 gets the marking of queue 3.
func (l *lab) separate(t *testing.T) {
	t.Helper()
	l.mustSet(t, "host-1", `update `+param(port1, "dscp2prio", 34)+` "4"`, `update `+param(port1, "default_roce_tos", 0)+` "138"`)
	l.mustSet(t, "leaf", `replace `+config+`/DSCP_TO_TC_MAP/AZURE/34 "4"`,
		`update `+config+`/QUEUE/Ethernet8|4 {"scheduler":"scheduler.0","wred_profile":"AZURE_LOSSLESS"}`)
}

// The map of the host determines the priority, and the map of the switch determines the queue.
func TestMapsMoveATenantToAnotherQueue(t *testing.T) {
	t.Parallel()
	const ms = quantity.Millisecond
	l := newLab(t, etherlive.Options{Seed: 1})
	used := func() (out string) {
		for q, octets := range l.queues(5*ms, 5*ms) {
			if octets > 0 {
				out += strconv.Itoa(q)
			}
		}
		return out
	}
	counter := func(name string) uint64 {
		text := l.must(t, "host-1", "/nics/nic[name=mlx5_0]/ports/port[number=1]/counters/counter[name="+name+"]/state/value")
		n, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := used(); got != "3" {
		t.Errorf("initially queues %s send, want 3", got)
	}
	if n := counter("tx_prio4_bytes"); n != 0 || counter("tx_prio3_bytes") == 0 {
		t.Errorf("the host has sent %d octets with priority 4, %d with priority 3", n, counter("tx_prio3_bytes"))
	}
	l.mustSet(t, "host-1", `update `+param(port1, "dscp2prio", 26)+` "4"`)
	if got := used(); got != "3" || counter("tx_prio4_bytes") == 0 {
		t.Errorf("with another priority at the host the switch uses queues %s, want 3 as before; %d octets with priority 4", got, counter("tx_prio4_bytes"))
	}
	l.separate(t)
	if got := used(); got != "34" {
		t.Errorf("with a separate DSCP the switch uses queues %s, want 3 and 4", got)
	}
	l.mustSet(t, "leaf", `replace `+config+`/DSCP_TO_TC_MAP/AZURE/34 "5"`)
	if got := used(); got != "35" {
		t.Errorf("with another class at the switch it uses queues %s, want 3 and 5", got)
	}
	l.mustSet(t, "leaf", `update `+config+`/TC_TO_QUEUE_MAP/turned {"3":"1","5":"2"}`, `replace `+config+`/PORT_QOS_MAP/Ethernet4/tc_to_queue_map "turned"`)
	if got := used(); got != "23" {
		t.Errorf("with another queue for the packets of one ingress port the switch uses queues %s, want 2 and 3", got)
	}
}

// Tenants in different queues share a port in proportion to the weights of the queues.
func TestSchedulersDivideAPort(t *testing.T) {
	t.Parallel()
	const ms = quantity.Millisecond
	l := newLab(t, etherlive.Options{Seed: 1})
	l.separate(t)
	l.mustSet(t, "leaf", `update `+config+`/SCHEDULER/small {"type":"DWRR","weight":"20"}`, `update `+config+`/SCHEDULER/large {"type":"WRR","weight":"60"}`)
	for _, c := range []struct {
		three, four string
		want        float64
	}{{"scheduler.0", "scheduler.1", 0.5}, {"small", "large", 0.25}, {"large", "small", 0.75}, {"scheduler.2", "small", 1}} {
		l.mustSet(t, "leaf", fmt.Sprintf(`replace %s/QUEUE/Ethernet8|3/scheduler %q`, config, c.three), fmt.Sprintf(`replace %s/QUEUE/Ethernet8|4/scheduler %q`, config, c.four))
		q := l.queues(40*ms, 40*ms)
		if got := q[3] / (q[3] + q[4]); math.Abs(got-c.want) > 0.06 {
			t.Errorf("schedulers %s and %s: share of queue 3 is %.3f, want %.2f", c.three, c.four, got, c.want)
		}
		if rate := (q[3] + q[4]) * 8 / 0.040; rate < 0.97*25e9 {
			t.Errorf("schedulers %s and %s: %.2f of 25 Gbit/s", c.three, c.four, rate/1e9)
		}
	}
}

// Without pause at the ingress ports, the switch loses packets and senders resend. With pause again, it
// loses none. The same applies to the hosts, which then ignore pause frames.
func TestPauseByPriority(t *testing.T) {
	t.Parallel()
	const ms = quantity.Millisecond
	l := newLab(t, etherlive.Options{Seed: 1, Buffer: ether.Buffer{Static: 60_000}})
	l.mustSet(t, "leaf", `replace `+config+`/WRED_PROFILE/AZURE_LOSSLESS/green_max_threshold "4000000000"`, `replace `+config+`/WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold "4000000000"`)
	lost := func() (drops, nacks uint64) {
		l.f.RunUntil(l.f.Now() + 2*ms)
		was := l.f.Stats()
		l.f.RunUntil(l.f.Now() + 10*ms)
		now := l.f.Stats()
		return now.DroppedPackets - was.DroppedPackets, now.Nacks - was.Nacks
	}
	atLeaf := func(priorities string) {
		for _, port := range []string{"Ethernet0", "Ethernet4"} {
			l.mustSet(t, "leaf", `replace `+config+`/PORT_QOS_MAP/`+port+`/pfc_enable "`+priorities+`"`)
		}
	}
	atHosts := func(on string) {
		for _, host := range []string{"host-0", "host-1"} {
			l.mustSet(t, host, `update `+param(port1, "pfc", plane.RoCEPriority)+` "`+on+`"`)
		}
	}
	for _, c := range []struct {
		what string
		do   func()
		lose bool
	}{
		{"initial settings", func() {}, false},
		{"no pause at the switch", func() { atLeaf("4") }, true},
		{"pause at the switch again", func() { atLeaf("3,4") }, false},
		{"no pause at the hosts", func() { atHosts("0") }, true},
		{"pause at the hosts again", func() { atHosts("1") }, false},
	} {
		c.do()
		drops, nacks := lost()
		if (drops > 0) != c.lose || (nacks > 0) != c.lose {
			t.Errorf("%s: %d packets lost, %d NACKs", c.what, drops, nacks)
		}
	}
	in := l.leaf.Measure(1)
	if in.GroupDrops[plane.RoCEPriority] == 0 || in.GroupDrops[plane.RoCEPriority] != in.InDrops || in.PausesSent[plane.RoCEPriority] == 0 || in.PausesSent[4] != 0 {
		t.Errorf("counters of an ingress port: %+v", in)
	}
}

// On provisioned devices the driver's weights divide a switch port among tenants, without a change of any queue.
func TestWeightsOfADriverMoveBytes(t *testing.T) {
	t.Parallel()
	const ms = quantity.Millisecond
	classes := []qos.TrafficClass{{DSCP: 26, Queue: 3}, {DSCP: 34, Queue: 4}}
	l := newLab(t, etherlive.Options{Seed: 1, Classes: classes, DSCPs: map[string]uint8{"bee": 34}}, classes...)
	d := l.manager(t, cgnmi.SONiC)
	dev := driver.Device{Plane: driver.PlaneRoCE, ID: ident.PortID{Node: 0x51}, Name: "leaf", Kind: subnet.KindSwitch, Ports: 3}
	for _, c := range []struct{ three, four uint8 }{{1, 1}, {1, 4}, {16, 1}, {3, 2}} {
		want := driver.Settings{Queues: &driver.QueueState{Weights: []qos.QueueWeight{{Port: 3, Queue: 3, Weight: c.three}, {Port: 3, Queue: 4, Weight: c.four}}}}
		for p := range ident.PortNum(3) { // without marks pause alone holds the senders, so both queues always have packets
			for _, q := range classes {
				want.Queues.Marking = append(want.Queues.Marking, ecn.QueueMarking{Port: p + 1, Queue: q.Queue, Marking: ecn.Marking{Min: ecn.MaxThreshold, Max: ecn.MaxThreshold, PMaxPct: 1}})
			}
		}
		if _, err := d.Apply(t.Context(), dev, want); err != nil {
			t.Fatal(err)
		}
		q := l.queues(40*ms, 40*ms)
		if got, share := q[3]/(q[3]+q[4]), float64(c.three)/float64(c.three+c.four); math.Abs(got-share) > 0.03 {
			t.Errorf("weights %d and %d: share of queue 3 is %.3f, want %.3f", c.three, c.four, got, share)
		}
		if rate := (q[3] + q[4]) * 8 / 0.040; rate < 0.95*25e9 {
			t.Errorf("weights %d and %d: %.2f of 25 Gbit/s", c.three, c.four, rate/1e9)
		}
	}
	if s := l.f.Stats(); s.DroppedPackets > 0 {
		t.Errorf("%d packets were lost in classes with pause", s.DroppedPackets)
	}
}
