package reproduce

import (
	"fmt"
	"testing"

	"fairlane/sim/fabric"
)

// byUse is the base variant with a threshold read as a use of the link.
func byUse(threshold uint8, restart bool) variant {
	v := base(1, restart)
	v.by, v.threshold = fabric.MarkByUse, threshold
	return v
}

// Every variant has a label and a legend of its own, and those by queue have kept theirs.
func TestLabelsOfReadings(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, v := range append(readingsOfS1(1), useReadingsOfS1(1)...) {
		if old, ok := seen[v.label()]; ok {
			t.Errorf("%s is the label of %s and of %s", v.label(), old, v.legend())
		}
		if old, ok := seen[v.legend()]; ok {
			t.Errorf("%s is the legend of %s and of %s", v.legend(), old, v.label())
		}
		seen[v.label()], seen[v.legend()] = v.legend(), v.label()
	}
	for label, legend := range map[string]string{
		"free-running":                              "free-running, threshold 8",
		"restart-on-becn.threshold15":               "restarted by BECN, threshold 15",
		"free-running.use-threshold15":              "free-running, by use, threshold 15",
		"restart-on-becn.use-threshold8.window10us": "restarted by BECN, by use, threshold 8 over 10 us",
	} {
		if seen[label] != legend {
			t.Errorf("%s: legend %q, want %q", label, seen[label], legend)
		}
	}
	if len(seen) != 2*12 {
		t.Errorf("%d labels and legends, want 24", len(seen))
	}
}

// With thresholds read as uses, and the free-running timer, E3 is met but for the BECNs: at either threshold
// tenant 1 has its half and D its part, and the two tenants together use of the link what the threshold says.
func TestByUseTenant1HasItsHalfAtEitherThreshold(t *testing.T) {
	t.Parallel()
	for _, threshold := range []uint8{openThreshold, shallowThreshold} {
		p, err := runTenants(t.Context(), byUse(threshold, false), schedule(), lengths{tenantsPhase, tenantsSettle})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range p {
			at := fmt.Sprintf("threshold %d, phase %d: ", threshold, i+1)
			closeTo(t, at+"tenant 1's share", x.share(), 0.5, 0.055)
			closeTo(t, at+"D's part", x.d/x.tenant2, 1/float64(x.flows), 0.05)
			closeTo(t, at+"use of the link", x.use, fabric.ThresholdUse(threshold), 0.03)
			closeTo(t, at+"BECNs by those at Increase 1", x.becns/p[0].becns, closedForm(false, x.flows), 0.03)
		}
	}
}

// S1's 3.4 Gbit/s of C->A in every phase, together with its shares: that the queue as a threshold does not
// give. The threshold is not S1's word; it is one that the sweep of all fifteen shows.
func TestByUseRateAndSharesAreMetTogether(t *testing.T) {
	t.Parallel()
	const threshold = 10
	closeTo(t, "half of the use that the threshold stands for", gbit(tenant1ByUse(threshold)), 3.576, 1e-3)
	p, err := runTenants(t.Context(), byUse(threshold, false), schedule(), lengths{tenantsPhase, tenantsSettle})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range p {
		closeTo(t, fmt.Sprintf("rate of C->A in phase %d", i+1), gbit(x.tenant1), publishedTenant1, 0.05)
		closeTo(t, fmt.Sprintf("tenant 1's share in phase %d", i+1), x.share(), 0.5, 0.05)
	}
}

// Where the use is averaged over a dozen packets, tenant 1, the fastest flow, gets more marks than its part of
// the packets, and loses as much as to a deep queue. The use of the link settles at the threshold all the same.
func TestByUseAShortWindowCostsTenant1ItsHalf(t *testing.T) {
	t.Parallel()
	v := byUse(openThreshold, false)
	v.window = shortWindow
	p, err := runTenants(t.Context(), v, schedule()[:3], shortPhases())
	if err != nil {
		t.Fatal(err)
	}
	if s := p[2].share(); s < 0.4 || s > 0.46 {
		t.Errorf("tenant 1 against three flows: share %.3f, want 8 to 20 %% less than half", s)
	}
	closeTo(t, "use of the link", p[2].use, fabric.ThresholdUse(openThreshold), 0.03)
}

// All fifteen thresholds are swept, weaker ones use more of the link, and the closed form names half of that.
func TestUseClosedForm(t *testing.T) {
	t.Parallel()
	rows := useClosedFormRows()
	if len(rows) != 15 {
		t.Fatalf("%d rows, want 15", len(rows))
	}
	closeTo(t, rows[0].Metric, rows[0].Ours, 0.6*5*1024/1050, 1e-9)
	for i, r := range rows[1:] {
		if r.Ours <= rows[i].Ours || r.Ours >= 5 {
			t.Errorf("%s: %.3f Gbit/s after %.3f", r.Metric, r.Ours, rows[i].Ours)
		}
	}
}
