// Package plan has what the compiler makes: plans with their predictions, findings and reasons, the canonical form of which a
// plan's name is the hash, and what explains them. It knows neither inputs nor how settings are chosen.
package plan

import (
	"cmp"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// PlanFormat is the format of the plans that Compile makes. Format 1 has the English sentences of findings in the canonical form, format 2
// has their ids and parameters. Plans of both are read, verified and rolled out.
const PlanFormat = 2

// Plan is the compiled result. It is sorted, and named by the SHA-256 of its canonical form (see Hash).
type Plan struct {
	Format     int           `json:"format,omitempty" canonical:"2"` // of the canonical form: PlanFormat, or 0 in plans of format 1
	Name       string        `json:"name"`
	Plane      subnet.Plane  `json:"plane"`
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

// UnknownBound is the bound of a prediction, relative, that means its error is unknown.
const UnknownBound = 1

// MissLimit is how far, relative, a tenant may be from its entitlement or its prediction on a plane before it is off its share: a finding has to
// announce it, and a measurement lists it as wrong. "" is PlaneIB.
func MissLimit(plane subnet.Plane) float64 {
	if plane == subnet.PlaneRoCE {
		return 0.10
	}
	return 0.05
}
