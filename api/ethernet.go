package api

import (
	"math"

	"fairlane/api/gen"
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/qos"
	"fairlane/wrcc"
)

// nicOut converts the settings of a NIC port.
func nicOut(s *driver.NICState) *gen.NICSettings {
	out := &gen.NICSettings{Params: mapped(s.Params, func(p driver.NICParam) gen.NICParameter {
		return gen.NICParameter{Name: p.Name, Index: optional(p.Index), Value: int64(min(p.Value, math.MaxInt64))}
	})}
	if len(s.Shares) > 0 {
		out.Shares = mapped(s.Shares, func(c qos.ClassShare) gen.TrafficClassShare {
			return gen.TrafficClassShare{Class: int(c.Class), Percent: int(c.Percent)}
		})
	}
	c := s.WRCC
	if c == nil {
		return out
	}
	out.Wrcc = &gen.SenderSettings{
		Domain: int(c.Domain), T1Us: int(c.T1Us), MinRateMbps: int64(c.MinRateMbps), Increase: c.Increase,
		Senders: mapped(c.Senders, func(x wrcc.SenderWeight) gen.SenderWeight {
			return gen.SenderWeight{Name: x.Name, Weight: x.Weight.Float(), Peers: mapped(x.Peers, func(p wrcc.PeerWeight) gen.PeerWeight {
				return gen.PeerWeight{Port: p.Port.String(), Weight: p.Weight.Float()}
			})}
		}),
	}
	return out
}

// queuesOut converts the marking and the weights of a switch's queues.
func queuesOut(s *driver.QueueState) *gen.QueueSettings {
	out := &gen.QueueSettings{Marking: mapped(s.Marking, func(q ecn.QueueMarking) gen.QueueMarking {
		return gen.QueueMarking{Port: int(q.Port), Queue: int(q.Queue), MinBytes: q.Marking.Min, MaxBytes: q.Marking.Max, PMaxPercent: q.Marking.PMaxPct}
	})}
	if len(s.Weights) > 0 {
		out.Weights = mapped(s.Weights, func(w qos.QueueWeight) gen.QueueWeight {
			return gen.QueueWeight{Port: int(w.Port), Queue: int(w.Queue), Weight: int(w.Weight)}
		})
	}
	return out
}

// fairOut converts the tables of a WRCC switch.
func fairOut(c *driver.WRCCState) *gen.FairRateSettings {
	return &gen.FairRateSettings{
		Ports: mapped(c.Ports, func(p wrcc.PortConfig) gen.FairRatePort {
			return gen.FairRatePort{
				Port: int(p.Port), FMinMbps: int64(p.FminMbps), FMaxMbps: int64(p.FmaxMbps), BTarMbps: int64(p.TargetMbps),
				WrcctUs: int(p.PeriodUs), RateRatioPct: int(p.RateRatioPct), QRatioPct: int(p.QRatioPct),
			}
		}),
		Domains: mapped(c.Domains, func(d wrcc.PortDomain) gen.PortDomain {
			return gen.PortDomain{Port: int(d.Port), Domain: int(d.Domain), Wan: d.WAN}
		}),
	}
}
