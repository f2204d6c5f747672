package control

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlane/internal/phrase"
	"fairlane/tenants"
)

// Account is a person or a program that may hold roles. The bootstrap token belongs to none.
type Account struct {
	ID          int64
	Kind        PrincipalKind  // PrincipalUser or PrincipalService
	Name        string         // see ValidUserName; unique among users, and among the service accounts of a domain
	Domain      tenants.Domain // a service account's home; the zero value for users
	DisplayName string         // at most 200 bytes
	Password    string         // argon2id in PHC text; empty: cannot sign in with a password
	Issuer      string         // OpenID provider and
	Subject     string         // the account's name there; empty: none
	Disabled    bool
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
	SignedInAt  time.Time // zero: never
	Memberships []Membership
}

// Principal is the account as one who acts.
func (a Account) Principal() Principal {
	p := Principal{Kind: a.Kind, Name: a.Name, Account: a.ID, Grants: make([]tenants.Grant, 0, len(a.Memberships))}
	if a.Kind == PrincipalService {
		p.Name = a.Name + "@" + a.Domain.String()
	}
	for _, m := range a.Memberships {
		p.Grants = append(p.Grants, m.Grant)
	}
	slices.SortFunc(p.Grants, tenants.CompareGrants)
	p.Grants = slices.Compact(p.Grants)
	return p
}

// Source says who gave a membership.
type Source string

// Sources of memberships.
const (
	SourceLocal Source = "local" // someone with the right to, here
	SourceOIDC  Source = "oidc"  // the OpenID provider's claims at the latest sign-in
)

// Membership is a role that an account holds in a domain.
type Membership struct {
	tenants.Grant
	Source    Source
	CreatedAt time.Time
}

// Member is a user seen from a tenant.
type Member struct {
	User        string
	DisplayName string
	Membership
}

// AccountRef names an account.
type AccountRef struct {
	Kind   PrincipalKind
	Name   string
	Domain tenants.Domain // of a service account
}

// AccountRepo keeps accounts. Accounts are returned with their memberships.
type AccountRepo interface {
	// CreateAccount adds an account with its memberships.
	CreateAccount(ctx context.Context, a Account) (Account, error)
	Account(ctx context.Context, ref AccountRef) (Account, error)
	AccountByID(ctx context.Context, id int64) (Account, error)
	AccountBySubject(ctx context.Context, issuer, subject string) (Account, error)
	// ListAccounts returns accounts of a kind by name; a service account's must have the domain.
	ListAccounts(ctx context.Context, kind PrincipalKind, d tenants.Domain, p Page) (list []Account, next string, err error)
	// CountAccounts counts accounts of a kind; a service account's must have the domain.
	CountAccounts(ctx context.Context, kind PrincipalKind, d tenants.Domain) (int64, error)
	// UpdateAccount replaces display name, password, provider's subject, Disabled and SignedInAt of
	// the account with the ID at a.Version (0: any version); memberships stay.
	UpdateAccount(ctx context.Context, a Account) (Account, error)
	// DeleteAccount removes an account with its memberships, tokens and sessions.
	DeleteAccount(ctx context.Context, id int64) error
}

// MembershipRepo keeps who has which role where.
type MembershipRepo interface {
	// SetMemberships replaces all that a source gave to an account.
	SetMemberships(ctx context.Context, account int64, source Source, grants []tenants.Grant, at time.Time) error
	// PutMembership gives or changes the local role of an account in the grant's domain.
	PutMembership(ctx context.Context, account int64, g tenants.Grant, at time.Time) error
	// DeleteMembership takes the local role in a domain away; *NotFoundError when there is none.
	DeleteMembership(ctx context.Context, account int64, d tenants.Domain) error
	// CountMembers counts the users that were given a role in one tenant or on one fabric here.
	CountMembers(ctx context.Context, d tenants.Domain) (int64, error)
	// ListMembers returns the users with a role in one tenant or on one fabric, by name.
	ListMembers(ctx context.Context, d tenants.Domain, p Page) (list []Member, next string, err error)
	// CountHolders counts the enabled users that hold a wide role on everything, whatever gave it, and have a way to sign in.
	CountHolders(ctx context.Context, role tenants.Role) (int64, error)
}

// Session is a browser's stay. The secret itself is in the browser's cookie only.
type Session struct {
	ID        int64
	Hash      [32]byte
	Account   int64
	Method    string // "password" or "oidc"
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
}

// SessionRepo keeps browser sessions.
type SessionRepo interface {
	CreateSession(ctx context.Context, s Session) (Session, error)
	SessionByHash(ctx context.Context, hash [32]byte) (Session, error)
	SessionByID(ctx context.Context, id int64) (Session, error)
	TouchSession(ctx context.Context, id int64, at time.Time) error
	// DeleteSession ends a session; one that has ended already is no error.
	DeleteSession(ctx context.Context, id int64) error
	// DeleteSessionsOf ends all sessions of an account but one (0: but none).
	DeleteSessionsOf(ctx context.Context, account, but int64) error
	// DeleteStaleSessions removes sessions that expired or were not seen since the times given.
	DeleteStaleSessions(ctx context.Context, expiredBy, idleSince time.Time) error
}

// SigninFailures is what is remembered of failed sign-ins under one name.
type SigninFailures struct {
	Failures    int
	LastAt      time.Time
	LockedUntil time.Time
}

