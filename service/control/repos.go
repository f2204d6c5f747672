package control

import (
	"context"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/policy"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Store is the database. Tx runs f in one write transaction, serialised by the context's WriteScope; it commits when f
// returns nil and rolls back otherwise. In a scope narrower than ScopeService, f cannot read the events and audit entries
// that it added. View runs f on a consistent read-only view.
type Store interface {
	Tx(ctx context.Context, f func(Repos) error) error
	View(ctx context.Context, f func(Repos) error) error
	// Ping reports within seconds whether the store answers and accepts writes. A failure of the database itself is a
	// *UnavailableError.
	Ping(ctx context.Context) error
}

// Repos is the store inside a transaction. Methods return *NotFoundError, *ConflictError and
// *PreconditionError where those apply, and are valid only until the function given to Tx returns.
type Repos interface {
	FabricRepo
	TenantRepo
	FeedRepo
	PlanRepo
	PolicyRepo
	IdempotencyRepo
	SettingsRepo
	ShareRepo
	TaskRepo
	RolloutRepo
	WorkRepo
	DriftRepo
	BaselineRepo
	Jobs
	EventRepo
	AuditRepo
	RetentionRepo
	TokenRepo
	AccountRepo
	MembershipRepo
	SessionRepo
	SigninRepo
	ScopedListRepo
	ViewRepo
	TenantConflictRepo
	ObjectiveRepo
	SilenceRepo
	MaintenanceRepo
	AuditSinkRepo
	SeriesManagerRepo
}

// FabricRepo stores fabrics and their snapshots.
type FabricRepo interface {
	CreateFabric(ctx context.Context, f Fabric) (Fabric, error)
	Fabric(ctx context.Context, name string) (Fabric, error)
	ListFabrics(ctx context.Context, p Page) (list []Fabric, next string, err error)
	// UpdateFabric replaces Source, TimeScale, Counters and Prerequisites of the fabric at f.Version (0: at any version).
	UpdateFabric(ctx context.Context, f Fabric) (Fabric, error)
	// DeleteFabric removes a fabric and all its rows; version 0 means any version.
	DeleteFabric(ctx context.Context, name string, version int64) error
	// SetManagement sets whether a fabric is managed.
	SetManagement(ctx context.Context, name string, m Management, at time.Time) error
	// LetRepairs ends the hold that NoteRestored put on automatic repairs.
	LetRepairs(ctx context.Context, name string) error
	// PutSnapshot adds a snapshot, or refreshes SeenAt and Stats of the one with the same SHA256.
	PutSnapshot(ctx context.Context, s Snapshot) (Snapshot, error)
	// Snapshot returns a snapshot with its topology; an empty sha means the latest.
	Snapshot(ctx context.Context, fabric, sha string) (Snapshot, error)
	ListSnapshots(ctx context.Context, fabric string, p Page) (list []Snapshot, next string, err error)
	// PutPortChanges records changes of ports, in place of the previous ones of the same ports.
	PutPortChanges(ctx context.Context, fabric string, list []PortChange) error
	// PortChanges returns the latest changes of ports, omitting ports without one.
	PortChanges(ctx context.Context, fabric string, ports []ident.PortID) ([]PortChange, error)
}

// TenantRepo stores tenants and declared flows.
type TenantRepo interface {
	CreateTenant(ctx context.Context, t Tenant) (Tenant, error)
	Tenant(ctx context.Context, fabric, name string) (Tenant, error)
	ListTenants(ctx context.Context, fabric string, p Page) (list []Tenant, next string, err error)
	// AllTenants returns every tenant of a fabric, by name.
	AllTenants(ctx context.Context, fabric string) ([]Tenant, error)
	// UpdateTenant replaces weight, P_Key, classes and attachments of the tenant at t.Version
	// (0: at any version) and returns it with its new version.
	UpdateTenant(ctx context.Context, t Tenant) (Tenant, error)
	DeleteTenant(ctx context.Context, fabric, name string, version int64) error
	// ReplaceFlows replaces the declared flows when the fabric's FlowsVersion is version (negative: any version) and
	// returns the new version.
	ReplaceFlows(ctx context.Context, fabric string, version int64, flows []tenants.Flow) (int64, error)
	// CountFlows returns the number of declared flows of each of the named tenants that has any.
	CountFlows(ctx context.Context, fabric string, names []string) (map[string]int, error)
	// Flows returns the declared flows in the order in which they were declared, and the fabric's FlowsVersion.
	Flows(ctx context.Context, fabric string) ([]tenants.Flow, int64, error)
}

// PlanRepo stores plans, which never change.
type PlanRepo interface {
	// PutPlan stores a plan. When the fabric has a plan of that name, it is kept unchanged and created is false.
	PutPlan(ctx context.Context, p Plan) (stored Plan, created bool, err error)
	// Plan finds a plan by its name or by an unambiguous prefix of it.
	Plan(ctx context.Context, fabric, name string) (Plan, error)
	ListPlans(ctx context.Context, fabric string, p Page) (list []PlanSummary, next string, err error)
}

// RolloutRepo stores rollouts and their effects on each device.
type RolloutRepo interface {
	// CreateRollout adds a running rollout; *ConflictError "rollout-running" when another one runs on the fabric.
	CreateRollout(ctx context.Context, r Rollout) (Rollout, error)
	// Rollout returns a rollout with its devices.
	Rollout(ctx context.Context, fabric string, id int64) (Rollout, error)
	ListRollouts(ctx context.Context, fabric string, p Page) (list []Rollout, next string, err error)
	// FinishRollout gives a running rollout its final state. When the state is final already, it stays and *ConflictError
	// "not-running" is returned.
	FinishRollout(ctx context.Context, id int64, s RolloutState, result string, at time.Time) error
	// PutRolloutDevice adds or updates one device's row. Nil Before, Wanted, Observed and Receipt keep their stored
	// values.
	PutRolloutDevice(ctx context.Context, rollout int64, d RolloutDevice) error
	// RunningRollouts lists the rollouts that are running, of all fabrics, without devices.
	RunningRollouts(ctx context.Context) ([]Rollout, error)
	// LatestRollout returns the newest rollout in one of the states, without devices.
	LatestRollout(ctx context.Context, fabric string, states ...RolloutState) (Rollout, error)
}

// EventFilter selects events; empty fields select all.
type EventFilter struct {
	Fabric  string
	Rollout int64
	Kind    string // a prefix of the kind, such as "device."
	Subject string // the name of the object
	// Since and Until limit the time: from Since on, and before Until.
	Since, Until time.Time
	NoSteps      bool // without the steps of rollouts, which are many for each device
	Newest       bool // the newest first
}

// EventRepo stores events.
type EventRepo interface {
	AddEvent(ctx context.Context, e Event) error
	// ListEvents returns events in the order they happened, or in the reverse order.
	ListEvents(ctx context.Context, f EventFilter, p Page) (list []Event, next string, err error)
	// LastEvent returns the number of the newest event; 0 when there is none.
	LastEvent(ctx context.Context) (int64, error)
}

// Discoverer discovers the topology behind a source such as "ibsim:unix:NAME". It warns of devices that do not meet the prerequisites of plans
// with the options.
type Discoverer interface {
	Discover(ctx context.Context, source string, o policy.Options) (*subnet.Fabric, DiscoverStats, error)
}

// Target is the input of rollouts, Observer and Meter: a plan, its fabric as stored now, and the topology that the plan
// was compiled for.
type Target struct {
	Fabric   Fabric
	Topology *subnet.Fabric
	Plan     *policy.Plan
	// Latest is the topology as the latest scan found it. It is set for a Meter only; nil means that it is Topology.
	Latest *subnet.Fabric
	// Flows, Tenants and Options are those that the plan was compiled for.
	Flows   []tenants.Flow
	Tenants []tenants.Tenant
	Options policy.Options
	Placed  bool // the plan's placements are in force, so an Observer checks the subnet manager, too
	Repair  bool // overwrite placements that others changed, as a repair does; otherwise such a change is refused
	// Devices are compared by an Observer in place of those of the plan; nil means those of the plan.
	Devices []device.Target
}

// Observer reads devices of a plan back and compares them; when the plan's placements are in force, it also compares the
// subnet manager with them. It never writes. For a device that cannot be read it returns a report with Error, not an
// error.
type Observer interface {
	// Observe reads the named devices of a plan; nil means all.
	Observe(ctx context.Context, t Target, ids []ident.PortID) ([]DeviceReport, error)
}

// CapabilityReader asks devices what they can do.
type CapabilityReader interface {
	// Capabilities reads the capabilities that a device of the target's fabric reports. It writes nothing.
	Capabilities(ctx context.Context, t Target, d driver.Device) (driver.Capabilities, error)
}

// Meter measures delivered shares over a window of the fabric's own time.
type Meter interface {
	Measure(ctx context.Context, t Target, window time.Duration) (Shares, error)
}

// PortWatcher opens watches of single ports.
type PortWatcher interface {
	// WatchPorts prepares to read ports of a target's topology often. A reading of a device may take within of wall time. Readings neither wait
	// for measurements of shares nor disturb them.
	WatchPorts(ctx context.Context, t Target, ports []ident.PortID, within time.Duration) (PortWatch, error)
}

// PortWatch reads ports. One goroutine uses it.
type PortWatch interface {
	// Read returns what the ports did since the previous reading; the first is the baseline. A port that was not read has an error and no rates.
	// It fails when the watch is of no use any more, and must then be opened again.
	Read(ctx context.Context) (PortReading, error)
	Close() error
}
