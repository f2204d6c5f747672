package views

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Endpoint is a port of a tenant with what the tenant may know of it, the same for every caller.
type Endpoint struct {
	Port  ident.PortID
	Name  string // "" when the latest topology has no such port
	SL    *ident.SL
	State control.PortState
	// Since is the time of the scan that found the state first, rounded down to the minute; zero when no scan found another one.
	Since time.Time
	// Seen is the time of the latest scan that found the port, rounded down to seenStep; zero when none did.
	Seen    time.Time
	Rate    int64    // of the port's link in one direction, in bits per second; 0 without a link
	Classes []string // of declared flows at the port, by name
	// Functions counts the virtual functions that the tenant's workloads hold, and FunctionsSent is what they sent; nil when not measured.
	Functions     *int
	FunctionsSent *int64
}

// Endpoints is a page of a tenant's endpoints.
type Endpoints struct {
	Items  []Endpoint
	Next   string
	Series SeriesState
}

// Rounding of times that a tenant sees. A scan can follow a change of another tenant's host, so its time is coarse; a change of the tenant's
// own port is as exact as its events.
const (
	seenStep  = time.Hour
	sinceStep = time.Minute
)

// Endpoints returns a page of the ports of a tenant, by port.
func (v *Views) Endpoints(ctx context.Context, d tenants.Domain, p control.Page) (*Endpoints, error) {
	var (
		out     = &Endpoints{Items: []Endpoint{}}
		planned map[functionOf]bool
		topo    *subnet.Fabric
		live    bool
	)
	err := v.Store.View(ctx, func(r control.Repos) error {
		t, err := r.Tenant(ctx, d.Fabric, d.Tenant)
		if err != nil {
			return err
		}
		page, next, err := control.SlicePage(t.Attachments, p)
		if err != nil {
			return err
		}
		out.Next = next
		if topo, err = v.addStates(ctx, r, d.Fabric, page, out); err != nil {
			return err
		}
		if err := addClasses(ctx, r, d, out.Items); err != nil {
			return err
		}
		inForce, err := v.inForce(ctx, r, d.Fabric)
		if inForce != nil {
			planned, live = inForce.functions, inForce.roce
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	read := v.read(series.Scope{Fabrics: []string{d.Fabric}})
	if live && topo != nil {
		err = addFunctions(ctx, read, d, planned, out.Items)
	}
	out.Series = read.state
	return out, err
}

// addStates adds a page of attachments with the states of their ports. It returns the latest topology; nil before the first scan.
func (v *Views) addStates(ctx context.Context, r control.Repos, fabric string, page []tenants.Attachment, out *Endpoints) (*subnet.Fabric, error) {
	snap, topo, err := v.Latest(ctx, r, fabric)
	if err != nil && !errors.Is(err, control.ErrConflict) { // a conflict: never scanned
		return nil, err
	}
	ids := make([]ident.PortID, len(page))
	for i := range page {
		ids[i] = page[i].Port
	}
	changes, err := r.PortChanges(ctx, fabric, ids)
	if err != nil {
		return nil, err
	}
	latest := make(map[ident.PortID]control.PortChange, len(changes))
	for _, c := range changes {
		latest[c.Port] = c
	}
	for i := range page {
		e := Endpoint{Port: page[i].Port, SL: page[i].SL, State: control.PortUnknown, Classes: []string{}}
		if topo != nil {
			e.place(topo, snap.SeenAt, latest[e.Port])
		}
		out.Items = append(out.Items, e)
	}
	return topo, nil
}

// place sets what the latest topology, seen last at seen, says of the port; change is its latest change, if any.
func (e *Endpoint) place(topo *subnet.Fabric, seen time.Time, change control.PortChange) {
	e.State = control.PortStateIn(topo, e.Port)
	if ref, ok := topo.PortByID(e.Port); ok {
		e.Name, e.Seen = topo.PortName(ref), seen.Truncate(seenStep)
		if l, _ := topo.Link(ref); l != nil {
			e.Rate = int64(l.Rate)
		}
	} else if change.State == control.PortUnknown && !change.Seen.IsZero() {
		e.Seen = change.Seen.Truncate(seenStep)
	}
	if change.State == e.State { // the topology is right if a stored change contradicts it
		e.Since = change.Since.Truncate(sinceStep)
	}
	if e.State != control.PortUnknown && e.Seen.Before(e.Since) { // the scan that found the state saw the port
		e.Seen = e.Since
	}
}

// addClasses adds the classes of the tenant's declared flows.
func addClasses(ctx context.Context, r control.Repos, d tenants.Domain, list []Endpoint) error {
	flows, err := r.FlowsOf(ctx, d.Fabric, []string{d.Tenant})
	if err != nil {
		return err
	}
	at := make(map[ident.PortID]*Endpoint, len(list))
	for i := range list {
		at[list[i].Port] = &list[i]
	}
	for i := range flows {
		f := &flows[i]
		for _, id := range []ident.PortID{f.Src, f.Dst} {
			if e := at[id]; e != nil && f.Class != "" && !slices.Contains(e.Classes, f.Class) {
				e.Classes = append(e.Classes, f.Class)
			}
		}
	}
	for i := range list {
		slices.Sort(list[i].Classes)
	}
	return nil
}

// addFunctions adds the virtual functions that the tenant's workloads hold. A function that the plan gives the tenant is left out: it has one
// only where other tenants send from the port, too.
func addFunctions(ctx context.Context, r *reader, d tenants.Domain, planned map[functionOf]bool, list []Endpoint) error {
	byName := map[string]*Endpoint{}
	var names []string
	for i := range list {
		if e := &list[i]; e.Name != "" && !planned[functionOf{d.Tenant, e.Port}] {
			byName[e.Name] = e
			names = append(names, e.Name)
		}
	}
	own := series.LabelTenant + "=" + strconv.Quote(d.Tenant)
	return named(series.LabelPort, names, func(m string) error {
		found, err := r.all(ctx, selector(d.Fabric, []string{series.FunctionSent}, own, m))
		for i := range found {
			e := byName[found[i].label(series.LabelPort)]
			if e == nil {
				continue
			}
			if e.Functions == nil {
				e.Functions, e.FunctionsSent = new(0), new(int64(0))
			}
			*e.Functions++
			*e.FunctionsSent += int64(found[i].v)
		}
		return err
	})
}
