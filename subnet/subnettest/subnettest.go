// Package subnettest draws random fabrics for property tests. Only tests import it.
package subnettest

import (
	"fmt"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Shape restricts what Fabric draws; the zero value draws anything.
type Shape struct {
	// Connected joins all switches into one component and plugs every host into a switch.
	Connected bool
	// PlainText restricts the fabric to data that ibnetdiscover's text can hold: known port GUIDs and LIDs on
	// plugged-in ports only, no MTU, VLs, state, revision, domain, rate or delay.
	PlainText bool
}

// Fabric draws a fabric of up to 8 switches and 12 hosts with random wiring: parallel links, loop-back plugs, unplugged
// ports and several components. It has LIDs in some draws, and no routes.
func Fabric(t *rapid.T, s Shape) *subnet.Fabric {
	d := generator{T: t, Shape: s}
	switches := rapid.IntRange(0, 8).Draw(t, "switches")
	if s.Connected {
		switches = max(switches, 1)
	}
	hosts := rapid.IntRange(0, 12).Draw(t, "hosts")
	for i := range switches {
		d.node(subnet.KindSwitch, i, rapid.IntRange(4, 40).Draw(t, "ports"))
	}
	for i := range hosts {
		kind := rapid.SampledFrom([]subnet.NodeKind{subnet.KindCA, subnet.KindCA, subnet.KindCA, subnet.KindRouter}).Draw(t, "kind")
		d.node(kind, switches+i, rapid.IntRange(1, 3).Draw(t, "ports"))
	}
	if s.Connected {
		d.connect(switches)
	}
	if switches+hosts > 0 {
		for range rapid.IntRange(0, 30).Draw(t, "extra links") {
			d.link(rapid.IntRange(0, switches+hosts-1).Draw(t, "a"), rapid.IntRange(0, switches+hosts-1).Draw(t, "b"))
		}
	}
	d.portGUIDs()
	f, err := subnet.New("drawn", d.nodes, d.links)
	if err != nil {
		t.Fatalf("drawn fabric refused: %v", err)
	}
	if !s.Connected && rapid.Bool().Draw(t, "without LIDs") {
		return f
	}
	f, err = subnet.AssignLIDs(f, rapid.Uint8Range(0, 3).Draw(t, "lmc"))
	if err != nil {
		t.Fatalf("assign LIDs to drawn fabric: %v", err)
	}
	return f
}

type generator struct {
	*rapid.T
	Shape
	nodes []subnet.Node
	links []subnet.Link
	used  []int // plugged-in ports, by node
}

func (d *generator) node(kind subnet.NodeKind, i, ports int) {
	n := subnet.Node{
		Kind: kind, GUID: ident.GUID(i+1) << 16, Ports: subnet.NewPorts(ports),
		Name: rapid.OneOf(
			rapid.Just(fmt.Sprintf("node-%d", i)),
			rapid.SampledFrom([]string{"", "same", `with "quotes"`, "a:1", "0x10000", "#hash", "- dash", "true", "ünï", "a b  c", "lid 5 lmc 9"}),
		).Draw(d.T, "name"),
		VendorID: rapid.Uint32Range(0, 0xffffff).Draw(d.T, "vendor"),
		DeviceID: rapid.Uint16().Draw(d.T, "device"),
	}
	n.SystemGUID = rapid.SampledFrom([]ident.GUID{0, n.GUID, 0xabcdef}).Draw(d.T, "system GUID")
	if !d.PlainText {
		n.Revision = rapid.Uint32().Draw(d.T, "revision")
		n.Domain = rapid.SampledFrom([]string{"", "dc1", "dc 2"}).Draw(d.T, "domain")
		for p := range n.Ports {
			if p == 0 && kind != subnet.KindSwitch {
				continue
			}
			port := &n.Ports[p]
			port.MTU = rapid.SampledFrom([]uint16{0, 2048, 4096}).Draw(d.T, "mtu")
			port.VLCap = rapid.SampledFrom([]uint8{0, 4, 8, 15}).Draw(d.T, "vls")
			port.State = rapid.SampledFrom([]subnet.PortState{0, subnet.PortInit, subnet.PortActive}).Draw(d.T, "state")
		}
	}
	d.nodes, d.used = append(d.nodes, n), append(d.used, 0)
}

// connect makes a random tree of the switches and attaches the hosts to it, as far as ports are free.
func (d *generator) connect(switches int) {
	for i := 1; i < switches; i++ {
		if !d.link(rapid.IntRange(max(0, i-3), i-1).Draw(d.T, "parent"), i) {
			d.Fatalf("switch %d finds no free port on one of the three before it, which have four at least", i)
		}
	}
	for i := switches; i < len(d.nodes); i++ {
		d.link(rapid.IntRange(0, switches-1).Draw(d.T, "leaf"), i)
	}
}

// link joins the next free ports of two nodes; false when one has none.
func (d *generator) link(a, b int) bool {
	pa, oka := d.free(a)
	pb, okb := d.free(b)
	if !oka || !okb {
		return false
	}
	l := subnet.Link{
		A: subnet.PortRef{Node: int32(a), Port: pa}, B: subnet.PortRef{Node: int32(b), Port: pb},
		Width: rapid.SampledFrom([]subnet.Width{0, 1, 2, 4, 8, 12}).Draw(d.T, "width"),
		Speed: subnet.Speed(rapid.Uint8Range(0, uint8(subnet.XDR)).Draw(d.T, "speed")),
	}
	if !d.PlainText {
		l.Rate = quantity.BitRate(rapid.SampledFrom([]int64{0, 0, 10e9, 100e9, 123456789}).Draw(d.T, "rate"))
		l.Delay = quantity.Picoseconds(rapid.Int64Range(0, 5_000_000).Draw(d.T, "delay"))
	}
	d.links = append(d.links, l)
	return true
}

func (d *generator) free(n int) (ident.PortNum, bool) {
	if d.used[n]++; d.used[n] >= len(d.nodes[n].Ports) {
		return 0, false
	}
	return ident.PortNum(d.used[n]), true
}

// portGUIDs sets the GUIDs of port 0 of switches and, for other nodes, of plugged-in ports, or of all.
func (d *generator) portGUIDs() {
	plugged := make(map[subnet.PortRef]bool)
	for _, l := range d.links {
		plugged[l.A], plugged[l.B] = true, true
	}
	for i := range d.nodes {
		n := &d.nodes[i]
		if rapid.IntRange(0, 3).Draw(d.T, "port GUIDs") == 0 {
			continue
		}
		if n.Kind == subnet.KindSwitch {
			n.Ports[0].GUID = n.GUID
			continue
		}
		for p := 1; p < len(n.Ports); p++ {
			if !d.PlainText || plugged[subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}] {
				n.Ports[p].GUID = n.GUID + ident.GUID(p)
			}
		}
	}
}
