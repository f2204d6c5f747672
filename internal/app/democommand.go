package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api"
	"fairlane/policy"
	"fairlane/sim/scenario"
	"fairlane/tenants"
)

type demoFlags struct {
	plane, scenario, fabric, tenants, listen string
	once, json                               bool
	seed                                     uint64
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: a.t("demo.short"),
		Long:  a.t("demo.long"),
		Example: `  fairlane demo --plane ib --once
  fairlane demo --once --json
  fairlane demo --scenario ib8tenants --once
  fairlane demo --fabric fabric.topo --tenants tenants.yaml
  fairlane demo --listen 127.0.0.1:8470        # stays up with the API`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDemo(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.plane, "plane", "ib", a.t("demo.flag.plane"))
	cmd.Flags().StringVar(&f.scenario, "scenario", "ib16", a.t("demo.flag.scenario"))
	cmd.Flags().StringVar(&f.fabric, "fabric", "", a.t("demo.flag.fabric"))
	cmd.Flags().StringVar(&f.tenants, "tenants", "", a.t("demo.flag.tenants"))
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8470", a.t("demo.flag.listen"))
	cmd.Flags().BoolVar(&f.once, "once", false, a.t("demo.flag.once"))
	cmd.Flags().BoolVar(&f.json, "json", false, a.t("flag.json"))
	a.seedFlag(cmd, &f.seed, 1)
	return cmd
}

func (a *app) runDemo(ctx context.Context, f demoFlags) (err error) {
	if f.plane != "ib" {
		return usagef("plane %q: want ib", f.plane)
	}
	s, err := f.load()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fairlane-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	words := a.stderr
	if !f.json {
		words = a.stdout
	}
	d, err := a.newDemo(ctx, s, dir, func(key string, args ...any) { _, _ = fmt.Fprintln(words, a.t(key, args...)) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	_, _ = fmt.Fprintln(words, a.t("demo.title", "name", s.Name, "description", s.Description))
	res, err := d.run(ctx)
	if err != nil {
		return err
	}
	report := res.report()
	if f.json {
		err = printJSON(a.stdout, []planeReport{report})
	} else {
		_, _ = fmt.Fprintln(a.stdout)
		err = a.printReport(a.stdout, report)
	}
	if err = errors.Join(err, report.missed()); err != nil || f.once {
		return err
	}
	return d.stay(ctx, f.listen, words)
}

// load makes the scenario of a demo from its flags.
func (f demoFlags) load() (*scenario.Scenario, error) {
	if f.fabric == "" && f.tenants == "" {
		s, err := scenario.Load(f.scenario)
		if err != nil {
			return nil, &UsageError{err}
		}
		s.Config.Seed = f.seed
		return s, needInfiniBand(s)
	}
	if f.fabric == "" {
		return nil, usagef("--tenants %s: want --fabric FILE too, on which its hosts are", f.tenants)
	}
	topo, err := readFabric(f.fabric)
	if err != nil {
		return nil, err
	}
	var ts []tenants.Tenant
	var flows []tenants.Flow
	if f.tenants != "" {
		ts, flows, err = readTenants(f.tenants, topo, policy.PlaneIB)
	} else {
		ts, flows, err = sampleTenants(topo)
	}
	if err != nil {
		return nil, err
	}
	s := &scenario.Scenario{Name: topo.Name, Description: f.fabric, Fabric: topo, Tenants: ts}
	s.Config.Seed = f.seed
	for _, fl := range flows {
		s.Flows = append(s.Flows, scenario.Flow{Flow: fl})
	}
	return s, nil
}

// stay serves the API on the live fabric until the context ends.
func (d *demo) stay(ctx context.Context, listen string, words io.Writer) error {
	token, err := d.manager.service.Bootstrap(ctx, "")
	if err != nil {
		return err
	}
	h, err := d.manager.handler(api.Options{})
	if err != nil {
		return err
	}
	l, err := listenOn(ctx, []string{listen}, nil)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(words, d.app.t("demo.stay", "addr", l[0].Addr(), "token", token, "fabric", d.live.server.Addr()))
	return serveUntil(ctx, []endpoint{{api.HTTPServer(h), l}}, ending{drain: 10 * time.Second})
}
