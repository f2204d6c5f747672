// Package admit decides whether a tenant can be admitted, or get more: whether links hold all guarantees, and what changes for other tenants.
package admit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/diff"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/policy/whatif"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Bounds of an admission request.
const (
	MaxPorts = 1000    // in Ports, and in To
	MaxFlows = 300_000 // assumed of the tenant
)

// Request describes a tenant that requests admission or, with Change, a change.
type Request struct {
	Tenant string
	// Change concerns an existing tenant: omitted values keep theirs, and Ports are added to its ports.
	Change    bool
	Weight    quantity.Weight   // 0 with Change: unchanged
	Guarantee *quantity.BitRate // nil: none, with Change unchanged; 0 is none
	Cap       *quantity.BitRate // likewise
	// Ports are the tenant's, in the forms of subnet.Fabric.ResolvePort. Without To and Flows, each of them is assumed to send to each other one
	// and, with Change, to and from the tenant's existing ports.
	Ports []string
	To    []string // each of Ports is assumed to send to each of these instead
	QPs   int      // of each assumed flow; 0 is 1
	// Flows are declared traffic of the tenant, instead of the assumed one.
	Flows []tenants.Flow
}

// Error is an admission request that cannot be decided. It matches ErrInput.
type Error struct {
	Field string // tenant, weight, guarantee, cap, ports, to, qps or flows
	Err   error  // what was found and what is allowed
}

// Error prints the field and its error.
func (e *Error) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns ErrInput and the cause.
func (e *Error) Unwrap() []error { return []error{model.ErrInput, e.Err} }

func refused(field string, why phrase.Text) error {
	return &Error{field, &phrase.Error{Text: why}}
}

// Verdict is the answer to an admission request.
type Verdict string

// Verdicts.
const (
	// VerdictYes: every guarantee is met, and the plan has no new finding.
	VerdictYes Verdict = "yes"
	// VerdictReservations: the links hold every guarantee, but the plan has new findings, or is predicted to miss a guarantee.
	VerdictReservations Verdict = "reservations"
	// VerdictNo: on a link, the guarantees together exceed what can be booked.
	VerdictNo Verdict = "no"
)

// Admission is the answer to an admission request: its effect on every tenant.
type Admission struct {
	Tenant     string           `json:"tenant"`
	Change     bool             `json:"change"`
	Verdict    Verdict          `json:"verdict"`
	Traffic    AdmissionTraffic `json:"traffic"`
	Tenants    []AdmissionShare `json:"tenants"`    // the requesting one first, then by name
	Guarantees []GuaranteeCheck `json:"guarantees"` // by name
	Fits       AdmissionFit     `json:"fits"`
	Devices    AdmissionDevices `json:"devices"`
	// Appeared and Vanished are the findings of only one of the plans, after and before.
	Appeared []plan.Finding `json:"appeared"`
	Vanished []plan.Finding `json:"vanished"`
}

// Sources of the traffic that an admission is decided by.
const (
	TrafficMesh     = "mesh"     // every port of the tenant sends to every other one
	TrafficTo       = "to"       // every port of the tenant sends to every port of another list
	TrafficDeclared = "declared" // the request has the tenant's flows
)

// AdmissionTraffic states which traffic of the tenant an admission is decided by.
type AdmissionTraffic struct {
	Kind  string `json:"kind"` // mesh, to or declared
	Ports int    `json:"ports"`
	To    int    `json:"to,omitempty"`
	Flows int    `json:"flows"`
	QPs   int    `json:"qps"` // of all flows
	// Idle lists the other tenants without flows. Their guarantees are booked on every link between their ports; their rates are not predicted.
	Idle *plan.NameList `json:"idle,omitempty"`
}

// AdmissionShare is a tenant's share before and after.
type AdmissionShare struct {
	Tenant    string           `json:"tenant"`
	Weight    quantity.Weight  `json:"weight"`
	Guarantee quantity.BitRate `json:"guarantee_bps"` // 0 is none
	Cap       quantity.BitRate `json:"cap_bps"`       // 0 is none
	Before    *AdmissionRate   `json:"before,omitempty"`
	After     *AdmissionRate   `json:"after,omitempty"`
}

// AdmissionRate is a tenant's rate, with all flows sending at once.
type AdmissionRate struct {
	Entitled  quantity.BitRate `json:"entitled_bps"` // of all its flows
	Predicted quantity.BitRate `json:"predicted_bps"`
	Bound     float64          `json:"bound"` // relative error of Predicted
	// Least is the smallest predicted part of a contended link, and Link that link; "" when the tenant contends for none.
	Least quantity.BitRate `json:"least_bps"`
	Link  string           `json:"link,omitempty"`
}

