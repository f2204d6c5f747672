package demo

import (
	"context"
	"sync/atomic"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/sim/live"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// Fabric is a live simulated fabric for a demo.
type Fabric interface {
	Plane() policy.Plane
	Source() string                               // address for the manager
	Declared() ([]tenants.Tenant, []tenants.Flow) // its tenants and flows
	Now() quantity.Picoseconds                    // its own time
	Wait(ctx context.Context, span quantity.Picoseconds) error
	// Partitions returns a function that moves a partition's traffic to a service level; nil if tenants are not placed by partitions.
	Partitions() func(ident.PKey, ident.SL) int
	// Classes are the traffic classes that the fabric is provisioned for.
	Classes() []policy.TrafficClass
	// UseClasses lets the applications of tenants use the DSCPs of a plan's traffic classes.
	UseClasses(*policy.Plan) error
	// StepKey returns the key of the text for a step on this type of fabric.
	StepKey(key string) string
	Close() error
}

var (
	_ Fabric = infiniBand{}
	_ Fabric = ethernet{}
)

type infiniBand struct{ *live.InfiniBand }

// InfiniBand wraps an InfiniBand fabric.
func InfiniBand(l *live.InfiniBand) Fabric { return infiniBand{l} }

func (infiniBand) Plane() policy.Plane { return policy.PlaneIB }

func (f infiniBand) Source() string { return "ibsim:" + f.Server.Addr() }

func (f infiniBand) Declared() ([]tenants.Tenant, []tenants.Flow) {
	return f.Scenario.Tenants, f.Scenario.TenantFlows()
}

func (f infiniBand) Now() quantity.Picoseconds { return f.Devices.Now() }

func (f infiniBand) Partitions() func(ident.PKey, ident.SL) int { return f.Devices.SetPartitionSL }

func (infiniBand) Classes() []policy.TrafficClass { return nil }

func (infiniBand) UseClasses(*policy.Plan) error { return nil }

func (infiniBand) StepKey(key string) string { return key }

type ethernet struct{ *live.Ethernet }

// Ethernet wraps an Ethernet fabric.
func Ethernet(l *live.Ethernet) Fabric { return ethernet{l} }

func (f ethernet) Plane() policy.Plane { return f.Case.Plane }

func (f ethernet) Declared() ([]tenants.Tenant, []tenants.Flow) { return f.Case.Tenants, f.Case.Flows }

func (f ethernet) Now() quantity.Picoseconds { return f.Fabric.Now() }

func (ethernet) Partitions() func(ident.PKey, ident.SL) int { return nil }

func (f ethernet) Classes() []policy.TrafficClass { return f.Case.Classes }

func (f ethernet) UseClasses(p *policy.Plan) error {
	dscps := make(map[string]uint8)
	for _, x := range p.RoCE.Traffic {
		dscps[x.Tenant] = x.DSCP
	}
	return f.Fabric.SetDSCPs(dscps)
}

func (ethernet) StepKey(key string) string { return key + ".ethernet" }

// demos numbers the demos of this process, because abstract socket names are global on a machine.
var demos atomic.Int64
