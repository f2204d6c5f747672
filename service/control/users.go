package control

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/tenants"
)

// UserInput is a user as a person writes it.
type UserInput struct {
	Name        string
	DisplayName string
	Password    string // new password; empty: none, or the present one stays
	Disabled    bool
	Grants      []tenants.Grant // all roles given here; those of an OpenID provider stay beside them
}

// maxGrants bounds the roles that one account is given here.
const maxGrants = 1000

func checkUser(in UserInput) error {
	switch {
	case !ValidUserName(in.Name):
		return Invalid("/name", phrase.Of("problem.user-name", "found", clipped(in.Name)))
	case reserved(in.Name):
		return Invalid("/name", phrase.Of("problem.user-reserved", "name", in.Name))
	case len(in.DisplayName) > 200:
		return Invalid("/display_name", phrase.Of("problem.display-name", "n", len(in.DisplayName)))
	case len(in.Grants) > maxGrants:
		return Invalid("/roles", phrase.Of("problem.roles-max", "n", len(in.Grants), "max", maxGrants))
	}
	if in.Password != "" {
		if err := checkNewPassword("/password", in.Password, in.Name); err != nil {
			return err
		}
	}
	seen := map[tenants.Domain]bool{}
	for i, g := range in.Grants {
		if err := g.Validate(); err != nil {
			return InvalidFrom(fmt.Sprintf("/roles/%d", i), err)
		}
		if seen[g.Domain] {
			return Invalid(fmt.Sprintf("/roles/%d", i), phrase.Of("problem.role-twice", "domain", g.Domain))
		}
		seen[g.Domain] = true
	}
	return nil
}

// CreateUser adds a user. One that a tenant's administrator named before, and who never had a way
// to sign in, is taken over with the roles it was given there.
func (s *Service) CreateUser(ctx context.Context, in UserInput) (out Account, err error) {
	if err := checkUser(in); err != nil {
		return Account{}, err
	}
	if in.Name == MaskedActor {
		return Account{}, errMasked("/name", "user name")
	}
	a := Account{Kind: PrincipalUser, Name: in.Name, DisplayName: in.DisplayName, Disabled: in.Disabled, CreatedAt: s.now()}
	if in.Password != "" {
		if a.Password, err = s.hash(ctx, in.Password); err != nil {
			return Account{}, err
		}
	}
	err = s.d.Store.Tx(ctx, func(r Repos) error {
		old, err := r.Account(ctx, AccountRef{Kind: PrincipalUser, Name: in.Name})
		if err == nil && old.invited() {
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
		return s.event(ctx, r, Event{Kind: "user.created", Subject: in.Name, Said: phrase.Of("event.user-added", "user", in.Name)}, change{After: userData(out)})
	})
	return out, err
}

// invited reports whether the account is only a name that was given a role: nobody can be it yet.
func (a Account) invited() bool {
	return a.Kind == PrincipalUser && a.Password == "" && a.Subject == "" && a.SignedInAt.IsZero()
}

// give adds the roles of a request; a fabric or tenant that is missing is a fault of its field.
func (s *Service) give(ctx context.Context, r Repos, account int64, grants []tenants.Grant) error {
	for i, g := range grants {
		switch err := r.PutMembership(ctx, account, g, s.now()); {
		case errors.Is(err, ErrNotFound):
			return InvalidFrom(fmt.Sprintf("/roles/%d", i), err)
		case err != nil:
			return err
		}
	}
	return nil
}

// userData is what events and the audit log tell of a user: never a password or its hash.
func userData(a Account) map[string]any {
	roles := make([]string, len(a.Memberships))
	for i, m := range a.Memberships {
		roles[i] = m.Grant.String()
	}
	slices.Sort(roles)
	return map[string]any{"name": a.Name, "display_name": a.DisplayName, "disabled": a.Disabled, "has_password": a.Password != "", "roles": roles}
}

// User returns a user.
func (s *Service) User(ctx context.Context, name string) (a Account, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) {
		a, err = r.Account(ctx, AccountRef{Kind: PrincipalUser, Name: name})
		return err
	})
	return a, err
}

