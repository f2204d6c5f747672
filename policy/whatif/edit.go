// Package whatif applies edits to a copy of an input, to predict their effect.
package whatif

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"fairlane/internal/disjoint"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/suggest"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Edit is one change of an input. ParseEdit reads one, Apply applies it.
type Edit struct {
	Kind   EditKind
	Tenant string
	Class  string           // EditFlow: of the flow; "" is the default class
	Weight quantity.Weight  // EditWeight, EditAdd
	Rate   quantity.BitRate // EditGuarantee, EditCap: 0 removes it; EditFlow: demand, 0 is greedy
	Factor float64          // EditFlows: factor on each flow's queue pairs, MinFactor to MaxFactor
	QPs    int              // EditFlow: queue pairs, 1 to tenants.MaxQPs
	Ports  []string         // EditFail: one; EditAdd: any number; EditFlow: source and destination; in the forms of subnet.Fabric.ResolvePort
}

// EditKind is the kind of an edit; its text is the word before the colon.
type EditKind string

// Kinds of edits.
const (
	EditWeight    EditKind = "weight"    // of a tenant
	EditGuarantee EditKind = "guarantee" // of a tenant
	EditCap       EditKind = "cap"       // of a tenant
	EditFlows     EditKind = "flows"     // multiplies a tenant's queue pairs
	EditFlow      EditKind = "flow"      // adds a flow to a tenant
	EditAdd       EditKind = "add"       // adds a tenant
	EditRemove    EditKind = "remove"    // removes a tenant and its flows
	EditFail      EditKind = "fail"      // unplugs the link of a port
)

// Bounds of edits.
const (
	MinFactor     = 0.001
	MaxFactor     = tenants.MaxQPs
	MaxEdits      = 1000 // in one Apply
	MaxEditPorts  = 1000 // of one added tenant
	MaxEditLength = 64 << 10
)

// Apply returns a copy of an input with the edits applied in order. It does not change the input; the copy shares with it what no edit
// changes.
//
// A failed link is removed from the fabric. Forwarding tables and given routes depend on it, so Apply drops all of them and the compiler
// computes new ones, as a subnet manager does after a failure. LIDs of InfiniBand stay. Flows without a path and attachments of ports without
// a link are removed, and the findings report them.
//
// Errors wrap ErrInput and name what was not found, with near matches.
func Apply(in model.Input, edits ...Edit) (model.Input, []plan.Finding, error) {
	if len(edits) > MaxEdits {
		return model.Input{}, nil, input(phrase.Of("edit.too-many", "n", len(edits), "max", MaxEdits), nil)
	}
	if in.Fabric == nil {
		return model.Input{}, nil, input(phrase.Of("edit.no-fabric"), nil)
	}
	e := NewEditor(in)
	for i, edit := range edits {
		if err := e.do(edit); err != nil {
			return model.Input{}, nil, input(phrase.Of("edit.at", "n", i+1, "edit", edit.String(), "reason", err), err)
		}
	}
	findings, err := e.dropUnreachable()
	if err != nil {
		return model.Input{}, nil, fmt.Errorf("%w: %w", model.ErrInput, err)
	}
	if err := tenants.Validate(e.Input.Tenants, e.Input.Flows); err != nil {
		return model.Input{}, nil, input(phrase.Of("edit.after", "reason", err), err)
	}
	return e.Input, findings, nil
}

// Editor holds the copy that edits change.
type Editor struct {
	Input    model.Input
	ownFlows bool     // Flows and Routes are the copy's own
	failed   []string // names of removed links
}

// NewEditor copies the parts of tenants that edits change; flows and routes are shared until an edit changes them.
func NewEditor(in model.Input) *Editor {
	in.Tenants = slices.Clone(in.Tenants)
	for i := range in.Tenants {
		in.Tenants[i].Attachments = slices.Clone(in.Tenants[i].Attachments)
	}
	return &Editor{Input: in}
}

