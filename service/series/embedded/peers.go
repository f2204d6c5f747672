package embedded

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/storage"

	"fairlane/service/series"
)

// Peer is another manager, which has stored what it measured in a folder of its own.
type Peer struct {
	Name  string
	URL   string    // of its API, such as https://10.0.0.12:8470
	Key   []byte    // that it shares with those who may read all series
	Until time.Time // it has no samples after this time
}

// PeerOptions say which other managers have series. Queries ask them too, and name them missing in a warning when they do not answer.
type PeerOptions struct {
	List    func(context.Context) ([]Peer, error) // nil: there are no others
	TLS     *tls.Config                           // nil: the system's authorities
	Timeout time.Duration                         // within which all of them answer a query; 0 is 2 s
	Pause   time.Duration                         // in which a manager that did not answer is not asked again; 0 is 10 s
}

// PeerPath is where a manager answers others.
const PeerPath = "/internal/series/read"

// Headers of requests and answers between managers.
const (
	headerTime  = "X-Fairlane-Time"  // of the request, in milliseconds since 1970
	headerNonce = "X-Fairlane-Nonce" // of the request: an answer to another one is refused
	headerMAC   = "X-Fairlane-Mac"
)

// clockTolerance bounds how old a request may be. One that is repeated within it reads again and changes nothing.
const clockTolerance = 30 * time.Second

// peerReads bounds how many requests of other managers are answered concurrently.
const peerReads = 8

var (
	errPartial = errors.New("the answer is partial: another manager did not answer, and series that it measured are missing")
	errResting = errors.New("it did not answer a moment ago")
)

// peers asks other managers.
type peers struct {
	o      PeerOptions
	client *http.Client
	log    *slog.Logger

	mu     sync.Mutex
	failed map[string]failure // by URL
}

// failure is when a manager last did not answer.
type failure struct {
	key string // it had then: a manager that was restarted has a new one, and is asked at once
	at  time.Time
}

func newPeers(o *Options) *peers {
	if o.Peers.List == nil {
		return nil
	}
	p := &peers{o: o.Peers, client: newClient(o.Peers.TLS), log: o.Log, failed: map[string]failure{}}
	if p.o.Timeout == 0 {
		p.o.Timeout = 2 * time.Second
	}
	if p.o.Pause == 0 {
		p.o.Pause = 10 * time.Second
	}
	return p
}

// newClient returns a client that follows no redirects: what is sent is for one server.
func newClient(c *tls.Config) *http.Client {
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: c, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// sources are the series of this manager and of the others.
func (d *DB) sources(ctx context.Context, s series.Scope) storage.Queryable {
	local := within(s, d.db)
	if d.peers == nil {
		return local
	}
	list, err := d.peers.o.List(ctx)
	if err != nil {
		d.o.Log.Warn("the other managers are unknown", "error", err.Error())
		list = []Peer{{}} // represents the missing managers
	}
	return storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		q, err := local.Querier(mint, maxt)
		if err != nil {
			return nil, err
		}
		all, deadline := []storage.Querier{q}, time.Now().Add(d.peers.o.Timeout)
		for _, p := range list {
			if !p.Until.IsZero() && p.Until.UnixMilli() < mint {
				continue
			}
			r := newRemoteQuerier(func(ctx context.Context, queries []remoteQuery) ([][]remoteSeries, error) {
				return d.peers.read(ctx, p, deadline, queries, s)
			}, s, mint, maxt)
			r.partial = errPartial
			all = append(all, r)
		}
		return storage.NewMergeQuerier(all, nil, storage.ChainedSeriesMerge), nil
	})
}

