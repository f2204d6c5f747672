package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// endPorts calls f with every port that has or should have its own LID: plugged-in ports of channel adapters and routers,
// and port 0 of switches.
func (c *checker) endPorts(f func(ref subnet.PortRef, p *subnet.Port)) {
	for i := range c.f.Nodes {
		n := &c.f.Nodes[i]
		if n.Kind == subnet.KindSwitch {
			f(subnet.PortRef{Node: int32(i)}, &n.Ports[0])
			continue
		}
		for p := 1; p < len(n.Ports); p++ {
			if n.Ports[p].Link >= 0 {
				f(subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)}, &n.Ports[p])
			}
		}
	}
}

// addresses checks LIDs and the subnet manager that assigned them.
func (c *checker) addresses() {
	t := c.tally[GroupAddresses]
	var without places
	managers := make(map[ident.LID]*places)
	c.endPorts(func(ref subnet.PortRef, p *subnet.Port) {
		t.Of++
		if p.LID == 0 {
			without.port(c.f, ref)
		}
		if d := c.x.Details.Port(ref); known(d) && p.LID != 0 {
			of(managers, d.SMLID).port(c.f, ref)
		}
	})
	switch {
	case t.Of == 0 || without.n == 0:
	case without.n == t.Of && c.x.Details == nil:
		t.Of, t.Skipped = 0, SkipNoLIDs
	case without.n == t.Of:
		t.Bad = without.n
		c.add(CodeNoSM, without, phrase.Of("check.no-sm"))
	default:
		t.Bad = without.n
		c.add(CodeNoLID, without, phrase.Of("check.no-lid", "ports", phrase.Ports.Of(without.n), "some", without.some()))
	}
	c.managers(managers)
}

// managers compares the subnet managers that ports report.
func (c *checker) managers(by map[ident.LID]*places) {
	lids := slices.SortedFunc(maps.Keys(by), func(a, b ident.LID) int { return cmp.Or(cmp.Compare(by[b].n, by[a].n), cmp.Compare(a, b)) })
	if len(lids) > 1 {
		var parts phrase.Commas
		for _, lid := range lids {
			parts = append(parts, phrase.Of("check.lid-at", "lid", lid, "ports", phrase.Ports.Of(by[lid].n)))
		}
		minority := by[lids[1]]
		c.add(CodeSMsDiffer, *minority, phrase.Of("check.sm-disagree", "parts", some(parts, len(parts)), "some", minority.some()))
	}
	if len(lids) == 0 {
		return
	}
	if lid := lids[0]; lid != 0 {
		if _, ok := c.f.PortByLID(lid); !ok {
			c.add(CodeSMGone, *by[lid], phrase.Of("check.sm-lid", "lid", lid))
		}
	}
}

// congestionControl finds devices that would neither mark nor slow down.
func (c *checker) congestionControl() {
	t := c.tally[GroupCC]
	if c.x.Details == nil {
		t.Skipped = SkipNoCC
		return
	}
	var none, unanswered [2]places // index 0: switches, 1: channel adapters
	for i := range c.f.Nodes {
		d := &c.x.Details.Nodes[i]
		kind := 1
		if c.f.Nodes[i].Kind == subnet.KindSwitch {
			kind = 0
		}
		if d.CC == subnet.NotAsked {
			continue
		}
		t.Of++
		switch {
		case d.CC == subnet.Refused, d.CC == subnet.Answered && kind == 1 && d.CCTables == 0:
			t.Bad++
			none[kind].node(c.f, int32(i))
		case d.CC == subnet.Silent:
			t.Bad++
			unanswered[kind].node(c.f, int32(i))
		}
	}
	if t.Of == 0 {
		t.Skipped = SkipNoCC
	}
	c.withoutCC(none[0], phrase.Of("check.no-cc-switches", "switches", phrase.Switches.Of(none[0].n), "some", none[0].some()))
	c.withoutCC(none[1], phrase.Of("check.no-cc-adapters", "adapters", countAdapter.Of(none[1].n), "some", none[1].some()))
	for kind, devices := range [2]phrase.Noun{phrase.Switches, countAdapter} {
		if p := unanswered[kind]; p.n > 0 {
			c.add(CodeCCSilent, p, phrase.Of("check.cc-silent", "devices", devices.Of(p.n), "some", p.some()))
		}
	}
}

// withoutCC reports devices without congestion control.
func (c *checker) withoutCC(p places, said phrase.Text) {
	if p.n == 0 {
		return
	}
	if f := c.add(CodeNoCC, p, said); len(c.x.Uses) > 0 {
		f.Severity = Error // tenants' weights have no effect there
	}
}

