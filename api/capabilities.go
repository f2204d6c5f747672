package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control/drift"
	"fairlane/subnet"
)

func (s *Server) GetDeviceCapabilities(ctx context.Context, r server.GetDeviceCapabilitiesRequestObject) (server.GetDeviceCapabilitiesResponseObject, error) {
	a, err := s.control.DeviceCapabilities(ctx, r.Fabric, r.Device)
	if err != nil {
		return nil, err
	}
	return server.GetDeviceCapabilities200JSONResponse(capabilitiesOut(&a)), nil
}

// Limits of lists in an answer, as in the contract.
const (
	mostParams = 1000
	mostMarked = 64
)

func capabilitiesOut(a *drift.Abilities) gen.DeviceCapabilities {
	out := gen.DeviceCapabilities{ID: a.Device.ID.String(), Name: a.Device.Name, Kind: gen.DeviceCapabilitiesKind(kindOut(a.Device.Kind)), ReadAt: a.ReadAt}
	if c := a.NIC; c != nil {
		senders := 0
		if c.WRCC {
			senders = c.Most
		}
		out.Nic = &gen.NICCapabilities{
			Params: few(c.Params, mostParams), ResetParams: few(c.Reset, mostParams), WideRegisters: c.Wide, Functions: c.VFs, ClassShares: c.Shares, Senders: senders,
		}
	}
	if c := a.Queues; c != nil {
		out.Queues = &gen.QueueCapabilities{
			Ports: c.Ports, Queues: c.Queues, Profiles: c.Profiles, WeightedPorts: len(c.Weighted),
			Marked: few(mapped(c.Marked, func(q uint8) int { return int(q) }), mostMarked),
		}
	}
	if c := a.WRCC; c != nil {
		out.Wrcc = &gen.WRCCCapabilities{Ports: c.Ports, Weights: c.Weights, Domains: c.Domains}
	}
	if a.Device.Plane == subnet.PlaneIB {
		out.Infiniband = &gen.InfiniBandCapabilities{
			TableEntries: a.TableEntries, PerQP: a.PerQP, PerSL: a.PerSL, PortMarking: a.PortMarking, CreditStarvation: a.CreditStarvation, PerSLCounters: a.PerSLCounters,
		}
	}
	return out
}

// few returns the first entries of a list, never nil.
func few[T any](list []T, most int) []T { return append([]T{}, list[:min(len(list), most)]...) }
