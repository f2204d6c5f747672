package app

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlane/service/config"
	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/setup"
	"fairlane/service/site"
	"fairlane/service/store/pgtest"
)

// openWithPeers opens a manager on a shared database with a folder of its own.
func openWithPeers(t *testing.T, database, url string) *manager {
	t.Helper()
	o := workOptions{still: true, series: seriesOptions{folder: t.TempDir(), period: 15 * time.Second, failed: func() {}, url: url}}
	m, err := openManager(t.Context(), database, site.New(site.Settings{}), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Two managers on PostgreSQL, each with what it measured in its own folder, give the same answers; when one ends, the other says what it
// lacks.
func TestTwoManagersAnswerAboutTheSeriesOfBoth(t *testing.T) {
	t.Parallel()
	database, at := pgtest.Database(t), time.Now().Truncate(time.Second)
	var managers [2]*manager
	var servers [2]*httptest.Server
	for i := range managers {
		servers[i] = httptest.NewUnstartedServer(nil)
		defer servers[i].Close()
		managers[i] = openWithPeers(t, database, "http://"+servers[i].Listener.Addr().String())
		servers[i].Config.Handler = managers[i].withSeries(http.NotFoundHandler())
		servers[i].Start()
		batch := []series.Sample{{Family: series.Coverage, Labels: []series.Label{{Name: series.LabelFabric, Value: string("ab"[i])}}, Value: 1}}
		if err := managers[i].series.Append(t.Context(), at, batch); err != nil {
			t.Fatal(err)
		}
		if err := managers[i].peers.announce(t.Context()); err != nil { // its own goroutine does so too
			t.Fatal(err)
		}
	}
	ask := func(m *manager) (string, []string) {
		t.Helper()
		m.peers.mu.Lock()
		m.peers.until = time.Time{}
		m.peers.mu.Unlock()
		a, err := m.service.QueryInstant(context.WithoutCancel(t.Context()), `sort(count by (fabric) (`+series.Coverage+`))`, at)
		if err != nil {
			t.Fatal(err)
		}
		return string(a.Data), a.Warnings
	}
	for i, m := range managers {
		if got, warnings := ask(m); !strings.Contains(got, `"a"`) || !strings.Contains(got, `"b"`) || len(warnings) > 0 {
			t.Errorf("manager %d: %s, %v", i, got, warnings)
		}
	}
	servers[1].Close()
	if got, warnings := ask(managers[0]); !strings.Contains(got, `"a"`) || strings.Contains(got, `"b"`) || len(warnings) != 1 {
		t.Errorf("without the other: %s, %v", got, warnings)
	}
}

// Managers with the same address replace each other's announcement: this is reported as an error, and answers are partial.
func TestManagersWithOneAddressAreAFault(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	a, b := openWithPeers(t, database, "https://a.example"), openWithPeers(t, database, "https://a.example")
	var err error
	for range 2 {
		err = errors.Join(a.peers.announce(t.Context()), b.peers.announce(t.Context()))
	}
	if !errors.Is(err, errSameURL) {
		t.Errorf("announcements: %v", err)
	}
	answer, err := a.service.QueryInstant(t.Context(), `count(`+series.Coverage+`)`, time.Now())
	if err != nil || len(answer.Warnings) != 1 {
		t.Errorf("%v, %v", answer.Warnings, err)
	}
}

func TestTheSeriesOfAConfigurationAreInOnePlace(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Series.URL, c.Series.CAFile = "http://127.0.0.1:9090", t.TempDir()+"/absent"
	if c.Series.Folder(c.Database) != "" {
		t.Error("series.path together with series.url was accepted")
	}
	m, faults := setup.Read(&c, "/", nil)
	if len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), "series.ca_file: ") || m.Series.URL == "" {
		t.Errorf("%v", faults)
	}
}

// A server of series that is away stops nothing but queries, and those say so.
func TestAServiceWorksWithoutItsServerOfSeries(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	o := workOptions{series: seriesOptions{period: time.Second, failed: func() {}, external: embedded.ExternalOptions{URL: away.URL}}}
	m, err := openManager(t.Context(), t.TempDir()+"/f.db", site.New(site.Settings{}), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.service.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := m.service.QueryInstant(t.Context(), "1", time.Time{}); err != nil { // needs no series
		t.Error(err)
	}
	if _, err := m.service.QueryInstant(t.Context(), series.Coverage, time.Time{}); !errors.Is(err, series.ErrAway) {
		t.Errorf("a query: %v", err)
	}
	if m.rules != nil || m.collect == nil {
		t.Error("want measurements, and no rules")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
