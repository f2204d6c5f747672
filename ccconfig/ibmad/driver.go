// Package ibmad is the InfiniBand driver: it reads and writes congestion-control settings with management datagrams of class
// 0x21 (IBTA vol. 1, annex A10).
//
// # Order of writing
//
// An Apply may end after any write. The order of writes leaves a safe state at every point:
//
//   - A channel adapter first gets the blocks of its congestion control table in ascending order,
//     each with the same CCTI_Limit, and then the parameters of its SLs. The reaction to marks is
//     thus never enabled with an incomplete table. While a table in use is replaced, each of its
//     entries is either the old or the new one.
//   - If the new CCTI_Limit is below the old one, or the reaction is being disabled on all SLs,
//     the parameters are written first. CCTI_Min is then never above the current limit, which a
//     device may reject, and no SL reacts with a table that is being removed.
//   - A switch first gets its defaults, then the port blocks that differ. Both marking and not
//     marking are lossless, so any order is safe.
//
// # Untrusted behaviour
//
// Some devices ignore Control_Map bits, and their order on switches is disputed. Each attribute is therefore written
// completely: every SL with Control_Map 0xffff, every switch field with 0x1f, starting from the values read, so that reserved
// bits do not change. The driver ignores the echo in the response to a Set: only a later Read counts. Options.Layout selects
// among disputed layouts.
//
// # Keys
//
// ReadKeys and ChangeKeys manage the CC_Keys of many devices.
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

// Options configure a driver. The zero value has no key, uses SL 0 and does not limit the concurrent exchanges.
type Options struct {
	// CCKey is sent in every request. It is never logged and appears in no error.
	CCKey mad.Key
	// SL is the service level of the management traffic, normally the subnet manager's.
	SL ident.SL
	// InFlight limits the concurrent exchanges over all devices, 0 to 65536; 0 leaves the limit to the transport. Each device
	// has at most one exchange at a time.
	InFlight int
	// Layout returns a device's layout where documents disagree; nil selects the annex for all devices. It must be safe for
	// concurrent use.
	Layout func(driver.Device) mad.CCLayout
}

// Driver implements driver.Driver for InfiniBand.
type Driver struct {
	t     mad.Transport
	o     Options
	slots chan struct{} // nil without a limit
}

var _ driver.Driver = (*Driver)(nil)

// New returns a driver that uses transport t. It returns an error for an SL above 15 or an InFlight out of range.
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

// Format prints only the driver's kind, for any verb. Package fmt would otherwise print unexported fields, bypassing the
// methods that hide a key.
func (d *Driver) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "InfiniBand driver") }

// Capabilities reads CongestionInfo and probes each optional attribute with a Get. CongestionInfo's bits for the modes of a
// channel adapter have no agreed order, so a device that answers CACongestionSetting is assumed to support both modes, as annex
// A10 requires. On a device without a mode, verification by read-back fails.
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
		c.PortMarking, err = d.answers(d.get(ctx, dev, mad.AttrSwitchPortCongestionSetting, &mad.SwitchPortCongestionSetting{})) // with any layout
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

// answers converts "not supported" to false; any other error is returned.
func (d *Driver) answers(err error) (bool, error) {
	if errors.Is(err, driver.ErrUnsupported) {
		return false, nil
	}
	return err == nil, err
}

// Read returns the complete congestion-control state of the device. It does not read table entries above CCTI_Limit. For a
// switch without SwitchPortCongestionSetting, it returns no valid port elements. ErrConflict means that the table changed
// during the read.
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
		// Another manager may be writing it now: read once more before giving up.
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

// Apply implements driver.Driver. It sends only differences, in the order of the package comment. It sends nothing at all if
// want is out of range (ErrInvalid) or exceeds the device's capabilities (ErrUnsupported).
func (d *Driver) Apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	if err := want.ValidateRanges(dev); err != nil {
		return driver.Receipt{}, driver.Refusef(driver.ErrInvalid, "%w", err)
	}
	if dev.Kind == subnet.KindSwitch {
		return d.applySwitch(ctx, dev, want.Switch)
	}
	return d.applyCA(ctx, dev, want.CA)
}
