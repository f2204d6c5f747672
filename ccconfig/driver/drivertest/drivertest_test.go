package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func testDevices() []driver.Device {
	return []driver.Device{
		{Plane: "ib", ID: ident.PortID{Node: 0x11, Port: 1}, Name: "host-1/P1", Kind: subnet.KindCA, LID: 3},
		{Plane: "ib", ID: ident.PortID{Node: 0x21}, Name: "leaf-1", Kind: subnet.KindSwitch, LID: 1, Ports: 5},
		{Plane: driver.PlaneWRCC, ID: ident.PortID{Node: 0x31}, Name: "dci-1", Kind: subnet.KindSwitch, Ports: 5},
		{Plane: driver.PlaneRoCE, ID: ident.PortID{Node: 0x41, Port: 2}, Name: "host-2/P2", Kind: subnet.KindCA},
		{Plane: driver.PlaneWRCC, ID: ident.PortID{Node: 0x42, Port: 1}, Name: "host-3/P1", Kind: subnet.KindCA},
		{Plane: driver.PlaneRoCE, ID: ident.PortID{Node: 0x51}, Name: "leaf-2", Kind: subnet.KindSwitch, Ports: 4},
	}
}

// fakeFaults drives a Fake's devices for the suite.
type fakeFaults struct {
	f   *Fake
	mu  sync.Mutex
	dev map[ident.PortID]*plan
}

type plan struct {
	after, lose, replies, busy int
	losing, disabled, partial  bool
	mute                       bool // reply to the current write is lost until Heal
}

func newFakeHarness(testing.TB) Harness {
	devices := testDevices()
	ff := &fakeFaults{f: NewFake(devices...), dev: map[ident.PortID]*plan{}}
	for _, d := range devices {
		ff.dev[d.ID] = &plan{replies: -1}
	}
	ff.f.Inject(ff.decide)
	return Harness{Driver: ff.f, Devices: devices, Faults: ff}
}

func (x *fakeFaults) decide(op Op) Fault {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.dev[op.Device.ID]
	write := op.Kind == OpWrite
	switch {
	case p.disabled:
		return FaultUnsupported
	case p.busy > 0:
		p.busy--
		return FaultBusy
	case p.losing && p.after == 0 && p.lose != 0:
		p.lose--
		return FaultLost
	case p.mute:
		return FaultLostReply
	case write && p.replies == 0:
		p.mute = true
		return FaultLostReply
	case write && p.partial:
		p.partial = false
		return FaultPartial
	}
	if write {
		p.after = max(p.after-1, 0)
		if p.replies > 0 {
			p.replies--
		}
	}
	return FaultNone
}

func (x *fakeFaults) with(d driver.Device, f func(*plan)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f(x.dev[d.ID])
}

func (x *fakeFaults) TrueState(d driver.Device) driver.Settings { return x.f.State(d.ID) }
func (x *fakeFaults) Put(d driver.Device, s driver.Settings)    { x.f.SetState(d.ID, s) }
func (x *fakeFaults) Reboot(d driver.Device)                    { x.f.SetState(d.ID, Defaults(d)) }
func (x *fakeFaults) Writes(d driver.Device) int                { return x.f.Writes(d.ID) }
func (x *fakeFaults) LoseRequests(d driver.Device, after, n int) {
	x.with(d, func(p *plan) { p.losing, p.after, p.lose = true, after, n })
}
func (x *fakeFaults) LoseReply(d driver.Device, after int) {
	x.with(d, func(p *plan) { p.replies = after })
}
func (x *fakeFaults) Partial(d driver.Device)     { x.with(d, func(p *plan) { p.partial = true }) }
func (x *fakeFaults) Busy(d driver.Device, n int) { x.with(d, func(p *plan) { p.busy = n }) }
func (x *fakeFaults) Disable(d driver.Device)     { x.with(d, func(p *plan) { p.disabled = true }) }
func (x *fakeFaults) Clamp(d driver.Device) {
	x.f.SetClamp(d.ID, func(s *driver.Settings) {
		switch {
		case s.CA != nil:
			s.CA.SLs[2].Timer = min(s.CA.SLs[2].Timer, 7)
		case s.NIC != nil:
			for i := range s.NIC.Params {
				if p := &s.NIC.Params[i]; p.Name == ClampedParam {
					p.Value = min(p.Value, ClampedValue)
				}
			}
		case s.Queues != nil:
			for i := range s.Queues.Marking {
				m := &s.Queues.Marking[i].Marking
				m.Min, m.Max = min(m.Min, ClampedBytes), min(m.Max, ClampedBytes)
			}
		case s.WRCC != nil:
			for i := range s.WRCC.Ports {
				s.WRCC.Ports[i].TargetMbps = min(s.WRCC.Ports[i].TargetMbps, WRCCTargetMbps)
			}
		default:
			s.Switch.Defaults.MarkingRate = min(s.Switch.Defaults.MarkingRate, 7)
		}
	})
}
func (x *fakeFaults) Heal(d driver.Device) {
	x.f.SetClamp(d.ID, nil)
	x.with(d, func(p *plan) { *p = plan{replies: -1} })
}

