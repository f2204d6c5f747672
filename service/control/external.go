package control

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/audit"
	"fairlane/tenants"
)

// Identity is what an OpenID provider says of somebody, judged and mapped to our words.
type Identity struct {
	Issuer, Subject string // who it is, for good
	Name            string // what it wants to be called here; see ValidUserName
	DisplayName     string
	Grants          []tenants.Grant // by the claims
	ExpiresAt       time.Time       // when what says so ends
}

// SignInExternal begins a session for somebody the provider vouches for. The account is found by
// issuer and subject, never by name alone: a local account cannot be taken over by an equal name
// at the provider. Roles from the claims replace those of the sign-in before.
func (s *Service) SignInExternal(ctx context.Context, id Identity) (SignedIn, error) {
	var a Account
	err := s.d.Store.Tx(ctx, func(r Repos) (err error) {
		if err := checkIdentity(id); err != nil {
			return err
		}
		if a, err = s.accountOf(ctx, r, id); err != nil {
			return err
		}
		grants, err := existing(ctx, r, id.Grants)
		if err != nil {
			return err
		}
		return r.SetMemberships(ctx, a.ID, SourceOIDC, grants, s.now())
	})
	var forbidden *ForbiddenError
	switch {
	case errors.As(err, &forbidden):
		return SignedIn{}, errors.Join(err, s.refusedExternal(ctx, id.Name, forbidden.Said.String()))
	case err != nil:
		return SignedIn{}, err
	}
	in, err := s.beginSession(ctx, proof{account: a.ID, method: "oidc"})
	if errors.Is(err, ErrUnauthorized) {
		err = errors.Join(err, s.refusedExternal(ctx, a.Name, "the account is disabled"))
	}
	return in, err
}

// refusedExternal notes in the audit log that somebody the provider vouches for was not let in.
func (s *Service) refusedExternal(ctx context.Context, name, why string) error {
	if !ValidUserName(name) {
		name = "" // of the provider's making, and of no use here
	}
	return s.Audit(ctx, AuditRecord{Action: "session.refused", Object: name, Outcome: audit.Refused, Detail: "sign-in at the OpenID provider: " + why})
}

func checkIdentity(id Identity) error {
	switch {
	case id.Issuer == "" || id.Subject == "" || len(id.Subject) > 255 || len(id.Issuer) > 1000:
		return &ForbiddenError{Said: phrase.Of("problem.oidc-no-subject")}
	case !ValidUserName(id.Name) || reserved(id.Name):
		return &ForbiddenError{Said: phrase.Of("problem.oidc-name")}
	}
	return nil
}

// accountOf finds the account of an identity, takes over one that was only invited, or makes one.
func (s *Service) accountOf(ctx context.Context, r Repos, id Identity) (Account, error) {
	a, err := r.AccountBySubject(ctx, id.Issuer, id.Subject)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return a, err
	}
	if id.Name == MaskedActor { // who has it already goes on
		return Account{}, &ForbiddenError{Said: phrase.Of("problem.oidc-operator")}
	}
	named, err := r.Account(ctx, AccountRef{Kind: PrincipalUser, Name: id.Name})
	switch {
	case errors.Is(err, ErrNotFound):
		return r.CreateAccount(ctx, Account{
			Kind: PrincipalUser, Name: id.Name, DisplayName: id.DisplayName, Issuer: id.Issuer, Subject: id.Subject, CreatedAt: s.now(),
		})
	case err != nil:
		return Account{}, err
	case !named.invited():
		return Account{}, &ForbiddenError{Said: phrase.Of("problem.oidc-local")}
	}
	named.Issuer, named.Subject, named.DisplayName, named.UpdatedAt, named.Version = id.Issuer, id.Subject, id.DisplayName, s.now(), 0
	return r.UpdateAccount(ctx, named)
}

// existing drops grants in fabrics and tenants that do not exist, and all but the first in each domain: a
// mapping outlives the fabrics and tenants that it names.
func existing(ctx context.Context, r Repos, grants []tenants.Grant) ([]tenants.Grant, error) {
	var out []tenants.Grant
	for _, g := range grants {
		if g.Validate() != nil || slices.ContainsFunc(out, func(o tenants.Grant) bool { return o.Domain == g.Domain }) {
			continue
		}
		if !g.Domain.All() {
			switch err := standing(ctx, r, g.Domain); {
			case errors.Is(err, ErrNotFound):
				continue
			case err != nil:
				return nil, err
			}
		}
		out = append(out, g)
	}
	return out, nil
}

// claimed is an account as one who acts with the roles of claims in place of those of its latest sign-in.
func claimed(ctx context.Context, r Repos, a Account, claims []tenants.Grant) (Principal, error) {
	grants, err := existing(ctx, r, claims)
	if err != nil {
		return Principal{}, err
	}
	a.Memberships = slices.DeleteFunc(slices.Clone(a.Memberships), func(m Membership) bool { return m.Source == SourceOIDC })
	for _, g := range grants {
		a.Memberships = append(a.Memberships, Membership{Grant: g, Source: SourceOIDC})
	}
	p := a.Principal()
	p.Claims = claims
	return p, nil
}

// External returns who a token of the provider speaks for. The account must have signed in before;
// roles are those of the claims now and those given here. A token without an end is of nobody.
func (s *Service) External(ctx context.Context, id Identity) (Principal, error) {
	if id.ExpiresAt.IsZero() {
		return Principal{}, ErrUnauthorized
	}
	var p Principal
	err := s.d.Store.View(ctx, func(r Repos) error {
		a, err := r.AccountBySubject(ctx, id.Issuer, id.Subject)
		if err != nil {
			return err
		}
		if a.Disabled {
			return ErrUnauthorized
		}
		if p, err = claimed(ctx, r, a, id.Grants); err != nil {
			return err
		}
		p.ExpiresAt = id.ExpiresAt
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return Principal{}, ErrUnauthorized
	}
	return p, err
}
