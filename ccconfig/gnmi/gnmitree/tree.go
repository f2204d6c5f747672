package gnmitree

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
)

// Tree is what a target holds, as the engine sees it. It must be comparable, as pointers are: the same target is the same
// Tree for as long as it lives, also by several names. Its methods are called concurrently and must be safe for that.
// Their errors travel as they are if they are gRPC statuses (see Errorf), and as codes.Internal otherwise.
type Tree interface {
	// Info describes the tree. It must be cheap and always the same.
	Info() Info
	// Get returns the leaves at or below each path of q, in the order of q.Paths, all of one moment. A path may be a
	// pattern. What a path does not cover and what is not of q.Type may be among them: the engine drops it. Leaves of
	// one node follow each other. Where there is nothing a tree returns nothing; the engine knows when that is an error.
	Get(ctx context.Context, q Query) ([][]Leaf, error)
	// Set does all operations or none, in the order given: deletes, replaces, updates, each in the request's order. Paths
	// have no wildcards that are written out; a key may be left out, which the tree judges. There may be no operations.
	Set(ctx context.Context, ops []Operation) (Result, error)
	// Watch makes the tree call notify at each change of leaves that are not Sampled, once the new values can be read.
	// notify returns at once and takes calls from any goroutine, also after stop. Watchers implements this.
	Watch(notify func(Change)) (stop func())
}

// Info describes a tree.
type Info struct {
	Models []Model
	// Origins lists the origins that paths may name; the empty one stands for paths that name none. With no list origins
	// are not checked, and the tree gets what the client wrote.
	Origins []string
	// Module qualifies the names at the top of JSON_IETF values (RFC 7951, 4). Empty: names are not qualified. A
	// request's names may be qualified by the name of any model of the tree; the tree gets them without.
	Module string
	// Types lists the data types that Get may ask for. Empty: all of them.
	Types []Type
	// Encodings lists the encodings of values in answers. Empty: JSON, JSON_IETF and PROTO.
	Encodings []Encoding
	// SampleInterval is the shortest interval of samples, and what is taken for subscriptions that leave the choice to the
	// target. Zero: the server's limit.
	SampleInterval time.Duration
}

// Model is a schema model of a target.
type Model struct{ Name, Organization, Version string }

// Type tells what a Get asks for.
type Type int8

// Types of data (gNMI specification, 3.3.1).
const (
	TypeAll         Type = iota
	TypeConfig           // what can be written
	TypeState            // what can only be read
	TypeOperational      // state of what runs, which nothing written determines
)

// Class tells which types of data a leaf belongs to.
type Class int8

// Classes of leaves.
const (
	ClassState       Class = iota // read only; what a configuration has become
	ClassConfig                   // can be written
	ClassOperational              // read only, nothing written determines it; also of TypeState
)

// of tells whether a leaf of class c is of type t.
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

// Query is what a Get asks of a tree.
type Query struct {
	Paths []Path
	Type  Type
	// Text allows nodes above leaves to be answered by one Leaf of KindJSON each, as JSON_IETF with names that are not
	// qualified, where all that is below and of Type is of one Class: see MayText. It saves thousands of paths where a tree
	// has long lists.
	Text bool
}

// MayText tells whether the answer to p, one of q's paths, may have a node as a text: p must stand for something above it.
func (q Query) MayText(p, node Path) bool {
	if !q.Text {
		return false
	}
	n, ok := p.Node(node)
	return ok && n < len(node.Elems) // the names at the top of an answer are qualified, those of a text are not
}

// Leaf is a leaf of a tree with its value. A tree may also return a node above leaves, with a value of KindJSON.
type Leaf struct {
	Path  Path // without wildcards, with all keys
	Value Value
	Class Class
	// Sampled tells that the leaf changes without notice, as counters do. Such leaves cannot be subscribed to on change.
	Sampled bool
	// Time is when the value was read from what it is about. Zero: now.
	Time time.Time
}

// Op is what a Set does at a path.
type Op int8

// Operations.
const (
	OpDelete  Op = iota + 1
	OpReplace    // what the value leaves out returns to its default
	OpUpdate     // what the value leaves out stays
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

// Operation is one operation of a Set. The value of a leaf is a scalar or a list of scalars, that of a node above leaves
// is of KindJSON: Flatten takes it apart.
type Operation struct {
	Op    Op
	Path  Path
	Value Value // nothing for OpDelete
}

// Result is what became of a Set.
type Result struct {
	Time time.Time // when it was done; zero: when Set returned
}

// Change tells what has changed.
type Change struct {
	// Paths are nodes that were made, changed or deleted, or above such. None: anything may have changed.
	Paths []Path
	// Generation counts changes; a log shows it. Watchers fills it in.
	Generation uint64
}

// Errorf is an error that reaches the client with a code. See the codes that each method of Tree should use in the
// package comment.
func Errorf(code codes.Code, format string, args ...any) error { return errorf(code, format, args...) }
