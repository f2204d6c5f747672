package simdev

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// The request is the directed-route NodeInfo Get that worked against ibsim with the path 0,1,3. Here its path is 0,1,2, to
// host2.
func TestDirectedRouteRecordsItsReturnPath(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{SMMode: Cold})
	resp := r.ask(0, r.directed(mad.MethodGet, mad.AttrNodeInfo, 0, 1, 2))
	if head := hex.EncodeToString(resp[:8]); head != "0181018180000002" {
		t.Errorf("header %s", head)
	}
	if back := hex.EncodeToString(resp.ReturnPath()[:4]); back != "01010100" {
		t.Errorf("return path %s", back)
	}
	var info mad.NodeInfo
	r.read(resp, &info)
	want := mad.NodeInfo{
		BaseVersion: 1, ClassVersion: 1, NodeType: mad.NodeTypeCA, NumPorts: 1,
		SystemGUID: 0x100010, NodeGUID: 0x100010, PortGUID: 0x100011, PartitionCap: 128, LocalPort: 1,
	}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Error(diff)
	}
}

func TestDirectedRouteOutcomes(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{SMMode: Cold})
	loop := make([]ident.PortNum, mad.MaxHops)
	for i := range loop {
		loop[i] = 39
	}
	loop[0] = 1
	tests := map[string]struct {
		path []ident.PortNum
		edit func(*mad.Packet)
		want Outcome
	}{
		"local node":                 {nil, nil, Replied},
		"63 hops back and forth":     {loop, nil, Replied},
		"port without a cable":       {[]ident.PortNum{1, 7}, nil, Undeliverable},
		"port that does not exist":   {[]ident.PortNum{1, 200}, nil, Undeliverable},
		"port 0":                     {[]ident.PortNum{1, 0}, nil, Undeliverable},
		"through a channel adapter":  {[]ident.PortNum{1, 2, 1}, nil, Undeliverable},
		"hop pointer past the start": {[]ident.PortNum{1}, func(p *mad.Packet) { p.SetHopPointer(1) }, Undeliverable},
		"hop count of 64":            {[]ident.PortNum{1}, func(p *mad.Packet) { p.SetHopCount(64) }, Undeliverable},
		"LID-routed first part":      {[]ident.PortNum{1}, func(p *mad.Packet) { p.SetDrLIDs(1, 0xffff) }, Undeliverable},
		"direction bit of a request": {[]ident.PortNum{1}, func(p *mad.Packet) { p.SetDirection(true) }, Dropped},
	}
	for name, tt := range tests {
		p := r.directed(mad.MethodGet, mad.AttrNodeInfo, 0, tt.path...)
		if tt.edit != nil {
			tt.edit(&p)
		}
		if _, v := r.send(0, p); v.Outcome != tt.want {
			t.Errorf("%s: %s, want %s", name, v.Outcome, tt.want)
		}
	}
}

