package wrcc

import (
	"cmp"
	"slices"
	"strings"

	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// layout holds what depends only on flows, attachments and fabric. Compilations of the same flows share it.
type layout struct {
	unit       float64
	groups     []int32      // first flow of each entry, plus one
	idle       []idleSender // entries without flows, after those with flows
	order      []int32      // entries in the order of the plan
	egress     []int32      // link directions that switches drive and flows cross, by port
	names      []string     // of these ports
	dataCentre []int32      // by node: its data centre, into domains
	domains    []domain     // nil until measured
	// Buffers of earlier compilations, for reuse.
	paces [][]pace // by domain
	ports []egressKind
	of    []egress
}

// idleSender is a class of an attached tenant without flows at a port.
type idleSender struct {
	port          ident.PortID
	ref           subnet.PortRef
	tenant, class int32
	line          float64 // bit/s
}

func newLayout(m *model.Model) *layout {
	l := &layout{unit: chooseUnit(m), groups: []int32{}}
	flows := m.Flows
	for i := range flows {
		if f := &flows[i]; i == 0 || f.Tenant != flows[i-1].Tenant || f.Class != flows[i-1].Class || f.Src != flows[i-1].Src {
			l.groups = append(l.groups, int32(i))
		}
	}
	l.groups = append(l.groups, int32(len(flows)))
	l.findIdle(m)
	l.sortEntries(m)
	l.findEgress(m)
	return l
}

// chooseUnit returns defaultUnit, or half of the slowest link that a flow crosses if that is less: AutoParm takes a port whose fair rate is at
// its target or above for one that limits no flow.
func chooseUnit(m *model.Model) float64 {
	slowest := float64(2 * defaultUnit)
	for i := range m.Flows {
		for _, d := range m.Flows[i].Links {
			slowest = min(slowest, m.Caps[d])
		}
	}
	mbps := max(1, int64(slowest/2/float64(quantity.Mbps)))
	return float64(float64(mbps) * float64(quantity.Mbps))
}

// findIdle lists the classes of attached tenants without flows at a port.
func (l *layout) findIdle(m *model.Model) {
	type key struct {
		src           subnet.PortRef
		tenant, class int32
	}
	have := make(map[key]struct{}, len(l.groups))
	for _, i := range l.groups[:len(l.groups)-1] {
		f := &m.Flows[i]
		have[key{f.Src, f.Tenant, f.Class}] = struct{}{}
	}
	for t := range m.Tenants {
		tn := &m.Tenants[t]
		for _, a := range tn.Attachments {
			ref, _ := m.Fabric.PortByID(a.Port)
			for c := range max(1, len(tn.Classes)) {
				if _, ok := have[key{ref, int32(t), int32(c)}]; !ok {
					l.idle = append(l.idle, idleSender{a.Port, ref, int32(t), int32(c), m.Caps[model.Direction(m.Fabric, ref)]})
				}
			}
		}
	}
}

// sortEntries orders entries by port, tenant and class name.
func (l *layout) sortEntries(m *model.Model) {
	type entry struct {
		port   ident.PortID
		tenant int32
		class  string
	}
	var all []entry
	for _, i := range l.groups[:len(l.groups)-1] {
		f := &m.Flows[i]
		all = append(all, entry{m.Fabric.PortID(f.Src), f.Tenant, className(m, f.Tenant, f.Class)})
	}
	for _, x := range l.idle {
		all = append(all, entry{x.port, x.tenant, className(m, x.tenant, x.class)})
	}
	l.order = model.Indices(len(all))
	slices.SortFunc(l.order, func(a, b int32) int {
		x, y := &all[a], &all[b]
		return cmp.Or(x.port.Compare(y.port), cmp.Compare(x.tenant, y.tenant), strings.Compare(x.class, y.class))
	})
}

func className(m *model.Model, tenant, class int32) string {
	t := &m.Tenants[tenant]
	if len(t.Classes) == 0 {
		return tenants.DefaultClass
	}
	return t.Classes[class].Name
}

// findEgress lists all egress ports of every switch that flows cross.
func (l *layout) findEgress(m *model.Model) {
	p := m.Parts()
	used := make([]bool, len(m.Fabric.Nodes))
	for d := range m.Caps {
		if p.FirstPart[d+1] > p.FirstPart[d] && m.Marks(int32(d)) {
			used[m.Transmitter(int32(d)).Node] = true
		}
	}
	for d := range int32(len(m.Caps)) {
		if used[m.Transmitter(d).Node] {
			l.egress = append(l.egress, d)
		}
	}
	slices.SortFunc(l.egress, func(a, b int32) int {
		return m.Fabric.PortID(m.Transmitter(a)).Compare(m.Fabric.PortID(m.Transmitter(b)))
	})
	l.names = make([]string, len(l.egress))
	for i, d := range l.egress {
		l.names[i] = m.Fabric.PortName(m.Transmitter(d))
	}
}
