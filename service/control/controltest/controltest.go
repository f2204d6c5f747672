// Package controltest builds a whole service for tests: a real store, the compiler and a small star fabric, with devices
// that the test scripts.
package controltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/usecases"
	"fairlane/service/device"
	"fairlane/service/rollout"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// Token is the rig's admin token.
const Token = "flt_test-token-with-more-than-32-characters"

// Source is where the rig's fabric, a star with hosts h1 to h4, is discovered.
const Source = "ibsim:unix:star"

// Rig is a service with its test doubles.
type Rig struct {
	Service *usecases.Services
	Store   control.Store
	Devices *Devices
	Path    string // of the database file
	queue   *queue
}

// Wait returns when no job of a rollout is running or queued.
func (r *Rig) Wait() { r.queue.wait() }

// Engine returns an engine that works the rollouts of a service of this rig.
func (r *Rig) Engine(t testing.TB, s *usecases.Services, name string) *rollout.Engine {
	t.Helper()
	e, err := rollout.New(rollout.Deps{Store: s.Store, UseCases: s, Opener: r.Devices, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Opener opens the store at a path. It hides store.OpenSQLite, since test doubles must not depend on databases.
type Opener func(ctx context.Context, path string) (control.Store, io.Closer, error)

// New builds a rig that lives as long as the test.
func New(t testing.TB, open Opener) *Rig {
	t.Helper()
	return On(t, open, filepath.Join(t.TempDir(), "fairlane.db"), &Devices{})
}

// On builds a rig on the database at path, as after a restore, with the devices of another rig.
func On(t testing.TB, open Opener, path string, devices *Devices) *Rig {
	t.Helper()
	r := &Rig{Devices: devices, Path: path}
	var closer io.Closer
	var err error
	if r.Store, closer, err = open(t.Context(), r.Path); err != nil {
		t.Fatal(err)
	}
	r.queue = newQueue(r.Store)
	r.Store = r.queue
	r.Service = r.Manager(t)
	r.queue.tasks = r.Service
	r.queue.engine = r.Engine(t, r.Service, "m1")
	t.Cleanup(func() {
		r.queue.stop()
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := r.Service.Bootstrap(t.Context(), Token); err != nil {
		t.Fatal(err)
	}
	return r
}

// Manager returns another service on the rig's store, as after a restart; change replaces dependencies.
func (r *Rig) Manager(t testing.TB, change ...func(*control.Deps)) *usecases.Services {
	t.Helper()
	var mu sync.Mutex
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	d := control.Deps{
		Store: r.Store, Discoverer: r.Devices, Observer: r.Devices, Meter: r.Devices, Laboratory: r.Devices, Doctor: r.Devices, Abilities: r.Devices,
		Clock: func() time.Time { // each reading of the clock is a millisecond later
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Millisecond)
			return now
		},
	}
	for _, f := range change {
		f(&d)
	}
	s, err := usecases.New(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Lab makes fabric "lab", discovers it, and adds tenants red (weight 3, h1 and h4) and blue
// (weight 1, h2 and h4), each with one flow to h4.
func (r *Rig) Lab(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	_, err := r.Service.CreateFabric(ctx, control.Fabric{Name: "lab", Source: Source})
	if err == nil {
		_, err = r.Service.Discover(ctx, "lab")
	}
	if err == nil {
		_, err = r.Service.ApplyTenants(ctx, "lab", Tenants(), false)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Tenants returns the declared state of Lab.
func Tenants() tenancy.TenantSet {
	return tenancy.TenantSet{
		Tenants: []tenancy.TenantInput{
			{Name: "red", Weight: 3000, PKey: 0x8001, Attachments: []tenancy.AttachmentInput{{Port: "h1"}, {Port: "h4"}}},
			{Name: "blue", Weight: 1000, PKey: 0x8002, Attachments: []tenancy.AttachmentInput{{Port: "h2"}, {Port: "h4"}}},
		},
		Flows: []tenancy.FlowInput{{Tenant: "red", Src: "h1", Dst: "h4"}, {Tenant: "blue", Src: "h2", Dst: "h4", QPs: 4}},
	}
}

// Devices fakes everything outside the service. By default everything works: discovery finds the star, devices accept
// every write and are in sync, and tenants get a hundredth less than their entitlement.
type Devices struct {
	mu     sync.Mutex
	fault  error
	drift  bool
	honest bool
	held   map[ident.PortID]driver.Settings
	names  map[string]ident.PortID // keys of held, by name
	onRead func(ctx context.Context, d driver.Device) error
	onSet  func(ctx context.Context, d driver.Device) error
	reads  map[ident.PortID]int

	strayed  bool  // placements are not in force any more
	stubborn bool  // and a new placement does not take effect
	refusal  error // why placing is refused

	plane    subnet.Plane // plane of the devices, as discovery reports it
	warnings []phrase.Text
	problems map[string]phrase.Text // why tenants are not measured

	examined int                   // by the doctor
	onDoctor func(context.Context) // called by every examination
}

// Reads returns how often drift sweeps read each device.
func (d *Devices) Reads() map[ident.PortID]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.reads)
}

// OnRead makes later reads of devices by a rollout call f first; nil removes the hook.
func (d *Devices) OnRead(f func(ctx context.Context, d driver.Device) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onRead = f
}

// OnApply makes later writes of devices by a rollout call f first; nil removes the hook.
func (d *Devices) OnApply(f func(ctx context.Context, d driver.Device) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onSet = f
}

// Hold makes later rollouts block at the first device that they read until let is called; began is closed when one
// blocks.
func (d *Devices) Hold() (began <-chan struct{}, let func()) {
	at, free := make(chan struct{}), make(chan struct{})
	var first, last sync.Once
	d.OnRead(func(ctx context.Context, _ driver.Device) error {
		first.Do(func() { close(at) })
		select {
		case <-free:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return at, func() { last.Do(func() { close(free) }) }
}

// Break makes discovery, observation and measurement fail with err; nil ends that.
func (d *Devices) Break(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = err
}

// Warn makes discoveries report the plane of the devices, and warnings.
func (d *Devices) Warn(plane subnet.Plane, warnings ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plane, d.warnings = plane, nil
	for _, w := range warnings {
		d.warnings = append(d.warnings, phrase.Verbatim(w))
	}
}

// Stray makes the subnet manager return other service levels than were placed, until they are placed again or, when
// stubborn, for good. refusal, when not nil, is the reason why placing is refused.
func (d *Devices) Stray(stubborn bool, refusal error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.strayed, d.stubborn, d.refusal = true, stubborn, refusal
}

// Drift makes the first device differ from its desired settings.
func (d *Devices) Drift() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drift = true
}

// Compare makes drift sweeps compare the desired settings with those of the devices.
func (d *Devices) Compare() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.honest = true
}

// Held returns the settings that were written to devices.
func (d *Devices) Held() map[ident.PortID]driver.Settings {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.held)
}

// Put makes the device of a name, which was written before, hold settings, as if another program had written them.
func (d *Devices) Put(name string, s driver.Settings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[d.names[name]] = s
}

// Undrift ends the effect of Drift.
func (d *Devices) Undrift() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drift = false
}

// Unmeasured makes measurements lack a tenant, for the reason problem.
func (d *Devices) Unmeasured(tenant string, problem phrase.Text) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.problems = map[string]phrase.Text{tenant: problem}
}

func (d *Devices) broken() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fault
}

// Star returns the fabric that is discovered.
func Star() (*subnet.Fabric, error) { return topogen.Star(4, topogen.Wire{}) }

var _ control.Discoverer = (*Devices)(nil)

func (d *Devices) Discover(_ context.Context, source string, _ policy.Options) (*subnet.Fabric, control.DiscoverStats, error) {
	if err := d.broken(); err != nil {
		return nil, control.DiscoverStats{}, err
	}
	if source != Source {
		return nil, control.DiscoverStats{}, fmt.Errorf("nothing answers at %s", source)
	}
	f, err := Star()
	d.mu.Lock()
	defer d.mu.Unlock()
	return f, control.DiscoverStats{Wall: 1500 * time.Microsecond, MADsSent: 42, Plane: d.plane, Warnings: d.warnings}, err
}

var _ rollout.Opener = (*Devices)(nil)

func (d *Devices) Open(context.Context, control.Target, []driver.Device) (rollout.Session, error) {
	if err := d.broken(); err != nil {
		return rollout.Session{}, err
	}
	return rollout.Session{Driver: memory{d}, Placer: placer{d}, Close: func() error { return nil }}, nil
}

// placer is the subnet manager. Every placement is in force until it strays.
type placer struct{ d *Devices }

var _ device.Placer = (*placer)(nil)

func (p placer) Check(context.Context, *policy.Plan, *policy.Plan) error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	return p.d.refusal
}

func (p placer) Place(context.Context, *policy.Plan, *policy.Plan, bool) error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.d.strayed = p.d.strayed && (p.d.stubborn || p.d.refusal != nil)
	return p.d.refusal
}

func (p placer) Verify(context.Context, *policy.Plan) error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	if p.d.strayed {
		return errors.New("subnet administration returns SL 0")
	}
	return nil
}

