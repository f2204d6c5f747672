package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fairlane/service/series"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/subnet/topofile"
)

// Deps are the dependencies of the service. Store, Discoverer, Observer and Meter are required.
type Deps struct {
	Store      Store
	Discoverer Discoverer
	Observer   Observer
	Meter      Meter
	Rescanner  Rescanner        // nil: discovered fabrics are not rescanned
	Laboratory Laboratory       // nil: no simulations or calibrations
	Series     series.Store     // nil: no series are kept
	Rules      series.Rules     // of the series; nil without
	Abilities  CapabilityReader // nil: capabilities of devices are not available
	Doctor     Doctor           // nil: the service reports no findings about itself
	Clock      func() time.Time // nil is time.Now
	// SourceAllowed rejects sources that the configuration forbids; nil allows all. It must not check whether the source
	// exists.
	SourceAllowed func(source string) error
	// IBProfiles returns the site's profiles of InfiniBand devices; nil: only the built-in ones.
	IBProfiles func() *ibprofile.Set
	// Compiled receives every compilation, for metrics; may be nil.
	Compiled func(plane policy.Plane, took time.Duration, err error)
	// Swept receives every batch of devices that a drift sweep read, for metrics; may be nil.
	Swept func(list []DeviceReport, took time.Duration, err error)
}

// Base is the common part of all use cases: their dependencies, a cache of topologies, and helpers for changes. It is
// safe for concurrent use.
type Base struct {
	Deps            // Store joins transactions, and its changes notify watchers of events
	changed *signal // fires when this process committed a transaction

	mu         sync.Mutex
	topologies []cachedTopology // most recently used last, at most maxCached
}

type cachedTopology struct {
	sha    string
	fabric *subnet.Fabric
}

// maxCached bounds the cache of parsed topologies; parsing one of 10,000 hosts takes noticeable time.
const maxCached = 8

// NewBase returns the base of use cases over the given dependencies.
func NewBase(d Deps) (*Base, error) {
	if d.Store == nil || d.Discoverer == nil || d.Observer == nil || d.Meter == nil {
		return nil, fmt.Errorf("service needs a store, a discoverer, an observer and a meter")
	}
	if d.Clock == nil {
		d.Clock = time.Now
	}
	changed := newSignal()
	d.Store = joining{Store: d.Store, now: func() time.Time { return d.Clock().UTC() }, changed: changed}
	return &Base{Deps: d, changed: changed}, nil
}

// ProfilesOfDevices returns the current profiles of InfiniBand devices.
func (s *Base) ProfilesOfDevices() *ibprofile.Set {
	if s.IBProfiles == nil {
		return nil
	}
	return s.IBProfiles()
}

// Ready reports within seconds whether the service can work: its store answers and accepts writes. Otherwise the error is
// a *UnavailableError that names the failure.
func (s *Base) Ready(ctx context.Context) error { return s.Store.Ping(ctx) }

// Now returns the service's time, in UTC.
func (s *Base) Now() time.Time { return s.Clock().UTC() }

// AddEvent adds an event in a transaction, and its audit entry when it records a change. data is the kind-specific data
// of the event, or nil.
func (s *Base) AddEvent(ctx context.Context, r Repos, e Event, data any) error {
	e.At, e.Actor, e.ByTenant = s.Now(), Actor(ctx), byTenant(ctx, e)
	if data != nil {
		b, err := json.Marshal(data)
		if err != nil {
			return fmt.Errorf("encode event %s: %w", e.Kind, err)
		}
		e.Data = b
	}
	if err := r.AddEvent(ctx, e); err != nil {
		return err
	}
	return s.AuditEvent(ctx, r, e, data)
}

// Change is the data of an event about a changed object.
type Change struct {
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
}

// EncodeTopology returns the file form of a topology and its name.
func EncodeTopology(f *subnet.Fabric) (text []byte, sha string, err error) {
	var b strings.Builder
	if err := topofile.WriteYAML(&b, f); err != nil {
		return nil, "", fmt.Errorf("write topology: %w", err)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return []byte(b.String()), hex.EncodeToString(sum[:]), nil
}

// ParseTopology returns a snapshot's fabric, from the cache when it holds it.
func (s *Base) ParseTopology(snap Snapshot) (*subnet.Fabric, error) {
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

func (s *Base) cached(sha string) *subnet.Fabric {
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

func (s *Base) keep(sha string, f *subnet.Fabric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topologies = slices.DeleteFunc(s.topologies, func(c cachedTopology) bool { return c.sha == sha }) // parsed concurrently
	if len(s.topologies) == maxCached {
		s.topologies = slices.Delete(s.topologies, 0, 1)
	}
	s.topologies = append(s.topologies, cachedTopology{sha, f})
}

// Latest returns a fabric's latest topology inside a transaction, or a conflict that asks for a discovery first.
func (s *Base) Latest(ctx context.Context, r Repos, fabric string) (Snapshot, *subnet.Fabric, error) {
	f, err := r.Fabric(ctx, fabric)
	if err != nil {
		return Snapshot{}, nil, err
	}
	if f.Snapshot == nil {
		return Snapshot{}, nil, &ConflictError{Code: "not-discovered", Said: phrase.Of("problem.discover-first", "fabric", fabric)}
	}
	if topo := s.cached(f.Snapshot.SHA256); topo != nil {
		return *f.Snapshot, topo, nil
	}
	snap, err := r.Snapshot(ctx, fabric, f.Snapshot.SHA256)
	if err != nil {
		return Snapshot{}, nil, err
	}
	topo, err := s.ParseTopology(snap)
	return snap, topo, err
}
