package reproduce

import (
	"context"
	"fmt"
)

// sensitivityLengths returns lengths shorter than those of E3 itself. Each count is still based on hundreds of BECNs.
func sensitivityLengths() lengths { return lengths{300 * ms, 50 * ms} }

// open is one choice of S1's open values, with the results of E3 and E1.
type open struct {
	label string
	v     variant
	e3    []phase
	e1    fairnessRun
}

// openMarkings returns the tested marking rates, in packets per mark.
func openMarkings() []uint16 { return []uint16{1, 4, 16, 32, 64} }

// openChoices changes one parameter of the base at a time.
func openChoices(seed uint64) []*open {
	var out []*open
	for _, restart := range []bool{false, true} {
		add := func(label string, change func(*variant)) {
			v := base(seed, restart)
			change(&v)
			out = append(out, &open{label: label + "." + v.timerForm(), v: v})
		}
		for _, m := range openMarkings() {
			add(fmt.Sprintf("marking%d", m), func(v *variant) { v.marking = m })
		}
		for _, t := range []uint8{shallowThreshold, 12, 4, 1} {
			add(fmt.Sprintf("threshold%d", t), func(v *variant) { v.threshold = t })
		}
		for _, r := range []reading{readS1, readAggregate} {
			add("reading-"+string(r), func(v *variant) { v.reading = r })
		}
	}
	return out
}

// planSensitivity runs E3's first three phases and E1 for every choice of open values, and for every threshold set by
// utilisation.
func planSensitivity(seed uint64) ([]job, func() []Row) {
	choices := append(openChoices(seed), useChoices(seed)...)
	var jobs []job
	for _, o := range choices {
		jobs = append(jobs, func(ctx context.Context) (err error) {
			o.e3, err = runTenants(ctx, o.v, schedule()[:3], sensitivityLengths())
			return err
		}, func(ctx context.Context) (err error) {
			o.e1, err = runFairness(ctx, seed, &o.v)
			return err
		})
	}
	return jobs, func() []Row {
		var rows []Row
		for _, o := range choices {
			rows = append(rows, o.rows()...)
		}
		return append(rows, useClosedFormRows()...)
	}
}

func (o *open) rows() []Row {
	p, want := o.e3, publishedBECNs()
	mean := (p[0].tenant1 + p[1].tenant1 + p[2].tenant1) / 3
	a := &o.e1.all
	use := fmt.Sprintf("E3; mean of three phases; link utilisation %.1f, %.1f and %.1f %%", 100*p[0].use, 100*p[1].use, 100*p[2].use)
	return []Row{
		published("becns-increase2."+o.label, want[1]/want[0], p[1].becns/p[0].becns, "", "E3"),
		published("becns-increase3."+o.label, want[2]/want[0], p[2].becns/p[0].becns, "", "E3"),
		published("tenant1-share-2flows."+o.label, 0.5, p[1].share(), "", "E3"),
		published("tenant1-share-3flows."+o.label, 0.5, p[2].share(), "", "E3"),
		published("tenant1-rate."+o.label, publishedTenant1, gbit(mean), "Gbit/s", use),
		published("a+b-over-d+e."+o.label, 1, (a[0]+a[1])/(a[2]+a[3]), "", "E1; a parking lot has one half"),
		published("jain-4flows."+o.label, 1, jainOf(a[0], a[1], a[2], a[3]), "", "E1"),
	}
}
