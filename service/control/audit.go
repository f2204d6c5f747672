package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/audit"
)

// Origin is where a request came from. The API's middleware sets it.
type Origin struct {
	Addr      string // address of the client, HOST:PORT
	RequestID string
}

// originKey is the context key of an Origin.
type originKey struct{}

// WithOrigin returns a context whose changes are recorded with the origin.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginFrom returns the origin of a request; the zero Origin when the service acts by itself.
func OriginFrom(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// AuditFilter selects audit entries; zero fields select all.
type AuditFilter struct {
	Seq     int64
	Actor   string
	Action  string // a whole code, or a prefix that ends with ".": "tenant."
	Object  string
	Fabric  string
	Outcome string
	Since   time.Time // this instant and later
	Until   time.Time // before this instant
	Oldest  bool      // oldest first; else newest first
}

// AuditRepo stores the audit log.
type AuditRepo interface {
	// AppendAudit chains an entry to the newest one and returns it complete. Entries are appended one at a time, even by
	// concurrent transactions. In a transaction of a narrower scope than ScopeService, the append may happen just before
	// the commit; then the entry is returned as it was given.
	AppendAudit(ctx context.Context, e audit.Entry) (audit.Entry, error)
	// ListAudit returns entries in the order the filter asks for.
	ListAudit(ctx context.Context, f AuditFilter, p Page) (list []audit.Entry, next string, err error)
	// AuditTail returns the end of the chain.
	AuditTail(ctx context.Context) (audit.Tail, error)
	// PruneAudit removes the entries up to a number, at most limit of them, oldest first. It returns how many it removed
	// and the newest of them.
	PruneAudit(ctx context.Context, through int64, limit int) (removed int64, last audit.Tail, err error)
}

// AuditRecord describes an audited action that Service's own change events do not cover.
type AuditRecord struct {
	Fabric  string
	Action  string      // stable code such as "session.refused"
	Object  string      // name of the object
	Outcome string      // audit.Done or audit.Refused
	Said    phrase.Text // the chain of hashes is over its English
	Before  any         // nil, or a value that encodes as JSON; never with a secret in it
	After   any
}

// Audit adds an entry in a transaction of its own, for actions that change nothing, such as a rejected sign-in. Changes
// use AuditIn.
func (s *Base) Audit(ctx context.Context, rec AuditRecord) error {
	return s.Store.Tx(WithScope(ctx, ScopeSignIn), func(r Repos) error { return s.AuditIn(ctx, r, rec) })
}

// AuditIn adds an entry in the transaction of the change that it records. The actor and the origin come from the context.
func (s *Base) AuditIn(ctx context.Context, r Repos, rec AuditRecord) error {
	return AuditAt(ctx, r, s.Now(), rec)
}

// AuditAt adds an entry with a given time to the audit log, in a transaction.
func AuditAt(ctx context.Context, r Repos, now time.Time, rec AuditRecord) error {
	origin := OriginFrom(ctx)
	kind, token := PrincipalSystem, ""
	if p, ok := PrincipalFrom(ctx); ok && p.Kind != "" {
		kind, token = p.Kind, p.Token
	}
	e := audit.Entry{
		At: now, Actor: Actor(ctx), ActorKind: string(kind), Token: token, Addr: origin.Addr, RequestID: origin.RequestID,
		Fabric: rec.Fabric, Action: rec.Action, Object: rec.Object, Outcome: rec.Outcome, Detail: rec.Said.String(), Said: rec.Said,
	}
	var err error
	if e.Before, err = auditJSON(rec.Before); err == nil {
		e.After, err = auditJSON(rec.After)
	}
	if err != nil {
		return fmt.Errorf("audit entry %s: %w", rec.Action, err)
	}
	_, err = r.AppendAudit(ctx, e)
	return err
}

// AuditEvent adds the audit entry of an event. Progress events get no entry: the device rows of a rollout record what it
// did to each device, and its other entries name who began, steered and ended it.
func (s *Base) AuditEvent(ctx context.Context, r Repos, e Event, data any) error {
	if strings.HasSuffix(e.Kind, ".progress") || e.Kind == "device.state" {
		return nil
	}
	rec := AuditRecord{Fabric: e.Fabric, Action: e.Kind, Object: e.Subject, Outcome: audit.Done, Said: e.Said}
	if c, ok := data.(Change); ok {
		rec.Before, rec.After = c.Before, c.After
	} else {
		rec.After = data
	}
	return s.AuditIn(ctx, r, rec)
}

// maxAuditJSON bounds one side of an entry, in bytes; of a larger one only the size is recorded.
const maxAuditJSON = 256 << 10

// auditJSON encodes one side of a change, without secrets.
func auditJSON(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if string(b) == "null" {
		return nil, nil
	}
	if len(b) > maxAuditJSON {
		return json.Marshal(map[string]any{"left_out_bytes": len(b)})
	}
	return redact(b)
}

// secretNames returns names of fields, in lower case without separators, whose values never stay in the log.
func secretNames() []string {
	return []string{"secret", "password", "passphrase", "token", "tokenhash", "hash", "passwordhash", "cckey", "mkey", "dsn", "privatekey", "clientsecret", "authorization", "cookie", "csrf"}
}

// redact replaces the values of secret fields by the word "redacted".
func redact(b []byte) (json.RawMessage, error) {
	lower := strings.ToLower(string(b))
	found := false
	for _, name := range []string{"secret", "pass", "token", "hash", "key", "dsn", "authorization", "cookie", "csrf"} {
		found = found || strings.Contains(lower, name)
	}
	if !found { // nearly always: skip the decoding
		return b, nil
	}
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.UseNumber() // keeps every digit
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(redacted(v))
}

// redacted replaces the secrets of decoded JSON.
func redacted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			plain := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
			if _, isText := value.(string); isText && slices.Contains(secretNames(), plain) {
				v[name] = "redacted"
				continue
			}
			v[name] = redacted(value)
		}
	case []any:
		for i := range v {
			v[i] = redacted(v[i])
		}
	}
	return v
}
