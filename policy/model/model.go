// Package model holds the checked input in the form that the compiler works on: numbered tenants, and flows on the links of their routes. It
// computes how links are shared: by the entitlements of tenants (Entitle) and by the weights that settings give to flows (ShareByWeight). It
// is the same on every plane and contains no lever.
package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/fill"
	"fairlane/policy/halves"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// ErrInput marks input that cannot be compiled, for errors.Is.
var ErrInput error = &phrase.Error{Text: phrase.Of("plan.input")}

// Model is the checked input: tenants sorted by name with complete attachments, flows sorted so that their order in the input has no effect,
// and numbered link directions. Link direction 2i is Fabric.Links[i] from A to B, 2i+1 from B to A.
type Model struct {
	Input    Input
	Plane    subnet.Plane
	Fabric   *subnet.Fabric // with LIDs and forwarding tables
	Tenants  []tenants.Tenant
	Flows    []Flow
	Caps     []float64 // bit/s, by link direction
	Usable   []ident.SL
	Profiles []*ibprofile.Profile // by node, on InfiniBand
	// Targets and Forecasts solve the model's sharing problems with memory. Models of the same flows share them. nil disables the memory.
	Targets, Forecasts *fill.Solver
	layout             *Layout // see Layout
}

// Flow is one route of an aggregate.
type Flow struct {
	Index    int   // into Input.Flows
	choices  int32 // number of routes that the unknown hash chooses from; 1 when the route is known
	Tenant   int32
	Class    int32   // into the tenant's classes, or 0
	QPs      float64 // a fraction where an unknown hash spreads queue pairs
	demand   float64 // bit/s; 0 is greedy
	Src, Dst subnet.PortRef
	Links    []int32 // link directions in path order
}

// New checks the input and completes it: attachments, LIDs, routes.
func New(in Input) (*Model, error) {
	if in.Fabric == nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, fault(phrase.Of("edit.no-fabric")))
	}
	if err := in.Options.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if err := tenants.Validate(in.Tenants, in.Flows); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	f := in.Fabric
	if in.Options.RequestedPlane() == subnet.PlaneIB {
		var err error
		if f, err = Routed(in.Fabric); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
	}
	m := &Model{Input: in, Plane: in.Options.RequestedPlane(), Fabric: f, Usable: in.Options.usableSLs()}
	if m.Plane == subnet.PlaneIB {
		m.Profiles = in.IBProfiles.ByNode(f)
	}
	m.Tenants = tenants.Attach(in.Tenants, in.Flows)
	slices.SortFunc(m.Tenants, func(a, b tenants.Tenant) int { return strings.Compare(a.Name, b.Name) })
	SortClasses(m.Tenants)
	m.Caps = make([]float64, 2*len(f.Links))
	for i, l := range f.Links {
		if l.Rate <= 0 {
			return nil, fmt.Errorf("%w: %w", ErrInput, fault(phrase.Of("input.link-rate", "a", f.PortName(l.A), "b", f.PortName(l.B))))
		}
		m.Caps[2*i], m.Caps[2*i+1] = float64(l.Rate), float64(l.Rate)
	}
	if err := m.checkAttachments(); err != nil {
		return nil, err
	}
	return m, m.addFlows()
}

