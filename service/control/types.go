package control

import (
	"encoding/json"
	"strconv"
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
	Counters  Counters // "" means CountersClear
	// Prerequisites says whether rollouts set the prerequisites of congestion control that a plan does not contain; ""
	// means PrerequisitesReport.
	Prerequisites Prerequisites
	Version       int64
	// FlowsVersion counts the replacements of the declared flows; 0 means that none were ever declared.
	FlowsVersion         int64
	CreatedAt, UpdatedAt time.Time
	// Snapshot is the latest discovery without its topology; nil before the first.
	Snapshot *Snapshot

	Management   Management
	ManagementAt time.Time // since when; zero: since the fabric was created
	RestoredAt   time.Time // when the database was last restored from a backup; zero is never
	// RepairsWait says that automatic repairs and clean-ups are on hold since RestoredAt, until an operator starts,
	// resumes, confirms or rolls back a rollout or repair on the fabric.
	RepairsWait bool
}

// Management says whether Fairlane manages a fabric.
type Management string

// States of management. On a fabric that is not Managed, only the release writes, and no drift is detected.
const (
	Managed   Management = "managed"
	Releasing Management = "releasing" // its release runs, or ended without restoring everything
	Released  Management = "released"  // its release restored everything and verified it
)

// Counters says whether measurements may clear the port counters of a fabric. Counters of Ethernet devices are never
// cleared.
type Counters string

// Values of Counters.
const (
	// CountersClear clears the 32-bit counters by service level before and during a measurement, so that none saturates.
	CountersClear Counters = "clear"
	// CountersKeep never clears a counter, for fabrics where another tool measures with them. Tenants with a saturated
	// counter are then not measured.
	CountersKeep Counters = "keep"
)

// Prerequisites says how a rollout handles a wrong prerequisite of congestion control on a device.
type Prerequisites string

// Values of Prerequisites.
const (
	PrerequisitesReport Prerequisites = "report" // report it, and refuse a rollout before its first write
	PrerequisitesRepair Prerequisites = "repair" // a rollout sets it where permitted, and undoes that with its other writes
)

// DiscoverStats is the cost of a discovery.
type DiscoverStats struct {
	Wall     time.Duration
	MADsSent int64
	// Plane is the plane of the devices that were found, "" when unknown.
	Plane subnet.Plane
	// Warnings describe faults that the discovery found, one for each device or link. The caller receives them; they are
	// not stored.
	Warnings []phrase.Text
}

// Snapshot is one discovered topology. Finding the same topology again updates SeenAt of the same snapshot.
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

// PlanInput holds everything a plan was compiled from. With the snapshot of that name it reproduces the plan byte for
// byte.
type PlanInput struct {
	Snapshot string           `json:"snapshot"` // Snapshot.SHA256
	Tenants  []tenants.Tenant `json:"tenants"`
	Flows    []tenants.Flow   `json:"flows"`
	Options  policy.Options   `json:"options"`
	// Policy is the revision of tenants, flows and options; 0 in plans older than revisions.
	Policy int64 `json:"policy,omitempty"`
	// InForce names the plan whose placements were kept where they were still valid; empty for none.
	InForce string `json:"in_force,omitempty"`
}

// Plan is a compiled plan: stored and immutable, or not stored in a dry run.
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
	StagePlacement Stage = "placement" // move tenants' traffic to its SLs
	StageSettings  Stage = "settings"  // congestion control of switches and adapters
)

// RolloutState is the state of a rollout. Only RolloutSucceeded means that every device was verified by a read.
type RolloutState string

// Rollout states; all but RolloutRunning are final.
const (
	RolloutRunning    RolloutState = "running"
	RolloutSucceeded  RolloutState = "succeeded"
	RolloutPartial    RolloutState = "partial" // some devices failed within the budget and hold their previous settings
	RolloutFailed     RolloutState = "failed"
	RolloutRolledBack RolloutState = "rolled-back"
	// RolloutRefused ended before the first write to any device or to the subnet manager; Result names the reason.
	RolloutRefused     RolloutState = "refused"
	RolloutCanceled    RolloutState = "canceled"
	RolloutInterrupted RolloutState = "interrupted" // the manager died; only from versions in which no other manager could continue
)

// Rollout is one attempt to apply a stored plan to devices.
type Rollout struct {
	ID                   int64
	Fabric               string
	Plan                 string // Plan.Name
	Stages               []Stage
	State                RolloutState
	Result               phrase.Text // empty while running
	Actor                string
	Version              int64
	CreatedAt, UpdatedAt time.Time
	FinishedAt           time.Time // zero while running
	Devices              []RolloutDevice

	// The fields below control the steps of a rollout. Revision grows with every write of the row: a write based on a
	// lower one is rejected.
	Revision    int64
	Phase       Phase
	Request     RolloutRequest
	RequestedBy string // the actor of the request
	Owner       string // the manager that runs a long step; empty without one
	Options     RolloutOptions
	Wave, Waves int    // the open wave, from 0, -1 before the first; and the number of waves
	Prior       string // the plan whose placements a roll-back restores; empty when unknown
	Placed      Placed
	Gated       int         // the last wave that passed the health gates; -1 for none, GatedUnexamined before prerequisites were checked
	Confirmed   bool        // the rollout was confirmed
	ConfirmBy   time.Time   // end of the confirmation window; zero without one
	Reason      phrase.Text // why it is being undone; otherwise, what its health gates could not judge
}