// SigninRepo keeps failed sign-ins by the SHA-256 of the name that was tried.
type SigninRepo interface {
	// SigninFailures returns the zero value when nothing is remembered.
	SigninFailures(ctx context.Context, name [32]byte) (SigninFailures, error)
	PutSigninFailures(ctx context.Context, name [32]byte, f SigninFailures) error
	ClearSigninFailures(ctx context.Context, name [32]byte) error
	// ForgetSigninFailures removes what is older than a time.
	ForgetSigninFailures(ctx context.Context, before time.Time) error
}

// TokenRepo keeps the hashes of access tokens.
type TokenRepo interface {
	// PutToken adds a token that belongs to no account, or replaces the one of the same name.
	PutToken(ctx context.Context, t Token) error
	// CreateToken adds a token to t.Account; *ConflictError when it has one of that name.
	CreateToken(ctx context.Context, t Token) (Token, error)
	TokenByHash(ctx context.Context, hash [32]byte) (Token, error)
	// ListTokens returns the tokens of an account by name; there are at most MaxTokens.
	ListTokens(ctx context.Context, account int64) ([]Token, error)
	// TouchToken notes when a token was used.
	TouchToken(ctx context.Context, id int64, at time.Time) error
	DeleteToken(ctx context.Context, account int64, name string) error
	CountTokens(ctx context.Context) (int64, error)
}

// ValidUserName reports whether a text is 1 to 63 of a-z, 0-9 and inner . _ - characters.
func ValidUserName(s string) bool {
	if s == "" || len(s) > tenants.MaxNameLength {
		return false
	}
	for i := range len(s) {
		c := s[i]
		inner := (c == '.' || c == '_' || c == '-') && i > 0 && i < len(s)-1
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || inner) {
			return false
		}
	}
	return true
}

// ErrMasked refuses a new name that could be mistaken for whom tenants see in events of others.
func ErrMasked(at, what string) error {
	return Invalid(at, phrase.Of("problem.masked-name", "what", what, "name", MaskedActor))
}

// Reserved reports whether a name stands for something else in events and the audit log.
func Reserved(name string) bool { return name == BootstrapName || name == string(PrincipalSystem) }

// Invited reports whether the account is only a name that was given a role: nobody can be it yet.
func (a Account) Invited() bool {
	return a.Kind == PrincipalUser && a.Password == "" && a.Subject == "" && a.SignedInAt.IsZero()
}

// Ref names the account.
func (a Account) Ref() AccountRef { return AccountRef{Kind: a.Kind, Name: a.Name, Domain: a.Domain} }

// Ends of a browser session.
const (
	SessionIdle = 12 * time.Hour // after its last request
	SessionLife = 24 * time.Hour // after its sign-in, whatever happens
)

// Valid reports whether a session has not ended by age or idleness. One that would live longer than there is was begun
// while the clock was wrong.
func (ses Session) Valid(now time.Time) bool {
	return now.Before(ses.ExpiresAt) && now.Sub(ses.SeenAt) < SessionIdle && ses.ExpiresAt.Sub(now) <= SessionLife+time.Hour
}

// BootstrapName is the name of the first token.
const BootstrapName = "admin"

// Token is an access token; the secret itself is never stored.
type Token struct {
	ID        int64
	Account   int64 // 0: the bootstrap token, which belongs to none
	Name      string
	Hash      [32]byte  // SHA-256 of the token's text
	Scopes    []Scope   // nil: all rights of the account
	ExpiresAt time.Time // zero: never
	UsedAt    time.Time // zero: never; at most usedGrain old when it was
	CreatedAt time.Time
}

// Ended reports whether a token is past its end.
func (t Token) Ended(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// HeldToken is the token that a principal came with; ErrUnauthorized when it was revoked since.
func HeldToken(ctx context.Context, r Repos, p Principal) (Token, error) {
	list, err := r.ListTokens(ctx, p.Account)
	if err != nil {
		return Token{}, err
	}
	i := slices.IndexFunc(list, func(t Token) bool { return t.Name == p.Token })
	if i < 0 {
		return Token{}, ErrUnauthorized
	}
	return list[i], nil
}

// Standing fails with *NotFoundError when the fabric or the tenant of a domain does not exist.
func Standing(ctx context.Context, r Repos, d tenants.Domain) (err error) {
	if d.Whole() {
		_, err = r.Fabric(ctx, d.Fabric)
	} else {
		_, err = r.Tenant(ctx, d.Fabric, d.Tenant)
	}
	return err
}

// Existing drops grants in fabrics and tenants that do not exist, and all but the first in each domain: a
// mapping outlives the fabrics and tenants that it names.
func Existing(ctx context.Context, r Repos, grants []tenants.Grant) ([]tenants.Grant, error) {
	var out []tenants.Grant
	for _, g := range grants {
		if g.Validate() != nil || slices.ContainsFunc(out, func(o tenants.Grant) bool { return o.Domain == g.Domain }) {
			continue
		}
		if !g.Domain.All() {
			switch err := Standing(ctx, r, g.Domain); {
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

// Claimed is an account as one who acts with the roles of claims in place of those of its latest sign-in.
func Claimed(ctx context.Context, r Repos, a Account, claims []tenants.Grant) (Principal, error) {
	grants, err := Existing(ctx, r, claims)
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