// TakeFlows makes flows and routes the copy's own. Edits of weights only leave them shared, by which a Compiler recognises them as unchanged.
func (e *Editor) TakeFlows() {
	if e.ownFlows {
		return
	}
	e.ownFlows = true
	e.Input.Flows = slices.Clone(e.Input.Flows)
	if e.Input.Routes != nil {
		e.Input.Routes = append(slices.Clone(e.Input.Routes), make([][]model.Route, max(0, len(e.Input.Flows)-len(e.Input.Routes)))...)
	}
}

func (e *Editor) do(x Edit) error {
	switch x.Kind {
	case EditFail:
		return e.fail(x)
	case EditAdd:
		return e.addTenant(x)
	case EditWeight, EditGuarantee, EditCap, EditFlows, EditFlow, EditRemove:
	default:
		return fault(phrase.Of("edit.kind", "kind", strconv.Quote(string(x.Kind)), "kinds", editKinds()))
	}
	t, err := e.Tenant(x.Tenant)
	if err != nil {
		return err
	}
	switch x.Kind {
	case EditWeight:
		t.Weight = x.Weight
		return x.Weight.Validate()
	case EditGuarantee:
		t.Guarantee = x.Rate
	case EditCap:
		t.Cap = x.Rate
	case EditFlows:
		return e.multiply(x)
	case EditFlow:
		return e.addFlow(t, x)
	default:
		e.remove(x.Tenant)
	}
	return nil
}

// Tenant returns a tenant of the copy.
func (e *Editor) Tenant(name string) (*tenants.Tenant, error) {
	names := make([]string, len(e.Input.Tenants))
	for i := range e.Input.Tenants {
		if names[i] = e.Input.Tenants[i].Name; names[i] == name {
			return &e.Input.Tenants[i], nil
		}
	}
	slices.Sort(names)
	if like := suggest.Names(name, names); len(like) > 0 {
		return nil, fault(phrase.Of("edit.no-tenant-near", "tenant", strconv.Quote(name), "near", like))
	}
	if len(names) == 0 {
		return nil, fault(phrase.Of("edit.no-tenants", "tenant", strconv.Quote(name)))
	}
	return nil, fault(phrase.Of("edit.no-tenant", "tenant", strconv.Quote(name), "tenants", phrase.Names(names, len(names), plan.MaxNames)))
}

// Port returns a channel-adapter port that has a link.
func (e *Editor) Port(name string) (ident.PortID, error) {
	ref, err := e.Input.Fabric.ResolvePort(name)
	if err != nil {
		return ident.PortID{}, err
	}
	id := e.Input.Fabric.PortID(ref)
	_, err = model.CAPort(e.Input.Fabric, id)
	return id, err
}

// multiply scales queue pairs, and those of given routes with them.
func (e *Editor) multiply(x Edit) error {
	if !(x.Factor >= MinFactor && x.Factor <= MaxFactor) {
		return fault(phrase.Of("edit.factor-range", "factor", x.Factor, "min", MinFactor, "max", MaxFactor))
	}
	e.TakeFlows()
	for i := range e.Input.Flows {
		f := &e.Input.Flows[i]
		if f.Tenant != x.Tenant {
			continue
		}
		before := f.QPs
		qps := max(1, math.Round(float64(float64(before)*x.Factor)))
		if qps > tenants.MaxQPs {
			return fault(phrase.Of("edit.flow-queue-pairs", "flow", i, "n", fmt.Sprintf("%.0f", qps), "max", tenants.MaxQPs))
		}
		f.QPs = int(qps)
		if e.Input.Routes != nil {
			ways := slices.Clone(e.Input.Routes[i])
			for k := range ways {
				ways[k].QPs = float64(ways[k].QPs*qps) / float64(before)
			}
			e.Input.Routes[i] = ways
		}
	}
	return nil
}

func (e *Editor) addFlow(t *tenants.Tenant, x Edit) error {
	if len(x.Ports) != 2 {
		return fault(phrase.Of("edit.two-ports", "n", len(x.Ports)))
	}
	src, err := e.Port(x.Ports[0])
	if err != nil {
		return err
	}
	dst, err := e.Port(x.Ports[1])
	if err != nil {
		return err
	}
	e.Append(t, tenants.Flow{Tenant: t.Name, Class: x.Class, Src: src, Dst: dst, QPs: x.QPs, Demand: x.Rate})
	return nil
}

