package policy

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"fairlane/policy/admit"
	"fairlane/policy/fill"
	"fairlane/policy/ib"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/policy/roce"
	"fairlane/policy/wrcc"
	"fairlane/subnet"
	"fairlane/tenants"
)

// Compiler compiles one input after another and reuses the last result: it does not compute again what an input has in common with the
// previous one. The plan is the same, byte for byte, as that of Compile. It is fast if Fabric, Flows and Routes are the same slices and
// pointers as before, as when a caller changes only tenants' weights, guarantees or caps. Callers must not write to these between calls. The
// zero value is ready; a Compiler is not safe for concurrent use.
type Compiler struct {
	in       model.Input
	m        *model.Model
	settings *ib.Settings // on InfiniBand
	roce     *roce.Settings
	wrcc     *wrcc.Settings
	plan     *plan.Plan
	digests  *plan.Digests
	once     bool // no further compilation follows
	eager    bool // see fill.Solver.Eager
}

// Compile is the function Compile with memory. After an error the memory is empty.
func (c *Compiler) Compile(in model.Input) (*plan.Plan, error) {
	p, err := c.compile(in)
	if err != nil {
		*c = Compiler{once: c.once, eager: c.eager}
	}
	return p, err
}

func (c *Compiler) compile(in model.Input) (*plan.Plan, error) {
	m, same, err := c.model(in)
	if err != nil {
		return nil, err
	}
	if len(in.Tenants) == 0 {
		*c = Compiler{once: c.once, eager: c.eager}
		return emptyPlan(m.Plane), nil
	}
	if !c.once {
		defer m.Targets.Settle()
		defer m.Forecasts.Settle()
	}
	target := entitleConcurrently(m)
	if target.Err != nil {
		return nil, target.Err
	}
	var o *model.Outcome
	next := Compiler{in: in, m: m, digests: c.digests.Next(), once: c.once, eager: c.eager}
	if !same {
		c.settings, c.roce, c.wrcc = nil, nil, nil
	}
	t := model.Task{Model: m, Target: target, Before: c.plan, Was: c.digests, Digests: next.digests}
	switch m.Plane {
	case subnet.PlaneRoCE:
		next.roce, o, err = roce.Compile(t, c.roce)
	case subnet.PlaneWRCC:
		next.wrcc, o, err = wrcc.Compile(t, c.wrcc)
	default:
		next.settings, o, err = ib.Compile(t, c.settings)
	}
	if err != nil {
		return nil, err
	}
	if o.Predicted.Err != nil {
		return nil, o.Predicted.Err
	}
	p := &plan.Plan{Format: plan.PlanFormat, Plane: m.Plane, Placements: []plan.Placement{}, CAs: []plan.CAPlan{}, Switches: []plan.SwitchPlan{}}
	hashErrors := writeShares(m, p, target, o.Predicted)
	o.Write(p)
	p.Settle = model.RoundTime(o.Settle)
	for t := range o.Bounds {
		o.Bounds[t] += hashErrors[t]
	}
	o.Findings = slices.Concat(o.Findings, hashErrorFinding(m, hashErrors), roughFinding(target, o.Predicted))
	m.SetBounds(p.Tenants, p.Classes, p.Links, o.Bounds)
	advised := advise(m, slices.Concat(o.Findings, guaranteeFindings(m, target), claimFindings(m, next.roce), shareFindings(m, p)), p, target)
	p.Findings = plan.SortFindings(append(advised, uncertainFinding(m, p)...))
	p.Name = p.HashWith(next.digests)
	next.plan = p
	*c = next
	return p, nil
}

// emptyPlan returns the plan for zero tenants. It lists no device, so a rollout of it removes every setting of earlier plans, on any fabric.
func emptyPlan(plane subnet.Plane) *plan.Plan {
	p := &plan.Plan{
		Format: plan.PlanFormat, Plane: plane, Placements: []plan.Placement{}, CAs: []plan.CAPlan{}, Switches: []plan.SwitchPlan{},
		Tenants: []plan.TenantShare{}, Links: []plan.LinkShare{}, Findings: []plan.Finding{},
	}
	switch plane {
	case subnet.PlaneRoCE:
		p.RoCE = &plan.RoCEPlan{NICs: []plan.NICPlan{}, Switches: []plan.ECNPlan{}, Traffic: []plan.RoCEPlacement{}}
	case subnet.PlaneWRCC:
		p.WRCC = &plan.WRCCPlan{Increase: wrcc.Increase.String(), Domains: []plan.WRCCDomainPlan{}, Ports: []plan.WRCCPortPlan{}, Senders: []plan.WRCCSenderPlan{}}
	}
	p.Name = p.Hash()
	return p
}