// A directed part may follow a LID-routed part to the switch where the directed part begins. Another LID-routed part, to any
// node, may follow the directed part.
func TestCombinedRoutes(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	here, perm := r.lid(host1), ident.PermissiveLID
	for name, tt := range map[string]struct {
		first      ident.LID // destination LID of the packet
		path       []ident.PortNum
		slid, dlid ident.LID
		node       int32 // node that answers; -1 means none
		in         ident.PortNum
		back       []byte // return path from 1 on
	}{
		"by LID, then directed":              {r.lid(leaf2), []ident.PortNum{1}, here, perm, host3, 1, []byte{1}},
		"two hops from the far switch":       {r.lid(leaf2), []ident.PortNum{40, 2}, here, perm, host2, 1, []byte{40, 1}},
		"directed, then by LID":              {perm, []ident.PortNum{1, 39}, perm, r.lid(host4), host4, 2, []byte{1, 39}},
		"by LID, directed, by LID":           {r.lid(leaf1), []ident.PortNum{39}, here, r.lid(host3), host3, 1, []byte{39}},
		"by LID alone":                       {r.lid(host4), nil, here, perm, host4, 2, nil},
		"the last part ends at its switch":   {perm, []ident.PortNum{1}, perm, r.lid(leaf1), leaf1, 1, []byte{1}},
		"directed part from an adapter":      {r.lid(host3), []ident.PortNum{1}, here, perm, -1, 0, nil},
		"last part from an adapter":          {r.lid(leaf2), []ident.PortNum{1}, here, r.lid(host4), -1, 0, nil},
		"no such first LID":                  {4000, []ident.PortNum{1}, here, perm, -1, 0, nil},
		"no such last LID":                   {perm, []ident.PortNum{1}, perm, 4000, -1, 0, nil},
		"response to another node":           {r.lid(leaf2), []ident.PortNum{1}, r.lid(host2), perm, -1, 0, nil},
		"first LID permissive, sender's not": {perm, []ident.PortNum{1}, here, perm, -1, 0, nil},
	} {
		p := r.directed(mad.MethodGet, mad.AttrNodeInfo, 0, tt.path...)
		p.SetDrLIDs(tt.slid, tt.dlid)
		m := Message{DLID: tt.first, SLID: here, MAD: p}
		v := r.dev.Handle(r.from, &m)
		if tt.node < 0 {
			if v.Outcome != Undeliverable {
				t.Errorf("%s: %s, want it undeliverable", name, v.Outcome)
			}
			continue
		}
		var info mad.NodeInfo
		r.read(m.MAD, &info)
		if v.Outcome != Replied || info.NodeGUID != r.dev.topo.Nodes[tt.node].GUID || info.LocalPort != tt.in {
			t.Errorf("%s: %s from node %s through port %d", name, v.Outcome, info.NodeGUID, info.LocalPort)
		}
		if got := m.MAD.ReturnPath()[1 : len(tt.path)+1]; string(got) != string(tt.back) || !m.MAD.Direction() || m.DLID != here && tt.first != perm {
			t.Errorf("%s: return path %v, response to LID %d", name, got, m.DLID)
		}
	}
}

// A subnet manager's response has the parts of the request in reverse order.
func TestResponsesOfASubnetManagerOverCombinedRoutes(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	sm := subnet.PortRef{Node: host3, Port: 1}
	r.dev.SetSM(sm, true)
	for name, dlid := range map[string]ident.LID{"last part directed": ident.PermissiveLID, "last part by LID": r.lid(host3)} {
		path := []ident.PortNum{39, 1}
		if dlid != ident.PermissiveLID {
			path = path[:1]
		}
		p := r.directed(mad.MethodGet, mad.AttrSMInfo, 0, path...)
		p.SetDrLIDs(r.lid(host1), dlid)
		m := Message{DLID: r.lid(leaf1), SLID: r.lid(host1), MAD: p}
		if v := r.dev.Handle(r.from, &m); v.Outcome != Forwarded || v.To != sm {
			t.Fatalf("%s: request %s to %+v", name, v.Outcome, v.To)
		}
		m.MAD.Respond(mad.StatusOK)
		m.DLID, m.SLID = r.lid(leaf2), r.lid(host3)
		if v := r.dev.Handle(sm, &m); v.Outcome != Forwarded || v.To != r.from {
			t.Errorf("%s: response %s to %+v", name, v.Outcome, v.To)
		}
	}
}

