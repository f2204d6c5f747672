package telemetry

import (
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/policy"
	"fairlane/subnet/ident"
)

// Report compares delivered rates with the entitlements of a plan. A figure that was not measured is nil.
type Report struct {
	Window quantity.Picoseconds // shortest measured span of device time
	// Coverage is the smallest fraction of the window that a measured counter covers, 0 to 1; 0 when none was measured.
	Coverage float64
	Tenants  []TenantShare // in the order of the plan
	Links    []LinkUse     // in the order of the plan
	// MaxShareError is the largest share error of the measured tenants.
	MaxShareError *float64
	// Jain is Jain's fairness index of delivered / entitled over the measured tenants: 1 when all got the same fraction
	// of their entitlement.
	Jain *float64
	// Loop says whether congestion control acts; nil where the devices do not count its events.
	Loop *Loop
	// Ports lists what each measured port did; empty in reports that Shares made.
	Ports []PortActivity
}

// TenantShare is one tenant's delivered rate, summed over the ports it sends from.
type TenantShare struct {
	Tenant   string
	Weight   quantity.Weight
	Entitled quantity.BitRate
	// Delivered counts link-layer octets of data packets, acknowledgements included.
	Delivered *quantity.BitRate
	// ShareError is |delivered - entitled| / entitled, nil for a tenant without entitlement. It is meaningful only while
	// the tenant has traffic to send.
	ShareError *float64
	Problem    *phrase.Text // why Delivered was not measured; nil when it was measured
	// AtSenders says that Delivered excludes ports on which the tenant, by the plan's flows, only receives, on an SL that
	// other tenants also use there: such a counter cannot be divided. Ambiguous is what these counters counted for all
	// tenants on them.
	AtSenders bool
	Ambiguous *quantity.BitRate // nil when one of them was not measured
	// Contention says whether a link limited the tenant; "" when that was not judged.
	Contention Contention
	// Received, EntitledNow and Limit are those of the limiting link on which Received is least. They are set for a contending tenant.
	Received    *float64          // delivered / EntitledNow
	EntitledNow *quantity.BitRate // as in LinkTenant
	Limit       string            // the link's name
}

// LinkUse is the use of one contended link direction.
type LinkUse struct {
	Port        ident.PortID // the port that transmits on it
	Name        string
	Capacity    quantity.BitRate
	Used        *quantity.BitRate
	Utilisation *float64     // used / capacity, nil also when the capacity is unknown
	Tenants     []LinkTenant // in the order of the plan
	Problem     *phrase.Text // why Used was not measured; nil when it was measured
	// FairRate is the fair rate on the WRCC plane, of a queue pair of weight 1, at the end of the window; nil when it was not read.
	FairRate *quantity.BitRate
}

// LinkTenant is one tenant's share of a link. It is measured by the link's counters when no other tenant uses any of the
// tenant's SLs anywhere. Otherwise the counters of the tenant's senders are used when all its queue pairs cross the link.
type LinkTenant struct {
	Tenant     string
	Entitled   quantity.BitRate
	Delivered  *quantity.BitRate
	ShareError *float64
	AtSenders  bool // measured where the tenant sends, not on the link

	Contention Contention // on this link; "" when that was not judged
	// EntitledNow is the rate that a contending tenant is entitled to at the measured use by others: its part of the capacity left by those that do not
	// contend. It is at most the tenant's cap, and otherwise at least Entitled.
	EntitledNow *quantity.BitRate
	Received    *float64 // Delivered / EntitledNow
}

// shareError returns the share error of a measured rate, nil without one.
func shareError(delivered *quantity.BitRate, entitled quantity.BitRate) *float64 {
	if delivered == nil || entitled <= 0 {
		return nil
	}
	return new(stats.ShareError(*delivered, entitled))
}

