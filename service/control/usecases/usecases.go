// Package usecases assembles the use cases of all aggregates, for programs that run the whole service.
package usecases

import (
	"fairlane/service/control"
	"fairlane/service/control/drift"
	"fairlane/service/control/fabrics"
	"fairlane/service/control/identity"
	"fairlane/service/control/maintenance"
	"fairlane/service/control/objectives"
	"fairlane/service/control/operations"
	"fairlane/service/control/plans"
	"fairlane/service/control/queries"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/shares"
	"fairlane/service/control/silences"
	"fairlane/service/control/tasks"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/views"
)

// Services are the use cases of the service.
type Services struct {
	*control.Base
	*operations.Operations
	*identity.Accounts
	*fabrics.Fabrics
	*tenancy.Tenancy
	*plans.Plans
	*rollouts.Rollouts
	*drift.Drift
	*shares.Shares
	*tasks.Tasks
	*queries.Queries
	*objectives.Objectives
	*silences.Silences
	*maintenance.Announcements
	*views.Views
}

// New returns the use cases over the given dependencies. Store, Discoverer, Observer and Meter are required.
func New(d control.Deps) (*Services, error) {
	b, err := control.NewBase(d)
	if err != nil {
		return nil, err
	}
	s := &Services{Base: b, Operations: operations.New(b), Accounts: identity.New(b), Fabrics: fabrics.New(b), Tenancy: tenancy.New(b), Plans: plans.New(b)}
	s.Rollouts = rollouts.New(b, s.Plans)
	s.Drift = drift.New(b, s.Plans, s.Rollouts)
	s.Shares = shares.New(b, s.Plans, s.Operations)
	s.Queries = queries.New(b)
	s.Objectives = objectives.New(b)
	s.Silences = silences.New(b)
	s.Announcements = maintenance.New(b)
	s.Views = views.New(b, s.Drift)
	s.Tasks = tasks.New(b, s.Plans, s.Operations)
	return s, nil
}
