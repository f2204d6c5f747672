package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"fairlane/api"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/usecases"
	"fairlane/service/site"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
	"fairlane/subnet/ident"
)

// MinUtilisation is the minimum utilisation of contended links, relative to that before, that a demo must keep.
const MinUtilisation = 0.97

// FabricName is the name of a demo's fabric in the manager.
const FabricName = "demo"

// Manager is the part of the service, on a database, that a demo needs.
type Manager interface {
	Service() *usecases.Services
	Handler(api.Options) (*api.Server, error)
	Close() error
}

// OpenFunc opens a manager on a database, with access to fabrics. A manager of a demo that stays up also keeps series.
type OpenFunc func(ctx context.Context, database string, access *site.Access, stays bool) (Manager, error)

// Demo is one run of the main task on a live simulated fabric.
type Demo struct {
	fabric  Fabric
	manager Manager
	// timeScale is simulated seconds per second.
	timeScale float64
	step      func(key string, args ...any)
}

// New returns a demo on a running fabric with a manager. It calls step after each step.
func New(f Fabric, m Manager, timeScale float64, step func(key string, args ...any)) *Demo {
	return &Demo{fabric: f, manager: m, timeScale: timeScale, step: step}
}

// Result is the measurements of a demo.
type Result struct {
	Plan          *policy.Plan
	rollout       control.Rollout
	before, after control.Shares
	rival         *rival // for a WRCC plan
	elapsed       time.Duration
}

// Place is the environment of a demo.
type Place struct {
	Dir   string // of the database
	Stays bool   // the demo stays up with the API after its run
	// Slowdown is the factor by which the fabric is slower than its time scale, as on an overloaded machine; 0 means 1.
	Slowdown float64
}

// pace returns the speed of a fabric with the time scale.
func (p Place) pace(timeScale float64) float64 {
	if p.Slowdown == 0 {
		return timeScale
	}
	return timeScale / p.Slowdown
}

// OnInfiniBand starts an InfiniBand fabric, and opens a manager for it.
func OnInfiniBand(ctx context.Context, s *scenario.Scenario, at Place, open OpenFunc, step func(string, ...any)) (*Demo, error) {
	scale := infiniBandCost().timeScale(s.Fabric, s.TenantFlows())
	l, err := live.StartInfiniBand(ctx, s, fmt.Sprintf("unix:fairlane-demo-%d-%d", os.Getpid(), demos.Add(1)), simdev.Options{TimeScale: at.pace(scale)})
	if err != nil {
		return nil, err
	}
	return start(ctx, InfiniBand(l), scale, at, open, step)
}

// OnEthernet starts an Ethernet fabric, and opens a manager for it.
func OnEthernet(ctx context.Context, c *live.Case, at Place, open OpenFunc, step func(string, ...any)) (*Demo, error) {
	scale := ethernetCost().timeScale(c.Fabric, c.Flows)
	l, err := live.StartEthernet(ctx, c, live.EthernetOptions{TimeScale: at.pace(scale)})
	if err != nil {
		return nil, err
	}
	return start(ctx, Ethernet(l), scale, at, open, step)
}

// start opens a manager for a running fabric.
func start(ctx context.Context, f Fabric, timeScale float64, at Place, open OpenFunc, step func(string, ...any)) (*Demo, error) {
	sources, err := config.NewSourceRules(append(config.DefaultSources(), f.Source()))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	access := site.New(site.Settings{Sources: sources})
	access.Patience = clockPatience
	if set := f.Partitions(); set != nil {
		access.Placements.Simulated = map[string]func(ident.PKey, ident.SL) int{FabricName: set}
	}
	m, err := open(ctx, filepath.Join(at.Dir, "fairlane.db"), access, at.Stays)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return New(f, m, timeScale, step), nil
}

// Close ends the manager, then the fabric.
func (d *Demo) Close() error { return errors.Join(d.manager.Close(), d.fabric.Close()) }

