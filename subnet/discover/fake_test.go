package discover_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// fake answers SMPs from a fabric model, walking directed routes link by link. Its faults are
// set before the sweep.
type fake struct {
	f     *subnet.Fabric
	start subnet.PortRef // the client's port
	// mutate changes an answer; it returns false to lose it. It is called under mu.
	mutate func(at int32, resp *mad.Packet) bool
	// shuffle, when not nil, yields a random number of times before each answer.
	shuffle *rand.Rand
	// changed are switches with PortStateChange, and sm is the LID of the subnet manager.
	changed map[int32]bool
	sm      ident.LID
	// tables enables the answers for Options.Tables.
	tables bool

	mu    sync.Mutex
	asked map[string]int // by node GUID, attribute and modifier
	most  int            // maximum number of concurrent requests
	now   int
}

func newFake(f *subnet.Fabric, start subnet.PortRef) *fake {
	return &fake{f: f, start: start, asked: make(map[string]int)}
}

func (x *fake) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	if err := ctx.Err(); err != nil {
		return mad.Packet{}, err
	}
	x.enter()
	defer x.leave()
	x.mu.Lock()
	defer x.mu.Unlock()
	if to.LID != 0 {
		return x.byLID(to, req)
	}
	at, ok := x.walk(to.Path)
	if !ok {
		return mad.Packet{}, fmt.Errorf("%w: no such route", mad.ErrTimeout)
	}
	x.asked[fmt.Sprintf("%s %s %d", x.f.Nodes[at.Node].GUID, mad.AttrName(req.Class(), req.Attr()), req.Modifier())]++
	resp := *req
	status, err := x.fill(at, &resp)
	if err != nil {
		return mad.Packet{}, err
	}
	resp.Respond(status)
	if x.mutate != nil && !x.mutate(at.Node, &resp) {
		return mad.Packet{}, fmt.Errorf("%w in 3 tries", mad.ErrTimeout)
	}
	return resp, nil
}

func (x *fake) enter() {
	x.mu.Lock()
	x.now++
	x.most = max(x.most, x.now)
	yields := 0
	if x.shuffle != nil {
		yields = x.shuffle.IntN(8)
	}
	x.mu.Unlock()
	for range yields {
		runtime.Gosched()
	}
}

func (x *fake) leave() {
	x.mu.Lock()
	x.now--
	x.mu.Unlock()
}

// walk follows a directed route to the port through which it enters its last node.
func (x *fake) walk(path []ident.PortNum) (subnet.PortRef, bool) {
	at := x.start
	for i, p := range path {
		node := &x.f.Nodes[at.Node]
		if i > 0 && node.Kind != subnet.KindSwitch || i == 0 && node.Kind != subnet.KindSwitch && p != x.start.Port {
			return at, false
		}
		next, ok := x.f.Peer(subnet.PortRef{Node: at.Node, Port: p})
		if !ok {
			return at, false
		}
		at = next
	}
	return at, true
}

func (x *fake) fill(at subnet.PortRef, p *mad.Packet) (mad.Status, error) {
	n := &x.f.Nodes[at.Node]
	switch p.Attr() {
	case mad.AttrNodeInfo:
		v := x.nodeInfo(at)
		return 0, v.Encode(p.Data())
	case mad.AttrNodeDescription:
		d, err := mad.NewNodeDescription(n.Name)
		if err != nil {
			return 0, err
		}
		return 0, d.Encode(p.Data())
	case mad.AttrSwitchInfo:
		if n.Kind != subnet.KindSwitch {
			return mad.StatusBadMethodAttr, nil
		}
		v := mad.SwitchInfo{LinearFDBCap: 0xc000, LinearFDBTop: uint16(x.f.TopLID()), PortStateChange: x.changed[at.Node]}
		return 0, v.Encode(p.Data())
	case mad.AttrLinearForwardingTable:
		var v mad.LinearForwardingTable
		for i := range v {
			v[i] = ident.DropPort
			if lid := int(p.Modifier())*len(v) + i; x.f.LFTs != nil && lid < len(x.f.LFTs[at.Node]) {
				v[i] = x.f.LFTs[at.Node][lid]
			}
		}
		return 0, v.Encode(p.Data())
	case mad.AttrPortInfo:
		if int(p.Modifier()) >= len(n.Ports) {
			return mad.StatusInvalidAttrValue, nil
		}
		num := ident.PortNum(p.Modifier())
		if num == 0 && n.Kind != subnet.KindSwitch {
			num = at.Port
		}
		v := x.portInfo(subnet.PortRef{Node: at.Node, Port: num})
		return 0, v.Encode(p.Data())
	case mad.AttrMlnxExtPortInfo:
		l, _ := x.f.Link(subnet.PortRef{Node: at.Node, Port: ident.PortNum(p.Modifier())})
		if l == nil || n.Kind != subnet.KindSwitch {
			return mad.StatusBadMethodAttr, nil // like a device without FDR10
		}
		v := mad.MlnxExtPortInfo{}
		if l.Speed == subnet.FDR10 {
			v.LinkSpeedActive = mad.MlnxSpeedFDR10
		}
		return 0, v.Encode(p.Data())
	default:
		return x.table(at, n, p)
	}
}

