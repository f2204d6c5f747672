package drivertest

import (
	"context"
	"fmt"
	"sync"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/ibcc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// TableEntries is the size of the tables of a Fake's channel adapters.
const TableEntries = 128

// OpKind is the kind of an operation on a fake device.
type OpKind string

// Operations.
const (
	OpRead  OpKind = "read"
	OpWrite OpKind = "write"
)

// Op is one exchange with a fake device: a read of the complete state, or the write of one field.
type Op struct {
	Kind   OpKind
	Device driver.Device
	Field  string // only of a write: "cct", "ca.sl", "switch.defaults", "switch.ports", "wrcc.ports", "wrcc.rest", "nic", "queues"
	N      int    // number of earlier operations on this device
}

// Fault is the fault of one operation.
type Fault uint8

// Faults of an operation.
const (
	FaultNone        Fault = iota
	FaultLost              // the request does not arrive
	FaultLostReply         // executed, but the reply is lost
	FaultBusy              // answered with busy, not executed
	FaultInvalid           // rejected as invalid
	FaultUnsupported       // rejected as unsupported
	FaultIgnored           // acknowledged, not executed
	FaultPartial           // acknowledged, partly executed
	FaultReboot            // the device returns to its defaults before it can answer
)

// Fake is a driver for in-memory devices. It reports truthfully what its devices do; injected faults determine their behaviour.
// It is safe for concurrent use and deterministic for each device.
type Fake struct {
	mu      sync.Mutex
	devices map[ident.PortID]*fakeDevice
	faults  func(Op) Fault
}

type fakeDevice struct {
	state  driver.Settings
	clamp  func(*driver.Settings)
	ops    int
	writes int // sent writes, including lost ones
}

var _ driver.Driver = (*Fake)(nil)

// NewFake returns a driver for the devices, each in its default state.
func NewFake(devices ...driver.Device) *Fake {
	f := &Fake{devices: make(map[ident.PortID]*fakeDevice, len(devices))}
	for _, d := range devices {
		f.devices[d.ID] = &fakeDevice{state: Defaults(d)}
	}
	return f
}

// Inject sets the function that returns the fault of each operation; nil means no faults. The function is called under a lock
// and must not call the Fake.
func (f *Fake) Inject(faults func(Op) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

// State returns the state of a device.
func (f *Fake) State(id ident.PortID) driver.Settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.devices[id]; d != nil {
		return d.state.Clone()
	}
	return driver.Settings{}
}

// SetState sets the state of a device to s, as a second manager would. Shares become parameters, as a device reports them.
func (f *Fake) SetState(id ident.PortID, s driver.Settings) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.devices[id]
	if d == nil {
		return
	}
	d.state = s.Clone()
	if n := d.state.NIC; n != nil {
		n.Params = append(n.Params, n.ShareParams()...)
		n.Shares = nil
		n.Sort()
	}
}

// SetClamp sets a function that changes the stored state after every write; nil removes it.
func (f *Fake) SetClamp(id ident.PortID, clamp func(*driver.Settings)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.devices[id]; d != nil {
		d.clamp = clamp
	}
}

// Writes returns the number of writes sent to a device, including lost ones.
func (f *Fake) Writes(id ident.PortID) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.devices[id]; d != nil {
		return d.writes
	}
	return 0
}

// Capabilities implements driver.Driver. For faults it counts as one read.
func (f *Fake) Capabilities(ctx context.Context, d driver.Device) (driver.Capabilities, error) {
	if err := d.Validate(); err != nil {
		return driver.Capabilities{}, fmt.Errorf("%w: %w", driver.ErrInvalid, err)
	}
	if _, err := f.read(ctx, d); err != nil {
		return driver.Capabilities{}, err
	}
	c := driver.Capabilities{PerSLCounters: true}
	switch kindOf(d) {
	case nicPort:
		return driver.Capabilities{NIC: fakeNIC(d)}, nil
	case etherSwitch:
		return driver.Capabilities{Queues: &driver.QueueCapabilities{Ports: d.Ports, Queues: ecn.MaxQueue + 1, Weighted: everyQueue(d.Ports)}}, nil
	case wrccSwitch:
		return driver.Capabilities{WRCC: &driver.WRCCCapabilities{Ports: d.Ports, Weights: d.Ports * wrcc.NumClasses, Domains: d.Ports}}, nil
	}
	if d.Kind == subnet.KindSwitch {
		c.PortMarking, c.CreditStarvation = true, true
	} else {
		c.TableEntries, c.PerQP, c.PerSL = TableEntries, true, true
	}
	return c, nil
}

func (f *Fake) Read(ctx context.Context, d driver.Device) (driver.Settings, error) {
	if err := d.Validate(); err != nil {
		return driver.Settings{}, fmt.Errorf("%w: %w", driver.ErrInvalid, err)
	}
	return f.read(ctx, d)
}

func (f *Fake) read(ctx context.Context, d driver.Device) (driver.Settings, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dev, fault, err := f.begin(ctx, Op{Kind: OpRead, Device: d})
	if err != nil {
		return driver.Settings{}, err
	}
	if err := fault.answer(); err != nil {
		return driver.Settings{}, fmt.Errorf("read %s: %w", d, err)
	}
	return dev.state.Clone(), nil
}

// begin counts an operation and returns its fault. Callers hold the lock.
func (f *Fake) begin(ctx context.Context, op Op) (*fakeDevice, Fault, error) {
	if err := ctx.Err(); err != nil {
		return nil, FaultNone, err
	}
	dev := f.devices[op.Device.ID]
	if dev == nil {
		return nil, FaultNone, fmt.Errorf("%w: no device %s", driver.ErrUnreachable, op.Device)
	}
	op.N = dev.ops
	dev.ops++
	if op.Kind == OpWrite {
		dev.writes++
	}
	fault := FaultNone
	if f.faults != nil {
		fault = f.faults(op)
	}
	if fault == FaultReboot {
		dev.state = Defaults(op.Device)
	}
	return dev, fault, nil
}

