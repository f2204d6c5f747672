package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ibcc"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/plans"
	"fairlane/subnet/ident"
)

func (s *Server) ListPlans(ctx context.Context, r server.ListPlansRequestObject) (server.ListPlansResponseObject, error) {
	items, next, err := listed(ctx, r.Fabric, r.Params.Limit, r.Params.Cursor, s.control.ListPlans, planSummaryOut)
	return server.ListPlans200JSONResponse{Items: items, NextCursor: next}, err
}

func planSummaryOut(p control.PlanSummary) gen.PlanSummary {
	return gen.PlanSummary{
		Name: p.Name, Fabric: p.Fabric, Snapshot: p.Snapshot, Tenants: p.Tenants, Devices: p.Devices,
		Findings: p.Findings, MaxPredictedError: p.MaxPredictedError, CreatedAt: p.CreatedAt,
	}
}

func (s *Server) CreatePlan(ctx context.Context, r server.CreatePlanRequestObject) (server.CreatePlanResponseObject, error) {
	req := plans.PlanRequest{Options: givenOptions(r.Body.Options), Policy: deref(r.Body.Policy), KeepPlacements: deref(r.Body.KeepPlacements)}
	p, created, err := s.control.MakePlan(ctx, r.Fabric, req, deref(r.Params.DryRun))
	if err != nil {
		return nil, err
	}
	out, err := planOut(p)
	if created {
		return server.CreatePlan201JSONResponse(out), err
	}
	return server.CreatePlan200JSONResponse(out), err
}

func (s *Server) GetPlan(ctx context.Context, r server.GetPlanRequestObject) (server.GetPlanResponseObject, error) {
	p, err := s.control.Plan(ctx, r.Fabric, r.Plan)
	if err != nil {
		return nil, err
	}
	out, err := planOut(p)
	return server.GetPlan200JSONResponse(out), err
}

// givenOptions returns nil when the request has none, so that those of the policy apply.
func givenOptions(o *gen.CompileOptions) *policy.Options {
	if o == nil {
		return nil
	}
	return new(optionsIn(o))
}

func optionsIn(o *gen.CompileOptions) policy.Options {
	if o == nil {
		return policy.Options{}
	}
	out := policy.Options{
		Mode: policy.Mode(deref(o.Mode)), CCTLaw: policy.CCTLaw(deref(o.CCTLaw)), TimerRestart: deref(o.TimerRestart),
		PerQP: policy.PerQPMode(deref(o.PerQP)), TableEntries: deref(o.TableEntries),
		Plane: policy.Plane(deref(o.Plane)), Profile: deref(o.Profile), VLArbitration: deref(o.VlArbitration),
	}
	out.Lever = policy.Lever(deref(o.Lever))
	if o.Classes != nil {
		out.Classes = mapped(o.Classes, func(c gen.TrafficClass) policy.TrafficClass {
			return policy.TrafficClass{DSCP: uint8(c.Dscp), Queue: uint8(c.Queue)}
		})
	}
	if o.ReservedSls != nil { // an empty list differs from an omitted one
		out.ReservedSLs = mapped(o.ReservedSls, func(sl gen.SL) ident.SL { return ident.SL(sl) })
	}
	return out
}

func optionsOut(o policy.Options) gen.CompileOptions {
	out := gen.CompileOptions{
		Mode: optional(gen.CompileOptionsMode(o.Mode)), CCTLaw: optional(gen.CompileOptionsCCTLaw(o.CCTLaw)),
		TimerRestart: optional(o.TimerRestart), PerQP: optional(gen.CompileOptionsPerQP(o.PerQP)), TableEntries: optional(o.TableEntries),
		Plane: optional(gen.CompileOptionsPlane(o.Plane)), Profile: optional(o.Profile), VlArbitration: optional(o.VLArbitration),
	}
	out.Lever = optional(gen.CompileOptionsLever(o.Lever))
	if o.Classes != nil {
		out.Classes = mapped(o.Classes, func(c policy.TrafficClass) gen.TrafficClass {
			return gen.TrafficClass{Dscp: int(c.DSCP), Queue: int(c.Queue)}
		})
	}
	if o.ReservedSLs != nil {
		out.ReservedSls = mapped(o.ReservedSLs, func(sl ident.SL) gen.SL { return gen.SL(sl) })
	}
	return out
}

func planOut(p control.Plan) (gen.Plan, error) {
	pl := p.Plan
	out := gen.Plan{
		Name: pl.Name, Fabric: p.Fabric, Plane: gen.PlanPlane(pl.Plane), Snapshot: p.Input.Snapshot, Stored: p.Stored,
		Options: optionsOut(p.Input.Options), Policy: optional(p.Input.Policy), SettlePs: optional(int64(pl.Settle)),
		Placements: mapped(pl.Placements, func(x policy.Placement) gen.Placement {
			return gen.Placement{Tenant: x.Tenant, Port: x.Port.String(), SL: gen.SL(x.SL)}
		}),
		Cas: mapped(pl.CAs, func(x policy.CAPlan) gen.CAPlan {
			return gen.CAPlan{Port: x.Port.String(), Name: x.Name, Settings: caOut(x.Settings), Reasons: mapped(x.Reasons, reasonOut),
				Profile: optional(x.Profile), TimerUnitPs: optional(int64(x.TimerUnit))}
		}),
		Switches: mapped(pl.Switches, func(x policy.SwitchPlan) gen.SwitchPlan {
			return gen.SwitchPlan{Node: x.Node.String(), Name: x.Name, Settings: switchOut(x.Defaults, x.Ports), Reasons: mapped(x.Reasons, reasonOut), Profile: optional(x.Profile)}
		}),
		Tenants:  mapped(pl.Tenants, predictedOut),
		Links:    mapped(pl.Links, linkOut),
		Findings: mapped(pl.Findings, findingOut),
	}
	if p.Stored {
		out.CreatedAt = &p.CreatedAt
	}
	var err error
	if out.Roce, err = recast[map[string]any](pl.RoCE); err != nil {
		return out, err
	}
	out.Wrcc, err = recast[map[string]any](pl.WRCC)
	return out, err
}