// entitleConcurrently computes the target and, concurrently, the parts of the layout that later stages read from several goroutines.
func entitleConcurrently(m *model.Model) *model.Allocation {
	m.Layout()
	var work sync.WaitGroup
	work.Go(func() { m.Parts() })
	target := m.Entitle()
	work.Wait()
	return target
}

// writeShares writes the shares into the plan, on two goroutines. It returns, by tenant, the part of the bound that unknown path hashing adds,
// see HashErrors.
func writeShares(m *model.Model, p *plan.Plan, target, predicted *model.Allocation) (hashErrors []float64) {
	var work sync.WaitGroup
	work.Go(func() { p.Links = m.LinkShares(target, predicted) })
	p.Tenants, p.Classes = m.TenantShares(target, predicted), m.ClassShares(target, predicted)
	hashErrors = m.HashErrors(target)
	work.Wait()
	return hashErrors
}

// model checks the input. If only weights and limits of tenants differ from the previous input, the model shares its routes, flows and
// attachments.
func (c *Compiler) model(in model.Input) (m *model.Model, same bool, err error) {
	if c.m == nil || !c.sameExceptWeights(&in) {
		if m, err = model.New(in); err == nil && !c.once {
			m.Targets, m.Forecasts = &fill.Solver{Eager: c.eager}, &fill.Solver{Eager: c.eager}
		}
		return m, false, err
	}
	if err := validateAlone(in.Tenants); err != nil {
		return nil, false, err
	}
	m = new(model.Model)
	*m = *c.m
	m.Input = in
	m.Tenants = slices.Clone(c.m.Tenants)
	of := make(map[string]*tenants.Tenant, len(in.Tenants))
	for i := range in.Tenants {
		of[in.Tenants[i].Name] = &in.Tenants[i]
	}
	for i := range m.Tenants {
		attached := m.Tenants[i].Attachments
		m.Tenants[i] = *of[m.Tenants[i].Name]
		m.Tenants[i].Attachments = attached
	}
	model.SortClasses(m.Tenants)
	return m, true, nil
}

// sameExceptWeights reports whether an input differs from the last one only in weights and limits.
func (c *Compiler) sameExceptWeights(in *model.Input) bool {
	was := &c.in
	return in.Fabric == was.Fabric && in.IBProfiles == was.IBProfiles && in.InForce == was.InForce && sameSlice(in.Flows, was.Flows) &&
		sameSlice(in.Routes, was.Routes) && sameSlice(in.Profiles, was.Profiles) &&
		reflect.DeepEqual(in.Options, was.Options) && slices.EqualFunc(in.Tenants, was.Tenants, sameShape)
}

// sameSlice reports whether two slices are the same memory.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// sameShape reports whether two tenants differ only in weights and limits.
func sameShape(a, b tenants.Tenant) bool {
	return a.Name == b.Name && a.PKey == b.PKey &&
		slices.EqualFunc(a.Classes, b.Classes, func(x, y tenants.Class) bool { return x.Name == y.Name }) &&
		(sameSlice(a.Attachments, b.Attachments) || reflect.DeepEqual(a.Attachments, b.Attachments))
}

// validateAlone checks the properties of tenants that do not depend on attachments.
func validateAlone(ts []tenants.Tenant) error {
	alone := slices.Clone(ts)
	for i := range alone {
		alone[i].Attachments = nil
	}
	if err := tenants.Validate(alone, nil); err != nil {
		return fmt.Errorf("%w: %w", model.ErrInput, err)
	}
	return nil
}

// Compile turns weights, fabric and flows into a plan. It contains the entitlements (Entitle), the SL of each tenant's traffic, the
// congestion-control settings of every channel-adapter port that a tenant is attached to, the marking of every switch, the predicted effect,
// and the findings. Ports without tenants remain unchanged. The same input gives the same plan on every machine, in any order of its lists.
//
// It fails, wrapping ErrInput, on options or tenants out of range, ports that are not in the fabric or not channel adapters, links without a
// rate, and missing routes. Whatever compiles but cannot be honoured is a finding.
func Compile(in model.Input) (*plan.Plan, error) { return (&Compiler{once: true}).Compile(in) }

// Admit decides a request: it compiles the input with and without the request, and books all guarantees on every link that the flows may
// cross. It does not change the input.
//
// A larger guarantee is never admitted where a smaller one is refused: VerdictNo depends on booked guarantees only.
//
// Errors of the request are *AdmitError; others are those of Compile.
func Admit(in model.Input, r AdmitRequest) (*admit.Admission, error) {
	return admit.Judge(in, r, func(in model.Input) (*plan.Plan, *model.Model, error) {
		c := Compiler{once: true}
		p, err := c.Compile(in)
		return p, c.m, err
	})
}