// answer returns the error that the driver sees, nil for apparent success.
func (x Fault) answer() error {
	switch x {
	case FaultLost, FaultLostReply, FaultReboot:
		return driver.ErrUnreachable
	case FaultBusy:
		return driver.ErrBusy
	case FaultInvalid:
		return driver.ErrInvalid
	case FaultUnsupported:
		return driver.ErrUnsupported
	}
	return nil
}

func (f *Fake) Apply(ctx context.Context, d driver.Device, want driver.Settings) (driver.Receipt, error) {
	var r driver.Receipt
	validate := want.ValidateRanges
	if want.NIC != nil {
		validate = want.Validate // only Validate has the table of a NIC port
	}
	if err := validate(d); err != nil {
		return r, driver.Unsent(fmt.Errorf("%w: %w", driver.ErrInvalid, err))
	}
	if err := beyondFake(d, want); err != nil {
		return r, driver.Unsent(err)
	}
	if want.CA != nil && int(want.CA.Limit) >= TableEntries {
		return r, driver.Refusef(driver.ErrUnsupported, "CCTI_Limit %d, want at most %d", want.CA.Limit, TableEntries-1)
	}
	have, err := f.read(ctx, d)
	if err != nil {
		return r, driver.Unsent(err)
	}
	for _, p := range fields(want) {
		outcome, failed := driver.OutcomeUnchanged, error(nil)
		switch {
		case err != nil:
			outcome = driver.OutcomeSkipped
		case p.differs(have):
			if outcome, err = f.write(ctx, d, p); outcome != driver.OutcomeSkipped {
				failed = err
			}
		}
		r.NoteError(p.field, outcome, failed)
	}
	return r, err
}

func (f *Fake) write(ctx context.Context, d driver.Device, p part) (driver.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dev, fault, err := f.begin(ctx, Op{Kind: OpWrite, Device: d, Field: p.field})
	if err != nil {
		return driver.OutcomeSkipped, err
	}
	switch fault {
	case FaultNone, FaultLostReply:
		p.put(&dev.state)
	case FaultPartial:
		p.putSome(&dev.state)
	}
	if dev.clamp != nil {
		dev.clamp(&dev.state)
	}
	switch err := fault.answer(); {
	case err == nil:
		return driver.OutcomeAcknowledged, nil
	case fault == FaultLost, fault == FaultLostReply, fault == FaultReboot:
		return driver.OutcomeSent, fmt.Errorf("write %s of %s: %w", p.field, d, err)
	default:
		return driver.OutcomeRefused, fmt.Errorf("write %s of %s: %w", p.field, d, err)
	}
}

// part is one field of settings that is written by one operation.
type part struct {
	field   string
	differs func(have driver.Settings) bool
	put     func(*driver.Settings) // the whole field
	putSome func(*driver.Settings) // a part of the field
}

// fields returns the fields of want in the order of writing.
func fields(want driver.Settings) []part {
	if want.WRCC != nil {
		return wrccFields(want.WRCC)
	}
	if want.NIC != nil {
		return nicFields(want.NIC)
	}
	if want.Queues != nil {
		return queueFields(want.Queues)
	}
	if want.Switch != nil {
		return switchFields(want.Switch)
	}
	return caFields(want.CA)
}

func caFields(w *ibcc.CASettings) []part {
	return []part{{
		field: "cct",
		differs: func(s driver.Settings) bool {
			table := *s.CA
			table.PerSL, table.SLs = w.PerSL, w.SLs
			return !w.Equal(&table)
		},
		put: func(s *driver.Settings) {
			s.CA.Limit, s.CA.Table = w.Limit, append([]ibcc.Entry(nil), w.Table[:int(w.Limit)+1]...)
		},
		putSome: func(s *driver.Settings) { // the limit, and the first half of the entries
			table := make([]ibcc.Entry, int(w.Limit)+1)
			copy(table, s.CA.Table)
			copy(table, w.Table[:len(table)/2])
			s.CA.Limit, s.CA.Table = w.Limit, table
		},
	}, {
		field:   "ca.sl",
		differs: func(s driver.Settings) bool { return s.CA.PerSL != w.PerSL || s.CA.SLs != w.SLs },
		put:     func(s *driver.Settings) { s.CA.PerSL, s.CA.SLs = w.PerSL, w.SLs },
		putSome: func(s *driver.Settings) { copy(s.CA.SLs[:ident.NumSLs/2], w.SLs[:]) },
	}}
}

func switchFields(w *driver.SwitchState) []part {
	return []part{{
		field:   "switch.defaults",
		differs: func(s driver.Settings) bool { return s.Switch.Defaults != w.Defaults },
		put:     func(s *driver.Settings) { s.Switch.Defaults = w.Defaults },
		putSome: func(s *driver.Settings) { s.Switch.Defaults.Threshold = w.Defaults.Threshold },
	}, {
		field: "switch.ports",
		differs: func(s driver.Settings) bool {
			now := *s.Switch
			now.Defaults = w.Defaults
			return len(w.Diff(&now)) > 0
		},
		put:     func(s *driver.Settings) { s.Switch.Ports = append([]ibcc.PortMarking(nil), w.Ports...) },
		putSome: func(s *driver.Settings) { copy(s.Switch.Ports[:len(s.Switch.Ports)/2], w.Ports) },
	}}
}
