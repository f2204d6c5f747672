package policy

import (
	"slices"

	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// attachment finds a tenant's attachment to a port.
func attachment(m *model, tenant int32, port ident.PortID) (int, bool) {
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
	return lo, lo < len(as) && as[lo].Port == port
}

// portTenants is a port with the tenants that are attached to it.
type portTenants struct {
	port    ident.PortID
	tenants []int32
	at      []int32 // index of the attachment in each tenant's list
}

// tenantsByPort lists the attached ports in order, with the tenants on each in order.
func (m *model) tenantsByPort() []portTenants {
	return m.onPorts(func(tenant, attachment int) bool { return true })
}

// sendersByPort is tenantsByPort without the tenants that only receive on a port.
func (m *model) sendersByPort() []portTenants {
	roles := m.roles()
	return m.onPorts(func(tenant, attachment int) bool { return roles[tenant][attachment] != roleReceives })
}

// onPorts lists the attached ports in order, with the tenants on each that keep accepts, in order.
func (m *model) onPorts(keep func(tenant, attachment int) bool) []portTenants {
	at := make(map[ident.PortID]int)
	var out []portTenants
	for t := range m.tenants {
		for k, a := range m.tenants[t].Attachments {
			i, ok := at[a.Port]
			if !ok {
				i = len(out)
				at[a.Port] = i
				out = append(out, portTenants{port: a.Port})
			}
			if !keep(t, k) {
				continue
			}
			out[i].tenants = append(out[i].tenants, int32(t))
			out[i].at = append(out[i].at, int32(k))
		}
	}
	slices.SortFunc(out, func(a, b portTenants) int { return a.port.Compare(b.port) })
	return out
}

// role is what a tenant's flows do on one of its ports.
type role uint8

const (
	roleUnknown  role = iota // no flow begins or ends there: the tenant may send
	roleReceives             // flows end there, and none begins
	roleSends
)

// roles lists what each tenant does on each of its ports, parallel to its attachments. It is computed once for a set of flows.
func (m *model) roles() [][]role {
	l := m.lay()
	if l.roles != nil {
		return l.roles
	}
	l.roles = make([][]role, len(m.tenants))
	for t := range l.roles {
		l.roles[t] = make([]role, len(m.tenants[t].Attachments))
	}
	note := func(tenant int32, port subnet.PortRef, r role) {
		if k, ok := attachment(m, tenant, m.fabric.PortID(port)); ok {
			l.roles[tenant][k] = max(l.roles[tenant][k], r)
		}
	}
	for i := range m.flows {
		f := &m.flows[i]
		note(f.tenant, f.src, roleSends)
		note(f.tenant, f.dst, roleReceives)
	}
	return l.roles
}

// tenantPort is a tenant on one of its ports.
type tenantPort struct {
	tenant int32
	port   ident.PortID
}
