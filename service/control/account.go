package control

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlane/internal/phrase"
	"fairlane/tenants"
)

// Account is a user or a service account, which may hold roles. The bootstrap token belongs to no account.
type Account struct {
	ID          int64
	Kind        PrincipalKind  // PrincipalUser or PrincipalService
	Name        string         // see ValidUserName; unique among users, and among the service accounts of a domain
	Domain      tenants.Domain // a service account's home; the zero value for users
	DisplayName string         // at most 200 bytes
	Password    string         // argon2id in PHC text; empty: cannot sign in with a password
	Issuer      string         // OpenID provider and …
	Subject     string         // … the account's subject there; empty: not linked to a provider
	Disabled    bool
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
	SignedInAt  time.Time // zero: never
	Memberships []Membership
}

// Principal returns the principal that acts as the account.
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

// Source is the origin of a membership.
type Source string

// Sources of memberships.
const (
	SourceLocal Source = "local" // granted by an authorised user of this service
	SourceOIDC  Source = "oidc"  // from the OpenID provider's claims at the latest sign-in
)

// Membership is a role that an account holds in a domain.
type Membership struct {
	tenants.Grant
	Source    Source
	CreatedAt time.Time
}

// Member is a user with its role in one tenant or on one fabric.
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

// AccountRepo stores accounts. Accounts are returned with their memberships.
type AccountRepo interface {
	// CreateAccount adds an account with its memberships.
	CreateAccount(ctx context.Context, a Account) (Account, error)
	Account(ctx context.Context, ref AccountRef) (Account, error)
	AccountByID(ctx context.Context, id int64) (Account, error)
	AccountBySubject(ctx context.Context, issuer, subject string) (Account, error)
	// ListAccounts returns accounts of a kind by name; for service accounts, only those of the domain.
	ListAccounts(ctx context.Context, kind PrincipalKind, d tenants.Domain, p Page) (list []Account, next string, err error)
	// CountAccounts counts accounts of a kind; for service accounts, only those of the domain.
	CountAccounts(ctx context.Context, kind PrincipalKind, d tenants.Domain) (int64, error)
	// UpdateAccount replaces display name, password, provider subject, Disabled and SignedInAt of the account with the ID
	// at a.Version (0: any version). Memberships do not change.
	UpdateAccount(ctx context.Context, a Account) (Account, error)
	// DeleteAccount removes an account with its memberships, tokens and sessions.
	DeleteAccount(ctx context.Context, id int64) error
}

// MembershipRepo stores the roles of accounts in domains.
type MembershipRepo interface {
	// SetMemberships replaces all memberships of an account that come from one source.
	SetMemberships(ctx context.Context, account int64, source Source, grants []tenants.Grant, at time.Time) error
	// PutMembership sets the local role of an account in the grant's domain.
	PutMembership(ctx context.Context, account int64, g tenants.Grant, at time.Time) error
	// DeleteMembership removes the local role in a domain; *NotFoundError when there is none.
	DeleteMembership(ctx context.Context, account int64, d tenants.Domain) error
	// CountMembers counts the users with a local role in one tenant or on one fabric.
	CountMembers(ctx context.Context, d tenants.Domain) (int64, error)
	// ListMembers returns the users with a role in one tenant or on one fabric, by name.
	ListMembers(ctx context.Context, d tenants.Domain, p Page) (list []Member, next string, err error)
	// CountHolders counts the enabled users that hold a wide role on everything, from any source, and can sign in.
	CountHolders(ctx context.Context, role tenants.Role) (int64, error)
}

// Session is a browser session. Only the browser's cookie has the secret.
type Session struct {
	ID        int64
	Hash      [32]byte
	Account   int64
	Method    string // "password" or "oidc"
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
}

// SessionRepo stores browser sessions.
type SessionRepo interface {
	CreateSession(ctx context.Context, s Session) (Session, error)
	SessionByHash(ctx context.Context, hash [32]byte) (Session, error)
	SessionByID(ctx context.Context, id int64) (Session, error)
	TouchSession(ctx context.Context, id int64, at time.Time) error
	// DeleteSession ends a session; it is no error when the session has ended already.
	DeleteSession(ctx context.Context, id int64) error
	// DeleteSessionsOf ends all sessions of an account except the session but (0: no exception).
	DeleteSessionsOf(ctx context.Context, account, but int64) error
	// DeleteStaleSessions removes sessions that expired by expiredBy or were last seen before idleSince.
	DeleteStaleSessions(ctx context.Context, expiredBy, idleSince time.Time) error
}

