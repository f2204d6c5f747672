package identity

import (
	"context"
	"errors"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/tenants"
)

// Limits of the objects that an administrator of a tenant or a fabric may add. They keep such a caller from filling the database.
const (
	MaxMembers         = 1000 // of one tenant or one fabric, with a local role
	MaxServiceAccounts = 100  // of one tenant, or without a tenant
)

// ListMembers returns the users with a role in a tenant or on a fabric, by name. Only callers that may see all users
// receive display names: an administrator of one tenant or fabric may add any name as a member, and must not learn from
// that which users exist.
func (s *Accounts) ListMembers(ctx context.Context, d tenants.Domain, p control.Page) (list []control.Member, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { list, next, err = r.ListMembers(ctx, d, p); return err })
	if who, ok := control.PrincipalFrom(ctx); ok && !who.Wide() {
		for i := range list {
			if list[i].User != who.Name {
				list[i].DisplayName = ""
			}
		}
	}
	return list, next, err
}

// PutMember gives a user a role in a tenant or on a fabric. An unknown name is stored as invited, so that the caller
// cannot tell from the answer which users exist. Exceeding MaxMembers is a *ConflictError.
func (s *Accounts) PutMember(ctx context.Context, user string, g tenants.Grant) (out control.Member, err error) {
	switch {
	case !control.ValidUserName(user) || control.Reserved(user):
		return control.Member{}, control.Invalid("/user", phrase.Of("problem.user-name", "found", control.Clipped(user)))
	case user == control.MaskedActor: // even when an account has the name: the answer must not reveal it
		return control.Member{}, control.ErrMasked("/user", "user name")
	case g.Domain.All():
		return control.Member{}, control.Invalid("/role", phrase.Of("problem.role-global", "role", g.Role))
	case g.Role.Wide() && !g.Domain.IsFabric():
		return control.Member{}, control.Invalid("/role", phrase.Of("problem.role-fabric", "role", g.Role, "first", tenants.RoleTenantAdmin, "second", tenants.RoleTenantViewer))
	}
	if err := g.Validate(); err != nil {
		return control.Member{}, control.InvalidFrom("/role", err)
	}
	err = s.Store.Tx(ctx, func(r control.Repos) error {
		if err := control.Standing(ctx, r, g.Domain); err != nil {
			return err
		}
		a, err := r.Account(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: user})
		if err := roomFor(ctx, r, a, g.Domain); err != nil {
			return err
		}
		if errors.Is(err, control.ErrNotFound) {
			a, err = r.CreateAccount(ctx, control.Account{Kind: control.PrincipalUser, Name: user, CreatedAt: s.Now()})
		}
		if err != nil {
			return err
		}
		if err := r.PutMembership(ctx, a.ID, g, s.Now()); err != nil {
			return err
		}
		out = control.Member{User: user, Membership: control.Membership{Grant: g, Source: control.SourceLocal, CreatedAt: s.Now()}}
		e := memberEvent(g.Domain)
		e.Said = phrase.Of("event.member", "user", user, "role", string(g.Role), "kind", control.KindText(strings.TrimSuffix(e.Kind, ".member")), "name", e.Subject)
		return s.AddEvent(ctx, r, e, control.Change{After: map[string]string{"user": user, "role": string(g.Role)}})
	})
	return out, err
}

// memberEvent returns an event, without its message, about the members of a tenant or of a fabric.
func memberEvent(d tenants.Domain) control.Event {
	if d.IsFabric() {
		return control.Event{Fabric: d.Fabric, Kind: "fabric.member", Subject: d.Fabric}
	}
	return control.Event{Fabric: d.Fabric, Kind: "tenant.member", Subject: d.Tenant}
}

// roomFor returns a *ConflictError when a tenant or a fabric has the maximum number of members and the account is not one
// of them.
func roomFor(ctx context.Context, r control.Repos, a control.Account, d tenants.Domain) error {
	if slices.ContainsFunc(a.Memberships, func(m control.Membership) bool { return m.Source == control.SourceLocal && m.Domain == d }) {
		return nil
	}
	n, err := r.CountMembers(ctx, d)
	if err == nil && n >= MaxMembers {
		err = &control.ConflictError{Code: "too-many", Said: phrase.Of("problem.members-max", "domain", d, "n", n)}
	}
	return err
}

