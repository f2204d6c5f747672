package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

// siteClasses are n classes of a site.
func siteClasses(n int) []qos.TrafficClass {
	out := make([]qos.TrafficClass, n)
	for i := range out {
		out[i] = qos.TrafficClass{DSCP: uint8(8 * i), Queue: uint8(i)}
	}
	return out
}

// sharingHosts are tenants with the given weights, all of which send from each host of a star but the last to the last.
func sharingHosts(t *testing.T, o policy.Options, weights ...int) policy.Input {
	t.Helper()
	f, err := topogen.Star(5, topogen.Wire{Rate: 100 * quantity.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	hosts := starHosts(f)
	o.Plane = policy.PlaneRoCE
	in := policy.Input{Fabric: f, Options: o}
	for i, w := range weights {
		name := fmt.Sprintf("t%d", i)
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: quantity.Weight(w) * quantity.WeightOne})
		for _, h := range hosts[:4] {
			in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: f.PortID(h), Dst: f.PortID(hosts[4]), QPs: 1 + 3*i})
		}
	}
	return in
}

func TestClassesGiveTenantsOnSharedHostsTheirWeights(t *testing.T) {
	t.Parallel()
	for _, lever := range []policy.Lever{policy.LeverClasses, policy.LeverBoth} {
		p := plantest.Compiled(t, sharingHosts(t, policy.Options{Lever: lever, Classes: siteClasses(4)}, 4, 2, 1))
		for i, want := range []quantity.BitRate{4, 2, 1} {
			share := p.Tenants[i]
			if share.PredictedError > 0.001 || share.Entitled/1e6 != 100_000*want/7 {
				t.Errorf("%s: tenant %s is entitled to %v and predicted %v", lever, share.Tenant, share.Entitled, share.Predicted)
			}
			class := p.RoCE.Classes[i]
			if !slices.Equal(class.Tenants, []string{share.Tenant}) || class.Error != 0 {
				t.Errorf("%s: class %v has the tenants %v with error %g", lever, class.TrafficClass, class.Tenants, class.Error)
			}
		}
		if unused := p.RoCE.Classes[3]; len(unused.Tenants) != 0 {
			t.Errorf("%s: the fourth class has the tenants %v", lever, unused.Tenants)
		}
		for _, w := range p.RoCE.Switches[0].Weights {
			if want := []uint8{4, 2, 1}[w.Queue]; w.Weight != want {
				t.Errorf("%s: queue %d of port %d has the weight %d, want %d", lever, w.Queue, w.Port, w.Weight, want)
			}
		}
		if n := len(p.RoCE.Switches[0].Weights); n != 5*3 {
			t.Errorf("%s: %d weights, want those of 3 queues on 5 ports", lever, n)
		}
		for i := range p.RoCE.NICs {
			sum := 0
			for _, s := range p.RoCE.NICs[i].Shares {
				sum += int(s.Percent)
			}
			if receiver := i == 4; receiver && sum != 0 || !receiver && sum != 100 {
				t.Errorf("%s: shares of port %s are %v", lever, p.RoCE.NICs[i].Name, p.RoCE.NICs[i].Shares)
			}
		}
		for _, x := range p.RoCE.Traffic {
			at := slices.IndexFunc(p.RoCE.Classes, func(c policy.RoCEClass) bool { return slices.Contains(c.Tenants, x.Tenant) })
			if c := p.RoCE.Classes[at]; x.DSCP != c.DSCP || x.Queue != c.Queue || x.Priority != c.Queue {
				t.Errorf("%s: tenant %s has DSCP %d and queue %d, want %v", lever, x.Tenant, x.DSCP, x.Queue, c.TrafficClass)
			}
		}
	}
	plain := plantest.Compiled(t, sharingHosts(t, policy.Options{}, 4, 2, 1))
	if plain.Tenants[2].PredictedError < 0.5 {
		t.Errorf("without classes the lightest tenant is predicted within %g: the test has checked nothing", plain.Tenants[2].PredictedError)
	}
}

// TestFewClassesLeaveAnErrorThatIsReported covers a site with fewer classes than tenants: DCQCN divides within a class where it can.
func TestFewClassesLeaveAnErrorThatIsReported(t *testing.T) {
	t.Parallel()
	p := plantest.Compiled(t, sharingHosts(t, policy.Options{Lever: policy.LeverClasses, Classes: siteClasses(2)}, 16, 8, 4, 2, 1))
	worst := 0.0
	for _, c := range p.RoCE.Classes {
		worst = max(worst, c.Error)
	}
	if worst < 0.1 || !slices.ContainsFunc(p.Findings, func(f policy.Finding) bool { return f.Code == policy.CodeClassShared }) {
		t.Errorf("error %g with findings %+v, want the error of shared classes reported", worst, p.Findings)
	}
}

func TestTenantsKeepTheirClassesOfThePlanInForce(t *testing.T) {
	t.Parallel()
	o := policy.Options{Lever: policy.LeverClasses, Classes: siteClasses(5)}
	in := sharingHosts(t, o, 4, 2, 1)
	before := plantest.Compiled(t, in)
	in.InForce = before
	in.Tenants, in.Flows = in.Tenants[1:], slices.DeleteFunc(in.Flows, func(f tenants.Flow) bool { return f.Tenant == "t0" })
	after := plantest.Compiled(t, in)
	for k, c := range after.RoCE.Classes {
		if want := before.RoCE.Classes[k].Tenants; k > 0 && !slices.Equal(c.Tenants, want) || k == 0 && len(c.Tenants) > 0 {
			t.Errorf("class %v has the tenants %v, had %v", c.TrafficClass, c.Tenants, want)
		}
	}
}

func TestClassPlansDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := plantest.Input(t)
		in.Options = policy.Options{
			Plane: policy.PlaneRoCE, Lever: rapid.SampledFrom([]policy.Lever{policy.LeverClasses, policy.LeverBoth}).Draw(t, "lever"),
			Classes: siteClasses(rapid.IntRange(1, 8).Draw(t, "classes")),
		}
		p := plantest.Compiled(t, in)
		for _, sw := range p.RoCE.Switches {
			for _, w := range sw.Weights {
				if err := w.Validate(); err != nil {
					t.Fatal(err)
				}
			}
		}
		slices.Reverse(in.Tenants)
		slices.Reverse(in.Flows)
		if plantest.Compiled(t, in).Name != p.Name {
			t.Fatal("the plan depends on the order of its input")
		}
	})
}

func TestClassOptionsOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]policy.Options{
		"lever":           {Lever: "weights"},
		"no classes":      {Lever: policy.LeverClasses},
		"nine":            {Lever: policy.LeverBoth, Classes: append(siteClasses(8), qos.TrafficClass{DSCP: 1, Queue: 1})},
		"DSCP":            {Lever: policy.LeverBoth, Classes: []qos.TrafficClass{{DSCP: 64, Queue: 1}}},
		"queue":           {Lever: policy.LeverBoth, Classes: []qos.TrafficClass{{DSCP: 6, Queue: 8}}},
		"one queue twice": {Lever: policy.LeverBoth, Classes: []qos.TrafficClass{{DSCP: 6, Queue: 3}, {DSCP: 7, Queue: 3}}},
	} {
		if _, err := policy.Compile(sharingHosts(t, o, 1, 1)); !errors.Is(err, policy.ErrInput) {
			t.Errorf("%s: error %v, want one of the input", name, err)
		}
	}
}
