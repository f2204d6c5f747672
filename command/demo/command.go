// Package demo has the command that shows the main task on live simulated fabrics: discover, compile, measure, roll
// out, verify, measure.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api"
	"fairlane/command/cmdline"
	"fairlane/internal/listen"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/service/site"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/subnet"
	"fairlane/tenants"
	"fairlane/web"
)

// app holds the demo command and the state that all commands share.
type app struct {
	*cmdline.App
	open OpenFunc
}

// Add adds the demo to the root. open opens its managers.
func Add(shared *cmdline.App, root *cobra.Command, open OpenFunc) {
	root.AddCommand((&app{shared, open}).demoCommand())
}

type demoFlags struct {
	plane, scenario, fabric, tenants, listen, signIns string
	once, json                                        bool
	seed                                              uint64
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: a.T("demo.short"),
		Long:  a.T("demo.long"),
		Example: `  fairlane demo --plane ib --once
  fairlane demo --once --json
  fairlane demo --plane all --once --json
  fairlane demo --plane wrcc --once
  fairlane demo --scenario ib8tenants --once
  fairlane demo --fabric fabric.topo --tenants tenants.yaml
  fairlane demo --listen 127.0.0.1:8470        # stays up with the API and the portal`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDemo(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.plane, "plane", "ib", a.T("demo.flag.plane"))
	cmd.Flags().StringVar(&f.scenario, "scenario", "", a.T("demo.flag.scenario"))
	cmd.Flags().StringVar(&f.fabric, "fabric", "", a.T("demo.flag.fabric"))
	cmd.Flags().StringVar(&f.tenants, "tenants", "", a.T("demo.flag.tenants"))
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8470", a.T("demo.flag.listen"))
	cmd.Flags().StringVar(&f.signIns, "sign-ins", "", a.T("demo.flag.sign-ins"))
	cmd.Flags().BoolVar(&f.once, "once", false, a.T("demo.flag.once"))
	cmd.Flags().BoolVar(&f.json, "json", false, a.T("flag.json"))
	a.SeedFlag(cmd, &f.seed, 1)
	return cmd
}

// defaultScenario is the scenario of a plane's demo.
func defaultScenario(p policy.Plane) string {
	switch p {
	case policy.PlaneRoCE:
		return "roce8"
	case policy.PlaneWRCC:
		return "wrcc2dc"
	}
	return "ib16"
}

// planes returns the planes that the flags request.
func (f *demoFlags) planes() ([]policy.Plane, error) {
	planes, err := cmdline.ParsePlanes(f.plane)
	switch {
	case err == nil && f.once && f.signIns != "":
		return nil, usage.Of(phrase.Of("usage.demo-sign-ins"))
	case err != nil || len(planes) == 1:
		return planes, err
	case f.scenario != "" || f.fabric != "" || f.tenants != "":
		return nil, usage.Of(phrase.Of("usage.demo-one-plane"))
	case !f.once:
		return nil, usage.Of(phrase.Of("usage.demo-all-once"))
	}
	return planes, nil
}

func (a *app) runDemo(ctx context.Context, f demoFlags) error {
	planes, err := f.planes()
	if err != nil {
		return err
	}
	return a.showPlanes(ctx, f, planes, func(p policy.Plane) (*Report, error) { return a.demoOf(ctx, f, p) })
}

// showPlanes shows one plane after another. If one fails, it still shows the others, and the JSON has those that
// finished.
func (a *app) showPlanes(ctx context.Context, f demoFlags, planes []policy.Plane, show func(policy.Plane) (*Report, error)) error {
	reports := []Report{}
	var faults []error
	for _, p := range planes {
		r, err := show(p)
		if r != nil {
			reports = append(reports, *r)
			faults = append(faults, r.Missed())
		}
		if err != nil && len(planes) > 1 {
			err = fmt.Errorf("plane %s: %w", p, err)
		}
		if faults = append(faults, err); ctx.Err() != nil {
			break
		}
	}
	if f.json && f.once && (len(reports) > 0 || len(planes) > 1) {
		faults = append(faults, cmdline.PrintJSON(a.Stdout, reports))
	}
	return errors.Join(faults...)
}