// AdmissionDevices counts the devices whose settings change.
type AdmissionDevices struct {
	Ports    int `json:"ports"` // of hosts
	Switches int `json:"switches"`
}

// AdmissionFit is a request that would fit.
type AdmissionFit struct {
	// Guarantee is the largest guarantee of the tenant that every link holds with this traffic, and Link the link that allows no more.
	Guarantee quantity.BitRate `json:"guarantee_bps"`
	Link      string           `json:"link,omitempty"`
	// Without lists ports of hosts: without their flows the requested guarantee fits. It is set only with VerdictNo, if leaving ports out helps.
	Without []string `json:"without,omitempty"`
}

// Compile compiles an input once. It returns the plan and the compiled model, which is nil if there are no tenants.
type Compile func(in model.Input) (*plan.Plan, *model.Model, error)

// Judge decides a request: it compiles the input with and without the request, and books all guarantees on every link that the flows may
// cross. It does not change the input.
//
// A larger guarantee is never admitted where a smaller one is refused: VerdictNo depends on booked guarantees only.
//
// Errors of the request are *Error; others are those of compile.
func Judge(in model.Input, r Request, compile Compile) (*Admission, error) {
	if in.Fabric == nil {
		return nil, fmt.Errorf("%w: no fabric", model.ErrInput)
	}
	was, before, err := compile(in)
	if err != nil {
		return nil, err
	}
	x := &admitter{in: in, r: r, e: whatif.NewEditor(in)}
	if err := x.edit(); err != nil {
		return nil, err
	}
	edited := x.e.Input
	edited.InForce = was
	is, after, err := compile(edited)
	if err != nil {
		return nil, err
	}
	out := &Admission{Tenant: r.Tenant, Change: r.Change, Traffic: x.traffic}
	out.Tenants = admissionShares(r.Tenant, edited.Tenants, was, is)
	d := diff.Between(was, is)
	out.Appeared, out.Vanished = plan.SortFindings(d.Appeared), plan.SortFindings(d.Vanished)
	out.Devices.Ports, out.Devices.Switches = diff.Devices(was, is)
	old, booked := newBooking(before), newBooking(after)
	out.Traffic.Idle = booked.idle
	out.Guarantees = checkGuarantees(old, booked, was, is)
	out.Fits = booked.fit(r.Tenant)
	out.Verdict = out.verdict()
	if out.Verdict == VerdictNo {
		out.Fits.Without = booked.without(r.Tenant)
	}
	return out, nil
}

// verdict considers only what the admission changes: earlier problems do not count.
func (a *Admission) verdict() Verdict {
	is := func(status string) bool {
		return slices.ContainsFunc(a.Guarantees, func(g GuaranteeCheck) bool { return g.New && g.Status == status })
	}
	switch {
	case is(GuaranteeBroken):
		return VerdictNo
	case is(GuaranteeAtRisk) || len(a.Appeared) > 0:
		return VerdictReservations
	}
	return VerdictYes
}

// admitter builds the input with the tenant.
type admitter struct {
	in      model.Input
	r       Request
	e       *whatif.Editor
	traffic AdmissionTraffic
}

func (x *admitter) edit() error {
	t, err := x.tenant()
	if err != nil {
		return err
	}
	if err := x.limits(t); err != nil {
		return err
	}
	had := len(t.Attachments)
	if len(x.r.Flows) > 0 {
		err = x.declared(t)
	} else {
		err = x.assumed(t)
	}
	if err != nil {
		return err
	}
	if len(t.Attachments) != had {
		slices.SortFunc(t.Attachments, func(a, b tenants.Attachment) int { return a.Port.Compare(b.Port) })
	}
	x.count(t)
	if err := tenants.Validate(x.e.Input.Tenants, x.e.Input.Flows); err != nil {
		return &Error{"tenant", err}
	}
	return nil
}

// tenant returns the copy's tenant to change, new or existing.
func (x *admitter) tenant() (*tenants.Tenant, error) {
	if !tenants.ValidName(x.r.Tenant) {
		return nil, refused("tenant", phrase.Of("admit.bad-name", "found", whatif.Quoted(x.r.Tenant), "max", tenants.MaxNameLength))
	}
	x.e.Input.Tenants = tenants.Attach(x.e.Input.Tenants, x.e.Input.Flows)
	if x.r.Change {
		t, err := x.e.Tenant(x.r.Tenant)
		if err != nil {
			return nil, &Error{"tenant", err}
		}
		return t, nil
	}
	if slices.ContainsFunc(x.e.Input.Tenants, func(t tenants.Tenant) bool { return t.Name == x.r.Tenant }) {
		return nil, refused("tenant", phrase.Of("admit.exists", "found", whatif.Quoted(x.r.Tenant)))
	}
	if x.r.Weight == 0 {
		return nil, refused("weight", phrase.Of("admit.weight-missing", "min", quantity.MinWeight, "max", quantity.MaxWeight))
	}
	x.e.Input.Tenants = append(x.e.Input.Tenants, tenants.Tenant{Name: x.r.Tenant})
	return &x.e.Input.Tenants[len(x.e.Input.Tenants)-1], nil
}

