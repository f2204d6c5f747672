package rollout_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
	"fairlane/tenants"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	schedules = flag.Int("schedules", ruleSchedules, "schedules of the simulation")
	seed      = flag.Uint64("seed", 1, "of the first schedule; the others count up from it")
)

// ruleSchedules is the number of schedules that suffices for each kind of event to occur.
const ruleSchedules = 2500

// lab is a small fabric with a plan for it: two leaves with three hosts each, and a spine.
func lab(t testing.TB) control.Target {
	t.Helper()
	f, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 2, HostsPerLeaf: 3, Spines: 1})
	if err != nil {
		t.Fatal(err)
	}
	in := policy.Input{Fabric: f}
	hosts := f.Hosts()
	for i := range 3 {
		src, dst := f.PortID(subnet.PortRef{Node: hosts[i], Port: 1}), f.PortID(subnet.PortRef{Node: hosts[5-i], Port: 1})
		name := fmt.Sprintf("t%d", i)
		in.Tenants = append(in.Tenants, tenants.Tenant{Name: name, Weight: 1000, PKey: ident.PKey(0x8001 + i),
			Attachments: []tenants.Attachment{{Port: src}, {Port: dst}}})
		in.Flows = append(in.Flows, tenants.Flow{Tenant: name, Src: src, Dst: dst, QPs: 1})
	}
	for i := range in.Tenants {
		slices.SortFunc(in.Tenants[i].Attachments, func(a, b tenants.Attachment) int { return a.Port.Compare(b.Port) })
	}
	p, err := policy.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	return control.Target{Fabric: control.Fabric{Name: "lab"}, Topology: f, Plan: p}
}

// earlier returns a target whose plan has every tenant on another service level, seven up.
func earlier(t control.Target) control.Target {
	p := *t.Plan
	p.Name = strings.Repeat("e", 64)
	p.Placements = slices.Clone(p.Placements)
	for i := range p.Placements {
		p.Placements[i].SL += 7
	}
	p.CAs = slices.Clone(p.CAs)
	for i := range p.CAs {
		s := &p.CAs[i].Settings
		for sl := range s.SLs {
			s.SLs[sl].Timer += 100 * uint16(sl+1)
		}
	}
	t.Plan = &p
	return t
}

