// Package plan holds the results of the compiler: plans with their predictions, findings and reasons, the canonical form whose hash is a
// plan's name, and explanations. It does not depend on inputs or on how settings are chosen.
package plan

import (
	"cmp"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// PlanFormat is the format of the plans that Compile makes. The canonical form of format 1 has the English sentences of findings, that of
// format 2 their ids and parameters. Plans of both are read, verified and rolled out.
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
	Lanes      []LanePlan    `json:"lanes,omitempty"`   // by port; written by the subnet manager

	RoCE *RoCEPlan `json:"roce,omitempty"` // on the RoCE plane
	WRCC *WRCCPlan `json:"wrcc,omitempty"` // on the WRCC plane

	// Settle is about how long shares take to reach the prediction after a change of settings or of traffic: docs/compiler.md defines it for each
	// plane. It is 0 where no marks limit flows, and in plans of earlier versions. It is not part of the name: it follows from the plan's inputs.
	Settle quantity.Picoseconds `json:"settle_ps,omitempty" canonical:"-"`
}

// Placement states which SL a tenant's traffic uses on a port.
type Placement struct {
	Tenant string       `json:"tenant"`
	PKey   ident.PKey   `json:"pkey"` // the tenant's partition, by which the subnet manager assigns the SL
	Port   ident.PortID `json:"port"`
	SL     ident.SL     `json:"sl"`
	// Receives reports that, by its flows, the tenant only receives on this port and shares the SL there with another tenant. The port's counter
	// of the SL then covers several tenants. It is not part of the plan's name: it follows from the plan's inputs.
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
	// TimerUnit is the unit of the timers in Settings if the profile's differs from 1.024 us; 0: 1.024 us. It is not part of the name either.
	TimerUnit quantity.Picoseconds `json:"timer_unit_ps,omitempty" canonical:"-"`
}

// TimerPeriod returns the duration of a CCTI_Timer of the port.
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

// TenantShare compares a tenant's entitlement with the predicted effect of the settings, summed over its flows.
type TenantShare struct {
	Tenant    string           `json:"tenant"`
	Weight    quantity.Weight  `json:"weight"`
	QPs       int              `json:"qps"`
	Entitled  quantity.BitRate `json:"entitled_bps"`
	Predicted quantity.BitRate `json:"predicted_bps"`
	// PredictedError is |predicted - entitled| / entitled.
	PredictedError float64 `json:"predicted_error"`
	// Bound is the relative error of Predicted that holds in 95 of 100 cases by the calibration of the plane's levers: delivered is expected
	// within Predicted·(1 ± Bound).
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
	// Message and Fix are Statement and Advice in English, as of the version that compiled the plan.
	Message string `json:"message" canonical:"1"`
	Fix     string `json:"fix,omitempty" canonical:"1"`
	// Statement is what the plan states and Advice the remedy. Plans of format 1 do not have them.
	Statement *phrase.Text `json:"said,omitempty" canonical:"2"`
	Advice    *phrase.Text `json:"advice,omitempty" canonical:"2"`
}

// UnknownBound is the relative bound of a prediction whose error is unknown.
const UnknownBound = 1

// MissLimit returns the relative distance of a tenant from its entitlement or its prediction on a plane, above which it is off its share: a
// finding must announce it, and a measurement lists it as wrong. "" is PlaneIB.
func MissLimit(plane subnet.Plane) float64 {
	if plane == subnet.PlaneRoCE {
		return 0.10
	}
	return 0.05
}
