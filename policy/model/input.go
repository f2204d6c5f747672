package model

import (
	"cmp"
	"iter"

	"fairlane/ccconfig/ibprofile"
	"fairlane/ccconfig/profile"
	"fairlane/internal/quantity"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Input is everything a plan depends on. Compile does not change it.
type Input struct {
	Fabric  *subnet.Fabric
	Tenants []tenants.Tenant
	Flows   []tenants.Flow
	Options Options
	// Routes gives the ways of each flow, in the order of Flows: what a hash of the fabric really chose, or
	// the LIDs that queue pairs use. Nil, or an empty entry: the compiler finds them, by the
	// forwarding tables on InfiniBand, and on Ethernet all shortest paths with the queue pairs spread evenly.
	Routes [][]Route
	// Profiles are the device profiles that ports may have, beside the embedded ones, for the RoCE plane.
	Profiles []profile.Profile
	// IBProfiles are the profiles of InfiniBand devices; nil is the built-in ones alone.
	IBProfiles *ibprofile.Set
	// InForce is the plan whose placements are kept where they still serve; nil is none.
	InForce *plan.Plan
}

// Route is one path of a flow and the queue pairs that take it. Queue pairs of all of a flow's ways sum
// to those of the flow; where a hash is unknown they are fractions.
type Route struct {
	Path FlowPath
	QPs  float64
}

// Options are the operator's choices; the zero value is the default of each.
type Options struct {
	Mode         Mode      `json:"mode,omitempty"`          // "" is ModeProduct
	CCTLaw       CCTLaw    `json:"cct_law,omitempty"`       // "" is CCTGeometric
	TimerRestart bool      `json:"timer_restart,omitempty"` // adapters of the generic profile restart CCTI_Timer on every BECN (S1's Algorithm 1)
	PerQP        PerQPMode `json:"per_qp,omitempty"`        // "" is PerQPAuto
	// ReservedSLs are never assigned to tenants; nil is SL 15 alone, empty none.
	ReservedSLs []ident.SL `json:"reserved_sls,omitzero"`
	// TableEntries is the number of CCT entries to use, at most those of a profile other than the generic one; 0: the profile's, 128
	// of the generic one.
	TableEntries int          `json:"table_entries,omitempty"`
	Plane        subnet.Plane `json:"plane,omitempty"` // "" is subnet.PlaneIB
	// Profile names the device profile of NIC ports on the RoCE plane; "" is profile.Default.
	Profile string `json:"profile,omitempty"`
	// VLArbitration lets the plan weigh the lanes of ports that send for several tenants (InfiniBand).
	VLArbitration bool `json:"vl_arbitration,omitempty"`
}

// Misplaced lists the options that are set and have no effect on the plane, by their names in JSON, with the plane that they are
// for.
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
		} {
			if x.set && x.of != cmp.Or(o.Plane, subnet.PlaneIB) && !yield(x.name, x.of) {
				return
			}
		}
	}
}

// Mode chooses the lever.
type Mode string

// Modes.
const (
	ModeProduct  Mode = "product"  // Increase and Timer by the product rule
	ModeTheorem1 Mode = "theorem1" // S1: only CCTI_Increase differs
)

// CCTLaw is the shape of the congestion control table.
type CCTLaw string

// CCT laws.
const (
	CCTGeometric CCTLaw = "geometric"
	CCTQuadratic CCTLaw = "quadratic" // S1's 14·i²/1062 us, scaled to the speed
)

// PerQPMode chooses between one CCTI per QP and one per (port, SL).
type PerQPMode string

// Port_Control choices.
const (
	PerQPAuto PerQPMode = "auto"
	PerQPOn   PerQPMode = "qp"
	PerQPOff  PerQPMode = "sl"
)

// Entitlement is the target of one flow aggregate.
type Entitlement struct {
	Flow       int              // index into Input.Flows
	Rate       quantity.BitRate // of the aggregate
	Bottleneck subnet.PortRef   // the transmitting port that limits it
}

// FlowPath lists the transmitting ports of a flow in order, source port first.
type FlowPath []subnet.PortRef