// Append adds a flow. If the tenant lists its ports, it is attached to the flow's.
func (e *Editor) Append(t *tenants.Tenant, f tenants.Flow) {
	e.TakeFlows()
	e.Input.Flows = append(e.Input.Flows, f)
	if e.Input.Routes != nil {
		e.Input.Routes = append(e.Input.Routes, nil)
	}
	if len(t.Attachments) == 0 {
		return
	}
	for _, id := range []ident.PortID{f.Src, f.Dst} {
		if !slices.ContainsFunc(t.Attachments, func(a tenants.Attachment) bool { return a.Port == id }) {
			t.Attachments = append(t.Attachments, tenants.Attachment{Port: id})
		}
	}
}

// addTenant adds a tenant with a queue pair from each of its ports to every other.
func (e *Editor) addTenant(x Edit) error {
	if slices.ContainsFunc(e.Input.Tenants, func(t tenants.Tenant) bool { return t.Name == x.Tenant }) {
		return fault(phrase.Of("edit.tenant-exists", "tenant", x.Tenant, "weight", x.Weight.String()))
	}
	if len(x.Ports) == 1 || len(x.Ports) > MaxEditPorts {
		return fault(phrase.Of("edit.ports-mesh", "ports", phrase.Ports.Of(len(x.Ports)), "max", MaxEditPorts))
	}
	ids := make([]ident.PortID, len(x.Ports))
	for i, name := range x.Ports {
		id, err := e.Port(name)
		if err != nil {
			return err
		}
		if slices.Contains(ids[:i], id) {
			return fault(phrase.Of("edit.port-twice", "port", strconv.Quote(name)))
		}
		ids[i] = id
	}
	if n := len(ids) * (len(ids) - 1); n > tenants.MaxFlows-len(e.Input.Flows) {
		return fault(phrase.Of("edit.flows-max", "n", n, "max", tenants.MaxFlows))
	}
	t := tenants.Tenant{Name: x.Tenant, Weight: x.Weight}
	for _, src := range ids {
		for _, dst := range ids {
			if src != dst {
				e.Append(&t, tenants.Flow{Tenant: x.Tenant, Src: src, Dst: dst, QPs: 1})
			}
		}
	}
	e.Input.Tenants = append(e.Input.Tenants, t)
	return nil
}

func (e *Editor) remove(tenant string) {
	e.Input.Tenants = slices.DeleteFunc(e.Input.Tenants, func(t tenants.Tenant) bool { return t.Name == tenant })
	e.keep(func(f *tenants.Flow) bool { return f.Tenant != tenant })
}

// keep removes the flows that ok rejects, with their routes.
func (e *Editor) keep(ok func(*tenants.Flow) bool) {
	e.TakeFlows()
	n := 0
	for i := range e.Input.Flows {
		if ok(&e.Input.Flows[i]) {
			e.Input.Flows[n] = e.Input.Flows[i]
			if e.Input.Routes != nil {
				e.Input.Routes[n] = e.Input.Routes[i]
			}
			n++
		}
	}
	e.Input.Flows = e.Input.Flows[:n]
	if e.Input.Routes != nil {
		e.Input.Routes = e.Input.Routes[:n]
	}
}

// fail removes a port's link from the fabric.
func (e *Editor) fail(x Edit) error {
	if len(x.Ports) != 1 {
		return fault(phrase.Of("edit.one-port", "n", len(x.Ports)))
	}
	ref, err := e.Input.Fabric.ResolvePort(x.Ports[0])
	if err != nil {
		return err
	}
	peer, ok := e.Input.Fabric.Peer(ref)
	if !ok {
		return fault(phrase.Of("edit.port-unplugged", "port", e.Input.Fabric.PortName(ref)))
	}
	f := e.Input.Fabric
	if e.Input.Options.RequestedPlane() == subnet.PlaneIB {
		// LIDs first: a removed link must not change assigned LIDs.
		if f, err = subnet.AssignLIDs(f, 0); err != nil {
			return err
		}
	}
	_, at := f.Link(ref)
	links := slices.Delete(slices.Clone(f.Links), int(at), int(at)+1)
	e.failed = append(e.failed, f.PortName(ref)+" - "+f.PortName(peer))
	e.Input.Routes = nil
	e.Input.Fabric, err = subnet.New(f.Name, f.Nodes, links)
	return err
}

