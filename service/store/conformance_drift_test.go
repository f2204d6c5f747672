package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// record returns the record of a device before or after its first reading.
func record(n uint64, due time.Time) control.DeviceRecord {
	return control.DeviceRecord{
		Device: driver.Device{Plane: "ib", ID: port(n, 1), Name: fmt.Sprintf("host-%d/P1", n), Kind: subnet.KindCA, LID: 4},
		Watch:  control.DeviceWatch{Reading: control.ReadingUnknown, Seen: control.ReadingUnknown}, Due: due, Version: 1,
	}
}

func ids(list []control.DeviceRecord) (out []ident.PortID) {
	for i := range list {
		out = append(out, list[i].Device.ID)
	}
	return out
}

func checkDriftPolicy(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.fabric("prod")
	put := func(version int64, text string) error {
		return f.s.Tx(ctx, func(r control.Repos) error { return r.PutDriftPolicy(ctx, "lab", []byte(text), version, at()) })
	}
	f.want(put(3, `{}`), control.ErrPrecondition)
	for version, text := range []string{`{"policy":"repair"}`, `{"policy":"freeze"}`} {
		if err := put(int64(version), text); err != nil {
			t.Fatal(err)
		}
	}
	f.want(put(1, `{}`), control.ErrPrecondition)
	f.tx(func(r control.Repos) error { return r.SeedDevices(ctx, "lab", "p1", nil) })
	f.view(func(r control.Repos) error {
		text, version, when, plan, err := r.StoredDriftPolicy(ctx, "lab")
		if string(text) != `{"policy":"freeze"}` || version != 2 || !when.Equal(at()) || plan != "p1" {
			t.Errorf("policy is %s at %d of %s, plan %q", text, version, when, plan)
		}
		_, version, when, plan, err2 := r.StoredDriftPolicy(ctx, "prod")
		if version != 0 || !when.IsZero() || plan != "" {
			t.Errorf("the other fabric's policy is at %d of %s, plan %q", version, when, plan)
		}
		_, _, _, _, missing := r.StoredDriftPolicy(ctx, "nowhere")
		f.want(missing, control.ErrNotFound)
		return errors.Join(err, err2)
	})
	if err := put(2, `{}`); err != nil { // another interval: the devices get new due times
		t.Fatal(err)
	}
	f.view(func(r control.Repos) error {
		_, _, _, plan, err := r.StoredDriftPolicy(ctx, "lab")
		f.equal("plan whose devices have turns", "", plan)
		return err
	})
}

func checkDeviceRecords(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.fabric("lab")
	f.fabric("prod")
	full := record(1<<63+7, at().Add(time.Hour))
	full.Plan, full.Policy, full.Error, full.ReadBy, full.Repair, full.Version = planName("a"), "repair", phrase.Quoted("no \x00 answer"), "m1", 9, 3
	full.ReadAt, full.SeenAt = at().Add(2*time.Second), at().Add(time.Second)
	full.Observed = &driver.Settings{CA: &ibcc.CASettings{Limit: 1, Table: []ibcc.Entry{{}, {Shift: 1, Multiplier: 3}}}}
	full.Differences = []control.Difference{{Field: "sl[1].timer", Desired: "1", Observed: "2"}}
	full.Watch = control.DeviceWatch{Reading: "unreachable", Seen: control.ReadingDrifted, Incidents: []time.Time{at(), at().Add(time.Minute)},
		Steady: at().Add(3 * time.Second), Quarantined: at().Add(4 * time.Second), Reason: phrase.Verbatim("changed 3 times")}
	late, soon := record(2, at().Add(time.Minute)), record(3, at().Add(time.Second))
	f.tx(func(r control.Repos) error {
		return errors.Join(r.SeedDevices(ctx, "lab", "p1", []control.DeviceRecord{late, soon}), r.PutDeviceRecords(ctx, "lab", []control.DeviceRecord{full}),
			r.PutDeviceRecords(ctx, "prod", []control.DeviceRecord{record(2, at())}), r.PutDeviceRecords(ctx, "lab", nil))
	})
	f.view(func(r control.Repos) error {
		got, err := r.DeviceRecords(ctx, "lab", []ident.PortID{full.Device.ID, port(99, 1)})
		want := full
		want.Error = phrase.Quoted("no \x00 answer") // as JSON: the English text has U+FFFD
		f.equal("record", []control.DeviceRecord{want}, got)
		due, err2 := r.DevicesDue(ctx, "lab", at().Add(time.Minute), at().Add(2*time.Hour), 10)
		f.equal("due", []ident.PortID{soon.Device.ID, late.Device.ID}, ids(due))
		far, err5 := r.DevicesDue(ctx, "lab", at().Add(-time.Minute), at().Add(time.Minute), 10)
		f.equal("due by a clock that was set back", []ident.PortID{full.Device.ID}, ids(far))
		one, err3 := r.DevicesDue(ctx, "lab", at().Add(time.Minute), at().Add(2*time.Hour), 1)
		f.equal("the first due", []ident.PortID{soon.Device.ID}, ids(one))
		own, err4 := r.DevicesWithPolicy(ctx, "lab")
		f.equal("with a policy", []ident.PortID{full.Device.ID}, ids(own))
		return errors.Join(err, err2, err3, err4, err5)
	})
	// The next plan has device 3 still, and 4; the record with a policy stays, although it is never due.
	again := soon
	again.Due = at().Add(5 * time.Second)
	f.tx(func(r control.Repos) error {
		return r.SeedDevices(ctx, "lab", "p2", []control.DeviceRecord{again, record(4, at())})
	})
	f.view(func(r control.Repos) error {
		due, err := r.DevicesDue(ctx, "lab", at().Add(1000*time.Hour), at().Add(2000*time.Hour), 10)
		f.equal("due by the other plan", []ident.PortID{port(4, 1), soon.Device.ID}, ids(due))
		all, err2 := r.DeviceRecords(ctx, "lab", []ident.PortID{late.Device.ID, full.Device.ID})
		f.equal("left of the former plan", []ident.PortID{full.Device.ID}, ids(all))
		other, err3 := r.DeviceRecords(ctx, "prod", []ident.PortID{late.Device.ID})
		f.equal("the other fabric's", []ident.PortID{late.Device.ID}, ids(other))
		return errors.Join(err, err2, err3)
	})
	f.tx(func(r control.Repos) error {
		kept := full
		kept.Due = at()
		return errors.Join(r.PutDeviceRecords(ctx, "lab", []control.DeviceRecord{kept}), r.DropDeviceRecords(ctx, "lab", nil),
			r.DropDeviceRecords(ctx, "lab", []ident.PortID{soon.Device.ID, full.Device.ID, port(98, 1)}))
	})
	f.view(func(r control.Repos) error {
		due, err := r.DevicesDue(ctx, "lab", at().Add(1000*time.Hour), at().Add(2000*time.Hour), 10)
		f.equal("due once two were dropped", []ident.PortID{port(4, 1)}, ids(due))
		all, err2 := r.DeviceRecords(ctx, "lab", []ident.PortID{soon.Device.ID, full.Device.ID})
		f.equal("left of the two", []ident.PortID{full.Device.ID}, ids(all))
		return errors.Join(err, err2)
	})
	f.tx(func(r control.Repos) error { return r.SeedDevices(ctx, "lab", "p3", nil) })
	f.view(func(r control.Repos) error {
		all, err := r.DeviceRecords(ctx, "lab", []ident.PortID{soon.Device.ID, port(4, 1), full.Device.ID})
		f.equal("left by a plan without devices", []ident.PortID{full.Device.ID}, ids(all))
		return err
	})
}

