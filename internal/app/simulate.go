package app

import (
	"context"
	"errors"
	"fmt"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/policy"
	"fairlane/sim/fabric"
	"fairlane/sim/scenario"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// simulation is what a plan's settings really give in the packet simulator.
type simulation struct {
	Seed          uint64            `json:"seed"`
	SimulatedS    float64           `json:"simulated_s"`
	Tenants       []simulatedTenant `json:"tenants"` // in the order of the plan
	MaxShareError float64           `json:"max_share_error"`
}

type simulatedTenant struct {
	Tenant     string           `json:"tenant"`
	Delivered  quantity.BitRate `json:"delivered_bps"`
	ShareError float64          `json:"share_error"`
	BECNs      uint64           `json:"becns"`
}

// simulate runs the input's flows on the simulated fabric with the plan in force, lets them
// converge, and counts what each tenant's flows deliver.
func simulate(ctx context.Context, in policy.Input, p *policy.Plan, seed uint64, progress func(done float64)) (*simulation, error) {
	s := &scenario.Scenario{Name: "plan", Fabric: in.Fabric, Tenants: in.Tenants, Config: fabric.Config{Seed: seed}}
	if in.Options.TimerRestart {
		s.Config.TimerRestart = true
	}
	for _, f := range in.Flows {
		s.Flows = append(s.Flows, scenario.Flow{Flow: f, SL: slOf(p, f.Tenant, f.Src)})
	}
	n, ids, err := s.Build()
	if err != nil {
		return nil, err
	}
	if err := installPlan(n, p); err != nil {
		return nil, err
	}
	pc := paceOf(p)
	settle, window := 4*pc.round, pc.final
	run := func(from, to quantity.Picoseconds) error {
		const steps = 50
		for i := quantity.Picoseconds(1); i <= steps; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			n.RunUntil(from + (to-from)*i/steps)
			progress(float64(n.Now()) / float64(settle+window))
		}
		return nil
	}
	if err := run(0, settle); err != nil {
		return nil, err
	}
	atStart := delivered(n, ids)
	if err := run(settle, settle+window); err != nil {
		return nil, err
	}
	return summarise(in, p, seed, window, atStart, delivered(n, ids)), nil
}

// flowCount is what one flow has delivered so far.
type flowCount struct{ bytes, becns uint64 }

func delivered(n *fabric.Network, ids []fabric.FlowID) []flowCount {
	out := make([]flowCount, len(ids))
	for i, id := range ids {
		f := n.Flow(id)
		out[i] = flowCount{f.DeliveredBytes, f.BECNs}
	}
	return out
}

func summarise(in policy.Input, p *policy.Plan, seed uint64, window quantity.Picoseconds, from, to []flowCount) *simulation {
	out := &simulation{Seed: seed, SimulatedS: window.Seconds()}
	for _, t := range p.Tenants {
		st := simulatedTenant{Tenant: t.Tenant}
		var bytes uint64
		for i, f := range in.Flows {
			if f.Tenant == t.Tenant {
				bytes += to[i].bytes - from[i].bytes
				st.BECNs += to[i].becns - from[i].becns
			}
		}
		st.Delivered = quantity.BitRate(float64(bytes) * 8 / window.Seconds())
		st.ShareError = stats.ShareError(st.Delivered, t.Entitled)
		out.MaxShareError = max(out.MaxShareError, st.ShareError)
		out.Tenants = append(out.Tenants, st)
	}
	return out
}

func slOf(p *policy.Plan, tenant string, port ident.PortID) ident.SL {
	for _, pl := range p.Placements {
		if pl.Tenant == tenant && pl.Port == port {
			return pl.SL
		}
	}
	return 0
}

// installPlan puts a plan's settings into a simulated fabric directly, as its devices would
// after a rollout.
func installPlan(n *fabric.Network, p *policy.Plan) error {
	topo := n.Topology()
	var errs []error
	for _, c := range p.CAs {
		ref, ok := topo.PortByID(c.Port)
		if !ok {
			errs = append(errs, fmt.Errorf("plan for %s: no such port", c.Port))
			continue
		}
		installCA(n, ref, &c.Settings)
	}
	for _, s := range p.Switches {
		node, ok := topo.NodeByGUID(s.Node)
		if !ok {
			errs = append(errs, fmt.Errorf("plan for switch %s: no such switch", s.Node))
			continue
		}
		n.SetSwitchCC(node, s.Defaults)
		for port, m := range s.Ports {
			if m.Valid {
				n.SetPortMarking(node, ident.PortNum(port), m)
			}
		}
	}
	return errors.Join(errs...)
}

func installCA(n *fabric.Network, ref subnet.PortRef, c *ibcc.CASettings) {
	for b := 0; b*ibcc.BlockEntries < len(c.Table); b++ {
		var block [ibcc.BlockEntries]ibcc.Entry
		copy(block[:], c.Table[b*ibcc.BlockEntries:])
		n.SetCCTBlock(ref.Node, ref.Port, c.Limit, b, block)
	}
	n.SetCAParams(ref.Node, ref.Port, c.PerSL, c.SLs)
}
