package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
)

var peerKey = []byte("0123456789abcdef0123456789abcdef")

// pair is two managers with a folder each; queries go to the first.
type pair struct {
	*embedded.DB

	other  *embedded.DB
	server *httptest.Server
	asked  atomic.Int64
	frozen chan struct{} // closed: the other manager answers; nil: always
}

// openPair opens two managers. The other one measures fabric dc2, and lab from the fifth minute on.
func openPair(t testing.TB, adjust ...func(*embedded.PeerOptions, *embedded.Peer)) *pair {
	t.Helper()
	p := &pair{other: open(t)}
	answer := p.other.PeerHandler(peerKey)
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != embedded.PeerPath {
			http.NotFound(w, r)
			return
		}
		p.asked.Add(1)
		if p.frozen != nil {
			_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection is not seen
			select {
			case <-p.frozen:
			case <-r.Context().Done():
			}
			return
		}
		answer.ServeHTTP(w, r)
	}))
	t.Cleanup(p.server.Close)
	peer := embedded.Peer{Name: "m2", URL: p.server.URL, Key: peerKey}
	o := embedded.PeerOptions{Timeout: 10 * time.Second}
	for _, f := range adjust {
		f(&o, &peer)
	}
	if o.List == nil {
		o.List = func(context.Context) ([]embedded.Peer, error) { return []embedded.Peer{peer}, nil }
	}
	p.DB = embeddedtest.Open(t, embedded.Options{Interval: time.Minute, Peers: o})
	return p
}

func (p *pair) Append(ctx context.Context, at time.Time, batch []series.Sample) error {
	var mine, others []series.Sample
	for _, s := range batch {
		if s.Labels[0].Value == "lab" && at.Before(start.Add(5*time.Minute)) {
			mine = append(mine, s)
		} else {
			others = append(others, s)
		}
	}
	return errors.Join(p.DB.Append(ctx, at, mine), p.other.Append(ctx, at, others))
}

// One manager measures a fabric until it is handed over; a range over both has each value once and no gap but the real one.
func TestAFabricHandedOverHasOneSeriesWithoutGapOrDuplicate(t *testing.T) {
	t.Parallel()
	p, alone := openPair(t), open(t)
	for i := range 80 { // 20 minutes; the hand-over is at 5, and both measured at that instant
		at := start.Add(time.Duration(i) * 15 * time.Second)
		if i >= 40 && i < 56 { // no manager measured
			continue
		}
		batch := []series.Sample{sample(series.TenantDelivered, "lab", "red", float64(i)), sample(series.TenantDelivered, "dc2", "red", float64(i)/2)}
		add(t, p, at, batch)
		add(t, alone, at, batch)
		if i == 20 {
			if err := p.DB.Append(t.Context(), at, batch[:1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, q := range []string{`fairlane_tenant_delivered_bits_per_second`, `count_over_time(fairlane_tenant_delivered_bits_per_second[1m])`, `sum(sum_over_time(fairlane_tenant_delivered_bits_per_second[20m]))`} {
		got, err := p.Range(t.Context(), series.Everything, q, start, start.Add(20*time.Minute), 15*time.Second)
		want, err2 := alone.Range(t.Context(), series.Everything, q, start, start.Add(20*time.Minute), 15*time.Second)
		if err != nil || err2 != nil || sorted(got.Data) != sorted(want.Data) || len(got.Warnings) > 0 {
			t.Errorf("%s: %s %v %v\nwant %s %v", q, got.Data, got.Warnings, err, want.Data, err2)
		}
	}
}

const everyFabric = `count by (fabric) (fairlane_tenant_delivered_bits_per_second)`

// A manager that does not answer costs its timeout once, and every answer without it says so.
func TestAFrozenManagerTimesOutAndIsReportedMissing(t *testing.T) {
	t.Parallel()
	const timeout = 300 * time.Millisecond
	p := openPair(t, func(o *embedded.PeerOptions, _ *embedded.Peer) { o.Timeout, o.Pause = timeout, time.Hour })
	p.frozen = make(chan struct{})
	add(t, p, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 1), sample(series.TenantDelivered, "dc2", "red", 1)})
	q := everyFabric + strings.Repeat(` or count(fairlane_tenant_delivered_bits_per_second offset 1s)`, 6) // several selections share the timeout
	for i, most := range []time.Duration{5 * timeout, timeout} {
		begin := time.Now()
		a, err := p.Instant(t.Context(), series.Everything, q, start)
		if took := time.Since(begin); err != nil || took > most || len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "partial") || !strings.Contains(string(a.Data), `"lab"`) {
			t.Errorf("query %d: %s, %v, %v after %v", i, a.Data, a.Warnings, err, took)
		}
	}
	asked := p.asked.Load()
	var warned []string
	l := series.Lookup{Selectors: []string{`{fabric!=""}`}, Warn: func(w string) { warned = append(warned, w) }}
	if list, err := p.LabelValues(t.Context(), series.Everything, "fabric", l); err != nil || strings.Join(list, ",") != "lab" || len(warned) != 1 {
		t.Errorf("values: %v, %v, warnings %v", list, err, warned)
	}
	if list, err := p.Series(t.Context(), series.Everything, l); err != nil || len(list) != 1 || len(warned) != 2 {
		t.Errorf("series: %v, %v, warnings %v", list, err, warned)
	}
	if p.asked.Load() != asked {
		t.Error("a manager that did not answer a moment ago was asked again")
	}
}

// TestARestartedManagerIsAskedAtOnce gives a manager that did not answer a new key, as its restart does: the log says once that it does not
// answer, and once that it does again.
func TestARestartedManagerIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	other := open(t)
	handlers := map[string]http.Handler{"old": http.NotFoundHandler(), "older": http.NotFoundHandler(), string(peerKey): other.PeerHandler(peerKey)}
	key := "older"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handlers[key].ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	d := embeddedtest.Open(t, embedded.Options{Interval: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil)), Peers: embedded.PeerOptions{
		Pause: time.Hour,
		List: func(context.Context) ([]embedded.Peer, error) {
			return []embedded.Peer{{Name: "m2", URL: s.URL, Key: []byte(key)}}, nil
		},
	}})
	log.Reset()
	for _, k := range []string{"older", "old", string(peerKey)} {
		key = k
		a, err := d.Instant(t.Context(), series.Everything, everyFabric, start)
		if err != nil || (len(a.Warnings) == 0) != (k == string(peerKey)) {
			t.Errorf("key %s: %v, %v", k, a.Warnings, err)
		}
	}
	if strings.Count(log.String(), "does not answer") != 1 || strings.Count(log.String(), "answers for its series again") != 1 {
		t.Errorf("log:\n%s", log.String())
	}
}

