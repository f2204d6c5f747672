package discover

import (
	"cmp"
	"maps"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// tables are a port's tables beyond PortInfo.
type tables struct {
	arb    subnet.Answer
	halves [4][]subnet.VLShare // by half: mad.VLArbLowFirst is index 0, and so on
	keys   subnet.Answer
	pkeys  []ident.PKey
	lanes  []subnet.SLToVL
}

// pkeysPerBlock is the length of a block of the partition table.
const pkeysPerBlock = len(mad.PKeyTable{})

// arbHalf is the length of half an arbitration table.
const arbHalf = len(mad.VLArbitration{})

// isTable reports whether the job reads a table of Options.Tables.
func (j *job) isTable() bool {
	return j.lid != 0 || j.attr == mad.AttrSLToVLTable || j.attr == mad.AttrVLArbitration || j.attr == mad.AttrPKeyTable
}

// byGUID lists the nodes in the order of the model.
func (s *sweep) byGUID() []*node {
	return slices.SortedFunc(maps.Values(s.nodes), func(a, b *node) int { return cmp.Compare(a.info.NodeGUID, b.info.NodeGUID) })
}

// pushTables queues the queries that require the links to be known.
func (s *sweep) pushTables() {
	for _, n := range s.byGUID() {
		n.cc, n.ccInfo = subnet.NotAsked, mad.CongestionInfo{}
		s.askCC(n)
		for p := range n.ports {
			num := ident.PortNum(p)
			at := &n.ports[p]
			if at.tables = (tables{}); !at.known {
				continue
			}
			if num == 0 || !n.isSwitch() {
				s.askKeys(n, num, 0)
			}
			if num > 0 && at.peer != nil && mad.VLsFromCode(at.info.operVLs) != 1 {
				s.askLanes(n, num)
				s.askArbitration(n, num)
			}
		}
	}
}

// askCC queries a node for congestion control, by the first of its LIDs.
func (s *sweep) askCC(n *node) {
	for p := range n.ports {
		if at := &n.ports[p]; at.known && at.info.lid.IsUnicast() && (p == 0 || !n.isSwitch()) {
			s.push(job{attr: mad.AttrCongestionInfo, lid: at.info.lid, from: n, port: ident.PortNum(p), path: n.path})
			return
		}
	}
}

func (n *node) pathTo(p ident.PortNum) []ident.PortNum {
	if n.isSwitch() {
		return n.path
	}
	return n.ports[p].path
}

func (s *sweep) askKeys(n *node, p ident.PortNum, block uint16) {
	s.push(job{attr: mad.AttrPKeyTable, mod: mad.PKeyModifier(0, block), from: n, port: p, path: n.pathTo(p)})
}

func (s *sweep) askLanes(n *node, p ident.PortNum) {
	at := &n.ports[p]
	if !n.isSwitch() {
		at.tables.lanes = make([]subnet.SLToVL, 1)
		s.push(job{attr: mad.AttrSLToVLTable, from: n, port: p, path: n.pathTo(p)})
		return
	}
	at.tables.lanes = make([]subnet.SLToVL, len(n.ports))
	for in := 1; in < len(n.ports); in++ {
		if n.ports[in].peer != nil && ident.PortNum(in) != p {
			s.push(job{attr: mad.AttrSLToVLTable, mod: mad.SLToVLModifier(ident.PortNum(in), p), from: n, port: p, path: n.path})
		}
	}
}

func (s *sweep) askArbitration(n *node, p ident.PortNum) {
	at := &n.ports[p]
	caps := [2]uint8{at.info.arbLowCap, at.info.arbHighCap}
	for half := mad.VLArbLowFirst; half <= mad.VLArbHighSecond; half++ {
		if int(caps[(half-1)/2]) <= (int(half)-1)%2*arbHalf {
			continue
		}
		mod := mad.VLArbModifier(half, 0)
		if n.isSwitch() {
			mod = mad.VLArbModifier(half, p)
		}
		s.push(job{attr: mad.AttrVLArbitration, mod: mod, from: n, port: p, path: n.pathTo(p)})
	}
}

// learnTable processes the answer to a query of pushTables.
func (s *sweep) learnTable(j job, data []byte) error {
	n := j.from
	if j.lid != 0 {
		n.cc = subnet.Answered
		return n.ccInfo.Decode(data)
	}
	t := &n.ports[j.port].tables
	switch j.attr {
	case mad.AttrSLToVLTable:
		var v mad.SLToVLTable
		if err := v.Decode(data); err != nil {
			return err
		}
		t.lanes[laneEntry(j)] = subnet.SLToVL{Read: subnet.Answered, VL: v}
	case mad.AttrVLArbitration:
		var v mad.VLArbitration
		if err := v.Decode(data); err != nil {
			return err
		}
		t.learnHalf(j.mod>>16, &v, &n.ports[j.port].info)
	case mad.AttrPKeyTable:
		var v mad.PKeyTable
		if err := v.Decode(data); err != nil {
			return err
		}
		s.learnKeys(j, t, &v)
	}
	return nil
}

// laneEntry returns the index of a table in tables.lanes.
func laneEntry(j job) int { return int(j.mod >> 8 & 0xff) }

func (t *tables) learnHalf(half uint32, v *mad.VLArbitration, info *portFacts) {
	if t.arb == subnet.NotAsked {
		t.arb = subnet.Answered
	}
	room := int(info.arbLowCap)
	if half >= uint32(mad.VLArbHighFirst) {
		room = int(info.arbHighCap)
	}
	room -= int(half-1) % 2 * arbHalf
	for _, e := range v[:max(0, min(room, len(v)))] {
		t.halves[half-1] = append(t.halves[half-1], subnet.VLShare{VL: e.VL, Weight: e.Weight})
	}
}

// learnKeys stores the entries of a block, and requests the next block when this one is full.
func (s *sweep) learnKeys(j job, t *tables, v *mad.PKeyTable) {
	if t.keys == subnet.NotAsked {
		t.keys = subnet.Answered
	}
	full := true
	for _, k := range v {
		if k != 0 {
			t.pkeys = append(t.pkeys, k)
		} else {
			full = false
		}
	}
	block := uint16(j.mod)
	if next := int(block) + 1; full && next*pkeysPerBlock < int(j.from.info.PartitionCap) {
		s.askKeys(j.from, j.port, block+1)
	}
}

// lostTable records that a query of pushTables has no valid answer.
func (s *sweep) lostTable(j job, a subnet.Answer) {
	if j.lid != 0 {
		j.from.cc = a
		return
	}
	t := &j.from.ports[j.port].tables
	switch j.attr {
	case mad.AttrSLToVLTable:
		t.lanes[laneEntry(j)].Read = a
	case mad.AttrVLArbitration:
		t.arb = a
	case mad.AttrPKeyTable:
		t.keys = a
	}
}

// Kinds of tables that a warning counts.
var (
	laneTables = phrase.Noun("count.sl2vl-table")
	arbTables  = phrase.Noun("count.arbitration-table")
	keyTables  = phrase.Noun("count.partition-table")
)

// warnUnread adds one warning for all tables of a kind that a node did not return.
func (s *sweep) warnUnread() {
	for _, n := range s.byGUID() {
		var lanes, arb, keys [subnet.Silent + 1]int
		for p := range n.ports {
			t := &n.ports[p].tables
			for i := range t.lanes {
				lanes[t.lanes[i].Read]++
			}
			arb[t.arb]++
			keys[t.keys]++
		}
		for _, k := range []struct {
			tables phrase.Noun
			of     [subnet.Silent + 1]int
		}{{laneTables, lanes}, {arbTables, arb}, {keyTables, keys}} {
			if c := k.of[subnet.Refused]; c > 0 {
				s.warn(WarnRefused, n, 0, n.path, nil, phrase.Of("discovery.refuses", "tables", k.tables.Of(c)))
			}
			if c := k.of[subnet.Silent]; c > 0 {
				s.warn(WarnUnresponsive, n, 0, n.path, nil, phrase.Of("discovery.silent-about", "tables", k.tables.Of(c)))
			}
		}
	}
}

// details assembles the details, in the order of the fabric's nodes.
func (s *sweep) details(f *subnet.Fabric) *subnet.Details {
	d := &subnet.Details{Nodes: make([]subnet.NodeDetails, len(f.Nodes))}
	for i := range f.Nodes {
		n := s.nodes[f.Nodes[i].GUID]
		out := &d.Nodes[i]
		out.CC, out.CCInfo, out.CCTables = n.cc, n.ccInfo.Info, n.ccInfo.ControlTableCap
		out.Ports = make([]subnet.PortDetails, len(n.ports))
		for p := range n.ports {
			n.detail(ident.PortNum(p), &out.Ports[p])
		}
	}
	d.SM = s.manager()
	return d
}

// manager returns the LID of the subnet manager that the local node reports.
func (s *sweep) manager() ident.LID {
	for _, n := range s.nodes {
		switch {
		case len(n.path) > 0:
		case n.isSwitch():
			return n.ports[0].info.smLID
		default:
			return n.ports[n.info.LocalPort].info.smLID
		}
	}
	return 0
}

func (n *node) detail(p ident.PortNum, out *subnet.PortDetails) {
	at := &n.ports[p]
	if out.Info = at.answer; !at.known {
		return
	}
	v, t := &at.info, &at.tables
	out.Phys, out.MTUCap, out.OperVLs = v.phys, mad.MTUFromCode(v.mtuCap), mad.VLsFromCode(v.operVLs)
	out.WidthsSupported, out.WidthsEnabled = v.widths, v.widthsOn
	out.SpeedsSupported, out.SpeedsEnabled = subnet.SpeedsFromCodes(v.speeds, v.exts), subnet.SpeedsFromCodes(v.speedsOn, v.extsOn)
	if !n.extended(p) {
		out.SpeedsSupported, out.SpeedsEnabled = subnet.SpeedsFromCodes(v.speeds, 0), subnet.SpeedsFromCodes(v.speedsOn, 0)
	}
	out.KeyProtect, out.SMLID, out.HighLimit = v.protect, v.smLID, v.highLimit
	out.IsSM = v.capabilities&mad.PortCapIsSM != 0
	if at.peer != nil {
		out.Width, out.Speed, _ = n.rate(p)
	}
	out.Arb, out.ArbLow, out.ArbHigh = t.arb, slices.Concat(t.halves[0], t.halves[1]), slices.Concat(t.halves[2], t.halves[3])
	out.Keys, out.PKeys, out.Lanes = t.keys, t.pkeys, t.lanes
}
