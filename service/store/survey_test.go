package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/migrations"
	"fairlane/service/control"
	"fairlane/service/rollout/riverwork"
)

func TestASurveyReportsHoldsAfterARestore(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		ctx, database := t.Context(), fresh(t, d)
		look := func(want ...FabricSource) {
			t.Helper()
			s, err := ReadSurvey(ctx, database)
			if d := cmp.Diff(want, s.Fabrics); d != "" || err != nil {
				t.Errorf("fabrics (-want +got), %v:\n%s", err, d)
			}
		}
		atVersion(t, database, d, beforeBaselines)
		lab := FabricSource{Name: "lab", Source: "file:x"}
		look(lab) // a schema without holds
		f := &fixture{t: t, s: openAt(t, database, Options{})}
		look(lab)
		at := time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)
		f.tx(func(r control.Repos) error { return r.NoteRestored(ctx, at) })
		held := lab
		held.RestoredAt = at
		look(held)
		f.tx(func(r control.Repos) error { return r.LetRepairs(ctx, "lab") })
		look(lab)
	})
}

// A failed turn of periodic work, as after a lost connection, does not count once a later turn succeeded; all other jobs
// do.
func TestSurveyIgnoresFailedTurnsFollowedBySuccess(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		ctx, database := t.Context(), fresh(t, d)
		s := openAt(t, database, Options{})
		_, err := riverwork.New(ctx, s.Writer(), riverwork.Options{Postgres: d == migrations.Postgres, Name: "m1", Work: func(context.Context, control.Job) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		add := func(kind, name, state, at string) {
			t.Helper()
			args := fmt.Sprintf(`'{"name": %q}'`, name)
			if d == migrations.SQLite {
				args = "jsonb(" + args + ")"
			}
			statement := fmt.Sprintf(`INSERT INTO river_job (args, kind, max_attempts, state, finalized_at) VALUES (%s, '%s', 1, '%s', '%s')`, args, kind, state, at)
			if _, err := s.Writer().ExecContext(ctx, statement); err != nil {
				t.Fatal(err)
			}
		}
		look := func(want int64) {
			t.Helper()
			got, err := ReadSurvey(ctx, database)
			if err != nil || got.Jobs["discarded"] != want {
				t.Errorf("%d jobs were given up, %v; want %d", got.Jobs["discarded"], err, want)
			}
		}
		const first, then, last = "2026-11-23 10:00:01", "2026-11-23 10:00:02", "2026-11-23 10:00:03"
		add("periodic", "drift", "completed", first)
		add("periodic", "shares", "completed", last)
		look(0)
		add("periodic", "drift", "discarded", then)
		look(1)
		add("periodic", "drift", "completed", last)
		look(0)
		add("rollout-step", "drift", "discarded", first)
		look(1)
	})
}
