package policy

import (
	"math/bits"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// placements is the SL of each tenant on each of its ports, parallel to the attachments of
// model.tenants.
type placements [][]ident.SL

// at returns a tenant's SL on a port it is attached to.
func (p placements) at(m *model, tenant int32, port ident.PortID) ident.SL {
	as := m.tenants[tenant].Attachments
	lo, hi := 0, len(as)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if as[mid].Port.Compare(port) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(as) || as[lo].Port != port {
		return 0
	}
	return p[tenant][lo]
}

// maxSearch bounds the exact search for a colouring: tenants looked at, in all.
const maxSearch = 2_000_000

// colouring is the problem of giving each tenant one SL, used on all its ports where none is
// pinned, because a partition has one SL in the whole fabric. Tenants that meet on a
// channel-adapter port conflict: settings and per-SL counters are per (port, SL).
type colouring struct {
	meet   [][]int32 // conflicting tenants, ascending
	barred []uint16  // bit s: another tenant has SL s pinned on a shared port
	fixed  []int8    // the one SL a tenant is pinned to, or -1
	colour []int8    // -1 none
	uses   [][ident.NumSLs]uint16
	looked int
}

// place assigns SLs. Distinct SLs for all tenants come first, so that a counter of an SL means one
// tenant everywhere; then distinct ones for tenants that meet; SL 0 stays free for unmanaged
// traffic unless nothing else works. When even that fails, tenants share an SL on as few ports
// as a greedy choice finds, and a finding says where.
func (m *model) place() (placements, []Finding) {
	ports := m.tenantsByPort()
	conflict := m.conflicts(ports)
	solved := false
	c := conflict
	if len(m.tenants) <= len(m.usable) {
		c = m.distinct(conflict)
		solved = c.solve(m.usable, false)
	}
	for _, zero := range []bool{false, true} {
		if !solved {
			c = conflict
			solved = c.solve(m.usable, zero)
		}
	}
	if !solved {
		c.greedy(m.usable)
	}
	p := make(placements, len(m.tenants))
	for t := range m.tenants {
		p[t] = make([]ident.SL, len(m.tenants[t].Attachments))
		for i, a := range m.tenants[t].Attachments {
			p[t][i] = ident.SL(max(0, c.colour[t]))
			if a.SL != nil {
				p[t][i] = *a.SL
			}
		}
	}
	return p, m.sharedSLs(ports, p)
}

type portTenants struct {
	port    ident.PortID
	tenants []int32
}

// tenantsByPort lists the attached ports in order, with the tenants on each in order.
func (m *model) tenantsByPort() []portTenants {
	at := make(map[ident.PortID]int)
	var out []portTenants
	for t := range m.tenants {
		for _, a := range m.tenants[t].Attachments {
			i, ok := at[a.Port]
			if !ok {
				i = len(out)
				at[a.Port] = i
				out = append(out, portTenants{port: a.Port})
			}
			out[i].tenants = append(out[i].tenants, int32(t))
		}
	}
	slices.SortFunc(out, func(a, b portTenants) int { return a.port.Compare(b.port) })
	return out
}

// conflicts builds the problem from the ports.
func (m *model) conflicts(ports []portTenants) *colouring {
	n := len(m.tenants)
	c := &colouring{meet: make([][]int32, n), barred: make([]uint16, n), fixed: make([]int8, n), colour: make([]int8, n)}
	pin := m.pins()
	for _, p := range ports {
		for _, t := range p.tenants {
			for _, u := range p.tenants {
				if t == u {
					continue
				}
				c.meet[t] = append(c.meet[t], u)
				if sl, ok := pin[pinKey{u, p.port}]; ok {
					c.barred[t] |= 1 << sl
				}
			}
		}
	}
	for t := range n {
		slices.Sort(c.meet[t])
		c.meet[t] = slices.Compact(c.meet[t])
		c.fixed[t] = m.onePin(t)
	}
	return c
}

// distinct is the problem in which every two tenants conflict, wherever they are. It is built only
// for as many tenants as there are SLs.
func (m *model) distinct(c *colouring) *colouring {
	n := len(m.tenants)
	d := &colouring{meet: make([][]int32, n), barred: slices.Clone(c.barred), fixed: c.fixed, colour: make([]int8, n)}
	for t := range n {
		for u := range n {
			if t == u {
				continue
			}
			d.meet[t] = append(d.meet[t], int32(u))
			for _, a := range m.tenants[u].Attachments {
				if a.SL != nil {
					d.barred[t] |= 1 << *a.SL
				}
			}
		}
	}
	return d
}

type pinKey struct {
	tenant int32
	port   ident.PortID
}

func (m *model) pins() map[pinKey]ident.SL {
	out := make(map[pinKey]ident.SL)
	for t := range m.tenants {
		for _, a := range m.tenants[t].Attachments {
			if a.SL != nil {
				out[pinKey{int32(t), a.Port}] = *a.SL
			}
		}
	}
	return out
}

// onePin is the SL a tenant has pinned wherever it pinned one, which it then keeps everywhere,
// even if it is reserved: the operator said so. -1 when there is none, or several.
func (m *model) onePin(t int) int8 {
	own := int8(-1)
	for _, a := range m.tenants[t].Attachments {
		if a.SL != nil {
			if own >= 0 && own != int8(*a.SL) {
				return -1
			}
			own = int8(*a.SL)
		}
	}
	return own
}

// start clears the colours to the fixed ones and returns how many are left to find.
func (c *colouring) start() int {
	c.looked = 0
	c.uses = make([][ident.NumSLs]uint16, len(c.colour))
	left := 0
	for t := range c.colour {
		c.colour[t] = -1
	}
	for t, f := range c.fixed {
		if f >= 0 && c.barred[t]&(1<<f) == 0 {
			c.paint(int32(t), f)
		} else {
			left++
		}
	}
	return left
}

func (c *colouring) paint(t int32, sl int8) {
	c.colour[t] = sl
	for _, u := range c.meet[t] {
		c.uses[u][sl]++
	}
}

func (c *colouring) unpaint(t int32) {
	for _, u := range c.meet[t] {
		c.uses[u][c.colour[t]]--
	}
	c.colour[t] = -1
}

// solve searches for a colouring by backtracking in DSATUR order: always the tenant with the fewest
// SLs left, then the one with most conflicts, then the first. False when there is none, or
// none was found within maxSearch.
func (c *colouring) solve(usable []ident.SL, zero bool) bool {
	var order []ident.SL
	for _, sl := range usable {
		if sl != 0 || zero {
			order = append(order, sl)
		}
	}
	return c.extend(order, c.start())
}

func (c *colouring) extend(order []ident.SL, left int) bool {
	if left == 0 {
		return true
	}
	t, free := c.next(order)
	for _, sl := range order {
		if free&(1<<sl) == 0 {
			continue
		}
		c.paint(t, int8(sl))
		if c.extend(order, left-1) {
			return true
		}
		c.unpaint(t)
		if c.looked > maxSearch {
			return false
		}
	}
	return false
}

// next picks the tenant to colour and the SLs it may have.
func (c *colouring) next(order []ident.SL) (tenant int32, free uint16) {
	best, bestLeft := int32(-1), 0
	for t := range c.colour {
		if c.colour[t] >= 0 {
			continue
		}
		f := c.free(t, order)
		left := bits.OnesCount16(f)
		if best < 0 || left < bestLeft || left == bestLeft && len(c.meet[t]) > len(c.meet[best]) {
			best, bestLeft, free = int32(t), left, f
		}
	}
	c.looked += len(c.colour)
	return best, free
}

func (c *colouring) free(t int, order []ident.SL) uint16 {
	f := uint16(0)
	for _, sl := range order {
		if c.uses[t][sl] == 0 && c.barred[t]&(1<<sl) == 0 {
			f |= 1 << sl
		}
	}
	return f
}

// greedy colours in DSATUR order and lets a tenant that has no SL left take the one that fewest of
// the tenants it meets have.
func (c *colouring) greedy(usable []ident.SL) {
	for range c.start() {
		t, free := c.next(usable)
		best, bestUses := usable[0], 1<<30
		for _, sl := range usable {
			uses := int(c.uses[t][sl])
			if free != 0 && free&(1<<sl) == 0 || c.barred[t]&(1<<sl) != 0 {
				uses += 1 << 20
			}
			if uses < bestUses {
				best, bestUses = sl, uses
			}
		}
		c.paint(t, int8(best))
	}
}

// maxNames bounds how many ports or links a finding lists.
const maxNames = 16

// sharedSLs reports tenants that share an SL on a port, one finding for each set of tenants.
func (m *model) sharedSLs(ports []portTenants, p placements) []Finding {
	type group struct {
		tenants []string
		ports   []string
		count   int
	}
	groups := make(map[string]*group)
	for _, pt := range ports {
		var bySL [ident.NumSLs][]string
		for _, t := range pt.tenants {
			sl := p.at(m, t, pt.port)
			bySL[sl] = append(bySL[sl], m.tenants[t].Name)
		}
		for _, names := range bySL {
			if len(names) < 2 {
				continue
			}
			key := strings.Join(names, ",")
			g := groups[key]
			if g == nil {
				g = &group{tenants: names}
				groups[key] = g
			}
			if g.count++; g.count <= maxNames {
				ref, _ := m.fabric.PortByID(pt.port)
				g.ports = append(g.ports, m.fabric.PortName(ref))
			}
		}
	}
	var out []Finding
	for _, g := range groups {
		out = append(out, exhausted(g.tenants, g.ports, g.count, len(m.usable)))
	}
	return out
}