// report returns the result of checking the subnet manager.
func (p placer) report() control.DeviceReport {
	r := control.DeviceReport{Device: device.Manager(), State: "in-sync"}
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	if p.d.strayed {
		r.State, r.Differences = "drifted", []control.Difference{{Field: "path of bronze in partition 0x8001", Desired: "SL 1", Observed: "SL 0"}}
		r.Cause = phrase.Of("cause.partitions")
		if p.d.refusal != nil {
			r.Refused, r.Error = true, driver.Said(p.d.refusal)
		}
	}
	return r
}

// memory is a driver of devices that hold what was written to them.
type memory struct{ d *Devices }

// ask calls the hook that a test set.
func (m memory) ask(ctx context.Context, who *func(context.Context, driver.Device) error, d driver.Device) error {
	m.d.mu.Lock()
	ask := *who
	m.d.mu.Unlock()
	if ask == nil {
		return nil
	}
	return ask(ctx, d)
}

var _ driver.Driver = (*memory)(nil)

func (memory) Capabilities(context.Context, driver.Device) (driver.Capabilities, error) {
	return driver.Capabilities{TableEntries: 128, PerSL: true}, nil
}

func (m memory) Read(ctx context.Context, d driver.Device) (driver.Settings, error) {
	if err := m.ask(ctx, &m.d.onRead, d); err != nil {
		return driver.Settings{}, err
	}
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if s, ok := m.d.held[d.ID]; ok {
		return s.Clone(), nil
	}
	if d.Kind == subnet.KindSwitch {
		return driver.Settings{Switch: &driver.SwitchState{Ports: make([]ibcc.PortMarking, d.Ports+1)}}, nil
	}
	return driver.Settings{CA: &ibcc.CASettings{Table: []ibcc.Entry{{}}}}, nil
}

