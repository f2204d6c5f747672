package fabrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/subnet"
	"fairlane/tenants"
)

// CreateFabric adds a fabric to be managed. Plane "" means "roce" where the source is an inventory, else "ib"; TimeScale
// 0 means 1; Counters "" means CountersClear, Prerequisites "" means PrerequisitesReport.
func (s *Fabrics) CreateFabric(ctx context.Context, f control.Fabric) (control.Fabric, error) {
	if f.Plane == "" {
		f.Plane = policy.PlaneIB
		if isInventory(f.Source) {
			f.Plane = policy.PlaneRoCE
		}
	}
	if f.TimeScale == 0 {
		f.TimeScale = 1
	}
	f.Counters = cmp.Or(f.Counters, control.CountersClear)
	f.Prerequisites = cmp.Or(f.Prerequisites, control.PrerequisitesReport)
	switch {
	case !tenants.ValidName(f.Name):
		return control.Fabric{}, control.Invalid("/name", phrase.Of("problem.bad-name", "found", f.Name))
	case !slices.Contains(policy.Planes(), f.Plane):
		return control.Fabric{}, control.Invalid("/plane", phrase.Of("problem.plane", "found", f.Plane))
	}
	if err := f.CheckSettings(); err != nil {
		return control.Fabric{}, err
	}
	if err := s.checkSource(f.Source, f.Plane); err != nil {
		return control.Fabric{}, err
	}
	f.CreatedAt = s.Now()
	var out control.Fabric
	err := s.Store.Tx(ctx, func(r control.Repos) (err error) {
		if out, err = r.CreateFabric(ctx, f); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: f.Name, Kind: "fabric.created", Subject: f.Name, Said: phrase.Of("event.fabric-created", "fabric", f.Name)},
			control.Change{After: where(f)})
	})
	return out, err
}

// sources lists the forms of sources.
const sources = "umad:CA:PORT, ibsim:unix:NAME, ibsim:udp:HOST:PORT, ethernet:PATH or file:PATH"

// isInventory reports whether a source is the inventory of an Ethernet fabric.
func isInventory(source string) bool { return strings.HasPrefix(source, "ethernet:") }

// checkSource rejects a source that does not fit a plane, or that the configuration forbids.
func (s *Fabrics) checkSource(source string, plane policy.Plane) error {
	if err := checkSource(source, plane); err != nil || s.SourceAllowed == nil {
		return err
	}
	if err := s.SourceAllowed(source); err != nil {
		return control.InvalidFrom("/source", err)
	}
	return nil
}

// checkSource rejects a source that does not fit a plane.
func checkSource(source string, plane policy.Plane) error {
	ib := plane == policy.PlaneIB
	switch {
	case source == "":
		return control.Invalid("/source", phrase.Of("problem.source-empty", "want", sources))
	case isInventory(source) && ib:
		return control.Invalid("/source", phrase.Of("problem.source-ethernet", "source", source))
	case (strings.HasPrefix(source, "ibsim:") || strings.HasPrefix(source, "umad:")) && !ib:
		return control.Invalid("/source", phrase.Of("problem.source-infiniband", "source", source, "plane", plane))
	}
	if port, ok := strings.CutPrefix(source, "umad:"); ok {
		ca, number, _ := strings.Cut(port, ":")
		if n, err := strconv.ParseUint(number, 10, 8); ca == "" || err != nil || n < 1 || n > 254 {
			return control.Invalid("/source", phrase.Of("problem.source-umad", "source", source))
		}
	}
	return nil
}

// Fabric returns a fabric, reduced when the caller sees only its own tenants.
func (s *Fabrics) Fabric(ctx context.Context, name string) (f control.Fabric, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { f, err = r.Fabric(ctx, name); return err })
	if control.VisibleTenants(ctx, name) != nil {
		f = f.Reduced()
	}
	return f, err
}

// ListFabrics returns the fabrics on which the caller has any right, by name.
func (s *Fabrics) ListFabrics(ctx context.Context, p control.Page) (list []control.Fabric, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		who, ok := control.PrincipalFrom(ctx)
		if !ok || who.Wide() {
			list, next, err = r.ListFabrics(ctx, p)
			return err
		}
		list, next, err = r.FabricsNamed(ctx, who.Fabrics(), p)
		for i := range list {
			if !who.Runs(list[i].Name) {
				list[i] = list[i].Reduced()
			}
		}
		return err
	})
	return list, next, err
}

