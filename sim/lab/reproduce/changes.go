package reproduce

import (
	"context"

	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
)

// E3's joins and leaves. They are repeated so often that the mean over the repeats shows the speed of D's rate changes,
// because a single oscillation is as large as the change.
const (
	changeCycles = 60
	changePhase  = 20 * ms
	changeBin    = 100 * us
	changeBins   = int(changePhase / changeBin)
)

// changes holds the times, in milliseconds, until D's rate has made 90 % of the change to its new mean.
type changes struct {
	drop2, drop3       float64 // times after the second and the third flow join
	recover2, recover1 float64 // times after the third and the second flow leave
}

// runChanges cycles tenant 2 through one, two, three and two flows.
func runChanges(ctx context.Context, v variant, cycles int) (changes, error) {
	b, err := newTestbed(v.config())
	if err != nil {
		return changes{}, err
	}
	if err := b.congestionControl(v, 1); err != nil {
		return changes{}, err
	}
	cycle := []int{1, 2, 3, 2}
	var phases []int
	for range cycles + 1 {
		phases = append(phases, cycle...)
	}
	ids, err := b.tenantFlows(phases, changePhase)
	if err != nil {
		return changes{}, err
	}
	d := ids[1]
	var sums [4][changeBins]float64 // bytes of D in each bin of each phase, over all cycles
	for i, n := range phases {
		if err := b.runTo(ctx, quantity.Picoseconds(i)*changePhase); err != nil {
			return changes{}, err
		}
		if err := b.setIncrease(uint8(n), joining()...); err != nil {
			return changes{}, err
		}
		if i < len(cycle) {
			continue // the first cycle starts with an empty fabric
		}
		if err := ctx.Err(); err != nil {
			return changes{}, err
		}
		b.addBins(d, &sums[i%len(cycle)])
	}
	level := func(k int) float64 { return meanOf(sums[k][changeBins/2:]) }
	return changes{
		drop2: reach(sums[1][:], level(0), level(1)), drop3: reach(sums[2][:], level(1), level(2)),
		recover2: reach(sums[3][:], level(2), level(3)), recover1: reach(sums[0][:], level(3), level(0)),
	}, nil
}

// addBins runs one phase and adds the flow's delivered bytes in each bin.
func (b *testbed) addBins(id fabric.FlowID, bins *[changeBins]float64) {
	before := b.Delivered(id)
	for i := range bins {
		b.RunUntil(b.Now() + changeBin)
		now := b.Delivered(id)
		bins[i] += float64(now - before)
		before = now
	}
}

// reach returns the time in milliseconds, at the end of a bin, after which 90 % of the change from one level to another is
// complete.
func reach(bins []float64, from, to float64) float64 {
	for i, x := range bins {
		if (x-from)/(to-from) >= 0.9 {
			return float64(i+1) * changeBin.Seconds() * 1e3
		}
	}
	return changePhase.Seconds() * 1e3
}

func meanOf(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func (c changes) rows(form string) []Row {
	const note = "time for nine tenths of the way of D->B's rate, mean of many changes"
	const slower = "S1: recovery is slower than the drop, so above 1"
	return []Row{
		unpublished("drop-2nd-joins."+form, c.drop2, "ms", note),
		unpublished("drop-3rd-joins."+form, c.drop3, "ms", note),
		unpublished("recovery-3rd-leaves."+form, c.recover2, "ms", note),
		unpublished("recovery-2nd-leaves."+form, c.recover1, "ms", note),
		unpublished("recovery-over-drop-3to2."+form, c.recover2/c.drop3, "", slower),
		unpublished("recovery-over-drop-2to1."+form, c.recover1/c.drop2, "", slower),
	}
}
