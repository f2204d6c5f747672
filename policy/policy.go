// Package policy is the compiler: weights, fabric and flows in; settings, predictions and findings out. It is pure: no clock, no I/O, no
// randomness, no logs, and the same input gives the same bytes on every machine.
//
// Callers need only this package. It re-exports the packages below it, each of which has one part of the work:
//
//   - model: the input, tenants and flows on links, and how links are shared
//   - plan: the contents of a plan, its canonical form and name, its findings and reasons
//   - sl, ib, roce, wrcc: service levels, and the levers of each plane
//   - diff: the changes from one plan to another
//   - whatif: edits of an input
//   - admit: admission of a tenant
package policy

import (
	"fairlane/ccconfig/qos"
	"fairlane/policy/admit"
	"fairlane/policy/diff"
	"fairlane/policy/ib"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/policy/roce"
	"fairlane/policy/whatif"
	"fairlane/subnet"
	"fairlane/tenants"
)

// The input of the compiler.
type (
	// Input is everything a plan depends on.
	Input = model.Input
	// Route is one path of a flow and the queue pairs that take it.
	Route = model.Route
	// FlowPath lists the transmitting ports of a flow in order, source port first.
	FlowPath = model.FlowPath
	// Options are the operator's choices.
	Options = model.Options
	// Mode selects the lever.
	Mode = model.Mode
	// CCTLaw is the shape of the congestion control table.
	CCTLaw = model.CCTLaw
	// PerQPMode selects one CCTI per QP or one per (port, SL).
	PerQPMode = model.PerQPMode
	// Target is the allocation that the weights require.
	Target = model.Target
	// Entitlement is the target of one flow aggregate.
	Entitlement = model.Entitlement
)

// The parts of a plan.
type (
	// Plan is the compiled result.
	Plan = plan.Plan
	// Placement states which SL a tenant's traffic uses on a port.
	Placement = plan.Placement
	// CAPlan is the desired state of one channel-adapter port.
	CAPlan = plan.CAPlan
	// SwitchPlan is the desired state of one switch.
	SwitchPlan = plan.SwitchPlan
	// LanePlan divides the link of one channel-adapter port among virtual lanes.
	LanePlan = plan.LanePlan
	// VLWeight is one entry of an arbitration table.
	VLWeight = plan.VLWeight
	// RoCEPlan is the desired state of NICs and switches on the RoCE plane.
	RoCEPlan = plan.RoCEPlan
	// NICPlan is the desired DCQCN state of one NIC port.
	NICPlan = plan.NICPlan
	// ECNPlan is the desired marking of one switch.
	ECNPlan = plan.ECNPlan
	// Lever is what divides links among tenants on the RoCE plane.
	Lever = model.Lever
	// TrafficClass is a class of traffic that a site provides end to end.
	TrafficClass = qos.TrafficClass
	// RoCEClass is a traffic class with its tenants.
	RoCEClass = plan.RoCEClass
	// RoCEPlacement states how devices identify a tenant's traffic on a port.
	RoCEPlacement = plan.RoCEPlacement
	// FunctionShare is the share of a port that a plan gives to a virtual function.
	FunctionShare = plan.FunctionShare
	// WRCCPlan is the desired state of switches and NICs on the WRCC plane.
	WRCCPlan = plan.WRCCPlan
	// WRCCDomainPlan is the part that all devices of one data centre have in common.
	WRCCDomainPlan = plan.WRCCDomainPlan
	// WRCCPortPlan is the desired state of egress ports of switches that have the same settings.
	WRCCPortPlan = plan.WRCCPortPlan
	// WRCCSenderPlan is the desired state of the queue pairs of one class of a tenant at one NIC port.
	WRCCSenderPlan = plan.WRCCSenderPlan
	// WRCCPeer is the weight of one queue pair towards one port.
	WRCCPeer = plan.WRCCPeer
	// NamedPort is a port with its displayed name.
	NamedPort = plan.NamedPort
	// TenantShare compares a tenant's entitlement with the predicted effect of the settings, summed over its flows.
	TenantShare = plan.TenantShare
	// ClassShare is TenantShare for one class of a tenant.
	ClassShare = plan.ClassShare
	// LinkShare is one contended link direction, named by the port that transmits on it.
	LinkShare = plan.LinkShare
	// LinkTenant is one tenant's part of a contended link.
	LinkTenant = plan.LinkTenant
	// Finding is a warning with a stable code.
	Finding = plan.Finding
	// Reason explains one setting.
	Reason = plan.Reason
	// Explanation gives the reasons for the settings of one device, or of several with the same settings.
	Explanation = plan.Explanation
	// ExplainFilter narrows Explain.
	ExplainFilter = plan.ExplainFilter
	// FilterError reports an ExplainFilter that nothing matches.
	FilterError = plan.FilterError
	// NameList is a count of names with the first few of them.
	NameList = plan.NameList
)

