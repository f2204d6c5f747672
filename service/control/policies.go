package control

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"fairlane/internal/phrase"
)

// Policy is one revision of a fabric's declared state: its tenants, flows and compile options. Only its label can change.
// Every change of tenants, flows or options creates the next revision in the same transaction.
type Policy struct {
	Fabric    string
	Number    int64       // 1, 2, 3 … on a fabric
	Label     string      // optional name; may be empty
	Said      phrase.Text // what changed; verbatim English in revisions older than message ids
	Actor     string
	Restores  int64 // the revision that this one restored; 0 when it restored none
	Tenants   int   // number of tenants
	Flows     int
	CreatedAt time.Time
}

// PartKind is a kind of part of a revision.
type PartKind string

// Kinds of parts.
const (
	PartTenant  PartKind = "tenant"
	PartFlows   PartKind = "flows"
	PartOptions PartKind = "options"
)

// PolicyPart is one tenant, all flows or the options of a revision, as JSON.
type PolicyPart struct {
	Kind  PartKind
	Name  string // of the tenant; else empty
	Since int64  // the revision that introduced it
	Body  []byte // nil in AddPolicy: the part is removed
}

// PolicyRepo stores revisions.
type PolicyRepo interface {
	// AddPolicy adds the next revision, in which the parts replace those of the same kind and name. A negative number of
	// flows keeps the previous number.
	AddPolicy(ctx context.Context, p Policy, parts []PolicyPart) (Policy, error)
	// Policy returns a revision, 0 for the latest.
	Policy(ctx context.Context, fabric string, number int64) (Policy, error)
	// PolicyParts returns the parts of a revision by kind and name; without kinds, all of them.
	PolicyParts(ctx context.Context, fabric string, number int64, kinds ...PartKind) ([]PolicyPart, error)
	// ListPolicies returns revisions, newest first.
	ListPolicies(ctx context.Context, fabric string, p Page) (list []Policy, next string, err error)
	LabelPolicy(ctx context.Context, fabric string, number int64, label string) error
}

// SameJSON reports whether two values have the same stored form.
func SameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
