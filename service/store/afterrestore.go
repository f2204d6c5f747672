package store

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/audit"
	"fairlane/service/control"
)

// restoredBy is the actor of a restore in the audit log.
const restoredBy = "restore"

// settle prepares a restored database for use. It migrates it to this release's schema, pauses the rollouts that were
// running when the backup was made, since the current state of their devices is unknown, and records the restore in the
// audit log. It returns the number of paused rollouts.
func settle(ctx context.Context, database, file string, now time.Time) (paused int, err error) {
	s, err := Open(ctx, database, Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.Tx(ctx, func(r control.Repos) error {
		tail, err := r.AuditTail(ctx)
		if err != nil {
			return err
		}
		running, err := r.RunningRollouts(ctx)
		if err != nil {
			return err
		}
		if err := r.NoteRestored(ctx, now); err != nil {
			return err
		}
		if err := reportHolds(ctx, r); err != nil {
			return err
		}
		ids := []int64{}
		for _, ro := range running {
			ids = append(ids, ro.ID)
			if err := pause(ctx, r, ro, now); err != nil {
				return err
			}
		}
		after, err := json.Marshal(map[string]any{"backup": filepath.Base(file), "backup_end": tail, "paused_rollouts": ids})
		if err != nil {
			return err
		}
		_, err = r.AppendAudit(ctx, audit.Entry{
			At: now, Actor: restoredBy, ActorKind: string(control.PrincipalSystem), Action: "store.restored", Object: "store", Outcome: audit.Done,
			Detail: phrase.Of("audit.restored", "last", tail.Seq).String(), After: after,
		})
		paused = len(ids)
		return err
	})
	return paused, err
}

// reportHolds adds to every fabric the event that its automatic repairs are on hold.
func reportHolds(ctx context.Context, r control.Repos) error {
	for p := (control.Page{Limit: 100}); ; {
		list, next, err := r.ListFabrics(ctx, p)
		if err != nil {
			return err
		}
		for i := range list {
			if err := r.AddEvent(ctx, list[i].RestoredEvent(restoredBy)); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		p.After = next
	}
}

func pause(ctx context.Context, r control.Repos, ro control.Rollout, now time.Time) error {
	if err := r.SetRolloutRequest(ctx, ro.ID, control.RequestPause, restoredBy, ro.Confirmed, now); err != nil {
		return err
	}
	return r.AddEvent(ctx, control.Event{
		At: now, Fabric: ro.Fabric, Rollout: ro.ID, Actor: restoredBy, Kind: "rollout.paused", Subject: ro.Plan,
		Said: phrase.Of("event.restored-pause", "rollout", ro.ID),
	})
}
