package evaluate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/sim/ether"
	"fairlane/sim/fabric"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// On each plane, in a case small enough for a test, the simulated rates agree with the predictions, and links are as full as
// without a plan.
func TestPredictionsHoldOnEachPlane(t *testing.T) {
	t.Parallel()
	for _, plane := range policy.Planes() {
		t.Run(string(plane), func(t *testing.T) {
			t.Parallel()
			c, err := Generate(77, 3, plane)
			if err != nil {
				t.Fatal(err)
			}
			plan := plantest.Compiled(t, c.Input)
			last := 0.0
			s, err := Simulate(t.Context(), c.Input, plan, Options{Seed: c.Traffic(), Before: true, MaxHops: 3e6, Progress: func(done float64) {
				if done < last || done > 1 {
					t.Errorf("progress %g after %g", done, last)
				}
				last = done
			}})
			if err != nil {
				t.Fatal(err)
			}
			if last != 1 {
				t.Errorf("progress ends at %g", last)
			}
			for i, x := range s.Tenants {
				if x.Tenant != plan.Tenants[i].Tenant || x.PredictionError > ErrorBound(plane) {
					t.Errorf("%+v: want an error of at most %g relative to %d bit/s", x, ErrorBound(plane), plan.Tenants[i].Predicted)
				}
			}
			for _, l := range s.Links {
				if l.Use < minUtilisation*l.Before || l.Use > 1.01 {
					t.Errorf("%+v: want at least %g of the use before", l, minUtilisation)
				}
			}
		})
	}
}

func TestASimulationEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c, err := Generate(77, 3, policy.PlaneIB)
	if err != nil {
		t.Fatal(err)
	}
	plan := plantest.Compiled(t, c.Input)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Simulate(ctx, c.Input, plan, Options{Progress: func(float64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// After installation, the lanes and settings of the network equal those of the plan.
func TestAPlanIsInstalledAsItIs(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(4, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	hosts := ports(topo)
	flows := []tenants.Flow{
		{Tenant: "a", Src: hosts[0], Dst: hosts[2], QPs: 1}, {Tenant: "b", Src: hosts[0], Dst: hosts[3], QPs: 4},
		{Tenant: "b", Src: hosts[1], Dst: hosts[2], QPs: 2},
	}
	ts := tenants.Attach([]tenants.Tenant{{Name: "a", Weight: 3 * quantity.WeightOne}, {Name: "b", Weight: quantity.WeightOne, PKey: 2}}, flows)
	in := policy.Input{Fabric: topo, Tenants: ts, Flows: flows, Options: policy.Options{VLArbitration: true}}
	plan := plantest.Compiled(t, in)
	if len(plan.Lanes) != 1 {
		t.Fatalf("%d ports with lanes: want the sending port of both", len(plan.Lanes))
	}
	n, err := newIB(&in, plan, 1)
	if err != nil {
		t.Fatal(err)
	}
	lanes := plan.Lanes[0]
	ref, _ := n.Topology().PortByID(lanes.Port)
	if got := n.SL2VL(ref.Node, 0, ref.Port); got != lanes.SL2VL {
		t.Errorf("SL2VL %v, want %v", got, lanes.SL2VL)
	}
	low := n.VLArb(ref.Node, ref.Port, false)
	for i, e := range low {
		want := fabric.VLWeight{}
		if i < len(lanes.Low) {
			want = fabric.VLWeight{VL: lanes.Low[i].VL, Weight: lanes.Low[i].Weight}
		}
		if e != want {
			t.Errorf("low entry %d: %v, want %v", i, e, want)
		}
	}
	for i := range plan.CAs {
		ref, _ := n.Topology().PortByID(plan.CAs[i].Port)
		got := ibcc.CASettings{Limit: n.CCTILimit(ref.Node, ref.Port)}
		got.PerSL, got.SLs = n.CAParams(ref.Node, ref.Port)
		for b := range n.CCTBlocks(ref.Node) {
			block := n.CCTBlock(ref.Node, ref.Port, b)
			got.Table = append(got.Table, block[:]...)
		}
		if !plan.CAs[i].Settings.Equal(&got) {
			t.Errorf("%s: %+v, want %+v", plan.CAs[i].Name, got, plan.CAs[i].Settings)
		}
	}
	for id := range fabric.FlowID(len(flows)) {
		f := n.Flow(id)
		if sl, ok := plan.SL(flows[id].Tenant, flows[id].Src); !ok || f.Spec.SL != sl {
			t.Errorf("flow %d is on SL %d, want %d", id, f.Spec.SL, sl)
		}
	}
}

// A plan for another fabric or another plane is rejected, with the missing parts in the error.
func TestPlansThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	c, err := Generate(77, 3, policy.PlaneIB)
	if err != nil {
		t.Fatal(err)
	}
	unusual := &policy.Plan{
		CAs:      []policy.CAPlan{{Port: ident.PortID{Node: 9, Port: 1}}},
		Switches: []policy.SwitchPlan{{Node: 8}},
		Lanes:    []policy.LanePlan{{Port: ident.PortID{Node: 7, Port: 1}}},
	}
	_, err = Simulate(t.Context(), c.Input, unusual, Options{})
	for _, want := range []string{"0x0000000000000009:1: no such port", "0x0000000000000008: no such switch", "lanes of 0x0000000000000007:1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, plane := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		in := c.Input
		in.Options.Plane = plane
		if _, err := Simulate(t.Context(), in, &policy.Plan{}, Options{}); err == nil || !strings.Contains(err.Error(), "no settings for the") {
			t.Errorf("%s: got %v, want the missing part of the plan", plane, err)
		}
	}
	in := c.Input
	in.Options.Plane = policy.PlaneWRCC
	plan := plantest.Compiled(t, in)
	plan.WRCC.Increase = "hope"
	if _, err := Simulate(t.Context(), in, plan, Options{}); err == nil || !strings.Contains(err.Error(), `increase "hope": want "timer" or "ask"`) {
		t.Errorf("unknown increase: got %v", err)
	}
}

// In the simulation, senders increase their rates as the plan states.
func TestSendersIncreaseByThePlan(t *testing.T) {
	t.Parallel()
	c, err := Generate(77, 3, policy.PlaneWRCC)
	if err != nil {
		t.Fatal(err)
	}
	plan := plantest.Compiled(t, c.Input)
	var algorithms []string
	for _, increase := range []string{"ask", "timer"} {
		plan.WRCC.Increase = increase
		cfg := ether.Config{}
		b := etherBuilder{in: &c.Input, plan: plan, cfg: &cfg}
		if err := b.installWRCC(); err != nil {
			t.Fatal(err)
		}
		algorithms = append(algorithms, fmt.Sprintf("%+v", cfg.Algorithms[0]))
	}
	if algorithms[0] == algorithms[1] {
		t.Errorf("both are %s", algorithms[0])
	}
}
