package gnmitree

import (
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
)

// Targets finds targets by name. Its methods are called concurrently, once per request.
type Targets interface {
	// Target returns the tree for a name in prefix.target; the empty name selects the default. Its error should be NotFound
	// (see Errorf).
	Target(name string) (Tree, error)
	// Models returns the models in the answer to Capabilities, which names no target.
	Models() []Model
}

// Single returns Targets with one target, for requests with one of names or without a name. Without names it accepts every
// name.
func Single(t Tree, names ...string) Targets { return single{t, names} }

type single struct {
	tree  Tree
	names []string
}

func (s single) Target(name string) (Tree, error) {
	if name == "" || len(s.names) == 0 || slices.Contains(s.names, name) {
		return s.tree, nil
	}
	return nil, Errorf(codes.NotFound, "no target %q here, this is %q", name, s.names)
}

func (s single) Models() []Model { return s.tree.Info().Models }

// Registry holds targets by name. The zero value is empty. It is safe for concurrent use.
type Registry struct {
	mu     sync.RWMutex
	trees  map[string]Tree
	byName string // name of the default, if any
	models map[Model]int
}

// Add adds a target. It returns an error for a name that is empty or in use.
func (r *Registry) Add(name string, t Tree) error {
	if name == "" {
		return Errorf(codes.InvalidArgument, "a target needs a name")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trees[name] != nil {
		return Errorf(codes.AlreadyExists, "target %q exists", name)
	}
	if r.trees == nil {
		r.trees, r.models = map[string]Tree{}, map[Model]int{}
	}
	r.trees[name] = t
	for _, m := range t.Info().Models {
		r.models[m]++
	}
	return nil
}

// Remove removes a target. Open streams continue until the tree's Get fails.
func (r *Registry) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.trees[name]
	if t == nil {
		return
	}
	delete(r.trees, name)
	for _, m := range t.Info().Models {
		if r.models[m]--; r.models[m] == 0 {
			delete(r.models, m)
		}
	}
}

// Default sets the target of requests without a name. By default, it is the only target if there is just one.
func (r *Registry) Default(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byName = name
}

// Len returns the number of targets.
func (r *Registry) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.trees)
}

var _ Targets = (*Registry)(nil)

func (r *Registry) Target(name string) (Tree, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if name == "" {
		name = r.byName
	}
	if t := r.trees[name]; t != nil {
		return t, nil
	}
	if name != "" {
		return nil, Errorf(codes.NotFound, "no target %q among the %d here", name, len(r.trees))
	}
	if len(r.trees) == 1 {
		for _, t := range r.trees {
			return t, nil
		}
	}
	return nil, Errorf(codes.NotFound, "prefix.target is empty, and there are %d targets here without a default: name one", len(r.trees))
}

// Models implements Targets: it returns the models of all targets, sorted.
func (r *Registry) Models() []Model {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]Model, 0, len(r.models))
	for m := range r.models {
		out = append(out, m)
	}
	slices.SortFunc(out, compareModels)
	return out
}
