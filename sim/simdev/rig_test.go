package simdev

import (
	"fmt"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Nodes of the test fabric by position.
const (
	leaf1 int32 = iota
	leaf2
	host1
	host2
	host3
	host4 // has two ports; only port 2 has a cable
)

// testTopology returns two switches of 40 ports with two hosts each and two links between them. Links are 4xEDR, 100 Gbit/s,
// on ports 1, 2, 39 and 40.
func testTopology(t testing.TB) *subnet.Fabric {
	t.Helper()
	var nodes []subnet.Node
	for i := range 2 {
		nodes = append(nodes, subnet.Node{
			GUID: ident.GUID(0x200000 + i), Kind: subnet.KindSwitch, VendorID: 0x123456,
			Name: fmt.Sprintf("leaf%d", i+1), Ports: subnet.NewPorts(40),
		})
	}
	var links []subnet.Link
	join := func(a int32, p ident.PortNum, b int32, q ident.PortNum) {
		links = append(links, subnet.Link{
			A: subnet.PortRef{Node: a, Port: p}, B: subnet.PortRef{Node: b, Port: q},
			Width: 4, Speed: subnet.EDR, Delay: 100 * quantity.Nanosecond,
		})
	}
	for i := range 4 {
		g := ident.GUID(0x100000 + 16*i)
		n, plugged := 1, ident.PortNum(1)
		if i == 3 {
			n, plugged = 2, 2
		}
		ports := subnet.NewPorts(n)
		for p := 1; p <= n; p++ {
			ports[p].GUID = g + ident.GUID(p)
		}
		nodes = append(nodes, subnet.Node{GUID: g, Kind: subnet.KindCA, Name: fmt.Sprintf("h%d HCA-1", i+1), Ports: ports})
		join(int32(i/2), ident.PortNum(i%2+1), int32(2+i), plugged)
	}
	join(leaf1, 39, leaf2, 39)
	join(leaf1, 40, leaf2, 40)
	f, err := subnet.New("test", nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rig is a small fabric with a client at host1.
type rig struct {
	t    testing.TB
	net  *fabric.Network
	dev  *Devices
	from subnet.PortRef
}

func newRig(t testing.TB, o Options) *rig {
	t.Helper()
	n, err := fabric.New(testTopology(t), fabric.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(n, o)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, net: n, dev: d, from: subnet.PortRef{Node: host1, Port: 1}}
}

// lid returns the LID of a node's first end port with a cable.
func (r *rig) lid(node int32) ident.LID {
	port := ident.PortNum(1)
	switch {
	case r.dev.nodes[node].sw != nil:
		port = 0
	case node == host4:
		port = 2
	}
	lid, _ := r.net.LID(node, port)
	return lid
}

// send passes a message to the devices.
func (r *rig) send(dlid ident.LID, p mad.Packet) (Message, Verdict) {
	m := Message{DLID: dlid, DQP: 1, SQP: 1, MAD: p}
	if p.Class() == mad.ClassSubnDR {
		m.DLID, m.SLID = ident.PermissiveLID, ident.PermissiveLID
	}
	v := r.dev.Handle(r.from, &m)
	return m, v
}

// ask sends a request, expects a response with status 0, and returns the response.
func (r *rig) ask(dlid ident.LID, p mad.Packet) mad.Packet {
	r.t.Helper()
	m, v := r.send(dlid, p)
	if v.Outcome != Replied || m.MAD.Status() != mad.StatusOK {
		r.t.Fatalf("%s: %s, status %s", p.String(), v.Outcome, m.MAD.Status())
	}
	return m.MAD
}

// wantStatus sends a request and expects a response with the given status.
func (r *rig) wantStatus(dlid ident.LID, p mad.Packet, want mad.Status) {
	r.t.Helper()
	m, v := r.send(dlid, p)
	if v.Outcome != Replied || m.MAD.Status() != want {
		r.t.Errorf("%s: %s with status %s, want status %s", p.String(), v.Outcome, m.MAD.Status(), want)
	}
}

// directed builds a directed-route request.
func (r *rig) directed(m mad.Method, a mad.AttrID, mod uint32, path ...ident.PortNum) mad.Packet {
	r.t.Helper()
	p := mad.NewDirected(m, a, mod)
	if err := p.SetRoute(path); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// with fills the data area of a request.
func (r *rig) with(p mad.Packet, a mad.Attribute) mad.Packet {
	r.t.Helper()
	if err := a.Encode(p.Data()); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// read decodes the data of a response.
func (r *rig) read(p mad.Packet, a mad.Attribute) {
	r.t.Helper()
	if err := a.Decode(p.Data()); err != nil {
		r.t.Fatal(err)
	}
}

// portInfo reads the PortInfo of a port by directed route.
func (r *rig) portInfo(mod uint32, path ...ident.PortNum) mad.PortInfo {
	r.t.Helper()
	var info mad.PortInfo
	r.read(r.ask(0, r.directed(mad.MethodGet, mad.AttrPortInfo, mod, path...)), &info)
	return info
}

// flow adds an unlimited flow.
func (r *rig) flow(src, dst int32, sl ident.SL) fabric.FlowID {
	r.t.Helper()
	ref := func(n int32) subnet.PortRef {
		p := subnet.PortRef{Node: n, Port: 1}
		if n == host4 {
			p.Port = 2
		}
		return p
	}
	id, err := r.net.AddFlow(fabric.FlowSpec{Name: "flow", PKey: 0x8001, Src: ref(src), Dst: ref(dst), SL: sl, QPs: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}
