package drift

import (
	"context"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// Abilities are the capabilities that a device reported.
type Abilities struct {
	Device driver.Device
	ReadAt time.Time // in UTC
	driver.Capabilities
}

// DeviceCapabilities reads what a device of the plan in force can do, as it reports now. The subnet manager is no such device.
func (s *Drift) DeviceCapabilities(ctx context.Context, fabric, ref string) (Abilities, error) {
	k, err := s.watched(ctx, fabric)
	if err != nil {
		return Abilities{}, err
	}
	t, err := k.find(ref)
	if err != nil {
		return Abilities{}, err
	}
	if IsManager(t.Device) || s.Abilities == nil {
		return Abilities{}, &control.NotFoundError{Kind: "device", Name: ref}
	}
	caps, err := s.Abilities.Capabilities(ctx, k.target, t.Device)
	if err != nil {
		return Abilities{}, &control.UnavailableError{Code: "devices-unreachable", Said: phrase.Of("problem.device-unread", "device", t.Device.Name), Err: err}
	}
	return Abilities{Device: t.Device, ReadAt: s.Now(), Capabilities: caps}, nil
}
