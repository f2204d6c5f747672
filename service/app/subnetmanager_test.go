package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/command/demo"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/service/device"
	"fairlane/service/placement"
	"fairlane/service/site"
	"fairlane/sim/fabric"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
	"fairlane/subnet/topogen"
)

// smLab is a fabric under a real OpenSM and the service, with a plan in force that drift is repaired to, and another
// that differs on every port.
type smLab struct {
	*driftLab

	sm, rival *ibsimtest.SM
	files     *opensm.Manager // that watches sm
	plans     [2]string
	seen      int // number of processed events
}

// Where the subnet managers sit; the service sits on the first host.
const (
	smHost    = "host-016"
	rivalHost = "host-032"
)

// Options of the subnet managers: standbys detect the loss of the master early.
const (
	smOptions      = "sm_priority 5\nsminfo_polling_timeout 200\npolling_retry_number 2\n"
	standbyOptions = "sm_priority 2\nsminfo_polling_timeout 200\npolling_retry_number 2\n"
	rivalOptions   = "sm_priority 12\nsminfo_polling_timeout 200\npolling_retry_number 2\n"
)

// writesCC are options by which OpenSM writes settings of its own to every device.
const writesCC = "congestion_control TRUE\ncc_sw_cong_setting_control_map 0x1f\ncc_sw_cong_setting_threshold 3\n" +
	"cc_sw_cong_setting_marking_rate 4444\ncc_ca_cong_setting_control_map 0xffff\n" + "cc_cct 0:0,1:2,2:3\n"

func newSMLab(t *testing.T) *smLab {
	t.Helper()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 4, HostsPerLeaf: 8, Spines: 2})
	if err != nil {
		t.Fatal(err)
	}
	l := &smLab{driftLab: &driftLab{t: t, d: &rig{}}}
	addr := "unix:" + ibsimtest.SockName(t)
	ibsimtest.Preload(t)
	l.d.live, err = live.StartInfiniBand(t.Context(), &scenario.Scenario{Name: "managed", Fabric: topo}, addr, simdev.Options{SMMode: simdev.Cold, TimeScale: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.d.live.Close(); err != nil {
			t.Error(err)
		}
	})
	l.sm = ibsimtest.NewSM(t, addr, smHost, l.options(""))
	l.sm.Start("SUBNET UP")
	managers, err := placement.ReadManagers([]string{demo.FabricName + "=" + l.smFile()})
	if err != nil {
		t.Fatal(err)
	}
	p := site.New(site.Settings{Managers: managers})
	m, err := openManager(t.Context(), filepath.Join(t.TempDir(), "fairlane.db"), p, workOptions{still: true}, func(d *control.Deps) {
		d.Clock = func() time.Time { return time.Now().Add(time.Duration(l.skew.Load())) }
	})
	if err != nil {
		t.Fatal(err)
	}
	running := l.d.live
	l.d = newRig(demo.InfiniBand(running), m, 1)
	l.d.live = running
	t.Cleanup(func() {
		if err := l.d.manager.Close(); err != nil {
			t.Error(err)
		}
	})
	l.watch(addr)
	l.begun(topo)
	return l
}

// options are those of the first subnet manager, with others behind them.
func (l *smLab) options(more string) string {
	topo := l.d.live.Scenario.Fabric
	return fmt.Sprintf("guid %s\n%s%s", topo.Nodes[topo.NodesByName(smHost)[0]].Ports[1].GUID, smOptions, more)
}

// smFile writes the file that says who manages the subnet, as operators give it to the service.
func (l *smLab) smFile() string {
	l.t.Helper()
	path := filepath.Join(l.t.TempDir(), "sm.yaml")
	text := fmt.Sprintf("opensm: {options: %q, partitions: %q, pid_file: %q}\n", l.sm.Path("opensm.conf"), l.sm.Path("partitions.conf"), l.sm.Path("pid"))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return path
}

