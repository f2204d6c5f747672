package simdev

import (
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// actSA acts as the stand-in for subnet administration (IBTA vol. 1, chapter 15), which answers while no subnet manager is
// attached: ClassPortInfo, and PathRecord with the SL of the partition.
func (d *Devices) actSA(m *Message) mad.Status {
	p := &m.MAD
	switch {
	case p.Method() == mad.MethodGet && p.Attr() == mad.AttrClassPortInfo:
		info := mad.ClassPortInfo{
			BaseVersion: mad.BaseVersion, ClassVersion: mad.ClassSubnAdm.Version(), RespTimeValue: 16,
		}
		clear(p.Data())
		return done(info.Encode(p.Data()))
	case p.Attr() != mad.AttrPathRecord:
		return mad.StatusBadMethodAttr
	case p.Method() == mad.MethodGet:
		return d.pathRecord(p)
	case p.Method() == mad.MethodGetTable:
		s := d.pathRecord(p)
		if s == mad.StatusOK {
			p.SetAttrOffset(mad.PathRecordSize / 8)
			return done(p.SetRMPP(mad.RMPP{
				Version: 1, Type: 1, Flags: 7, // flags: active, first and last segment
				Data1: 1, Data2: mad.PathRecordSize + saHeaderInRMPP,
			}))
		}
		return s
	}
	return mad.StatusBadMethodAttr
}

// saHeaderInRMPP is the size of the SA header, which RMPP's payload length includes.
const saHeaderInRMPP = 20

// pathRecord returns the path between two ports, identified by LID or GID. A query without a source is an error, because the
// requester is not necessarily the source.
func (d *Devices) pathRecord(p *mad.Packet) mad.Status {
	var r mad.PathRecord
	if err := r.Decode(p.Data()); err != nil {
		return mad.StatusSAInvalidRequest
	}
	mask := p.ComponentMask()
	src, okS := d.pathEnd(mask&mad.PathCompSGID != 0, r.SGID, mask&mad.PathCompSLID != 0, r.SLID)
	dst, okD := d.pathEnd(mask&mad.PathCompDGID != 0, r.DGID, mask&mad.PathCompDLID != 0, r.DLID)
	switch {
	case mask&(mad.PathCompSGID|mad.PathCompSLID) == 0 || mask&(mad.PathCompDGID|mad.PathCompDLID) == 0:
		return mad.StatusSAInsufficientComps
	case !okS || !okD:
		return mad.StatusSANoRecords
	}
	out := mad.PathRecord{
		ServiceID: r.ServiceID, DGID: d.gid(dst), SGID: d.gid(src), DLID: r.DLID, SLID: r.SLID,
		Reversible: true, PKey: ident.DefaultPKey,
		MTUSelector: mad.SelectExactly, RateSelector: mad.SelectExactly, LifeSelector: mad.SelectExactly,
		PacketLife: 18,
	}
	if mask&mad.PathCompSLID == 0 {
		out.SLID, _ = d.net.LID(src.Node, src.Port)
	}
	if mask&mad.PathCompDLID == 0 {
		out.DLID, _ = d.net.LID(dst.Node, dst.Port)
	}
	if mask&mad.PathCompPKey != 0 {
		out.PKey = r.PKey
	}
	out.SL = d.sl[out.PKey.Base()]
	if mask&mad.PathCompSL != 0 && r.SL != out.SL {
		return mad.StatusSANoRecords
	}
	var ok bool
	if out.MTU, out.Rate, ok = d.pathLimits(src, out.DLID); !ok {
		return mad.StatusSANoRecords
	}
	clear(p.Data())
	return done(out.Encode(p.Data()))
}

// pathEnd returns the end port in a query, by LID, by GID, or by both if the query has both.
func (d *Devices) pathEnd(byGID bool, g mad.GID, byLID bool, lid ident.LID) (subnet.PortRef, bool) {
	for i := range d.nodes {
		for num := range d.nodes[i].ports {
			ref := subnet.PortRef{Node: int32(i), Port: ident.PortNum(num)}
			if !d.endPort(ref) || byLID && !d.owns(ref, lid) || byGID && d.gid(ref) != g {
				continue
			}
			return ref, byLID || byGID
		}
	}
	return subnet.PortRef{}, false
}

func (d *Devices) gid(ref subnet.PortRef) mad.GID {
	return mad.NewGID(d.port(ref).gidPrefix, d.portGUID(ref))
}

// pathLimits follows a path to a LID and returns the codes of its smallest MTU and rate.
func (d *Devices) pathLimits(src subnet.PortRef, dlid ident.LID) (mtu, rate uint8, ok bool) {
	mtu = d.port(src).mtu
	lowest := 0
	for here, hop := src, 0; hop < maxRouteHops; hop++ {
		if d.owns(d.manager(here), dlid) {
			if lowest == 0 {
				rate = rateCode(4, subnet.EDR)
			}
			return mtu, rate, true
		}
		out := here
		if d.nodes[here.Node].sw != nil {
			out.Port = d.net.LFTBlock(here.Node, int(dlid)/mad.LFTBlockSize)[int(dlid)%mad.LFTBlockSize]
		} else if hop > 0 {
			return 0, 0, false
		}
		l, _ := d.topo.Link(out)
		peer, joined := d.topo.Peer(out)
		if !joined || !d.net.LinkUp(out.Node, out.Port) {
			return 0, 0, false
		}
		mtu = min(mtu, d.port(out).mtu, d.port(peer).mtu)
		if g := int(l.Rate / 1e6); lowest == 0 || g < lowest {
			lowest, rate = g, rateCode(l.Width, l.Speed)
		}
		here = peer
	}
	return 0, 0, false
}

// rateCode returns the PathRecord rate code of a link (IBTA vol. 1, 15.2.5.16): the nominal signalling rate in Gbit/s. An
// unknown link, or one without a code, is reported as 100 Gbit/s.
func rateCode(w subnet.Width, s subnet.Speed) uint8 {
	codes := map[subnet.Speed][5]uint8{ // 1x, 2x, 4x, 8x, 12x
		subnet.SDR: {2, 5, 3, 6, 4},
		subnet.DDR: {5, 3, 6, 7, 8},
		subnet.QDR: {3, 6, 7, 9, 10},
		subnet.FDR: {11, 19, 12, 13, 14},
		subnet.EDR: {15, 20, 16, 17, 18},
		subnet.HDR: {20, 16, 17, 21, 22},
		subnet.NDR: {16, 17, 21, 23, 24},
	}
	column := map[subnet.Width]int{1: 0, 2: 1, 4: 2, 8: 3, 12: 4}
	if s == subnet.FDR10 {
		s = subnet.QDR
	}
	if c, ok := codes[s]; ok {
		if i, ok := column[w]; ok {
			return c[i]
		}
	}
	return codes[subnet.EDR][2]
}
