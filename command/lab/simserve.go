package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/service/config"
	"fairlane/service/site"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
)

// ethernet returns the Ethernet fabric that is to be served, or nil when it is InfiniBand: a scenario says what it is, a
// fabric file is what --plane says.
func (f *simServeFlags) ethernet(cmd *cobra.Command, what string) (*live.Case, error) {
	var p policy.Plane // none: what the scenario says, or InfiniBand
	if f.plane != "" {
		var err error
		if p, err = cmdline.ParsePlane(f.plane); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(what); f.tenants != "" && errors.Is(err, fs.ErrNotExist) {
		if s, err := scenario.Load(what); err == nil {
			return nil, usage.Errorf("--tenants: want it with a fabric file; scenario %s has tenants of its own", s.Name)
		}
	}
	c, err := f.etherCase(p, what)
	if err != nil || c == nil {
		return nil, err
	}
	switch {
	case f.ibProfiles != "":
		return nil, usage.Errorf("--ib-profiles: an Ethernet fabric has no InfiniBand devices")
	case f.cold:
		return nil, usage.Errorf("--cold: an Ethernet fabric has no subnet manager to wait for")
	case p != "" && p != c.Plane:
		return nil, usage.Errorf("scenario %s is for --plane %s, not %s", c.Name, c.Plane, p)
	case cmd.Flags().Changed("addr") && !isLoopback(f.addr):
		return nil, usage.Errorf("--addr %s: want HOST:PORT with a loopback address, since the devices of a simulated fabric answer in plain text", f.addr)
	}
	c.Seed = f.seed
	return c, nil
}

func (f *simServeFlags) etherCase(p policy.Plane, what string) (*live.Case, error) {
	if f.tenants == "" {
		if s, err := scenario.Load(what); err == nil {
			if s.Ethernet == nil {
				return nil, needPlane(p, s.Name)
			}
			return live.CaseOf(s)
		}
	}
	if p == "" || p == policy.PlaneIB {
		return nil, nil //nolint:nilnil // InfiniBand, whose own way says what is wrong with it
	}
	topo, err := site.ReadFabric(what)
	if err != nil {
		return nil, err
	}
	c := &live.Case{Name: topo.Name, Description: what, Plane: p, Fabric: topo}
	if f.tenants != "" {
		c.Tenants, c.Flows, err = cmdline.ReadTenants(f.tenants, topo)
	}
	return c, err
}

func needPlane(p policy.Plane, name string) error {
	if p == "" || p == policy.PlaneIB {
		return nil
	}
	return usage.Errorf("scenario %s is for --plane ib, not %s", name, p)
}

func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
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
	case <-l.Ended(): // a server failed; close says why
	}
	_, _ = fmt.Fprintln(a.Stderr, a.T("sim.serve.ended.ethernet", "time", l.Fabric.Now()))
	return l.Close()
}

// printServedEther prints where the fabric's devices answer.
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
