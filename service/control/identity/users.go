package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/tenants"
)

// UserInput is the input for a user.
type UserInput struct {
	Name        string
	DisplayName string
	Password    string // new password; empty: keep the present one, or none
	Disabled    bool
	Grants      []tenants.Grant // all local roles; those of an OpenID provider are kept separately
}

// maxGrants bounds the local roles of one account.
const maxGrants = 1000

func checkUser(in UserInput) error {
	switch {
	case !control.ValidUserName(in.Name):
		return control.Invalid("/name", phrase.Of("problem.user-name", "found", control.Clipped(in.Name)))
	case control.Reserved(in.Name):
		return control.Invalid("/name", phrase.Of("problem.user-reserved", "name", in.Name))
	case len(in.DisplayName) > 200:
		return control.Invalid("/display_name", phrase.Of("problem.display-name", "n", len(in.DisplayName)))
	case len(in.Grants) > maxGrants:
		return control.Invalid("/roles", phrase.Of("problem.roles-max", "n", len(in.Grants), "max", maxGrants))
	}
	if in.Password != "" {
		if err := checkNewPassword("/password", in.Password, in.Name); err != nil {
			return err
		}
	}
	seen := map[tenants.Domain]bool{}
	for i, g := range in.Grants {
		if err := g.Validate(); err != nil {
			return control.InvalidFrom(fmt.Sprintf("/roles/%d", i), err)
		}
		if seen[g.Domain] {
			return control.Invalid(fmt.Sprintf("/roles/%d", i), phrase.Of("problem.role-twice", "domain", g.Domain))
		}
		seen[g.Domain] = true
	}
	return nil
}

// CreateUser adds a user. A user that a tenant's administrator invited and that could never sign in is taken over with
// its roles.
func (s *Accounts) CreateUser(ctx context.Context, in UserInput) (out control.Account, err error) {
	if err := checkUser(in); err != nil {
		return control.Account{}, err
	}
	if in.Name == control.MaskedActor {
		return control.Account{}, control.ErrMasked("/name", "user name")
	}
	a := control.Account{Kind: control.PrincipalUser, Name: in.Name, DisplayName: in.DisplayName, Disabled: in.Disabled, CreatedAt: s.Now()}
	if in.Password != "" {
		if a.Password, err = s.hash(ctx, in.Password); err != nil {
			return control.Account{}, err
		}
	}
	err = s.Store.Tx(ctx, func(r control.Repos) error {
		old, err := r.Account(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: in.Name})
		if err == nil && old.Invited() {
			old.DisplayName, old.Disabled, old.Password, old.UpdatedAt = a.DisplayName, a.Disabled, a.Password, a.CreatedAt
			out, err = r.UpdateAccount(ctx, old)
		} else {
			out, err = r.CreateAccount(ctx, a)
		}
		if err != nil {
			return err
		}
		if err := s.give(ctx, r, out.ID, in.Grants); err != nil {
			return err
		}
		if out, err = r.AccountByID(ctx, out.ID); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Kind: "user.created", Subject: in.Name, Said: phrase.Of("event.user-added", "user", in.Name)}, control.Change{After: userData(out)})
	})
	return out, err
}

// give adds the roles of a request; a missing fabric or tenant is a fault of its field.
func (s *Accounts) give(ctx context.Context, r control.Repos, account int64, grants []tenants.Grant) error {
	for i, g := range grants {
		switch err := r.PutMembership(ctx, account, g, s.Now()); {
		case errors.Is(err, control.ErrNotFound):
			return control.InvalidFrom(fmt.Sprintf("/roles/%d", i), err)
		case err != nil:
			return err
		}
	}
	return nil
}

// userData returns the data of a user in events and the audit log: never a password or its hash.
func userData(a control.Account) map[string]any {
	roles := make([]string, len(a.Memberships))
	for i, m := range a.Memberships {
		roles[i] = m.Grant.String()
	}
	slices.Sort(roles)
	return map[string]any{"name": a.Name, "display_name": a.DisplayName, "disabled": a.Disabled, "has_password": a.Password != "", "roles": roles}
}