// DeleteMember removes a user's local role in a tenant or on a fabric; *NotFoundError when there is none.
func (s *Accounts) DeleteMember(ctx context.Context, user string, d tenants.Domain) error {
	return s.Store.Tx(ctx, func(r control.Repos) error {
		if err := control.Standing(ctx, r, d); err != nil {
			return err
		}
		a, err := r.Account(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: user})
		if err == nil {
			err = r.DeleteMembership(ctx, a.ID, d)
		}
		if errors.Is(err, control.ErrNotFound) {
			return &control.NotFoundError{Kind: "member", Name: user}
		}
		if err != nil {
			return err
		}
		if a.Invited() && len(a.Memberships) == 1 {
			if err := r.DeleteAccount(ctx, a.ID); err != nil { // the account was an invitation only
				return err
			}
		}
		e := memberEvent(d)
		e.Said = phrase.Of("event.member-removed", "user", user, "kind", control.KindText(strings.TrimSuffix(e.Kind, ".member")), "name", e.Subject)
		return s.AddEvent(ctx, r, e, control.Change{Before: map[string]string{"user": user}})
	})
}

// ServiceAccountInput is the input for a service account.
type ServiceAccountInput struct {
	Name        string
	DisplayName string
	Grant       tenants.Grant // its one role; see Home
}

// Home returns the domain that the account belongs to: its tenant. An account with a role on one fabric or on everything
// belongs to the service, because only administrators of the service grant such roles.
func (in ServiceAccountInput) Home() tenants.Domain {
	if in.Grant.Domain.Tenant == "" {
		return tenants.Domain{}
	}
	return in.Grant.Domain
}

// CreateServiceAccount adds an account for a program. It authenticates with tokens only. Exceeding MaxServiceAccounts in
// its home is a *ConflictError; a role on a fabric that does not exist is an *InvalidError.
func (s *Accounts) CreateServiceAccount(ctx context.Context, in ServiceAccountInput) (out control.Account, err error) {
	switch {
	case !tenants.ValidName(in.Name):
		return control.Account{}, control.Invalid("/name", phrase.Of("problem.bad-name", "found", control.Clipped(in.Name)))
	case in.Name == control.MaskedActor:
		return control.Account{}, control.ErrMasked("/name", "name")
	case len(in.DisplayName) > 200:
		return control.Account{}, control.Invalid("/display_name", phrase.Of("problem.display-name", "n", len(in.DisplayName)))
	}
	if err := in.Grant.Validate(); err != nil {
		return control.Account{}, control.InvalidFrom("/role", err)
	}
	now, home := s.Now(), in.Home()
	err = s.Store.Tx(ctx, func(r control.Repos) error {
		if in.Grant.Domain.IsFabric() {
			switch err := control.Standing(ctx, r, in.Grant.Domain); {
			case errors.Is(err, control.ErrNotFound):
				return control.InvalidFrom("/fabric", err)
			case err != nil:
				return err
			}
		}
		n, err := r.CountAccounts(ctx, control.PrincipalService, home)
		if err != nil {
			return err
		}
		if n >= MaxServiceAccounts {
			return &control.ConflictError{Code: "too-many", Said: phrase.Of("problem.accounts-max", "home", home, "n", n)}
		}
		out, err = r.CreateAccount(ctx, control.Account{
			Kind: control.PrincipalService, Name: in.Name, Domain: home, DisplayName: in.DisplayName, CreatedAt: now,
			Memberships: []control.Membership{{Grant: in.Grant, Source: control.SourceLocal, CreatedAt: now}},
		})
		if err != nil {
			return err
		}
		return s.AddEvent(ctx, r, s.accountEvent(out, "service-account.created", phrase.Of("event.account-added", "name", out.Principal().Name)), control.Change{After: userData(out)})
	})
	return out, err
}

// accountEvent returns an event about a service account; it is in its tenant's list when it has a tenant.
func (s *Accounts) accountEvent(a control.Account, kind string, said phrase.Text) control.Event {
	name := a.Principal().Name
	e := control.Event{Kind: kind, Subject: name, Said: said}
	if !a.Domain.All() {
		e.Fabric, e.Kind, e.Subject = a.Domain.Fabric, "tenant."+kind, a.Domain.Tenant
	}
	return e
}

// ListServiceAccounts returns the service accounts of a domain by name.
func (s *Accounts) ListServiceAccounts(ctx context.Context, d tenants.Domain, p control.Page) (list []control.Account, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		list, next, err = r.ListAccounts(ctx, control.PrincipalService, d, p)
		return err
	})
	return list, next, err
}

// DeleteServiceAccount removes a service account with its tokens.
func (s *Accounts) DeleteServiceAccount(ctx context.Context, d tenants.Domain, name string) error {
	return s.Store.Tx(ctx, func(r control.Repos) error {
		a, err := r.Account(ctx, control.AccountRef{Kind: control.PrincipalService, Name: name, Domain: d})
		if err != nil {
			return err
		}
		if err := r.DeleteAccount(ctx, a.ID); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, s.accountEvent(a, "service-account.deleted", phrase.Of("event.account-removed", "name", a.Principal().Name)), control.Change{Before: userData(a)})
	})
}
