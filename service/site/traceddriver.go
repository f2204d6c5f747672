package site

import (
	"context"

	"fairlane/ccconfig/driver"
	"fairlane/internal/span"
)

// tracedDriver adds a span for each operation on a device.
type tracedDriver struct{ driver.Driver }

var _ driver.Driver = tracedDriver{}

// Unwrap returns the traced driver.
func (d tracedDriver) Unwrap() driver.Driver { return d.Driver }

func (d tracedDriver) Read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	ctx, sp := span.Start(ctx, "device.read", "device", dev.Name, "id", dev.ID)
	got, err := d.Driver.Read(ctx, dev)
	sp.End(err)
	return got, err
}

func (d tracedDriver) Apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	ctx, sp := span.Start(ctx, "device.apply", "device", dev.Name, "id", dev.ID)
	r, err := d.Driver.Apply(ctx, dev, want)
	sp.End(err)
	return r, err
}
