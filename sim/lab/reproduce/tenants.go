package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
)

// publishedTenant1 is S1's measured rate of C->A, in Gbit/s, throughout E3.
const publishedTenant1 = 3.4

// publishedBECNs returns the BECNs at D per unit of time with one, two and three flows of tenant 2, and therefore
// CCTI_Increase 1, 2 and 3. S1 does not give the unit, so only ratios can be compared.
func publishedBECNs() [3]float64 { return [3]float64{790, 480, 320} }

// Lengths of E3's phases. S1's are about a second; the shares settle within milliseconds.
const (
	tenantsPhase  = 500 * ms
	tenantsSettle = 50 * ms
)

// joining returns the sources of tenant 2 in the order in which they join; all send to B.
func joining() []string { return []string{"D", "E", "F"} }

// schedule returns the number of tenant 2's flows in each phase: E and F join, F and E leave.
func schedule() []int { return []int{1, 2, 3, 2, 1} }

// phase holds the measurements of one phase of E3.
type phase struct {
	flows   int     // flows of tenant 2, and its CCTI_Increase
	tenant1 float64 // payload of C->A, bit/s
	tenant2 float64 // payload of tenant 2
	d       float64 // payload of D->B
	becns   float64 // BECNs at D per second
	use     float64 // utilization of the link between the switches
}

// share returns tenant 1's fraction of both tenants' traffic.
func (p phase) share() float64 { return p.tenant1 / (p.tenant1 + p.tenant2) }

// lengths are the lengths of a phase and of its settling time, which is not counted.
type lengths struct{ phase, settle quantity.Picoseconds }

// runTenants runs E3 through the phases.
func runTenants(ctx context.Context, v variant, phases []int, l lengths) ([]phase, error) {
	b, err := newTestbed(v.config())
	if err != nil {
		return nil, err
	}
	if err := b.congestionControl(v, 1); err != nil {
		return nil, err
	}
	return b.runPhases(ctx, phases, l, func(n int, _ []fabric.FlowID) error { return b.setIncrease(uint8(n), joining()...) })
}

// runPhases runs E3 through the phases on a new testbed; begin prepares a phase of n flows of tenant 2.
func (b *testbed) runPhases(ctx context.Context, phases []int, l lengths, begin func(n int, ids []fabric.FlowID) error) ([]phase, error) {
	ids, err := b.tenantFlows(phases, l.phase)
	if err != nil {
		return nil, err
	}
	out := make([]phase, len(phases))
	for i, n := range phases {
		start := quantity.Picoseconds(i) * l.phase
		if err := b.runTo(ctx, start); err != nil {
			return nil, err
		}
		if err := begin(n, ids); err != nil {
			return nil, err
		}
		p, err := b.measure(ctx, ids, start+l.settle, start+l.phase)
		if err != nil {
			return nil, err
		}
		out[i] = phaseOf(n, p)
	}
	return out, nil
}

// phaseOf sums the rates of the flows of tenantFlows.
func phaseOf(flows int, p []pace) phase {
	out := phase{flows: flows, tenant1: p[0].payload, d: p[1].payload, becns: p[1].becns, use: p[0].wire / float64(linkRate)}
	for _, x := range p[1:] {
		out.tenant2 += x.payload
		out.use += x.wire / float64(linkRate)
	}
	return out
}

