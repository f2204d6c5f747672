package device

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/prereq"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Target is one device and its desired settings.
type Target struct {
	Device driver.Device
	Want   driver.Settings
	// Needs are the prerequisites that Want needs to take effect; nil without any.
	Needs *prereq.Needs
}

// MaxTargets bounds a rollout on InfiniBand: no subnet has more unicast LIDs, and each device needs one.
const MaxTargets = int(ident.MaxUnicastLID)

// Desired converts a plan into targets on a fabric. It finds the name of each device and, on InfiniBand, its LID, and
// checks every value, so that no value out of range can reach a driver. Targets are sorted by device. It fails, naming
// every fault, when the plan names a device twice, a device that is not on the fabric or has no LID, or a value out of
// range.
func Desired(plan *policy.Plan, f *subnet.Fabric) ([]Target, error) {
	targets := make([]Target, 0, len(plan.CAs)+len(plan.Switches))
	var errs []error
	add := func(t Target, err error) {
		if err == nil {
			err = t.Want.Validate(t.Device)
			if err != nil {
				err = fmt.Errorf("plan for %s: %w", t.Device, err)
			}
		}
		if err != nil {
			errs = append(errs, err)
			return
		}
		targets = append(targets, t)
	}
	if plan.RoCE != nil {
		roceTargets(plan.RoCE, f, add)
	}
	if plan.WRCC != nil {
		wrccTargets(plan.WRCC, f, add)
	}
	for i := range plan.CAs {
		add(caTarget(&plan.CAs[i], f))
	}
	for i := range plan.Switches {
		add(switchTarget(&plan.Switches[i], f))
	}
	infiniBandNeeds(plan, f, targets)
	sortTargets(targets)
	if err := errors.Join(append(errs, checkTargets(targets))...); err != nil {
		return nil, err
	}
	return targets, nil
}

func caTarget(p *policy.CAPlan, f *subnet.Fabric) (Target, error) {
	ref, ok := f.PortByID(p.Port)
	if !ok || f.Nodes[ref.Node].Kind != subnet.KindCA {
		return Target{}, fmt.Errorf("plan for channel-adapter port %s %q: no such port on fabric %q", p.Port, p.Name, f.Name)
	}
	settings := p.Settings
	settings.Table = slices.Clone(p.Settings.Table)
	return Target{
		Device: driver.Device{Plane: "ib", ID: p.Port, Name: f.PortName(ref), Kind: subnet.KindCA, LID: f.Port(ref).LID},
		Want:   driver.Settings{CA: &settings},
	}, nil
}

func switchTarget(p *policy.SwitchPlan, f *subnet.Fabric) (Target, error) {
	n, ok := f.NodeByGUID(p.Node)
	if !ok || f.Nodes[n].Kind != subnet.KindSwitch {
		return Target{}, fmt.Errorf("plan for switch %s %q: no such switch on fabric %q", p.Node, p.Name, f.Name)
	}
	node := &f.Nodes[n]
	ports := make([]ibcc.PortMarking, len(node.Ports))
	if len(p.Ports) > len(ports) {
		return Target{}, fmt.Errorf("plan for switch %s %q: %d port elements, want at most %d", p.Node, p.Name, len(p.Ports), len(ports))
	}
	// A plan may omit trailing ports: they follow the switch-wide defaults.
	copy(ports, p.Ports)
	return Target{
		Device: driver.Device{
			Plane: "ib", ID: ident.PortID{Node: p.Node}, Name: node.Name, Kind: subnet.KindSwitch,
			LID: node.Ports[0].LID, Ports: len(node.Ports) - 1,
		},
		Want: driver.Settings{Switch: &driver.SwitchState{Defaults: p.Defaults, Ports: ports}},
	}, nil
}

// sortTargets sorts by device identity, the order of results and of waves.
func sortTargets(ts []Target) {
	slices.SortStableFunc(ts, func(a, b Target) int {
		return cmp.Or(a.Device.ID.Compare(b.Device.ID), cmp.Compare(a.Device.Plane, b.Device.Plane))
	})
}

// checkTargets rejects two targets for one device, which could never both be met.
func checkTargets(ts []Target) error {
	most := MaxTargets
	if len(ts) > 0 && ts[0].Device.Plane != "ib" {
		most = MaxEthernetTargets
	}
	if len(ts) > most {
		return fmt.Errorf("rollout of %d devices: want at most %d", len(ts), most)
	}
	seen := make(map[ident.PortID]bool, len(ts))
	for _, t := range ts {
		if seen[t.Device.ID] {
			return fmt.Errorf("device %s: two targets in one rollout, want one", t.Device)
		}
		seen[t.Device.ID] = true
	}
	return nil
}