// SigninFailures counts failed sign-ins under one name.
type SigninFailures struct {
	Failures    int
	LastAt      time.Time
	LockedUntil time.Time
}

// SigninRepo stores failed sign-ins by the SHA-256 of the attempted name.
type SigninRepo interface {
	// SigninFailures returns the zero value when no failure is stored.
	SigninFailures(ctx context.Context, name [32]byte) (SigninFailures, error)
	PutSigninFailures(ctx context.Context, name [32]byte, f SigninFailures) error
	ClearSigninFailures(ctx context.Context, name [32]byte) error
	// ForgetSigninFailures removes failures older than a time.
	ForgetSigninFailures(ctx context.Context, before time.Time) error
}

// TokenRepo stores the hashes of access tokens.
type TokenRepo interface {
	// PutToken adds a token without an account, or replaces the one of the same name.
	PutToken(ctx context.Context, t Token) error
	// CreateToken adds a token to t.Account; *ConflictError when the account has a token of that name.
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

// ErrMasked rejects a new name that equals the mask for actors whose names tenants must not see in events.
func ErrMasked(at, what string) error {
	return Invalid(at, phrase.Of("problem.masked-name", "what", what, "name", MaskedActor))
}

// Reserved reports whether events and the audit log use a name for something else.
func Reserved(name string) bool { return name == BootstrapName || name == string(PrincipalSystem) }

// Invited reports whether the account is only an invited name: it has a role, but no credentials to sign in yet.
func (a Account) Invited() bool {
	return a.Kind == PrincipalUser && a.Password == "" && a.Subject == "" && a.SignedInAt.IsZero()
}

// Ref returns the reference that names the account.
func (a Account) Ref() AccountRef { return AccountRef{Kind: a.Kind, Name: a.Name, Domain: a.Domain} }

// Lifetimes of a browser session.
const (
	SessionIdle = 12 * time.Hour // after its last request
	SessionLife = 24 * time.Hour // after its sign-in, regardless of activity
)

// IdleExpiresAt returns when the session ends if no request follows.
func (ses Session) IdleExpiresAt() time.Time {
	if idle := ses.SeenAt.Add(SessionIdle); idle.Before(ses.ExpiresAt) {
		return idle
	}
	return ses.ExpiresAt
}

// Valid reports whether a session has ended neither by age nor by idleness. A session that would outlive SessionLife was
// created while the clock was wrong, and is not valid.
func (ses Session) Valid(now time.Time) bool {
	return now.Before(ses.ExpiresAt) && now.Sub(ses.SeenAt) < SessionIdle && ses.ExpiresAt.Sub(now) <= SessionLife+time.Hour
}

// BootstrapName is the name of the bootstrap token.
const BootstrapName = "admin"

// Token is an access token; the secret itself is never stored.
type Token struct {
	ID        int64
	Account   int64 // 0: the bootstrap token, which belongs to no account
	Name      string
	Hash      [32]byte  // SHA-256 of the token's text
	Scopes    []Scope   // nil: all rights of the account
	ExpiresAt time.Time // zero: never
	UsedAt    time.Time // zero: never; recorded at most once per usedGrain
	CreatedAt time.Time
}

// Ended reports whether a token has expired.
func (t Token) Ended(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// HeldToken returns the token that a principal authenticated with; ErrUnauthorized when it has been revoked since.
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
	if d.IsFabric() {
		_, err = r.Fabric(ctx, d.Fabric)
	} else {
		_, err = r.Tenant(ctx, d.Fabric, d.Tenant)
	}
	return err
}

// Existing drops grants in fabrics and tenants that do not exist, and all but the first in each domain. A mapping of
// claims can outlive the fabrics and tenants that it names.
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

// Claimed returns an account's principal with the roles of claims in place of those of its latest sign-in.
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
