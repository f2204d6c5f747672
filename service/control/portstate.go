package control

import (
	"context"
	"time"

	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// PortState is the state of a port's link as of a scan.
type PortState string

// States of ports.
const (
	PortUp      PortState = "up"      // both ends were up
	PortDown    PortState = "down"    // the port had no link, or an end was down
	PortUnknown PortState = "unknown" // the scan did not find the port
)

// PortStateIn returns the state of a port in a topology.
func PortStateIn(f *subnet.Fabric, id ident.PortID) PortState {
	ref, ok := f.PortByID(id)
	if !ok {
		return PortUnknown
	}
	peer, ok := f.Peer(ref)
	if !ok || f.Port(ref).State == subnet.PortDown || f.Port(peer).State == subnet.PortDown {
		return PortDown
	}
	return PortUp
}

// PortChange is the latest change of a port's state.
type PortChange struct {
	Port  ident.PortID
	State PortState
	Since time.Time // of the scan that found the state first
	Seen  time.Time // of the latest scan before the change
}

// PortChanges returns the changes of the host ports from one topology, seen last at seen, to the next one.
func PortChanges(before, after *subnet.Fabric, seen, now time.Time) (list []PortChange) {
	add := func(id ident.PortID) {
		if state := PortStateIn(after, id); state != PortStateIn(before, id) {
			list = append(list, PortChange{Port: id, State: state, Since: now, Seen: seen})
		}
	}
	eachHostPort(after, add)
	eachHostPort(before, func(id ident.PortID) {
		if _, ok := after.PortByID(id); !ok {
			add(id)
		}
	})
	return list
}

// eachHostPort calls do with every port of a channel adapter.
func eachHostPort(f *subnet.Fabric, do func(ident.PortID)) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind != subnet.KindCA {
			continue
		}
		for num := 1; num < len(n.Ports); num++ {
			do(ident.PortID{Node: n.GUID, Port: ident.PortNum(num)})
		}
	}
}

// KeepTopology makes a scan's topology the latest one of a fabric, and records which ports changed their state.
func (s *Base) KeepTopology(ctx context.Context, r Repos, snap Snapshot, topo *subnet.Fabric) (Snapshot, error) {
	f, err := r.Fabric(ctx, snap.Fabric)
	if err != nil {
		return Snapshot{}, err
	}
	if had := f.Snapshot; had != nil && had.SHA256 != snap.SHA256 {
		stored, err := r.Snapshot(ctx, snap.Fabric, had.SHA256)
		if err != nil {
			return Snapshot{}, err
		}
		if before, err := s.ParseTopology(stored); err == nil { // a topology that cannot be read must not prevent its replacement
			if err := r.PutPortChanges(ctx, snap.Fabric, PortChanges(before, topo, had.SeenAt, snap.SeenAt)); err != nil {
				return Snapshot{}, err
			}
		}
	}
	return r.PutSnapshot(ctx, snap)
}
