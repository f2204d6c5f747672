package identity

import (
	"context"
	"errors"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/tenants"
)

// Identity is a verified identity from an OpenID provider, mapped to names and roles of this service.
type Identity struct {
	Issuer, Subject string // stable identifier of the account
	Name            string // requested name here; see ValidUserName
	DisplayName     string
	Grants          []tenants.Grant // roles from the claims
	ExpiresAt       time.Time       // end of the token
}

// SignInExternal begins a session for an identity that the provider vouches for. The account is found by issuer and
// subject, never by name alone: an equal name at the provider cannot take over a local account. Roles from the claims
// replace those of the previous sign-in.
func (s *Accounts) SignInExternal(ctx context.Context, id Identity) (SignedIn, error) {
	var a control.Account
	err := s.Store.Tx(ctx, func(r control.Repos) (err error) {
		if err := checkIdentity(id); err != nil {
			return err
		}
		if a, err = s.accountOf(ctx, r, id); err != nil {
			return err
		}
		grants, err := control.Existing(ctx, r, id.Grants)
		if err != nil {
			return err
		}
		return r.SetMemberships(ctx, a.ID, control.SourceOIDC, grants, s.Now())
	})
	var forbidden *control.ForbiddenError
	switch {
	case errors.As(err, &forbidden):
		return SignedIn{}, errors.Join(err, s.refusedExternal(ctx, id.Name, forbidden.Said))
	case err != nil:
		return SignedIn{}, err
	}
	in, err := s.beginSession(ctx, proof{account: a.ID, method: "oidc"})
	if errors.Is(err, control.ErrUnauthorized) {
		err = errors.Join(err, s.refusedExternal(ctx, a.Name, phrase.Of("audit.account-disabled")))
	}
	return in, err
}

// refusedExternal records in the audit log that an identity of the provider was rejected.
func (s *Accounts) refusedExternal(ctx context.Context, name string, why phrase.Text) error {
	if !control.ValidUserName(name) {
		name = "" // the provider chose it, and it is not valid here
	}
	return s.Audit(ctx, control.AuditRecord{Action: "session.refused", Object: name, Outcome: audit.Refused, Said: phrase.Of("audit.oidc-refused", "reason", why)})
}

func checkIdentity(id Identity) error {
	switch {
	case id.Issuer == "" || id.Subject == "" || len(id.Subject) > 255 || len(id.Issuer) > 1000:
		return &control.ForbiddenError{Said: phrase.Of("problem.oidc-no-subject")}
	case !control.ValidUserName(id.Name) || control.Reserved(id.Name):
		return &control.ForbiddenError{Said: phrase.Of("problem.oidc-name")}
	}
	return nil
}

// accountOf finds the account of an identity, takes over one that was only invited, or creates one.
func (s *Accounts) accountOf(ctx context.Context, r control.Repos, id Identity) (control.Account, error) {
	a, err := r.AccountBySubject(ctx, id.Issuer, id.Subject)
	if err == nil || !errors.Is(err, control.ErrNotFound) {
		return a, err
	}
	if id.Name == control.MaskedActor { // an existing account keeps the name
		return control.Account{}, &control.ForbiddenError{Said: phrase.Of("problem.oidc-operator")}
	}
	named, err := r.Account(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: id.Name})
	switch {
	case errors.Is(err, control.ErrNotFound):
		return r.CreateAccount(ctx, control.Account{
			Kind: control.PrincipalUser, Name: id.Name, DisplayName: id.DisplayName, Issuer: id.Issuer, Subject: id.Subject, CreatedAt: s.Now(),
		})
	case err != nil:
		return control.Account{}, err
	case !named.Invited():
		return control.Account{}, &control.ForbiddenError{Said: phrase.Of("problem.oidc-local")}
	}
	named.Issuer, named.Subject, named.DisplayName, named.UpdatedAt, named.Version = id.Issuer, id.Subject, id.DisplayName, s.Now(), 0
	return r.UpdateAccount(ctx, named)
}

// External returns the principal of a token of the provider. The account must have signed in before. Its roles are those
// of the current claims and the local ones. A token without an end is rejected.
func (s *Accounts) External(ctx context.Context, id Identity) (control.Principal, error) {
	if id.ExpiresAt.IsZero() {
		return control.Principal{}, control.ErrUnauthorized
	}
	var p control.Principal
	err := s.Store.View(ctx, func(r control.Repos) error {
		a, err := r.AccountBySubject(ctx, id.Issuer, id.Subject)
		if err != nil {
			return err
		}
		if a.Disabled {
			return control.ErrUnauthorized
		}
		if p, err = control.Claimed(ctx, r, a, id.Grants); err != nil {
			return err
		}
		p.ExpiresAt = id.ExpiresAt
		return nil
	})
	if errors.Is(err, control.ErrNotFound) {
		return control.Principal{}, control.ErrUnauthorized
	}
	return p, err
}