// UpdateFabric changes the fabric f.Name at f.Version (0: at any version): Source and TimeScale, and Counters and
// Prerequisites, which "" leaves unchanged. It starts no discovery. While a rollout runs, a change of the source fails
// with *ConflictError "rollout-running", so that all devices are written and read back at one place. A caller without a
// role on everything gets a *ForbiddenError for a change of the source, since the new source may lead to the devices of
// another fabric.
func (s *Fabrics) UpdateFabric(ctx context.Context, f control.Fabric) (out control.Fabric, err error) {
	if f.Source == "" {
		return control.Fabric{}, control.Invalid("/source", phrase.Of("problem.source-empty", "want", sources))
	}
	err = s.Store.Tx(control.OnFabric(ctx, f.Name), func(r control.Repos) error {
		before, err := r.Fabric(ctx, f.Name)
		if err != nil {
			return err
		}
		f.Counters = cmp.Or(f.Counters, before.Counters)
		f.Prerequisites = cmp.Or(f.Prerequisites, before.Prerequisites)
		if err := f.CheckSettings(); err != nil {
			return err
		}
		if f.Source != before.Source {
			if who, ok := control.PrincipalFrom(ctx); ok && !who.Wide() {
				return &control.ForbiddenError{Said: phrase.Of("problem.source-role")}
			}
			if err := s.checkSource(f.Source, before.Plane); err != nil {
				return err
			}
			if err := control.AtRest(ctx, r, f.Name); err != nil {
				return err
			}
		}
		f.UpdatedAt = s.Now()
		if out, err = r.UpdateFabric(ctx, f); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: f.Name, Kind: "fabric.updated", Subject: f.Name, Said: phrase.Of("event.fabric-changed", "fabric", f.Name)},
			control.Change{Before: where(before), After: where(out)})
	})
	return out, err
}

// where returns the properties of a fabric that a caller can change.
func where(f control.Fabric) map[string]any {
	return map[string]any{"source": f.Source, "plane": f.Plane, "time_scale": f.TimeScale, "counters": f.Counters, "prerequisites": f.Prerequisites}
}

// DeleteFabric deletes a fabric and all its rows, unless a rollout runs on it. While its devices may hold settings of a
// plan, it fails with *ConflictError "plan-in-force" unless keep is set: nothing would manage these settings any more.
func (s *Fabrics) DeleteFabric(ctx context.Context, name string, version int64, keep bool) error {
	return s.Store.Tx(ctx, func(r control.Repos) error {
		if err := control.AtRest(ctx, r, name); err != nil {
			return err
		}
		if !keep {
			if err := bare(ctx, r, name); err != nil {
				return err
			}
		}
		if err := r.DeleteFabric(ctx, name, version); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: name, Kind: "fabric.deleted", Subject: name, Said: deletedText(name, keep)}, nil)
	})
}

func deletedText(name string, keep bool) phrase.Text {
	if keep {
		return phrase.Of("event.fabric-deleted-kept", "fabric", name)
	}
	return phrase.Of("event.fabric-deleted", "fabric", name)
}

// bare fails with *ConflictError "plan-in-force" while a fabric's devices may hold settings of a plan.
func bare(ctx context.Context, r control.Repos, fabric string) error {
	help := phrase.Of("problem.release-first", "fabric", fabric)
	plan, err := control.InForceName(ctx, r, fabric)
	switch {
	case err == nil:
		return &control.ConflictError{Code: "plan-in-force", Said: phrase.Of("problem.plan-in-force", "plan", fmt.Sprintf("%.12s", plan), "fabric", fabric, "help", help)}
	case !errors.Is(err, control.ErrConflict):
		return err
	}
	dirty, err := r.DirtyDevices(ctx, fabric)
	if err == nil && len(dirty) > 0 {
		err = &control.ConflictError{Code: "plan-in-force", Said: phrase.Of("problem.fabric-dirty", "n", len(dirty), "fabric", fabric, "device", dirty[0].Device.Name, "help", help)}
	}
	return err
}

