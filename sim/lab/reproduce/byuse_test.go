package reproduce

import (
	"fmt"
	"testing"

	"fairlane/sim/fabric"
)

// byUse returns the base variant with a threshold as link utilization.
func byUse(threshold uint8, restart bool) variant {
	v := base(1, restart)
	v.by, v.threshold = fabric.MarkByUse, threshold
	return v
}

// Every variant has a unique label and a unique legend. Labels of thresholds by queue have no suffix "use".
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

// With thresholds as utilizations and the free-running timer, E3 is reproduced except for the BECNs. At both thresholds
// tenant 1 has its half and D its part, and the two tenants together use the link up to the threshold.
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

// In every phase C->A has S1's 3.4 Gbit/s together with S1's shares. Thresholds as queue lengths do not reproduce both. S1
// does not state this threshold; it results from the sweep of all fifteen.
func TestByUseRateAndSharesAreMetTogether(t *testing.T) {
	t.Parallel()
	const threshold = 10
	closeTo(t, "half of the utilization at the threshold", gbit(tenant1ByUse(threshold)), 3.576, 1e-3)
	p, err := runTenants(t.Context(), byUse(threshold, false), schedule(), lengths{tenantsPhase, tenantsSettle})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range p {
		closeTo(t, fmt.Sprintf("rate of C->A in phase %d", i+1), gbit(x.tenant1), publishedTenant1, 0.05)
		closeTo(t, fmt.Sprintf("tenant 1's share in phase %d", i+1), x.share(), 0.5, 0.05)
	}
}

// If utilization is averaged over a dozen packets, tenant 1, the fastest flow, gets more marks than its part of the packets,
// and loses as much as with a deep queue. The utilization of the link nevertheless settles at the threshold.
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

// The sweep includes all fifteen thresholds. Lower codes use more of the link, and the closed form gives half of that.
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