// use returns the utilisation of a measured link, nil when its capacity is unknown.
func use(used *quantity.BitRate, capacity quantity.BitRate) *float64 {
	if used == nil || capacity <= 0 {
		return nil
	}
	return new(float64(*used) / float64(capacity))
}

// Shares computes the report of a window for a plan. It is pure. A tenant is measured when every port it sends from was
// measured, and no other tenant uses the same SL on any of them: such tenants share a counter, and dividing it would be a
// guess. Ports where, by the plan, it only receives on a shared SL are excluded, and the report says so.
func Shares(p *policy.Plan, w Window) Report {
	r := Report{Window: w.Elapsed, Coverage: w.Coverage, Tenants: []TenantShare{}, Links: []LinkUse{}}
	rates := make(map[ident.PortID]*PortRate, len(w.Ports))
	for i := range w.Ports {
		rates[w.Ports[i].Port.ID] = &w.Ports[i]
	}
	users := slotUsers(p)
	whole := make(map[linkPart]TenantShare, len(p.Tenants))
	for _, t := range p.Tenants {
		ts := tenantShare(t, p.Placements, users, rates)
		r.Tenants = append(r.Tenants, ts)
		whole[linkPart{t.Tenant, t.QPs}] = ts
	}
	owners := slOwners(p.Placements)
	for _, l := range p.Links {
		r.Links = append(r.Links, linkUse(l, owners, rates, whole))
	}
	r.sumUp()
	return r
}

func (r *Report) sumUp() {
	var parts []float64
	worst := 0.0
	for _, t := range r.Tenants {
		if t.ShareError != nil {
			parts = append(parts, float64(*t.Delivered)/float64(t.Entitled))
			worst = max(worst, *t.ShareError)
		}
	}
	if len(parts) > 0 {
		r.MaxShareError, r.Jain = &worst, new(stats.Jain(parts))
	}
}

// withhold removes the rates of tenants whose counters stand still.
func (r *Report) withhold(stuck map[string]bool) {
	if len(stuck) == 0 {
		return
	}
	for i := range r.Tenants {
		if t := &r.Tenants[i]; stuck[t.Tenant] && t.Delivered != nil {
			t.Delivered, t.ShareError, t.AtSenders, t.Ambiguous, t.Problem = nil, nil, false, nil, new(phrase.Of("measure.stuck"))
		}
	}
	for i := range r.Links {
		for k := range r.Links[i].Tenants {
			if t := &r.Links[i].Tenants[k]; stuck[t.Tenant] {
				t.Delivered, t.ShareError, t.AtSenders = nil, nil, false
			}
		}
	}
	r.MaxShareError, r.Jain = nil, nil
	r.sumUp()
}

// slot is one counter: an SL on a port.
type slot struct {
	port ident.PortID
	sl   ident.SL
}

// linkPart is a tenant with the number of its queue pairs that cross a link.
type linkPart struct {
	tenant string
	qps    int
}

// slotUsers counts the tenants that may send on each counter.
func slotUsers(p *policy.Plan) map[slot]int {
	type use struct {
		slot
		tenant string
	}
	seen := make(map[use]bool, len(p.Placements))
	users := make(map[slot]int, len(p.Placements))
	for _, pl := range p.Placements {
		u := use{slot{pl.Port, pl.SL}, pl.Tenant}
		if !pl.Receives && !seen[u] {
			seen[u] = true
			users[u.slot]++
		}
	}
	return users
}

