package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/control"
	"fairlane/migrations"
)

func TestASurveyReportsHoldsAfterARestore(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		ctx, database := t.Context(), fresh(t, d)
		look := func(want ...FabricSource) {
			t.Helper()
			s, err := Look(ctx, database)
			if d := cmp.Diff(want, s.Fabrics); d != "" || err != nil {
				t.Errorf("fabrics (-want +got), %v:\n%s", err, d)
			}
		}
		atVersion(t, database, d, beforeBaselines)
		lab := FabricSource{Name: "lab", Source: "file:x"}
		look(lab) // a schema that knows no holds
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
