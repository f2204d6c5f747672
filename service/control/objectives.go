package control

import (
	"context"
	"time"
)

// Objective is the share that a tenant should receive while it contends, and for what fraction of the time.
type Objective struct {
	Tenant string // "" for the default of a fabric
	// Bound is the fraction of what a contending tenant may have below which a second is bad, and Target the fraction of contended
	// seconds that must not be bad.
	Bound, Target float64
	Source        ObjectiveSource
	UpdatedAt     time.Time // zero for ObjectiveBuiltIn
}

// ObjectiveSource says where an objective was set.
type ObjectiveSource string

// Sources of objectives.
const (
	ObjectiveTenant  ObjectiveSource = "tenant"   // for the tenant
	ObjectiveFabric  ObjectiveSource = "fabric"   // as the default of its fabric
	ObjectiveBuiltIn ObjectiveSource = "built-in" // nowhere
)

// DefaultObjective returns the objective of tenants for which none is set.
func DefaultObjective() Objective {
	return Objective{Bound: 0.95, Target: 0.99, Source: ObjectiveBuiltIn}
}

// ObjectiveSet holds the objectives of a fabric.
type ObjectiveSet struct {
	Default Objective
	Tenants map[string]Objective // those that were set, by tenant
}

// Of returns the objective of a tenant.
func (s *ObjectiveSet) Of(tenant string) Objective {
	if o, ok := s.Tenants[tenant]; ok {
		return o
	}
	o := s.Default
	o.Tenant = tenant
	return o
}

// NewObjectiveSet returns the set of the objectives that a fabric has stored.
func NewObjectiveSet(stored []Objective) ObjectiveSet {
	s := ObjectiveSet{Default: DefaultObjective(), Tenants: map[string]Objective{}}
	for _, o := range stored {
		if o.Tenant == "" {
			o.Source = ObjectiveFabric
			s.Default = o
			continue
		}
		o.Source = ObjectiveTenant
		s.Tenants[o.Tenant] = o
	}
	return s
}

// ObjectiveRepo stores objectives.
type ObjectiveRepo interface {
	// Objectives returns the objectives that a fabric has stored, without Source: its default first, then by tenant.
	Objectives(ctx context.Context, fabric string) ([]Objective, error)
	// PutObjective replaces the objective of a tenant, or the default of a fabric.
	PutObjective(ctx context.Context, fabric string, o Objective) error
	// DeleteObjective removes the objective of a tenant, or the default of a fabric with "", and reports whether there was one.
	DeleteObjective(ctx context.Context, fabric, tenant string) (bool, error)
}