// limits sets weight, guarantee and cap.
func (x *admitter) limits(t *tenants.Tenant) error {
	if x.r.Weight != 0 {
		t.Weight = x.r.Weight
	}
	if x.r.Guarantee != nil {
		t.Guarantee = *x.r.Guarantee
	}
	if x.r.Cap != nil {
		t.Cap = *x.r.Cap
	}
	alone := tenants.Tenant{Name: t.Name, Weight: t.Weight, Guarantee: t.Guarantee, Cap: t.Cap}
	var fault *tenants.FieldError
	if err := tenants.Validate([]tenants.Tenant{alone}, nil); errors.As(err, &fault) {
		return refused(fault.Field, phrase.Of("want", "found", fault.Found, "want", fault.Allowed))
	} else if err != nil {
		return &Error{"tenant", err}
	}
	return nil
}

// ports resolves a list of ports of the request.
func (x *admitter) ports(field string, names []string) ([]ident.PortID, error) {
	if len(names) > MaxPorts {
		return nil, refused(field, phrase.Of("admit.too-many-ports", "n", len(names), "max", MaxPorts))
	}
	ids, seen := make([]ident.PortID, len(names)), make(map[ident.PortID]bool, len(names))
	for i, name := range names {
		id, err := x.e.Port(name)
		if err != nil {
			return nil, &Error{field, err}
		}
		if seen[id] {
			return nil, refused(field, phrase.Of("admit.port-twice", "port", whatif.Quoted(name)))
		}
		ids[i], seen[id] = id, true
	}
	return ids, nil
}

// declared adds the flows of the request.
func (x *admitter) declared(t *tenants.Tenant) error {
	if len(x.r.To) > 0 {
		return refused("to", phrase.Of("admit.flows-declared", "tenant", t.Name))
	}
	if x.r.QPs != 0 {
		return refused("qps", phrase.Of("admit.flows-declared", "tenant", t.Name))
	}
	ids, err := x.ports("ports", x.r.Ports)
	if err != nil {
		return err
	}
	attach(t, ids...)
	for _, f := range x.r.Flows {
		if f.Tenant != t.Name {
			return refused("flows", phrase.Of("admit.foreign-flow", "found", whatif.Quoted(f.Tenant), "tenant", t.Name))
		}
		attach(t, f.Src, f.Dst)
		x.e.Append(t, f)
	}
	x.traffic.Kind = TrafficDeclared
	return nil
}

// assumed adds flows between the ports of the request.
func (x *admitter) assumed(t *tenants.Tenant) error {
	qps := max(1, x.r.QPs)
	if x.r.QPs < 0 || qps > tenants.MaxQPs {
		return refused("qps", phrase.Of("want", "found", x.r.QPs, "want", fmt.Sprintf("1 to %d", tenants.MaxQPs)))
	}
	ids, err := x.ports("ports", x.r.Ports)
	if err != nil {
		return err
	}
	to, err := x.ports("to", x.r.To)
	if err != nil {
		return err
	}
	x.traffic.Kind = TrafficMesh
	var had []ident.PortID
	if len(to) > 0 {
		x.traffic.Kind, x.traffic.To = TrafficTo, len(to)
	} else {
		for _, a := range t.Attachments {
			had = append(had, a.Port)
		}
		if !slices.ContainsFunc(x.in.Flows, func(f tenants.Flow) bool { return f.Tenant == t.Name }) {
			fresh := slices.DeleteFunc(slices.Clone(ids), func(p ident.PortID) bool { return slices.Contains(had, p) })
			had, ids = nil, slices.Concat(had, fresh) // the traffic of its ports is unknown
		}
	}
	switch n := len(ids) + len(had); {
	case len(ids) == 0 && len(to) > 0:
		return refused("ports", phrase.Of("admit.no-senders"))
	case len(ids) == 0 && !x.r.Change:
		return refused("ports", phrase.Of("admit.no-ports", "max", MaxPorts))
	case len(ids) > 0 && len(to) == 0 && n < 2:
		return refused("ports", phrase.Of("admit.few-ports", "ports", phrase.Ports.Of(n), "max", MaxPorts))
	}
	pairs := meshed(had, ids)
	if len(to) > 0 {
		pairs = crossed(ids, to)
	}
	if most := min(MaxFlows, tenants.MaxFlows-len(x.e.Input.Flows)); len(pairs) > most {
		return refused("ports", phrase.Of("admit.too-many-pairs", "n", len(pairs), "max", most))
	}
	if len(pairs) == 0 && len(ids) > 0 && len(to) > 0 {
		return refused("to", phrase.Of("admit.own-port"))
	}
	class := ""
	if len(t.Classes) > 0 {
		class = t.Classes[0].Name
	}
	attach(t, slices.Concat(ids, to)...)
	if len(pairs) > 0 {
		x.e.TakeFlows()
	}
	for _, p := range pairs {
		x.e.Input.Flows = append(x.e.Input.Flows, tenants.Flow{Tenant: t.Name, Class: class, Src: p[0], Dst: p[1], QPs: qps})
	}
	if x.e.Input.Routes != nil && len(pairs) > 0 {
		x.e.Input.Routes = append(x.e.Input.Routes, make([][]model.Route, len(x.e.Input.Flows)-len(x.e.Input.Routes))...)
	}
	return nil
}

