package operations

import (
	"context"
	"fmt"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/audit"
	"fairlane/service/control"
)

// Retention says how long old rows are kept; 0 keeps them forever.
type Retention struct {
	Events    time.Duration // events, except those of rollouts that are kept with their devices
	Rollouts  time.Duration // device rows of rollouts that have ended, after their end
	Plans     time.Duration // plans that no rollout refers to
	Snapshots time.Duration // topologies without a plan, except the latest of each fabric
	Audit     time.Duration // audit entries
}

// MinRetention is the shortest retention: a mistyped unit must not empty the store.
const MinRetention = 24 * time.Hour

// Check rejects ages that are too short or negative.
func (p Retention) Check() error {
	for _, x := range p.ages() {
		if x.age != 0 && x.age < MinRetention {
			return fmt.Errorf("retention of %s is %v: want 0 (for ever) or at least %v", x.name, x.age, MinRetention)
		}
	}
	return nil
}

type retentionAge struct {
	name string
	age  time.Duration
}

func (p Retention) ages() []retentionAge {
	return []retentionAge{{"events", p.Events}, {"rollouts", p.Rollouts}, {"plans", p.Plans}, {"snapshots", p.Snapshots}, {"audit", p.Audit}}
}

// Pruned counts the rows that retention removed.
type Pruned struct {
	Events         int64 `json:"events"`
	RolloutDevices int64 `json:"rollout_devices"`
	Plans          int64 `json:"plans"`
	Snapshots      int64 `json:"snapshots"`
	Audit          int64 `json:"audit"`
	Maintenance    int64 `json:"maintenance"` // announcements, which have a retention of their own
}

// maintenanceKept is how long announced maintenance is kept after its end, as the contract says. The audit log keeps its own record.
const maintenanceKept = 90 * 24 * time.Hour

// pruneBatch is the number of rows that one transaction removes, so that no writer waits long.
const pruneBatch = 500

// Prune removes rows older than the retention, in small transactions.
func (s *Operations) Prune(ctx context.Context, p Retention) (Pruned, error) {
	return Prune(ctx, s.Store, s.Clock, p)
}

// Prune removes rows older than the retention from a store, in small transactions. It may be interrupted at any point and
// run again; two concurrent calls take turns.
func Prune(ctx context.Context, store control.Store, clock func() time.Time, p Retention) (Pruned, error) {
	var out Pruned
	if err := p.Check(); err != nil {
		return out, err
	}
	now := clock().UTC()
	type batch func(control.Repos, time.Time) (int64, error)
	for _, x := range []struct {
		age   time.Duration
		count *int64
		prune batch
	}{
		{p.Events, &out.Events, func(r control.Repos, t time.Time) (int64, error) { return r.PruneEvents(ctx, t, pruneBatch) }},
		{p.Rollouts, &out.RolloutDevices, func(r control.Repos, t time.Time) (int64, error) { return r.PruneRolloutDevices(ctx, t, pruneBatch) }},
		{p.Plans, &out.Plans, func(r control.Repos, t time.Time) (int64, error) { return r.PrunePlans(ctx, t, pruneBatch) }},
		{p.Snapshots, &out.Snapshots, func(r control.Repos, t time.Time) (int64, error) { return r.PruneSnapshots(ctx, t, pruneBatch) }},
		{maintenanceKept, &out.Maintenance, func(r control.Repos, t time.Time) (int64, error) { return r.PruneMaintenance(ctx, t, pruneBatch) }},
		{p.Audit, &out.Audit, func(r control.Repos, t time.Time) (int64, error) { return pruneAudit(ctx, r, t, now) }},
	} {
		for more := x.age > 0; more; {
			err := store.Tx(ctx, func(r control.Repos) error {
				n, err := x.prune(r, now.Add(-x.age))
				*x.count, more = *x.count+n, n > 0
				return err
			})
			if err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// pruneAudit removes one batch and appends, in the same transaction, the entry that vouches for it. The entry of an
// earlier pruning is removed only in a transaction that adds a later one.
func pruneAudit(ctx context.Context, r control.Repos, before, now time.Time) (int64, error) {
	old, err := r.AuditBefore(ctx, before)
	if err != nil || old.Seq == 0 {
		return 0, err
	}
	n, last, err := r.PruneAudit(ctx, old.Seq, pruneBatch)
	if err != nil || n == 0 {
		return 0, err
	}
	return n, control.AuditAt(ctx, r, now, control.AuditRecord{
		Action: audit.ActionPruned, Object: "audit", Outcome: audit.Done,
		Said:  phrase.Of("audit.pruned", "n", n, "last", last.Seq),
		After: audit.Pruned{Through: last, Removed: n},
	})
}