// Handler returns the API and the portal of the demo's manager.
func (d *Demo) Handler(o api.Options) (*api.Server, error) { return d.manager.Handler(o) }

// Limits of waiting, in wall time. They only end a demo in which nothing advances; a busy machine merely makes it slow.
const (
	fabricPatience  = 10 * time.Minute // for the fabric's clock to advance, in addition to a hundred times the time according to the time scale
	rolloutPatience = 30 * time.Minute // for a rollout to end
	clockPatience   = 20               // for the clocks of devices in measurements, see telemetry.Options
)

// wait waits until the fabric's own time has advanced.
func (d *Demo) wait(ctx context.Context, span quantity.Picoseconds) error {
	limit := fabricPatience + 100*time.Duration(float64(span.Duration())/d.timeScale)
	begun, from := time.Now(), d.fabric.Now()
	within, cancel := context.WithTimeoutCause(ctx, limit, errNoProgress)
	defer cancel()
	err := d.fabric.Wait(within, span)
	if err != nil && errors.Is(context.Cause(within), errNoProgress) {
		return fmt.Errorf("%w: %s in %s, want %s: this machine is too busy, or the fabric has stopped", errNoProgress, d.fabric.Now()-from, time.Since(begun).Round(time.Second), span)
	}
	return err
}

// errNoProgress reports a simulated fabric whose clock does not advance.
var errNoProgress = errors.New("the simulated fabric does not advance")

// Run performs the complete sequence: discover, compile, measure, roll out, verify, measure.
func (d *Demo) Run(ctx context.Context) (*Result, error) {
	begun := time.Now()
	ctx = control.WithActor(ctx, "demo")
	if err := d.Onboard(ctx); err != nil {
		return nil, err
	}
	r := &Result{}
	svc := d.manager.Service()
	plan, _, err := svc.CreatePlan(ctx, FabricName, d.options(), false)
	if err != nil {
		return nil, err
	}
	r.Plan = plan.Plan
	ports, switches := portsAndSwitches(r.Plan)
	d.step("demo.step.compile", "ports", ports, "switches", switches, "plan", r.Plan.Name[:12])
	if _, err := d.rollOut(ctx, r.Plan.Name, control.StagePlacement); err != nil {
		return nil, err
	}
	pace := paceOf(r.Plan)
	versus := startContest(ctx, d.fabric, r.Plan)
	defer versus.close()
	if err := d.wait(ctx, pace.Unmanaged); err != nil {
		return nil, err
	}
	if r.before, err = svc.ReadShares(ctx, FabricName, r.Plan.Name, pace.Unmanaged.Duration()); err != nil {
		return nil, err
	}
	d.step(d.fabric.StepKey("demo.step.before"), "window", pace.Unmanaged)
	if len(d.fabric.Classes()) > 0 {
		if err := d.fabric.UseClasses(r.Plan); err != nil {
			return nil, err
		}
		d.step("demo.step.classes", "classes", len(d.fabric.Classes()))
	}
	if r.rollout, err = d.rollOut(ctx, r.Plan.Name, control.StageSettings); err != nil {
		return nil, err
	}
	d.step("demo.step.rollout", "result", r.rollout.Result)
	if r.after, err = d.Settle(ctx, r.Plan.Name, pace); err != nil {
		return nil, err
	}
	if r.rival, err = versus.wait(); err != nil {
		return nil, err
	}
	if r.rival != nil {
		d.step("demo.step.rival", "window", rivalWindow)
	}
	d.step("demo.step.after", "window", quantity.Elapsed(r.after.Window))
	r.elapsed = time.Since(begun)
	return r, nil
}

// options are the compiler's: traffic classes where the fabric is provisioned for them.
func (d *Demo) options() policy.Options {
	if classes := d.fabric.Classes(); len(classes) > 0 {
		return policy.Options{Lever: policy.LeverBoth, Classes: classes}
	}
	return policy.Options{}
}

