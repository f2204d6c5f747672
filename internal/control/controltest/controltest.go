// Package controltest builds a whole service for tests: a real store, the compiler and a small
// star fabric, with devices that do what the test says.
package controltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/control"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// Token is the rig's admin token.
const Token = "flt_test-token-with-more-than-32-characters"

// Source is where the rig's fabric, a star with hosts h1 to h4, is discovered.
const Source = "ibsim:unix:star"

// Rig is a service with its stand-ins.
type Rig struct {
	Service *control.Service
	Store   control.Store
	Devices *Devices
	Path    string // of the database file
}

// Opener opens the store at a path of its own; store.OpenSQLite behind an interface, since
// fakes do not know databases.
type Opener func(ctx context.Context, path string) (control.Store, io.Closer, error)

// New builds a rig that lives as long as the test.
func New(t testing.TB, open Opener) *Rig {
	t.Helper()
	r := &Rig{Devices: &Devices{}, Path: filepath.Join(t.TempDir(), "fairlane.db")}
	var closer io.Closer
	var err error
	if r.Store, closer, err = open(t.Context(), r.Path); err != nil {
		t.Fatal(err)
	}
	r.Service = r.Manager(t)
	t.Cleanup(func() {
		r.Service.Stop()
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := r.Service.Bootstrap(t.Context(), Token); err != nil {
		t.Fatal(err)
	}
	return r
}

// Manager is another service on the rig's store, as after a restart.
func (r *Rig) Manager(t testing.TB) *control.Service {
	t.Helper()
	var mu sync.Mutex
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	s, err := control.New(control.Deps{
		Store: r.Store, Discoverer: r.Devices, Compiler: policy.Compile, Roller: r.Devices, Observer: r.Devices, Meter: r.Devices,
		Clock: func() time.Time { // each look is a millisecond later
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Millisecond)
			return now
		},
	})
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

// Tenants is the declared state of Lab.
func Tenants() control.TenantSet {
	return control.TenantSet{
		Tenants: []control.TenantInput{
			{Name: "red", Weight: 3000, PKey: 0x8001, Attachments: []control.AttachmentInput{{Port: "h1"}, {Port: "h4"}}},
			{Name: "blue", Weight: 1000, PKey: 0x8002, Attachments: []control.AttachmentInput{{Port: "h2"}, {Port: "h4"}}},
		},
		Flows: []control.FlowInput{{Tenant: "red", Src: "h1", Dst: "h4"}, {Tenant: "blue", Src: "h2", Dst: "h4", QPs: 4}},
	}
}

// Devices stands in for everything outside the service. The zero value behaves: discovery finds the
// star, rollouts succeed, devices are in sync and tenants get a hundredth less than their due.
type Devices struct {
	mu    sync.Mutex
	roll  func(context.Context, control.RollRequest, control.Recorder) (control.RollResult, error)
	fault error
	drift bool
}

// OnRoll makes later rollouts do f.
func (d *Devices) OnRoll(f func(context.Context, control.RollRequest, control.Recorder) (control.RollResult, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.roll = f
}

// Break makes discovery, observation and measurement fail with err; nil mends them.
func (d *Devices) Break(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = err
}

// Drift makes the first device differ from what is desired.
func (d *Devices) Drift() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drift = true
}

func (d *Devices) broken() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fault
}

// Star is the fabric that is discovered.
func Star() (*subnet.Fabric, error) { return topogen.Star(4, topogen.Wire{}) }

// Discover implements control.Discoverer.
func (d *Devices) Discover(_ context.Context, source string) (*subnet.Fabric, control.DiscoverStats, error) {
	if err := d.broken(); err != nil {
		return nil, control.DiscoverStats{}, err
	}
	if source != Source {
		return nil, control.DiscoverStats{}, fmt.Errorf("nothing answers at %s", source)
	}
	f, err := Star()
	return f, control.DiscoverStats{Wall: 1500 * time.Microsecond, MADsSent: 42}, err
}

// Roll implements control.Roller.
func (d *Devices) Roll(ctx context.Context, r control.RollRequest, rec control.Recorder) (control.RollResult, error) {
	d.mu.Lock()
	f := d.roll
	d.mu.Unlock()
	if f == nil {
		f = Succeed
	}
	return f(ctx, r, rec)
}

// Succeed brings every device of the plan to what is wanted.
func Succeed(_ context.Context, r control.RollRequest, rec control.Recorder) (control.RollResult, error) {
	list := wanted(r.Plan)
	for _, d := range list {
		before := &driver.Settings{}
		receipt := &driver.Receipt{Fields: []driver.FieldReceipt{{Field: "all", Outcome: driver.OutcomeAcknowledged}}}
		err := errors.Join(
			rec.Device(control.RolloutDevice{Device: d.Device, State: "applying", Before: before, Wanted: d.Desired}),
			rec.Device(control.RolloutDevice{Device: d.Device, State: "in-sync", Observed: d.Desired, Receipt: receipt}),
			rec.Event("device.state", d.Device.Name, d.Device.Name+" was read back as wanted", map[string]string{"state": "in-sync"}),
		)
		if err != nil {
			return control.RollResult{}, err
		}
	}
	return control.RollResult{State: control.RolloutSucceeded, Result: fmt.Sprintf("%d devices read back as wanted", len(list))}, nil
}

// wanted lists the devices of a plan with their settings.
func wanted(p *policy.Plan) []control.DeviceReport {
	var out []control.DeviceReport
	for _, ca := range p.CAs {
		s := ca.Settings
		out = append(out, control.DeviceReport{
			Device:  driver.Device{Plane: "ib", ID: ca.Port, Name: ca.Name, Kind: subnet.KindCA},
			Desired: &driver.Settings{CA: &s},
		})
	}
	for _, sw := range p.Switches {
		out = append(out, control.DeviceReport{
			Device:  driver.Device{Plane: "ib", ID: ident.PortID{Node: sw.Node}, Name: sw.Name, Kind: subnet.KindSwitch},
			Desired: &driver.Settings{Switch: &driver.SwitchState{Defaults: sw.Defaults, Ports: sw.Ports}},
		})
	}
	return out
}

// Observe implements control.Observer.
func (d *Devices) Observe(_ context.Context, t control.Target) ([]control.DeviceReport, error) {
	if err := d.broken(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	drift := d.drift
	d.mu.Unlock()
	list := wanted(t.Plan)
	for i := range list {
		list[i].State, list[i].Observed = "in-sync", list[i].Desired
		if drift && i == 0 {
			list[i].State = "drifted"
			list[i].Differences = []control.Difference{{Field: "sl[3].timer", Desired: "150", Observed: "0"}}
		}
	}
	return list, nil
}

// Measure implements control.Meter.
func (d *Devices) Measure(_ context.Context, t control.Target, _ time.Duration) (control.Shares, error) {
	if err := d.broken(); err != nil {
		return control.Shares{}, err
	}
	sh := control.Shares{MaxShareError: 0.01, Jain: 1}
	for _, x := range t.Plan.Tenants {
		got := x.Entitled - x.Entitled/100
		sh.Tenants = append(sh.Tenants, control.TenantShare{Tenant: x.Tenant, Weight: x.Weight, Entitled: x.Entitled, Delivered: got, ShareError: 0.01})
	}
	for _, l := range t.Plan.Links {
		sh.Links = append(sh.Links, control.LinkUse{Port: l.Port, Peer: l.Peer, Name: l.Name, Capacity: l.Capacity, Delivered: l.Capacity / 2, Use: 0.5})
	}
	return sh, nil
}
