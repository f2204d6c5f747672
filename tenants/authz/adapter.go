package authz

import (
	"errors"

	"github.com/casbin/casbin/v2/model"
	"github.com/casbin/casbin/v2/persist"

	"fairlane/tenants"
)

// errReadOnly rejects casbin's attempts to store policies: roles are code, memberships are rows of the store, and
// casbin may change neither.
var errReadOnly = errors.New("rights are read-only here: roles are code, memberships belong to the store")

// subject is casbin's name for the one subject of an adapter.
const subject = "subject"

// adapter provides casbin with the memberships of one subject and the table of their roles.
type adapter []tenants.Grant

var _ persist.Adapter = adapter(nil)

var _ persist.Adapter = (*adapter)(nil)

func (a adapter) LoadPolicy(m model.Model) error {
	for _, g := range a {
		if err := g.Validate(); err != nil {
			return err
		}
		if err := persist.LoadPolicyArray([]string{"g", subject, string(g.Role), g.Domain.String()}, m); err != nil {
			return err
		}
		for _, right := range Table(g.Role) {
			for _, action := range right.Actions {
				if err := persist.LoadPolicyArray([]string{"p", string(g.Role), string(right.Object), string(action)}, m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (adapter) SavePolicy(model.Model) error { return errReadOnly }

func (adapter) AddPolicy(string, string, []string) error { return errReadOnly }

func (adapter) RemovePolicy(string, string, []string) error { return errReadOnly }

func (adapter) RemoveFilteredPolicy(string, string, int, ...string) error { return errReadOnly }
