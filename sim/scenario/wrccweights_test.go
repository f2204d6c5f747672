package scenario

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

// weighted returns a scenario of weighted WRCC on the star of parse, with the given tenants and flows.
func weighted(t testing.TB, tenants, flows string) *Scenario {
	t.Helper()
	return parse(t, "duration: 12ms\nwarmup: 4ms\ncongestion_control: {algorithm: wrcc-weighted}\nwrcc: {period: 12us}\n"+
		"tenants: ["+tenants+"]\nflows:\n"+flows)
}

// Weights determine the shares of flows, not their total rate: links are full for weights of any size.
func TestWeightedWRCCFillsTheLinksForAnyWeights(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tenants, flows string
		links          int // number of links that must be full
		acks           int // bytes of acknowledgements per data packet on the same links
	}{
		"a single light flow":          {"{name: a, weight: 0.1}", "  - {tenant: a, src: h1, dst: h4}\n", 1, 0},
		"four flows to four receivers": {"{name: a, weight: 1}", "  - {tenant: a, src: h1, dst: h2}\n  - {tenant: a, src: h2, dst: h3}\n  - {tenant: a, src: h3, dst: h4}\n  - {tenant: a, src: h4, dst: h1}\n", 4, 60 + wrcc.HeaderSize},
		"heavy tenants":                {"{name: a, weight: 1000}, {name: b, weight: 2000}, {name: c, weight: 4000}", "  - {tenant: a, src: h1, dst: h4}\n  - {tenant: b, src: h2, dst: h4}\n  - {tenant: c, src: h3, dst: h4}\n", 1, 0},
		"light and heavy":              {"{name: a, weight: 0.2}, {name: b, weight: 1}", "  - {tenant: a, src: h1, dst: h4}\n  - {tenant: b, src: h2, dst: h4}\n", 1, 0},
		"two flows of one tenant":      {"{name: a, weight: 1000}, {name: b, weight: 2000}, {name: c, weight: 1000}, {name: d, weight: 4000}", "  - {tenant: a, src: h1, dst: h4}\n  - {tenant: b, src: h2, dst: h4}\n  - {tenant: c, src: h3, dst: h4}\n  - {tenant: d, src: h1, dst: h4, qps: 2}\n", 1, 0},
		"more weight than Fmin allows": {"{name: a, weight: 1}, {name: b, weight: 3000}", "  - {tenant: a, src: h1, dst: h4, qps: 1}\n  - {tenant: b, src: [h2, h3], dst: h4}\n", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runEther(t, weighted(t, c.tenants, c.flows), EtherOptions{})
			var sum float64
			for _, tn := range r.Tenants {
				sum += float64(tn.DeliveredBps)
			}
			full := float64(c.links) * 100e9 * 1000 / float64(1048+wrcc.HeaderSize+c.acks)
			if sum < 0.97*full || sum > 1.001*full {
				t.Errorf("%.1f Gbit/s delivered, want %.1f", sum/1e9, full/1e9)
			}
			if r.MaxShareError > 0.02 || r.Totals.Pauses != 0 {
				t.Errorf("share error %.3f, %d pauses", r.MaxShareError, r.Totals.Pauses)
			}
		})
	}
}

// Weights of flows are in units of the lightest weight, and the settings of ports are derived from them.
func TestWeightsOfWRCCAreCountedInUnitsOfTheLightest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text       string
		unit       float64
		fmin, fmax quantity.BitRate // for a port of 100 Gbit/s
	}{
		"equal weights": {"tenants: [{name: a, weight: 5}]\nflows: [{src: h1, dst: h2}]", 5, 100 * quantity.Mbps, 100 * quantity.Gbps},
		"listed flows share": {
			"tenants: [{name: a, weight: 1}, {name: b, weight: 1000}]\nflows: [{tenant: a, src: h1, dst: h2, qps: 4}, {tenant: b, src: h3, dst: h2}]",
			0.25, 24 * quantity.Mbps, 100 * quantity.Gbps}, // 100 Gbit/s over 4004, in whole Mbit/s
		"generated flows do not": {
			"tenants: [{name: a, weight: 2}, {name: b, weight: 10}]\nworkload: [{kind: permutation, tenant: a, bytes: 1000}, {kind: permutation, tenant: b, bytes: 1000}]",
			2, 20 * quantity.Mbps, 100 * quantity.Gbps}, // a thousand flows of the heavier tenant
		"the scenario sets Fmin and Fmax": {
			"wrcc: {period: 12us, fmin: 40Mbps, fmax: 400Gbps}\ntenants: [{name: a, weight: 0.25}]\nflows: [{src: h1, dst: h2}]",
			0.25, 10 * quantity.Mbps, 100 * quantity.Gbps},
		"a flow without weight has weight 1": {
			"congestion_control: [{algorithm: wrcc-weighted}, {algorithm: wrcc}]\ntenants: [{name: a, weight: 0.5}]\nflows: [{src: h1, dst: h2}, {src: h1, dst: h2, cc: wrcc}]",
			1, 100 * quantity.Mbps, 400 * quantity.Gbps},
		"no flow has a weight": {
			"congestion_control: {algorithm: wrcc}\ntenants: [{name: a, weight: 0.1}]\nflows: [{src: h1, dst: h2}]",
			1, 100 * quantity.Mbps, 100 * quantity.Gbps},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := c.text
			if !strings.Contains(text, "congestion_control") {
				text = "congestion_control: {algorithm: wrcc-weighted}\n" + text
			}
			if !strings.Contains(text, "wrcc: {period") {
				text = "wrcc: {period: 12us}\n" + text
			}
			s := parse(t, text)
			w := s.weights()
			cfg, err := s.config(nil)
			if err != nil {
				t.Fatal(err)
			}
			p := cfg.FairRate.Params(s.Fabric.Links[0].A, 100*quantity.Gbps)
			if got, want := fmt.Sprint(w.unit, p.Fmin, p.Fmax), fmt.Sprint(c.unit, c.fmin, c.fmax); got != want {
				t.Errorf("unit, Fmin, Fmax %s, want %s", got, want)
			}
			least := math.Inf(1)
			f := &feed{s: s, unit: w.unit}
			f.addFlows(s.Ethernet.Flows)
			for spec, ok := f.Next(); ok; spec, ok = f.Next() {
				least = min(least, spec.Weight)
			}
			for i := range s.Ethernet.Workload {
				least = min(least, f.spec(&s.Ethernet.Workload[i]).Weight)
			}
			if w.weighted && w.unit != 1 && math.Abs(least-1) > 1e-12 {
				t.Errorf("the lightest flow has weight %v", least)
			}
		})
	}
}
