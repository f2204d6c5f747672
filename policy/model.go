package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/quantity"
	"fairlane/policy/fill"
	"fairlane/policy/halves"
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
	in       Input
	plane    Plane
	fabric   *subnet.Fabric // with LIDs and forwarding tables
	tenants  []tenants.Tenant
	flows    []flow
	caps     []float64 // bit/s of each link direction
	usable   []ident.SL
	profiles []*ibprofile.Profile // by node, on InfiniBand
	// targets and forecasts solve what is to be shared, and remember: models of the same flows have them together. nil
	// where there is nothing to remember for.
	targets, forecasts *fill.Solver
	layout             *layout // see lay
}

// flow is one way of an aggregate.
type flow struct {
	index    int   // into Input.Flows
	of       int32 // ways that a hash chooses from; 1 when this one is certain
	tenant   int32
	class    int32   // into the tenant's classes, or 0
	qps      float64 // a fraction where a hash that is not known spreads queue pairs
	demand   float64 // bit/s; 0 is greedy
	src, dst subnet.PortRef
	links    []int32 // link directions in order
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
	f := in.Fabric
	if in.Options.plane() == PlaneIB {
		var err error
		if f, err = routed(in.Fabric); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
	}
	m := &model{in: in, plane: in.Options.plane(), fabric: f, usable: in.Options.usableSLs()}
	if m.plane == PlaneIB {
		m.profiles = in.IBProfiles.ByNode(f)
	}
	m.tenants = tenants.Attach(in.Tenants, in.Flows)
	slices.SortFunc(m.tenants, func(a, b tenants.Tenant) int { return strings.Compare(a.Name, b.Name) })
	sortClasses(m.tenants)
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
			if a.SL != nil && *a.SL == dropped && m.plane == PlaneIB && m.in.Options.ReservedSLs == nil {
				return fmt.Errorf("%w: tenant %s: attachment %s: SL %d is reserved, since a fabric with all data VLs drops it: want 0 to %d, or say which are reserved (reserved_sls)",
					ErrInput, t.Name, a.Port, dropped, dropped-1)
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
	byName := make(map[string]int32, len(m.tenants))
	for i, t := range m.tenants {
		byName[t.Name] = int32(i)
	}
	var both [2]struct {
		flows []flow
		err   error
	}
	order, switches := m.order(), m.switchLinks()
	halves.Do(len(order), func(from, to int) {
		half := &both[0]
		if to == len(order) {
			half = &both[1]
		}
		w := &wayFinder{m: m, switches: switches, arena: make([]int32, 0, 6*(to-from))}
		half.flows, half.err = w.flows(order[from:to], byName)
	})
	for i := range both {
		if err := both[i].err; err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
	}
	m.flows = append(both[0].flows, both[1].flows...)
	m.sortFlows()
	return nil
}

// flows makes those of the input that order lists, a flow for each way. byName finds tenants.
func (w *wayFinder) flows(order []int32, byName map[string]int32) ([]flow, error) {
	m, out := w.m, make([]flow, 0, len(order))
	var ways []way
	for _, k := range order {
		i := int(k)
		fl := &m.in.Flows[i]
		src, dst, err := ends(m.fabric, i, fl)
		if err != nil {
			return nil, err
		}
		if ways, err = w.find(ways[:0], i, fl, src, dst); err != nil {
			return nil, err
		}
		ti := byName[fl.Tenant]
		t := &m.tenants[ti]
		class, _ := t.ClassNamed(fl.Class)
		x := flow{index: i, tenant: ti, src: src, dst: dst}
		x.class = int32(max(0, slices.IndexFunc(t.Classes, func(c tenants.Class) bool { return c.Name == class.Name })))
		for k := range ways {
			x.of, x.links, x.qps = int32(ways[k].of), ways[k].links, ways[k].qps
			x.demand = float64(float64(fl.Demand) * (ways[k].qps / float64(fl.QPs)))
			if len(x.links) == 0 {
				return nil, fmt.Errorf("flow %d of tenant %s: its source and destination are the same LID", i, fl.Tenant)
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// direction numbers the link direction that a transmitting port drives.
func direction(f *subnet.Fabric, p subnet.PortRef) int32 {
	l, i := f.Link(p)
	if l.A == p {
		return 2 * i
	}
	return 2*i + 1
}

// transmitter is the port that drives a link direction, and receiver its far end.
func (m *model) transmitter(d int32) subnet.PortRef { return transmitter(m.fabric, d) }

func transmitter(f *subnet.Fabric, d int32) subnet.PortRef {
	if l := &f.Links[d/2]; d%2 == 0 {
		return l.A
	} else {
		return l.B
	}
}

func (m *model) receiver(d int32) subnet.PortRef { return m.transmitter(d ^ 1) }

// marks reports whether the transmitter of a link direction is a switch: channel adapters do
// not set FECN on what they send.
func (m *model) marks(d int32) bool {
	return !m.lay().sends[d]
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

// dropped is the service level that a fabric with all data VLs maps to VL 15.
const dropped ident.SL = 15

// usableSLs lists the service levels that tenants may get, in the order of preference: 1 to
// 15, then 0, which unmanaged traffic uses. Without a list of its own SL 15 is reserved, since VL 15
// drops it.
func (o Options) usableSLs() []ident.SL {
	reserved := o.ReservedSLs
	if reserved == nil {
		reserved = []ident.SL{dropped}
	}
	var out []ident.SL
	for i := range ident.NumSLs {
		if sl := ident.SL((i + 1) % ident.NumSLs); !slices.Contains(reserved, sl) {
			out = append(out, sl)
		}
	}
	return out
}

// whole rounds a sum of queue pairs.
func whole(qps float64) int { return int(qps + 0.5) }

// rate rounds a computed rate to whole bits per second.
func rate(x float64) quantity.BitRate { return quantity.BitRate(x + 0.5) }

// unknownDelay counts for a link of which the fabric says nothing: some metres and a switch. S0's links have 1 us.
const unknownDelay = quantity.Microsecond

// delay is that of a link direction on the planes of Ethernet.
func (m *model) delay(d int32) quantity.Picoseconds {
	return cmp.Or(m.fabric.Links[d/2].Delay, unknownDelay)
}
