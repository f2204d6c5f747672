package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/site"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// minUtilisation is the use of contended links, against that of before, that a demo must keep.
const minUtilisation = 0.97

const demoFabric = "demo"

// demos numbers the demos of this process: names of abstract sockets belong to the machine.
var demos atomic.Int64

// demoTimeScale is the simulated seconds per second that leave one core idle about half of the
// time, so that management datagrams are answered promptly and the devices' clocks and counters are
// read together. It is an estimate: no receiver gets more than its line rate, a packet takes about four hops
// and a hop about 150 ns.
func demoTimeScale(s *scenario.Scenario) float64 {
	const hops, hop, busy = 4, 150e-9, 0.45
	load := 0.0 // seconds of computing for a second of fabric time
	seen := map[ident.PortID]bool{}
	for _, f := range s.Flows {
		ref, ok := s.Fabric.PortByID(f.Dst)
		if !ok || seen[f.Dst] {
			continue
		}
		seen[f.Dst] = true
		if l, _ := s.Fabric.Link(ref); l != nil {
			load += float64(l.Rate) / 8 / 4096 * hops * hop
		}
	}
	return min(max(busy/max(load, 1e-3), 0.001), 2)
}

// demo is one run of the main job on a live simulated fabric: an InfiniBand one, or an Ethernet one.
type demo struct {
	app     *app
	live    *live.InfiniBand // nil on Ethernet
	ether   *live.Ethernet   // nil on InfiniBand
	manager *manager
	// timeScale is the fabric's simulated seconds per second.
	timeScale float64
	step      func(key string, args ...any)
}

// demoResult is what a demo measured.
type demoResult struct {
	plan          *policy.Plan
	rollout       control.Rollout
	before, after control.Shares
	rival         *rival // of a plan for WRCC
	elapsed       time.Duration
}

// demoPlace is where a demo runs.
type demoPlace struct {
	dir string // of the database
	// slowdown is how many times slower than its time scale the fabric runs, as on a machine that is too busy; 0 is 1.
	slowdown float64
}

// pace is the speed of a fabric of the time scale.
func (p demoPlace) pace(timeScale float64) float64 {
	if p.slowdown == 0 {
		return timeScale
	}
	return timeScale / p.slowdown
}

// newDemo starts the fabric and the manager.
func (a *app) newDemo(ctx context.Context, s *scenario.Scenario, at demoPlace, step func(string, ...any)) (*demo, error) {
	scale := demoTimeScale(s)
	l, err := live.StartInfiniBand(ctx, s, fmt.Sprintf("unix:fairlane-demo-%d-%d", os.Getpid(), demos.Add(1)), simdev.Options{TimeScale: at.pace(scale)})
	if err != nil {
		return nil, err
	}
	sources, err := demoSources("ibsim:" + l.Server.Addr())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	p := site.New(site.Settings{Sources: sources})
	p.Patience, p.Placements.Simulated = clockPatience, map[string]func(ident.PKey, ident.SL) int{demoFabric: l.Devices.SetPartitionSL}
	m, err := openManager(ctx, filepath.Join(at.dir, "fairlane.db"), p, workOptions{})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &demo{app: a, timeScale: scale, live: l, manager: m, step: step}, nil
}

// newEtherDemo starts an Ethernet fabric and the manager.
func (a *app) newEtherDemo(ctx context.Context, c *live.Case, at demoPlace, step func(string, ...any)) (*demo, error) {
	scale := etherTimeScale(c)
	l, err := live.StartEthernet(ctx, c, live.EthernetOptions{TimeScale: at.pace(scale)})
	if err != nil {
		return nil, err
	}
	sources, err := demoSources(l.Source())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	p := site.New(site.Settings{Sources: sources})
	p.Patience = clockPatience
	m, err := openManager(ctx, filepath.Join(at.dir, "fairlane.db"), p, workOptions{})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &demo{app: a, timeScale: scale, ether: l, manager: m, step: step}, nil
}

// demoSources allows the demo's own fabric and the default sources.
func demoSources(own string) (*config.SourceRules, error) {
	return config.NewSourceRules(append(config.DefaultSources(), own))
}

func (d *demo) close() error {
	if d.ether != nil {
		return errors.Join(d.manager.close(), d.ether.Close())
	}
	return errors.Join(d.manager.close(), d.live.Close())
}

// plane is the one of the fabric.
func (d *demo) plane() policy.Plane {
	if d.ether != nil {
		return d.ether.Case.Plane
	}
	return policy.PlaneIB
}

// source is where the manager finds the fabric.
func (d *demo) source() string {
	if d.ether != nil {
		return d.ether.Source()
	}
	return "ibsim:" + d.live.Server.Addr()
}

// declared is who uses the fabric.
func (d *demo) declared() ([]tenants.Tenant, []tenants.Flow) {
	if d.ether != nil {
		return d.ether.Case.Tenants, d.ether.Case.Flows
	}
	return d.live.Scenario.Tenants, d.live.Scenario.TenantFlows()
}

