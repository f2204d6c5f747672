package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Manager is the service that manages the fabrics. Its errors are an ErrNotFound, a *BadPortsError or a *RefusedError; any
// other error means that it did not answer.
type Manager interface {
	// Tenant returns a tenant with its figures in force; ErrNotFound when the fabric or the tenant does not exist.
	Tenant(ctx context.Context, fabric, tenant string) (Tenant, error)
	// PutFeed replaces the ports that the feed claims for the tenant; without ports the feed is removed. The nodes choose the
	// virtual functions there. Ports that the fabric does not accept are a *BadPortsError, and nothing is changed.
	PutFeed(ctx context.Context, fabric, tenant, feed string, ports []FeedPort) error
	// InForce returns the plan in force, with an empty name when there is none.
	InForce(ctx context.Context, fabric string) (Plan, error)
	// Plan compiles the current declarations and returns the name of the plan.
	Plan(ctx context.Context, fabric string) (string, error)
	// LastRollout returns the fabric's latest rollout, with the id 0 when there is none.
	LastRollout(ctx context.Context, fabric string) (Rollout, error)
	// Rollout starts the rollout of a plan, if it changes at most limit device settings. It is refused with NeedsOperator if
	// others than feeds caused changes, and with TooManySettings beyond the limit.
	Rollout(ctx context.Context, fabric, plan string, limit int) (Rollout, error)
	// Shares returns the fabric's latest measurement, with a zero time when there is none.
	Shares(ctx context.Context, fabric string) (Shares, error)
}

// Codes of refused rollouts.
const (
	NeedsOperator   = "needs-operator"
	TooManySettings = "too-many-settings"
)

// ErrNotFound means that the manager has no such fabric or tenant.
var ErrNotFound = errors.New("not found at the manager")

// BadPortsError lists ports of a feed that the fabric does not accept, with the manager's reasons.
type BadPortsError struct{ Ports []BadPort }

// BadPort is a port that the fabric does not accept.
type BadPort struct{ Port, Reason string }

// Error lists the ports with their reasons.
func (e *BadPortsError) Error() string {
	all := make([]string, len(e.Ports))
	for i, p := range e.Ports {
		all[i] = p.Port + ": " + p.Reason
	}
	return strings.Join(all, "; ")
}

// RefusedError is a request that the manager understood and refused.
type RefusedError struct {
	Code   string // of the problem, stable
	Detail string // in English
}

// Error returns code and detail.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Detail) }

// FeedPort is a port that a feed claims, by identifier or name.
type FeedPort struct {
	Port       string
	ClaimedBps int64 // rates booked for pods there, in bit/s, 0 to MaxClaimedBps
}

// MaxClaimedBps is the largest rate that the manager accepts for a port.
const MaxClaimedBps = 1_000_000_000_000_000

// Tenant is a tenant as the manager has it.
type Tenant struct {
	Weight           string // decimal
	CapBps           int64  // 0 without a cap
	Classes          []TenantClass
	Ports            []Port // of all attachments, claimed by the operator or by feeds
	EntitledBps      *int64 // by the plan in force
	DeliveredBps     *int64 // in contended time of the last hour
	ContendedSeconds *int64 // in the last hour
}

// TenantClass is a class of a tenant.
type TenantClass struct {
	Name   string
	Weight string // decimal
}

// Port is a port with its name in the fabric.
type Port struct {
	ID   string // GUID:PORT
	Name string // such as host-1/P1; empty for a port that is not in the topology
}

// Plan is the plan in force, as far as the controller needs it.
type Plan struct {
	Name       string // SHA-256
	Revision   int64  // of the declarations
	Placements []Placement
}

// Placement is what identifies a tenant's traffic on a port. A value that the plane does not have is nil.
type Placement struct {
	Tenant          string
	Port            string // GUID:PORT
	SL, DSCP, Share *int32 // Share in thousandths of the port; nil where it is not divided
}

// Rollout is a rollout with its state.
type Rollout struct {
	ID     int64
	Plan   string
	State  string // as in the API: running, succeeded, …
	Result string // a sentence in English
}

// Shares is one measurement of a fabric.
type Shares struct {
	MeasuredAt time.Time
	Tolerance  float64                // relative share error up to which a share counts as held
	Tenants    map[string]TenantShare // by name
	Links      []LinkShare
}

// TenantShare says how a tenant does on the whole fabric.
type TenantShare struct {
	Contention string   // as in the API: contending, idle, …; empty when not known
	Received   *float64 // delivered over what it may have; nil for tenants that do not contend
}

// LinkShare is the use of one direction of a link.
type LinkShare struct {
	Port, Peer string // GUID:PORT
	Tenants    []LinkTenant
}

// LinkTenant is the use of one direction of a link by one tenant, in bits per second.
type LinkTenant struct {
	Tenant         string
	Contention     string
	EntitledBps    int64
	DeliveredBps   *int64
	EntitledNowBps *int64
}