// newWorld returns a world with one rollout that has just started.
func newWorld(t testing.TB, target control.Target, seed uint64) *world {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0x66616972))
	w := &world{rng: rng, now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), db: newState(), plan: target,
		devices: map[ident.PortID]*box{}, earlier: map[ident.PortID]driver.Settings{}, wanted: map[ident.PortID]driver.Settings{}, running: map[control.Job]bool{}, counts: map[string]int{}}
	pick := func(most int) int { return rng.IntN(most + 1) }
	w.o = outlook{
		loseCommit: pick(20), outage: pick(2), crash: pick(5), stop: pick(2), reboot: pick(5), operator: pick(2),
		loseRequest: pick(60), loseReply: pick(80), partial: pick(60), slow: pick(60), clampDevice: pick(60), double: pick(60),
	}
	w.steady = rng.IntN(2) == 0
	w.prior = earlier(target)
	was, err := device.Desired(w.prior.Plan, w.prior.Topology)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range was {
		w.earlier[x.Device.ID] = x.Want
	}
	list, err := device.Desired(target.Plan, target.Topology)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		w.devices[x.Device.ID] = w.box(x)
	}
	o := control.RolloutOptions{Wave: 2 + rng.IntN(3), Shard: 1 + rng.IntN(3), Parallel: 1, Attempts: 2 + rng.IntN(4), FailureBudget: rng.IntN(2)}
	if rng.IntN(3) == 0 {
		o.ConfirmWindow = time.Duration(1+rng.IntN(60)) * time.Second
	}
	if err := w.begin(list, o, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// peaceful returns a world without faults except those that the test adds, with a rollout that needs no confirmation.
func peaceful(t testing.TB, target control.Target, seed uint64, options func(*control.RolloutOptions)) *world {
	t.Helper()
	w := newWorld(t, target, seed)
	w.o, w.steady = outlook{}, true // a step without heartbeats is taken over
	for _, b := range w.devices {
		b.clamps = false
	}
	ro := w.db.rollouts[w.id]
	if ro.Options.ConfirmWindow = 0; options != nil {
		options(&ro.Options)
	}
	w.db.rollouts[w.id] = ro
	return w
}

// begin starts the next rollout of the plan, as Rollouts.StartRollout does. Devices that an earlier one left half done
// keep their recorded previous settings.
func (w *world) begin(list []device.Target, o control.RolloutOptions, dirty map[ident.PortID]control.RolloutDevice) error {
	steps, err := device.PlanWaves(list, w.plan.Topology, device.WaveOptions{Wave: o.Wave})
	if err != nil {
		return err
	}
	w.id++
	ro := control.Rollout{ID: w.id, Fabric: "lab", Plan: w.plan.Plan.Name, State: control.RolloutRunning, Revision: 1, Phase: control.PhasePlacing,
		Request: control.RequestRun, Wave: -1, Waves: len(steps), Placed: control.PlacedNone, Gated: -1, Stages: []control.Stage{control.StagePlacement, control.StageSettings}}
	ro.Prior = []string{"", w.plan.Plan.Name, w.prior.Plan.Name}[w.rng.IntN(3)]
	w.db.devices[w.id] = map[ident.PortID]control.RolloutDevice{}
	for i, s := range steps {
		if s.Canary {
			o.CanaryWaves = append(o.CanaryWaves, i)
		}
		for k, n := range s.Targets {
			d := control.RolloutDevice{Device: list[n].Device, State: "pending", Wave: i, Shard: k / o.Shard}
			if old, ok := dirty[d.Device.ID]; ok {
				d.Before, d.Touched, d.State = old.Before, true, "unknown"
			}
			w.db.devices[w.id][d.Device.ID] = d
			key := control.ShardKey{Rollout: w.id, Wave: i, Shard: d.Shard}
			w.db.shards[key] = control.Shard{Key: key, State: control.ShardReady, Epoch: 1}
		}
	}
	ro.Options = o
	w.db.rollouts[w.id] = ro
	for i := range list {
		w.wanted[list[i].Device.ID] = list[i].Want
	}
	w.after(ro.Prior)
	w.db.jobs = append(slices.Clone(w.db.jobs), control.Job{Kind: control.JobStep, Rollout: w.id, Revision: 1})
	return nil
}

func (w *world) box(t device.Target) *box {
	b := &box{id: t.Device.ID, want: t.Want, before: driver.Settings{CA: &ibcc.CASettings{Table: []ibcc.Entry{{}}}}}
	if t.Device.Kind == subnet.KindSwitch {
		b.before = driver.Settings{Switch: &driver.SwitchState{Ports: make([]ibcc.PortMarking, t.Device.Ports+1)}}
	}
	b.first, b.holds = b.before.Clone(), b.before.Clone()
	b.clamps = w.rng.IntN(1000) < w.o.clampDevice
	return b
}

// maxSteps bounds a schedule; a longer one counts as endless.
const maxSteps = 60000

// play runs a schedule: first with faults, then without, until the rollout has ended and nothing moves.
func (w *world) play() {
	w.start()
	w.start()
	storm := 200 + w.rng.IntN(4000)
	for i := range maxSteps {
		if i == storm {
			w.calm = true
		}
		if w.calm {
			w.settle()
		}
		if w.db.rollouts[w.id].State != control.RolloutRunning && len(w.tasks) == 0 {
			break
		}
		w.step()
	}
	// Tasks that are still parked belong to dead managers: let them end.
	for _, m := range w.managers {
		m.alive = false
		m.cancel()
	}
	for n := 0; len(w.tasks) > 0 && n < maxSteps; n++ {
		w.resume(w.tasks[0])
	}
}

// settle resumes a paused rollout, since nothing else will.
func (w *world) settle() {
	if ro := w.db.rollouts[w.id]; ro.State == control.RolloutRunning && ro.Request == control.RequestPause {
		ro.Request = control.RequestRun
		w.request(ro)
	}
}

// judge checks the invariants at the end.
func (w *world) judge() {
	ro := w.db.rollouts[w.id]
	if ro.State == control.RolloutRunning {
		w.fault("the rollout does not end: phase %s, request %s, wave %d of %d, owner %q, jobs %v, shards %v", ro.Phase, ro.Request, ro.Wave, ro.Waves, ro.Owner, w.db.jobs, w.db.shards)
		return
	}
	if len(w.db.ended) != int(w.id) || w.db.ended[w.id-1] != w.id {
		w.fault("the ends were recorded as %v", w.db.ended)
	}
	last := map[string]string{}
	for _, e := range w.db.events {
		if e.Kind == "device.state" {
			_, to, _ := strings.Cut(string(e.Data), `"to":"`)
			last[e.Subject], _, _ = strings.Cut(to, `"`)
		}
	}
	t := control.Tally{}
	for _, id := range slices.SortedFunc(maps.Keys(w.devices), ident.PortID.Compare) {
		b := w.devices[id]
		d, ok := w.db.devices[w.id][id]
		if !ok { // not part of a release, since it was never written
			continue
		}
		t.Add(d.State, d.Touched, 1)
		asWant, asBefore := b.holds.Equal(b.want), b.holds.Equal(b.before)
		dirty := d.State == "failed" && d.Touched
		if dirty && ro.State != control.RolloutFailed {
			w.fault("%s is neither as wanted nor as before in a rollout that ended as %s", d.Device, ro.State)
		}
		if !asWant && !asBefore && !dirty {
			w.fault("%s holds a mixture, and is recorded as %s by a rollout that ended as %s", d.Device, d.State, ro.State)
		}
		if s := d.State; s == device.InSync && !b.rebooted && !asWant {
			w.fault("%s is recorded as in sync and is not", d.Device)
		} else if s == device.RolledBack && !asBefore {
			w.fault("%s is recorded as rolled back and is not", d.Device)
		}
		if s := d.State; s.Settled() && last[d.Device.Name] != string(d.State) {
			w.fault("%s is recorded as %s, its last event tells of %q", d.Device, d.State, last[d.Device.Name])
		}
	}
	switch ro.State {
	case control.RolloutSucceeded:
		if t.InSync != t.All {
			w.fault("success with %d of %d devices in sync", t.InSync, t.All)
		}
	case control.RolloutPartial:
		if t.Dirty > 0 || t.Open > 0 || t.Failed > ro.Options.FailureBudget {
			w.fault("partial success with %+v", t)
		}
	case control.RolloutFailed:
		w.judgeUndone()
	case control.RolloutRolledBack:
		if t.Touched > 0 || t.InSync > 0 && !w.untouchedInSync() {
			w.fault("rolled back with %+v", t)
		}
	case control.RolloutRefused:
		if w.wrote(ro) {
			w.fault("refused with %+v, placements %s, after writes", t, ro.Placed)
		}
	}
	w.count("ended as " + string(ro.State))
}

// judgeUndone checks that a rollout which turned back tried to return every device that it had written.
func (w *world) judgeUndone() {
	since, ok := w.db.turned[w.id]
	if !ok {
		return
	}
	tried := map[string]bool{}
	for _, e := range w.db.events[since:] {
		if e.Kind == "device.state" && strings.Contains(string(e.Data), `"to":"applying"`) {
			tried[e.Subject] = true
		}
	}
	for _, d := range w.db.devices[w.id] {
		if d.Touched && d.State != "rolled-back" && (d.State == "in-sync" || !tried[d.Device.Name]) {
			w.fault("%s is left as %s by a rollout that turned back, and its return was tried: %t", d.Device, d.State, tried[d.Device.Name])
		}
	}
}

// wrote reports whether a rollout announced a write to a device or to the subnet manager.
func (w *world) wrote(ro control.Rollout) bool {
	return ro.Placed != control.PlacedNone || slices.ContainsFunc(w.db.events, func(e control.Event) bool {
		return e.Rollout == ro.ID && e.Kind == "device.state" && strings.Contains(string(e.Data), `"to":"applying"`)
	})
}

// untouchedInSync reports whether every device in sync was in sync without a write.
func (w *world) untouchedInSync() bool {
	for _, d := range w.db.devices[w.id] {
		if d.State == "in-sync" && d.Touched {
			return false
		}
	}
	return true
}

// mend rolls out once more, without faults. Devices that the last rollout left half done must then end in the desired or
// the original state.
func (w *world) mend() error {
	dirty := map[ident.PortID]control.RolloutDevice{}
	clamps := false
	for id, d := range w.db.devices[w.id] {
		b := w.devices[id]
		if s := d.State; d.Touched && s != device.InSync && s != device.RolledBack {
			dirty[id] = d
			w.count("devices to mend")
		} else {
			b.before = b.holds.Clone()
		}
		clamps = clamps || b.clamps
	}
	list, err := device.Desired(w.plan.Plan, w.plan.Topology)
	if err != nil {
		return err
	}
	w.calm = true
	if err := w.begin(list, control.RolloutOptions{Wave: 2, Shard: 2, Parallel: 1, Attempts: 6}, dirty); err != nil {
		return err
	}
	w.play()
	w.judge()
	if ro := w.db.rollouts[w.id]; !clamps && ro.State != control.RolloutSucceeded {
		w.fault("in peace a rollout ends as %s: %s", ro.State, ro.Result)
	}
	for id, b := range w.devices {
		if !b.holds.Equal(b.want) && !b.holds.Equal(b.before) {
			w.fault("%s holds a mixture after a rollout in peace", id)
		}
	}
	return nil
}

func TestDevicesEndInDesiredOrPreviousStateAfterAnyFault(t *testing.T) {
	t.Parallel()
	target := lab(t)
	total := map[string]int{}
	for i := range *schedules {
		s := *seed + uint64(i)
		w := newWorld(t, target, s)
		w.play()
		w.judge()
		if len(w.faults) == 0 {
			if err := w.mend(); err != nil {
				t.Fatal(err)
			}
		}
		for what, k := range w.counts {
			total[what] += k
		}
		if len(w.faults) > 0 {
			t.Fatalf("seed %d (repeat with -schedules=1 -seed=%d):\n%s\noutlook %+v, counts %v", s, s, strings.Join(w.faults, "\n"), w.o, w.counts)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%7d %s", total[what], what)
	}
	if *schedules >= ruleSchedules {
		for _, what := range []string{"killed managers", "database outages", "reboots", "partial applies", "operator commands", "commits whose answer was lost", "writes that nobody waits for", "of them, changes", "devices to mend",
			"ended as succeeded", "ended as rolled-back", "ended as refused", "ended as canceled", "ended as failed"} {
			if total[what] == 0 {
				t.Errorf("no schedule had %s: the simulation proves less than it should", what)
			}
		}
	}
}

func TestSameSeedGivesSameSchedule(t *testing.T) {
	t.Parallel()
	target := lab(t)
	for s := range uint64(20) {
		var logs [2]string
		for i := range logs {
			w := newWorld(t, target, s+1)
			w.play()
			logs[i] = fmt.Sprint(w.db.events, w.counts, w.now)
		}
		if logs[0] != logs[1] {
			t.Fatalf("seed %d gives two schedules", s+1)
		}
	}
}

func TestSimulationDetectsSabotage(t *testing.T) {
	t.Parallel()
	target := lab(t)
	for what, sabotage := range map[string]func(*world){
		"believing instead of reading back": func(w *world) { w.credulous = true },
		"no fence around a shard":           func(w *world) { w.unfenced, w.steady = true, false },
	} {
		noticed := 0
		for s := range uint64(30) {
			w := newWorld(t, target, s+1)
			sabotage(w)
			w.play()
			w.judge()
			if len(w.faults) > 0 {
				noticed++
			}
		}
		if noticed == 0 {
			t.Errorf("%s: not detected in 30 schedules", what)
		}
		t.Logf("%s: noticed in %d of 30 schedules", what, noticed)
	}
}