// GatedUnexamined is the value of Rollout.Gated before the prerequisites of congestion control are checked.
const GatedUnexamined = -2

// RolloutDevice is one device in a rollout. When it is recorded, a nil setting or receipt keeps the recorded value.
type RolloutDevice struct {
	Device    driver.Device
	State     device.State
	Before    *driver.Settings
	Wanted    *driver.Settings
	Observed  *driver.Settings
	Receipt   *driver.Receipt
	Error     phrase.Text
	UpdatedAt time.Time
	// Wave and Shard say with which other devices it is written. Touched says that a write may have reached it and that
	// no later read found its previous settings. Note says what is happening to it now.
	Wave, Shard int
	Touched     bool
	Note        phrase.Text
}

// DeviceReport is the result of reading one device back now.
type DeviceReport struct {
	Device      driver.Device
	State       device.State
	Desired     *driver.Settings
	Observed    *driver.Settings
	Differences []Difference
	Error       phrase.Text
	Cause       phrase.Text // the cause of the difference, where known
	Refused     bool        // a repair would be refused for the reason in Error: drift is reported, and no repair is attempted
	Leftover    bool        // for the subnet manager: all differences are stale placements of an earlier plan
	// Pending says when a clean-up removes what a device in sync still holds; set by the Service.
	Pending *phrase.Text
}

// Difference is one field that has drifted, named as in policy.Reason.
type Difference struct {
	Field             string
	Desired, Observed string
	// Prerequisite names the prerequisite of congestion control, "" for a setting of the plan. Reason then says why it
	// matters or, where Observed is ObservedUnknown, why it is unknown.
	Prerequisite string       `json:",omitempty"`
	Reason       string       `json:",omitempty"`
	Said         *phrase.Text `json:",omitempty"` // Reason with separate values; nil in records of earlier builds
	Repairable   bool         `json:",omitempty"` // Fairlane may set it, see Prerequisites
	Advisory     bool         `json:",omitempty"` // a wrong prerequisite that does not refuse a rollout
}

// ObservedUnknown is the observed value of a prerequisite that could not be read.
const ObservedUnknown = "unknown"

// Left reports whether a repair under the fabric's setting does not remove the difference.
func (d *Difference) Left(p Prerequisites) bool {
	return d.Prerequisite != "" && (d.Observed == ObservedUnknown || !d.Repairable || p != PrerequisitesRepair)
}

// Shares are the tenants' delivered shares during a window.
type Shares struct {
	Plan       string        // the plan whose placements distinguished the tenants
	Requested  time.Duration // requested window; 0 in measurements older than the field
	Window     time.Duration // measured window: the shortest time of a port, 0 when none was measured
	MeasuredAt time.Time
	// Coverage is the smallest fraction of the window that a measured counter covers, above 0 to 1; nil when no counter
	// was measured, and in measurements older than the field.
	Coverage      *float64
	Tenants       []TenantShare // by name
	Links         []LinkUse     // contended links of the plan, by port
	MaxShareError *float64      // of the measured tenants; nil when none was
	Limit         float64       // policy.MissLimit of the measurement; 0 in measurements older than the field
	Jain          *float64      // Jain's index of delivered/entitled over the measured tenants; nil when none was
	// Loop says whether congestion control acted in the window; nil in measurements older than the field, and where
	// devices do not report it.
	Loop *CongestionLoop
	// Ports is the activity of each measured port in the window. It is kept as series only, not in stored measurements.
	Ports []PortActivity `json:"-"`
	// Cost is what the measurement asked of devices; nil when unknown. It is kept as series only.
	Cost *Cost `json:"-"`
}

// Cost is what was asked of devices.
type Cost struct {
	Requests uint64
	Bytes    uint64 // of requests and responses: whole management datagrams, or messages of gRPC without headers
}

// PortActivity is the traffic and the events of a port in a window, by the device's clock.
type PortActivity struct {
	Port   ident.PortID
	Name   string
	Sent   *quantity.BitRate // nil when not measured
	Counts []PortCount       // those that were measured
	// Senders has the rates of a NIC port's WRCC senders, "TENANT/CLASS", that were measured.
	Senders map[string]quantity.BitRate
	// Functions has what a NIC port's virtual functions did, by index.
	Functions []FunctionActivity
	Err       error // why some of it was not measured; nil when all was. Functions have no part in it.
}

// FunctionActivity is the traffic and the events of a virtual function in a window.
type FunctionActivity struct {
	Index  int
	Tenant string            // of the pod that has it, where functions belong to pods; otherwise the plan has it
	Sent   *quantity.BitRate // nil when not measured
	Counts []PortCount       // those that were measured
}

