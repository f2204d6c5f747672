// Package placement brings the service levels of plans in force through the subnet managers of fabrics. A Port is one fabric's subnet
// manager: OpenSM by its files, UFM by its API, or any other, which only answers path queries.
package placement

import (
	"context"
	"slices"

	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/service/placement/smfile"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
)

// Placements bring tenants' service levels in force on fabrics, and remember what happened to the subnet managers there. The zero value
// is ready. They are safe for concurrent use.
type Placements struct {
	// Simulated moves a partition's traffic to a service level, by fabric name, where the manager can do it itself: on a simulated
	// fabric in this process. Elsewhere that is the subnet manager's business.
	Simulated map[string]func(ident.PKey, ident.SL) int
	watch     history
	ufm       ufmConnections
}

// Open is the port to the subnet manager of a target's fabric, with a transport there. f says how the manager is reached; nil is one
// that takes no orders from Fairlane and is only queried.
func (p *Placements) Open(t control.Target, f *smfile.File, c mad.Transport) (Port, error) {
	asked := &verifyOnly{transport: c, topology: t.Topology, set: p.Simulated[t.Fabric.Name]}
	switch {
	case f == nil:
		return asked, nil
	case f.UFM != nil:
		client, err := p.ufm.open(t.Fabric.Name, f.UFM)
		return &byUFM{asked, client, f.UFM.AcceptSLs || t.Repair}, err
	}
	codes := slices.Clone(f.OpenSM.Accept)
	if t.Repair {
		codes = append(codes, osmfile.CodeEdited)
	}
	m, err := OpenSM(f.OpenSM, c)
	return byOpenSM{fabric: t.Fabric.Name, source: t.Fabric.Source, Placer: &opensm.Placer{
		Manager: m, Fabric: t.Topology, Force: codes,
		Options: PlanOptions(f.OpenSM),
		Done: func(r opensm.Report) {
			if r.Changed {
				p.watch.wrote(t.Fabric.Name)
			}
		},
	}}, err
}

// Port places tenants on one fabric and observes placements: by OpenSM, by UFM, or through a subnet manager that is only queried.
type Port interface {
	device.Placer
	// Drift lists the deviations from a plan's placements. It queries subnet administration about the partitions of ask, by
	// their base P_Keys; nil is all. It changes nothing. leftover reports that an earlier plan placed all that it found.
	Drift(ctx context.Context, p *policy.Plan, ask []ident.PKey) (found []control.Difference, leftover bool, err error)
	// Refusal is why a repair of what drifted would be refused; nil when it would not.
	Refusal(ctx context.Context, p *policy.Plan) error
}

// Observe compares the subnet manager of a target's fabric with the plan by its port: all partitions, or a sample that is another one
// each time.
func (p *Placements) Observe(ctx context.Context, t control.Target, port Port, all bool) control.DeviceReport {
	r := control.DeviceReport{Device: device.Manager(), State: device.InSync}
	var ask []ident.PKey
	if !all {
		ask = sampled(partitionsOf(t.Plan), p.watch.turn(t.Fabric.Name))
	}
	found, leftover, err := port.Drift(ctx, t.Plan, ask)
	switch {
	case err != nil:
		r.State, r.Error = device.Failed, err.Error()
	case len(found) > 0:
		r.State, r.Differences = device.Drifted, found[:min(len(found), maxDeviations)]
		r.Leftover = leftover
		if err := port.Refusal(ctx, t.Plan); err != nil {
			r.Refused, r.Error = true, err.Error()
		}
	}
	return r
}

// maxDeviations bounds what is kept of a subnet manager that differs everywhere.
const maxDeviations = 64

// Explain observes what happened to the subnet manager behind a port, when its files are ours, and gives those of its fabric's reports
// that drifted the cause.
func (p *Placements) Explain(ctx context.Context, fabric string, port Port, reports []control.DeviceReport) {
	sm, ok := port.(byOpenSM)
	if !ok {
		return
	}
	if now, err := sm.Manager.Observe(ctx); err == nil { // else there is nothing to compare with
		p.watch.look(fabric, now)
	}
	p.watch.explain(fabric, reports)
}

// askedPartitions bounds the partitions that subnet administration is asked about in one check for drift: of a plan with more,
// the next check takes the next ones.
const askedPartitions = 32

// partitionsOf are the base P_Keys of a plan in ascending order.
func partitionsOf(p *policy.Plan) (out []ident.PKey) {
	for i := range p.Placements {
		out = append(out, basePKey(p.Placements[i]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sampled takes at most askedPartitions of a list: those of a turn, counted from 0. As many turns as it takes see all.
func sampled(list []ident.PKey, turn int) []ident.PKey {
	if len(list) <= askedPartitions {
		return list
	}
	from := turn % ((len(list) + askedPartitions - 1) / askedPartitions) * askedPartitions
	return list[from:min(from+askedPartitions, len(list))]
}
