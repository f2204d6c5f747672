package model

import (
	"cmp"
	"iter"

	"fairlane/ccconfig/ibprofile"
	"fairlane/ccconfig/profile"
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Input is everything that a plan depends on. Compile does not change it.
type Input struct {
	Fabric  *subnet.Fabric
	Tenants []tenants.Tenant
	Flows   []tenants.Flow
	Options Options
	// Routes gives the routes of each flow, in the order of Flows: the paths that the fabric's hash chose, or the LIDs that queue pairs use. Nil
	// or an empty entry lets the compiler find them: by the forwarding tables on InfiniBand; on Ethernet over all shortest paths, with the queue
	// pairs spread evenly.
	Routes [][]Route
	// Profiles are device profiles that ports may have in addition to the embedded ones, for the RoCE plane.
	Profiles []profile.Profile
	// IBProfiles are the profiles of InfiniBand devices; nil selects the built-in ones.
	IBProfiles *ibprofile.Set
	// InForce is the plan whose placements are kept while they remain usable; nil is none.
	InForce *plan.Plan
}

// Route is one path of a flow and the number of queue pairs that take it. The queue pairs of all routes sum to those of the flow; where the
// hash is unknown they are fractions.
type Route struct {
	Path FlowPath
	QPs  float64
}

// Options are the operator's choices; the zero value selects each default.
type Options struct {
	Mode         Mode      `json:"mode,omitempty"`          // "" is ModeProduct
	CCTLaw       CCTLaw    `json:"cct_law,omitempty"`       // "" is CCTGeometric
	TimerRestart bool      `json:"timer_restart,omitempty"` // adapters of the generic profile restart CCTI_Timer on every BECN (S1's Algorithm 1)
	PerQP        PerQPMode `json:"per_qp,omitempty"`        // "" is PerQPAuto
	// ReservedSLs are never assigned to tenants; nil reserves SL 15 only, an empty list none.
	ReservedSLs []ident.SL `json:"reserved_sls,omitzero"`
	// TableEntries is the number of CCT entries to use, at most those of the profile unless it is the generic one. 0 is the profile's number, 128
	// for the generic one.
	TableEntries int          `json:"table_entries,omitempty"`
	Plane        subnet.Plane `json:"plane,omitempty"` // "" is subnet.PlaneIB
	// Profile names the device profile of NIC ports on the RoCE plane; "" is profile.Default.
	Profile string `json:"profile,omitempty"`
	// Lever is what divides links among tenants on the RoCE plane; "" is LeverDCQCN.
	Lever Lever `json:"lever,omitempty"`
	// Classes are the traffic classes that the site provides for tenants, with LeverClasses: 1 to 8.
	Classes []qos.TrafficClass `json:"classes,omitempty"`
	// VLArbitration lets the plan set lane weights on ports that send for several tenants (InfiniBand).
	VLArbitration bool `json:"vl_arbitration,omitempty"`
}

// Misplaced yields the options that are set but have no effect on the plane, by JSON name, with the plane that they apply to.
func (o Options) Misplaced() iter.Seq2[string, subnet.Plane] {
	return func(yield func(string, subnet.Plane) bool) {
		for _, x := range []struct {
			name string
			set  bool
			of   subnet.Plane
		}{
			{"mode", o.Mode != "", subnet.PlaneIB},
			{"cct_law", o.CCTLaw != "", subnet.PlaneIB},
			{"timer_restart", o.TimerRestart, subnet.PlaneIB},
			{"per_qp", o.PerQP != "", subnet.PlaneIB},
			{"reserved_sls", o.ReservedSLs != nil, subnet.PlaneIB},
			{"table_entries", o.TableEntries != 0, subnet.PlaneIB},
			{"vl_arbitration", o.VLArbitration, subnet.PlaneIB},
			{"profile", o.Profile != "", subnet.PlaneRoCE},
			{"lever", o.Lever != "", subnet.PlaneRoCE},
			{"classes", o.Classes != nil, subnet.PlaneRoCE},
		} {
			if x.set && x.of != cmp.Or(o.Plane, subnet.PlaneIB) && !yield(x.name, x.of) {
				return
			}
		}
	}
}

// Mode selects the lever.
type Mode string

// Modes.
const (
	ModeProduct  Mode = "product"  // Increase and Timer by the product rule
	ModeTheorem1 Mode = "theorem1" // S1: only CCTI_Increase differs
)

// Lever is what divides links among tenants on the RoCE plane.
type Lever string

// Levers of the RoCE plane.
const (
	LeverDCQCN   Lever = "dcqcn"   // DCQCN registers of each NIC port
	LeverClasses Lever = "classes" // weighted queues of switches and weighted traffic classes of NICs; tenants of one class share by queue pairs
	LeverBoth    Lever = "both"    // classes, and DCQCN registers among the tenants of a class
)

// Divides reports whether traffic classes divide links.
func (o Options) Divides() bool { return o.Lever == LeverClasses || o.Lever == LeverBoth }

// TrafficClasses returns the classes that plans divide links among; none without such a lever.
func (o Options) TrafficClasses() []qos.TrafficClass {
	if !o.Divides() {
		return nil
	}
	return o.Classes
}

// CCTLaw is the shape of the congestion control table.
type CCTLaw string

// CCT laws.
const (
	CCTGeometric CCTLaw = "geometric"
	CCTQuadratic CCTLaw = "quadratic" // S1's 14·i²/1062 us, scaled to the speed
)

// PerQPMode selects one CCTI per QP or one per (port, SL).
type PerQPMode string

// Values of Port_Control.
const (
	PerQPAuto PerQPMode = "auto"
	PerQPOn   PerQPMode = "qp"
	PerQPOff  PerQPMode = "sl"
)

// Entitlement is the target of one flow aggregate.
type Entitlement struct {
	Flow       int              // index into Input.Flows
	Rate       quantity.BitRate // of the aggregate
	Bottleneck subnet.PortRef   // transmitting port of the link that limits the aggregate
}

// FlowPath lists the transmitting ports of a flow in order, source port first.
type FlowPath []subnet.PortRef
