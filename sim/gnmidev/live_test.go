package gnmidev

import (
	"strconv"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/etherlive"
	"fairlane/sim/plane"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

var (
	_ NICPlane    = (*etherlive.NIC)(nil)
	_ SwitchPlane = (*etherlive.Switch)(nil)
)

// Two tenants share a link. Settings that managers write by gNMI change
// the tenants' rates, and counters that devices report by gNMI equal the packets sent.
func TestSettingsDriveThePacketsAndCountersComeFromThem(t *testing.T) {
	t.Parallel()
	const ms = quantity.Millisecond
	topo, err := topogen.Star(3, topogen.Wire{Rate: 25 * quantity.Gbps, Delay: quantity.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	hosts := topo.Hosts()
	to := topo.PortID(subnet.PortRef{Node: hosts[2], Port: 1})
	var flows []tenants.Flow
	for i, name := range []string{"ant", "bee"} {
		flows = append(flows, tenants.Flow{Tenant: name, Src: topo.PortID(subnet.PortRef{Node: hosts[i], Port: 1}), Dst: to, QPs: 2})
	}
	f, err := etherlive.New(topo, flows, etherlive.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	for i, n := range hosts {
		id := topo.PortID(subnet.PortRef{Node: n, Port: 1})
		p, err := f.NIC(id)
		if err != nil {
			t.Fatal(err)
		}
		o := CardOptions{GUID: id.Node, Caps: richCaps(), Ports: []PortOptions{{Plane: p, Speed: 25 * quantity.Gbps, Functions: 1}}}
		if _, err := r.AddHost("host-"+strconv.Itoa(i), HostOptions{Cards: []CardOptions{o}}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := f.Switch(topo.Nodes[topo.Switches()[0]].GUID)
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.AddSwitch("leaf", SwitchOptions{Ports: make([]SwitchPort, 3), Plane: s})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.Marking(), s.Default(); len(got) != len(want) || got[0] != want[0] {
		t.Errorf("marking %+v, want %+v the initial marking", got, want)
	}
	octets := func(host string) uint64 {
		text := r.must(t, host, "/nics/nic[name=mlx5_0]/ports/port[number=1]/functions/function[index=0]/state/tx-octets")
		n, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	share := func() float64 {
		f.RunUntil(f.Now() + 60*ms)
		a, b := octets("host-0"), octets("host-1")
		f.RunUntil(f.Now() + 60*ms)
		a, b = octets("host-0")-a, octets("host-1")-b
		return float64(a) / float64(a+b)
	}
	if got := share(); got < 0.4 || got > 0.6 {
		t.Errorf("share of the first tenant with equal settings: %.2f", got)
	}
	if err := r.set(t, "host-0", `update `+param(port1, "rpg_ai_rate", 0)+` "80"`, `update `+param(port1, "rpg_hai_rate", 0)+` "800"`); err != nil {
		t.Fatal(err)
	}
	if got := share(); got < 0.6 {
		t.Errorf("share of the first tenant with 16 times the increases: %.2f", got)
	}
	count := func(field string) uint64 {
		text := r.must(t, "leaf", "sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet8/Queues/Ethernet8:"+strconv.Itoa(plane.RoCEPriority)+"/"+field)
		n, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := r.set(t, "leaf", `update `+config+`/FLEX_COUNTER_TABLE/WRED_ECN_QUEUE {"FLEX_COUNTER_STATUS":"enable","POLL_INTERVAL":"100"}`,
		`replace `+config+`/FLEX_COUNTER_TABLE/QUEUE/POLL_INTERVAL "100"`); err != nil {
		t.Fatal(err)
	}
	marks, sent := count("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"), count("SAI_QUEUE_STAT_BYTES")
	if marks == 0 || sent < 100<<20 {
		t.Errorf("the queue has sent %d bytes and marked %d packets", sent, marks)
	}
	if got := s.Measure(3).Queues[plane.RoCEPriority]; got.Octets != sent || got.Marks != marks {
		t.Errorf("counters by gNMI %d and %d, in the fabric %+v", sent, marks, got)
	}
	if err := r.set(t, "leaf", `replace `+config+`/WRED_PROFILE/AZURE_LOSSLESS/green_max_threshold "4000000000"`, `replace `+config+`/WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold "4000000000"`); err != nil {
		t.Fatal(err)
	}
	f.RunUntil(f.Now() + ms)
	before := s.Measure(3).Queues[plane.RoCEPriority].Marks
	f.RunUntil(f.Now() + 10*ms)
	if after := s.Measure(3).Queues[plane.RoCEPriority].Marks; after != before {
		t.Errorf("%d marks with thresholds above every queue length", after-before)
	}
	if err := f.Err(); err != nil {
		t.Error(err)
	}
}