func TestFakePassesTheSuite(t *testing.T) {
	t.Parallel()
	Run(t, newFakeHarness)
}

// bad wraps a correct driver and adds one fault.
type bad struct {
	driver.Driver

	apply func(ctx context.Context, d driver.Device, want driver.Settings) (driver.Receipt, error)
	read  func(ctx context.Context, d driver.Device) (driver.Settings, error)
}

func (b bad) Apply(ctx context.Context, d driver.Device, want driver.Settings) (driver.Receipt, error) {
	if b.apply == nil {
		return b.Driver.Apply(ctx, d, want)
	}
	return b.apply(ctx, d, want)
}

func (b bad) Read(ctx context.Context, d driver.Device) (driver.Settings, error) {
	if b.read == nil {
		return b.Driver.Read(ctx, d)
	}
	return b.read(ctx, d)
}

// TestSuiteCatchesBadDrivers adds one fault at a time to a correct driver; the named check of the suite must detect
// it.
func TestSuiteCatchesBadDrivers(t *testing.T) {
	t.Parallel()
	errPlain := errors.New("it did not work")
	cases := map[string]struct {
		caught string // part of the name of a check that must fail
		make   func(good driver.Driver) bad
	}{
		"believes its own writes": {"silent clamp", func(good driver.Driver) bad {
			var mu sync.Mutex
			reported := map[ident.PortID]driver.Settings{}
			return bad{Driver: good,
				apply: func(ctx context.Context, d driver.Device, w driver.Settings) (driver.Receipt, error) {
					r, err := good.Apply(ctx, d, w)
					mu.Lock()
					defer mu.Unlock()
					reported[d.ID] = w
					return r, err
				},
				read: func(ctx context.Context, d driver.Device) (driver.Settings, error) {
					mu.Lock()
					defer mu.Unlock()
					if s, ok := reported[d.ID]; ok {
						return s, nil
					}
					return good.Read(ctx, d)
				}}
		}},
		"swallows errors": {"silent device", func(good driver.Driver) bad {
			return bad{Driver: good, apply: func(ctx context.Context, d driver.Device, w driver.Settings) (driver.Receipt, error) {
				r, _ := good.Apply(ctx, d, w)
				return r, nil
			}}
		}},
		"loses the kind of an error": {"busy device", func(good driver.Driver) bad {
			return bad{Driver: good, read: func(ctx context.Context, d driver.Device) (driver.Settings, error) {
				s, err := good.Read(ctx, d)
				if err != nil {
					err = errPlain
				}
				return s, err
			}}
		}},
		"clips instead of refusing": {"out of range", func(good driver.Driver) bad {
			return bad{Driver: good, apply: func(ctx context.Context, d driver.Device, w driver.Settings) (driver.Receipt, error) {
				w = w.Clone()
				if w.WRCC != nil {
					for i := range w.WRCC.Ports {
						w.WRCC.Ports[i].QRatioPct = min(w.WRCC.Ports[i].QRatioPct, 60)
					}
				}
				if w.Switch != nil {
					w.Switch.Defaults.Threshold = min(w.Switch.Defaults.Threshold, ibcc.MaxThreshold)
				}
				return good.Apply(ctx, d, w)
			}}
		}},
		"sets half of a NIC": {"read back", func(good driver.Driver) bad {
			return bad{Driver: good, apply: func(ctx context.Context, d driver.Device, w driver.Settings) (driver.Receipt, error) {
				if w.NIC != nil {
					w = w.Clone()
					w.NIC.Params = w.NIC.Params[:len(w.NIC.Params)/2]
				}
				return good.Apply(ctx, d, w)
			}}
		}},
		"forgets the weights of peers": {"read back", func(good driver.Driver) bad {
			return bad{Driver: good, apply: func(ctx context.Context, d driver.Device, w driver.Settings) (driver.Receipt, error) {
				if w.NIC != nil && w.NIC.WRCC != nil {
					w = w.Clone()
					for i := range w.NIC.WRCC.Senders {
						w.NIC.WRCC.Senders[i].Peers = nil
					}
				}
				return good.Apply(ctx, d, w)
			}}
		}},
		"marks all queues alike": {"read back", func(good driver.Driver) bad {
			return bad{Driver: good, apply: func(ctx context.Context, d driver.Device, w driver.Settings) (driver.Receipt, error) {
				if w.Queues != nil {
					w = w.Clone()
					for i := range w.Queues.Marking {
						w.Queues.Marking[i].Marking = w.Queues.Marking[0].Marking
					}
				}
				return good.Apply(ctx, d, w)
			}}
		}},
		"forgets the table": {"read back", func(good driver.Driver) bad {
			return bad{Driver: good, apply: func(ctx context.Context, d driver.Device, w driver.Settings) (driver.Receipt, error) {
				have, err := good.Read(ctx, d)
				if err == nil && w.CA != nil && have.CA != nil && len(w.CA.Table) > 1 {
					w = w.Clone()
					w.CA.Limit, w.CA.Table = have.CA.Limit, have.CA.Table
				}
				return good.Apply(ctx, d, w)
			}}
		}},
		"claims unsent writes": {"lost reply", func(good driver.Driver) bad {
			return bad{Driver: good, apply: func(ctx context.Context, d driver.Device, w driver.Settings) (driver.Receipt, error) {
				r, err := good.Apply(ctx, d, w)
				for i := range r.Fields {
					if r.Fields[i].Outcome == driver.OutcomeSent {
						r.Fields[i].Outcome = driver.OutcomeAcknowledged
					}
				}
				return r, err
			}}
		}},
		"ignores the context": {"cancelled", func(good driver.Driver) bad {
			return bad{Driver: good, apply: func(ctx context.Context, d driver.Device, w driver.Settings) (driver.Receipt, error) {
				return good.Apply(context.WithoutCancel(ctx), d, w)
			}}
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caught := failedChecks(t, c.make)
			if !slices.ContainsFunc(caught, func(s string) bool { return strings.Contains(s, c.caught) }) {
				t.Errorf("a driver that %s fails the checks %q, want one about %q", name, caught, c.caught)
			}
		})
	}
}

