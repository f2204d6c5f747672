// Package scenario describes simulations in files: a fabric, tenants with weights, their flows, and the settings of the
// model. It reads the files, builds the network, runs it, and returns the result.
//
// The built-in scenarios are embedded files of the same format.
package scenario

import (
	"fmt"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Scenario is one simulation, ready to build.
type Scenario struct {
	Name        string
	Description string
	Fabric      *subnet.Fabric
	// Config holds the seed and the settings of the model.
	Config fabric.Config
	// Duration is the simulated time of a batch run. Totals count from Warmup on; rates over time have the interval Interval.
	Duration, Warmup, Interval quantity.Picoseconds
	freeInterval               bool // the file does not set Interval, so it grows with the duration
	// Tenants include the attachments at the ends of their flows.
	Tenants []tenants.Tenant
	Flows   []Flow
	// CC is the initial congestion control of the fabric; nil means off.
	CC      *CongestionControl
	Changes []Change
	// Ethernet holds the model and the traffic of an Ethernet scenario; nil on InfiniBand. With it, Config (except its seed),
	// Flows, CC and Changes are empty.
	Ethernet *Ethernet
}

// Planes of scenarios.
const (
	PlaneInfiniBand = "infiniband"
	PlaneEthernet   = "ethernet"
)

// Plane returns PlaneInfiniBand or PlaneEthernet.
func (s *Scenario) Plane() string {
	if s.Ethernet != nil {
		return PlaneEthernet
	}
	return PlaneInfiniBand
}

// Flow is a tenant's flow with additional properties for the simulation.
type Flow struct {
	tenants.Flow
	SL          ident.SL
	Start, Stop quantity.Picoseconds // Stop 0 means never
	Bytes       uint64               // payload; 0 means unlimited
}

// CongestionControl is the common setting of all switches and channel adapters.
type CongestionControl struct {
	Switch ibcc.SwitchSettings
	CA     ibcc.CASettings
}

// Change sets the parameters of all SLs on a tenant's sending ports during a run.
type Change struct {
	At     quantity.Picoseconds
	Tenant string
	Params ibcc.SLParams
}

// SetTimes changes the duration and the interval of a parsed scenario. It returns an error for values that a scenario file may
// not have. If the file does not set them, the interval (unless it is changed here) and the sample interval grow with the
// duration.
func (s *Scenario) SetTimes(duration, interval quantity.Picoseconds) error {
	free := s.freeInterval && interval == s.Interval
	if free {
		interval = max(interval, defaultInterval(duration))
	}
	sample := quantity.Picoseconds(1)
	if e := s.Ethernet; e != nil {
		if sample = e.Sample; e.freeSample {
			sample = max(sample, defaultSample(duration, interval))
		}
	}
	switch {
	case duration <= s.Warmup || duration > maxDuration:
		return fault(phrase.Of("scenario.duration", "duration", duration, "min", s.Warmup, "max", maxDuration))
	case interval <= 0 || duration/interval > maxSamples:
		return fault(phrase.Of("scenario.interval", "interval", interval, "parts", maxSamples, "duration", duration))
	case s.Ethernet != nil && duration/sample > maxSampled:
		return fault(phrase.Of("scenario.sample", "duration", duration, "times", maxSampled, "sample", sample))
	}
	s.Duration, s.Interval, s.freeInterval = duration, interval, free
	if s.Ethernet != nil {
		s.Ethernet.Sample = sample
	}
	return nil
}

// defaultInterval returns 1 ms, or more for a long run to limit the number of intervals.
func defaultInterval(duration quantity.Picoseconds) quantity.Picoseconds {
	return max(quantity.Millisecond, duration/maxSamples)
}

// defaultSample returns 10 us, or the interval if it is shorter, or more for a long run to limit the number of samples.
func defaultSample(duration, interval quantity.Picoseconds) quantity.Picoseconds {
	return max(min(interval, 10*quantity.Microsecond), duration/maxSampled)
}

// TenantFlows returns the flows without their simulation properties, as the compiler's input.
func (s *Scenario) TenantFlows() []tenants.Flow {
	out := make([]tenants.Flow, len(s.Flows))
	for i := range s.Flows {
		out[i] = s.Flows[i].Flow
	}
	return out
}

// Build returns the network with its congestion control and all flows. The flow IDs are in the order of Flows. The caller must
// apply Changes; Run does so. Build returns an error for an Ethernet scenario and for a flow without a path.
func (s *Scenario) Build() (*fabric.Network, []fabric.FlowID, error) {
	if s.Ethernet != nil {
		return nil, nil, fault(phrase.Of("scenario.wrong-plane", "scenario", s.Name, "plane", "ethernet", "want", "infiniband"))
	}
	n, err := fabric.New(s.Fabric, s.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	if s.CC != nil {
		s.CC.apply(n)
	}
	keys := make(map[string]int, len(s.Tenants))
	for i := range s.Tenants {
		keys[s.Tenants[i].Name] = i
	}
	topo := n.Topology()
	ids := make([]fabric.FlowID, 0, len(s.Flows))
	for i := range s.Flows {
		f := &s.Flows[i]
		t, ok := keys[f.Tenant]
		if !ok {
			return nil, nil, fmt.Errorf("scenario %s: flow %d: tenant %q: want one of the scenario's tenants", s.Name, i, f.Tenant)
		}
		src, okSrc := topo.PortByID(f.Src)
		dst, okDst := topo.PortByID(f.Dst)
		if !okSrc || !okDst {
			return nil, nil, fmt.Errorf("scenario %s: flow %d: ports %s, %s: want ports of the fabric", s.Name, i, f.Src, f.Dst)
		}
		id, err := n.AddFlow(fabric.FlowSpec{
			Name: fmt.Sprintf("%s/%d", f.Tenant, i), Tenant: t, PKey: s.Tenants[t].PKey,
			Src: src, Dst: dst, SL: f.SL, QPs: f.QPs, Demand: f.Demand,
			Start: f.Start, Stop: f.Stop, Bytes: f.Bytes,
		})
		if err == nil {
			if _, err = subnet.Path(topo, src, topo.Nodes[dst.Node].Ports[dst.Port].LID); err != nil {
				err = fmt.Errorf("flow %d: no path between its hosts, %s and %s: %w", i, topo.PortName(src), topo.PortName(dst), err)
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("scenario %s: %w", s.Name, &flowError{i, err})
		}
		ids = append(ids, id)
	}
	return n, ids, nil
}

// flowError is an error in one of the scenario's flows.
type flowError struct {
	flow int // number of the flow, from 0
	err  error
}

func (e *flowError) Error() string { return e.err.Error() }

func (e *flowError) Unwrap() error { return e.err }

func (c *CongestionControl) apply(n *fabric.Network) {
	topo := n.Topology()
	for _, sw := range topo.Switches() {
		n.SetSwitchCC(sw, c.Switch)
	}
	for _, h := range topo.Hosts() {
		for p := 1; p < len(topo.Nodes[h].Ports); p++ {
			n.ApplyCA(h, ident.PortNum(p), c.CA)
		}
	}
}

// apply applies the change to the network of the scenario.
func (c *Change) apply(n *fabric.Network, s *Scenario) {
	var all [ident.NumSLs]ibcc.SLParams
	for sl := range all {
		all[sl] = c.Params
	}
	done := make(map[ident.PortID]bool)
	for i := range s.Flows {
		f := &s.Flows[i]
		if f.Tenant != c.Tenant || done[f.Src] {
			continue
		}
		done[f.Src] = true
		if ref, ok := n.Topology().PortByID(f.Src); ok {
			perSL, _ := n.CAParams(ref.Node, ref.Port)
			n.SetCAParams(ref.Node, ref.Port, perSL, all)
		}
	}
}
