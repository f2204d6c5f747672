package control

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"fairlane/internal/phrase"
)

// Policy is one revision of what is wanted of a fabric: its tenants, flows and compile options at a moment. Only its
// label ever changes. Every change of tenants, flows or options makes the next revision in its own transaction.
type Policy struct {
	Fabric    string
	Number    int64       // 1, 2, 3 … on a fabric
	Label     string      // people's name for it; empty is none
	Said      phrase.Text // what changed; of revisions from before message ids verbatim English
	Actor     string
	Restores  int64 // the revision that this one is equal to; 0 when it is no restoration
	Tenants   int   // how many there are
	Flows     int
	CreatedAt time.Time
}

// PartKind is a kind of part that revisions are made of.
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
	Name  string // of a tenant; else empty
	Since int64  // the revision that brought it
	Body  []byte // nil in AddPolicy: it is gone
}

// PolicyRepo keeps revisions.
type PolicyRepo interface {
	// AddPolicy adds the next revision, in which the parts replace those of the same kind and name. Flows below 0
	// are as many as before.
	AddPolicy(ctx context.Context, p Policy, parts []PolicyPart) (Policy, error)
	// Policy returns a revision, 0 for the latest.
	Policy(ctx context.Context, fabric string, number int64) (Policy, error)
	// PolicyParts returns the parts of a revision by kind and name; no kinds are all.
	PolicyParts(ctx context.Context, fabric string, number int64, kinds ...PartKind) ([]PolicyPart, error)
	// ListPolicies returns revisions, newest first.
	ListPolicies(ctx context.Context, fabric string, p Page) (list []Policy, next string, err error)
	LabelPolicy(ctx context.Context, fabric string, number int64, label string) error
}

// SameJSON compares values by what they are stored as.
func SameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
