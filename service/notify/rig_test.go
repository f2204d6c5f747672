package notify

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/service/series"
	"fairlane/service/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counts are outcomes by kind.
type counts struct {
	mu sync.Mutex
	n  map[Kind]map[Outcome]int
}

func (c *counts) add(k Kind, o Outcome, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[Kind]map[Outcome]int{}
	}
	if c.n[k] == nil {
		c.n[k] = map[Outcome]int{}
	}
	c.n[k][o] += n
}

func (c *counts) of(k Kind, o Outcome) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[k][o]
}

// alert makes an alert that fires on the fabric lab.
func alert(name, tenant string) series.Alert {
	at := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	return series.Alert{
		Name: name, State: series.AlertFiring, Labels: []series.Label{{Name: "fabric", Value: "lab"}, {Name: "tenant", Value: tenant}},
		Annotations: []series.Label{{Name: "summary", Value: tenant + " gets too little"}}, ActiveAt: at, FiredAt: at,
	}
}

func resolved(a series.Alert) series.Alert {
	a.State, a.ResolvedAt = series.AlertResolved, time.Now().Truncate(time.Millisecond)
	return a
}

// start runs a notifier until stop is called, or the test ends.
func start(t testing.TB, o Options) (n *Notifier, stop func()) {
	t.Helper()
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { n.Run(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return n, stop
}

// eventually fails unless a condition holds within a time.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("within 20 s not: %s", what)
		}
	}
}

// delivery is a request that a receiver got.
type delivery struct {
	id   string
	body message
}

// inbox is a receiver of webhooks that verifies what it gets. Answers are its statuses, one for each request, then 200.
type inbox struct {
	*httptest.Server
	t       testing.TB
	key     *webhook.Key
	mu      sync.Mutex
	answers []int
	got     []delivery
}

func newInbox(t testing.TB, key *webhook.Key, answers ...int) *inbox {
	in := &inbox{t: t, key: key, answers: answers}
	in.Server = httptest.NewServer(in)
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if in.key != nil {
		if err := in.key.Verify(r.Header, body, time.Now()); err != nil {
			in.t.Errorf("delivery: %v", err)
		}
	}
	d := delivery{id: r.Header.Get(webhook.HeaderID)}
	if err := json.Unmarshal(body, &d.body); err != nil {
		in.t.Errorf("delivery: %v in %s", err, body)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.got = append(in.got, d)
	if len(in.answers) > 0 {
		w.WriteHeader(in.answers[0])
		in.answers = in.answers[1:]
	}
}

func (in *inbox) all() []delivery {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]delivery{}, in.got...)
}

func testKey(t testing.TB) *webhook.Key {
	t.Helper()
	k, err := webhook.ParseKey(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	return &k
}
