package controltest

import (
	"context"

	"fairlane/ccconfig/driver"
	"fairlane/service/control"
)

var _ control.CapabilityReader = (*Devices)(nil)

// Capabilities implements control.CapabilityReader. It fails as reading does.
func (d *Devices) Capabilities(ctx context.Context, _ control.Target, dev driver.Device) (driver.Capabilities, error) {
	m := memory{d}
	if err := m.ask(ctx, &d.onRead, dev); err != nil {
		return driver.Capabilities{}, err
	}
	return m.Capabilities(ctx, dev)
}
