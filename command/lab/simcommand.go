package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/service/site"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
)

func (a *app) simCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "sim", Short: a.T("sim.short")}
	cmd.AddCommand(a.simListCommand(), a.simRunCommand(), a.simSweepCommand(), a.simServeCommand(), a.simBenchCommand())
	return cmd
}

func (a *app) simListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: a.T("sim.list.short"), Args: cobra.NoArgs,
		Example: "  fairlane sim list\n  fairlane sim list --json",
		RunE: func(*cobra.Command, []string) error {
			list, err := scenario.Builtins()
			if err != nil {
				return err
			}
			slices.SortFunc(list, func(x, y scenario.Builtin) int { return strings.Compare(x.Name, y.Name) })
			if asJSON {
				return cmdline.PrintJSON(a.Stdout, list)
			}
			tw := cmdline.NewTable(a.Stdout, 0)
			for _, b := range list {
				_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\n", b.Name, b.Plane, b.Description)
			}
			return tw.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	return cmd
}

type simServeFlags struct {
	addr, tenants string
	plane, dir    string
	ibProfiles    string
	timeScale     float64
	cold          bool
	seed          uint64
}

func (a *app) simServeCommand() *cobra.Command {
	var f simServeFlags
	cmd := &cobra.Command{
		Use: "serve SCENARIO|FABRIC", Short: a.T("sim.serve.short"), Long: a.T("sim.serve.long"), Args: cmdline.OneArgument("SCENARIO|FABRIC"),
		Example: `  fairlane sim serve ib16
  fairlane sim serve fabric.topo --tenants tenants.yaml --time-scale 0.01
  fairlane sim serve ib16 --cold --addr unix:lab      # ports down, waiting for OpenSM
  fairlane sim serve roce8 --dir lab                  # agents and SONiC switches; lab/inventory.yaml
  fairlane sim serve fabric.yaml --plane wrcc --tenants tenants.yaml --addr 127.0.0.1:9339`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, c, err := f.load(args[0])
			if err != nil {
				return err
			}
			if s != nil {
				return a.serveInfiniBand(cmd.Context(), s, f)
			}
			fixed := cmd.Flags().Changed("addr")
			if err := f.check(c, fixed); err != nil {
				return err
			}
			return a.serveEther(cmd.Context(), c, f, fixed)
		},
	}
	cmd.Flags().StringVar(&f.addr, "addr", "unix:fairlane", a.T("sim.serve.flag.addr"))
	cmd.Flags().StringVar(&f.tenants, "tenants", "", a.T("sim.serve.flag.tenants"))
	cmd.Flags().StringVar(&f.plane, "plane", "", a.T("sim.serve.flag.plane"))
	cmd.Flags().StringVar(&f.dir, "dir", "", a.T("sim.serve.flag.dir"))
	cmd.Flags().Float64Var(&f.timeScale, "time-scale", 0.01, a.T("sim.serve.flag.timescale"))
	cmd.Flags().BoolVar(&f.cold, "cold", false, a.T("sim.serve.flag.cold"))
	a.IBProfilesFlag(cmd, &f.ibProfiles)
	a.SeedFlag(cmd, &f.seed, 1)
	return cmd
}

// serveInfiniBand serves an InfiniBand fabric until the context ends.
func (a *app) serveInfiniBand(ctx context.Context, s *scenario.Scenario, f simServeFlags) (err error) {
	if f.dir != "" {
		return usage.Of(phrase.Of("usage.dir-infiniband", "dir", f.dir))
	}
	s.Config.Seed = f.seed
	if s.Config.Devices, err = site.ReadIBProfiles(f.ibProfiles); err != nil {
		return err
	}
	o := simdev.Options{TimeScale: f.timeScale}
	if f.cold {
		o.SMMode = simdev.Cold
	}
	l, err := live.StartInfiniBand(ctx, s, f.addr, o)
	if err != nil {
		return err
	}
	administer(l)
	l.Reconnect()
	a.printServed(l)
	select {
	case <-ctx.Done():
	case <-l.Ended(): // the server failed; Close returns the reason
	}
	_, _ = fmt.Fprintln(a.Stderr, a.servedText(l.Server.Stats()))
	return l.Close()
}

// servedText reports what a server has done.
func (a *app) servedText(st simdev.ServerStats) string {
	return a.T("sim.serve.ended", "datagrams", st.Datagrams, "malformed", st.Malformed, "unroutable", st.Unroutable,
		"dropped", st.Dropped, "refused", st.Refused, "clients", st.Clients)
}

// administer sets the stand-in of subnet administration to assign the service levels of the scenario's flows, by the
// partition of their tenants; a tenant's first flow decides.
func administer(l *live.InfiniBand) {
	seen := map[string]bool{}
	for _, f := range l.Scenario.Flows {
		if seen[f.Tenant] {
			continue
		}
		seen[f.Tenant] = true
		for _, t := range l.Scenario.Tenants {
			if t.Name == f.Tenant && t.PKey != 0 {
				l.Devices.SetPartitionSL(t.PKey, f.SL)
			}
		}
	}
}

// printServed prints how existing tools reach the fabric.
func (a *app) printServed(l *live.InfiniBand) {
	f := l.Scenario.Fabric
	host := ""
	if hosts := f.Hosts(); len(hosts) > 0 {
		host = f.Nodes[hosts[0]].Name
	}
	_, _ = fmt.Fprintln(a.Stdout, a.T("sim.serve.ready", "name", l.Scenario.Name, "switches", len(f.Switches()), "hosts", len(f.Hosts()), "addr", l.Server.Addr()))
	for _, line := range toolEnvironment(reachable(l.Server.Addr()), host) {
		_, _ = fmt.Fprintln(a.Stdout, "  export "+line)
	}
	_, _ = fmt.Fprintln(a.Stdout, a.T("sim.serve.try", "addr", reachable(l.Server.Addr()), "preload", preloadPath()))
}
