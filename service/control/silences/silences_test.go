package silences_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/silences"
	"fairlane/service/control/usecases"
	"fairlane/service/series"
	"fairlane/service/silence"
)

// world is a service whose clock the test sets.
func world(t *testing.T) (*usecases.Services, *time.Time) {
	t.Helper()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	r := controltest.New(t, controltest.OpenSQLite)
	return r.Manager(t, func(d *control.Deps) { d.Clock = func() time.Time { return now } }), &now
}

func add(t *testing.T, s *usecases.Services, in silences.Input) silence.Silence {
	t.Helper()
	if in.Comment == "" {
		in.Comment = "maintenance"
	}
	out, err := s.AddSilence(control.WithActor(t.Context(), "ada"), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// listed lists the ids and states of silences.
func listed(t *testing.T, s *usecases.Services, expired bool) string {
	t.Helper()
	list, _, err := s.ListSilences(t.Context(), expired, control.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range list {
		out = append(out, fmt.Sprint(list[i].ID, " ", list[i].State(s.Now())))
	}
	return strings.Join(out, ", ")
}

func TestASilenceFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	s, now := world(t)
	began := *now
	first := add(t, s, silences.Input{Matchers: []string{"alertname=A"}, StartsAt: began.Add(-time.Hour), EndsAt: began.Add(time.Hour)})
	if !first.StartsAt.Equal(began) || first.Author != "ada" || first.Matchers.Texts()[0] != `alertname="A"` {
		t.Errorf("added %+v", first)
	}
	add(t, s, silences.Input{Matchers: []string{"fabric=lab"}, StartsAt: began.Add(30 * time.Minute), EndsAt: began.Add(2 * time.Hour)})
	f := s.NewFilter(slog.New(slog.DiscardHandler))
	a, onLab := series.Alert{Name: "A"}, series.Alert{Name: "B", Labels: []series.Label{{Name: "fabric", Value: "lab"}}}
	if f.Silenced(a) {
		t.Error("silenced before the silences were read")
	}
	for _, step := range []struct {
		at             time.Duration
		list           string
		first, onLab   bool
		expire, reread bool
	}{
		{0, "2 pending, 1 active", true, false, false, true},
		{45 * time.Minute, "2 active, 1 active", true, true, false, false}, // the filter's copy has both
		{time.Hour, "2 active", false, true, false, false},
		{90 * time.Minute, "2 active", false, true, true, true},
		{91 * time.Minute, "", false, false, false, false},
	} {
		*now = began.Add(step.at)
		if step.reread {
			if err := f.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := listed(t, s, false); got != step.list {
			t.Errorf("after %v: %q, want %q", step.at, got, step.list)
		}
		if f.Silenced(a) != step.first || f.Silenced(onLab) != step.onLab {
			t.Errorf("after %v: silenced are %v, %v", step.at, f.Silenced(a), f.Silenced(onLab))
		}
		if step.expire {
			for range 2 { // the second changes nothing
				if err := s.ExpireSilence(control.WithActor(t.Context(), "bob"), 2); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := listed(t, s, true); got != "2 expired, 1 expired" {
		t.Errorf("all are %s", got)
	}
	var actions []string
	for _, e := range controltest.AuditEntries(t, s) {
		if strings.HasPrefix(e.Action, "silence.") {
			actions = append(actions, e.Action+" "+e.Object+" by "+e.Actor)
		}
	}
	if got := strings.Join(actions, ", "); got != "silence.created 1 by ada, silence.created 2 by ada, silence.expired 2 by bob" {
		t.Errorf("audited: %s", got)
	}
	*now = began.Add(91 * 24 * time.Hour)
	add(t, s, silences.Input{Matchers: []string{"alertname=C"}, EndsAt: now.Add(time.Minute)})
	if got := listed(t, s, true); got != "3 active" {
		t.Errorf("90 days later there are %s", got)
	}
}

func TestALongMatcherCanBeStored(t *testing.T) {
	t.Parallel()
	s, now := world(t)
	long := "a=b" + strings.Repeat(`"`, silence.MaxMatcher-3) // twice as long in quotation marks
	made := add(t, s, silences.Input{Matchers: []string{long}, EndsAt: now.Add(time.Hour)})
	if got := listed(t, s, false); got != "1 active" || made.Matchers[0].Value != long[len("a="):] {
		t.Errorf("silences are %s", got)
	}
}

func TestAPendingSilenceThatIsExpiredNeverActs(t *testing.T) {
	t.Parallel()
	s, now := world(t)
	made := add(t, s, silences.Input{Matchers: []string{"alertname=A"}, StartsAt: now.Add(time.Hour), EndsAt: now.Add(2 * time.Hour)})
	if err := s.ExpireSilence(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	*now = now.Add(90 * time.Minute)
	if got := listed(t, s, true); got != "1 expired" {
		t.Errorf("silences are %s", got)
	}
}

func TestInvalidSilencesAreRejected(t *testing.T) {
	t.Parallel()
	s, now := world(t)
	good := silences.Input{Matchers: []string{"alertname=A"}, EndsAt: now.Add(time.Hour), Comment: "x"}
	for pointer, edit := range map[string]func(*silences.Input){
		"/matchers": func(in *silences.Input) { in.Matchers = []string{"alertname=~.*"} },
		"/ends_at":  func(in *silences.Input) { in.EndsAt = *now },
		"/ends_at ": func(in *silences.Input) { in.EndsAt = now.Add(400 * 24 * time.Hour) },
		"/comment":  func(in *silences.Input) { in.Comment = " " },
		"/comment ": func(in *silences.Input) { in.Comment = strings.Repeat("x", 501) },
	} {
		in := good
		edit(&in)
		_, err := s.AddSilence(t.Context(), in)
		var bad *control.InvalidError
		if !errors.As(err, &bad) || bad.Fields[0].Pointer != strings.TrimSpace(pointer) {
			t.Errorf("%s: %v", pointer, err)
		}
	}
	if err := s.ExpireSilence(t.Context(), 7); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("an unknown silence: %v", err)
	}
}

func TestOpenSilencesAreBounded(t *testing.T) {
	t.Parallel()
	s, now := world(t)
	in := silences.Input{Matchers: []string{"alertname=A"}, EndsAt: now.Add(time.Hour)}
	err := s.Store.Tx(t.Context(), func(r control.Repos) error {
		m, err := silence.ParseAll(in.Matchers)
		for range 1000 {
			if err == nil {
				_, err = r.CreateSilence(t.Context(), silence.Silence{Matchers: m, StartsAt: *now, EndsAt: in.EndsAt, CreatedAt: *now})
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	in.Comment = "one more"
	if _, err := s.AddSilence(t.Context(), in); controltest.Code(err) != "too-many-silences" {
		t.Errorf("error is %v", err)
	}
}
