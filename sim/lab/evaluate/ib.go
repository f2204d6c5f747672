package evaluate

import (
	"errors"
	"fmt"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// ibNetwork is an InfiniBand fabric with the flows of an input.
type ibNetwork struct {
	*fabric.Network
	ids   []fabric.FlowID // flow IDs, by flow of the input
	paths []policy.FlowPath
}

func newIB(in *policy.Input, p *policy.Plan, seed uint64) (*ibNetwork, error) {
	n, err := fabric.New(in.Fabric, fabric.Config{Seed: seed, TimerRestart: in.Options.TimerRestart, Devices: in.IBProfiles, DataVLs: dataVLs(p), CCTBlocks: cctBlocks(p)})
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	out := &ibNetwork{Network: n}
	topo := n.Topology()
	if out.paths, err = policy.Paths(topo, in.Flows); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	tenant := make(map[string]int, len(in.Tenants))
	for i := range in.Tenants {
		tenant[in.Tenants[i].Name] = i
	}
	for i := range in.Flows {
		f := &in.Flows[i]
		spec := fabric.FlowSpec{Name: fmt.Sprintf("%s/%d", f.Tenant, i), Tenant: tenant[f.Tenant], QPs: f.QPs, Demand: f.Demand}
		spec.Src, _ = topo.PortByID(f.Src) // Paths has checked both ports
		spec.Dst, _ = topo.PortByID(f.Dst)
		if p != nil {
			spec.SL, _ = p.SL(f.Tenant, f.Src)
		}
		id, err := n.AddFlow(spec)
		if err != nil {
			return nil, fmt.Errorf("simulate: %w", err)
		}
		out.ids = append(out.ids, id)
	}
	if p == nil {
		return out, nil
	}
	return out, InstallIB(n, p)
}

func (n *ibNetwork) streams() []stream {
	out := make([]stream, len(n.paths))
	for i, p := range n.paths {
		out[i] = stream{flow: i, path: p}
	}
	return out
}

func (n *ibNetwork) delivered(dst []uint64) {
	for i, id := range n.ids {
		dst[i] = n.Delivered(id)
	}
}

func (n *ibNetwork) hops() uint64 { return n.Stats().PacketHops }

// becns returns the number of BECNs of each flow of the input so far.
func (n *ibNetwork) becns() []uint64 {
	out := make([]uint64, len(n.ids))
	for i, id := range n.ids {
		out[i] = n.Flow(id).BECNs
	}
	return out
}

// dataVLs returns the number of data VLs for the lanes of a plan: 1, 2, 4, 8 or 15.
func dataVLs(p *policy.Plan) int {
	most := ident.VL(0)
	if p != nil {
		for i := range p.Lanes {
			for _, vl := range p.Lanes[i].SL2VL {
				most = max(most, vl)
			}
		}
	}
	for _, n := range [...]int{1, 2, 4, 8} {
		if int(most) < n {
			return n
		}
	}
	return 15
}

// cctBlocks returns the number of blocks of the longest table of a plan; 0 without tables.
func cctBlocks(p *policy.Plan) int {
	longest := 0
	if p != nil {
		for i := range p.CAs {
			longest = max(longest, len(p.CAs[i].Settings.Table))
		}
	}
	return (longest + ibcc.BlockEntries - 1) / ibcc.BlockEntries
}

// InstallIB writes a plan's settings directly to a simulated InfiniBand fabric, as a rollout would, and its lanes as a subnet
// manager would. Flows keep their service levels. It returns an error that names all ports and switches which the fabric does
// not have.
func InstallIB(n *fabric.Network, p *policy.Plan) error {
	topo := n.Topology()
	var errs []error
	for i := range p.CAs {
		ref, ok := topo.PortByID(p.CAs[i].Port)
		if !ok {
			errs = append(errs, fmt.Errorf("plan for %s: no such port", p.CAs[i].Port))
			continue
		}
		n.ApplyCA(ref.Node, ref.Port, p.CAs[i].Settings)
	}
	for i := range p.Switches {
		s := &p.Switches[i]
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
	for i := range p.Lanes {
		ref, ok := topo.PortByID(p.Lanes[i].Port)
		if !ok {
			errs = append(errs, fmt.Errorf("lanes of %s: no such port", p.Lanes[i].Port))
			continue
		}
		installLanes(n, ref, &p.Lanes[i])
	}
	return errors.Join(errs...)
}

func installLanes(n *fabric.Network, ref subnet.PortRef, l *policy.LanePlan) {
	n.SetSL2VL(ref.Node, 0, ref.Port, l.SL2VL)
	for _, t := range []struct {
		high    bool
		entries []policy.VLWeight
	}{{true, l.High}, {false, l.Low}} {
		table := make([]fabric.VLWeight, fabric.ArbEntries) // all other entries are cleared
		for i, e := range t.entries[:min(len(t.entries), len(table))] {
			table[i] = fabric.VLWeight{VL: e.VL, Weight: e.Weight}
		}
		n.SetVLArb(ref.Node, ref.Port, t.high, 0, table)
	}
	n.SetVLHighLimit(ref.Node, ref.Port, 0)
}

// longestTimer returns the longest timer period among the settings of flows.
func longestTimer(in *policy.Input, p *policy.Plan) quantity.Picoseconds {
	at := make(map[ident.PortID]*policy.CAPlan, len(p.CAs))
	for i := range p.CAs {
		at[p.CAs[i].Port] = &p.CAs[i]
	}
	longest := quantity.Picoseconds(0)
	for i := range in.Flows {
		c, ok := at[in.Flows[i].Src]
		sl, placed := p.SL(in.Flows[i].Tenant, in.Flows[i].Src)
		if ok && placed {
			longest = max(longest, c.TimerPeriod(c.Settings.SLs[sl].Timer))
		}
	}
	return longest
}

// coarsest returns the largest Marking_Rate of the plan: packets per mark.
func coarsest(p *policy.Plan) float64 {
	n := uint16(1)
	for i := range p.Switches {
		for _, m := range p.Switches[i].Ports {
			if m.Valid {
				n = max(n, m.MarkingRate)
			}
		}
	}
	return float64(n)
}