// table answers with tables that differ between nodes and ports.
func (x *fake) table(at subnet.PortRef, n *subnet.Node, p *mad.Packet) (mad.Status, error) {
	if !x.tables {
		return mad.StatusBadMethodAttr, nil
	}
	mod := p.Modifier()
	switch p.Attr() {
	case mad.AttrSLToVLTable:
		var v mad.SLToVLTable
		for sl := range v {
			v[sl] = ident.VL((sl + int(mod) + int(mod>>8) + int(at.Node)) % 8)
		}
		return 0, v.Encode(p.Data())
	case mad.AttrVLArbitration:
		var v mad.VLArbitration
		for i := range v {
			v[i] = mad.VLArbEntry{VL: ident.VL(i % 8), Weight: uint8(mod>>16)*10 + uint8(mod)}
		}
		return 0, v.Encode(p.Data())
	case mad.AttrPKeyTable:
		var v mad.PKeyTable
		for i := range v {
			if v[i] = 0xffff - ident.PKey(i) - ident.PKey(mod)*32; mod == 1 && i > 2 {
				v[i] = 0
			}
		}
		return 0, v.Encode(p.Data())
	}
	return mad.StatusBadMethodAttr, nil
}

// byLID answers requests for congestion control as channel adapters and switches do.
func (x *fake) byLID(to mad.Target, req *mad.Packet) (mad.Packet, error) {
	at, ok := x.f.PortByLID(to.LID)
	if !ok || req.Class() != mad.ClassCongestion || req.Attr() != mad.AttrCongestionInfo {
		return mad.Packet{}, fmt.Errorf("%w: no device with the LID", mad.ErrTimeout)
	}
	resp := *req
	v := mad.CongestionInfo{Info: uint16(at.Node)}
	if x.f.Nodes[at.Node].Kind != subnet.KindSwitch {
		v.ControlTableCap = 2
	}
	if err := v.Encode(resp.Data()); err != nil {
		return mad.Packet{}, err
	}
	resp.Respond(0)
	if x.mutate != nil && !x.mutate(at.Node, &resp) {
		return mad.Packet{}, fmt.Errorf("%w in 3 tries", mad.ErrTimeout)
	}
	return resp, nil
}

func (x *fake) nodeInfo(at subnet.PortRef) mad.NodeInfo {
	n := &x.f.Nodes[at.Node]
	v := mad.NodeInfo{
		BaseVersion: 1, ClassVersion: 1, NodeType: uint8(n.Kind), NumPorts: uint8(len(n.Ports) - 1),
		SystemGUID: n.SystemGUID, NodeGUID: n.GUID, PortGUID: n.Ports[at.Port].GUID,
		DeviceID: n.DeviceID, Revision: n.Revision, LocalPort: at.Port, VendorID: n.VendorID, PartitionCap: 64,
	}
	if n.Kind == subnet.KindSwitch {
		v.PortGUID = n.Ports[0].GUID
	}
	return v
}

