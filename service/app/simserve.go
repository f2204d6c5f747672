package app

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
	"fairlane/sim/scenario"
)

// ethernet returns the Ethernet fabric that is to be served, or nil when it is InfiniBand: a scenario says what it is, a
// fabric file is what --plane says.
func (f *simServeFlags) ethernet(cmd *cobra.Command, what string) (*etherCase, error) {
	p := policy.Plane(f.plane)
	switch p {
	case "", policy.PlaneIB, policy.PlaneRoCE, policy.PlaneWRCC:
	default:
		return nil, usage.Errorf("plane %q: want ib, roce or wrcc", f.plane)
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
	case p != "" && p != c.plane:
		return nil, usage.Errorf("scenario %s is for --plane %s, not %s", c.name, c.plane, p)
	case cmd.Flags().Changed("addr") && !isLoopback(f.addr):
		return nil, usage.Errorf("--addr %s: want HOST:PORT with a loopback address, since the devices of a simulated fabric answer in plain text", f.addr)
	}
	c.seed = f.seed
	return c, nil
}

func (f *simServeFlags) etherCase(p policy.Plane, what string) (*etherCase, error) {
	if f.tenants == "" {
		if s, err := scenario.Load(what); err == nil {
			if s.Ethernet == nil {
				return nil, needPlane(p, s.Name)
			}
			return etherCaseOf(s)
		}
	}
	if p == "" || p == policy.PlaneIB {
		return nil, nil //nolint:nilnil // InfiniBand, whose own way says what is wrong with it
	}
	topo, err := readFabric(what)
	if err != nil {
		return nil, err
	}
	c := &etherCase{name: topo.Name, description: what, plane: p, fabric: topo}
	if f.tenants != "" {
		c.tenants, c.flows, err = cmdline.ReadTenants(f.tenants, topo)
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
func (a *app) serveEther(ctx context.Context, c *etherCase, f simServeFlags, fixed bool) error {
	o := etherOptions{timeScale: f.timeScale, dir: f.dir}
	if fixed {
		o.addr = f.addr
	}
	l, err := startEther(ctx, c, o)
	if err != nil {
		return err
	}
	a.printServedEther(l, f.timeScale)
	select {
	case <-ctx.Done():
	case <-l.done.Done(): // a server failed; close says why
	}
	_, _ = fmt.Fprintln(a.Stderr, a.T("sim.serve.ended.ethernet", "time", l.fabric.Now()))
	return l.close()
}

// printServedEther prints where the fabric's devices answer.
func (a *app) printServedEther(l *etherLive, scale float64) {
	p4 := ""
	if l.p4 != nil {
		p4 = a.T("sim.serve.ready.p4", "addr", l.p4Addr)
	}
	_, _ = fmt.Fprintln(a.Stdout, a.T("sim.serve.ready.ethernet", "name", l.c.name, "switches", len(l.c.fabric.Switches()), "hosts", len(l.c.fabric.Hosts()),
		"addr", l.addr, "p4", p4, "path", filepath.Join(l.dir, inventoryName)))
	_, _ = fmt.Fprintln(a.Stdout, a.T("sim.serve.try.ethernet", "source", l.source(), "plane", l.c.plane, "scale", scale))
	if rules, err := config.NewSourceRules(config.DefaultSources()); err != nil || rules.Check(l.source()) != nil {
		_, _ = fmt.Fprintln(a.Stdout, a.T("sim.serve.allow", "dir", l.dir))
	}
}