// meshed pairs each new port with every other one, and with the existing ones, in both directions.
func meshed(had, ids []ident.PortID) (out [][2]ident.PortID) {
	old := make(map[ident.PortID]bool, len(had))
	for _, p := range had {
		old[p] = true
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(p ident.PortID) bool { return old[p] })
	for _, p := range ids {
		for _, q := range had {
			out = append(out, [2]ident.PortID{p, q}, [2]ident.PortID{q, p})
		}
		for _, q := range ids {
			if p != q {
				out = append(out, [2]ident.PortID{p, q})
			}
		}
	}
	return out
}

func crossed(from, to []ident.PortID) (out [][2]ident.PortID) {
	for _, p := range from {
		for _, q := range to {
			if p != q {
				out = append(out, [2]ident.PortID{p, q})
			}
		}
	}
	return out
}

// attach attaches a tenant to ports that it is not attached to yet.
func attach(t *tenants.Tenant, ports ...ident.PortID) {
	at := make(map[ident.PortID]bool, len(t.Attachments)+len(ports))
	for _, a := range t.Attachments {
		at[a.Port] = true
	}
	for _, p := range ports {
		if !at[p] {
			at[p] = true
			t.Attachments = append(t.Attachments, tenants.Attachment{Port: p})
		}
	}
}

// count describes the tenant's current traffic.
func (x *admitter) count(t *tenants.Tenant) {
	x.traffic.Ports = len(t.Attachments)
	for i := range x.e.Input.Flows {
		if f := &x.e.Input.Flows[i]; f.Tenant == t.Name {
			x.traffic.Flows++
			x.traffic.QPs += f.QPs
		}
	}
	if len(x.e.Input.Flows) == len(x.in.Flows) {
		x.traffic.Kind = TrafficDeclared // nothing was assumed
	}
}

// admissionShares lists the tenants' shares before and after, the requesting one first.
func admissionShares(name string, after []tenants.Tenant, was, is *plan.Plan) []AdmissionShare {
	out := make([]AdmissionShare, len(after))
	least, leastAfter := leastShares(was), leastShares(is)
	for i, t := range after {
		out[i] = AdmissionShare{Tenant: t.Name, Weight: t.Weight, Guarantee: t.Guarantee, Cap: t.Cap,
			Before: admissionRate(was.Share(t.Name), least), After: admissionRate(is.Share(t.Name), leastAfter)}
	}
	slices.SortFunc(out, func(a, b AdmissionShare) int {
		if (a.Tenant == name) != (b.Tenant == name) {
			if a.Tenant == name {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Tenant, b.Tenant)
	})
	return out
}

func admissionRate(t *plan.TenantShare, least map[string]diff.LinkRate) *AdmissionRate {
	if t == nil {
		return nil
	}
	l := least[t.Tenant]
	return &AdmissionRate{Entitled: t.Entitled, Predicted: t.Predicted, Bound: t.Bound, Least: l.After.Predicted, Link: l.Link}
}

// leastShares returns, by tenant, its smallest predicted part of a contended link.
func leastShares(p *plan.Plan) map[string]diff.LinkRate {
	out := make(map[string]diff.LinkRate, len(p.Tenants))
	for i := range p.Links {
		for _, t := range p.Links[i].Tenants {
			if l, ok := out[t.Tenant]; !ok || t.Predicted < l.After.Predicted {
				out[t.Tenant] = diff.LinkRate{Link: p.Links[i].Name, After: t}
			}
		}
	}
	return out
}
