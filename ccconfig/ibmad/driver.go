// Package ibmad is the InfiniBand driver: it reads and writes congestion-control settings
// with management datagrams of class 0x21 (IBTA vol. 1, annex A10).
//
// # Order of writing
//
// An Apply may end after any write. The order is chosen so that what is left behind is safe:
//
//   - A channel adapter gets the blocks of its congestion control table in ascending order,
//     each with the same CCTI_Limit, and then the parameters of its SLs. The reaction to marks
//     is thus never switched on over a table that is not yet complete; a table that replaces
//     one in use holds, in between, entries that are each either the old or the new one.
//   - When the new CCTI_Limit is below the old one, or the reaction is being switched off on
//     all SLs, the parameters go first. A CCTI_Min is then never above the limit in force,
//     which a device may refuse, and no SL reacts by a table that is being dismantled.
//   - A switch gets its defaults first, then the port blocks that differ: marking and not
//     marking are both lossless, so that any order is safe.
//
// # What is not trusted
//
// Control_Map bits are ignored by some devices and have a disputed order on switches, so each
// attribute is written whole: every SL with Control_Map 0xffff, every switch field with 0x1f,
// starting from what was read back, so that reserved bits stay as the device has them. The
// echo in the response to a Set is not looked at: only a later Read counts. Layouts that are
// disputed are Options.Layout.
//
// # Keys
//
// ReadKeys and ChangeKeys look after the CC_Keys of a fleet.
package ibmad

import (
	"context"
	"errors"
	"fmt"
	"io"

	"fairlane/ccconfig/driver"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Options configure a driver. The zero value has no key, uses SL 0 and puts no bound of its
// own on the exchanges in flight.
type Options struct {
	// CCKey goes into every request. It is never logged and appears in no error.
	CCKey mad.Key
	// SL is the service level of the management traffic, normally the subnet manager's.
	SL ident.SL
	// InFlight bounds the exchanges under way over all devices, 0 to 65536; 0 leaves that to
	// the transport. On one device there is never more than one.
	InFlight int
	// Layout says how a device lays out what documents disagree on; nil: as the annex does, all of them. It must
	// be safe for concurrent use.
	Layout func(driver.Device) mad.CCLayout
}

// Driver implements driver.Driver for InfiniBand.
type Driver struct {
	t     mad.Transport
	o     Options
	slots chan struct{} // nil when unbounded
}

var _ driver.Driver = (*Driver)(nil)

// New returns a driver that works through t. It fails on an SL above 15 or an InFlight out
// of range.
func New(t mad.Transport, o Options) (*Driver, error) {
	if o.SL >= ident.NumSLs {
		return nil, fmt.Errorf("service level %d of management traffic: want 0 to 15", o.SL)
	}
	if o.InFlight < 0 || o.InFlight > 1<<16 {
		return nil, fmt.Errorf("exchanges in flight %d: want 0 to 65536", o.InFlight)
	}
	d := &Driver{t: t, o: o}
	if o.InFlight > 0 {
		d.slots = make(chan struct{}, o.InFlight)
	}
	return d, nil
}

func (d *Driver) layout(dev driver.Device) mad.CCLayout {
	if d.o.Layout == nil {
		return mad.CCLayout{}
	}
	return d.o.Layout(dev)
}

// Format prints the driver's kind, whatever the verb: package fmt would otherwise look into
// unexported fields, past the methods that hide a key.
func (d *Driver) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "InfiniBand driver") }

// Capabilities asks the device for CongestionInfo and tries each optional attribute with a
// Get. CongestionInfo's bits for the modes of a channel adapter have no agreed order, so a
// device that answers CACongestionSetting is taken to have both, as annex A10 demands; a
// device that has not shows that on read-back.
func (d *Driver) Capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	var c driver.Capabilities
	if err := dev.Validate(); err != nil {
		return c, errors.Join(driver.ErrInvalid, err)
	}
	var info mad.CongestionInfo
	if err := d.get(ctx, dev, mad.AttrCongestionInfo, &info); err != nil {
		return c, err
	}
	var err error
	probe := mad.NewPerf(mad.MethodGet, mad.AttrPortXmitDataSL, 0)
	counters := mad.PortSLCounters{PortSelect: dev.ID.Port}
	if dev.Kind == subnet.KindSwitch {
		counters.PortSelect = 1
		c.CreditStarvation = info.Info&1 != 0
		c.PortMarking, err = d.answers(d.get(ctx, dev, mad.AttrSwitchPortCongestionSetting, &mad.SwitchPortCongestionSetting{})) // any layout
	} else {
		c.TableEntries = int(info.ControlTableCap) * mad.CCTBlockEntries
		c.PerSL, err = d.answers(d.get(ctx, dev, mad.AttrCACongestionSetting, &mad.CACongestionSetting{}))
		c.PerQP = c.PerSL
	}
	if err != nil {
		return driver.Capabilities{}, err
	}
	if err := counters.Encode(probe.Data()); err != nil {
		return driver.Capabilities{}, fmt.Errorf("%w: %w", driver.ErrInvalid, err)
	}
	_, err = d.exchange(ctx, dev, &probe)
	if c.PerSLCounters, err = d.answers(err); err != nil {
		return driver.Capabilities{}, err
	}
	return c, nil
}

// answers turns "not supported" into false; any other error stays one.
func (d *Driver) answers(err error) (bool, error) {
	if errors.Is(err, driver.ErrUnsupported) {
		return false, nil
	}
	return err == nil, err
}

// Read returns the whole congestion-control state of the device. Table entries above
// CCTI_Limit are not read. A switch without SwitchPortCongestionSetting reads as one without
// valid port elements. ErrConflict means that the table changed while it was read.
func (d *Driver) Read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	if err := dev.Validate(); err != nil {
		return driver.Settings{}, errors.Join(driver.ErrInvalid, err)
	}
	if dev.Kind == subnet.KindSwitch {
		s, err := d.readSwitch(ctx, dev)
		if err != nil {
			return driver.Settings{}, err
		}
		return driver.Settings{Switch: s.settings(dev.Ports)}, nil
	}
	ca, err := d.readCA(ctx, dev)
	if err == nil && !ca.consistent() {
		// Somebody may just be writing it: look once more before giving up.
		ca, err = d.readCA(ctx, dev)
	}
	if err != nil {
		return driver.Settings{}, err
	}
	if !ca.consistent() {
		return driver.Settings{}, fmt.Errorf("%w: %s: CCTI_Limit differs between the blocks of the table", driver.ErrConflict, dev)
	}
	return driver.Settings{CA: ca.settings()}, nil
}

// Apply brings the device to want, sending only what differs, in the order of the package
// comment. Nothing at all is sent when want is out of range (ErrInvalid) or beyond what the
// device can hold (ErrUnsupported).
func (d *Driver) Apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	if err := want.ValidateRanges(dev); err != nil {
		return driver.Receipt{}, driver.Refusef(driver.ErrInvalid, "%w", err)
	}
	if dev.Kind == subnet.KindSwitch {
		return d.applySwitch(ctx, dev, want.Switch)
	}
	return d.applyCA(ctx, dev, want.CA)
}