// Predictions.
type (
	// Prediction is the predicted effect of settings.
	Prediction = ib.Prediction
)

// Differences between plans.
type (
	// Difference lists the changes from one plan to another.
	Difference = diff.Difference
	// TenantChange lists the changes for one tenant.
	TenantChange = diff.TenantChange
	// ClassChange is one class of a tenant before and after.
	ClassChange = diff.ClassChange
	// LinkChange summarises a tenant's part of the links that are contended in both plans and where it changes.
	LinkChange = diff.LinkChange
	// LinkRate is a tenant's part of one link before and after.
	LinkRate = diff.LinkRate
	// SettingChange is one parameter that changes in several places.
	SettingChange = diff.SettingChange
	// DeviceChange lists devices of a kind that only one of the plans sets.
	DeviceChange = diff.DeviceChange
	// FindingChange is one finding before and after.
	FindingChange = diff.FindingChange
)

// Edits of an input.
type (
	// Edit is one change of an input, for a what-if plan.
	Edit = whatif.Edit
	// EditKind is the kind of an edit.
	EditKind = whatif.EditKind
)

// Admission of a tenant.
type (
	// AdmitRequest describes a tenant that requests admission or, with Change, a change.
	AdmitRequest = admit.Request
	// AdmitError is an admission request that cannot be decided.
	AdmitError = admit.Error
	// Verdict is the answer to an admission request.
	Verdict = admit.Verdict
	// Admission is the answer to an admission request.
	Admission = admit.Admission
	// AdmissionTraffic states which traffic of the tenant an admission is decided by.
	AdmissionTraffic = admit.AdmissionTraffic
	// AdmissionShare is a tenant's share before and after.
	AdmissionShare = admit.AdmissionShare
	// AdmissionRate is a tenant's rate, with all flows sending at once.
	AdmissionRate = admit.AdmissionRate
	// AdmissionDevices counts the devices whose settings change.
	AdmissionDevices = admit.AdmissionDevices
	// AdmissionFit is a request that would fit.
	AdmissionFit = admit.AdmissionFit
	// GuaranteeCheck is the state of one tenant's guarantee.
	GuaranteeCheck = admit.GuaranteeCheck
)

// The planes.
const (
	PlaneIB   = subnet.PlaneIB
	PlaneRoCE = subnet.PlaneRoCE
	PlaneWRCC = subnet.PlaneWRCC
)

// Modes.
const (
	ModeProduct  = model.ModeProduct
	ModeTheorem1 = model.ModeTheorem1
)

// Levers of the RoCE plane.
const (
	LeverDCQCN   = model.LeverDCQCN
	LeverClasses = model.LeverClasses
	LeverBoth    = model.LeverBoth
)

// CCT laws.
const (
	CCTGeometric = model.CCTGeometric
	CCTQuadratic = model.CCTQuadratic
)

// Values of Port_Control.
const (
	PerQPAuto = model.PerQPAuto
	PerQPOn   = model.PerQPOn
	PerQPOff  = model.PerQPOff
)

// Codes of findings, which package plan explains.
const (
	CodeSLExhausted        = plan.CodeSLExhausted
	CodeSharedSetting      = plan.CodeSharedSetting
	CodeSourcePort         = plan.CodeSourcePort
	CodeTimerQuantised     = plan.CodeTimerQuantised
	CodeMarkingSparse      = plan.CodeMarkingSparse
	CodeSlowConvergence    = plan.CodeSlowConvergence
	CodeCCTLimit           = plan.CodeCCTLimit
	CodeWeightUnreachable  = plan.CodeWeightUnreachable
	CodeIncreaseClamped    = plan.CodeIncreaseClamped
	CodeCapCoarse          = plan.CodeCapCoarse
	CodeFlowUnreachable    = plan.CodeFlowUnreachable
	CodeOverbooked         = plan.CodeOverbooked
	CodeClaimsExceed       = plan.CodeClaimsExceed
	CodeDCQCNSharedPort    = plan.CodeDCQCNSharedPort
	CodeClassShared        = plan.CodeClassShared
	CodeQueueWeights       = plan.CodeQueueWeights
	CodeUncalibratedSpeed  = plan.CodeUncalibratedSpeed
	CodeSLSplit            = plan.CodeSLSplit
	CodeLanesNeedSM        = plan.CodeLanesNeedSM
	CodeLanesCoarse        = plan.CodeLanesCoarse
	CodeWRCCUnstable       = plan.CodeWRCCUnstable
	CodePeriodClamped      = plan.CodePeriodClamped
	CodeFairRateCoarse     = plan.CodeFairRateCoarse
	CodeWeightRange        = plan.CodeWeightRange
	CodeCapUnenforced      = plan.CodeCapUnenforced
	CodePathsByChance      = plan.CodePathsByChance
	CodeShareUncertain     = plan.CodeShareUncertain
	CodeDeviceLimit        = plan.CodeDeviceLimit
	CodeSharingApproximate = plan.CodeSharingApproximate
)