func TestLIDRouting(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	for _, node := range []int32{host1, leaf1, host2, leaf2, host3, host4} {
		var info mad.NodeInfo
		m, v := r.send(r.lid(node), mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0))
		if v.Outcome != Replied {
			t.Fatalf("node %d: %s", node, v.Outcome)
		}
		r.read(m.MAD, &info)
		if info.NodeGUID != r.dev.topo.Nodes[node].GUID {
			t.Errorf("LID %d reached %s", r.lid(node), info.NodeGUID)
		}
		if m.DLID != r.lid(host1) || m.SLID != r.lid(node) {
			t.Errorf("node %d: the response is from LID %d to %d", node, m.SLID, m.DLID)
		}
	}
	for _, lid := range []ident.LID{0, 999, 0xbfff, 0xc001, 0xffff} {
		if _, v := r.send(lid, mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)); v.Outcome != Undeliverable {
			t.Errorf("LID %d: %s, want undeliverable", lid, v.Outcome)
		}
	}
}

func TestLIDRouteInALoopIsUndeliverable(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	var up [64]ident.PortNum
	for i := range up {
		up[i] = 39
	}
	r.net.SetLFTBlock(leaf1, 0, up)
	r.net.SetLFTBlock(leaf2, 0, up)
	if _, v := r.send(r.lid(host2), mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)); v.Outcome != Undeliverable {
		t.Errorf("%s, want undeliverable", v.Outcome)
	}
}

func TestNodeDescription(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	get := mad.NewSMP(mad.MethodGet, mad.AttrNodeDescription, 0)
	var d mad.NodeDescription
	r.read(r.ask(r.lid(leaf2), get), &d)
	if d.String() != "leaf2" {
		t.Errorf("got %q", d.String())
	}
	renamed, err := mad.NewNodeDescription("renamed")
	if err != nil {
		t.Fatal(err)
	}
	set := r.with(mad.NewSMP(mad.MethodSet, mad.AttrNodeDescription, 0), &renamed)
	r.wantStatus(r.lid(leaf2), set, mad.StatusBadMethodAttr)
	r.ask(r.lid(host3), set)
	r.read(r.ask(r.lid(host3), get), &d)
	if d != renamed {
		t.Errorf("got %q", d.String())
	}
}

func TestSwitchInfo(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{SMMode: Cold})
	set := mad.SwitchInfo{LinearFDBTop: 6, LifeTimeValue: 9, DefaultPort: 3, MulticastFDBTop: 0xc001, LinearFDBCap: 1}
	var got mad.SwitchInfo
	r.read(r.ask(0, r.with(r.directed(mad.MethodSet, mad.AttrSwitchInfo, 0, 1), &set)), &got)
	want := mad.SwitchInfo{
		LinearFDBCap: 0xc000, MulticastFDBCap: 1024, LinearFDBTop: 6, DefaultPort: 3, LifeTimeValue: 9,
		PartEnforceCap: 32, MulticastFDBTop: 0xc001,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	set.LinearFDBTop = 0xc000
	r.wantStatus(0, r.with(r.directed(mad.MethodSet, mad.AttrSwitchInfo, 0, 1), &set), mad.StatusInvalidAttrValue)
	r.wantStatus(0, r.directed(mad.MethodGet, mad.AttrSwitchInfo, 0), mad.StatusBadMethodAttr)
}

func TestForwardingTableSteersPackets(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	lid := r.lid(host3)
	var b mad.LinearForwardingTable
	r.read(r.ask(r.lid(leaf1), mad.NewSMP(mad.MethodGet, mad.AttrLinearForwardingTable, 0)), &b)
	if b[lid] != 39 && b[lid] != 40 {
		t.Fatalf("LID %d leaves by port %d", lid, b[lid])
	}
	for _, port := range []ident.PortNum{39, 40} {
		b[lid] = port
		var got mad.LinearForwardingTable
		r.read(r.ask(r.lid(leaf1), r.with(mad.NewSMP(mad.MethodSet, mad.AttrLinearForwardingTable, 0), &b)), &got)
		if got != b {
			t.Errorf("read back %v", got)
		}
		before := r.net.Counters(leaf1, port).XmitBytes
		id := r.flow(host1, host3, 0)
		r.dev.Advance(100 * quantity.Microsecond)
		r.net.StopFlow(id)
		r.dev.Advance(100 * quantity.Microsecond)
		if sent := r.net.Counters(leaf1, port).XmitBytes - before; sent < 1e6 {
			t.Errorf("port %d sent %d bytes in 100 us, want more than a megabyte", port, sent)
		}
	}
	r.wantStatus(r.lid(leaf1), mad.NewSMP(mad.MethodGet, mad.AttrLinearForwardingTable, 768), mad.StatusInvalidAttrValue)
	r.wantStatus(r.lid(host1), mad.NewSMP(mad.MethodGet, mad.AttrLinearForwardingTable, 0), mad.StatusBadMethodAttr)
}

