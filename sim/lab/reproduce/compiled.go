package reproduce

import (
	"context"
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/fabric"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Names of E3's tenants for the compiler.
const (
	tenantOne = "tenant1"
	tenantTwo = "tenant2"
)

// compiledLengths returns phase lengths with the settling time of the compiler's findings, 150 ms.
func compiledLengths() lengths { return lengths{650 * ms, 150 * ms} }

// planCompiled returns the jobs and rows of E3 with two tenants of equal weight. The compiler recomputes their settings in
// each phase: with S1's lever and with the product rule, for both forms of the timer.
func planCompiled(seed uint64) ([]job, func() []Row) {
	type point struct {
		mode    policy.Mode
		restart bool
		phases  []phase
	}
	var points []*point
	for _, mode := range []policy.Mode{policy.ModeTheorem1, policy.ModeProduct} {
		for _, restart := range []bool{false, true} {
			points = append(points, &point{mode: mode, restart: restart})
		}
	}
	var jobs []job
	for _, p := range points {
		jobs = append(jobs, func(ctx context.Context) (err error) {
			p.phases, err = runCompiled(ctx, seed, policy.Options{Mode: p.mode, TimerRestart: p.restart}, schedule(), compiledLengths())
			return err
		})
	}
	return jobs, func() []Row {
		var rows []Row
		for _, p := range points {
			form := variant{restart: p.restart}.timerForm()
			for i, ph := range p.phases {
				rows = append(rows, unpublished(fmt.Sprintf("%s-share-error-phase%d-%dflows.%s", p.mode, i+1, ph.flows, form), ph.shareError(), "",
					fmt.Sprintf("compiled; error of each tenant relative to one half; link utilisation %.1f %%", 100*ph.use)))
			}
		}
		return rows
	}
}

// shareError returns the deviation of each tenant's rate from half of the total, relative to that half; it is the same for both
// tenants.
func (p phase) shareError() float64 { return math.Abs(2*p.share() - 1) }

// runCompiled runs E3 on one network; each phase starts with the plan for its flows.
func runCompiled(ctx context.Context, seed uint64, o policy.Options, phases []int, l lengths) ([]phase, error) {
	b, err := newTestbed(fabric.Config{Seed: seed, TimerRestart: o.TimerRestart})
	if err != nil {
		return nil, err
	}
	return b.runPhases(ctx, phases, l, func(n int, ids []fabric.FlowID) error {
		plan, err := b.compile(n, o)
		if err != nil {
			return err
		}
		return b.install(plan, ids)
	})
}

// compile returns the plan for tenant 1's flow and n flows of tenant 2.
func (b *testbed) compile(n int, o policy.Options) (*policy.Plan, error) {
	topo := b.Topology()
	flows := make([]tenants.Flow, 0, n+1)
	add := func(tenant, src, dst string) error {
		from, err := host(topo, src)
		if err != nil {
			return err
		}
		to, err := host(topo, dst)
		if err != nil {
			return err
		}
		flows = append(flows, tenants.Flow{Tenant: tenant, Src: topo.PortID(from), Dst: topo.PortID(to), QPs: 1})
		return nil
	}
	if err := add(tenantOne, "C", "A"); err != nil {
		return nil, err
	}
	for _, src := range joining()[:n] {
		if err := add(tenantTwo, src, "B"); err != nil {
			return nil, err
		}
	}
	ts := tenants.Attach([]tenants.Tenant{
		{Name: tenantOne, Weight: quantity.WeightOne, PKey: 0x8001},
		{Name: tenantTwo, Weight: quantity.WeightOne, PKey: 0x8002},
	}, flows)
	plan, err := policy.Compile(policy.Input{Fabric: topo, Tenants: ts, Flows: flows, Options: o})
	if err != nil {
		return nil, fmt.Errorf("compile %d flows: %w", n, err)
	}
	return plan, nil
}

// install applies a plan's settings to the network, as a rollout would, and moves the flows of tenantFlows to the
// service levels that the plan assigns to their tenants.
func (b *testbed) install(p *policy.Plan, ids []fabric.FlowID) error {
	topo := b.Topology()
	for i := range p.CAs {
		ref, ok := topo.PortByID(p.CAs[i].Port)
		if !ok {
			return fmt.Errorf("plan for port %s: no such port", p.CAs[i].Port)
		}
		b.ApplyCA(ref.Node, ref.Port, p.CAs[i].Settings)
	}
	for i := range p.Switches {
		node, ok := topo.NodeByGUID(p.Switches[i].Node)
		if !ok {
			return fmt.Errorf("plan for switch %s: no such switch", p.Switches[i].Node)
		}
		b.SetSwitchCC(node, p.Switches[i].Defaults)
		for port, m := range p.Switches[i].Ports {
			b.SetPortMarking(node, ident.PortNum(port), m)
		}
	}
	for i, id := range ids {
		tenant := tenantTwo
		if i == 0 {
			tenant = tenantOne
		}
		if sl, ok := p.SL(tenant, topo.PortID(b.Flow(id).Spec.Src)); ok {
			b.SetFlowSL(id, sl)
		}
	}
	return nil
}
