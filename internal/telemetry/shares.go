package telemetry

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/policy"
	"fairlane/subnet/ident"
)

// Report sets what was delivered beside what a plan entitles to.
type Report struct {
	Window  quantity.Picoseconds `json:"window_ps"` // shortest measured span of device time
	Tenants []TenantShare        `json:"tenants"`   // in the order of the plan
	Links   []LinkUse            `json:"links"`     // in the order of the plan
	// MaxShareError is the largest of the measured tenants.
	MaxShareError float64 `json:"max_share_error"`
	// Jain is Jain's fairness index of delivered / entitled of the measured tenants: 1 when all
	// got the same part of their entitlement; 0 when none was measured.
	Jain float64 `json:"jain"`
	// Complete says that every tenant and every link was measured.
	Complete bool `json:"complete"`
}

// TenantShare is what one tenant got, summed over the ports it sends from.
type TenantShare struct {
	Tenant   string           `json:"tenant"`
	Weight   quantity.Weight  `json:"weight"`
	Entitled quantity.BitRate `json:"entitled_bps"`
	// Delivered counts link-layer octets of data packets, acknowledgements included.
	Delivered quantity.BitRate `json:"delivered_bps"`
	// ShareError is |delivered - entitled| / entitled; 0 for a tenant entitled to nothing. It
	// means what it says only while the tenant has traffic to send.
	ShareError float64 `json:"share_error"`
	Measured   bool    `json:"measured"` // otherwise Problem says why, and Delivered is zero
	Problem    string  `json:"problem,omitempty"`
}

// LinkUse is the use of one contended link direction.
type LinkUse struct {
	Port        ident.PortID     `json:"port"` // the port that transmits on it
	Name        string           `json:"name"`
	Capacity    quantity.BitRate `json:"capacity_bps"`
	Used        quantity.BitRate `json:"used_bps"`
	Utilisation float64          `json:"utilisation"` // used / capacity; 0 when the capacity is not known
	Tenants     []LinkTenant     `json:"tenants"`     // in the order of the plan
	Measured    bool             `json:"measured"`
	Problem     string           `json:"problem,omitempty"`
}

// LinkTenant is one tenant's part of a link. It is measured when no other tenant uses any of
// the tenant's SLs anywhere, so that the SL's counter is the tenant's.
type LinkTenant struct {
	Tenant     string           `json:"tenant"`
	Entitled   quantity.BitRate `json:"entitled_bps"`
	Delivered  quantity.BitRate `json:"delivered_bps"`
	ShareError float64          `json:"share_error"`
	Measured   bool             `json:"measured"`
}

// Shares computes the report of a window for a plan. It is pure. A tenant is measured when
// every port it sends from was, and no other tenant uses the same SL on any of them: such
// tenants share a counter, and dividing it would be a guess.
func Shares(p *policy.Plan, w Window) Report {
	r := Report{Window: w.Elapsed, Complete: true, Tenants: []TenantShare{}, Links: []LinkUse{}}
	rates := make(map[ident.PortID]*PortRate, len(w.Ports))
	for i := range w.Ports {
		rates[w.Ports[i].Port.ID] = &w.Ports[i]
	}
	users := slotUsers(p)
	for _, t := range p.Tenants {
		ts := tenantShare(t, p.Placements, users, rates)
		r.Complete = r.Complete && ts.Measured
		r.Tenants = append(r.Tenants, ts)
	}
	owners := slOwners(p.Placements)
	for _, l := range p.Links {
		lu := linkUse(l, owners, rates)
		r.Complete = r.Complete && lu.Measured
		r.Links = append(r.Links, lu)
	}
	r.sumUp()
	return r
}

func (r *Report) sumUp() {
	var parts []float64
	for _, t := range r.Tenants {
		if t.Measured && t.Entitled > 0 {
			parts = append(parts, float64(t.Delivered)/float64(t.Entitled))
			r.MaxShareError = max(r.MaxShareError, t.ShareError)
		}
	}
	r.Jain = stats.Jain(parts)
}

// slot is one counter: an SL on a port.
type slot struct {
	port ident.PortID
	sl   ident.SL
}