// Onboard puts the fabric under management and declares its tenants and flows.
func (d *Demo) Onboard(ctx context.Context) error {
	svc := d.manager.Service()
	_, err := svc.CreateFabric(ctx, control.Fabric{Name: FabricName, Plane: d.fabric.Plane(), Source: d.fabric.Source(), TimeScale: d.timeScale})
	if err != nil {
		return err
	}
	snap, err := svc.Discover(ctx, FabricName)
	if err != nil {
		return err
	}
	d.step(d.fabric.StepKey("demo.step.discover"), "switches", snap.Switches, "hosts", snap.Hosts, "links", snap.Links,
		"mads", snap.Stats.MADsSent, "wall", snap.Stats.Wall.Round(time.Millisecond))
	list, traffic := d.fabric.Declared()
	set := tenancy.TenantSet{Flows: []tenancy.FlowInput{}}
	for _, t := range list {
		in := tenancy.TenantInput{Name: t.Name, Weight: t.Weight, PKey: t.PKey, Guarantee: t.Guarantee, Cap: t.Cap, Classes: t.Classes}
		for _, at := range t.Attachments {
			in.Attachments = append(in.Attachments, tenancy.AttachmentInput{Port: at.Port.String(), SL: at.SL})
		}
		set.Tenants = append(set.Tenants, in)
	}
	for _, f := range traffic {
		set.Flows = append(set.Flows, tenancy.FlowInput{
			Tenant: f.Tenant, Class: f.Class, Src: f.Src.String(), Dst: f.Dst.String(), QPs: f.QPs, Demand: f.Demand,
		})
	}
	_, err = svc.ApplyTenants(ctx, FabricName, set, false)
	return err
}

// rollOut rolls out one stage; it fails unless the rollout succeeds.
func (d *Demo) rollOut(ctx context.Context, plan string, stage control.Stage) (control.Rollout, error) {
	ro, err := d.ToEnd(ctx, rollouts.RolloutInput{Plan: plan, Stages: []control.Stage{stage}})
	if err != nil {
		return ro, err
	}
	if ro.State != control.RolloutSucceeded {
		return ro, &phrase.Error{Text: phrase.Of("demo.rollout-failed", "rollout", ro.ID, "stage", string(stage), "state", string(ro.State), "result", ro.Result)}
	}
	return ro, nil
}

// ToEnd starts a rollout and waits for its end, whatever the result.
func (d *Demo) ToEnd(ctx context.Context, in rollouts.RolloutInput) (control.Rollout, error) {
	svc := d.manager.Service()
	ro, err := svc.StartRollout(ctx, FabricName, in)
	if err != nil {
		return ro, err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); ; {
		newest, _, err := svc.ListRollouts(ctx, FabricName, control.Page{Limit: 1}) // without its devices, which may be many
		if err != nil {
			return ro, err
		}
		if newest[0].State != control.RolloutRunning {
			return svc.Rollout(ctx, FabricName, ro.ID)
		}
		if time.Since(begun) > rolloutPatience {
			return ro, fmt.Errorf("rollout %d did not end in %s", ro.ID, rolloutPatience)
		}
		select {
		case <-ctx.Done():
			return ro, ctx.Err()
		case <-tick.C:
		}
	}
}

// Settle measures in rounds until two successive ones agree, then once more for longer.
func (d *Demo) Settle(ctx context.Context, plan string, p Pace) (control.Shares, error) {
	const rounds, agree = 6, 0.05
	if err := d.wait(ctx, p.Settle); err != nil {
		return control.Shares{}, err
	}
	var last control.Shares
	for i := range rounds {
		s, err := d.manager.Service().ReadShares(ctx, FabricName, plan, p.Round.Duration())
		if err != nil {
			return s, err
		}
		if i > 0 && largestChange(last, s) <= agree {
			break
		}
		last = s
	}
	return d.manager.Service().ReadShares(ctx, FabricName, plan, p.Final.Duration())
}

