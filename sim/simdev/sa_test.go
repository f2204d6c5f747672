package simdev

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/subnet"
	"fairlane/subnet/mad"
)

// path sends a query for a path record.
func (r *rig) path(mask uint64, q mad.PathRecord) mad.Packet {
	p := r.with(mad.NewSA(mad.MethodGet, mad.AttrPathRecord, 0), &q)
	p.SetComponentMask(mask)
	return p
}

func TestPathRecordCarriesThePartitionsSL(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	id := r.flow(host1, host3, 0)
	r.flow(host1, host2, 0)
	if n := r.dev.SetPartitionSL(0x0001, 5); n != 2 {
		t.Errorf("%d flows moved, want 2 of P_Key 0x8001", n)
	}
	if sl := r.net.Flow(id).Spec.SL; sl != 5 {
		t.Errorf("the flow is on SL %d, want 5", sl)
	}
	if n := r.dev.SetPartitionSL(0x8001, 16); n != 0 {
		t.Errorf("SL 16 moved %d flows", n)
	}
	q := mad.PathRecord{SLID: r.lid(host1), DLID: r.lid(host3), PKey: 0x8001}
	var got mad.PathRecord
	mask := mad.PathCompSLID | mad.PathCompDLID | mad.PathCompPKey
	r.read(r.ask(r.lid(host1), r.path(mask, q)), &got)
	want := mad.PathRecord{
		DGID: mad.NewGID(mad.DefaultGIDPrefix, 0x100021), SGID: mad.NewGID(mad.DefaultGIDPrefix, 0x100001),
		DLID: r.lid(host3), SLID: r.lid(host1), Reversible: true, PKey: 0x8001, SL: 5,
		MTUSelector: 2, MTU: 5, RateSelector: 2, Rate: 16, LifeSelector: 2, PacketLife: 18,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	byGID := mad.PathRecord{SGID: want.SGID, DGID: want.DGID}
	r.read(r.ask(r.lid(host1), r.path(mad.PathCompSGID|mad.PathCompDGID, byGID)), &got)
	if got.DLID != want.DLID || got.SLID != want.SLID || got.SL != 0 || got.PKey != 0xffff {
		t.Errorf("by GID in the default partition: %+v", got)
	}
}

func TestPathRecordRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.dev.SetPartitionSL(0x8001, 5)
	both := mad.PathCompSLID | mad.PathCompDLID
	q := mad.PathRecord{SLID: r.lid(host1), DLID: r.lid(host3), PKey: 0x8001, SL: 4}
	sa := r.lid(host1)
	r.wantStatus(sa, r.path(mad.PathCompDLID, q), mad.StatusSAInsufficientComps)
	r.wantStatus(sa, r.path(both|mad.PathCompPKey|mad.PathCompSL, q), mad.StatusSANoRecords)
	q.DLID = 999
	r.wantStatus(sa, r.path(both, q), mad.StatusSANoRecords)
	q.DLID = r.lid(host3)
	r.dev.SetLink(subnet.PortRef{Node: host3, Port: 1}, false)
	r.wantStatus(sa, r.path(both, q), mad.StatusSANoRecords)
	r.wantStatus(sa, mad.NewSA(mad.MethodGet, mad.AttrNodeRecord, 0), mad.StatusBadMethodAttr)
	r.wantStatus(sa, mad.NewSA(mad.MethodSet, mad.AttrPathRecord, 0), mad.StatusBadMethodAttr)
	if _, v := r.send(r.lid(host2), r.path(both, q)); v.Outcome != Undeliverable {
		t.Errorf("response of a port without subnet administration: %s", v.Outcome)
	}
}

func TestSubnetAdministrationIsForwardedWhenAManagerIsThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	var info mad.ClassPortInfo
	p := mad.NewSA(mad.MethodGet, mad.AttrClassPortInfo, 0)
	r.read(r.ask(r.lid(host1), p), &info)
	if info.ClassVersion != 2 {
		t.Errorf("stand-in: %+v", info)
	}
	at := subnet.PortRef{Node: host4, Port: 2}
	r.dev.SetSM(at, true)
	if _, v := r.send(r.lid(host4), p); v.Outcome != Forwarded || v.To != at {
		t.Errorf("%s to %+v", v.Outcome, v.To)
	}
	if _, v := r.send(r.lid(host1), p); v.Outcome != Undeliverable {
		t.Errorf("the stand-in still answers: %s", v.Outcome)
	}
}

func TestPathTableIsOneSegment(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	p := r.path(mad.PathCompSLID|mad.PathCompDLID, mad.PathRecord{SLID: r.lid(host1), DLID: r.lid(host2)})
	p.SetMethod(mad.MethodGetTable)
	resp := r.ask(r.lid(host1), p)
	if h := resp.RMPP(); resp.Method() != mad.MethodGetTableResp || h.Type != 1 || h.Flags != 7 || h.Data2 != 84 || resp.AttrOffset() != 8 {
		t.Errorf("%s with RMPP %+v, record spacing %d", resp.Method(), h, resp.AttrOffset())
	}
}
