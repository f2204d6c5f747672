package control

import (
	"time"

	"fairlane/service/device"
)

// InSync notes that a device was seen to be as a plan has it.
func (d *DeviceRecord) InSync(plan string, seen time.Time, p DriftPolicy, now time.Time) (turns []device.Turn) {
	d.Plan, d.Observed, d.Differences, d.Error = plan, nil, nil, ""
	d.ReadAt, d.SeenAt = seen, seen
	d.Watch, turns = d.Watch.Read(device.ReadingInSync, now, p.Rules())
	d.Due = device.NextLook(d.Device.ID, now, p.Every())
	return turns
}

// NotRepaired notes why a device was not.
func (d *DeviceRecord) NotRepaired(why string, p DriftPolicy, now time.Time) (turns []device.Turn) {
	d.Error = why
	d.Watch, turns = d.Watch.RepairFailed(now, p.Rules())
	d.Due = device.NextLook(d.Device.ID, now, p.Every())
	return turns
}
