package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlane/subnet"
	"fairlane/subnet/topofile"
)

// Deps are what the service works through. Store, Discoverer, Compiler, Roller, Observer and
// Meter are required.
type Deps struct {
	Store      Store
	Discoverer Discoverer
	Compiler   Compiler
	Roller     Roller
	Observer   Observer
	Meter      Meter
	Clock      func() time.Time // nil is time.Now
}

// Service is the use cases. It is safe for concurrent use. Call Recover once before the first
// rollout, and Stop at the end.
type Service struct {
	d      Deps
	runner *Runner

	mu         sync.Mutex
	topologies []cachedTopology // most recently used last, at most maxCached
}

type cachedTopology struct {
	sha    string
	fabric *subnet.Fabric
}

// maxCached bounds the parsed topologies kept; parsing one of 10,000 hosts takes a noticeable time.
const maxCached = 8

// New returns a service over the given parts.
func New(d Deps) (*Service, error) {
	if d.Store == nil || d.Discoverer == nil || d.Compiler == nil || d.Roller == nil || d.Observer == nil || d.Meter == nil {
		return nil, fmt.Errorf("service needs a store, a discoverer, a compiler, a roller, an observer and a meter")
	}
	if d.Clock == nil {
		d.Clock = time.Now
	}
	return &Service{d: d, runner: NewRunner()}, nil
}

// Ready reports whether the service can work.
func (s *Service) Ready(ctx context.Context) error { return s.d.Store.Ping(ctx) }

func (s *Service) now() time.Time { return s.d.Clock().UTC() }

// actorKey is the context key of the caller's name.
type actorKey struct{}

// WithActor returns a context whose changes are recorded under the name of who makes them.
func WithActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// actor returns who acts: "system" when nobody in particular does.
func actor(ctx context.Context) string {
	if name, ok := ctx.Value(actorKey{}).(string); ok && name != "" {
		return name
	}
	return "system"
}

// event adds an event in a transaction; data is what the kind of event adds, or nil.
func (s *Service) event(ctx context.Context, r Repos, e Event, data any) error {
	e.At, e.Actor = s.now(), actor(ctx)
	if data != nil {
		b, err := json.Marshal(data)
		if err != nil {
			return fmt.Errorf("encode event %s: %w", e.Kind, err)
		}
		e.Data = b
	}
	return r.AddEvent(ctx, e)
}

// change is the data of an event about a changed thing.
type change struct {
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
}

// encodeTopology gives a topology's file form and its name.
func encodeTopology(f *subnet.Fabric) (text []byte, sha string, err error) {
	var b strings.Builder
	if err := topofile.WriteYAML(&b, f); err != nil {
		return nil, "", fmt.Errorf("write topology: %w", err)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return []byte(b.String()), hex.EncodeToString(sum[:]), nil
}

// parseTopology returns a snapshot's fabric, from the cache when it was parsed before.
func (s *Service) parseTopology(snap Snapshot) (*subnet.Fabric, error) {
	if f := s.cached(snap.SHA256); f != nil {
		return f, nil
	}
	f, err := topofile.Read("snapshot "+snap.SHA256, strings.NewReader(string(snap.Topology)))
	if err != nil {
		return nil, fmt.Errorf("read stored topology: %w", err)
	}
	s.keep(snap.SHA256, f)
	return f, nil
}

func (s *Service) cached(sha string) *subnet.Fabric {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.topologies, func(c cachedTopology) bool { return c.sha == sha })
	if i < 0 {
		return nil
	}
	hit := s.topologies[i]
	s.topologies = append(slices.Delete(s.topologies, i, i+1), hit)
	return hit.fabric
}

func (s *Service) keep(sha string, f *subnet.Fabric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.topologies) == maxCached {
		s.topologies = slices.Delete(s.topologies, 0, 1)
	}
	s.topologies = append(s.topologies, cachedTopology{sha, f})
}

// latest returns a fabric's latest topology inside a transaction, or a conflict that says to
// discover first.
func (s *Service) latest(ctx context.Context, r Repos, fabric string) (Snapshot, *subnet.Fabric, error) {
	f, err := r.Fabric(ctx, fabric)
	if err != nil {
		return Snapshot{}, nil, err
	}
	if f.Snapshot == nil {
		return Snapshot{}, nil, &ConflictError{Code: "not-discovered", Detail: fmt.Sprintf("fabric %q was not discovered yet; discover it first", fabric)}
	}
	if topo := s.cached(f.Snapshot.SHA256); topo != nil {
		return *f.Snapshot, topo, nil
	}
	snap, err := r.Snapshot(ctx, fabric, f.Snapshot.SHA256)
	if err != nil {
		return Snapshot{}, nil, err
	}
	topo, err := s.parseTopology(snap)
	return snap, topo, err
}