func failedChecks(t *testing.T, breakIt func(driver.Driver) bad) []string {
	t.Helper()
	var failed []string
	for _, c := range checks() {
		n := len(newFakeHarness(t).Devices)
		for i := range n {
			h := newFakeHarness(t)
			h.Driver = breakIt(h.Driver)
			if err := c.run(t.Context(), h, h.Devices[i]); err != nil {
				failed = append(failed, c.name)
				break
			}
		}
	}
	return failed
}

func TestSamplesAreLegalAndDiffer(t *testing.T) {
	t.Parallel()
	f := NewFake(testDevices()...)
	for _, d := range testDevices() {
		caps, err := f.Capabilities(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		all := append(Samples(d, caps), Defaults(d))
		for i, s := range all {
			if err := s.Validate(d); err != nil {
				t.Errorf("%s sample %d: %v", d, i, err)
			}
			for j := range i {
				if all[j].Equal(s) {
					t.Errorf("%s samples %d and %d are equal", d, i, j)
				}
			}
		}
	}
}

func TestFakeCountsEveryOperation(t *testing.T) {
	t.Parallel()
	d := testDevices()[0]
	f := NewFake(d)
	var seen []string
	f.Inject(func(op Op) Fault {
		seen = append(seen, fmt.Sprintf("%d %s %s", op.N, op.Kind, op.Field))
		return FaultNone
	})
	want := Samples(d, driver.Capabilities{TableEntries: TableEntries})[0]
	if _, err := f.Apply(t.Context(), d, want); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, ", "); got != "0 read , 1 write cct, 2 write ca.sl" {
		t.Errorf("operations %q", got)
	}
	if f.Writes(d.ID) != 2 || !want.Equal(f.State(d.ID)) {
		t.Errorf("%d writes, state %v", f.Writes(d.ID), f.State(d.ID))
	}
}