// demoOf shows one plane. It returns the measurements even if a bound was missed; without --once it keeps serving.
func (a *app) demoOf(ctx context.Context, f demoFlags, p policy.Plane) (_ *Report, err error) {
	var listeners []net.Listener
	if !f.once { // report an address in use before the work
		if listeners, err = listen.On(ctx, []string{f.listen}, nil); err != nil {
			return nil, err
		}
		defer func() {
			for _, l := range listeners {
				_ = l.Close() // the server has closed it
			}
		}()
	}
	dir, err := os.MkdirTemp("", "fairlane-demo-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	words := a.Stderr
	if !f.json {
		words = a.Stdout
	}
	d, name, err := a.startDemo(ctx, f, p, Place{Dir: dir, Stays: !f.once}, func(key string, args ...any) { _, _ = fmt.Fprintln(words, a.stepText(key, args)) })
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	_, _ = fmt.Fprintln(words, name)
	res, err := d.Run(ctx)
	if err != nil {
		return nil, err
	}
	report := res.Report()
	switch {
	case !f.json:
		_, _ = fmt.Fprintln(a.Stdout)
		err = a.printReport(a.Stdout, report)
	case !f.once:
		err = cmdline.PrintJSON(a.Stdout, []Report{report})
	}
	if err != nil || f.once || report.Missed() != nil {
		return &report, err
	}
	return &report, a.stay(ctx, d, listeners, f.signIns, words)
}

// stepText returns the text of a step, with the sentences among its values in the user's language.
func (a *app) stepText(key string, values []any) string {
	values = slices.Clone(values)
	for i := range values {
		if said, ok := values[i].(phrase.Text); ok {
			values[i] = a.Texts.Say(said)
		}
	}
	return a.T(key, values...)
}

// startDemo starts the fabric of the flags and its manager; title describes it.
func (a *app) startDemo(ctx context.Context, f demoFlags, p policy.Plane, at Place, step func(string, ...any)) (d *Demo, title string, err error) {
	if p == policy.PlaneIB {
		s, err := f.load()
		if err != nil {
			return nil, "", err
		}
		d, err = OnInfiniBand(ctx, s, at, a.open, step)
		return d, a.T("demo.title", "name", s.Name, "description", s.Description), err
	}
	c, err := f.loadEther(p)
	if err != nil {
		return nil, "", err
	}
	d, err = OnEthernet(ctx, c, at, a.open, step)
	return d, a.T("demo.title", "name", c.Name, "description", c.Description), err
}

// loadEther builds the case of an Ethernet demo from its flags.
func (f demoFlags) loadEther(p policy.Plane) (*live.Case, error) {
	if f.fabric == "" && f.tenants == "" {
		s, err := scenario.Load(cmp.Or(f.scenario, defaultScenario(p)))
		if err != nil {
			return nil, usage.Wrap(err)
		}
		s.Config.Seed = f.seed
		c, err := live.CaseOf(s)
		if err == nil && c.Plane != p {
			err = usage.Of(phrase.Of("usage.scenario-plane", "scenario", s.Name, "plane", string(c.Plane), "found", string(p)))
		}
		return c, err
	}
	topo, ts, flows, err := f.files()
	if err != nil {
		return nil, err
	}
	return &live.Case{Name: topo.Name, Description: f.fabric, Plane: p, Fabric: topo, Tenants: ts, Flows: flows, Seed: f.seed}, nil
}

// files reads the fabric and the tenants that the flags name.
func (f demoFlags) files() (*subnet.Fabric, []tenants.Tenant, []tenants.Flow, error) {
	if f.fabric == "" {
		return nil, nil, nil, usage.Of(phrase.Of("usage.demo-tenants-fabric", "file", f.tenants))
	}
	topo, err := site.ReadFabric(f.fabric)
	if err != nil {
		return nil, nil, nil, err
	}
	if f.tenants == "" {
		ts, flows, err := SampleTenants(topo)
		return topo, ts, flows, err
	}
	ts, flows, err := cmdline.ReadTenants(f.tenants, topo)
	return topo, ts, flows, err
}

// load builds the scenario of a demo from its flags.
func (f demoFlags) load() (*scenario.Scenario, error) {
	if f.fabric == "" && f.tenants == "" {
		s, err := scenario.Load(cmp.Or(f.scenario, defaultScenario(policy.PlaneIB)))
		if err != nil {
			return nil, usage.Wrap(err)
		}
		s.Config.Seed = f.seed
		return s, nil
	}
	topo, ts, flows, err := f.files()
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

// stay serves the API and the portal on the live fabric until the context ends. It writes the sign-ins to a file, if one
// is named.
func (a *app) stay(ctx context.Context, d *Demo, l []net.Listener, file string, words io.Writer) error {
	in, err := d.SignIns(ctx, l[0].Addr())
	if err != nil {
		return err
	}
	portal, err := web.Embedded()
	if err != nil {
		return err
	}
	h, err := d.Handler(api.Options{})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(words, a.T("demo.stay", "url", in.URL, "token", in.Token, "fabric", d.fabric.Source()))
	_, _ = fmt.Fprintln(words, a.T("demo.stay.sign-ins", "url", in.URL, "operator", in.Operator.User, "operator_password", in.Operator.Password,
		"user", in.Tenant.User, "password", in.Tenant.Password, "tenant", in.Tenant.Tenant))
	if !portal.Built() {
		_, _ = fmt.Fprintln(words, a.T("demo.stay.no-portal"))
	}
	if file != "" {
		if err := in.write(file); err != nil {
			return err
		}
	}
	return listen.Serve(ctx, []listen.Endpoint{{Server: api.HTTPServer(h), Listeners: l}}, listen.Ending{Drain: 10 * time.Second})
}