// tenantFlows adds flows C->A and D->B, and one flow for each interval between a join and a leave of E or F.
func (b *testbed) tenantFlows(phases []int, length quantity.Picoseconds) ([]fabric.FlowID, error) {
	one, err := b.flow("C", "A", 0, 0)
	if err != nil {
		return nil, err
	}
	ids := []fabric.FlowID{one}
	for k, src := range joining() {
		for i := 0; i < len(phases); i++ {
			if phases[i] <= k {
				continue
			}
			first := i
			for i+1 < len(phases) && phases[i+1] > k {
				i++
			}
			id, err := b.flow(src, "B", quantity.Picoseconds(first)*length, quantity.Picoseconds(i+1)*length)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// closedForm returns the law by which BECNs and rates fall with CCTI_Increase, relative to Increase 1. With a free-running
// timer it is 1/Increase, because Increase timer expiries are necessary to undo one BECN. With a timer restarted by BECNs it
// is ln(1 + 1/Increase)/ln 2, for BECNs that arrive as a Poisson process.
func closedForm(restart bool, increase int) float64 {
	if restart {
		return math.Log1p(1/float64(increase)) / math.Ln2
	}
	return 1 / float64(increase)
}

func planTenants(seed uint64) ([]job, func() []Row) {
	var jobs []job
	var parts []func() []Row
	for _, v := range readingsOfS1(seed) {
		var phases []phase
		jobs = append(jobs, func(ctx context.Context) (err error) {
			phases, err = runTenants(ctx, v, schedule(), lengths{tenantsPhase, tenantsSettle})
			return err
		})
		parts = append(parts, func() []Row { return phaseRows(v, phases) })
		var c changes
		jobs = append(jobs, func(ctx context.Context) (err error) {
			c, err = runChanges(ctx, v, changeCycles)
			return err
		})
		parts = append(parts, func() []Row { return c.rows(v.label()) })
	}
	j, rows := planCompiled(seed)
	jobs, parts = append(jobs, j...), append(parts, rows)
	for _, v := range useReadingsOfS1(seed) {
		var phases []phase
		jobs = append(jobs, func(ctx context.Context) (err error) {
			phases, err = runTenants(ctx, v, schedule(), lengths{tenantsPhase, tenantsSettle})
			return err
		})
		parts = append(parts, func() []Row { return phaseRows(v, phases) })
	}
	return jobs, func() []Row {
		var out []Row
		for _, p := range parts {
			out = append(out, p()...)
		}
		return out
	}
}

// phaseRows reports the phases of one run. The closed forms hold for any threshold and are reported once for each form of the
// timer.
func phaseRows(v variant, phases []phase) []Row {
	rows := becnRows(v, phases)
	if v.threshold == openThreshold && v.by == fabric.MarkByQueue {
		rows = append(rows, closedFormRows(v)...)
	}
	return append(rows, shareRows(v, phases)...)
}

// becnRows compares the BECNs at D with the published ratios.
func becnRows(v variant, phases []phase) []Row {
	form, want := v.label(), publishedBECNs()
	one := phases[0].becns
	rows := []Row{unpublished("becns-per-100ms-increase1."+form, one/10, "", "S1 counts 790 in a unit of time it does not name")}
	for i := 1; i < 3; i++ {
		ratio := want[i] / want[0]
		rows = append(rows, published(fmt.Sprintf("becns-increase%d.%s", i+1, form), ratio, phases[i].becns/one, "",
			fmt.Sprintf("BECNs to D relative to Increase 1; published %g of %g", want[i], want[0])))
	}
	return rows
}

// closedFormRows compares the closed form with the published BECN ratios and shares.
func closedFormRows(v variant) []Row {
	form, want := v.timerForm(), publishedBECNs()
	var rows []Row
	for i := 1; i < 3; i++ {
		rows = append(rows, published(fmt.Sprintf("closed-form-increase%d.%s", i+1, form), want[i]/want[0], closedForm(v.restart, i+1), "",
			map[bool]string{false: "1/Increase", true: "ln(1 + 1/Increase) / ln 2"}[v.restart]))
	}
	for i := 1; i < 3; i++ {
		share := 1 / (1 + float64(i+1)*closedForm(v.restart, i+1))
		rows = append(rows, published(fmt.Sprintf("closed-form-tenant1-share-%dflows.%s", i+1, form), 0.5, share, "",
			"rates in proportion to the closed form"))
	}
	return rows
}

// shareRows compares the rates of both tenants in each phase.
func shareRows(v variant, phases []phase) []Row {
	form := v.label()
	var shares, parts, rates []Row
	for i, p := range phases {
		at := fmt.Sprintf("-phase%d-%dflows.%s", i+1, p.flows, form)
		shares = append(shares, published("tenant1-share"+at, 0.5, p.share(), "", "of what both tenants carry"))
		parts = append(parts, published("d-part"+at, 1/float64(p.flows), p.d/p.tenant2, "", "of what tenant 2 carries"))
		rates = append(rates, published("tenant1-rate"+at, publishedTenant1, gbit(p.tenant1), "Gbit/s", fmt.Sprintf("payload; link utilisation %.1f %%", 100*p.use)))
	}
	return slices.Concat(shares, parts, rates)
}