// dropUnreachable removes what failed links disconnect.
func (e *Editor) dropUnreachable() ([]plan.Finding, error) {
	if len(e.failed) == 0 {
		return nil, nil
	}
	f := e.Input.Fabric
	reachable, err := e.reachable()
	if err != nil {
		return nil, err
	}
	for i := range e.Input.Tenants {
		t := &e.Input.Tenants[i]
		t.Attachments = slices.DeleteFunc(t.Attachments, func(a tenants.Attachment) bool {
			ref, ok := f.PortByID(a.Port)
			_, plugged := f.Peer(ref)
			return ok && !plugged
		})
	}
	type loss struct {
		flows, qps int
		example    phrase.Text
	}
	lost := map[string]loss{}
	e.keep(func(fl *tenants.Flow) bool {
		if linked(f, fl, reachable) {
			return true
		}
		l := lost[fl.Tenant]
		src, _ := f.PortByID(fl.Src)
		dst, _ := f.PortByID(fl.Dst)
		if l.flows == 0 {
			l.example = phrase.Of("plan.from-to", "source", f.PortName(src), "destination", f.PortName(dst))
		}
		lost[fl.Tenant] = loss{l.flows + 1, l.qps + fl.QPs, l.example}
		return false
	})
	var out []plan.Finding
	for name, l := range lost {
		out = append(out, plan.NewFinding(plan.CodeFlowUnreachable, []string{name}, plan.Bounded(e.failed),
			phrase.Of("plan.flow-unreachable", "flows", plan.Counted(l.flows, plan.KindFlow), "tenant", name, "qps", plan.Counted(l.qps, plan.KindQueuePair), "example", l.example),
			phrase.Of("plan.flow-unreachable.fix")))
	}
	return plan.SortFindings(out), nil
}

// linked reports whether both ends have links and reachable finds a path between them. Compile reports other errors of a flow.
func linked(f *subnet.Fabric, fl *tenants.Flow, reachable func(src, dst subnet.PortRef) bool) bool {
	src, ok := f.PortByID(fl.Src)
	if !ok {
		return true
	}
	dst, ok := f.PortByID(fl.Dst)
	if !ok {
		return true
	}
	for _, p := range []subnet.PortRef{src, dst} {
		if _, plugged := f.Peer(p); !plugged {
			return false
		}
	}
	return reachable(src, dst)
}

// reachable returns a function that reports whether the compiler will find a path between two ports with links: on InfiniBand by forwarding
// tables; on Ethernet between neighbours, and between hosts whose switches are connected by links between switches.
func (e *Editor) reachable() (func(src, dst subnet.PortRef) bool, error) {
	if e.Input.Options.RequestedPlane() == subnet.PlaneIB {
		f, err := model.Routed(e.Input.Fabric)
		return func(src, dst subnet.PortRef) bool {
			_, err := subnet.Path(f, src, f.Port(dst).LID)
			return err == nil
		}, err
	}
	f := e.Input.Fabric
	joined := disjoint.New(len(f.Nodes))
	s := (&model.Model{Fabric: f, Plane: e.Input.Options.RequestedPlane()}).SwitchLinks()
	for n := range int32(len(f.Nodes)) {
		for _, l := range s.Of(n) {
			joined.Join(n, l.Peer)
		}
	}
	return func(src, dst subnet.PortRef) bool {
		from, _ := f.Peer(src)
		to, _ := f.Peer(dst)
		return from == dst || f.Nodes[to.Node].Kind == subnet.KindSwitch && joined.Find(from.Node) == joined.Find(to.Node)
	}, nil
}
