package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/sim/tenantnet"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
	"fairlane/wrcc"
)

// etherNetwork is an Ethernet fabric with the flows of an input, by path.
type etherNetwork struct {
	*tenantnet.Network

	functions map[tenantAt]int32
}

func newEther(in *policy.Input, p *policy.Plan, seed uint64) (*etherNetwork, error) {
	cfg := tenantnet.RoCE(seed)
	b := etherBuilder{in: in, plan: p, cfg: &cfg}
	var err error
	if in.Options.Plane == policy.PlaneWRCC {
		cfg = tenantnet.WRCC(seed)
		err = b.installWRCC()
	} else {
		err = b.installRoCE()
	}
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	n, err := tenantnet.New(in.Fabric, in.Flows, cfg)
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	if err := b.weighClasses(n); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	functions, err := b.addFunctions(n)
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	for i, at := range n.Pairs {
		spec := n.Spec(i)
		spec.Algorithm, spec.Weight = b.control(&in.Flows[at])
		spec.Function = functions[tenantAt{in.Flows[at].Tenant, in.Flows[at].Src}]
		spec.Class = b.classes[in.Flows[at].Tenant]
		if err := n.Add(spec); err != nil {
			return nil, fmt.Errorf("simulate: %w", err)
		}
	}
	return &etherNetwork{n, functions}, nil
}

// Routes returns the paths of the queue pairs of an input's flows on Ethernet in a simulation with a seed, for
// policy.Input.Routes. It returns an error if flows cannot be simulated.
func Routes(in *policy.Input, seed uint64) ([][]policy.Route, error) {
	none, err := algorithm("none", nil)
	if err != nil {
		return nil, err
	}
	cfg := tenantnet.RoCE(seed)
	cfg.Algorithms = []cc.Algorithm{none}
	n, err := tenantnet.New(in.Fabric, in.Flows, cfg)
	if err != nil {
		return nil, fmt.Errorf("routes: %w", err)
	}
	out := make([][]policy.Route, len(in.Flows))
	for i, f := range n.Pairs {
		out[f] = addRoute(out[f], n.Paths[i])
	}
	return out, nil
}

// addRoute adds one queue pair to a path.
func addRoute(routes []policy.Route, path []subnet.PortRef) []policy.Route {
	for i := range routes {
		if slices.Equal(routes[i].Path, path) {
			routes[i].QPs++
			return routes
		}
	}
	return append(routes, policy.Route{Path: path, QPs: 1})
}

func (n *etherNetwork) streams() []stream {
	out := make([]stream, len(n.Pairs))
	for i, f := range n.Pairs {
		out[i] = stream{flow: f, path: n.Paths[i]}
	}
	return out
}

func (n *etherNetwork) delivered(dst []uint64) {
	for s := range n.Flows {
		dst[s.ID] = uint64(float64(s.Received) * n.Wire)
	}
}

func (n *etherNetwork) hops() uint64 { return n.Stats().PacketHops }

// etherBuilder converts a plan to the configuration of an Ethernet fabric.
type etherBuilder struct {
	in   *policy.Input
	plan *policy.Plan // nil means the unmanaged fabric
	cfg  *ether.Config
	nics map[ident.PortID]uint16 // algorithm of each port with individual settings
	// classes are those of tenants, if the plan divides links by class.
	classes map[string]uint8
}

func algorithm(name string, v cc.Values) (cc.Algorithm, error) {
	spec, err := cc.ByName(name)
	if err != nil {
		return nil, err
	}
	return spec.Build(v)
}

// control returns the algorithm and the weight of a queue pair of a flow.
func (b *etherBuilder) control(f *tenants.Flow) (algorithm uint16, weight float64) {
	if b.plan != nil && b.plan.WRCC != nil {
		if s, ok := b.plan.WRCC.Sender(f.Src, f.Tenant, cmp.Or(f.Class, tenants.DefaultClass)); ok {
			return 0, s.WeightTo(f.Dst)
		}
	}
	return b.nics[f.Src], 1
}

// tenantAt is a tenant on a port.
type tenantAt struct {
	tenant string
	port   ident.PortID
}

// addFunctions adds virtual functions, with the plan's shares, for tenants that share a port.
func (b *etherBuilder) addFunctions(n *tenantnet.Network) (map[tenantAt]int32, error) {
	out := make(map[tenantAt]int32)
	if b.plan == nil || b.plan.RoCE == nil {
		return out, nil
	}
	for _, t := range b.plan.RoCE.Traffic {
		host, ok := n.HostOf(t.Port)
		if !ok || t.VFShare == 0 {
			continue
		}
		ref, _ := b.in.Fabric.PortByID(t.Port)
		l, _ := b.in.Fabric.Link(ref)
		f, err := n.AddFunction(host, ether.FunctionShare{Min: l.Rate * quantity.BitRate(t.VFShare) / 1000})
		if err != nil {
			return nil, err
		}
		out[tenantAt{t.Tenant, t.Port}] = f
	}
	return out, nil
}