func TestAManagerThatEndedBeforeTheRangeIsNotAsked(t *testing.T) {
	t.Parallel()
	p := openPair(t, func(_ *embedded.PeerOptions, peer *embedded.Peer) { peer.Until = start.Add(time.Minute) })
	p.server.Close()
	add(t, p, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 1)})
	for at, warnings := range map[time.Duration]int{time.Minute: 1, time.Hour: 0} {
		if a, err := p.Instant(t.Context(), series.Everything, everyFabric, start.Add(at)); err != nil || len(a.Warnings) != warnings {
			t.Errorf("after %v: %v, %v", at, a.Warnings, err)
		}
	}
}

func TestManagersAuthenticateToEachOther(t *testing.T) {
	t.Parallel()
	wrong := []byte("another key")
	for name, adjust := range map[string]func(*embedded.PeerOptions, *embedded.Peer){
		"a wrong key": func(_ *embedded.PeerOptions, p *embedded.Peer) { p.Key = wrong },
		"an impostor": func(_ *embedded.PeerOptions, p *embedded.Peer) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0}) })) // an empty answer, not signed
			t.Cleanup(s.Close)
			p.URL = s.URL
		},
		"an unknown list": func(o *embedded.PeerOptions, _ *embedded.Peer) {
			o.List = func(context.Context) ([]embedded.Peer, error) { return nil, errors.New("the database is away") }
		},
	} {
		p := openPair(t, adjust)
		add(t, p, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 1), sample(series.TenantDelivered, "dc2", "red", 1)})
		a, err := p.Instant(t.Context(), series.Everything, everyFabric, start)
		if err != nil || len(a.Warnings) != 1 || strings.Contains(string(a.Data), "dc2") || !strings.Contains(string(a.Data), "lab") {
			t.Errorf("%s: %s, %v, %v", name, a.Data, a.Warnings, err)
		}
	}
}

// The handler refuses what is not signed, and what is too old although it is.
func TestUnsignedAndOldRequestsAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	h := d.PeerHandler(peerKey)
	var seen *http.Request
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = r.Clone(context.Background())
		body, _ = io.ReadAll(r.Body)
	}))
	defer s.Close()
	p := openPair(t, func(_ *embedded.PeerOptions, peer *embedded.Peer) { peer.URL = s.URL })
	if _, err := p.Instant(t.Context(), series.Everything, everyFabric, start); err != nil {
		t.Fatal(err)
	}
	send := func(change func(http.Header), body []byte) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, embedded.PeerPath, bytes.NewReader(body))
		r.Header = seen.Header.Clone()
		change(r.Header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for name, c := range map[string]struct {
		change func(http.Header)
		body   []byte
		want   int
	}{
		"as it was":      {func(http.Header) {}, body, http.StatusOK},
		"another body":   {func(http.Header) {}, append(bytes.Clone(body), 0), http.StatusForbidden},
		"another time":   {func(h http.Header) { h.Set("X-Fairlane-Time", "1") }, body, http.StatusForbidden},
		"no signature":   {func(h http.Header) { h.Del("X-Fairlane-Mac") }, body, http.StatusForbidden},
		"too long a one": {func(http.Header) {}, make([]byte, 5<<20), http.StatusBadRequest},
	} {
		if got := send(c.change, c.body); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
}
