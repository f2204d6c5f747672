package drift_test

import (
	"context"
	"strings"
	"testing"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/subnet/ident"
)

// alteredObserver adds a difference to every report.
type alteredObserver struct {
	control.Observer
	more []control.Difference
}

func (o alteredObserver) Observe(ctx context.Context, t control.Target, ids []ident.PortID) ([]control.DeviceReport, error) {
	list, err := o.Observer.Observe(ctx, t, ids)
	for i := range list {
		list[i].State, list[i].Differences = "drifted", append(list[i].Differences, o.more...)
	}
	return list, err
}

// A repair that would find nothing to write, and leave the device drifted, is refused with the reason.
func TestReadOnlyPrerequisiteIsNotRepaired(t *testing.T) {
	t.Parallel()
	r, _ := controltest.InForce(t)
	wrong := control.Difference{Field: "rp_enable[3]", Desired: "1", Observed: "0", Prerequisite: "reaction-point", Reason: "senders do not act", Repairable: true}
	device, err := r.Service.Device(t.Context(), "lab", "h1", false)
	if err != nil {
		t.Fatal(err)
	}
	repair := func(more ...control.Difference) error {
		s := r.Manager(t, func(d *control.Deps) { d.Observer = alteredObserver{d.Observer, more} })
		_, err := s.RepairDevice(t.Context(), "lab", device.Device.ID.String())
		r.Wait()
		return err
	}
	if err := repair(wrong); controltest.Code(err) != "not-repairable" || !strings.Contains(err.Error(), "senders do not act") {
		t.Errorf("a repair of a prerequisite that is reported only gives %v", err)
	}
	if err := repair(wrong, control.Difference{Field: "rpg_ai_rate", Desired: "5", Observed: "6"}); err != nil {
		t.Errorf("a repair of a setting and a prerequisite gives %v", err)
	}
	if err := repair(); err != nil {
		t.Errorf("a repair of a device without differences gives %v", err)
	}
}
