package control

import (
	"encoding/json"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Fabric is one InfiniBand subnet or RoCE domain under management.
type Fabric struct {
	Name      string // 1..63 of a-z 0-9 -, unique
	Plane     subnet.Plane
	Source    string   // where it is discovered: "umad:CA:PORT", "ibsim:unix:NAME", "ibsim:udp:HOST:PORT", "ethernet:PATH" or "file:PATH"
	TimeScale float64  // device seconds per wall second; 1 for hardware
	Counters  Counters // "" stands for CountersClear
	// Prerequisites says whether rollouts set what congestion control needs beside a plan; "" stands for PrerequisitesReport.
	Prerequisites Prerequisites
	Version       int64
	// FlowsVersion counts the replacements of the declared flows; 0 is "never declared".
	FlowsVersion         int64
	CreatedAt, UpdatedAt time.Time
	// Snapshot is the latest discovery without its topology; nil before the first.
	Snapshot *Snapshot

	Management   Management
	ManagementAt time.Time // since when; zero is since the fabric was created
	RestoredAt   time.Time // when the database was last restored from a backup; zero is never
	// RepairsWait says that automatic repairs and clean-ups are on hold since RestoredAt, until a rollout or repair on the fabric
	// is started, resumed, confirmed or rolled back.
	RepairsWait bool
}

// Management says whether Fairlane manages a fabric.
type Management string

// States of management. On a fabric that is not Managed only its release writes, and no drift is detected.
const (
	Managed   Management = "managed"
	Releasing Management = "releasing" // its release runs, or ended without having taken everything back
	Released  Management = "released"  // its release took everything back and verified it
)

// Counters says whether measurements may clear the port counters of a fabric. Ethernet devices are never cleared.
type Counters string

// The settings of Counters.
const (
	// CountersClear clears the 32-bit counters by service level before and during a measurement, so that none reaches its end.
	CountersClear Counters = "clear"
	// CountersKeep never clears a counter, for fabrics where another tool measures with them. Tenants whose counter stands at its
	// end are then not measured.
	CountersKeep Counters = "keep"
)

// Prerequisites says what a rollout does about a prerequisite of congestion control that is wrong on a device.
type Prerequisites string

// The settings of Prerequisites.
const (
	PrerequisitesReport Prerequisites = "report" // it is reported, and a rollout is refused before its first write
	PrerequisitesRepair Prerequisites = "repair" // a rollout sets it where it may be set, and undoes that with the rest
)

// DiscoverStats says what a discovery cost.
type DiscoverStats struct {
	Wall     time.Duration
	MADsSent int64
	// Plane is what the devices that were found are for, "" when that is not known.
	Plane subnet.Plane
	// Warnings are what was found amiss, one for each device or link. They are told to who asked for the discovery and are
	// not kept.
	Warnings []string
}

// Snapshot is one discovered topology. The same topology found again is the same snapshot with
// a later SeenAt.
type Snapshot struct {
	Fabric                        string
	SHA256                        string // of Topology, lower-case hexadecimal: the snapshot's name
	Topology                      []byte // fabric YAML (subnet/topofile); nil in lists
	Nodes, Switches, Hosts, Links int
	TakenAt, SeenAt               time.Time
	Stats                         DiscoverStats // of the latest discovery
}

// Tenant is a stored tenant of one fabric.
type Tenant struct {
	tenants.Tenant
	Fabric               string
	Version              int64
	CreatedAt, UpdatedAt time.Time
}

// CompileOptions are the stored form of policy.Options.
type CompileOptions struct {
	Mode         policy.Mode      `json:"mode,omitempty"`
	CCTLaw       policy.CCTLaw    `json:"cct_law,omitempty"`
	TimerRestart bool             `json:"timer_restart,omitempty"`
	PerQP        policy.PerQPMode `json:"per_qp,omitempty"`
	ReservedSLs  []ident.SL       `json:"reserved_sls,omitzero"` // nil: the compiler's default; empty: none
	TableEntries int              `json:"table_entries,omitempty"`
	Plane        policy.Plane     `json:"plane,omitempty"`
	Profile      string           `json:"profile,omitempty"`
	// VLArbitration lets the plan weigh virtual lanes.
	VLArbitration bool `json:"vl_arbitration,omitempty"`
}

// Policy converts to what the compiler takes.
func (o CompileOptions) Policy() policy.Options {
	return policy.Options{
		Mode: o.Mode, CCTLaw: o.CCTLaw, TimerRestart: o.TimerRestart, PerQP: o.PerQP,
		ReservedSLs: o.ReservedSLs, TableEntries: o.TableEntries, Plane: o.Plane, Profile: o.Profile, VLArbitration: o.VLArbitration,
	}
}

// PlanInput is everything a plan was compiled from; with the snapshot of that name it
// reproduces the plan to the byte.
type PlanInput struct {
	Snapshot string           `json:"snapshot"` // Snapshot.SHA256
	Tenants  []tenants.Tenant `json:"tenants"`
	Flows    []tenants.Flow   `json:"flows"`
	Options  CompileOptions   `json:"options"`
	// Policy is the revision that tenants, flows and options are of; 0 in plans older than revisions.
	Policy int64 `json:"policy,omitempty"`
	// InForce names the plan whose placements were kept where they still served; empty for none.
	InForce string `json:"in_force,omitempty"`
}

// Plan is a compiled plan, stored (immutable) or, in a dry run, not.
type Plan struct {
	Fabric    string
	Plan      *policy.Plan
	Input     PlanInput
	CreatedAt time.Time
	Stored    bool
}

// PlanSummary is a plan in a list.
type PlanSummary struct {
	Name, Fabric, Snapshot string
	Tenants, Devices       int
	Findings               int
	MaxPredictedError      float64
	CreatedAt              time.Time
}

// Stage is one stage of a rollout.
type Stage string

// Stages, in the order in which they run.
const (
	StagePlacement Stage = "placement" // tenants' traffic onto its SLs
	StageSettings  Stage = "settings"  // congestion control of switches and adapters
)

// RolloutState is where a rollout stands. Only RolloutSucceeded means that every device was
// read back equal.
type RolloutState string

// Rollout states; all but RolloutRunning are final.
const (
	RolloutRunning    RolloutState = "running"
	RolloutSucceeded  RolloutState = "succeeded"
	RolloutPartial    RolloutState = "partial" // some devices failed within the budget and are as before
	RolloutFailed     RolloutState = "failed"
	RolloutRolledBack RolloutState = "rolled-back"
	// RolloutRefused ended before the first write to any device or to the subnet manager; Result names what was in the way.
	RolloutRefused     RolloutState = "refused"
	RolloutCanceled    RolloutState = "canceled"
	RolloutInterrupted RolloutState = "interrupted" // the manager died; rollouts of versions before any manager could go on
)

// Rollout is one attempt to bring a stored plan to devices.
type Rollout struct {
	ID                   int64
	Fabric               string
	Plan                 string // Plan.Name
	Stages               []Stage
	State                RolloutState
	Result               phrase.Text // none while running
	Actor                string
	Version              int64
	CreatedAt, UpdatedAt time.Time
	FinishedAt           time.Time // zero while running
	Devices              []RolloutDevice

	// What the steps of a rollout go by. Revision grows with every write of the row: whoever read a
	// lower one is refused.
	Revision    int64
	Phase       Phase
	Wish        Wish
	WishActor   string // who wished it
	Owner       string // the manager doing a step that takes time; empty when none does
	Options     RolloutOptions
	Wave, Waves int    // the open wave, from 0, -1 before the first; and how many there are
	Prior       string // the plan whose placements a roll-back returns to; empty when not known
	Placed      Placed
	Gated       int         // the last wave that the health gates passed; -1 for none, GatedUnexamined before prerequisites were checked
	Confirmed   bool        // the word that it may stay was given
	ConfirmBy   time.Time   // when confirming ends; zero otherwise
	Reason      phrase.Text // why it is being undone or, when it is not, what its health gates could not judge
}

// GatedUnexamined is Rollout.Gated of a rollout that has yet to check the prerequisites of congestion control.
const GatedUnexamined = -2

// RolloutDevice is one device's part in a rollout. When it is recorded, a nil setting or receipt
// leaves the one recorded before.
type RolloutDevice struct {
	Device    driver.Device
	State     device.State
	Before    *driver.Settings
	Wanted    *driver.Settings
	Observed  *driver.Settings
	Receipt   *driver.Receipt
	Error     string
	UpdatedAt time.Time
	// Wave and Shard say with which others it is written; Touched that a write may have reached it and it was
	// not read back as before since; Note, what is happening to it now.
	Wave, Shard int
	Touched     bool
	Note        phrase.Text
}

// DeviceReport is one device read back now.
type DeviceReport struct {
	Device      driver.Device
	State       device.State
	Desired     *driver.Settings
	Observed    *driver.Settings
	Differences []Difference
	Error       string
	Cause       string // why it differs, as far as that is known: a clause
	Refused     bool   // a repair would be refused, as Error says: it is reported, and no repair is attempted
	Leftover    bool   // of the subnet manager: all that differs are stale placements of an earlier plan
	// Pending says when a clean-up takes back what a device that counts as in sync still holds; filled by the Service.
	Pending *phrase.Text
}

// Difference is one field that has drifted, named as in policy.Reason.
type Difference struct {
	Field             string
	Desired, Observed string
	// Prerequisite is which prerequisite of congestion control it is, "" for a setting of the plan. Reason is then why it matters
	// or, where Observed is ObservedUnknown, why it is not known.
	Prerequisite string       `json:",omitempty"`
	Reason       string       `json:",omitempty"`
	Said         *phrase.Text `json:",omitempty"` // Reason with its values apart; nil in records of earlier builds
	Repairable   bool         `json:",omitempty"` // Fairlane may set it, see Prerequisites
	Advisory     bool         `json:",omitempty"` // a wrong prerequisite that refuses no rollout
}

// ObservedUnknown is what was found of a prerequisite that could not be read.
const ObservedUnknown = "unknown"

// Left reports whether a repair by the fabric's setting leaves the difference as it is.
func (d *Difference) Left(p Prerequisites) bool {
	return d.Prerequisite != "" && (d.Observed == ObservedUnknown || !d.Repairable || p != PrerequisitesRepair)
}

// Shares is what tenants really got during a window.
type Shares struct {
	Plan       string        // the plan whose placements told tenants apart
	Requested  time.Duration // what was asked for; 0 in measurements older than the field
	Window     time.Duration // what was measured: the shortest time of a port, 0 when none was
	MeasuredAt time.Time
	// Coverage is the least part of the window that a measured counter was measured for, above 0 to 1; nil when none was, and
	// in measurements older than the field.
	Coverage      *float64
	Tenants       []TenantShare // by name
	Links         []LinkUse     // contended links of the plan, by port
	MaxShareError *float64      // of the measured tenants; nil when none was
	Limit         float64       // share error above which a tenant is off its share (policy.MissLimit); 0 in measurements older than the field
	Jain          *float64      // Jain's index of delivered/entitled of the measured tenants; nil when none was
	// Loop says whether congestion control acted in the window; nil in measurements older than the field, and where devices do
	// not report it.
	Loop *CongestionLoop
}

// CongestionLoop says whether congestion control acts, by counters under load.
type CongestionLoop struct {
	State LoopState
	Stage string       // of LoopNotActing, the first at which nothing happens: "marks", "notifications", "reaction" or "rates"
	Where []string     // ports at which Stage does not happen
	Text  string       // figures, and the reason for LoopNotActing and LoopNotTested; an English sentence
	Said  *phrase.Text `json:",omitempty"` // Text with its values apart
}

// LoopState is what is known of a congestion-control loop.
type LoopState string

// States of a loop.
const (
	LoopActing    LoopState = "acting"
	LoopNotActing LoopState = "not-acting"
	LoopNotTested LoopState = "not-tested" // there was no load, or counters could not be read
)

// TenantShare is one tenant's part of a measurement.
type TenantShare struct {
	Tenant     string
	Weight     quantity.Weight
	Entitled   quantity.BitRate
	Delivered  *quantity.BitRate // nil when it was not measured
	ShareError *float64          // |delivered - entitled| / entitled; nil when either is not known or nothing is entitled
	Problem    string            // why it was not measured, in an English sentence; empty when it was
	Said       *phrase.Text      `json:",omitempty"` // Problem with its values apart; nil in measurements of earlier builds
	// AtSenders says that ports where the tenant only receives, by an SL that others share, are left out; Ambiguous is what
	// the shared counters there counted.
	AtSenders bool              `json:",omitempty"`
	Ambiguous *quantity.BitRate `json:",omitempty"`
}

// LinkUse is the use of one link direction, named by its transmitting port.
type LinkUse struct {
	Port, Peer ident.PortID
	Name       string
	Capacity   quantity.BitRate
	Delivered  *quantity.BitRate // as in TenantShare
	Use        *float64          // delivered / capacity; nil when either is not known
	Problem    string            // as in TenantShare
	Said       *phrase.Text      `json:",omitempty"` // as in TenantShare
}

// Event is one thing that happened; events are only ever added.
type Event struct {
	ID      int64
	At      time.Time
	Fabric  string
	Rollout int64  // 0 when it belongs to no rollout
	Actor   string // name of the token, or "system"
	// ByTenant says that the actor had, at that time, a role in the tenant that the event is about and no role on the whole
	// service. Only then does the tenant see the name.
	ByTenant bool
	Kind     string      // stable code such as "tenant.updated", "rollout.started", "device.state"
	Subject  string      // the thing's name
	Said     phrase.Text // what happened; of events from before message ids verbatim English
	Data     json.RawMessage
}

// Page asks for a part of a list: at most Limit rows after the row that After names.
type Page struct {
	After string // empty starts at the beginning; else what a list gave as next
	Limit int    // 1..MaxPageLimit; 0 is DefaultPageLimit
}

// Bounds of a page.
const (
	DefaultPageLimit = 100
	MaxPageLimit     = 1000
)

// Size returns the number of rows the page asks for, within bounds.
func (p Page) Size() int {
	if p.Limit <= 0 {
		return DefaultPageLimit
	}
	return min(p.Limit, MaxPageLimit)
}