// PortReading is what watched ports did since the previous reading, by port.
type PortReading struct {
	Ports []PortActivity
	Cost  Cost
}

// PortCount is a count of a port, per second.
type PortCount struct {
	Kind      string // of telemetry.CountKind
	Lane      *int   // SL or VL; nil for kinds without one
	PerSecond float64
}

// CongestionLoop says whether congestion control acts, judged by counters under load.
type CongestionLoop struct {
	State LoopState
	Stage string       // for LoopNotActing, the first stage without activity: "marks", "notifications", "reaction" or "rates"
	Where []string     // ports at which Stage shows no activity
	Text  string       // figures, and the reason for LoopNotActing and LoopNotTested; an English sentence
	Said  *phrase.Text `json:",omitempty"` // Text with separate values
}

// LoopState is the state of a congestion-control loop.
type LoopState string

// States of a loop.
const (
	LoopActing    LoopState = "acting"
	LoopNotActing LoopState = "not-acting"
	LoopNotTested LoopState = "not-tested" // there was no load, or counters could not be read
)

// TenantShare is one tenant's share in a measurement.
type TenantShare struct {
	Tenant     string
	Weight     quantity.Weight
	Entitled   quantity.BitRate
	Delivered  *quantity.BitRate // nil when not measured
	ShareError *float64          // |delivered - entitled| / entitled; nil when either is unknown or nothing is entitled
	Problem    string            // why it was not measured, in an English sentence; empty when it was
	Said       *phrase.Text      `json:",omitempty"` // Problem with separate values; nil in measurements of earlier builds
	// AtSenders says that ports where the tenant only receives, on an SL shared with other tenants, are excluded.
	// Ambiguous holds what the shared counters there counted.
	AtSenders bool              `json:",omitempty"`
	Ambiguous *quantity.BitRate `json:",omitempty"`

	Contended
	// Limit names the limiting link to which EntitledNow and Received refer; the tenant may have several.
	Limit string `json:",omitempty"`
}

// Contended says whether a tenant contended, on a link or on any link. docs/shares.md defines the words.
type Contended struct {
	// Contention is "contending" or the reason why not: "idle", "demand", "cap", "own-port", "other-link", "path-down" or "not-measured"; "" in
	// measurements older than the field.
	Contention string `json:",omitempty"`
	// EntitledNow is the rate that a contending tenant is entitled to at the measured use by others; nil for other tenants.
	EntitledNow *quantity.BitRate `json:",omitempty"`
	// Received is delivered / EntitledNow; nil for tenants that do not contend.
	Received *float64 `json:",omitempty"`
}

// Values of Contended.Contention that mean more than a reason.
const (
	ContentionContending = "contending"   // a link limits the tenant
	ContentionUnmeasured = "not-measured" // it is not known what limits the tenant
)

// LinkTenant is a tenant's part of a contended link direction.
type LinkTenant struct {
	Tenant    string
	Entitled  quantity.BitRate
	Delivered *quantity.BitRate // as in TenantShare
	Contended
}

// LinkUse is the use of one link direction, named by its transmitting port.
type LinkUse struct {
	Port, Peer ident.PortID
	Name       string
	Capacity   quantity.BitRate
	Delivered  *quantity.BitRate // as in TenantShare
	Use        *float64          // delivered / capacity; nil when either is unknown
	Problem    string            // as in TenantShare
	Said       *phrase.Text      `json:",omitempty"` // as in TenantShare
	Tenants    []LinkTenant      `json:",omitempty"` // by name; none in measurements older than the field
	// FairRate is the fair rate on the WRCC plane, of a queue pair of weight 1; nil when it was not read. It is kept as series only.
	FairRate *quantity.BitRate `json:"-"`
}

// Event is a recorded event; events are append-only.
type Event struct {
	ID      int64
	At      time.Time
	Fabric  string
	Rollout int64  // 0 when no rollout is involved
	Actor   string // name of the token, or "system"
	// ByTenant says that the actor had, at that time, a role in the tenant that the event is about and no role on the
	// whole service. Only then does the tenant see the name.
	ByTenant bool
	Kind     string      // stable code such as "tenant.updated", "rollout.started", "device.state"
	Subject  string      // name of the object
	Said     phrase.Text // what happened; verbatim English in events older than message ids
	Data     json.RawMessage
}

// Page selects a part of a list: at most Limit rows after the row that After names.
type Page struct {
	After string // empty starts at the beginning; else the next value that a list returned
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

// SlicePage returns a page of a list that is computed as a whole; the cursor is the number of rows before the page.
func SlicePage[T any](list []T, p Page) (rows []T, next string, err error) {
	start := 0
	if p.After != "" {
		if start, err = strconv.Atoi(p.After); err != nil || start < 0 {
			return nil, "", Invalid("cursor", phrase.Of("problem.cursor"))
		}
	}
	start = min(start, len(list))
	end := min(start+p.Size(), len(list))
	if end < len(list) {
		next = strconv.Itoa(end)
	}
	return list[start:end], next, nil
}