// User returns a user.
func (s *Accounts) User(ctx context.Context, name string) (a control.Account, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		a, err = r.Account(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: name})
		return err
	})
	return a, err
}

// ListUsers returns users by name.
func (s *Accounts) ListUsers(ctx context.Context, p control.Page) (list []control.Account, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		list, next, err = r.ListAccounts(ctx, control.PrincipalUser, tenants.Domain{}, p)
		return err
	})
	return list, next, err
}

// UpdateUser replaces a user's properties and local roles; version 0 means any version. A new password, or disabling the
// user, ends its sessions.
func (s *Accounts) UpdateUser(ctx context.Context, version int64, in UserInput) (out control.Account, err error) {
	if err := checkUser(in); err != nil {
		return control.Account{}, err
	}
	var hash string
	if in.Password != "" {
		if hash, err = s.hash(ctx, in.Password); err != nil {
			return control.Account{}, err
		}
	}
	err = s.Store.Tx(ctx, func(r control.Repos) error {
		a, err := r.Account(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: in.Name})
		if err != nil {
			return err
		}
		before := userData(a)
		a.DisplayName, a.Disabled, a.UpdatedAt, a.Version = in.DisplayName, in.Disabled, s.Now(), version
		if hash != "" {
			a.Password = hash
		}
		if a, err = r.UpdateAccount(ctx, a); err != nil {
			return err
		}
		if err := r.SetMemberships(ctx, a.ID, control.SourceLocal, nil, s.Now()); err != nil {
			return err
		}
		if err := s.give(ctx, r, a.ID, in.Grants); err != nil {
			return err
		}
		if hash != "" || in.Disabled {
			if err := r.DeleteSessionsOf(ctx, a.ID, 0); err != nil {
				return err
			}
		}
		if err := s.keepAnAdmin(ctx, r); err != nil {
			return err
		}
		if out, err = r.AccountByID(ctx, a.ID); err != nil {
			return err
		}
		data := control.Change{Before: before, After: userData(out)}
		return s.AddEvent(ctx, r, control.Event{Kind: "user.updated", Subject: in.Name, Said: phrase.Of("event.user-changed", "user", in.Name)}, data)
	})
	return out, err
}

// DeleteUser removes a user with its tokens and sessions; version 0 means any version.
func (s *Accounts) DeleteUser(ctx context.Context, name string, version int64) error {
	return s.Store.Tx(ctx, func(r control.Repos) error {
		a, err := r.Account(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: name})
		if err != nil {
			return err
		}
		if version != 0 && version != a.Version {
			return &control.PreconditionError{Kind: "user", Name: name, Want: version, Have: a.Version}
		}
		if err := r.DeleteAccount(ctx, a.ID); err != nil {
			return err
		}
		if err := s.keepAnAdmin(ctx, r); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Kind: "user.deleted", Subject: name, Said: phrase.Of("event.user-removed", "user", name)}, control.Change{Before: userData(a)})
	})
}

// keepAnAdmin rejects a change that would leave no enabled user with fabric-admin on everything. It allows the change to
// the bootstrap token, which stays valid, and to the service itself.
func (s *Accounts) keepAnAdmin(ctx context.Context, r control.Repos) error {
	if p, ok := control.PrincipalFrom(ctx); !ok || p.Kind == control.PrincipalBootstrap {
		return nil
	}
	n, err := r.CountHolders(ctx, tenants.RoleFabricAdmin)
	if err == nil && n == 0 {
		err = &control.ConflictError{Code: "last-admin", Said: phrase.Of("problem.last-admin")}
	}
	return err
}

// Me returns the caller's account; *NotFoundError with the bootstrap token, which has none.
func (s *Accounts) Me(ctx context.Context) (a control.Account, err error) {
	p, _ := control.PrincipalFrom(ctx)
	if p.Account == 0 {
		return control.Account{}, &control.NotFoundError{Kind: "account", Name: p.Name}
	}
	err = s.Store.View(ctx, func(r control.Repos) (err error) { a, err = r.AccountByID(ctx, p.Account); return err })
	return a, err
}
