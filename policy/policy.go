// Package policy is the compiler: weights, fabric and flows in; settings, predictions and
// findings out. It is pure: no clock, no I/O, no randomness, no logs, and the same input
// gives the same bytes on every machine.
package policy

import (
	"cmp"

	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibprofile"
	"fairlane/ccconfig/profile"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
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
	Routes [][]Way
	// Profiles are the device profiles that ports may have, beside the embedded ones, for the RoCE plane.
	Profiles []profile.Profile
	// IBProfiles are the profiles of InfiniBand devices; nil is the built-in ones alone.
	IBProfiles *ibprofile.Set
	// InForce is the plan whose placements are kept where they still serve; nil is none.
	InForce *Plan
}

// Way is one path of a flow and the queue pairs that take it. Queue pairs of all of a flow's ways sum
// to those of the flow; where a hash is unknown they are fractions.
type Way struct {
	Path FlowPath
	QPs  float64
}

// Plane is a kind of fabric with its own levers.
type Plane = subnet.Plane

// The planes.
const (
	PlaneIB   = subnet.PlaneIB
	PlaneRoCE = subnet.PlaneRoCE
	PlaneWRCC = subnet.PlaneWRCC
)

// Planes are all planes, InfiniBand first.
func Planes() []Plane { return subnet.Planes() }

