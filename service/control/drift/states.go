package drift

import (
	"context"
	"slices"

	"fairlane/service/control"
	"fairlane/subnet/ident"
)

// DeviceSummary is a device of the plan in force with its stored state, for counts over a whole fabric.
type DeviceSummary struct {
	ID    ident.PortID
	State string // as DeviceView.State
}

// DeviceStates returns the stored state of every device that ListDevices lists, by device. Errors are those of ListDevices.
func (s *Drift) DeviceStates(ctx context.Context, fabric string) ([]DeviceSummary, error) {
	k, err := s.watched(ctx, fabric)
	if err != nil {
		return nil, err
	}
	due, err := s.pendingCleanup(ctx, k)
	if err != nil {
		return nil, err
	}
	out := make([]DeviceSummary, 0, len(k.list))
	for part := range slices.Chunk(k.list, control.MaxPageLimit) {
		list, err := s.deviceViews(ctx, k, part)
		if err != nil {
			return nil, err
		}
		due.show(list)
		for i := range list {
			out = append(out, DeviceSummary{list[i].Device.ID, list[i].State})
		}
	}
	return out, nil
}