func TestMulticastTable(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	b := mad.MulticastForwardingTable{3: 0x8001}
	mod := mad.MulticastModifier(2, 5)
	var got mad.MulticastForwardingTable
	r.read(r.ask(r.lid(leaf1), r.with(mad.NewSMP(mad.MethodSet, mad.AttrMulticastForwardingTable, mod), &b)), &got)
	if got != b {
		t.Errorf("got %v", got)
	}
	r.read(r.ask(r.lid(leaf1), mad.NewSMP(mad.MethodGet, mad.AttrMulticastForwardingTable, mad.MulticastModifier(1, 5))), &got)
	if got != (mad.MulticastForwardingTable{}) {
		t.Errorf("position 1 holds %v", got)
	}
	for _, mod := range []uint32{mad.MulticastModifier(3, 0), mad.MulticastModifier(0, 32)} {
		r.wantStatus(r.lid(leaf1), mad.NewSMP(mad.MethodGet, mad.AttrMulticastForwardingTable, mod), mad.StatusInvalidAttrValue)
	}
}

func TestPKeyTables(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	var got mad.PKeyTable
	r.read(r.ask(r.lid(host1), mad.NewSMP(mad.MethodGet, mad.AttrPKeyTable, 0)), &got)
	if got != (mad.PKeyTable{ident.DefaultPKey}) {
		t.Errorf("a new table contains %v", got)
	}
	want := mad.PKeyTable{0x7fff, 0x8010, 31: 0x8020}
	for _, at := range []struct {
		lid ident.LID
		mod uint32
	}{{r.lid(host1), 0}, {r.lid(host1), 3}, {r.lid(leaf1), mad.PKeyModifier(0, 3)}, {r.lid(leaf1), mad.PKeyModifier(40, 0)}} {
		r.ask(at.lid, r.with(mad.NewSMP(mad.MethodSet, mad.AttrPKeyTable, at.mod), &want))
		r.read(r.ask(at.lid, mad.NewSMP(mad.MethodGet, mad.AttrPKeyTable, at.mod)), &got)
		if got != want {
			t.Errorf("LID %d modifier 0x%x: got %v", at.lid, at.mod, got)
		}
	}
	for _, at := range []struct {
		lid ident.LID
		mod uint32
	}{{r.lid(host1), 4}, {r.lid(leaf1), mad.PKeyModifier(40, 1)}, {r.lid(leaf1), mad.PKeyModifier(41, 0)}} {
		r.wantStatus(at.lid, mad.NewSMP(mad.MethodGet, mad.AttrPKeyTable, at.mod), mad.StatusInvalidAttrValue)
	}
}

