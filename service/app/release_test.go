package app

import (
	"slices"
	"testing"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/drift"
)

// held reads the devices of the baselines past the service, by name.
func held(t *testing.T, d *rig) map[string]driver.Settings {
	t.Helper()
	_, list, _, err := d.manager.service.ListBaseline(t.Context(), demo.FabricName, drift.BaselineQuery{}, control.Page{Limit: 1000})
	if err != nil || len(list) == 0 {
		t.Fatalf("%d baselines, %v", len(list), err)
	}
	_, c := connectTo(t, d.source())
	out := map[string]driver.Settings{}
	for _, b := range list {
		if out[b.Device.Name], err = c.Read(t.Context(), b.Device); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// factorySettings checks that a device has no congestion control of Fairlane or of the site, given what it held before.
func factorySettings(t *testing.T, name string, port int, is, before driver.Settings) {
	t.Helper()
	switch {
	case is.NIC == nil && is.WRCC == nil: // no default of a switch's queues is known
		if d := before.Diff(is); len(d) > 0 {
			t.Errorf("%s differs from its baseline by %v", name, d)
		}
	case is.WRCC != nil:
		if len(is.WRCC.Weights) > 0 {
			t.Errorf("%s has the weights %v", name, is.WRCC.Weights)
		}
	case is.NIC.WRCC != nil:
		if len(is.NIC.WRCC.Senders) > 0 {
			t.Errorf("%s has the senders %v", name, is.NIC.WRCC.Senders)
		}
	default:
		vendor := dcqcn.Default()
		for _, s := range nicparam.OfDCQCN(port, &vendor) {
			if v, ok := is.NIC.Param(s.Name, s.Index); !ok || v != s.Value {
				t.Errorf("%s: %s is %d, want %d", name, s.Name, v, s.Value)
			}
		}
		if i := slices.IndexFunc(is.NIC.Params, func(p driver.NICParam) bool { return p.Name == driver.ShareParam && p.Value != 0 }); i >= 0 {
			t.Errorf("%s: function %d has a share", name, is.NIC.Params[i].Index)
		}
	}
}

// A release returns Ethernet devices to what they held, site settings included, and to factory settings where that is requested.
func TestAnEthernetFabricIsReleased(t *testing.T) {
	t.Parallel()
	for _, p := range []policy.Plane{policy.PlaneRoCE, policy.PlaneWRCC} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			d := etherLab(t, p)
			svc, ctx := d.manager.service, t.Context()
			const site = 77 // Mbit/s, which neither a plan nor the vendor sets
			if p == policy.PlaneRoCE {
				behindTheBack(t, d, d.ether.Case.Flows[0].Src, "rpg_hai_rate", 0, site)
			}
			plan, _, err := svc.CreatePlan(ctx, demo.FabricName, policy.Options{}, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range []control.ReturnTo{control.ToBaseline, control.ToFactory} {
				if ro := rollToEnd(t, d, plan.Plan.Name); ro.State != control.RolloutSucceeded {
					t.Fatalf("rollout %s: %s", ro.State, ro.Result)
				}
				_, list, _, err := svc.ListBaseline(ctx, demo.FabricName, drift.BaselineQuery{Against: drift.AgainstObserved}, control.Page{Limit: 1000})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(list, func(b drift.BaselineView) bool { return len(b.Differences) > 0 }) {
					t.Fatal("the rollout changed nothing")
				}
				ro, err := svc.ReleaseFabric(ctx, demo.FabricName, to, control.RolloutOptions{})
				if err != nil {
					t.Fatal(err)
				}
				waitRollout(t, d, ro.ID)
				if f, err := svc.Fabric(ctx, demo.FabricName); err != nil || f.Management != control.Released {
					t.Errorf("released to %s the fabric is %s, %v", to, f.Management, err)
				}
				sites := 0
				now := held(t, d)
				for _, b := range list {
					is := now[b.Device.Name]
					if to == control.ToFactory {
						factorySettings(t, b.Device.Name, int(b.Device.ID.Port), is, b.Settings)
					} else if diff := control.ToBaseline.Want(&b.Baseline).Diff(is); len(diff) > 0 {
						t.Errorf("%s differs from its baseline by %v", b.Device.Name, diff)
					}
					if is.NIC != nil && is.NIC.WRCC == nil {
						if v, _ := is.NIC.Param("rpg_hai_rate", 0); v == site {
							sites++
						}
					}
				}
				if want := map[bool]int{true: 1}[p == policy.PlaneRoCE && to == control.ToBaseline]; sites != want {
					t.Errorf("released to %s, %d ports have the site's setting, want %d", to, sites, want)
				}
				if _, err := svc.ManageFabric(ctx, demo.FabricName); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