func tenantShare(t policy.TenantShare, ps []policy.Placement, users map[slot]int, rates map[ident.PortID]*PortRate) TenantShare {
	ts := TenantShare{Tenant: t.Tenant, Weight: t.Weight, Entitled: t.Entitled}
	var sum, ambiguous quantity.BitRate
	sends, read := false, true
	done := make(map[slot]bool)
	for _, pl := range ps {
		s := slot{pl.Port, pl.SL}
		if pl.Tenant != t.Tenant || done[s] {
			continue
		}
		done[s] = true
		if pl.Receives {
			ts.AtSenders = true
			rate, err := rates[pl.Port].sentOn(pl.SL, 1)
			ambiguous, read = ambiguous+rate, read && err == nil
			continue
		}
		sends = true
		rate, err := rates[pl.Port].sentOn(pl.SL, users[s])
		if err != nil {
			name := pl.Port.String()
			if r := rates[pl.Port]; r != nil {
				name = r.Port.Name
			}
			ts.AtSenders, ts.Problem = false, new(phrase.OfError(atPort(err, name)))
			return ts
		}
		sum += rate
	}
	if !sends {
		ts.AtSenders, ts.Problem = false, new(phrase.Of("measure.no-port"))
		return ts
	}
	ts.Delivered, ts.ShareError = &sum, shareError(&sum, t.Entitled)
	if ts.AtSenders && read {
		ts.Ambiguous = &ambiguous
	}
	return ts
}

// atPort adds the port to an error.
func atPort(err error, port string) error {
	return phrase.Because(err, phrase.Of("measure.at-port", "text", err, "port", port))
}

// sentOn returns the traffic of a port on an SL with this many users; the port is nil when it was not read.
func (r *PortRate) sentOn(sl ident.SL, users int) (quantity.BitRate, error) {
	switch {
	case r == nil:
		return 0, ErrUnread
	case r.Err != nil:
		return 0, r.Err
	case users > 1:
		return 0, &phrase.Error{Text: phrase.Of("measure.sl-shared", "sl", sl)}
	case int(sl) >= len(r.SL):
		return 0, &phrase.Error{Text: phrase.Of("measure.sl-range", "sl", sl)}
	}
	return r.SL[sl].Value()
}

// slOwners lists, for each SL, the only tenant that uses it anywhere; SLs of several tenants belong to "", and so do
// unused ones.
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
	// A tenant with one shared SL cannot be measured by its other SLs either.
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

// linkUse measures a link. whole has the measured rate of each tenant over all its queue pairs.
func linkUse(l policy.LinkShare, owners [ident.NumSLs]string, rates map[ident.PortID]*PortRate, whole map[linkPart]TenantShare) LinkUse {
	lu := LinkUse{Port: l.Port, Name: l.Name, Capacity: l.Capacity, Tenants: []LinkTenant{}}
	rate := rates[l.Port]
	if used, err := rate.sent(); err != nil {
		lu.Problem = new(phrase.OfError(err))
	} else {
		lu.Used, lu.Utilisation = &used, use(&used, l.Capacity)
	}
	for _, t := range l.Tenants {
		lt := LinkTenant{Tenant: t.Tenant, Entitled: t.Entitled, Delivered: rate.sentBy(t.Tenant, owners)}
		if lt.Delivered == nil && t.QPs > 0 {
			lt.Delivered = whole[linkPart{t.Tenant, t.QPs}].Delivered
			lt.AtSenders = lt.Delivered != nil
		}
		lt.ShareError = shareError(lt.Delivered, lt.Entitled)
		lu.Tenants = append(lu.Tenants, lt)
	}
	return lu
}

// sent returns the traffic of a port; the port is nil when it was not read.
func (r *PortRate) sent() (quantity.BitRate, error) {
	switch {
	case r == nil:
		return 0, ErrUnread
	case r.Err != nil:
		return 0, r.Err
	}
	return r.Xmit.Value()
}

// sentBy returns the traffic of a tenant on the SLs that it owns, nil when it owns none or one was not measured.
func (r *PortRate) sentBy(tenant string, owners [ident.NumSLs]string) (sum *quantity.BitRate) {
	for sl, owner := range owners {
		if owner != tenant || r == nil || r.Err != nil {
			continue
		}
		v, err := r.SL[sl].Value()
		if err != nil {
			return nil
		}
		if sum == nil {
			sum = new(quantity.BitRate)
		}
		*sum += v
	}
	return sum
}