// Limits of waiting, in wall time. They are for a machine on which nothing advances: a busy one makes a demo slow and no more.
const (
	fabricPatience  = 10 * time.Minute // for the fabric's clock to advance, beyond a hundred times what the time scale says
	rolloutPatience = 30 * time.Minute // for a rollout to end
	clockPatience   = 20               // with the clocks of devices in measurements, as in telemetry.Options
)

// wait lets the fabric's own time advance.
func (d *demo) wait(ctx context.Context, span quantity.Picoseconds) error {
	wait, clock := d.waiter()
	limit := fabricPatience + 100*time.Duration(float64(live.WallDuration(span))/d.timeScale)
	begun, from := time.Now(), clock.Now()
	within, cancel := context.WithTimeoutCause(ctx, limit, errStandsStill)
	defer cancel()
	err := wait(within, span)
	if err != nil && errors.Is(context.Cause(within), errStandsStill) {
		return fmt.Errorf("%w: %s in %s, want %s: this machine is too busy, or the fabric stands still", errStandsStill, clock.Now()-from, time.Since(begun).Round(time.Second), span)
	}
	return err
}

// errStandsStill is a simulated fabric whose clock does not advance.
var errStandsStill = errors.New("the simulated fabric does not advance")

// waiter is how the fabric's own time is waited for, and that time.
func (d *demo) waiter() (func(context.Context, quantity.Picoseconds) error, live.Clock) {
	if d.ether != nil {
		return d.ether.Wait, d.ether.Fabric
	}
	return d.live.Wait, d.live.Devices
}

// run takes the whole way: discover, compile, measure, push, read back, measure.
func (d *demo) run(ctx context.Context) (*demoResult, error) {
	begun := time.Now()
	ctx = control.WithActor(ctx, "demo")
	if err := d.onboard(ctx); err != nil {
		return nil, err
	}
	r := &demoResult{}
	svc := d.manager.service
	plan, _, err := svc.CreatePlan(ctx, demoFabric, control.CompileOptions{}, false)
	if err != nil {
		return nil, err
	}
	r.plan = plan.Plan
	ports, switches := portsAndSwitches(r.plan)
	d.step("demo.step.compile", "ports", ports, "switches", switches, "plan", r.plan.Name[:12])
	if _, err := d.rollOut(ctx, r.plan.Name, control.StagePlacement); err != nil {
		return nil, err
	}
	pace := paceOf(r.plan)
	versus := d.startRival(ctx, r.plan)
	defer versus.close()
	if err := d.wait(ctx, pace.unmanaged); err != nil {
		return nil, err
	}
	if r.before, err = svc.Shares(ctx, demoFabric, r.plan.Name, live.WallDuration(pace.unmanaged)); err != nil {
		return nil, err
	}
	step := "demo.step.before"
	if d.ether != nil {
		step = "demo.step.before.ethernet"
	}
	d.step(step, "window", pace.unmanaged)
	if r.rollout, err = d.rollOut(ctx, r.plan.Name, control.StageSettings); err != nil {
		return nil, err
	}
	d.step("demo.step.rollout", "result", r.rollout.Result)
	if r.after, err = d.settle(ctx, r.plan.Name, pace); err != nil {
		return nil, err
	}
	if r.rival, err = versus.wait(); err != nil {
		return nil, err
	}
	if r.rival != nil {
		d.step("demo.step.rival", "window", rivalWindow)
	}
	d.step("demo.step.after", "window", quantity.Picoseconds(r.after.Window.Nanoseconds())*quantity.Nanosecond)
	r.elapsed = time.Since(begun)
	return r, nil
}

// onboard puts the fabric under management and declares its tenants and flows.
func (d *demo) onboard(ctx context.Context) error {
	svc := d.manager.service
	_, err := svc.CreateFabric(ctx, control.Fabric{Name: demoFabric, Plane: string(d.plane()), Source: d.source(), TimeScale: d.timeScale})
	if err != nil {
		return err
	}
	snap, err := svc.Discover(ctx, demoFabric)
	if err != nil {
		return err
	}
	step := "demo.step.discover"
	if d.ether != nil {
		step = "demo.step.discover.ethernet"
	}
	d.step(step, "switches", snap.Switches, "hosts", snap.Hosts, "links", snap.Links,
		"mads", snap.Stats.MADsSent, "wall", snap.Stats.Wall.Round(time.Millisecond))
	list, traffic := d.declared()
	set := control.TenantSet{Flows: []control.FlowInput{}}
	for _, t := range list {
		in := control.TenantInput{Name: t.Name, Weight: t.Weight, PKey: t.PKey, Guarantee: t.Guarantee, Cap: t.Cap, Classes: t.Classes}
		for _, at := range t.Attachments {
			in.Attachments = append(in.Attachments, control.AttachmentInput{Port: at.Port.String(), SL: at.SL})
		}
		set.Tenants = append(set.Tenants, in)
	}
	for _, f := range traffic {
		set.Flows = append(set.Flows, control.FlowInput{
			Tenant: f.Tenant, Class: f.Class, Src: f.Src.String(), Dst: f.Dst.String(), QPs: f.QPs, Demand: f.Demand,
		})
	}
	_, err = svc.ApplyTenants(ctx, demoFabric, set, false)
	return err
}