// Routed returns the fabric with LIDs and forwarding tables; it computes those that are missing.
func Routed(f *subnet.Fabric) (*subnet.Fabric, error) {
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

func (m *Model) checkAttachments() error {
	for _, t := range m.Tenants {
		for _, a := range t.Attachments {
			if _, err := CAPort(m.Fabric, a.Port); err != nil {
				return fmt.Errorf("%w: %w", ErrInput, phrase.Because(err, phrase.Of("input.attachment", "tenant", t.Name, "reason", err)))
			}
			if a.SL != nil && *a.SL == dropped && m.Plane == subnet.PlaneIB && m.Input.Options.ReservedSLs == nil {
				return fmt.Errorf("%w: %w", ErrInput, fault(phrase.Of("input.sl-reserved", "tenant", t.Name, "port", a.Port.String(), "sl", dropped, "max", dropped-1)))
			}
		}
	}
	return nil
}

// CAPort returns a channel-adapter port that has a link.
func CAPort(f *subnet.Fabric, id ident.PortID) (subnet.PortRef, error) {
	ref, ok := f.PortByID(id)
	if !ok {
		return ref, fault(phrase.Of("input.port-foreign", "port", id.String()))
	}
	if f.Nodes[ref.Node].Kind != subnet.KindCA {
		return ref, fault(phrase.Of("input.port-not-ca", "port", id.String(), "name", f.PortName(ref)))
	}
	if _, ok := f.Peer(ref); !ok {
		return ref, fault(phrase.Of("input.port-unplugged", "port", id.String(), "name", f.PortName(ref)))
	}
	return ref, nil
}

func (m *Model) addFlows() error {
	byName := make(map[string]int32, len(m.Tenants))
	for i, t := range m.Tenants {
		byName[t.Name] = int32(i)
	}
	var both [2]struct {
		flows []Flow
		err   error
	}
	order, switches := m.order(), m.SwitchLinks()
	halves.Do(len(order), func(from, to int) {
		half := &both[0]
		if to == len(order) {
			half = &both[1]
		}
		w := &RouteFinder{Model: m, Switches: switches, arena: make([]int32, 0, 6*(to-from))}
		half.flows, half.err = w.flows(order[from:to], byName)
	})
	for i := range both {
		if err := both[i].err; err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
	}
	m.Flows = append(both[0].flows, both[1].flows...)
	m.sortFlows()
	return nil
}

// flows builds the model flows of the input flows in order, one for each route. byName maps tenant names to numbers.
func (w *RouteFinder) flows(order []int32, byName map[string]int32) ([]Flow, error) {
	m, out := w.Model, make([]Flow, 0, len(order))
	var routes []route
	for _, k := range order {
		i := int(k)
		fl := &m.Input.Flows[i]
		src, dst, err := ends(m.Fabric, i, fl)
		if err != nil {
			return nil, err
		}
		if routes, err = w.routesOf(routes[:0], i, fl, src, dst); err != nil {
			return nil, err
		}
		ti := byName[fl.Tenant]
		t := &m.Tenants[ti]
		class, _ := t.ClassNamed(fl.Class)
		x := Flow{Index: i, Tenant: ti, Src: src, Dst: dst}
		x.Class = int32(max(0, slices.IndexFunc(t.Classes, func(c tenants.Class) bool { return c.Name == class.Name })))
		for k := range routes {
			x.choices, x.Links, x.QPs = int32(routes[k].choices), routes[k].links, routes[k].qps
			x.demand = float64(float64(fl.Demand) * (routes[k].qps / float64(fl.QPs)))
			if len(x.Links) == 0 {
				return nil, fault(phrase.Of("input.flow", "flow", i, "tenant", fl.Tenant, "reason", phrase.Of("input.same-lid")))
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// Direction returns the link direction that a transmitting port drives.
func Direction(f *subnet.Fabric, p subnet.PortRef) int32 {
	l, i := f.Link(p)
	if l.A == p {
		return 2 * i
	}
	return 2*i + 1
}

// Transmitter returns the port that drives a link direction.
func (m *Model) Transmitter(d int32) subnet.PortRef { return Transmitter(m.Fabric, d) }

// Transmitter returns the port of a fabric that drives a link direction.
func Transmitter(f *subnet.Fabric, d int32) subnet.PortRef {
	if l := &f.Links[d/2]; d%2 == 0 {
		return l.A
	} else {
		return l.B
	}
}

// Receiver returns the far end of a link direction.
func (m *Model) Receiver(d int32) subnet.PortRef { return m.Transmitter(d ^ 1) }

// Marks reports whether the transmitter of a link direction is a switch: channel adapters do not set FECN on what they send.
func (m *Model) Marks(d int32) bool {
	return !m.Layout().Sends[d]
}

// PacketBits returns the size on the wire of a full packet of a port: its MTU and the 26 bytes of LRH, BTH, ICRC and VCRC (IBTA vol. 1, 7.7,
// 9.2, 7.8).
func (m *Model) PacketBits(p subnet.PortRef) float64 {
	mtu := int(m.Fabric.Port(p).MTU)
	if mtu == 0 {
		mtu = DefaultMTU
	}
	return float64((mtu + PacketHeader) * 8)
}

// Sizes in bytes: the MTU of a port whose MTU is unknown, and the headers of a full packet.
const (
	DefaultMTU   = 4096
	PacketHeader = 26
)

// RequestedPlane returns the requested plane.
func (o Options) RequestedPlane() subnet.Plane {
	if o.Plane == "" {
		return subnet.PlaneIB
	}
	return o.Plane
}

// validate checks the ranges of the options.
func (o Options) validate() error {
	if p := o.RequestedPlane(); p != subnet.PlaneIB && p != subnet.PlaneRoCE && p != subnet.PlaneWRCC {
		return fault(phrase.Of("input.plane", "found", strconv.Quote(string(p)), "want", oneOf(subnet.PlaneIB, subnet.PlaneRoCE, subnet.PlaneWRCC)))
	}
	if o.Mode != "" && o.Mode != ModeProduct && o.Mode != ModeTheorem1 {
		return fault(phrase.Of("input.mode", "found", strconv.Quote(string(o.Mode)), "want", oneOf(ModeProduct, ModeTheorem1)))
	}
	if o.CCTLaw != "" && o.CCTLaw != CCTGeometric && o.CCTLaw != CCTQuadratic {
		return fault(phrase.Of("input.law", "found", strconv.Quote(string(o.CCTLaw)), "want", oneOf(CCTGeometric, CCTQuadratic)))
	}
	if o.PerQP != "" && o.PerQP != PerQPAuto && o.PerQP != PerQPOn && o.PerQP != PerQPOff {
		return fault(phrase.Of("input.per-qp", "found", strconv.Quote(string(o.PerQP)), "want", oneOf(PerQPAuto, PerQPOn, PerQPOff)))
	}
	if err := o.validateClasses(); err != nil {
		return err
	}
	if n := o.TableEntries; n != 0 && (n < 16 || n > ibcc.MaxTableEntries) {
		return fault(phrase.Of("input.cct", "n", n, "min", 16, "max", ibcc.MaxTableEntries, "default", 128))
	}
	for _, sl := range o.ReservedSLs {
		if sl >= ident.NumSLs {
			return fault(phrase.Of("input.reserved-sl", "sl", sl, "max", ident.NumSLs-1))
		}
	}
	if len(o.usableSLs()) == 0 {
		return fault(phrase.Of("input.all-reserved"))
	}
	return nil
}

// dropped is the service level that a fabric with all data VLs maps to VL 15.
const dropped ident.SL = 15

// usableSLs lists the service levels available to tenants, in order of preference: 1 to 15, then 0, which unmanaged traffic uses. By default
// SL 15 is reserved, since VL 15 drops it.
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

// RoundQPs rounds a sum of queue pairs.
func RoundQPs(qps float64) int { return int(qps + 0.5) }

// Rate rounds a computed rate to whole bits per second.
func Rate(x float64) quantity.BitRate { return quantity.BitRate(x + 0.5) }

// UnknownDelay is assumed for a link whose delay the fabric does not give: some metres and a switch. S0's links have 1 us.
const UnknownDelay = quantity.Microsecond

// Delay returns the delay of a link direction on the Ethernet planes.
func (m *Model) Delay(d int32) quantity.Picoseconds {
	return cmp.Or(m.Fabric.Links[d/2].Delay, UnknownDelay)
}

// fault is input that cannot be compiled.
func fault(said phrase.Text) error { return &phrase.Error{Text: said} }

// oneOf lists the values of an option.
func oneOf[T ~string](values ...T) phrase.Text {
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, strconv.Quote(string(v)))
	}
	last := len(quoted) - 1
	return phrase.Of("list.or", "list", quoted[:last], "last", quoted[last])
}