func (x *fake) portInfo(r subnet.PortRef) mad.PortInfo {
	p := x.f.Port(r)
	v := mad.PortInfo{
		LID: p.LID, LMC: p.LMC, State: mad.StateDown, PhysState: mad.PhysPolling,
		NeighborMTU: mad.MTUCode(p.MTU), VLCap: mad.VLCode(p.VLCap),
	}
	v.MasterSMLID = x.sm
	if x.tables {
		v.OperationalVLs, v.VLArbLowCap, v.VLArbHighCap = 4, 40, 8
	}
	if l, _ := x.f.Link(r); l != nil {
		v.State, v.PhysState = uint8(p.State), mad.PhysLinkUp
		v.LinkWidthActive = l.Width.Code()
		v.LinkSpeedActive, v.LinkSpeedExtActive = l.Speed.Codes()
	} else if r.Port == 0 {
		v.State, v.PhysState = uint8(p.State), mad.PhysLinkUp
	}
	if r.Port == 0 || x.f.Nodes[r.Node].Kind != subnet.KindSwitch {
		v.CapabilityMask = mad.PortCapExtendedSpeeds
	}
	return v
}

// fabric builds a small fabric: two switches with two parallel links and a loop cable, a host with its ports on
// different switches, two more hosts, and forwarding tables.
//
//	host 1 ─1── 1 leaf 1 5═5 leaf 2 ─1── host 3
//	host 2 ─1── 2        6═6        ─2── host 2, port 2
//	            leaf 2: port 3 cabled to port 4
func fabric(t testing.TB) *subnet.Fabric {
	t.Helper()
	node := func(kind subnet.NodeKind, guid ident.GUID, name string, ports int) subnet.Node {
		n := subnet.Node{GUID: guid, SystemGUID: guid + 0xf0, Kind: kind, Name: name, VendorID: 0x2c9, DeviceID: 7, Revision: 3, Ports: subnet.NewPorts(ports)}
		for i := range n.Ports {
			p := &n.Ports[i]
			switch {
			case kind == subnet.KindSwitch && i == 0:
				p.GUID, p.State, p.MTU, p.VLCap = guid, subnet.PortActive, 4096, 8
			case kind == subnet.KindSwitch:
				p.State, p.MTU, p.VLCap = subnet.PortActive, 2048, 8
			case i > 0:
				p.GUID, p.State, p.MTU, p.VLCap = guid+ident.GUID(i), subnet.PortActive, 4096, 4
			}
		}
		return n
	}
	nodes := []subnet.Node{
		node(subnet.KindCA, 0x10, "host 1", 1), node(subnet.KindCA, 0x20, "host 2", 2), node(subnet.KindCA, 0x30, "host 3", 1),
		node(subnet.KindSwitch, 0x100, "leaf 1", 8), node(subnet.KindSwitch, 0x200, "leaf 2", 8),
	}
	link := func(a int32, p ident.PortNum, b int32, q ident.PortNum, s subnet.Speed) subnet.Link {
		return subnet.Link{A: subnet.PortRef{Node: a, Port: p}, B: subnet.PortRef{Node: b, Port: q}, Width: 4, Speed: s}
	}
	f, err := subnet.New("", nodes, []subnet.Link{
		link(0, 1, 3, 1, subnet.EDR), link(1, 1, 3, 2, subnet.QDR), link(1, 2, 4, 2, subnet.HDR), link(2, 1, 4, 1, subnet.DDR),
		link(3, 5, 4, 5, subnet.EDR), link(3, 6, 4, 6, subnet.EDR), link(4, 3, 4, 4, subnet.FDR10),
	})
	if err != nil {
		t.Fatal(err)
	}
	return route(t, f)
}

// route assigns LIDs and forwarding tables.
func route(t testing.TB, f *subnet.Fabric) *subnet.Fabric {
	t.Helper()
	f, err := subnet.AssignLIDs(f, 1)
	if err != nil {
		t.Fatal(err)
	}
	lfts, err := subnet.ComputeRoutes(f)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = f.WithLFTs(lfts); err != nil {
		t.Fatal(err)
	}
	return f
}
