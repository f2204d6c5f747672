package demo

import (
	"math"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/subnet/subnettest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

func TestTheTimeScaleFollowsTheLoadOfReceivers(t *testing.T) {
	t.Parallel()
	f, err := topogen.Star(3, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	ports := subnettest.HostPorts(f)
	to := func(hosts ...int) (flows []tenants.Flow) {
		for _, h := range hosts {
			flows = append(flows, tenants.Flow{Dst: ports[h]})
		}
		return flows
	}
	cost := simulatorCost{packet: 1250, hops: 2, hop: 100e-9, busy: 0.5, least: 0.01}
	for name, c := range map[string]struct {
		flows []tenants.Flow
		want  float64
	}{
		"no traffic":     {nil, maxTimeScale},
		"one receiver":   {to(0), 0.25}, // 10 million packets per second, 200 ns each
		"the same twice": {to(0, 0), 0.25},
		"two receivers":  {to(0, 1), 0.125},
	} {
		if got := cost.timeScale(f, c.flows); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
	cost.least = 0.2
	if got := cost.timeScale(f, to(0, 1, 2)); got != 0.2 {
		t.Errorf("much traffic: %g, want the least", got)
	}
}
