package fabrics

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Bounds of a rescan.
const (
	rescanTimeout   = 2 * time.Minute  // of one scan
	doubtTime       = 10 * time.Second // delay before a scan that may be incomplete is repeated
	maxRescanEvents = 100              // changes that get an event of their own
)

// rescanState is the state of a fabric between rescans.
type rescanState struct {
	source string // source of the latest scan; another source resets the state
	tried  time.Time
	silent bool   // the latest scan failed, and the event was sent
	shrunk bool   // it found less than half of the fabric, and the event was sent
	doubt  string // the topology that it found, when only a second equal scan confirms it
	// manager is the port of the subnet manager in the latest accepted scan.
	manager ident.PortID
}

// Rediscover rescans the live InfiniBand fabrics that were discovered before and are due: once in every interval, up to a
// tenth earlier or later. It reports changes by events and makes the new topology the latest. Every manager may call it
// at any time; concurrent calls wait for each other.
//
// One scan never removes a fabric. A failed scan changes nothing. A scan with unanswered requests is accepted when the
// next one finds the same. A scan that finds less than half of the nodes is never accepted, since our own cable is the
// likelier cause; a requested discovery (Discover) accepts it. The error joins the service's own failures; a fabric that
// does not answer is an event.
func (s *Fabrics) Rediscover(ctx context.Context, interval time.Duration) error {
	if s.Rescanner == nil || interval <= 0 {
		return nil
	}
	s.rescanning.Lock()
	defer s.rescanning.Unlock()
	now := map[string]*rescanState{} // drops fabrics that were deleted
	err := s.EachFabric(ctx, "rescan", func(fabric string) error {
		o := cmp.Or(s.rescanStates[fabric], &rescanState{})
		now[fabric] = o
		return s.rediscover(ctx, fabric, interval, o)
	})
	if err != nil { // keeps the fabrics that were not reached
		maps.Copy(now, s.rescanStates)
	}
	s.rescanStates = now
	return err
}

// isLive reports whether a source is a fabric that may change without notice.
func isLive(source string) bool {
	return strings.HasPrefix(source, "ibsim:") || strings.HasPrefix(source, "umad:")
}

func (s *Fabrics) rediscover(ctx context.Context, fabric string, interval time.Duration, o *rescanState) error {
	f, err := s.Fabric(ctx, fabric)
	if err != nil || f.Snapshot == nil || !isLive(f.Source) {
		return err
	}
	if o.source != f.Source {
		*o = rescanState{source: f.Source}
	}
	last := f.Snapshot.SeenAt
	if o.tried.After(last) {
		last = o.tried
	}
	due := device.NextTurn(fabric, last, interval)
	if o.doubt != "" {
		due = o.tried.Add(min(doubtTime, interval))
	}
	now := s.Now()
	if now.Before(due) && !last.After(now) { // else the clock was set back
		return nil
	}
	_, known, err := s.Topology(ctx, fabric, f.Snapshot.SHA256)
	if err != nil {
		return err
	}
	o.tried = now
	within, cancel := context.WithTimeout(ctx, rescanTimeout)
	rescan, err := s.Rescanner.Rescan(within, f, known, o.manager)
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		o.doubt = "" // two consecutive scans must agree
		if o.silent {
			return nil
		}
		o.silent = true
		return s.addFabricEvent(ctx, fabric, control.Event{Kind: "fabric.silent", Said: phrase.Of("event.fabric-silent", "fabric", fabric, "reason", err)})
	}
	return s.judgeRescan(ctx, f, known, &rescan, o)
}

// judgeRescan decides whether a scan is accepted.
func (s *Fabrics) judgeRescan(ctx context.Context, f control.Fabric, known *subnet.Fabric, rescan *control.Rescan, o *rescanState) error {
	if o.silent {
		o.silent = false
		if err := s.addFabricEvent(ctx, f.Name, control.Event{Kind: "fabric.answers", Said: phrase.Of("event.fabric-answers", "fabric", f.Name)}); err != nil {
			return err
		}
	}
	lost := 0
	for i := range known.Nodes {
		if _, ok := rescan.Topology.NodeByGUID(known.Nodes[i].GUID); !ok {
			lost++
		}
	}
	if 2*lost > len(known.Nodes) {
		o.doubt = ""
		if o.shrunk {
			return nil
		}
		o.shrunk = true
		return s.addFabricEvent(ctx, f.Name, control.Event{Kind: "fabric.shrunk", Said: phrase.Of("event.fabric-shrunk", "lost", lost, "nodes", len(known.Nodes), "fabric", f.Name)})
	}
	o.shrunk = false
	text, sha, err := control.EncodeTopology(rescan.Topology)
	if err != nil {
		return err
	}
	if sha != f.Snapshot.SHA256 && len(rescan.Stats.Warnings) > 0 && o.doubt != sha {
		o.doubt = sha
		return nil
	}
	o.doubt = ""
	if err := s.keepRescan(ctx, f, rescan, text, sha); err != nil {
		return err
	}
	o.manager = rescan.Manager
	return nil
}

// keepRescan makes a scan's topology the latest one, unless a caller discovered or moved the fabric meanwhile.
func (s *Fabrics) keepRescan(ctx context.Context, f control.Fabric, rescan *control.Rescan, text []byte, sha string) error {
	snap := s.snapshotOf(f.Name, rescan.Topology, rescan.Stats, text, sha)
	return s.Store.Tx(control.OnFabric(ctx, f.Name), func(r control.Repos) error {
		now, err := r.Fabric(ctx, f.Name)
		if err != nil || now.Source != f.Source || now.Snapshot == nil || now.Snapshot.SHA256 != f.Snapshot.SHA256 || !now.Snapshot.SeenAt.Equal(f.Snapshot.SeenAt) {
			return err
		}
		if _, err := s.KeepTopology(ctx, r, snap, rescan.Topology); err != nil {
			return err
		}
		var events []control.Event
		for _, c := range rescan.Changes[:min(len(rescan.Changes), maxRescanEvents)] {
			data, err := json.Marshal(map[string]any{"node": c.Port.Node, "port": c.Port.Port, "peer": c.Peer})
			if err != nil {
				return fmt.Errorf("encode a change of a fabric: %w", err)
			}
			events = append(events, s.fabricEvent(f.Name, control.Event{Kind: "fabric." + c.Kind, Subject: c.Node, Said: c.Said, Data: data}))
		}
		if sha != f.Snapshot.SHA256 {
			said := phrase.Of("event.rediscovered", "changes", len(rescan.Changes), "switches", snap.Switches, "hosts", snap.Hosts, "links", snap.Links)
			events = append(events, s.fabricEvent(f.Name, control.Event{Kind: "fabric.rediscovered", Subject: sha, Said: said}))
		}
		return r.AddEvents(ctx, events)
	})
}

// fabricEvent completes an event about a fabric that the service itself reports.
func (s *Fabrics) fabricEvent(fabric string, e control.Event) control.Event {
	e.At, e.Fabric, e.Actor, e.Subject = s.Now(), fabric, string(control.PrincipalSystem), cmp.Or(e.Subject, fabric)
	return e
}

// addFabricEvent adds such an event; a deleted fabric is no error.
func (s *Fabrics) addFabricEvent(ctx context.Context, fabric string, e control.Event) error {
	err := s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error { return r.AddEvents(ctx, []control.Event{s.fabricEvent(fabric, e)}) })
	if errors.Is(err, control.ErrNotFound) {
		return nil
	}
	return err
}