// rollOut runs one stage to its end; anything but success is an error.
func (d *demo) rollOut(ctx context.Context, plan string, stage control.Stage) (control.Rollout, error) {
	ro, err := d.toEnd(ctx, control.RolloutInput{Plan: plan, Stages: []control.Stage{stage}})
	if err != nil {
		return ro, err
	}
	if ro.State != control.RolloutSucceeded {
		return ro, fmt.Errorf("rollout %d (%s) %s: %s", ro.ID, stage, ro.State, ro.Result)
	}
	return ro, nil
}

// toEnd starts a rollout and waits for its end, whatever that is.
func (d *demo) toEnd(ctx context.Context, in control.RolloutInput) (control.Rollout, error) {
	svc := d.manager.service
	ro, err := svc.StartRollout(ctx, demoFabric, in)
	if err != nil {
		return ro, err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); ; {
		newest, _, err := svc.ListRollouts(ctx, demoFabric, control.Page{Limit: 1}) // without its devices, of which there may be many
		if err != nil {
			return ro, err
		}
		if newest[0].State != control.RolloutRunning {
			return svc.Rollout(ctx, demoFabric, ro.ID)
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

// settle measures in rounds until two in a row agree, then once more for longer.
func (d *demo) settle(ctx context.Context, plan string, p pace) (control.Shares, error) {
	const rounds, agree = 6, 0.05
	if err := d.wait(ctx, p.settle); err != nil {
		return control.Shares{}, err
	}
	var last control.Shares
	for i := range rounds {
		s, err := d.manager.service.Shares(ctx, demoFabric, plan, live.WallDuration(p.round))
		if err != nil {
			return s, err
		}
		if i > 0 && largestChange(last, s) <= agree {
			break
		}
		last = s
	}
	return d.manager.service.Shares(ctx, demoFabric, plan, live.WallDuration(p.final))
}

// largestChange is the largest relative change of a tenant's delivered rate, 1 when one is not known.
func largestChange(a, b control.Shares) float64 {
	worst := 0.0
	for i := range min(len(a.Tenants), len(b.Tenants)) {
		x, y := a.Tenants[i].Delivered, b.Tenants[i].Delivered
		if x == nil || y == nil {
			worst = max(worst, 1)
		} else if *x > 0 {
			worst = max(worst, math.Abs(float64(*x-*y))/float64(*x))
		}
	}
	return worst
}

// pace is how long the phases of a demo take, in the fabric's own time.
type pace struct {
	unmanaged quantity.Picoseconds // without congestion control: settling, and the window
	settle    quantity.Picoseconds // after the settings were changed, before anything is measured
	round     quantity.Picoseconds // one settling round
	final     quantity.Picoseconds // the window that counts, long against the saw-teeth of the slowest flow
}

// paceOf derives the phases from the plan. Convergence takes about as many periods of the longest
// CCTI_Timer as there are table steps between line rate and the entitled rate. The mean of a tenant's
// rate over a window is as uncertain as the count of the BECNs that steer it, 1/sqrt(count) in
// relative terms, so the window lasts until the smallest tenant has had enough of them: the bound on
// its share is then four standard errors.
func paceOf(p *policy.Plan) pace {
	switch {
	case p.RoCE != nil:
		// A port's registers forget what its flows had before over about a second, and waves bring settings one after the other.
		return pace{unmanaged: 100 * quantity.Millisecond, settle: 1500 * quantity.Millisecond, round: 100 * quantity.Millisecond, final: 1200 * quantity.Millisecond}
	case p.WRCC != nil:
		// Near rest a fair rate moves by a 64th of its distance each period, and senders far away hear of it a round trip later.
		longest := quantity.Picoseconds(0)
		for _, d := range p.WRCC.Domains {
			longest = max(longest, d.Period)
		}
		settle := min(max(1024*longest, 250*quantity.Millisecond), quantity.Second)
		return pace{unmanaged: 100 * quantity.Millisecond, settle: settle, round: 50 * quantity.Millisecond, final: 500 * quantity.Millisecond}
	}
	longest := uint16(0)
	for i := range p.CAs {
		for _, sl := range p.CAs[i].Settings.SLs {
			longest = max(longest, sl.Timer)
		}
	}
	period := quantity.Picoseconds(longest) * timerUnit
	return pace{
		unmanaged: 50 * quantity.Millisecond,
		round:     min(max(96*period, 100*quantity.Millisecond), quantity.Second),
		final:     min(max(becnTime(p), 400*quantity.Millisecond), 4*quantity.Second),
	}
}

// becnTime is how long it takes until the tenant with the smallest entitlement has had the BECNs for a
// standard error of 1.25 %: its packets, of 4 KiB, are marked load times in each marking interval.
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
