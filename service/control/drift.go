package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// DevicePolicy is device.Policy, for callers that store and show it.
type DevicePolicy = device.Policy

// DeviceState is device.State, for callers that store and show it.
type DeviceState = device.State

// DeviceReading is device.Reading, for callers that store and show it.
type DeviceReading = device.Reading

// DeviceWatch is device.Watch: the stored history of a device's readings.
type DeviceWatch = device.Watch

// Readings that metrics count.
const (
	ReadingUnknown = device.ReadingUnknown
	ReadingInSync  = device.ReadingInSync
	ReadingDrifted = device.ReadingDrifted
)

// DriftPolicy is how drift of a fabric's devices is handled outside of rollouts.
type DriftPolicy struct {
	Policy    device.Policy `json:"policy"`     // default of devices without a policy of their own
	Interval  int           `json:"interval_s"` // seconds between two readings of a device, with jitter; 0 is never
	Limit     int           `json:"limit"`      // incidents within Window that quarantine a device
	Window    int           `json:"window_s"`   // seconds for which an incident counts
	Release   int           `json:"release_s"`  // seconds for which a quarantined device must have been in sync
	Version   int64         `json:"-"`          // 0 while all values are defaults
	UpdatedAt time.Time     `json:"-"`          // zero while all values are defaults
}

// minDriftInterval is the shortest interval between readings of a device, in seconds.
const minDriftInterval = 5

// DefaultDriftPolicy returns the policy of a fabric that has none stored: drift is reported, nothing is written.
func DefaultDriftPolicy() DriftPolicy {
	return DriftPolicy{Policy: device.PolicyReport, Interval: 300, Limit: 3, Window: 3600, Release: 1800}
}

func (p DriftPolicy) Check() error {
	var bad InvalidError
	if !slices.Contains(device.Policies(), p.Policy) {
		bad.Add("/policy", phrase.Of("problem.drift-policy", "found", p.Policy, "want", device.Policies()))
	}
	if p.Interval != 0 {
		bad.Within("/interval_s", p.Interval, minDriftInterval, 86400)
	}
	bad.Within("/limit", p.Limit, 1, 100)
	bad.Within("/window_s", p.Window, 1, 604800)
	bad.Within("/release_s", p.Release, 1, 604800)
	return bad.OrNil()
}

func (p DriftPolicy) Rules() device.Rules {
	return device.Rules{Limit: p.Limit, Window: time.Duration(p.Window) * time.Second, Release: time.Duration(p.Release) * time.Second}
}

func (p DriftPolicy) Every() time.Duration { return time.Duration(p.Interval) * time.Second }

// DeviceRecord is the stored state of a device of the plan in force, from its readings outside of rollouts.
type DeviceRecord struct {
	Device      driver.Device
	Plan        string        // the plan it was judged by; empty before the first reading
	Policy      device.Policy // empty means the fabric's policy
	Watch       device.Watch
	Observed    *driver.Settings // its latest answer; nil when that was in sync, or without an answer so far
	Differences []Difference     // of the latest answer
	Error       phrase.Text      // of the latest reading
	ReadBy      string           // the manager that read it last
	ReadAt      time.Time        // of the latest reading; zero is never
	SeenAt      time.Time        // of the latest answer; zero is never
	Repair      int64            // the rollout that last repaired it; 0 is none
	Due         time.Time        // of the next reading
	Version     int64            // of the operators' decisions about it
}

// PolicyInForce returns the policy in force for the device.
func (d *DeviceRecord) PolicyInForce(p DriftPolicy) device.Policy { return cmp.Or(d.Policy, p.Policy) }