func (m memory) Apply(ctx context.Context, d driver.Device, want driver.Settings) (driver.Receipt, error) {
	if err := m.ask(ctx, &m.d.onSet, d); err != nil {
		return driver.Receipt{}, err
	}
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if m.d.held == nil {
		m.d.held, m.d.names = map[ident.PortID]driver.Settings{}, map[string]ident.PortID{}
	}
	m.d.held[d.ID], m.d.names[d.Name] = want.Clone(), d.ID
	return driver.Receipt{Fields: []driver.FieldReceipt{{Field: "all", Outcome: driver.OutcomeAcknowledged}}}, nil
}

// read compares the desired settings of devices with their current ones.
func (d *Devices) read(targets []device.Target) (list []control.DeviceReport) {
	for _, o := range device.Observe(context.Background(), targets, memory{d}, 1) {
		x := control.DeviceReport{Device: o.Device, State: o.State, Observed: o.Observed}
		if o.Err != nil {
			x.Error = driver.Said(o.Err)
		}
		for _, f := range o.Differences {
			x.Differences = append(x.Differences, control.Difference{Field: f.Field, Desired: f.Want, Observed: f.Got})
		}
		list = append(list, x)
	}
	return list
}

var _ control.Observer = (*Devices)(nil)

func (d *Devices) Observe(_ context.Context, t control.Target, ids []ident.PortID) ([]control.DeviceReport, error) {
	if err := d.broken(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	drift, honest := d.drift, d.honest
	if d.reads == nil {
		d.reads = map[ident.PortID]int{}
	}
	for _, id := range ids {
		d.reads[id]++
	}
	d.mu.Unlock()
	if t.Devices != nil {
		return d.read(t.Devices), nil
	}
	targets, err := device.Desired(t.Plan, t.Topology)
	if err != nil {
		return nil, err
	}
	var list []control.DeviceReport
	if t.Placed && ids == nil && device.Manages(t.Plan) || slices.ContainsFunc(ids, device.IsManager) {
		list = append(list, placer{d}.report())
	}
	if honest {
		of := slices.DeleteFunc(targets, func(t device.Target) bool { return ids != nil && !slices.Contains(ids, t.Device.ID) })
		return append(list, d.read(of)...), nil
	}
	for i := range targets {
		x := control.DeviceReport{Device: targets[i].Device, State: "in-sync", Desired: &targets[i].Want, Observed: &targets[i].Want}
		if drift && i == 0 {
			x.State, x.Differences = "drifted", []control.Difference{{Field: "sl[3].timer", Desired: "150", Observed: "0"}}
		}
		if ids == nil || slices.Contains(ids, x.Device.ID) {
			list = append(list, x)
		}
	}
	return list, nil
}

var _ control.Meter = (*Devices)(nil)

func (d *Devices) Measure(_ context.Context, t control.Target, window time.Duration) (control.Shares, error) {
	if err := d.broken(); err != nil {
		return control.Shares{}, err
	}
	d.mu.Lock()
	problems := d.problems
	d.mu.Unlock()
	sh := control.Shares{Window: window, Coverage: new(1.0)}
	said := phrase.Of("labelled", "label", phrase.Of("loop.no-full-queue"), "text", phrase.Of("loop.cnp-figures", "marks", 0, "sent", 0, "handled", 0, "ignored", 0))
	sh.Loop = &control.CongestionLoop{State: control.LoopNotTested, Text: said.String(), Said: &said}
	for _, x := range t.Plan.Tenants {
		share := control.TenantShare{Tenant: x.Tenant, Weight: x.Weight, Entitled: x.Entitled}
		if said, is := problems[x.Tenant]; is {
			share.Problem, share.Said = said.String(), &said
		} else {
			share.Delivered, share.ShareError = new(x.Entitled-x.Entitled/100), new(0.01)
			sh.MaxShareError, sh.Jain = share.ShareError, new(1.0)
		}
		sh.Tenants = append(sh.Tenants, share)
	}
	for _, l := range t.Plan.Links {
		sh.Links = append(sh.Links, control.LinkUse{Port: l.Port, Peer: l.Peer, Name: l.Name, Capacity: l.Capacity, Delivered: new(l.Capacity / 2), Use: new(0.5)})
	}
	return sh, nil
}