// largestChange returns the largest relative change of a tenant's delivered rate; 1 if a rate is unknown.
func largestChange(a, b control.Shares) float64 {
	worst := 0.0
	for i := range min(len(a.Tenants), len(b.Tenants)) {
		x, y := a.Tenants[i].Delivered, b.Tenants[i].Delivered
		if x == nil || y == nil || *x == 0 && *y > 0 {
			worst = max(worst, 1)
		} else if *x > 0 {
			worst = max(worst, math.Abs(float64(*x-*y))/float64(*x))
		}
	}
	return worst
}

// Pace is the duration of a demo's phases, in the fabric's own time.
type Pace struct {
	Unmanaged quantity.Picoseconds // without congestion control: settling time, and window
	Settle    quantity.Picoseconds // between the change of settings and the first measurement
	Round     quantity.Picoseconds // one settling round
	Final     quantity.Picoseconds // final window, long relative to the saw-teeth of the slowest flow
}

// paceOf derives the phases from the plan. Convergence takes about as many periods of the longest CCTI_Timer as there
// are table steps between line rate and the entitled rate. The relative uncertainty of a tenant's mean rate in a window
// is that of the number of BECNs that control it, 1/sqrt(count). The window lasts until the smallest tenant has
// received enough of them: the bound on its share is then four standard errors.
func paceOf(p *policy.Plan) Pace {
	switch {
	case p.RoCE != nil:
		// The effect of earlier rates on a port's registers decays over about a second, and waves are rolled out one
		// after another.
		return Pace{Unmanaged: 100 * quantity.Millisecond, Settle: 1500 * quantity.Millisecond, Round: 100 * quantity.Millisecond, Final: 1200 * quantity.Millisecond}
	case p.WRCC != nil:
		// Near equilibrium, a fair rate moves by 1/64 of its distance in each period, and distant senders learn it a
		// round trip later.
		longest := quantity.Picoseconds(0)
		for _, d := range p.WRCC.Domains {
			longest = max(longest, d.Period)
		}
		settle := min(max(1024*longest, 250*quantity.Millisecond), quantity.Second)
		return Pace{Unmanaged: 100 * quantity.Millisecond, Settle: settle, Round: 50 * quantity.Millisecond, Final: 500 * quantity.Millisecond}
	}
	longest := uint16(0)
	for i := range p.CAs {
		for _, sl := range p.CAs[i].Settings.SLs {
			longest = max(longest, sl.Timer)
		}
	}
	period := quantity.Picoseconds(longest) * timerUnit
	return Pace{
		Unmanaged: 50 * quantity.Millisecond,
		Round:     min(max(96*period, 100*quantity.Millisecond), quantity.Second),
		Final:     min(max(becnTime(p), 400*quantity.Millisecond), 4*quantity.Second),
	}
}

// becnTime returns the time in which the tenant with the smallest entitlement receives the BECNs for a standard error
// of 1.25 %: its packets, of 4 KiB, are marked load times in each marking interval.
func becnTime(p *policy.Plan) quantity.Picoseconds {
	const standardError, load, packetBits = 0.0125, 0.65, 8 * 4122
	marking := uint16(1)
	for i := range p.Switches {
		marking = max(marking, p.Switches[i].Defaults.MarkingRate)
		for _, m := range p.Switches[i].Ports {
			marking = max(marking, m.MarkingRate)
		}
	}
	smallest := quantity.BitRate(0)
	for _, t := range p.Tenants {
		if t.Entitled > 0 && (smallest == 0 || t.Entitled < smallest) {
			smallest = t.Entitled
		}
	}
	if smallest == 0 {
		return 0
	}
	count := 1 / (standardError * standardError)
	return quantity.Picoseconds(1e12 * count * float64(marking) * packetBits / (load * float64(smallest)))
}