// partitions checks the partition tables of end ports.
func (c *checker) partitions() {
	t := c.tally[GroupKeys]
	var lost places
	c.endPorts(func(ref subnet.PortRef, p *subnet.Port) {
		d := c.x.Details.Port(ref)
		switch {
		case d == nil || d.Keys == subnet.NotAsked:
			return
		case d.Keys != subnet.Answered:
			t.Unread++
			return
		}
		t.Of++
		if !slices.ContainsFunc(d.PKeys, func(k ident.PKey) bool { return k.Base() == ident.DefaultPKey.Base() }) {
			t.Bad++
			lost.port(c.f, ref)
		}
	})
	if t.Of == 0 {
		t.Skipped = SkipNoKeyTable
		return
	}
	if lost.n > 0 {
		c.add(CodeManagementKey, lost, phrase.Of("check.no-default-partition", "ports", phrase.Ports.Of(lost.n), "some", lost.some()))
	}
	c.tenantKeys(t)
}

// member is the membership of a tenant's ports in its partition.
type member struct {
	key     ident.PKey
	full    int
	limited places
	out     places // ports that are no members
}

// tenantKeys finds tenants' ports outside their partitions.
func (c *checker) tenantKeys(t *Tally) {
	by := make(map[string]*member)
	for _, u := range c.x.Uses {
		d := c.x.Details.Port(u.Port)
		if d == nil || d.Keys != subnet.Answered {
			continue
		}
		key := u.PKey.Base()
		if key == 0 {
			key = ident.DefaultPKey.Base()
		}
		m := by[u.Tenant]
		if m == nil {
			m = &member{key: key}
			by[u.Tenant] = m
		}
		switch {
		case slices.Contains(d.PKeys, key|0x8000):
			m.full++
		case slices.Contains(d.PKeys, key):
			m.limited.port(c.f, u.Port)
		default:
			m.out.port(c.f, u.Port)
			t.Bad++
		}
	}
	for _, tenant := range slices.Sorted(maps.Keys(by)) {
		m := by[tenant]
		if m.out.n > 0 {
			c.add(CodeKeyMissing, m.out, phrase.Of("check.not-in-partition", "ports", phrase.Ports.Of(m.out.n), "tenant", tenant, "pkey", m.key, "some", m.out.some()))
		}
		if m.full == 0 && m.limited.n > 1 {
			c.add(CodeKeysLimited, m.limited, phrase.Of("check.all-limited", "n", m.limited.n, "tenant", tenant, "pkey", m.key))
		}
	}
}

// model identifies a model of device, as reported in NodeInfo.
type model struct {
	vendor uint32
	device uint16
}

// devices finds devices of one model that differ, and ambiguous names.
func (c *checker) devices() {
	t := c.tally[GroupDevices]
	t.Of = len(c.f.Nodes)
	revisions := make(map[model]map[uint32]int)
	for i := range c.f.Nodes {
		n := &c.f.Nodes[i]
		if k := (model{n.VendorID, n.DeviceID}); n.VendorID != 0 && n.Revision != 0 {
			if revisions[k] == nil {
				revisions[k] = make(map[uint32]int)
			}
			revisions[k][n.Revision]++
		}
		if same := c.f.NodesByName(n.Name); n.Name != "" && len(same) > 1 && same[0] == int32(i) {
			var p places
			for _, k := range same {
				p.node(c.f, k)
			}
			c.add(CodeSameName, p, phrase.Of("check.same-name", "n", p.n, "name", strconv.Quote(n.Name)))
		}
	}
	c.revisions(revisions)
}

func (c *checker) revisions(by map[model]map[uint32]int) {
	models := slices.SortedFunc(maps.Keys(by), func(a, b model) int {
		return cmp.Or(cmp.Compare(a.vendor, b.vendor), cmp.Compare(a.device, b.device))
	})
	for _, k := range models {
		if len(by[k]) < 2 {
			continue
		}
		revisions := slices.SortedFunc(maps.Keys(by[k]), func(a, b uint32) int { return cmp.Or(cmp.Compare(by[k][b], by[k][a]), cmp.Compare(a, b)) })
		var parts phrase.Commas
		for _, r := range revisions {
			parts = append(parts, phrase.Of("check.revision", "devices", by[k][r], "revision", fmt.Sprintf("0x%x", r)))
		}
		usual, p := revisions[0], places{}
		for i := range c.f.Nodes {
			if n := &c.f.Nodes[i]; n.VendorID == k.vendor && n.DeviceID == k.device && n.Revision != usual {
				p.node(c.f, int32(i))
			}
		}
		c.add(CodeMixedRevisions, p, phrase.Of("check.firmware-differs", "vendor", fmt.Sprintf("0x%06x", k.vendor), "device", k.device, "parts", some(parts, len(parts))))
	}
}