// installRoCE sets the DCQCN settings of NIC ports and the marking of switch ports. Algorithm 0 is the vendor's default.
func (b *etherBuilder) installRoCE() error {
	settings := []dcqcn.Settings{dcqcn.Default()}
	index := map[dcqcn.Settings]uint16{settings[0]: 0}
	b.nics = make(map[ident.PortID]uint16)
	if b.plan != nil {
		if b.plan.RoCE == nil {
			return errors.New("the plan has no settings for the RoCE plane")
		}
		for i := range b.plan.RoCE.NICs {
			nic := &b.plan.RoCE.NICs[i]
			at, ok := index[nic.Settings]
			if !ok {
				if len(settings) == ether.MaxAlgorithms {
					return fmt.Errorf("too many different settings of NIC ports: want at most %d", ether.MaxAlgorithms-1)
				}
				at = uint16(len(settings))
				index[nic.Settings] = at
				settings = append(settings, nic.Settings)
			}
			b.nics[nic.Port] = at
		}
		b.installClasses()
		if err := b.installMarking(); err != nil {
			return err
		}
	}
	var err error
	if b.cfg.Algorithms, err = cc.NewMlxEach(settings); err != nil {
		return err
	}
	// Notifications are packets. All receivers of managed traffic have the same gap between them.
	b.cfg.CNPGap = quantity.Picoseconds(settings[len(settings)-1].CNPGap) * quantity.Microsecond
	return nil
}

func (b *etherBuilder) installMarking() error {
	b.cfg.ECNs = make(map[subnet.PortRef]ether.ECN)
	for i := range b.plan.RoCE.Switches {
		s := &b.plan.RoCE.Switches[i]
		node, ok := b.in.Fabric.NodeByGUID(s.Node)
		if !ok {
			return fmt.Errorf("plan for switch %s: no such switch", s.Node)
		}
		for _, q := range s.Queues {
			b.cfg.ECNs[subnet.PortRef{Node: node, Port: q.Port}] = ether.ECN{
				Min: q.Marking.Min, Max: q.Marking.Max, PMax: float64(q.Marking.PMaxPct) / 100,
			}
		}
	}
	return nil
}

// installClasses gives the fabric a class for each queue of the plan, by number.
func (b *etherBuilder) installClasses() {
	if len(b.plan.RoCE.Classes) == 0 {
		return
	}
	b.classes, b.cfg.Classes = make(map[string]uint8), make([]ether.Class, ether.MaxClasses)
	for _, c := range b.plan.RoCE.Classes {
		for _, t := range c.Tenants {
			b.classes[t] = c.Queue
		}
	}
	used := b.plan.RoCE.Classes
	for queue := range uint8(ether.MaxClasses) {
		if !slices.ContainsFunc(used, func(c policy.RoCEClass) bool { return c.Queue == queue }) {
			b.cfg.CNPClass, b.cfg.Classes[queue].Strict = queue, true
			return
		}
	}
}

// weighClasses sets the weights of queues and of the traffic classes of NICs.
func (b *etherBuilder) weighClasses(n *tenantnet.Network) error {
	if b.classes == nil {
		return nil
	}
	for i := range b.plan.RoCE.Switches {
		sw := &b.plan.RoCE.Switches[i]
		node, _ := b.in.Fabric.NodeByGUID(sw.Node)
		for k := 0; k < len(sw.Weights); {
			port, service := sw.Weights[k].Port, b.service()
			for ; k < len(sw.Weights) && sw.Weights[k].Port == port; k++ {
				service.Weights[sw.Weights[k].Queue] = sw.Weights[k].Weight
			}
			if err := n.SetService(subnet.PortRef{Node: node, Port: port}, service); err != nil {
				return err
			}
		}
	}
	for i := range b.plan.RoCE.NICs {
		nic := &b.plan.RoCE.NICs[i]
		service := b.service()
		for _, c := range nic.Shares {
			service.Weights[c.Class] = c.Percent
		}
		ref, _ := b.in.Fabric.PortByID(nic.Port)
		if err := n.SetService(ref, service); err != nil {
			return err
		}
	}
	return nil
}

// service returns the scheduling of a port before weights are set: notifications first.
func (b *etherBuilder) service() ether.Service {
	if b.cfg.Classes[b.cfg.CNPClass].Strict {
		return ether.Service{Strict: 1 << b.cfg.CNPClass}
	}
	return ether.Service{}
}

// installWRCC sets the settings of switch ports and senders. Without a plan it sets those of published WRCC.
func (b *etherBuilder) installWRCC() error {
	p := b.plan
	if p == nil {
		a, err := algorithm("wrcc", nil)
		b.cfg.Algorithms = []cc.Algorithm{a}
		b.cfg.FairRate = &ether.FairRate{Period: plainPeriod}
		return err
	}
	if p.WRCC == nil || len(p.WRCC.Domains) == 0 && len(b.in.Flows) > 0 {
		return errors.New("the plan has no settings for the WRCC plane")
	}
	if len(p.WRCC.Domains) == 0 { // no traffic, so no settings
		b.plan = nil
		return b.installWRCC()
	}
	increase, err := wrcc.ParseIncrease(p.WRCC.Increase)
	if err != nil {
		return fmt.Errorf("the plan: %w", err)
	}
	a, err := algorithm("wrcc-weighted", cc.Values{
		"t1": float64(p.WRCC.Domains[0].T1), "increase": float64(increase), "min_rate": float64(p.WRCC.MinRate),
	})
	if err != nil {
		return err
	}
	b.cfg.Algorithms = []cc.Algorithm{a}
	period := make(map[string]quantity.Picoseconds, len(p.WRCC.Domains))
	for _, d := range p.WRCC.Domains {
		period[d.Domain] = d.Period
	}
	b.cfg.FairRate = &ether.FairRate{Period: p.WRCC.Domains[0].Period, Params: func(at subnet.PortRef, rate quantity.BitRate) wrcc.Params {
		if s, ok := p.WRCC.PortSettings(b.in.Fabric.PortID(at)); ok {
			return s
		}
		return wrcc.DefaultParams(rate, period[b.in.Fabric.Nodes[at.Node].Domain])
	}}
	return nil
}

// plainPeriod is WRCCT of unmanaged switches. It is the value of S0: twice the largest round trip time of the data centre.
const plainPeriod = 24 * quantity.Microsecond