// read asks a manager, unless it did not answer a moment ago.
func (p *peers) read(ctx context.Context, to Peer, deadline time.Time, queries []remoteQuery, s series.Scope) ([][]remoteSeries, error) {
	p.mu.Lock()
	last := p.failed[to.URL]
	p.mu.Unlock()
	if last.key == string(to.Key) && time.Since(last.at) < p.o.Pause || to.URL == "" {
		return nil, errResting
	}
	within, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	lists, err := p.ask(within, to, queries, s)
	if ctx.Err() != nil {
		return nil, ctx.Err() // the query ended: not the manager's fault
	}
	p.mu.Lock()
	_, had := p.failed[to.URL]
	if err != nil {
		p.failed[to.URL] = failure{string(to.Key), time.Now()}
	} else {
		delete(p.failed, to.URL)
	}
	p.mu.Unlock()
	switch {
	case err != nil && !had:
		p.log.Warn("another manager does not answer for its series", "manager", to.Name, "url", to.URL, "error", err.Error())
	case err == nil && had:
		p.log.Info("another manager answers for its series again", "manager", to.Name, "url", to.URL)
	}
	return lists, err
}

func (p *peers) ask(ctx context.Context, to Peer, queries []remoteQuery, s series.Scope) ([][]remoteSeries, error) {
	body, err := encodeRead(queries, &s)
	if err != nil {
		return nil, err
	}
	nonce := rand.Text()
	at := strconv.FormatInt(time.Now().UnixMilli(), 10)
	header := http.Header{headerTime: {at}, headerNonce: {nonce}, headerMAC: {mac(to.Key, "request", at, nonce, body)}}
	answer, got, err := post(ctx, p.client, strings.TrimSuffix(to.URL, "/")+PeerPath, header, body)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(got.Get(headerMAC)), []byte(mac(to.Key, "answer", at, nonce, answer))) {
		return nil, errors.New("its answer is not signed with its key")
	}
	return decodeAnswer(answer)
}

// post sends a message and returns the body of the answer, which must be a success.
func post(ctx context.Context, c *http.Client, url string, header http.Header, body []byte) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		return nil, nil, err
	}
	for name, v := range header {
		req.Header[name] = v
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "snappy")
	res, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes+1))
	err = errors.Join(err, res.Body.Close())
	switch {
	case res.StatusCode/100 != 2:
		return nil, nil, &statusError{code: res.StatusCode, text: strings.TrimSpace(string(answer[:min(len(answer), 300)]))}
	case err != nil:
		return nil, nil, err
	case len(answer) > maxAnswerBytes:
		return nil, nil, errTooLarge
	}
	return answer, res.Header, nil
}

// statusError is an answer that is not a success.
type statusError struct {
	code int
	text string
}

// Error has what the server said.
func (e *statusError) Error() string {
	return fmt.Sprintf("status %d %s: %s", e.code, http.StatusText(e.code), e.text)
}

// mac signs a message of one kind.
func mac(key []byte, kind, at, nonce string, body []byte) string {
	sum := sha256.Sum256(body)
	m := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(m, "fairlane series 1\n%s\n%s\n%s\n", kind, at, nonce) // a hash takes all
	_, _ = m.Write(sum[:])
	return hex.EncodeToString(m.Sum(nil))
}

// PeerHandler answers other managers that have the key about the series of this folder, within the scope that they give.
func (d *DB) PeerHandler(key []byte) http.Handler {
	places := make(chan struct{}, peerReads)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
		at, nonce := r.Header.Get(headerTime), r.Header.Get(headerNonce)
		sent, terr := strconv.ParseInt(at, 10, 64)
		switch {
		case r.Method != http.MethodPost:
			http.Error(w, "want POST", http.StatusMethodNotAllowed)
			return
		case err != nil:
			http.Error(w, "the request cannot be read", http.StatusBadRequest)
			return
		case len(key) == 0 || !hmac.Equal([]byte(r.Header.Get(headerMAC)), []byte(mac(key, "request", at, nonce, body))):
			http.Error(w, "the request is not signed with the key of this manager", http.StatusForbidden)
			return
		case terr != nil || time.Since(time.UnixMilli(sent)).Abs() > clockTolerance:
			http.Error(w, "the time of the request is off: set the clocks of the managers", http.StatusForbidden)
			return
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			http.Error(w, "too many requests of other managers", http.StatusServiceUnavailable)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), series.QueryTimeout)
		defer cancel()
		answer, err := d.answerRead(ctx, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set(headerMAC, mac(key, "answer", at, nonce, answer))
		_, _ = w.Write(answer) // the other manager may have given up
	})
}