// watch starts reporting events of the subnet manager.
func (l *smLab) watch(addr string) {
	l.t.Helper()
	c, err := ibsim.Dial(l.t.Context(), addr, ibsim.Options{NodeID: "host-003"})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() }) // the fabric ends with the test
	l.files, err = opensm.New(opensm.Config{
		Options: l.sm.Path("opensm.conf"), Partitions: l.sm.Path("partitions.conf"), Policy: l.sm.Path("qos-policy.conf"),
	}, opensm.Disk{}, opensm.PIDFile{Path: l.sm.Path("pid")}, c)
	if err != nil {
		l.t.Fatal(err)
	}
}

// begun puts the fabric under management, compiles both plans, and rolls out the first.
func (l *smLab) begun(topo *subnet.Fabric) {
	t, svc := l.t, l.d.manager.service
	t.Helper()
	_, err := svc.CreateFabric(t.Context(), control.Fabric{Name: demo.FabricName, Source: "ibsim:" + l.d.live.Server.Addr(), TimeScale: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Discover(t.Context(), demo.FabricName); err != nil {
		t.Fatal(err)
	}
	for i, law := range []policy.CCTLaw{policy.CCTGeometric, policy.CCTQuadratic} {
		if _, err := svc.ApplyTenants(t.Context(), demo.FabricName, everyPort(topo, i), false); err != nil {
			t.Fatal(err)
		}
		p, _, err := svc.CreatePlan(t.Context(), demo.FabricName, policy.Options{CCTLaw: law}, false)
		if err != nil {
			t.Fatal(err)
		}
		l.plans[i] = p.Plan.Name
	}
	push(t, l.d, l.plans[0], control.RolloutOptions{})
	rules := control.DriftPolicy{Policy: device.PolicyRepair, Interval: int(driftInterval / time.Second), Limit: 5, Window: 3600, Release: 600}
	if _, err := svc.PutDriftPolicy(t.Context(), demo.FabricName, 0, rules); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first finds the devices, whose first turns come within the interval
		l.sweep()
	}
	if lost := l.lost(); len(lost) > 0 || len(l.drifted()) > 0 {
		t.Fatalf("at first %v are not as wanted", lost)
	}
}

// sweep lets an interval pass and looks for drift, with the repairs that come of it.
func (l *smLab) sweep() {
	l.t.Helper()
	l.skew.Add(int64(2 * driftInterval))
	if err := l.d.manager.service.SweepDrift(l.t.Context(), "m"); err != nil {
		l.t.Fatal(err)
	}
	l.quiet()
}

// lookTick is the interval at which the lab polls a rollout; each poll needs several database queries.
const lookTick = 30 * time.Millisecond

// quiet waits for the rollout under way.
func (l *smLab) quiet() {
	l.t.Helper()
	l.quietBy(lookTick)
}

// half waits until a rollout that takes its time is in the middle: ready says where.
func (l *smLab) half(id int64, ready func(control.Rollout) bool) {
	l.t.Helper()
	tick := time.NewTicker(lookTick)
	defer tick.Stop()
	for {
		ro := l.rollout(id)
		if ro.State != control.RolloutRunning {
			l.t.Fatalf("rollout %d ended as %s before its middle: %s", id, ro.State, ro.Result)
		}
		if ready(ro) {
			return
		}
		<-tick.C
	}
}

// written counts the devices of a kind that a rollout has written and read back, and those it has not begun with.
func written(ro control.Rollout, kind subnet.NodeKind) (done, open []string) {
	for _, d := range ro.Devices {
		switch {
		case d.Device.Kind != kind:
		case d.State == device.InSync:
			done = append(done, d.Device.Name)
		case d.State == device.Unknown || d.State == device.Pending:
			open = append(open, d.Device.Name)
		}
	}
	return done, open
}

// amidAdapters is when some adapters are written and others are not.
func amidAdapters(ro control.Rollout) bool {
	done, open := written(ro, subnet.KindCA)
	return len(done) >= 8 && len(open) >= 8
}

// amidSwitches is when some switches are written and others are not.
func amidSwitches(ro control.Rollout) bool {
	done, open := written(ro, subnet.KindSwitch)
	return len(done) >= 1 && len(open) >= 1
}

// held returns a device's settings in the simulated network, read directly and not by a management protocol.
func (l *smLab) held(n *fabric.Network, d driver.Device) driver.Settings {
	l.t.Helper()
	ref, ok := n.Topology().PortByID(d.ID)
	if !ok {
		l.t.Fatalf("%s is not on the fabric", d)
	}
	if d.Kind == subnet.KindSwitch {
		s := &driver.SwitchState{Defaults: n.SwitchCC(ref.Node), Ports: make([]ibcc.PortMarking, d.Ports+1)}
		for p := 1; p <= d.Ports; p++ {
			s.Ports[p] = n.PortMarking(ref.Node, ident.PortNum(p))
		}
		return driver.Settings{Switch: s}
	}
	s := &ibcc.CASettings{Limit: n.CCTILimit(ref.Node, ref.Port)}
	s.PerSL, s.SLs = n.CAParams(ref.Node, ref.Port)
	for b := range n.CCTBlocks(ref.Node) {
		block := n.CCTBlock(ref.Node, ref.Port, b)
		s.Table = append(s.Table, block[:]...)
	}
	s.Table = s.Table[:s.Limit+1]
	return driver.Settings{CA: s}
}

// lost are the devices that do not hold what the plan in force wants, and a field of each.
func (l *smLab) lost() map[string]string {
	l.t.Helper()
	_, list, _, err := l.d.manager.service.ListDevices(l.t.Context(), demo.FabricName, control.Page{Limit: 1000})
	if err != nil {
		l.t.Fatal(err)
	}
	if len(list) != 38 {
		l.t.Fatalf("the plan has %d devices, want 32 adapters and 6 switches", len(list))
	}
	out := map[string]string{}
	l.d.live.Devices.With(func(n *fabric.Network) {
		for _, v := range list {
			if diff := v.Desired.Diff(l.held(n, v.Device)); len(diff) > 0 {
				out[v.Device.Name] = diff[0].Field
			}
		}
	})
	return out
}

// drifted returns the devices reported as drifted since the last call, with the reports.
func (l *smLab) drifted() map[string]string {
	l.t.Helper()
	out := map[string]string{}
	at := 0
	for p := (control.Page{Limit: 1000}); ; {
		list, next, err := l.d.manager.service.Events(l.t.Context(), demo.FabricName, 0, p)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, e := range list {
			if at++; at > l.seen && e.Kind == "device.drifted" {
				out[e.Subject] = e.Said.String()
			}
		}
		if p.After = next; next == "" {
			l.seen = at
			return out
		}
	}
}

// settles waits until hardly any management packets have been sent for a while: those by which a standby looks after the
// master do not end.
func (l *smLab) settles() {
	l.t.Helper()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for last := uint64(0); ; {
		now := l.d.live.Server.Stats().Datagrams
		if now-last < 20 {
			return
		}
		last = now
		select {
		case <-tick.C:
		case <-deadline:
			l.t.Fatal("management packets do not end")
		}
	}
}

func (l *smLab) observe() osmfile.Observation {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
	defer cancel()
	o, err := l.files.Observe(ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	return o
}

// flap takes a link of a node away and gives it back.
func (l *smLab) flap(node string, port ident.PortNum) {
	l.t.Helper()
	at := subnet.PortRef{Node: l.d.live.Scenario.Fabric.NodesByName(node)[0], Port: port}
	for _, up := range []bool{false, true} {
		n := l.sm.Count("SUBNET UP")
		l.d.live.Devices.SetLink(at, up)
		l.sm.Wait("SUBNET UP", n+1)
	}
}

// away unplugs a host that a rollout has not begun with, waits until its turn has come and others of its wave are written,
// and returns what plugs it in again.
func (l *smLab) away(ro control.Rollout) (set func(up bool)) {
	l.t.Helper()
	_, open := written(ro, subnet.KindCA)
	name, topo := open[len(open)-1], l.d.live.Scenario.Fabric
	at := subnet.PortRef{Node: topo.NodesByName(strings.TrimSuffix(name, "/P1"))[0], Port: 1}
	set = func(up bool) {
		n := l.sm.Count("SUBNET UP")
		l.d.live.Devices.SetLink(at, up)
		l.sm.Wait("SUBNET UP", n+1)
	}
	set(false)
	l.half(ro.ID, func(ro control.Rollout) bool {
		d := l.part(ro, name)
		return slices.ContainsFunc(ro.Devices, func(o control.RolloutDevice) bool { return o.Wave == d.Wave && o.State == device.InSync })
	})
	return set
}

// disturbance is something that happens to the fabric in the middle of a rollout.
type disturbance struct {
	name  string
	when  func(control.Rollout) bool
	do    func(l *smLab, ro control.Rollout) // returns when it is over
	cause osmfile.CauseCode
	loses bool // whether devices end with other settings, for sure, or for sure not
	// goesBack says that the rollout cannot end with all.
	goesBack bool
}

func disturbances() []disturbance {
	return []disturbance{
		{name: "OpenSM is killed and started again", when: amidAdapters, cause: osmfile.CauseRestarted, do: func(l *smLab, _ control.Rollout) {
			l.sm.Kill()
			l.sm.Start("SUBNET UP")
		}},
		{name: "OpenSM reads harmless options", when: amidAdapters, cause: osmfile.CauseOptionsChanged, do: func(l *smLab, _ control.Rollout) {
			l.sm.Options(l.options("max_wire_smps 8\n"))
			l.sm.Hup()
		}},
		{name: "OpenSM is told to write congestion control", when: amidAdapters, cause: osmfile.CauseOptionsChanged, loses: true, do: func(l *smLab, _ control.Rollout) {
			l.sm.Options(l.options(writesCC))
			l.sm.Hup()
		}},
		{name: "OpenSM is started again and writes congestion control", when: amidAdapters, cause: osmfile.CauseRestarted, loses: true, do: func(l *smLab, _ control.Rollout) {
			l.sm.Options(l.options(writesCC))
			l.sm.Kill()
			l.sm.Start("SUBNET UP")
		}},
		{name: "another OpenSM takes over", when: amidAdapters, cause: osmfile.CauseHandover, do: func(l *smLab, _ control.Rollout) {
			l.takeOver(rivalOptions)
		}},
		{name: "another OpenSM takes over and goes again", when: amidAdapters, do: func(l *smLab, _ control.Rollout) {
			l.takeOver(rivalOptions)
			n := l.sm.Count("SUBNET UP")
			l.rival.Stop()
			l.sm.Wait("SUBNET UP", n+1)
		}},
		{name: "OpenSM is killed and a standby takes over", when: amidAdapters, cause: osmfile.CauseHandover, do: func(l *smLab, _ control.Rollout) {
			l.rival = ibsimtest.NewSM(l.t, l.d.live.Server.Addr(), rivalHost, standbyOptions)
			l.rival.Start("Entering STANDBY")
			l.sm.Kill()
			l.rival.Wait("SUBNET UP", 1)
		}},
		{name: "another OpenSM takes over and writes congestion control", when: amidAdapters, cause: osmfile.CauseHandover, loses: true, do: func(l *smLab, _ control.Rollout) {
			l.takeOver(rivalOptions + writesCC)
		}},
		{name: "links flap", when: amidAdapters, do: func(l *smLab, _ control.Rollout) {
			l.flap("leaf2", 9)  // to a spine
			l.flap("leaf4", 2)  // to a host
			l.flap("leaf1", 10) // to the other spine
			l.flap("leaf2", 3)
		}},
		{name: "a host is away while its turn comes", when: amidAdapters, do: func(l *smLab, ro control.Rollout) {
			l.away(ro)(true)
		}},
		{name: "a host stays away", when: amidAdapters, goesBack: true, do: func(l *smLab, ro control.Rollout) {
			back := l.away(ro)
			l.quiet()
			back(true)
		}},
		{name: "a switch starts again", when: amidSwitches, loses: true, do: func(l *smLab, ro control.Rollout) {
			done, _ := written(ro, subnet.KindSwitch)
			n := l.sm.Count("SUBNET UP")
			if err := l.d.live.Devices.Reboot(l.d.live.Scenario.Fabric.NodesByName(done[0])[0]); err != nil {
				l.t.Fatal(err)
			}
			l.sm.Wait("SUBNET UP", n+1)
		}},
	}
}

// takeOver starts a second OpenSM, which is to be master.
func (l *smLab) takeOver(options string) {
	l.t.Helper()
	l.rival = ibsimtest.NewSM(l.t, l.d.live.Server.Addr(), rivalHost, options)
	l.rival.Start("SUBNET UP")
}

// Any event at the subnet manager, at links or at devices during a rollout to every port: the rollout
// ends with all or as before, a sweep finds exactly what was lost, and after the repair every device is as the plan has it.
func TestSubnetEventsDuringARollout(t *testing.T) {
	t.Parallel()
	var g errgroup.Group
	g.SetLimit(4) // they wait more than they work, so that more of them than there are processors may
	for _, x := range disturbances() {
		g.Go(func() error {
			t.Run(x.name, x.test)
			return nil
		})
	}
	_ = g.Wait() // it returns no error
}

func (x disturbance) test(t *testing.T) {
	l := newSMLab(t)
	before := l.observe()
	ro := l.disturbed(x)
	if ok := ro.State == control.RolloutSucceeded && !x.goesBack || ro.State == control.RolloutRolledBack; !ok {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	if ro.State == control.RolloutRolledBack {
		settled(t, ro)
	}
	cause := osmfile.CauseOf(before, l.observe())
	if cause.Code != x.cause {
		t.Errorf("cause %q, want %q: %s", cause.Code, x.cause, cause.Text)
	}
	l.settles()
	lost := l.lost()
	l.drifted()
	t.Logf("rollout %s: %s; %d devices lost settings", ro.State, ro.Result, len(lost))
	if len(lost) > 0 != x.loses {
		t.Errorf("%d devices lost settings: %v", len(lost), lost)
	}
	for range 2 { // the first finds that another plan is in force, by which its devices get their turns
		l.sweep()
	}
	drifts := l.drifted()
	if a, b := slices.Sorted(maps.Keys(lost)), slices.Sorted(maps.Keys(drifts)); !slices.Equal(a, b) {
		t.Errorf("lost settings %q, drift is reported of %q", a, b)
	}
	for name, field := range lost {
		if !strings.Contains(drifts[name], name+" has drifted: "+field+" is ") || !strings.HasSuffix(drifts[name], cause.Text) {
			t.Errorf("%s lost %s because %q, reported is %q", name, field, cause.Text, drifts[name])
		}
	}
	l.asPlanned()
}

// disturbed rolls the other plan out, lets x happen in the middle, and returns how it ended.
func (l *smLab) disturbed(x disturbance) control.Rollout {
	l.t.Helper()
	devices, svc := l.d.live.Devices, l.d.manager.service
	devices.SetFaults(simdev.Faults{Classes: []mad.Class{mad.ClassCongestion}, DelayReply: 1, Delay: 15 * time.Millisecond})
	ro, err := svc.StartRollout(l.t.Context(), demo.FabricName, rollouts.RolloutInput{
		Plan: l.plans[1], Stages: []control.Stage{control.StageSettings}, Options: control.RolloutOptions{Wave: 8, Parallel: 4},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.half(ro.ID, x.when)
	x.do(l, l.rollout(ro.ID))
	l.t.Logf("when it was over the rollout was %s", l.rollout(ro.ID).Phase)
	l.quiet()
	devices.SetFaults(simdev.Faults{})
	return l.rollout(ro.ID)
}

// asPlanned fails unless every device is as the plan in force has it: by what the service knows, by what it reads, and
// by the network itself.
func (l *smLab) asPlanned() {
	l.t.Helper()
	l.sweep()
	if drifts := l.drifted(); len(drifts) > 0 {
		l.t.Errorf("after the repair these drifted: %v", drifts)
	}
	plan, list, _, err := l.d.manager.service.ListDevices(l.t.Context(), demo.FabricName, control.Page{Limit: 1000})
	if err != nil {
		l.t.Fatal(err)
	}
	_, read, err := l.d.manager.service.Devices(l.t.Context(), demo.FabricName, plan)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, v := range slices.Concat(list, read) {
		if v.State != string(device.InSync) {
			l.t.Errorf("%s is %s: %s", v.Device.Name, v.State, v.Error)
		}
	}
	if lost := l.lost(); len(lost) > 0 {
		l.t.Errorf("not as planned: %v", lost)
	}
}