// NodeFunction stands for virtual functions that a host gives to workloads.
const NodeFunction = plan.NodeFunction

// Identification of RoCE traffic where tenants share it.
const (
	RoCEDSCP     = roce.DSCP
	RoCEQueue    = roce.Queue
	RoCEPriority = roce.Priority
)

// Kinds of edits.
const (
	EditWeight    = whatif.EditWeight
	EditGuarantee = whatif.EditGuarantee
	EditCap       = whatif.EditCap
	EditFlows     = whatif.EditFlows
	EditFlow      = whatif.EditFlow
	EditAdd       = whatif.EditAdd
	EditRemove    = whatif.EditRemove
	EditFail      = whatif.EditFail
)

// Bounds of edits.
const (
	MaxEdits      = whatif.MaxEdits
	MaxEditLength = whatif.MaxEditLength
)

// Verdicts.
const (
	VerdictYes          = admit.VerdictYes
	VerdictReservations = admit.VerdictReservations
	VerdictNo           = admit.VerdictNo
)

// States of a guarantee.
const (
	GuaranteeKept   = admit.GuaranteeKept
	GuaranteeAtRisk = admit.GuaranteeAtRisk
	GuaranteeBroken = admit.GuaranteeBroken
)

// Sources of the traffic that an admission is decided by.
const (
	TrafficMesh     = admit.TrafficMesh
	TrafficTo       = admit.TrafficTo
	TrafficDeclared = admit.TrafficDeclared
)

// Apply returns a copy of an input with the edits applied in order: see whatif.Apply.
func Apply(in Input, edits ...Edit) (Input, []Finding, error) { return whatif.Apply(in, edits...) }

// EditForms lists the texts that ParseEdit accepts, one for each kind, with capitals for values.
func EditForms() []string { return whatif.EditForms() }

// ParseEdit reads one edit in one of the forms of EditForms: see whatif.ParseEdit.
func ParseEdit(text string) (Edit, error) { return whatif.ParseEdit(text) }

// BoundTime is the averaging time, in seconds, of the delivered rates that the bounds of an InfiniBand plan refer to.
const BoundTime = ib.BoundTime

// Predict computes the effect of the settings and placements of an InfiniBand plan on an input: see ib.Predict.
func Predict(in Input, p *Plan) (*Prediction, error) { return ib.Predict(in, p) }

// Plane is a kind of fabric with its own levers.
type Plane = subnet.Plane

// Planes returns all planes, InfiniBand first.
func Planes() []Plane { return subnet.Planes() }

// ErrInput marks input that cannot be compiled, for errors.Is.
var ErrInput = model.ErrInput

// Entitle computes the entitlement of every flow: see model.Entitle.
func Entitle(in Input) (*Target, error) { return model.Entitle(in) }

// Paths finds the path of every flow: see model.Paths.
func Paths(f *subnet.Fabric, flows []tenants.Flow) ([]FlowPath, error) { return model.Paths(f, flows) }

// PlanFormat is the format of the plans that Compile makes.
const PlanFormat = plan.PlanFormat

// UnknownBound is the relative bound of a prediction whose error is unknown.
const UnknownBound = plan.UnknownBound

// Decode reads a plan that Encode wrote and checks its name.
func Decode(b []byte) (*Plan, error) { return plan.Decode(b) }

// Rules lists the rules of reasons.
func Rules() []string { return plan.Rules() }

// MissLimit returns the relative distance of a tenant from its entitlement or its prediction on a plane, above which it is off its share.
func MissLimit(plane subnet.Plane) float64 { return plan.MissLimit(plane) }

// Diff returns the changes from one plan to another, on any plane.
func Diff(before, after *Plan) Difference { return diff.Between(before, after) }
