package site

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/prereq"
	"fairlane/subnet"
	"fairlane/subnet/inventory"
	"fairlane/wrcc/p4rt"
)

// InventoryDriver is the driver of all devices of an Ethernet fabric. It reaches each device as the inventory says.
type InventoryDriver struct {
	devices inventory.Directory
	gnmi    *gnmi.Driver
	p4rt    *p4rt.Driver
}

var (
	_ driver.Driver   = (*InventoryDriver)(nil)
	_ driver.Examiner = (*InventoryDriver)(nil)
)

// etherInFlight is the maximum number of concurrent operations on a fabric.
const etherInFlight = 256

// Connect returns the driver of an inventory's devices. It dials a device only on first use.
func (k *Inventory) Connect() (*InventoryDriver, error) { return k.connect(nil) }

// connect is Connect with a meter of requests; nil counts none.
func (k *Inventory) connect(m *grpclink.Meter) (*InventoryDriver, error) {
	secure, err := k.tls()
	if err != nil {
		return nil, err
	}
	d := &InventoryDriver{devices: k.devices}
	link := grpclink.Options{TLS: secure, Insecure: secure == nil, InFlight: etherInFlight, Meter: m}
	if d.gnmi, err = gnmi.New(gnmi.Options{Options: link, Target: d.gnmiTarget}); err != nil {
		return nil, err
	}
	if d.p4rt, err = p4rt.New(p4rt.Options{Options: link, Target: d.p4Target}); err != nil {
		return nil, errors.Join(err, d.gnmi.Close())
	}
	return d, nil
}

// Close closes the connections.
func (d *InventoryDriver) Close() error { return errors.Join(d.gnmi.Close(), d.p4rt.Close()) }

// endpoint returns the inventory's entry for a device.
func (d *InventoryDriver) endpoint(dev driver.Device) (inventory.Endpoint, error) {
	e, ok := d.devices[dev.ID.Node]
	if !ok {
		return e, errors.New("the fabric's inventory has no address for it")
	}
	return e, nil
}

func (d *InventoryDriver) gnmiTarget(dev driver.Device) (gnmi.Target, error) {
	e, err := d.endpoint(dev)
	return gnmi.Target{Address: e.Address, Name: e.Target, Dialect: gnmi.Dialect(e.Protocol), Hostname: e.Hostname}, err
}

func (d *InventoryDriver) p4Target(dev driver.Device) (p4rt.Target, error) {
	e, err := d.endpoint(dev)
	return p4rt.Target{Address: e.Address, DeviceID: e.DeviceID}, err
}

// of returns the driver for a device's protocol.
func (d *InventoryDriver) of(dev driver.Device) (driver.Driver, error) {
	e, err := d.endpoint(dev)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", driver.ErrUnreachable, dev, err)
	}
	plane := driver.PlaneRoCE
	if e.Protocol == inventory.P4Runtime {
		plane = driver.PlaneWRCC
	}
	if dev.Kind == subnet.KindSwitch && dev.Plane != plane {
		return nil, fmt.Errorf("%w: %s speaks %s, which switches on plane %s do, not on plane %s: correct the fabric's inventory or its plane", driver.ErrUnsupported, dev, e.Protocol, plane, dev.Plane)
	}
	if e.Protocol == inventory.P4Runtime {
		return d.p4rt, nil
	}
	return d.gnmi, nil
}

// Capabilities returns the capabilities according to the device's own driver.
func (d *InventoryDriver) Capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	to, err := d.of(dev)
	if err != nil {
		return driver.Capabilities{}, err
	}
	return to.Capabilities(ctx, dev)
}

// Read reads through the device's own driver.
func (d *InventoryDriver) Read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	to, err := d.of(dev)
	if err != nil {
		return driver.Settings{}, err
	}
	return to.Read(ctx, dev)
}

// Examine examines through the device's own driver. WRCC switches have no classes of service to examine.
func (d *InventoryDriver) Examine(ctx context.Context, dev driver.Device, got driver.Settings, n prereq.Needs) ([]prereq.Item, error) {
	to, err := d.of(dev)
	if err != nil {
		return nil, err
	}
	return driver.Examine(ctx, to, dev, got, &n), nil
}

// Apply writes through the device's own driver.
func (d *InventoryDriver) Apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	to, err := d.of(dev)
	if err != nil {
		return driver.Receipt{}, err
	}
	r, err := to.Apply(ctx, dev, want)
	if errors.Is(err, driver.ErrUnsupported) && want.NIC != nil {
		err = withoutShares(ctx, to, dev, want.NIC, err)
	}
	return r, err
}

// withoutShares adds advice to the error of a port that cannot be divided as planned. Nothing of the plan is written to
// such a port. With its other settings alone, tenants would not have their entitlements, and the port would be neither
// in sync nor at its baseline.
func withoutShares(ctx context.Context, to driver.Driver, dev driver.Device, want *driver.NICState, refused error) error {
	needs, tenants := 0, 0
	for _, p := range want.Params {
		if p.Name == driver.ShareParam {
			needs, tenants = max(needs, p.Index+1), tenants+1
		}
	}
	if needs == 0 {
		return refused
	}
	caps, err := to.Capabilities(ctx, dev)
	if err != nil || caps.NIC == nil {
		return refused // the caller reports that error itself
	}
	if caps.NIC.PodShares {
		return refused // shares were not the reason
	}
	has := caps.NIC.VFs
	if !slices.Contains(caps.NIC.Params, driver.ShareParam) {
		has = 0
	}
	if has >= needs {
		return refused
	}
	return fmt.Errorf("%w: the plan divides this port among %d tenants by rates of virtual functions (%s), and its host offers %d such functions, of which the plan needs %d: "+
		"make virtual functions with rates on the host, or give each tenant a port of its own and make another plan", refused, tenants, driver.ShareParam, has, needs)
}
