package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"fairlane/command/cmdline"
	"fairlane/internal/loopback"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/service/config"
	"fairlane/service/site"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// load reads what to serve: an InfiniBand scenario, or the case of an Ethernet fabric. A scenario defines its plane;
// for a fabric file, --plane does.
func (f *simServeFlags) load(what string) (*scenario.Scenario, *live.Case, error) {
	var plane policy.Plane // empty: that of the scenario, or InfiniBand
	if f.plane != "" {
		var err error
		if plane, err = cmdline.ParsePlane(f.plane); err != nil {
			return nil, nil, err
		}
	}
	_, err := os.Stat(what)
	missing := errors.Is(err, fs.ErrNotExist)
	var noScenario error
	if f.tenants == "" || missing {
		var s *scenario.Scenario
		switch s, noScenario = scenario.Load(what); {
		case noScenario == nil && f.tenants != "":
			return nil, nil, usage.Of(phrase.Of("usage.tenants-scenario", "scenario", s.Name))
		case noScenario == nil:
			return ofScenario(s, plane)
		case missing && f.tenants == "":
			return nil, nil, usage.Wrap(noScenario)
		}
	}
	topo, err := site.ReadFabric(what)
	switch {
	case err != nil && f.tenants == "":
		return nil, nil, usage.Wrap(errors.Join(&phrase.Error{Text: phrase.Of("usage.neither-scenario-nor-fabric", "file", what)}, noScenario, err))
	case err != nil:
		return nil, nil, err
	}
	return f.ofFabric(topo, what, plane)
}

// ofScenario is load for a scenario, which must have the requested plane.
func ofScenario(s *scenario.Scenario, plane policy.Plane) (*scenario.Scenario, *live.Case, error) {
	if s.Ethernet == nil {
		return s, nil, requirePlane(s.Name, policy.PlaneIB, plane)
	}
	c, err := live.CaseOf(s)
	if err != nil {
		return nil, nil, err
	}
	return nil, c, requirePlane(s.Name, c.Plane, plane)
}

// requirePlane returns an error if the requested plane is not the scenario's.
func requirePlane(name string, is, requested policy.Plane) error {
	if requested == "" || requested == is {
		return nil
	}
	return usage.Of(phrase.Of("usage.scenario-plane", "scenario", name, "plane", string(is), "found", string(requested)))
}

// ofFabric is load for a fabric file, with tenants from a separate file.
func (f *simServeFlags) ofFabric(topo *subnet.Fabric, path string, plane policy.Plane) (*scenario.Scenario, *live.Case, error) {
	var ts []tenants.Tenant
	var flows []tenants.Flow
	if f.tenants != "" {
		var err error
		if ts, flows, err = cmdline.ReadTenants(f.tenants, topo); err != nil {
			return nil, nil, err
		}
	}
	if plane == policy.PlaneRoCE || plane == policy.PlaneWRCC {
		return nil, &live.Case{Name: topo.Name, Description: path, Plane: plane, Fabric: topo, Tenants: ts, Flows: flows}, nil
	}
	s := &scenario.Scenario{Name: topo.Name, Description: path, Fabric: topo, Tenants: ts}
	for _, fl := range flows {
		s.Flows = append(s.Flows, scenario.Flow{Flow: fl, SL: pinnedSL(ts, fl)})
	}
	return s, nil, nil
}

// pinnedSL returns the service level to which a flow's tenant is pinned at its source port; 0 if it is not pinned.
func pinnedSL(ts []tenants.Tenant, f tenants.Flow) ident.SL {
	for _, t := range ts {
		for _, a := range t.Attachments {
			if t.Name == f.Tenant && a.Port == f.Src && a.SL != nil {
				return *a.SL
			}
		}
	}
	return 0
}

// check rejects flags without effect on an Ethernet fabric, and completes the case with the others. fixed reports
// whether --addr was given.
func (f *simServeFlags) check(c *live.Case, fixed bool) error {
	switch {
	case f.ibProfiles != "":
		return usage.Of(phrase.Of("usage.ib-profiles-ethernet"))
	case f.cold:
		return usage.Of(phrase.Of("usage.cold-ethernet"))
	case fixed && !isLoopback(f.addr):
		return usage.Of(phrase.Of("usage.addr-loopback", "address", f.addr))
	}
	c.Seed = f.seed
	return nil
}

func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && loopback.Is(host)
}

// serveEther serves an Ethernet fabric until the context ends.
func (a *app) serveEther(ctx context.Context, c *live.Case, f simServeFlags, fixed bool) error {
	o := live.EthernetOptions{TimeScale: f.timeScale, Dir: f.dir}
	if fixed {
		o.Addr = f.addr
	}
	l, err := live.StartEthernet(ctx, c, o)
	if err != nil {
		return err
	}
	a.printServedEther(l, f.timeScale)
	select {
	case <-ctx.Done():
	case <-l.Ended(): // a server failed; Close returns the reason
	}
	_, _ = fmt.Fprintln(a.Stderr, a.T("sim.serve.ended.ethernet", "time", l.Fabric.Now()))
	return l.Close()
}

// printServedEther prints the addresses of the fabric's devices.
func (a *app) printServedEther(l *live.Ethernet, scale float64) {
	p4 := ""
	if l.P4Addr != "" {
		p4 = a.T("sim.serve.ready.p4", "addr", l.P4Addr)
	}
	_, _ = fmt.Fprintln(a.Stdout, a.T("sim.serve.ready.ethernet", "name", l.Case.Name, "switches", len(l.Case.Fabric.Switches()), "hosts", len(l.Case.Fabric.Hosts()),
		"addr", l.Addr, "p4", p4, "path", filepath.Join(l.Dir, live.InventoryName)))
	_, _ = fmt.Fprintln(a.Stdout, a.T("sim.serve.try.ethernet", "source", l.Source(), "plane", l.Case.Plane, "scale", scale))
	if rules, err := config.NewSourceRules(config.DefaultSources()); err != nil || rules.Check(l.Source()) != nil {
		_, _ = fmt.Fprintln(a.Stdout, a.T("sim.serve.allow", "dir", l.Dir))
	}
}
