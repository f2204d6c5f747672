package operations_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/operations"
)

func TestSettingsAreDefaultsUntilTheyAreReplaced(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	s, ctx := r.Service, t.Context()
	got, err := s.Settings(ctx)
	if err != nil || got != operations.DefaultSettings() || got.Version != 0 || !got.UpdatedAt.IsZero() {
		t.Fatalf("at first they are %+v, %v", got, err)
	}
	// Storing the defaults is a decision, too: later defaults do not replace them.
	got, err = s.PutSettings(ctx, 0, operations.DefaultSettings())
	if err != nil || got.Version != 1 || got.UpdatedAt.IsZero() {
		t.Fatalf("the defaults, stored: %+v, %v", got, err)
	}
	next := got
	next.Tasks.Limit, next.Shares.Interval = 7, 60
	if got, err = s.PutSettings(ctx, 1, next); err != nil || got.Version != 2 || got.Tasks.Limit != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	e := controltest.LastAuditEntry(t, s)
	if e.Action != "settings.replaced" || e.Object != "settings" {
		t.Errorf("the log has %s of %s", e.Action, e.Object)
	}
	if stored, err := s.Settings(ctx); err != nil || stored != got {
		t.Errorf("stored are %+v, %v; returned were %+v", stored, err, got)
	}
	n := len(controltest.AuditEntries(t, s))
	again, err := s.PutSettings(ctx, 2, next)
	if err != nil || again != got || len(controltest.AuditEntries(t, s)) != n {
		t.Errorf("the same again: %+v, %v, %d audit entries more", again, err, len(controltest.AuditEntries(t, s))-n)
	}
}

func TestSettingsAreReplacedOnlyAtTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	s, ctx := r.Service, t.Context()
	in := operations.DefaultSettings()
	for _, c := range []struct {
		version int64
		want    int64 // 0: refused
	}{{1, 0}, {0, 1}, {0, 0}, {2, 0}, {1, 2}, {1, 0}, {control.AnyVersion, 3}} {
		in.Tasks.Keep++
		before, err := s.Settings(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n := len(controltest.AuditEntries(t, s))
		got, err := s.PutSettings(ctx, c.version, in)
		if c.want > 0 {
			if err != nil || got.Version != c.want {
				t.Errorf("at version %d: %+v, %v; want version %d", c.version, got, err, c.want)
			}
			continue
		}
		controltest.MustFail(t, "a stale version", err, control.ErrPrecondition)
		if now, err := s.Settings(ctx); err != nil || now != before || len(controltest.AuditEntries(t, s)) != n {
			t.Errorf("refused, but they became %+v, %v", now, err)
		}
	}
}

func TestSettingsOutOfRangeNameTheirField(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	put := func(change func(*operations.Settings)) (list []string) {
		t.Helper()
		in := operations.DefaultSettings()
		change(&in)
		_, err := r.Service.PutSettings(t.Context(), control.AnyVersion, in)
		var bad *control.InvalidError
		if err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
		if bad != nil {
			for _, f := range bad.Fields {
				list = append(list, f.Pointer)
			}
		}
		return list
	}
	for pointer, c := range map[string]struct {
		field     func(*operations.Settings) *int
		good, bad []int
	}{
		"/shares/interval_s": {func(s *operations.Settings) *int { return &s.Shares.Interval }, []int{0, 10, 86400}, []int{-1, 1, 9, 86401}},
		"/shares/window_ms":  {func(s *operations.Settings) *int { return &s.Shares.Window }, []int{1, 60000}, []int{-1, 0, 60001}},
		"/shares/keep":       {func(s *operations.Settings) *int { return &s.Shares.Keep }, []int{1, 100_000}, []int{0, 100_001}},
		"/tasks/keep":        {func(s *operations.Settings) *int { return &s.Tasks.Keep }, []int{1, 10_000}, []int{0, 10_001}},
		"/tasks/limit":       {func(s *operations.Settings) *int { return &s.Tasks.Limit }, []int{1, 1000}, []int{0, 1001}},
	} {
		for _, v := range c.good {
			if got := put(func(s *operations.Settings) { *c.field(s) = v }); got != nil {
				t.Errorf("%s %d: faults at %q", pointer, v, got)
			}
		}
		for _, v := range c.bad {
			if got := put(func(s *operations.Settings) { *c.field(s) = v }); !slices.Equal(got, []string{pointer}) {
				t.Errorf("%s %d: faults at %q", pointer, v, got)
			}
		}
	}
	if got := put(func(s *operations.Settings) { s.Tasks, s.Shares.Window = operations.TaskSettings{}, 0 }); !slices.Equal(got, []string{"/shares/window_ms", "/tasks/keep", "/tasks/limit"}) {
		t.Errorf("three faults at once are at %q", got)
	}
}

// TestSettingsOfAnEarlierVersionKeepDefaultsForNewFields reads a row as managers without task settings stored it.
func TestSettingsOfAnEarlierVersionKeepDefaultsForNewFields(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	store := func(text string, version int64) {
		t.Helper()
		err := r.Store.Tx(t.Context(), func(repos control.Repos) error { return repos.PutSettings(t.Context(), []byte(text), version, at) })
		if err != nil {
			t.Fatal(err)
		}
	}
	store(`{"shares":{"interval_s":30}}`, 0)
	want := operations.DefaultSettings()
	want.Shares.Interval, want.Version, want.UpdatedAt = 30, 1, at
	if got, err := r.Service.Settings(t.Context()); err != nil || got != want {
		t.Errorf("they are %+v, %v; want %+v", got, err, want)
	}
	store(`"damaged"`, 1)
	if _, err := r.Service.Settings(t.Context()); err == nil {
		t.Error("a damaged row is taken for settings")
	}
	if _, err := r.Service.PutSettings(t.Context(), control.AnyVersion, want); err == nil {
		t.Error("a damaged row is replaced without a word")
	}
}
