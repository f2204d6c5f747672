package auditexport

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/internal/phrase"
	"fairlane/internal/testkit/tlstest"
	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/webhook"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// book is a service whose audit log the tests fill.
type book struct {
	*controltest.Rig
	t testing.TB
}

func newBook(t testing.TB) *book {
	t.Helper()
	return &book{controltest.New(t, controltest.OpenSQLite), t}
}

// add adds entries. Their sentences hold what is special in syslog.
func (b *book) add(n int) {
	b.t.Helper()
	for i := range n {
		ctx := control.WithActor(b.t.Context(), "ada \"l\" ]\\")
		err := b.Service.Audit(ctx, control.AuditRecord{
			Fabric: "lab", Action: "tenant.updated", Object: "红 " + strconv.Itoa(i), Outcome: []string{audit.Done, audit.Refused}[i%2], Said: phrase.Verbatim("weight of red: 1 → 2\nsecond line"),
			Before: map[string]any{"weight": 1, "text": `"]\`}, After: map[string]int{"weight": 2},
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *book) tail() (tail audit.Tail) {
	b.t.Helper()
	err := b.Store.View(b.t.Context(), func(r control.Repos) (err error) { tail, err = r.AuditTail(b.t.Context()); return err })
	if err != nil {
		b.t.Fatal(err)
	}
	return tail
}

// export runs an exporter with short times until stop is called.
func (b *book) export(owner string, store Store, o Options) (stop func()) {
	b.t.Helper()
	o.Owner = owner
	e, err := newExporter(store, o, limits{
		batch: 100, poll: 5 * time.Millisecond, lease: 3 * time.Second, attempt: 2 * time.Second, pause: 20 * time.Millisecond, grace: time.Second, settle: 250 * time.Millisecond,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { e.Run(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	b.t.Cleanup(stop)
	return stop
}

// archive is what a receiver got.
type archive struct {
	mu   sync.Mutex
	list []audit.Entry
	bad  error // the first fault of what was received
}

func (a *archive) take(list []audit.Entry, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, list...)
	a.bad = errors.Join(a.bad, err)
}

func (a *archive) last() (seq int64, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) == 0 {
		return 0, 0
	}
	return a.list[len(a.list)-1].Seq, len(a.list)
}

// verify recomputes the chain from what was received, as an auditor would: duplicates are dropped, nothing may be missing.
func (a *archive) verify(t *testing.T, tail audit.Tail) (duplicates int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bad != nil {
		t.Errorf("received: %v", a.bad)
	}
	var v audit.Verifier
	for i := range a.list {
		if a.list[i].Seq <= v.Tail().Seq {
			duplicates++
			continue
		}
		if err := v.Add(a.list[i]); err != nil {
			t.Fatalf("received: %v", err)
		}
	}
	if _, err := v.Finish(tail); err != nil {
		t.Errorf("received: %v", err)
	}
	return duplicates
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("within 20 s not: %s", what)
		}
	}
}

func (a *archive) reaches(t testing.TB, tail audit.Tail) {
	t.Helper()
	eventually(t, fmt.Sprintf("entry %d is received", tail.Seq), func() bool { seq, _ := a.last(); return seq == tail.Seq })
}

// syslogServer is a server of syslog over TCP or TLS. close, when it returns true for a number of messages read, closes the connection.
type syslogServer struct {
	archive
	net.Listener
	served sync.WaitGroup
	close  func(read int) bool
	mu     sync.Mutex
	conns  []net.Conn
}

func newSyslogServer(t testing.TB, l net.Listener, closes func(int) bool) *syslogServer {
	t.Helper()
	s := &syslogServer{Listener: l, close: closes}
	s.served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			s.served.Go(func() { s.read(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.served.Wait()
	})
	return s
}

func (s *syslogServer) read(c net.Conn) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	for n := 1; ; n++ {
		length, err := r.ReadString(' ')
		if err != nil {
			return
		}
		size, err := strconv.Atoi(strings.TrimSpace(length))
		if err != nil || size > maxMessage {
			s.take(nil, fmt.Errorf("length %q", length))
			return
		}
		message := make([]byte, size)
		if _, err := io.ReadFull(r, message); err != nil {
			return
		}
		e, err := parse(string(message))
		s.take([]audit.Entry{e}, err)
		if s.close != nil && s.close(n) {
			return
		}
	}
}

func listenTCP(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// hookServer is a receiver of webhooks.
type hookServer struct {
	archive
	*httptest.Server
	ids map[string]int
}

func newHookServer(t testing.TB, key *webhook.Key, status func(n int) int) *hookServer {
	t.Helper()
	h := &hookServer{ids: map[string]int{}}
	n := 0
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		err = key.Verify(r.Header, body, time.Now())
		var d delivery
		if err == nil {
			err = json.Unmarshal(body, &d)
		}
		h.take(d.Entries, err)
		h.mu.Lock()
		n++
		h.ids[r.Header.Get(webhook.HeaderID)]++
		h.mu.Unlock()
		if status != nil {
			w.WriteHeader(status(n))
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func TestEveryKindOfSinkGetsTheWholeChain(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.add(230) // more than one batch
	ca := tlstest.New(t)
	plain := newSyslogServer(t, listenTCP(t), nil)
	secure := newSyslogServer(t, tls.NewListener(listenTCP(t), &tls.Config{
		Certificates: []tls.Certificate{ca.Issue("localhost", tlstest.Valid()).Certificate}, MinVersion: tls.VersionTLS12,
	}), nil)
	key, err := webhook.ParseKey(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	hooks := newHookServer(t, &key, nil)
	datagrams, udp := newDatagrams(t)
	var mu sync.Mutex
	lags := map[string][]int64{}
	stop := b.export("m1", b.Store, Options{
		Sinks: []Sink{{"plain", "tcp://" + plain.Addr().String()}, {"secure", "tls://" + secure.Addr().String()}, {"hook", hooks.URL}, {"datagrams", "udp://" + udp}},
		Key:   &key, Roots: ca.Pool,
		Lag: func(sink string, n int64) { mu.Lock(); defer mu.Unlock(); lags[sink] = append(lags[sink], n) },
	})
	first := b.tail()
	all := map[string]*archive{"plain": &plain.archive, "secure": &secure.archive, "hook": &hooks.archive, "datagrams": datagrams}
	for _, a := range all {
		a.reaches(t, first)
	}
	b.add(3)
	for _, a := range all {
		a.reaches(t, b.tail())
	}
	eventually(t, "no lag", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for name := range all {
			if l := lags[name]; len(l) == 0 || l[0] != first.Seq || l[len(l)-1] != 0 {
				return false
			}
		}
		return true
	})
	stop()
	for name, a := range all {
		if n := a.verify(t, b.tail()); n != 0 {
			t.Errorf("%s: %d duplicates without a failure", name, n)
		}
	}
}

// newDatagrams is a server of syslog over UDP.
func newDatagrams(t testing.TB) (a *archive, address string) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.UDPConn).SetReadBuffer(8 << 20); err != nil {
		t.Fatal(err)
	}
	a = &archive{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, maxMessage+1)
		for {
			n, _, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			e, err := parse(string(buf[:n]))
			a.take([]audit.Entry{e}, err)
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
	return a, c.LocalAddr().String()
}

// killed is a store whose position never moves again: what a manager leaves that is killed between sending and noting.
type killed struct {
	control.Store
	mu   sync.Mutex
	dead bool
}

var errKilled = errors.New("killed")

func (k *killed) Tx(ctx context.Context, f func(control.Repos) error) error {
	k.mu.Lock()
	dead := k.dead
	k.mu.Unlock()
	if dead {
		return errKilled
	}
	return k.Store.Tx(ctx, func(r control.Repos) error { return f(dying{r, k}) })
}

// dying is the store of a manager that dies when it notes a position.
type dying struct {
	control.Repos
	k *killed
}

func (d dying) MoveAuditSink(context.Context, string, string, audit.Tail, time.Time) (bool, error) {
	d.k.mu.Lock()
	defer d.k.mu.Unlock()
	d.k.dead = true
	return false, errKilled
}

func TestAManagerKilledBetweenSendingAndNotingLeavesDuplicatesAndNoGaps(t *testing.T) {
	t.Parallel()
	key, err := webhook.ParseKey(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	b := newBook(t)
	b.add(20)
	server, hooks := newSyslogServer(t, listenTCP(t), nil), newHookServer(t, &key, nil)
	for name, a := range map[string]*archive{"tcp": &server.archive, "hook": &hooks.archive} {
		url := map[string]string{"tcp": "tcp://" + server.Addr().String(), "hook": hooks.URL}[name]
		o := Options{Sinks: []Sink{{name, url}}, Key: &key}
		begun := b.tail()
		stop := b.export("m1", &killed{Store: b.Store}, o)
		a.reaches(t, begun)
		stop() // its lease stays
		b.add(5)
		_, before := a.last()
		claimed := time.Now()
		stop = b.export("m2", b.Store, o)
		a.reaches(t, b.tail())
		if time.Since(claimed) > 5*time.Second {
			t.Errorf("%s: the lease held for %v", name, time.Since(claimed))
		}
		stop()
		if n := a.verify(t, b.tail()); n != before {
			t.Errorf("%s: %d duplicates, want the %d that were sent before", name, n, before)
		}
		stop = b.export("m3", b.Store, o) // m2 has given up its lease
		b.add(1)
		a.reaches(t, b.tail())
		stop()
		if n := a.verify(t, b.tail()); n != before {
			t.Errorf("%s: %d duplicates after an orderly restart, want %d", name, n, before)
		}
	}
}

// hung is a store whose writes wait until their context ends, as those over a connection that is cut do.
type hung struct {
	control.Store
	moving chan struct{} // closed when a position is to move
}

func (h hung) Tx(ctx context.Context, f func(control.Repos) error) error {
	return h.Store.Tx(ctx, func(r control.Repos) error { return f(hanging{r, h}) })
}

type hanging struct {
	control.Repos
	h hung
}

func (h hanging) MoveAuditSink(ctx context.Context, _, _ string, _ audit.Tail, _ time.Time) (bool, error) {
	select {
	case <-h.h.moving:
	default:
		close(h.h.moving)
	}
	<-ctx.Done()
	return false, ctx.Err()
}

func TestAStoreThatHangsDoesNotDelayTheEndForLong(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.add(1)
	server := newSyslogServer(t, listenTCP(t), nil)
	h := hung{b.Store, make(chan struct{})}
	stop := b.export("m1", h, Options{Sinks: []Sink{{"siem", "tcp://" + server.Addr().String()}}})
	<-h.moving
	ended := make(chan struct{})
	go func() { stop(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the exporter waits for the store")
	}
}

func TestOneManagerSendsToASink(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	server := newSyslogServer(t, listenTCP(t), nil)
	o := Options{Sinks: []Sink{{"siem", "tcp://" + server.Addr().String()}}}
	var stops []func()
	for _, name := range []string{"m1", "m2", "m3"} {
		stops = append(stops, b.export(name, b.Store, o))
	}
	for range 8 {
		b.add(1)
		server.reaches(t, b.tail())
	}
	for i, stop := range stops {
		stop()
		if i < 2 {
			b.add(1)
			server.reaches(t, b.tail())
		}
	}
	if n := server.verify(t, b.tail()); n != 0 {
		t.Errorf("%d duplicates", n)
	}
}

func TestReceiversThatFailGetEverythingInTheEnd(t *testing.T) {
	t.Parallel()
	key, err := webhook.ParseKey(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	b := newBook(t)
	closing := newSyslogServer(t, listenTCP(t), func(n int) bool { return n == 7 })
	failing := newHookServer(t, &key, func(n int) int { return []int{500, 302, 404, 200}[min(n, 4)-1] })
	hanging := listenTCP(t) // accepts nothing
	defer func() { _ = hanging.Close() }()
	stop := b.export("m1", b.Store, Options{
		Sinks: []Sink{{"closing", "tcp://" + closing.Addr().String()}, {"failing", failing.URL}, {"hanging", "tls://" + hanging.Addr().String()}}, Key: &key, Log: slog.New(slog.DiscardHandler),
	})
	for range 40 { // at most six at a time
		b.add(1)
		time.Sleep(2 * time.Millisecond) // so that they come in several batches
	}
	closing.reaches(t, b.tail())
	failing.reaches(t, b.tail())
	begun := time.Now()
	stop()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
	closing.verify(t, b.tail())
	failing.verify(t, b.tail())
}

func TestRetentionBeforeTheExportIsReported(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.add(20)
	err := b.Store.Tx(t.Context(), func(r control.Repos) error { _, _, err := r.PruneAudit(t.Context(), 5, 100); return err })
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	server := newSyslogServer(t, listenTCP(t), nil)
	stop := b.export("m1", b.Store, Options{Sinks: []Sink{{"siem", "tcp://" + server.Addr().String()}}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	server.reaches(t, b.tail())
	stop()
	if !strings.Contains(log.String(), "retention removed audit entries before they were exported") || !strings.Contains(log.String(), "from=1 to=5") {
		t.Errorf("the log has %s", log.String())
	}
}

func TestUnusableSinksAreRejected(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "ftp://h", "://", "unix:/dev/log"} {
		if _, err := New(nil, Options{Sinks: []Sink{{"x", bad + "geheim"}}}); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	var none *Exporter
	none.Run(t.Context())
}
