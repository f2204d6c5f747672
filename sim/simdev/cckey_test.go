package simdev

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

func TestCCKeyViolationNoticeStaysUntilCleared(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{CCKey: 0xabc})
	lid := r.lid(host3)
	notice := func(p mad.Packet) (n mad.Notice) {
		p.SetCCKey(0xabc)
		r.read(r.ask(lid, p), &n)
		return n
	}
	if n := notice(ccGet(mad.AttrNotice, 0)); n.Type != noNotice || n.Count != 0 {
		t.Errorf("before any violation: type 0x%x, %d pending", n.Type, n.Count)
	}
	wrong := ccSet(mad.AttrCongestionControlTable, 1)
	wrong.SetCCKey(0xdef)
	for range 2 {
		if _, v := r.send(lid, wrong); v.Outcome != Undeliverable {
			t.Fatalf("a Set with a wrong key: %s", v.Outcome)
		}
	}
	n := notice(ccGet(mad.AttrNotice, 0))
	var detail mad.CCKeyViolation
	if err := detail.Decode(n.Details[:]); err != nil {
		t.Fatal(err)
	}
	want := mad.CCKeyViolation{
		SourceLID: r.lid(host1), Method: mad.MethodSet, Attr: mad.AttrCongestionControlTable, Modifier: 1, QP: 1, CCKey: 0xdef,
	}
	if n.Type != mad.NoticeSecurity || n.Count != 2 || n.IssuerLID != lid || detail != want {
		t.Errorf("notice type 0x%x, %d pending, of LID %d: %+v", n.Type, n.Count, n.IssuerLID, detail)
	}
	if n := notice(r.with(ccSet(mad.AttrNotice, 0), &n)); n.Type != noNotice || n.Count != 0 {
		t.Errorf("after the notice was cleared: type 0x%x, %d pending", n.Type, n.Count)
	}
}

func TestKeysGuardSingleNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	if err := r.dev.GuardCC(host3, 0xabc, true, 5); err != nil {
		t.Fatal(err)
	}
	if err := r.dev.GuardSM(leaf2, 0x77, 2, 0); err != nil {
		t.Fatal(err)
	}
	silent := func(node int32, p mad.Packet) bool {
		_, v := r.send(r.lid(node), p)
		return v.Outcome == Undeliverable
	}
	stamp, info := ccGet(mad.AttrTimeStamp, 0), mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
	if !silent(host3, stamp) || silent(host3, info) || silent(host2, stamp) {
		t.Error("want a key only for the congestion-control agent of one host")
	}
	if !silent(leaf2, info) || silent(leaf2, stamp) || silent(leaf1, info) {
		t.Error("want a key only for the subnet-management agent of one switch")
	}
	r.dev.Advance(6 * quantity.Second)
	if silent(host3, stamp) {
		t.Error("the lease did not end in simulated time")
	}
	if !silent(leaf2, info) {
		t.Error("a lease of 0 ended")
	}
	for _, err := range []error{r.dev.GuardCC(99, 1, true, 0), r.dev.GuardSM(-1, 1, 1, 0), r.dev.GuardSM(leaf1, 1, 4, 0)} {
		if err == nil {
			t.Error("a node or level that does not exist was accepted")
		}
	}
}

func TestUnansweredAttributesTimeOutAndOthersAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{Faults: Faults{Nodes: []int32{leaf1}, Unanswered: []Attribute{
		{mad.ClassSubnLID, mad.AttrSwitchInfo}, {mad.ClassCongestion, mad.AttrTimeStamp},
	}}})
	for _, tt := range []struct {
		what string
		dlid ident.LID
		p    mad.Packet
		want Outcome
	}{
		{"by LID", r.lid(leaf1), mad.NewSMP(mad.MethodGet, mad.AttrSwitchInfo, 0), Undeliverable},
		{"by directed route", 0, r.directed(mad.MethodGet, mad.AttrSwitchInfo, 0, 1), Undeliverable},
		{"of another class", r.lid(leaf1), ccGet(mad.AttrTimeStamp, 0), Undeliverable},
		{"the same number in another class", r.lid(leaf1), ccGet(mad.AttrCongestionKeyInfo, 0), Replied},
		{"another attribute", r.lid(leaf1), mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0), Replied},
		{"another node", r.lid(leaf2), mad.NewSMP(mad.MethodGet, mad.AttrSwitchInfo, 0), Replied},
	} {
		if _, v := r.send(tt.dlid, tt.p); v.Outcome != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, v.Outcome, tt.want)
		}
	}
}

func TestANodeReportsTheGUIDOfAnother(t *testing.T) {
	t.Parallel()
	other := testTopology(t).Nodes[host2].GUID
	r := newRig(t, Options{Faults: Faults{NodeGUIDs: map[int32]ident.GUID{host3: other}}})
	var info mad.NodeInfo
	r.read(r.ask(r.lid(host3), mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)), &info)
	if info.NodeGUID != other {
		t.Errorf("node GUID %s, want the GUID of the other host", info.NodeGUID)
	}
	if want := r.dev.portGUID(subnet.PortRef{Node: host3, Port: 1}); info.PortGUID != want {
		t.Errorf("port GUID %s, want %s", info.PortGUID, want)
	}
}