// ListUsers returns users by name.
func (s *Service) ListUsers(ctx context.Context, p Page) (list []Account, next string, err error) {
	err = s.d.Store.View(ctx, func(r Repos) (err error) {
		list, next, err = r.ListAccounts(ctx, PrincipalUser, tenants.Domain{}, p)
		return err
	})
	return list, next, err
}

// UpdateUser replaces a user's properties and the roles given here; version 0 means any version. A
// new password or disabling ends the user's sessions.
func (s *Service) UpdateUser(ctx context.Context, version int64, in UserInput) (out Account, err error) {
	if err := checkUser(in); err != nil {
		return Account{}, err
	}
	var hash string
	if in.Password != "" {
		if hash, err = s.hash(ctx, in.Password); err != nil {
			return Account{}, err
		}
	}
	err = s.d.Store.Tx(ctx, func(r Repos) error {
		a, err := r.Account(ctx, AccountRef{Kind: PrincipalUser, Name: in.Name})
		if err != nil {
			return err
		}
		before := userData(a)
		a.DisplayName, a.Disabled, a.UpdatedAt, a.Version = in.DisplayName, in.Disabled, s.now(), version
		if hash != "" {
			a.Password = hash
		}
		if a, err = r.UpdateAccount(ctx, a); err != nil {
			return err
		}
		if err := r.SetMemberships(ctx, a.ID, SourceLocal, nil, s.now()); err != nil {
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
		data := change{Before: before, After: userData(out)}
		return s.event(ctx, r, Event{Kind: "user.updated", Subject: in.Name, Said: phrase.Of("event.user-changed", "user", in.Name)}, data)
	})
	return out, err
}

// DeleteUser removes a user with its tokens and sessions; version 0 means any version.
func (s *Service) DeleteUser(ctx context.Context, name string, version int64) error {
	return s.d.Store.Tx(ctx, func(r Repos) error {
		a, err := r.Account(ctx, AccountRef{Kind: PrincipalUser, Name: name})
		if err != nil {
			return err
		}
		if version != 0 && version != a.Version {
			return &PreconditionError{Kind: "user", Name: name, Want: version, Have: a.Version}
		}
		if err := r.DeleteAccount(ctx, a.ID); err != nil {
			return err
		}
		if err := s.keepAnAdmin(ctx, r); err != nil {
			return err
		}
		return s.event(ctx, r, Event{Kind: "user.deleted", Subject: name, Said: phrase.Of("event.user-removed", "user", name)}, change{Before: userData(a)})
	})
}

// keepAnAdmin refuses a change after which no enabled user is fabric-admin of everything, unless who makes it
// came with the bootstrap token, which stays, or is the service itself.
func (s *Service) keepAnAdmin(ctx context.Context, r Repos) error {
	if p, ok := PrincipalFrom(ctx); !ok || p.Kind == PrincipalBootstrap {
		return nil
	}
	n, err := r.CountHolders(ctx, tenants.RoleFabricAdmin)
	if err == nil && n == 0 {
		err = &ConflictError{Code: "last-admin", Said: phrase.Of("problem.last-admin")}
	}
	return err
}

// Me returns the account of who asks; *NotFoundError with the bootstrap token, which has none.
func (s *Service) Me(ctx context.Context) (a Account, err error) {
	p, _ := PrincipalFrom(ctx)
	if p.Account == 0 {
		return Account{}, &NotFoundError{Kind: "account", Name: p.Name}
	}
	err = s.d.Store.View(ctx, func(r Repos) (err error) { a, err = r.AccountByID(ctx, p.Account); return err })
	return a, err
}

// Ref names the account.
func (a Account) Ref() AccountRef { return AccountRef{Kind: a.Kind, Name: a.Name, Domain: a.Domain} }