// slotUsers counts the tenants on each counter.
func slotUsers(p *policy.Plan) map[slot]int {
	type use struct {
		slot
		tenant string
	}
	seen := make(map[use]bool, len(p.Placements))
	users := make(map[slot]int, len(p.Placements))
	for _, pl := range p.Placements {
		u := use{slot{pl.Port, pl.SL}, pl.Tenant}
		if !seen[u] {
			seen[u] = true
			users[u.slot]++
		}
	}
	return users
}

func tenantShare(t policy.TenantShare, ps []policy.Placement, users map[slot]int, rates map[ident.PortID]*PortRate) TenantShare {
	ts := TenantShare{Tenant: t.Tenant, Weight: t.Weight, Entitled: t.Entitled}
	done := make(map[slot]bool)
	for _, pl := range ps {
		s := slot{pl.Port, pl.SL}
		if pl.Tenant != t.Tenant || done[s] {
			continue
		}
		done[s] = true
		rate := rates[pl.Port]
		switch {
		case rate == nil:
			ts.Problem = fmt.Sprintf("port %s: %v", pl.Port, ErrUnread)
		case rate.Err != nil:
			ts.Problem = fmt.Sprintf("port %s: %v", rate.Port.Name, rate.Err)
		case rate.SLErr != nil:
			ts.Problem = fmt.Sprintf("port %s: %v", rate.Port.Name, rate.SLErr)
		case users[s] > 1:
			ts.Problem = fmt.Sprintf("port %s: SL %d is shared with another tenant, so its counter is not this tenant's alone", rate.Port.Name, pl.SL)
		case int(pl.SL) >= len(rate.SL):
			ts.Problem = fmt.Sprintf("port %s: SL %d, want 0 to 15", rate.Port.Name, pl.SL)
		default:
			ts.Delivered += rate.SL[pl.SL]
			continue
		}
		ts.Delivered = 0
		return ts
	}
	if len(done) == 0 {
		ts.Problem = "no placement in the plan"
		return ts
	}
	ts.Measured = true
	ts.ShareError = stats.ShareError(ts.Delivered, ts.Entitled)
	return ts
}

// slOwners lists, for each SL, the one tenant that uses it anywhere; SLs of several tenants
// belong to "", and so do unused ones.
func slOwners(ps []policy.Placement) [ident.NumSLs]string {
	var owners [ident.NumSLs]string
	var contested [ident.NumSLs]bool
	for _, pl := range ps {
		switch sl := pl.SL; {
		case int(sl) >= len(owners):
		case owners[sl] != "" && owners[sl] != pl.Tenant:
			contested[sl] = true
		default:
			owners[sl] = pl.Tenant
		}
	}
	// A tenant with one contested SL cannot be told apart by its others either.
	tainted := make(map[string]bool)
	for _, pl := range ps {
		if int(pl.SL) < len(owners) && contested[pl.SL] {
			tainted[pl.Tenant] = true
		}
	}
	for sl, t := range owners {
		if tainted[t] {
			owners[sl] = ""
		}
	}
	return owners
}

func linkUse(l policy.LinkShare, owners [ident.NumSLs]string, rates map[ident.PortID]*PortRate) LinkUse {
	lu := LinkUse{Port: l.Port, Name: l.Name, Capacity: l.Capacity, Tenants: []LinkTenant{}}
	rate := rates[l.Port]
	switch {
	case rate == nil:
		lu.Problem = ErrUnread.Error()
	case rate.Err != nil:
		lu.Problem = rate.Err.Error()
	default:
		lu.Measured, lu.Used = true, rate.Xmit
		if l.Capacity > 0 {
			lu.Utilisation = float64(rate.Xmit) / float64(l.Capacity)
		}
	}
	for _, t := range l.Tenants {
		lt := LinkTenant{Tenant: t.Tenant, Entitled: t.Entitled}
		for sl, owner := range owners {
			if lu.Measured && rate.SLErr == nil && owner == t.Tenant {
				lt.Measured = true
				lt.Delivered += rate.SL[sl]
			}
		}
		if lt.Measured {
			lt.ShareError = stats.ShareError(lt.Delivered, lt.Entitled)
		}
		lu.Tenants = append(lu.Tenants, lt)
	}
	return lu
}
