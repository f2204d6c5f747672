// Package placement puts the service levels of plans into force through the subnet managers of fabrics. A Port is one
// fabric's subnet manager: OpenSM through its files, UFM through its API, or any other, which is only queried for
// paths.
package placement

import (
	"context"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/service/placement/smfile"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
)

// Placements puts tenants' service levels into force on fabrics, and records what happened to the subnet managers
// there. The zero value is ready to use. It is safe for concurrent use.
type Placements struct {
	// Simulated moves a partition's traffic to a service level, by fabric name, on simulated fabrics in this process.
	// Elsewhere only the subnet manager can do so.
	Simulated map[string]func(ident.PKey, ident.SL) int
	watch     history
	ufm       ufmConnections
}

// Open returns the port to the subnet manager of a target's fabric, with a transport there. f describes the manager;
// nil means one that Fairlane does not configure and only queries.
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

// Port places tenants on one fabric and observes placements: through OpenSM, through UFM, or at a subnet manager that
// is only queried.
type Port interface {
	device.Placer
	// Drift lists the deviations from a plan's placements. It queries subnet administration about the partitions in
	// ask, by base P_Key; nil means all. It changes nothing. leftover reports that all deviations are placements of an
	// earlier plan.
	Drift(ctx context.Context, p *policy.Plan, ask []ident.PKey) (found []control.Difference, leftover bool, err error)
	// Refusal returns the reason for which a repair of drift would be refused; nil if it would not.
	Refusal(ctx context.Context, p *policy.Plan) error
}

// Observe compares the subnet manager of a target's fabric with the plan, by its port: all partitions, or a sample, a
// different one each time.
func (p *Placements) Observe(ctx context.Context, t control.Target, port Port, all bool) control.DeviceReport {
	r := control.DeviceReport{Device: device.Manager(), State: device.InSync}
	var ask []ident.PKey
	if !all {
		ask = sampled(partitionsOf(t.Plan), p.watch.turn(t.Fabric.Name))
	}
	found, leftover, err := port.Drift(ctx, t.Plan, ask)
	switch {
	case err != nil:
		r.State, r.Error = device.Failed, phrase.QuotedError(err)
	case len(found) > 0:
		r.State, r.Differences = device.Drifted, found[:min(len(found), maxDeviations)]
		r.Leftover = leftover
		if err := port.Refusal(ctx, t.Plan); err != nil {
			r.Refused, r.Error = true, phrase.QuotedError(err)
		}
	}
	return r
}

// maxDeviations is the maximum number of deviations that are kept of one subnet manager.
const maxDeviations = 64

// Explain observes the subnet manager behind a port, if Fairlane writes its files, and adds the cause to those of its
// fabric's reports that have drifted.
func (p *Placements) Explain(ctx context.Context, fabric string, port Port, reports []control.DeviceReport) {
	sm, ok := port.(byOpenSM)
	if !ok {
		return
	}
	if now, err := sm.Manager.Observe(ctx); err == nil { // without an observation there is nothing to compare
		p.watch.observe(fabric, now)
	}
	p.watch.explain(fabric, reports)
}

// askedPartitions is the maximum number of partitions that one check for drift queries subnet administration about. If
// a plan has more, the next check takes the next ones.
const askedPartitions = 32

// partitionsOf returns the base P_Keys of a plan in ascending order.
func partitionsOf(p *policy.Plan) (out []ident.PKey) {
	for i := range p.Placements {
		out = append(out, basePKey(p.Placements[i]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sampled returns at most askedPartitions entries of a list: those of a turn, counted from 0. Successive turns cover
// the whole list.
func sampled(list []ident.PKey, turn int) []ident.PKey {
	if len(list) <= askedPartitions {
		return list
	}
	from := turn % ((len(list) + askedPartitions - 1) / askedPartitions) * askedPartitions
	return list[from:min(from+askedPartitions, len(list))]
}
