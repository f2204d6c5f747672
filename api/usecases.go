package api

import (
	"context"
	"time"

	"fairlane/policy"
	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/control/drift"
	"fairlane/service/control/identity"
	"fairlane/service/control/maintenance"
	"fairlane/service/control/objectives"
	"fairlane/service/control/operations"
	"fairlane/service/control/plans"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/silences"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/views"
	"fairlane/service/series"
	"fairlane/service/silence"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// UseCases are the use cases that the handlers call. The types in service/control document each method and its errors.
type UseCases interface {
	Transactions
	Accounts
	Fabrics
	Tenancy
	Plans
	Rollouts
	Devices
	Shares
	Queries
	Objectives
	Tasks
	Silences
	Maintenance
	Operations
	Views
}

// Transactions are the use cases about transactions, repeated requests, events as they come, and readiness.
type Transactions interface {
	Atomic(ctx context.Context, do func(ctx context.Context) error) error
	Now() time.Time
	Idempotent(ctx context.Context, k control.IdempotencyKey, whole bool, do func(ctx context.Context) (control.IdempotentAnswer, error)) (a control.IdempotentAnswer, err error)
	Ready(ctx context.Context) error
	Replay(ctx context.Context, k control.IdempotencyKey) (a control.IdempotentAnswer, found bool, err error)
	WatchEvents(ctx context.Context, f control.EventFilter, after int64) (*control.Watch, error)
}

// Accounts are the use cases about identities and rights: users, service accounts, members, tokens, sessions and sign-in.
type Accounts interface {
	Admit(addr string) (forgive func(), err error)
	Authenticate(ctx context.Context, text string) (control.Principal, error)
	AuthenticateSession(ctx context.Context, secret string) (control.Principal, control.Session, error)
	ChangePassword(ctx context.Context, present, next string) error
	CreateServiceAccount(ctx context.Context, in identity.ServiceAccountInput) (out control.Account, err error)
	CreateToken(ctx context.Context, ref control.AccountRef, in identity.TokenInput) (text string, out control.Token, err error)
	CreateUser(ctx context.Context, in identity.UserInput) (out control.Account, err error)
	DeleteMember(ctx context.Context, user string, d tenants.Domain) error
	DeleteServiceAccount(ctx context.Context, d tenants.Domain, name string) error
	DeleteToken(ctx context.Context, ref control.AccountRef, name string) error
	DeleteUser(ctx context.Context, name string, version int64) error
	External(ctx context.Context, id identity.Identity) (control.Principal, error)
	ExtendSession(ctx context.Context) (control.Session, error)
	Faulted(key string)
	Faults(key string) error
	ListMembers(ctx context.Context, d tenants.Domain, p control.Page) (list []control.Member, next string, err error)
	ListServiceAccounts(ctx context.Context, d tenants.Domain, p control.Page) (list []control.Account, next string, err error)
	ListTokens(ctx context.Context, ref control.AccountRef) (list []control.Token, err error)
	ListUsers(ctx context.Context, p control.Page) (list []control.Account, next string, err error)
	Me(ctx context.Context) (a control.Account, err error)
	PreparePassword(ctx context.Context, name, password string) (context.Context, error)
	PutMember(ctx context.Context, user string, g tenants.Grant) (out control.Member, err error)
	Session(ctx context.Context) (ses control.Session, ok bool, err error)
	SignIn(ctx context.Context, name, password string) (identity.SignedIn, error)
	SignInExternal(ctx context.Context, id identity.Identity) (identity.SignedIn, error)
	SignOut(ctx context.Context) error
	UpdateUser(ctx context.Context, version int64, in identity.UserInput) (out control.Account, err error)
	User(ctx context.Context, name string) (a control.Account, err error)
}

// Fabrics are the use cases about fabrics and their topologies.
type Fabrics interface {
	CreateFabric(ctx context.Context, f control.Fabric) (control.Fabric, error)
	DeleteFabric(ctx context.Context, name string, version int64, keep bool) error
	Discover(ctx context.Context, name string) (control.Snapshot, error)
	Fabric(ctx context.Context, name string) (f control.Fabric, err error)
	ListFabrics(ctx context.Context, p control.Page) (list []control.Fabric, next string, err error)
	ListSnapshots(ctx context.Context, fabric string, p control.Page) (list []control.Snapshot, next string, err error)
	Topology(ctx context.Context, fabric, sha string) (snap control.Snapshot, topo *subnet.Fabric, err error)
	UpdateFabric(ctx context.Context, f control.Fabric) (out control.Fabric, err error)
}

// Tenancy are the use cases about tenants, flows, compiler options and their revisions.
type Tenancy interface {
	AddAttachment(ctx context.Context, fabric, tenant string, in tenancy.AttachmentInput) (a tenants.Attachment, err error)
	AddClass(ctx context.Context, fabric, tenant string, c tenants.Class) error
	ApplyTenants(ctx context.Context, fabric string, set tenancy.TenantSet, dryRun bool) (tenancy.TenantSetResult, error)
	Attachment(ctx context.Context, fabric, tenant, port string) (a tenants.Attachment, err error)
	Class(ctx context.Context, fabric, tenant, class string) (c tenants.Class, err error)
	CountFlows(ctx context.Context, fabric string, names []string) (counts map[string]int, err error)
	CreateTenant(ctx context.Context, fabric string, in tenancy.TenantInput) (control.Tenant, error)
	DeleteAttachment(ctx context.Context, fabric, tenant, port, tag string) error
	DeleteClass(ctx context.Context, fabric, tenant, class, tag string) error
	DeleteTenant(ctx context.Context, fabric, name string, version int64) error
	DiffPolicies(ctx context.Context, fabric string, from, to int64) (d tenancy.PolicyDiff, err error)
	Flows(ctx context.Context, fabric string) (flows []tenants.Flow, version int64, err error)
	LabelPolicy(ctx context.Context, fabric string, number int64, label string) (p control.Policy, err error)
	ListPolicies(ctx context.Context, fabric string, p control.Page) (list []control.Policy, next string, err error)
	ListTenants(ctx context.Context, fabric string, p control.Page) (list []control.Tenant, next string, err error)
	Options(ctx context.Context, fabric string) (o policy.Options, version int64, err error)
	Policy(ctx context.Context, fabric string, number int64) (c tenancy.PolicyContent, err error)
	PortNames(ctx context.Context, fabric string) (func(ident.PortID) string, error)
	PutAttachment(ctx context.Context, fabric, tenant, port, tag string, sl *ident.SL) (a tenants.Attachment, err error)
	PutClass(ctx context.Context, fabric, tenant, tag string, c tenants.Class) error
	PutFlows(ctx context.Context, fabric string, version int64, in []tenancy.FlowInput) (flows []tenants.Flow, next int64, err error)
	PutOptions(ctx context.Context, fabric string, version int64, o policy.Options) (next int64, err error)
	RestorePolicy(ctx context.Context, fabric string, number, version int64) (p control.Policy, changed bool, err error)
	Tenant(ctx context.Context, fabric, name string) (t control.Tenant, err error)
	UpdateTenant(ctx context.Context, fabric string, version int64, in tenancy.TenantInput) (control.Tenant, error)
	Claimants(ctx context.Context, fabric string, names ...string) (of func(tenant string, port ident.PortID) []string, err error)
	DeleteFeed(ctx context.Context, fabric, tenant, feed string, version int64) error
	Feed(ctx context.Context, fabric, tenant, feed string) (f control.Feed, err error)
	ListFeeds(ctx context.Context, f control.FeedFilter, p control.Page) (list []control.Feed, next string, err error)
	PutFeed(ctx context.Context, fabric, tenant, feed string, version int64, in tenancy.FeedInput) (out tenancy.FeedChange, err error)
}

// Plans are the use cases about plans.
type Plans interface {
	AdmitTenant(ctx context.Context, fabric string, req plans.PlanRequest, ask policy.AdmitRequest) (*policy.Admission, error)
	DiffPlans(ctx context.Context, fabric, against, name string) (policy.Difference, error)
	ExplainPlan(ctx context.Context, fabric, name string, f policy.ExplainFilter) ([]policy.Explanation, error)
	ListPlans(ctx context.Context, fabric string, p control.Page) (list []control.PlanSummary, next string, err error)
	MakePlan(ctx context.Context, fabric string, req plans.PlanRequest, dryRun bool) (p control.Plan, created bool, err error)
	Plan(ctx context.Context, fabric, name string) (p control.Plan, err error)
	PlanOrInForce(ctx context.Context, fabric, name string) (p control.Plan, err error)
	WhatIf(ctx context.Context, fabric string, req plans.PlanRequest) (plans.WhatIf, error)
}

// Rollouts are the use cases about rollouts, roll-backs, releases, and events.
type Rollouts interface {
	CancelRollout(ctx context.Context, fabric string, id int64) (control.Rollout, error)
	ConfirmRollout(ctx context.Context, fabric string, id int64) (control.Rollout, error)
	ListEvents(ctx context.Context, f control.EventFilter, p control.Page) (list []control.Event, next string, err error)
	ListRollouts(ctx context.Context, fabric string, p control.Page) (list []control.Rollout, next string, err error)
	ManageFabric(ctx context.Context, name string) (f control.Fabric, err error)
	PauseRollout(ctx context.Context, fabric string, id int64) (control.Rollout, error)
	PreviewRelease(ctx context.Context, fabric string, to control.ReturnTo, o control.RolloutOptions) (out rollouts.ReleasePreview, err error)
	PreviewRollBack(ctx context.Context, fabric string, id int64, plan string) ([]rollouts.WavePreview, error)
	PreviewRollBackToBaseline(ctx context.Context, fabric string, id int64) ([]rollouts.WavePreview, error)
	PreviewRollout(ctx context.Context, fabric string, in rollouts.RolloutInput) ([]rollouts.WavePreview, error)
	ReleaseFabric(ctx context.Context, fabric string, to control.ReturnTo, o control.RolloutOptions) (control.Rollout, error)
	ResumeRollout(ctx context.Context, fabric string, id int64) (control.Rollout, error)
	RollBack(ctx context.Context, fabric string, id int64, plan string) (control.Rollout, error)
	RollBackToBaseline(ctx context.Context, fabric string, id int64) (control.Rollout, error)
	Rollout(ctx context.Context, fabric string, id int64) (ro control.Rollout, err error)
	RolloutSettings(ctx context.Context, fabric string, id int64) (control.Rollout, error)
	StartRollout(ctx context.Context, fabric string, in rollouts.RolloutInput) (out control.Rollout, err error)
}

// Devices are the use cases about devices after a rollout: their settings, drift, repairs.
type Devices interface {
	Device(ctx context.Context, fabric, ref string, read bool) (drift.DeviceView, error)
	DeviceCapabilities(ctx context.Context, fabric, ref string) (drift.Abilities, error)
	Devices(ctx context.Context, fabric, plan string) (name string, list []drift.DeviceView, err error)
	DriftPolicy(ctx context.Context, fabric string) (p control.DriftPolicy, err error)
	ListBaseline(ctx context.Context, fabric string, q drift.BaselineQuery, p control.Page) (against string, out []drift.BaselineView, next string, err error)
	ListDevices(ctx context.Context, fabric string, p control.Page) (plan string, list []drift.DeviceView, next string, err error)
	PrepareDevices(ctx context.Context, fabric string) context.Context
	PutDriftPolicy(ctx context.Context, fabric string, version int64, in control.DriftPolicy) (out control.DriftPolicy, err error)
	ReleaseDevice(ctx context.Context, fabric, ref string) error
	RepairDevice(ctx context.Context, fabric, ref string) (ro control.Rollout, err error)
	SetDevicePolicy(ctx context.Context, fabric, ref string, version int64, p control.DevicePolicy) error
}

// Shares are the use cases about delivered shares.
type Shares interface {
	LatestShares(ctx context.Context, fabric string) (control.Shares, error)
	ListShares(ctx context.Context, fabric string, since, until time.Time, p control.Page) (list []control.Shares, next string, err error)
	MeasureShares(ctx context.Context, fabric, plan string, window time.Duration) (control.Shares, error)
	ReadShares(ctx context.Context, fabric, plan string, window time.Duration) (control.Shares, error)
}

// Tasks are the use cases about simulations and calibrations.
type Tasks interface {
	CancelTask(ctx context.Context, kind control.TaskKind, id int64) (t control.Task, err error)
	ListTasks(ctx context.Context, kind control.TaskKind, p control.Page) (list []control.Task, next string, err error)
	StartTask(ctx context.Context, kind control.TaskKind, req control.TaskRequest) (t control.Task, err error)
	Task(ctx context.Context, kind control.TaskKind, id int64) (t control.Task, err error)
}

// Silences are the use cases about silences of alerts.
type Silences interface {
	AddSilence(ctx context.Context, in silences.Input) (silence.Silence, error)
	ExpireSilence(ctx context.Context, id int64) error
	ListSilences(ctx context.Context, expired bool, p control.Page) (list []silence.Silence, next string, err error)
}

// Maintenance are the use cases about announced maintenance.
type Maintenance interface {
	AddMaintenance(ctx context.Context, fabric string, in maintenance.Input) (control.Maintenance, error)
	CancelMaintenance(ctx context.Context, fabric, id string, version int64) error
	ListMaintenance(ctx context.Context, q maintenance.Query, p control.Page) (list []control.Maintenance, next string, err error)
	Maintenance(ctx context.Context, fabric, id string) (m control.Maintenance, err error)
	TenantMaintenance(ctx context.Context, d maintenance.TenantRef, p control.Page) (list []control.Maintenance, next string, err error)
	UpdateMaintenance(ctx context.Context, fabric, id string, version int64, in maintenance.Input) (control.Maintenance, error)
}

// Operations are the use cases about the service's settings, its audit log and its own state.
type Operations interface {
	Diagnosis(ctx context.Context) (control.Diagnosis, error)
	ListAudit(ctx context.Context, f control.AuditFilter, p control.Page) (list []audit.Entry, next string, err error)
	PutSettings(ctx context.Context, version int64, in operations.Settings) (out operations.Settings, err error)
	Settings(ctx context.Context) (out operations.Settings, err error)
	VerifyAudit(ctx context.Context, expect audit.Tail) (control.AuditReport, error)
}

// Objectives are the use cases about objectives of tenants.
type Objectives interface {
	DeleteObjective(ctx context.Context, fabric, tenant string) error
	ListObjectives(ctx context.Context, fabric string, p control.Page) (list []control.Objective, next string, err error)
	ObjectiveSet(ctx context.Context, fabric string) (control.ObjectiveSet, error)
	PutObjective(ctx context.Context, fabric, tenant string, in objectives.Input) (control.Objective, error)
}

// Queries are the use cases about kept time series.
type Queries interface {
	FindLabelValues(ctx context.Context, name string, l series.Lookup) ([]string, error)
	FindLabels(ctx context.Context, l series.Lookup) ([]string, error)
	FindSeries(ctx context.Context, l series.Lookup) ([]map[string]string, error)
	QueryInstant(ctx context.Context, query string, at time.Time) (series.Answer, error)
	QueryRange(ctx context.Context, query string, start, end time.Time, step time.Duration) (series.Answer, error)
	RuleGroups(ctx context.Context) ([]series.RuleGroup, error)
	Alerts(ctx context.Context) ([]series.Alert, error)
}

// Views are the use cases that gather what one page shows.
type Views interface {
	Endpoints(ctx context.Context, d tenants.Domain, p control.Page) (*views.Endpoints, error)
	Map(ctx context.Context, fabric string, q views.MapQuery, parts views.Parts) (*views.Map, error)
	Matrix(ctx context.Context, fabric string, q views.MatrixQuery) (*views.Matrix, error)
	Overview(ctx context.Context, fabric string, parts views.Parts) (*views.Overview, error)
	Path(ctx context.Context, fabric, src, dst, tenant string) (*views.Path, error)
	Search(ctx context.Context, q views.SearchQuery) (list []views.Found, more bool, err error)
	TenantNow(ctx context.Context, fabric, tenant string) (*views.TenantNow, error)
}