// Discover scans the fabric's source, outside any transaction, and stores the topology.
func (s *Fabrics) Discover(ctx context.Context, name string) (control.Snapshot, error) {
	f, err := s.Fabric(ctx, name)
	if err != nil {
		return control.Snapshot{}, err
	}
	var o policy.Options
	if err := s.Store.View(ctx, func(r control.Repos) (err error) { o, _, err = control.OptionsOf(ctx, r, name); return err }); err != nil {
		return control.Snapshot{}, err
	}
	topo, stats, err := s.Discoverer.Discover(ctx, f.Source, o)
	if err != nil {
		return control.Snapshot{}, &control.UnavailableError{Code: "discovery-failed", Said: phrase.Of("problem.discovery-failed", "fabric", name, "source", f.Source), Err: err}
	}
	stats.Warnings = warningsOf(f, stats)
	text, sha, err := control.EncodeTopology(topo)
	if err != nil {
		return control.Snapshot{}, err
	}
	snap := s.snapshotOf(name, topo, stats, text, sha)
	var out control.Snapshot
	err = s.Store.Tx(control.OnFabric(ctx, name), func(r control.Repos) (err error) {
		if out, err = s.KeepTopology(ctx, r, snap, topo); err != nil {
			return err
		}
		said := phrase.Of("event.discovered", "switches", snap.Switches, "hosts", snap.Hosts, "links", snap.Links)
		if n := len(stats.Warnings); n > 0 {
			said = phrase.Joined(said, phrase.Of("event.warnings", "n", n, "first", stats.Warnings[0]))
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: name, Kind: "fabric.discovered", Subject: sha, Said: said}, nil)
	})
	out.Stats.Warnings = stats.Warnings
	return out, err
}

// snapshotOf returns the snapshot of a new topology.
func (s *Fabrics) snapshotOf(fabric string, topo *subnet.Fabric, stats control.DiscoverStats, text []byte, sha string) control.Snapshot {
	now := s.Now()
	return control.Snapshot{
		Fabric: fabric, SHA256: sha, Topology: text, Nodes: len(topo.Nodes),
		Switches: len(topo.Switches()), Hosts: len(topo.Hosts()), Links: len(topo.Links),
		TakenAt: now, SeenAt: now, Stats: stats,
	}
}

// maxDiscoverWarnings bounds the warnings in an answer: the first ones show what is wrong with most of a large fabric.
const maxDiscoverWarnings = 100

// warningsOf returns the warnings of a discovery, plus those that follow from the fabric's plane.
func warningsOf(f control.Fabric, stats control.DiscoverStats) []phrase.Text {
	list := stats.Warnings
	if stats.Plane != "" && stats.Plane != f.Plane {
		list = slices.Insert(slices.Clone(list), 0, phrase.Of("discovery.other-plane", "fabric", f.Name, "plane", f.Plane, "found", stats.Plane))
	}
	if more := len(list) - maxDiscoverWarnings; more > 0 {
		list = append(slices.Clone(list[:maxDiscoverWarnings]), phrase.Of("list.and-more", "n", more))
	}
	return list
}

// ListSnapshots returns a fabric's snapshots without their topologies, the one seen last first.
func (s *Fabrics) ListSnapshots(ctx context.Context, fabric string, p control.Page) (list []control.Snapshot, next string, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { list, next, err = r.ListSnapshots(ctx, fabric, p); return err })
	return list, next, err
}

// Topology returns a snapshot and its parsed fabric; an empty sha means the latest.
func (s *Fabrics) Topology(ctx context.Context, fabric, sha string) (snap control.Snapshot, topo *subnet.Fabric, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { snap, err = r.Snapshot(ctx, fabric, sha); return err })
	if err != nil {
		return control.Snapshot{}, nil, err
	}
	topo, err = s.ParseTopology(snap)
	return snap, topo, err
}

// LatestTopology returns the latest topology of a fabric, or a conflict when it was never discovered.
func (s *Fabrics) LatestTopology(ctx context.Context, fabric string) (topo *subnet.Fabric, err error) {
	err = s.Store.View(ctx, func(r control.Repos) (err error) { _, topo, err = s.Latest(ctx, r, fabric); return err })
	return topo, err
}
