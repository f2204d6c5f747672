package drift

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// IsManager reports whether a device represents the subnet manager of its fabric.
func IsManager(d driver.Device) bool { return device.IsManager(d.ID) }

// newRecord returns the record of a device without any reading.
func newRecord(d driver.Device) control.DeviceRecord {
	return control.DeviceRecord{Device: d, Watch: device.Watch{Reading: device.ReadingUnknown, Seen: device.ReadingUnknown}, Version: 1}
}

// DriftPolicy returns a fabric's policy.
func (s *Drift) DriftPolicy(ctx context.Context, fabric string) (p control.DriftPolicy, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { p, _, err = control.DriftPolicyOf(ctx, r, fabric); return err })
	return p, err
}

// PutDriftPolicy replaces version version of a fabric's policy, or any with AnyVersion.
func (s *Drift) PutDriftPolicy(ctx context.Context, fabric string, version int64, in control.DriftPolicy) (out control.DriftPolicy, err error) {
	if err := in.Check(); err != nil {
		return control.DriftPolicy{}, err
	}
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		before, _, err := control.DriftPolicyOf(ctx, r, fabric)
		switch {
		case err != nil:
			return err
		case version != control.AnyVersion && version != before.Version:
			return &control.PreconditionError{Kind: "drift policy of", Name: fabric, Want: version, Have: before.Version}
		}
		if before.Version > 0 && control.SameJSON(before, in) {
			out = before
			return nil
		}
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode a drift policy: %w", err)
		}
		if err := r.PutDriftPolicy(ctx, fabric, text, before.Version, s.Now()); err != nil {
			return err
		}
		if out, _, err = control.DriftPolicyOf(ctx, r, fabric); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: fabric, Kind: "fabric.drift-policy", Subject: fabric,
			Said: phrase.Of("event.drift-policy", "fabric", fabric, "policy", string(out.Policy))}, control.Change{Before: before, After: out})
	})
	return out, err
}

// SetDevicePolicy gives a device its own policy; "" removes it, so that the fabric's applies. ref is as in Device.
// version is that of its record, or 0 for any.
func (s *Drift) SetDevicePolicy(ctx context.Context, fabric, ref string, version int64, p device.Policy) error {
	if p != "" && !slices.Contains(device.Policies(), p) {
		return control.Invalid("/policy", phrase.Of("problem.device-policy", "found", p, "want", device.Policies()))
	}
	word := func(p device.Policy) string { return cmp.Or(string(p), "inherit") }
	return s.decide(ctx, fabric, ref, version, "device.policy", func(d *control.DeviceRecord) (phrase.Text, any, error) {
		was := d.Policy
		if d.Policy = p; was == p {
			return phrase.Text{}, nil, nil
		}
		return phrase.Of("event.device-policy", "device", d.Device.Name, "policy", word(p)),
			control.Change{Before: map[string]string{"policy": word(was)}, After: map[string]string{"policy": word(p)}}, nil
	})
}

// ReleaseDevice ends the quarantine of a device; ref is as in Device. It fails with *ConflictError "not-quarantined" when
// the device is not in quarantine.
func (s *Drift) ReleaseDevice(ctx context.Context, fabric, ref string) error {
	return s.decide(ctx, fabric, ref, 0, "device.released", func(d *control.DeviceRecord) (phrase.Text, any, error) {
		if d.Watch.Quarantined.IsZero() {
			return phrase.Text{}, nil, &control.ConflictError{Code: "not-quarantined", Said: phrase.Of("problem.not-quarantined", "device", d.Device.Name)}
		}
		before := map[string]any{"quarantined_at": d.Watch.Quarantined, "reason": d.Watch.Reason}
		d.Watch, d.Due = d.Watch.Release(), s.Now()
		return phrase.Of("event.released-quarantine", "device", d.Device.Name), control.Change{Before: before}, nil
	})
}

// decide changes the operator's decisions about a device. what returns the text of its event, or nothing when nothing
// changed.
func (s *Drift) decide(ctx context.Context, fabric, ref string, version int64, kind string, what func(*control.DeviceRecord) (phrase.Text, any, error)) error {
	known, err := s.watched(ctx, fabric)
	if err != nil {
		return err
	}
	t, err := known.find(ref)
	if err != nil {
		return err
	}
	return s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		d, err := recordOf(ctx, r, fabric, t.Device)
		if err != nil {
			return err
		}
		if version != 0 && version != d.Version {
			return &control.PreconditionError{Kind: "device", Name: d.Device.Name, Want: version, Have: d.Version}
		}
		said, data, err := what(&d)
		if err != nil || said.ID == "" {
			return err
		}
		d.Version++
		if err := r.PutDeviceRecords(ctx, fabric, []control.DeviceRecord{d}); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: fabric, Kind: kind, Subject: d.Device.Name, Said: said}, data)
	})
}

// recordOf returns the record of a device of the plan in force, or a new one.
func recordOf(ctx context.Context, r control.Repos, fabric string, d driver.Device) (control.DeviceRecord, error) {
	list, err := r.DeviceRecords(ctx, fabric, []ident.PortID{d.ID})
	switch {
	case err != nil:
		return control.DeviceRecord{}, err
	case len(list) == 0:
		return newRecord(d), nil
	}
	list[0].Device = d
	return list[0], nil
}
