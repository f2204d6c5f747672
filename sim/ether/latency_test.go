package ether

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// chain returns two hosts at the ends of a row of switches. Each rate is one link of 1 us.
func chain(tb testing.TB, rates ...quantity.BitRate) *subnet.Fabric {
	tb.Helper()
	node := func(kind subnet.NodeKind, name string, guid ident.GUID, ports int) subnet.Node {
		n := subnet.Node{GUID: guid, SystemGUID: guid, Kind: kind, Name: name, Ports: subnet.NewPorts(ports)}
		return n
	}
	nodes := []subnet.Node{node(subnet.KindCA, "a", 0x100, 1)}
	for i := range len(rates) - 1 {
		nodes = append(nodes, node(subnet.KindSwitch, "s"+string(rune('1'+i)), ident.GUID(0x1000+0x100*i), 2))
	}
	nodes = append(nodes, node(subnet.KindCA, "b", 0x200, 1))
	var links []subnet.Link
	for i, r := range rates {
		out := ident.PortNum(2)
		if i == 0 {
			out = 1
		}
		links = append(links, subnet.Link{
			A: subnet.PortRef{Node: int32(i), Port: out}, B: subnet.PortRef{Node: int32(i + 1), Port: 1},
			Rate: r, Delay: quantity.Microsecond,
		})
	}
	f, err := subnet.New("chain", nodes, links)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// A single flow of 1 MB crosses links of 100, four times 400, and 100 Gbit/s. Its completion time equals the calculated time
// to the picosecond. With times truncated to nanoseconds it equals the 95,175 ns of ns-3.
func TestSingleFlowCompletionTimeIsExact(t *testing.T) {
	t.Parallel()
	g := quantity.Gbps
	for _, tc := range []struct {
		truncate bool
		want     quantity.Picoseconds
	}{
		{true, 95_175_000},
		// 1000 packets of 1048 bytes at 80 ps per byte; the last packet over four links at 20 and one at 80 ps per byte; its
		// acknowledgement of 60 bytes over six links; 12 us of propagation delay.
		{false, 1000*1048*80 + 1048*(4*20+80) + 60*(4*20+2*80) + 12_000_000},
	} {
		var got []Done
		n, err := New(chain(t, 100*g, 400*g, 400*g, 400*g, 400*g, 100*g), Config{
			TruncateNs: tc.truncate, Algorithms: []cc.Algorithm{build(t, "none", nil)},
			OnDone: func(d Done) { got = append(got, d) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Add(FlowSpec{ID: 7, Src: 0, Dst: 1, Bytes: 1_000_000}); err != nil {
			t.Fatal(err)
		}
		n.RunUntil(quantity.Second)
		if len(got) != 1 || got[0].FCT != tc.want || got[0].ID != 7 {
			t.Errorf("truncate %v: got %+v, want one flow of %d ps", tc.truncate, got, tc.want)
		}
		if st := n.Stats(); st.PacketHops != 6000 || st.DeliveredPackets != 1000 || !n.Finished() {
			t.Errorf("%+v: want 6000 hops, 1000 packets and a completed flow", st)
		}
	}
}
