package gnmitree

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
)

// Tree holds the state of a target. It must be comparable, as pointers are: a target must be the same Tree during its lifetime,
// even under several names. Its methods must be safe for concurrent use. Their errors are returned unchanged to the client if
// they are gRPC statuses (see Errorf), and otherwise with codes.Internal.
type Tree interface {
	// Info describes the tree. It must be cheap and constant.
	Info() Info
	// Get returns the leaves at or below each path of q, in the order of q.Paths, all of the same moment. A path may be a
	// pattern. The result may contain leaves that a path does not cover or that are not of q.Type; the server drops them.
	// Leaves of one node must be consecutive. For a path without leaves the tree returns none; the server decides whether that
	// is an error.
	Get(ctx context.Context, q Query) ([][]Leaf, error)
	// Set executes all operations or none, in the given order: deletes, replaces, updates, each in the request's order. Paths
	// have no explicit wildcards; a key may be missing, and the tree decides whether that is allowed. ops may be empty.
	Set(ctx context.Context, ops []Operation) (Result, error)
	// Watch makes the tree call notify at each change of leaves that are not Sampled, when the new values can be read. notify
	// returns at once and may be called from any goroutine, also after stop. Watchers implements this method.
	Watch(notify func(Change)) (stop func())
}

// Info describes a tree.
type Info struct {
	Models []Model
	// Origins are the origins allowed in paths; the empty one allows paths without origin. An empty list disables the check,
	// and the tree gets the client's origin.
	Origins []string
	// Module is the prefix of the top-level names in JSON_IETF values (RFC 7951, 4); empty means no prefix. Names in requests
	// may have the prefix of any model of the tree; the tree gets them without.
	Module string
	// Types are the data types allowed in Get; empty means all.
	Types []Type
	// Encodings are the encodings of values in answers; empty means JSON, JSON_IETF and PROTO.
	Encodings []Encoding
	// SampleInterval is the shortest sample interval, and the one of subscriptions that leave the choice to the target. Zero
	// selects the server's limit.
	SampleInterval time.Duration
}

// Model is a schema model of a target.
type Model struct{ Name, Organization, Version string }

// Type is the data type of a Get.
type Type int8

// Types of data (gNMI specification, 3.3.1).
const (
	TypeAll         Type = iota
	TypeConfig           // writable data
	TypeState            // read-only data
	TypeOperational      // operational state, independent of the configuration
)

// Class determines the data types of a leaf.
type Class int8

// Classes of leaves.
const (
	ClassState       Class = iota // read-only; the effective value of a configuration
	ClassConfig                   // writable
	ClassOperational              // read-only, independent of the configuration; also of TypeState
)

// of reports whether a leaf of class c is of type t.
func (c Class) of(t Type) bool {
	switch t {
	case TypeAll:
		return true
	case TypeConfig:
		return c == ClassConfig
	case TypeOperational:
		return c == ClassOperational
	default:
		return c != ClassConfig
	}
}

// Query is the argument of a tree's Get.
type Query struct {
	Paths []Path
	Type  Type
	// Text allows the tree to return a node above leaves as one Leaf of KindJSON, as JSON_IETF without name prefixes, if all
	// leaves below it are of Type and of one Class: see MayText. It saves thousands of paths in trees with long lists.
	Text bool
}

// MayText reports whether the answer to p, one of q's paths, may contain a node as text: p must match a node above it.
func (q Query) MayText(p, node Path) bool {
	if !q.Text {
		return false
	}
	n, ok := p.Node(node)
	return ok && n < len(node.Elems) // top-level names of an answer have a prefix, those of a text do not
}

// Leaf is a leaf of a tree with its value. A tree may also return a node above leaves as a Leaf, with a value of KindJSON.
type Leaf struct {
	Path  Path // without wildcards, with all keys
	Value Value
	Class Class
	// Sampled means that the leaf changes without notice, as counters do. Such leaves do not support on-change subscriptions.
	Sampled bool
	// Time is the time when the value was read from its source. Zero means now.
	Time time.Time
}

// Op is the kind of a Set operation.
type Op int8

// Operations.
const (
	OpDelete  Op = iota + 1
	OpReplace    // values missing in the operation return to their defaults
	OpUpdate     // values missing in the operation stay
)

func (o Op) String() string {
	switch o {
	case OpDelete:
		return "delete"
	case OpReplace:
		return "replace"
	case OpUpdate:
		return "update"
	default:
		return "unknown operation"
	}
}

// Operation is one operation of a Set. The value of a leaf is a scalar or a list of scalars; that of a node above leaves is of
// KindJSON, which Flatten splits.
type Operation struct {
	Op    Op
	Path  Path
	Value Value // none for OpDelete
}

// Result is the result of a Set.
type Result struct {
	Time time.Time // time of execution; zero means the time when Set returned
}

// Change describes a change.
type Change struct {
	// Paths are nodes that were created, changed or deleted, or nodes above them. Empty means that anything may have changed.
	Paths []Path
	// Generation is the number of the change, for logs. Watchers sets it.
	Generation uint64
}

// Errorf returns an error that reaches the client with a code. The package comment lists the codes for the methods of Tree.
func Errorf(code codes.Code, format string, args ...any) error { return errorf(code, format, args...) }
