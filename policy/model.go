package policy

import (
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// ErrInput marks input that cannot be compiled, for errors.Is.
var ErrInput = errors.New("input cannot be compiled")

// model is the checked input in the form the stages work on: tenants sorted by name with
// complete attachments, flows sorted so that the order given does not matter, link directions
// numbered. Link direction 2i is Fabric.Links[i] from A to B, 2i+1 from B to A.
type model struct {
	in      Input
	plane   Plane
	fabric  *subnet.Fabric // with LIDs and forwarding tables
	tenants []tenants.Tenant
	flows   []flow
	caps    []float64 // bit/s of each link direction
	usable  []ident.SL
	entries int // CCT entries
}

// flow is one aggregate with its route.
type flow struct {
	index     int // into Input.Flows
	tenant    int32
	class     int32 // into the tenant's classes, or 0
	qps       int
	demand    float64 // bit/s; 0 is greedy
	src, dst  subnet.PortRef
	links     []int32 // link directions in order
	weight    float64 // tenant's
	classWght float64
}

// newModel checks the input and completes it: attachments, LIDs, routes.
func newModel(in Input) (*model, error) {
	if in.Fabric == nil {
		return nil, fmt.Errorf("%w: no fabric", ErrInput)
	}
	if err := in.Options.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if err := tenants.Validate(in.Tenants, in.Flows); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	f, err := routed(in.Fabric)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	m := &model{in: in, plane: in.Options.plane(), fabric: f, entries: in.Options.TableEntries, usable: in.Options.usableSLs()}
	if m.entries == 0 {
		m.entries = 2 * ibcc.BlockEntries
	}
	m.tenants = tenants.Attach(in.Tenants, in.Flows)
	slices.SortFunc(m.tenants, func(a, b tenants.Tenant) int { return compareText(a.Name, b.Name) })
	m.caps = make([]float64, 2*len(f.Links))
	for i, l := range f.Links {
		if l.Rate <= 0 {
			return nil, fmt.Errorf("%w: link %s - %s has no rate: give its width and speed, or its rate",
				ErrInput, f.PortName(l.A), f.PortName(l.B))
		}
		m.caps[2*i], m.caps[2*i+1] = float64(l.Rate), float64(l.Rate)
	}
	if err := m.checkAttachments(); err != nil {
		return nil, err
	}
	return m, m.addFlows()
}

// routed returns the fabric with LIDs and forwarding tables, computing what is not given.
func routed(f *subnet.Fabric) (*subnet.Fabric, error) {
	out, err := subnet.AssignLIDs(f, 0)
	if err != nil {
		return nil, err
	}
	if complete(out) {
		return out, nil
	}
	lfts, err := subnet.ComputeRoutes(out)
	if err != nil {
		return nil, err
	}
	return out.WithLFTs(lfts)
}

func complete(f *subnet.Fabric) bool {
	for _, s := range f.Switches() {
		if int(s) >= len(f.LFTs) || f.LFTs[s] == nil {
			return false
		}
	}
	return true
}

func (m *model) checkAttachments() error {
	for _, t := range m.tenants {
		for _, a := range t.Attachments {
			if _, err := caPort(m.fabric, a.Port); err != nil {
				return fmt.Errorf("%w: tenant %s: attachment: %w", ErrInput, t.Name, err)
			}
		}
	}
	return nil
}

// caPort finds a channel-adapter port with a link.
func caPort(f *subnet.Fabric, id ident.PortID) (subnet.PortRef, error) {
	ref, ok := f.PortByID(id)
	if !ok {
		return ref, fmt.Errorf("port %s: want a port of this fabric", id)
	}
	if f.Nodes[ref.Node].Kind != subnet.KindCA {
		return ref, fmt.Errorf("port %s (%s): want a channel-adapter port", id, f.PortName(ref))
	}
	if _, ok := f.Peer(ref); !ok {
		return ref, fmt.Errorf("port %s (%s): nothing is plugged in", id, f.PortName(ref))
	}
	return ref, nil
}

func (m *model) addFlows() error {
	paths, err := routePaths(m.fabric, m.in.Flows)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	byName := make(map[string]int32, len(m.tenants))
	for i, t := range m.tenants {
		byName[t.Name] = int32(i)
	}
	m.flows = make([]flow, 0, len(paths))
	for i, fl := range m.in.Flows {
		if len(paths[i]) == 0 {
			return fmt.Errorf("%w: flow %d of tenant %s: its source and destination are the same LID", ErrInput, i, fl.Tenant)
		}
		ti := byName[fl.Tenant]
		t := &m.tenants[ti]
		class, _ := t.ClassNamed(fl.Class)
		x := flow{index: i, tenant: ti, qps: fl.QPs, demand: float64(fl.Demand), src: paths[i][0],
			weight: float64(t.Weight), classWght: float64(class.Weight), links: m.directions(paths[i])}
		x.class = int32(max(0, slices.IndexFunc(t.Classes, func(c tenants.Class) bool { return c.Name == class.Name })))
		x.dst, _ = m.fabric.PortByID(fl.Dst)
		m.flows = append(m.flows, x)
	}
	slices.SortStableFunc(m.flows, func(a, b flow) int { return m.compareFlows(&a, &b) })
	return nil
}

// compareFlows orders flows by all that matters of them, so that equal flows are exchangeable and
// the result does not depend on the order of the input.
func (m *model) compareFlows(a, b *flow) int {
	for _, d := range []int64{
		int64(a.tenant) - int64(b.tenant), int64(a.class) - int64(b.class),
		int64(a.src.Node) - int64(b.src.Node), int64(a.src.Port) - int64(b.src.Port),
		int64(a.dst.Node) - int64(b.dst.Node), int64(a.dst.Port) - int64(b.dst.Port),
		int64(a.qps) - int64(b.qps), int64(a.demand) - int64(b.demand),
	} {
		if d != 0 {
			if d < 0 {
				return -1
			}
			return 1
		}
	}
	return 0
}

// directions numbers the link directions that the transmitting ports drive.
func (m *model) directions(path FlowPath) []int32 {
	out := make([]int32, len(path))
	for i, p := range path {
		out[i] = direction(m.fabric, p)
	}
	return out
}

func direction(f *subnet.Fabric, p subnet.PortRef) int32 {
	l, i := f.Link(p)
	if l.A == p {
		return 2 * i
	}
	return 2*i + 1
}

// transmitter is the port that drives a link direction, and receiver its far end.
func (m *model) transmitter(d int32) subnet.PortRef {
	if l := &m.fabric.Links[d/2]; d%2 == 0 {
		return l.A
	} else {
		return l.B
	}
}

func (m *model) receiver(d int32) subnet.PortRef { return m.transmitter(d ^ 1) }

// marks reports whether the transmitter of a link direction is a switch: channel adapters do
// not set FECN on what they send.
func (m *model) marks(d int32) bool {
	return m.fabric.Nodes[m.transmitter(d).Node].Kind == subnet.KindSwitch
}

// packetBits is the size on the wire of a full packet over a port: its MTU and the 26 bytes of LRH,
// BTH, ICRC and VCRC (IBTA vol. 1, 7.7, 9.2, 7.8).
func (m *model) packetBits(p subnet.PortRef) float64 {
	mtu := int(m.fabric.Port(p).MTU)
	if mtu == 0 {
		mtu = defaultMTU
	}
	return float64((mtu + packetHeader) * 8)
}

const (
	defaultMTU   = 4096
	packetHeader = 26
)

// Paths returns, for each flow, the ports that transmit it, source port first, by the
// fabric's forwarding tables; tables and LIDs that the fabric lacks are computed as the compiler
// does. It fails when a flow's ports are not in the fabric or have no route between them.
func Paths(f *subnet.Fabric, flows []tenants.Flow) ([]FlowPath, error) {
	r, err := routed(f)
	if err != nil {
		return nil, err
	}
	return routePaths(r, flows)
}

func routePaths(f *subnet.Fabric, flows []tenants.Flow) ([]FlowPath, error) {
	out := make([]FlowPath, len(flows))
	arena := make([]subnet.PortRef, 0, 5*len(flows))
	for i, fl := range flows {
		src, err := caPort(f, fl.Src)
		if err != nil {
			return nil, fmt.Errorf("flow %d of tenant %s: source: %w", i, fl.Tenant, err)
		}
		dst, err := caPort(f, fl.Dst)
		if err != nil {
			return nil, fmt.Errorf("flow %d of tenant %s: destination: %w", i, fl.Tenant, err)
		}
		start := len(arena)
		arena, err = subnet.AppendPath(arena, f, src, f.Port(dst).LID)
		if err != nil {
			return nil, fmt.Errorf("flow %d of tenant %s: %w", i, fl.Tenant, err)
		}
		out[i] = FlowPath(arena[start:len(arena):len(arena)])
	}
	return out, nil
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// plane is the plane asked for.
func (o Options) plane() Plane {
	if o.Plane == "" {
		return PlaneIB
	}
	return o.Plane
}

// validate checks the options' ranges.
func (o Options) validate() error {
	if p := o.plane(); p != PlaneIB && p != PlaneRoCE && p != PlaneWRCC {
		return fmt.Errorf("plane %q: want %q, %q or %q", p, PlaneIB, PlaneRoCE, PlaneWRCC)
	}
	if o.Mode != "" && o.Mode != ModeProduct && o.Mode != ModeTheorem1 {
		return fmt.Errorf("mode %q: want %q or %q", o.Mode, ModeProduct, ModeTheorem1)
	}
	if o.CCTLaw != "" && o.CCTLaw != CCTGeometric && o.CCTLaw != CCTQuadratic {
		return fmt.Errorf("CCT law %q: want %q or %q", o.CCTLaw, CCTGeometric, CCTQuadratic)
	}
	if o.PerQP != "" && o.PerQP != PerQPAuto && o.PerQP != PerQPOn && o.PerQP != PerQPOff {
		return fmt.Errorf("per-QP mode %q: want %q, %q or %q", o.PerQP, PerQPAuto, PerQPOn, PerQPOff)
	}
	if n := o.TableEntries; n != 0 && (n < 16 || n > ibcc.MaxTableEntries) {
		return fmt.Errorf("CCT of %d entries: want 16 to %d, or 0 for 128", n, ibcc.MaxTableEntries)
	}
	for _, sl := range o.ReservedSLs {
		if sl >= ident.NumSLs {
			return fmt.Errorf("reserved SL %d: want 0 to 15", sl)
		}
	}
	if len(o.usableSLs()) == 0 {
		return errors.New("all service levels are reserved: want at least one left for tenants")
	}
	return nil
}

// usableSLs lists the service levels that tenants may get, in the order of preference: 1 to
// 15, then 0, which unmanaged traffic uses. Without a list of its own SL 15 is reserved, since
// a fabric with all data VLs maps it to VL 15, which drops it.
func (o Options) usableSLs() []ident.SL {
	reserved := o.ReservedSLs
	if reserved == nil {
		reserved = []ident.SL{15}
	}
	var out []ident.SL
	for i := range ident.NumSLs {
		if sl := ident.SL((i + 1) % ident.NumSLs); !slices.Contains(reserved, sl) {
			out = append(out, sl)
		}
	}
	return out
}

// rate rounds a computed rate to whole bits per second.
func rate(x float64) quantity.BitRate { return quantity.BitRate(x + 0.5) }