func linkOut(l policy.LinkShare) gen.LinkPrediction {
	return gen.LinkPrediction{
		Port: l.Port.String(), Peer: l.Peer.String(), Name: l.Name, CapacityBps: int64(l.Capacity),
		Tenants: mapped(l.Tenants, func(t policy.LinkTenant) gen.LinkTenant {
			return gen.LinkTenant{Tenant: t.Tenant, QPS: t.QPs, EntitledBps: int64(t.Entitled), PredictedBps: int64(t.Predicted), Bound: t.Bound}
		}),
	}
}

func findingOut(f policy.Finding) gen.Finding {
	return gen.Finding{
		Code: f.Code, Tenants: append([]string{}, f.Tenants...), Links: append([]string{}, f.Links...),
		Message: f.Message, Fix: optional(f.Fix), Said: f.Statement, Advice: f.Advice,
	}
}

// reasonOut leaves the sentences out, since a whole plan has very many reasons.
func reasonOut(r policy.Reason) gen.Reason {
	return gen.Reason{Field: r.Field, Value: r.Value, Unit: optional(r.Unit), Range: optional(r.Range), Tenant: optional(r.Tenant), Rule: r.Rule, Formula: r.Formula, Clamped: optional(r.Clamped)}
}

// explainedOut is reasonOut with sentences.
func explainedOut(r policy.Reason) gen.Reason {
	out, said := reasonOut(r), r.Said()
	out.FieldSaid, out.ValueSaid, out.UnitSaid, out.RangeSaid, out.FormulaSaid, out.ClampedSaid = said.Field, said.Value, said.Unit, said.Range, said.Formula, said.Clamped
	return out
}

func caOut(s ibcc.CASettings) gen.CASettings {
	return gen.CASettings{
		PerSL: s.PerSL, CctiLimit: int(s.Limit), Table: mapped(s.Table, entryOut),
		Sls: mapped(s.SLs[:], func(p ibcc.SLParams) gen.SLParams {
			return gen.SLParams{
				CctiTimer: int(p.Timer), CctiIncrease: int(p.Increase), TriggerThreshold: int(p.Trigger), CctiMin: int(p.Min),
			}
		}),
	}
}

func entryOut(e ibcc.Entry) gen.CCTEntry {
	return gen.CCTEntry{Shift: int(e.Shift), Multiplier: int(e.Multiplier)}
}

// packetUnit is the unit of Packet_Size (IBTA annex A10) in bytes.
const packetUnit = 64

func switchOut(d ibcc.SwitchSettings, ports []ibcc.PortMarking) gen.SwitchSettings {
	delay, csThreshold := entryOut(d.CSReturnDelay), int(d.CSThreshold)
	return gen.SwitchSettings{
		Defaults: gen.SwitchMarking{
			VictimPorts: maskOut(d.VictimMask), CreditPorts: maskOut(d.CreditMask), Threshold: int(d.Threshold),
			PacketSizeBytes: packetUnit * int(d.PacketSize), CsThreshold: &csThreshold, CsReturnDelay: &delay, MarkingRate: int(d.MarkingRate),
		},
		Ports: mapped(ports, func(p ibcc.PortMarking) gen.PortMarking {
			return gen.PortMarking{
				Valid: p.Valid, CreditStarvation: p.CreditStarvation, Threshold: int(p.Threshold),
				PacketSizeBytes: packetUnit * int(p.PacketSize), MarkingRate: int(p.MarkingRate),
			}
		}),
	}
}

func maskOut(m ibcc.PortMask) []int {
	out := []int{}
	for p := range 256 {
		if m.Has(ident.PortNum(p)) {
			out = append(out, p)
		}
	}
	return out
}

// settingsOut converts a device's settings; nil stays nil.
func settingsOut(s *driver.Settings) *gen.DeviceSettings {
	if s == nil {
		return nil
	}
	var out gen.DeviceSettings
	if s.CA != nil {
		ca := caOut(*s.CA)
		out.CA = &ca
	}
	if s.Switch != nil {
		sw := switchOut(s.Switch.Defaults, s.Switch.Ports)
		out.Switch = &sw
	}
	if s.NIC != nil {
		out.Nic = nicOut(s.NIC)
	}
	if s.Queues != nil {
		out.Queues = queuesOut(s.Queues)
	}
	if s.WRCC != nil {
		out.Wrcc = fairOut(s.WRCC)
	}
	return &out
}