func TestGUIDInfo(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	set := mad.GUIDInfo{1, 2, 3}
	var got mad.GUIDInfo
	r.read(r.ask(r.lid(host1), r.with(mad.NewSMP(mad.MethodSet, mad.AttrGUIDInfo, 0), &set)), &got)
	if want := (mad.GUIDInfo{0x100001, 2, 3}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	r.wantStatus(r.lid(host1), mad.NewSMP(mad.MethodGet, mad.AttrGUIDInfo, 1), mad.StatusInvalidAttrValue)
}

func TestSLToVLAndArbitrationReachTheDataPath(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	table := mad.SLToVLTable{1: 1, 2: 2, 15: 7}
	var got mad.SLToVLTable
	r.read(r.ask(r.lid(leaf1), r.with(mad.NewSMP(mad.MethodSet, mad.AttrSLToVLTable, mad.SLToVLModifier(1, 39)), &table)), &got)
	if got != table || r.net.SL2VL(leaf1, 1, 39) != table {
		t.Errorf("switch: got %v, network has %v", got, r.net.SL2VL(leaf1, 1, 39))
	}
	if r.net.SL2VL(leaf1, 2, 39) == table {
		t.Error("the table of another input port changed, too")
	}
	r.ask(r.lid(host1), r.with(mad.NewSMP(mad.MethodSet, mad.AttrSLToVLTable, 0), &table))
	if r.net.SL2VL(host1, 0, 1) != table {
		t.Errorf("channel adapter: network has %v", r.net.SL2VL(host1, 0, 1))
	}
	r.wantStatus(r.lid(leaf1), mad.NewSMP(mad.MethodGet, mad.AttrSLToVLTable, mad.SLToVLModifier(1, 41)), mad.StatusInvalidAttrValue)

	half := mad.VLArbitration{{VL: 3, Weight: 9}, {VL: 1, Weight: 255}}
	mod := mad.VLArbModifier(mad.VLArbHighSecond, 39)
	var back mad.VLArbitration
	r.read(r.ask(r.lid(leaf1), r.with(mad.NewSMP(mad.MethodSet, mad.AttrVLArbitration, mod), &half)), &back)
	all := r.net.VLArb(leaf1, 39, true)
	if back != half || all[32] != (fabric.VLWeight{VL: 3, Weight: 9}) || all[33].Weight != 255 {
		t.Errorf("arbitration: got %v, network has %v", back[:2], all[32:34])
	}
	for _, mod := range []uint32{mad.VLArbModifier(0, 39), mad.VLArbModifier(5, 39), mad.VLArbModifier(1, 0), mad.VLArbModifier(1, 41)} {
		r.wantStatus(r.lid(leaf1), mad.NewSMP(mad.MethodGet, mad.AttrVLArbitration, mod), mad.StatusInvalidAttrValue)
	}
}

func TestSMInfoIsForTheSubnetManager(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	p := mad.NewSMP(mad.MethodGet, mad.AttrSMInfo, 0)
	if _, v := r.send(r.lid(host3), p); v.Outcome != Undeliverable {
		t.Errorf("without a subnet manager: %s", v.Outcome)
	}
	at := subnet.PortRef{Node: host3, Port: 1}
	r.dev.SetSM(at, true)
	m, v := r.send(r.lid(host3), p)
	if v.Outcome != Forwarded || v.To != at || m.SLID != r.lid(host1) {
		t.Errorf("%s to %+v from LID %d", v.Outcome, v.To, m.SLID)
	}
	if r.portInfo(0, 1, 39, 1).CapabilityMask&mad.PortCapIsSM == 0 {
		t.Error("IsSM is not set")
	}
	r.dev.SetSM(at, false)
	if r.portInfo(0, 1, 39, 1).CapabilityMask&mad.PortCapIsSM != 0 {
		t.Error("IsSM stays set")
	}
}

func TestHeaderErrors(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	edit := func(f func(*mad.Packet)) mad.Packet {
		p := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
		f(&p)
		return p
	}
	for name, tt := range map[string]struct {
		p    mad.Packet
		want mad.Status
	}{
		"base version":       {edit(func(p *mad.Packet) { p[0] = 2 }), mad.StatusBadVersion},
		"class version":      {edit(func(p *mad.Packet) { p[2] = 9 }), mad.StatusBadVersion},
		"unknown class":      {edit(func(p *mad.Packet) { p[1] = 0x55 }), mad.StatusBadVersion},
		"method":             {edit(func(p *mad.Packet) { p.SetMethod(mad.MethodGetTable) }), mad.StatusBadMethod},
		"unknown attribute":  {edit(func(p *mad.Packet) { p.SetAttr(0x99) }), mad.StatusBadMethodAttr},
		"read-only":          {edit(func(p *mad.Packet) { p.SetMethod(mad.MethodSet) }), mad.StatusBadMethodAttr},
		"vendor's attribute": {edit(func(p *mad.Packet) { p.SetAttr(attrExtendedPortInfo) }), mad.StatusBadMethodAttr},
		"class 4 attribute":  {mad.NewPerf(mad.MethodGet, 0x99, 0), mad.StatusBadMethodAttr},
		"class 0x21 method":  {mad.NewCC(mad.MethodGetTable, mad.AttrTimeStamp, 0, 0), mad.StatusBadMethod},
	} {
		m, v := r.send(r.lid(host2), tt.p)
		if v.Outcome != Replied || m.MAD.Status() != tt.want {
			t.Errorf("%s: %s with %s, want %s", name, v.Outcome, m.MAD.Status(), tt.want)
		}
	}
	if _, v := r.send(r.lid(host2), edit(func(p *mad.Packet) { p.SetMethod(mad.MethodTrapRepress) })); v.Outcome != Dropped {
		t.Errorf("TrapRepress: %s", v.Outcome)
	}
}

func TestExtendedPortInfoOfMellanox(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{Vendor: mellanox})
	resp := r.ask(r.lid(leaf1), mad.NewSMP(mad.MethodGet, attrExtendedPortInfo, 1))
	if d := resp.Data(); d[7]|d[11]|d[15] != 0 {
		t.Errorf("FDR10 is set on an EDR link: % x", d[:16])
	}
	r.wantStatus(r.lid(leaf1), mad.NewSMP(mad.MethodGet, attrExtendedPortInfo, 41), mad.StatusInvalidAttrValue)
}

func TestMKeyGuardsTheAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{MKey: 0x1234})
	lid := r.lid(host3)
	get := mad.NewSMP(mad.MethodGet, mad.AttrPortInfo, 0)
	withKey := func(p mad.Packet, k mad.Key) mad.Packet { p.SetMKey(k); return p }
	var info mad.PortInfo

	r.read(r.ask(lid, get), &info)
	if info.MKey != 0x1234 {
		t.Error("at protection 0 the key cannot be read")
	}
	set := info
	set.State, set.PhysState = mad.StateNoChange, mad.PhysNoChange
	set.MKeyProtect, set.MKeyLeasePeriod, set.MKeyViolations = 1, 10, 1 // 0 would clear the counter
	if _, v := r.send(lid, r.with(mad.NewSMP(mad.MethodSet, mad.AttrPortInfo, 0), &set)); v.Outcome != Undeliverable {
		t.Errorf("Set without the key: %s", v.Outcome)
	}
	r.read(r.ask(lid, withKey(r.with(mad.NewSMP(mad.MethodSet, mad.AttrPortInfo, 0), &set), 0x1234)), &info)
	if info.MKeyProtect != 1 || info.MKeyViolations != 1 {
		t.Errorf("protection %d, violations %d, want 1 and 1", info.MKeyProtect, info.MKeyViolations)
	}
	r.read(r.ask(lid, get), &info)
	if info.MKey != 0 {
		t.Error("at protection 1 the key can be read without the key")
	}
	set.MKeyProtect = 2
	r.ask(lid, withKey(r.with(mad.NewSMP(mad.MethodSet, mad.AttrPortInfo, 0), &set), 0x1234))
	if _, v := r.send(lid, get); v.Outcome != Undeliverable {
		t.Errorf("Get without the key at protection 2: %s", v.Outcome)
	}
	r.dev.Advance(11 * quantity.Second)
	r.read(r.ask(lid, get), &info)
	if info.MKeyProtect != 0 || info.MKey != 0x1234 {
		t.Errorf("after the lease: protection %d", info.MKeyProtect)
	}
}