func checkSettledDevices(t *testing.T, f *fixture) {
	ctx := t.Context()
	ro := f.working(4) // devices 0x100 to 0x103
	var list []control.DeviceRecord
	for n := uint64(0x100); n <= 0x104; n++ { // the last one is not in the rollout
		d := record(n, at().Add(time.Hour))
		d.Watch.Reading, d.Watch.Seen, d.Error = control.ReadingDrifted, control.ReadingDrifted, phrase.Verbatim("x")
		d.Differences = []control.Difference{{Field: "f", Desired: "1", Observed: "2"}}
		d.Plan = planName("b")
		list = append(list, d)
	}
	list[1].Watch.Steady = at().Add(-time.Hour)
	back := [2]time.Time{at().Add(-20 * time.Hour), at().Add(-19 * time.Hour)} // times of the read-back
	f.tx(func(r control.Repos) error {
		devices := workDevices(4)
		devices[0].State, devices[1].State, devices[2].State = "in-sync", "in-sync", "rolled-back" // the fourth is still pending
		devices[0].UpdatedAt, devices[1].UpdatedAt = back[0], back[1]
		return errors.Join(r.SeedDevices(ctx, "lab", planName("b"), nil), r.PutDeviceRecords(ctx, "lab", list), r.PutRolloutDevices(ctx, ro.ID, devices))
	})
	now := at().Add(time.Second)
	read := func() (out []control.DeviceRecord) {
		f.view(func(r control.Repos) (err error) {
			for i := range list {
				d, err := r.DeviceRecords(ctx, "lab", []ident.PortID{list[i].Device.ID})
				if err != nil || len(d) != 1 {
					t.Fatalf("device %s: %v, %v", list[i].Device.ID, d, err)
				}
				out = append(out, d[0])
			}
			return err
		})
		return out
	}
	f.tx(func(r control.Repos) error { return r.SettleDevices(ctx, ro.ID, true, now) })
	want := append([]control.DeviceRecord(nil), list...)
	for i := range 2 {
		d := &want[i]
		d.Watch.Reading, d.Watch.Seen, d.Error, d.Differences = control.ReadingInSync, control.ReadingInSync, phrase.Text{}, nil
		d.Plan, d.ReadAt, d.SeenAt = planName("a"), back[i], back[i]
	}
	want[0].Watch.Steady = now
	want[2].Watch.Reading, want[2].Watch.Seen, want[2].Error, want[2].Differences, want[2].Due = control.ReadingUnknown, control.ReadingUnknown, phrase.Text{}, nil, now
	f.equal("after a rollout that was kept", want, read())
	f.tx(func(r control.Repos) error { return r.SettleDevices(ctx, ro.ID, false, now) })
	for i := range 2 { // the state after a rollout that was undone is unknown
		d := &want[i]
		d.Watch = control.DeviceWatch{Reading: control.ReadingUnknown, Seen: control.ReadingUnknown}
		d.Due = now
	}
	f.equal("after one that was not", want, read())
}
