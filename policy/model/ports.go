package model

import (
	"slices"

	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Attachment returns the index of a tenant's attachment to a port.
func Attachment(m *Model, tenant int32, port ident.PortID) (int, bool) {
	as := m.Tenants[tenant].Attachments
	lo, hi := 0, len(as)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if as[mid].Port.Compare(port) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(as) && as[lo].Port == port
}

// PortTenants is a port with the tenants attached to it.
type PortTenants struct {
	Port    ident.PortID
	Tenants []int32
	At      []int32 // index of the attachment in each tenant's list
}

// TenantsByPort lists the attached ports in order, with the tenants on each in order.
func (m *Model) TenantsByPort() []PortTenants {
	return m.onPorts(func(tenant, attachment int) bool { return true })
}

// SendersByPort is TenantsByPort without the tenants that only receive on a port.
func (m *Model) SendersByPort() []PortTenants {
	roles := m.Roles()
	return m.onPorts(func(tenant, attachment int) bool { return roles[tenant][attachment] != RoleReceives })
}

// TenantsByLink returns a function that lists the tenants with flows on a link direction, in order.
func (m *Model) TenantsByLink() func(direction int32) []int32 {
	l := m.Parts()
	return func(d int32) []int32 {
		var out []int32
		for k := l.FirstPart[d]; k < l.FirstPart[d+1]; k++ {
			out = append(out, l.carries[k].tenant)
		}
		return out
	}
}

// onPorts lists the attached ports in order, with the tenants on each that keep accepts, in order.
func (m *Model) onPorts(keep func(tenant, attachment int) bool) []PortTenants {
	at := make(map[ident.PortID]int)
	var out []PortTenants
	for t := range m.Tenants {
		for k, a := range m.Tenants[t].Attachments {
			i, ok := at[a.Port]
			if !ok {
				i = len(out)
				at[a.Port] = i
				out = append(out, PortTenants{Port: a.Port})
			}
			if !keep(t, k) {
				continue
			}
			out[i].Tenants = append(out[i].Tenants, int32(t))
			out[i].At = append(out[i].At, int32(k))
		}
	}
	slices.SortFunc(out, func(a, b PortTenants) int { return a.Port.Compare(b.Port) })
	return out
}

// Role states whether a tenant's flows begin or end on one of its ports.
type Role uint8

// Roles of tenants on ports.
const (
	RoleUnknown  Role = iota // no flow begins or ends there: the tenant may send
	RoleReceives             // flows end there, and none begins
	RoleSends                // flows begin there
)

// Roles returns each tenant's role on each of its ports, parallel to its attachments. The result is computed once for a set of flows.
func (m *Model) Roles() [][]Role {
	l := m.Layout()
	if l.roles != nil {
		return l.roles
	}
	l.roles = make([][]Role, len(m.Tenants))
	for t := range l.roles {
		l.roles[t] = make([]Role, len(m.Tenants[t].Attachments))
	}
	note := func(tenant int32, port subnet.PortRef, r Role) {
		if k, ok := Attachment(m, tenant, m.Fabric.PortID(port)); ok {
			l.roles[tenant][k] = max(l.roles[tenant][k], r)
		}
	}
	for i := range m.Flows {
		f := &m.Flows[i]
		note(f.Tenant, f.Src, RoleSends)
		note(f.Tenant, f.Dst, RoleReceives)
	}
	return l.roles
}

// TenantPort is a tenant on one of its ports.
type TenantPort struct {
	Tenant int32
	Port   ident.PortID
}