// DriftRepo stores the state of devices outside of rollouts.
type DriftRepo interface {
	// StoredDriftPolicy returns a fabric's policy as JSON with its version, and the plan whose devices are recorded (""
	// for none). Without a stored policy the version is 0 and the text empty.
	StoredDriftPolicy(ctx context.Context, fabric string) (text []byte, version int64, at time.Time, plan string, err error)
	// PutDriftPolicy replaces the policy at a version (0: none stored). It clears the name of the plan that devices were
	// seeded for, so that they get new due times.
	PutDriftPolicy(ctx context.Context, fabric string, text []byte, version int64, at time.Time) error
	// SeedDevices makes the recorded devices of a fabric those of a plan. New devices are added as given, known ones get
	// the given device and due time, and the others are removed. Others with their own policy stay, but are never
	// due.
	SeedDevices(ctx context.Context, fabric, plan string, list []DeviceRecord) error
	// DevicesDue lists devices that are due at now, the longest overdue first, and devices due only after horizon. A due
	// time after horizon is possible only when the clock was set back.
	DevicesDue(ctx context.Context, fabric string, now, horizon time.Time, limit int) ([]DeviceRecord, error)
	// DeviceRecords returns the records of the devices that have one, in any order.
	DeviceRecords(ctx context.Context, fabric string, ids []ident.PortID) ([]DeviceRecord, error)
	// DropDeviceRecords removes the records of devices. Records with a policy of their own stay, and are never due.
	DropDeviceRecords(ctx context.Context, fabric string, ids []ident.PortID) error
	// PutDeviceRecords adds records or replaces them as a whole.
	PutDeviceRecords(ctx context.Context, fabric string, list []DeviceRecord) error
	// SettleDevices records the outcome of a rollout that ended. When kept, the devices that it verified are in sync at
	// its plan as of that reading, and keep their due times. All other devices that it started on are unknown and due at
	// once.
	SettleDevices(ctx context.Context, rollout int64, kept bool, now time.Time) error
	// DevicesWithPolicy lists the records of devices that have a policy of their own.
	DevicesWithPolicy(ctx context.Context, fabric string) ([]DeviceRecord, error)
}

// DriftPolicyOf returns a fabric's policy and the plan whose devices are recorded.
func DriftPolicyOf(ctx context.Context, r Repos, fabric string) (p DriftPolicy, plan string, err error) {
	p = DefaultDriftPolicy()
	text, version, at, plan, err := r.StoredDriftPolicy(ctx, fabric)
	if err != nil || version == 0 {
		return p, plan, err
	}
	// A field that an older version did not store keeps its default.
	if err := json.Unmarshal(text, &p); err != nil {
		return p, plan, fmt.Errorf("decode the drift policy of %s: %w", fabric, err)
	}
	p.Version, p.UpdatedAt = version, at
	return p, plan, nil
}

// Frozen rejects a rollout that would write a device whose policy is freeze.
func Frozen(ctx context.Context, r Repos, fabric string, devices []RolloutDevice) error {
	p, _, err := DriftPolicyOf(ctx, r, fabric)
	if err != nil {
		return err
	}
	list, err := r.DevicesWithPolicy(ctx, fabric)
	if err != nil || len(list) == 0 && p.Policy != device.PolicyFreeze {
		return err
	}
	own := make(map[ident.PortID]device.Policy, len(list))
	for i := range list {
		own[list[i].Device.ID] = list[i].Policy
	}
	var names []string
	n := 0
	for i := range devices {
		if cmp.Or(own[devices[i].Device.ID], p.Policy) != device.PolicyFreeze {
			continue
		}
		if n++; n <= maxNamed {
			names = append(names, devices[i].Device.Name)
		}
	}
	if n == 0 {
		return nil
	}
	return &ConflictError{Code: "device-frozen", Said: phrase.Of("problem.frozen", "n", n, "devices", names)}
}

// maxNamed bounds the devices that a refusal names.
const maxNamed = 8

// InSync records that a device was read in sync with a plan.
func (d *DeviceRecord) InSync(plan string, seen time.Time, p DriftPolicy, now time.Time) (turns []device.Turn) {
	d.Plan, d.Observed, d.Differences, d.Error = plan, nil, nil, phrase.Text{}
	d.ReadAt, d.SeenAt = seen, seen
	d.Watch, turns = d.Watch.Read(device.ReadingInSync, now, p.Rules())
	d.Due = device.NextRead(d.Device.ID, now, p.Every())
	return turns
}

// NotRepaired records why a device was not repaired.
func (d *DeviceRecord) NotRepaired(why phrase.Text, p DriftPolicy, now time.Time) (turns []device.Turn) {
	d.Error = why
	d.Watch, turns = d.Watch.RepairFailed(now, p.Rules())
	d.Due = device.NextRead(d.Device.ID, now, p.Every())
	return turns
}

// StateQuarantined is the state of a device that is not repaired any more because it changed repeatedly.
const StateQuarantined = "quarantined"
