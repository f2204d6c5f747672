package app

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/rollout/riverwork"
	"fairlane/service/setup"
)

// TestTheServiceAppliesItsRetention does the periodic work of a manager that was opened as `fairlane serve` opens it.
func TestTheServiceAppliesItsRetention(t *testing.T) {
	t.Parallel()
	s := &serving{app: testApp(t, "en"), config: config.Default(), log: slog.New(slog.DiscardHandler)}
	s.config.Database = filepath.Join(t.TempDir(), "f.db")
	s.config.Retention.Events = 48 * time.Hour
	if err := s.open(t.Context(), &setup.Material{Database: s.config.Database}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.manager.Close(); err != nil {
			t.Error(err)
		}
	}()
	now := time.Now()
	err := s.manager.store.Tx(t.Context(), func(r control.Repos) error {
		_, err := r.CreateFabric(t.Context(), control.Fabric{Name: "lab", Plane: "ib", Source: "file:x", TimeScale: 1})
		return errors.Join(err,
			r.AddEvent(t.Context(), control.Event{At: now.Add(-72 * time.Hour), Fabric: "lab", Kind: "old"}),
			r.AddEvent(t.Context(), control.Event{At: now, Fabric: "lab", Kind: "new"}))
	})
	if err != nil {
		t.Fatal(err)
	}
	list := s.manager.periodic("m")
	i := slices.IndexFunc(list, func(p riverwork.Periodic) bool { return p.Name == "retention" })
	if i < 0 || list[i].Every > time.Hour {
		t.Fatalf("the periodic work is %+v", list)
	}
	if err := list[i].Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, _, err := s.manager.service.Events(t.Context(), "lab", 0, control.Page{Limit: 10})
	if err != nil || len(events) != 1 || events[0].Kind != "new" {
		t.Errorf("events are %+v, %v: want the new one", events, err)
	}
}