// Options are the operator's choices; the zero value is the default of each.
type Options struct {
	Plane        Plane      // "" is PlaneIB
	Mode         Mode       // "" is ModeProduct
	CCTLaw       CCTLaw     // "" is CCTGeometric
	TimerRestart bool       // adapters of the generic profile restart CCTI_Timer on every BECN (S1's Algorithm 1)
	PerQP        PerQPMode  // "" is PerQPAuto
	ReservedSLs  []ident.SL // never assigned to tenants; nil is SL 15 alone, empty none
	TableEntries int        // CCT entries to use, at most those of a profile other than the generic one; 0: the profile's, 128 of the generic one
	// VLArbitration lets the plan weigh the lanes of ports that send for several tenants (InfiniBand).
	VLArbitration bool
	// Profile names the device profile of NIC ports on the RoCE plane; "" is profile.Default.
	Profile string
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

// PlanFormat is the format of the plans that Compile makes. Format 1 has the English sentences of findings in the canonical form, format 2
// has their ids and parameters. Plans of both are read, verified and rolled out.
const PlanFormat = 2

// Plan is the compiled result. It is sorted, and named by the SHA-256 of its canonical form (see Hash).
type Plan struct {
	Format     int           `json:"format,omitempty" canonical:"2"` // of the canonical form: PlanFormat, or 0 in plans of format 1
	Name       string        `json:"name"`
	Plane      Plane         `json:"plane"`
	Placements []Placement   `json:"placements"`        // by tenant, then port
	CAs        []CAPlan      `json:"cas"`               // by port
	Switches   []SwitchPlan  `json:"switches"`          // by GUID
	Tenants    []TenantShare `json:"tenants"`           // by name
	Links      []LinkShare   `json:"links"`             // contended links, by port
	Findings   []Finding     `json:"findings"`          // by code, then tenants
	Classes    []ClassShare  `json:"classes,omitempty"` // of tenants with classes, by tenant and class
	Lanes      []LanePlan    `json:"lanes,omitempty"`   // by port; the subnet manager's to set

	RoCE *RoCEPlan `json:"roce,omitempty"` // on the RoCE plane
	WRCC *WRCCPlan `json:"wrcc,omitempty"` // on the WRCC plane

	// Settle is about how long shares take to become what is predicted, after a change of settings or of traffic: docs/compiler.md says what
	// that means on each plane. 0 where no marks hold anybody back, and in plans of earlier versions. It is no part of the name: it follows
	// from what made the plan.
	Settle quantity.Picoseconds `json:"settle_ps,omitempty" canonical:"-"`
}

// Placement says which SL a tenant's traffic uses on a port.
type Placement struct {
	Tenant string       `json:"tenant"`
	PKey   ident.PKey   `json:"pkey"` // the tenant's partition, by which the subnet manager hands out the SL
	Port   ident.PortID `json:"port"`
	SL     ident.SL     `json:"sl"`
	// Receives reports that, by its flows, the tenant only receives on this port and shares the SL there with another tenant, so that the
	// port's counter of the SL is not the tenant's alone. It is not part of the plan's name: it follows from what made the plan.
	Receives bool `json:"receives,omitempty" canonical:"-"`
}

// CAPlan is the desired state of one channel-adapter port.
type CAPlan struct {
	Port     ident.PortID    `json:"port"`
	Name     string          `json:"name"`
	Settings ibcc.CASettings `json:"settings"`
	Reasons  []Reason        `json:"reasons"`
	// Profile is the name of the device profile; empty: the generic one. It is not part of the plan's name: the settings follow from it.
	Profile string `json:"profile,omitempty" canonical:"-"`
	// TimerUnit is that of the timers in Settings where the profile has another than 1.024 us; 0: 1.024 us. It is not part of the name either.
	TimerUnit quantity.Picoseconds `json:"timer_unit_ps,omitempty" canonical:"-"`
}

// TimerPeriod is the duration of a CCTI_Timer of the port.
func (c *CAPlan) TimerPeriod(timer uint16) quantity.Picoseconds {
	return quantity.Picoseconds(timer) * cmp.Or(c.TimerUnit, ibcc.TimerUnitPicoseconds)
}

// SwitchPlan is the desired state of one switch.
type SwitchPlan struct {
	Node     ident.GUID          `json:"node"`
	Name     string              `json:"name"`
	Defaults ibcc.SwitchSettings `json:"defaults"`
	Ports    []ibcc.PortMarking  `json:"ports"` // index is the port number
	Reasons  []Reason            `json:"reasons"`
	Profile  string              `json:"profile,omitempty" canonical:"-"` // as in CAPlan
}

// Reason explains one setting: which field has which value, in which unit and legal range, by which rule and
// formula, and what was clamped.
type Reason struct {
	Field   string `json:"field"` // such as "sl[3].timer", "cct", "threshold"
	Value   string `json:"value"`
	Unit    string `json:"unit,omitempty"`  // such as "1.024 us"; empty is a plain number
	Range   string `json:"range,omitempty"` // legal values, such as "1..65535"
	Tenant  string `json:"tenant,omitempty"`
	Rule    string `json:"rule"`    // stable code, such as "product-rule"
	Formula string `json:"formula"` // with the numbers filled in
	Clamped string `json:"clamped,omitempty"`
}

// TenantShare compares what a tenant is entitled to with what the settings are predicted to give,
// summed over its flows.
type TenantShare struct {
	Tenant    string           `json:"tenant"`
	Weight    quantity.Weight  `json:"weight"`
	QPs       int              `json:"qps"`
	Entitled  quantity.BitRate `json:"entitled_bps"`
	Predicted quantity.BitRate `json:"predicted_bps"`
	// PredictedError is |predicted - entitled| / entitled.
	PredictedError float64 `json:"predicted_error"`
	// Bound is the relative error of Predicted that the calibration of the plane's levers promises in 95 of 100
	// cases: delivered is expected within Predicted·(1 ± Bound).
	Bound float64 `json:"bound"`
}

// ClassShare is TenantShare for one class of a tenant.
type ClassShare struct {
	Tenant    string           `json:"tenant"`
	Class     string           `json:"class"`
	Weight    quantity.Weight  `json:"weight"`
	QPs       int              `json:"qps"`
	Entitled  quantity.BitRate `json:"entitled_bps"`
	Predicted quantity.BitRate `json:"predicted_bps"`
	Bound     float64          `json:"bound"` // the tenant's
}

// LinkShare is one contended link direction, named by the port that transmits on it.
type LinkShare struct {
	Port     ident.PortID     `json:"port"`
	Peer     ident.PortID     `json:"peer"`
	Name     string           `json:"name"`
	Capacity quantity.BitRate `json:"capacity_bps"` // usable payload-carrying rate
	Tenants  []LinkTenant     `json:"tenants"`
}

// LinkTenant is one tenant's part of a contended link.
type LinkTenant struct {
	Tenant    string           `json:"tenant"`
	QPs       int              `json:"qps"`
	Entitled  quantity.BitRate `json:"entitled_bps"`
	Predicted quantity.BitRate `json:"predicted_bps"`
	Bound     float64          `json:"bound"` // as in TenantShare
}

// Finding is a warning with a stable code; errors are only for input that cannot be compiled.
type Finding struct {
	Code    string   `json:"code"`
	Tenants []string `json:"tenants,omitempty"`
	Links   []string `json:"links,omitempty"`
	// Message and Fix are Said and Advice in the English of the version that compiled the plan.
	Message string `json:"message" canonical:"1"`
	Fix     string `json:"fix,omitempty" canonical:"1"`
	// Said is what was found, and Advice what helps. Plans of format 1 do not have them.
	Said   *phrase.Text `json:"said,omitempty" canonical:"2"`
	Advice *phrase.Text `json:"advice,omitempty" canonical:"2"`
}

// Entitlement is the target of one flow aggregate.
type Entitlement struct {
	Flow       int              // index into Input.Flows
	Rate       quantity.BitRate // of the aggregate
	Bottleneck subnet.PortRef   // the transmitting port that limits it
}

// FlowPath lists the transmitting ports of a flow in order, source port first.
type FlowPath []subnet.PortRef
