package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"fairlane/service/series"
)

// ExternalOptions configure an External.
type ExternalOptions struct {
	Options

	// URL of a server with Prometheus's API, below which api/v1/write and api/v1/read are.
	URL     string
	Token   string      // sent as a bearer token; "" sends none
	TLS     *tls.Config // nil: the system's authorities
	Timeout time.Duration
	// MaxQueued bounds the bytes that wait for the server; 0 is 64 MiB. Beyond it the oldest are lost.
	MaxQueued int
}

// Times of an External.
const (
	externalTimeout = 10 * time.Second // of a request
	firstRetry      = time.Second
	lastRetry       = 30 * time.Second
	closeFlush      = 5 * time.Second // for what waits when the service ends
)

// External keeps series on another server by Prometheus's remote write and reads them by its remote read, with the query engine and the
// limit to a scope here. A server that does not answer delays nothing: samples wait in a bounded queue. Its methods are safe for concurrent
// use.
type External struct {
	reader

	o      ExternalOptions
	base   string
	client *http.Client
	stop   context.CancelFunc
	done   chan struct{}
	wake   chan struct{}

	mu     sync.Mutex
	queue  []queued
	bytes  int
	lost   uint64
	health error // of the latest request to write; nil after a success
	unread bool  // the latest request to read failed
}

// queued is a message that waits.
type queued struct {
	body    []byte
	samples int
}

var _ series.Store = (*External)(nil)

// OpenExternal starts to send appended samples to a server. It does not wait for the server.
func OpenExternal(o ExternalOptions) (*External, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("series: %w", err)
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("series: URL of the server: want one such as https://prometheus.example:9090")
	}
	if o.Timeout == 0 {
		o.Timeout = externalTimeout
	}
	if o.MaxQueued == 0 {
		o.MaxQueued = 64 << 20
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &External{o: o, base: u.JoinPath("api/v1").String(), client: newClient(o.TLS), stop: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	e.reader = newReader(&o.Options, func(_ context.Context, s series.Scope) storage.Queryable {
		return storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) { return newRemoteQuerier(e.read, s, mint, maxt), nil })
	})
	go e.send(ctx)
	return e, nil
}

func (e *External) header(versions http.Header) http.Header {
	if e.o.Token != "" {
		versions.Set("Authorization", "Bearer "+e.o.Token)
	}
	return versions
}

// read asks the server for series.
func (e *External) read(ctx context.Context, queries []remoteQuery) ([][]remoteSeries, error) {
	body, err := encodeRead(queries, nil)
	if err != nil {
		return nil, err
	}
	asking := ctx
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	answer, _, err := post(ctx, e.client, e.base+"/read", e.header(http.Header{"X-Prometheus-Remote-Read-Version": {"0.1.0"}}), body)
	var lists [][]remoteSeries
	if err == nil {
		lists, err = decodeAnswer(answer)
	}
	if asking.Err() != nil || errors.Is(err, errTooLarge) {
		return lists, err // not the server's fault
	}
	e.mu.Lock()
	changed := e.unread != (err != nil)
	e.unread = err != nil
	e.mu.Unlock()
	switch {
	case err != nil && changed:
		e.o.Log.Warn("the external server gives no series; queries fail", "error", err.Error())
	case changed:
		e.o.Log.Info("the external server gives series again")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", series.ErrAway, err)
	}
	return lists, nil
}

// Check reads from the server and returns why it cannot.
func (e *External) Check(ctx context.Context) error {
	now := time.Now().UnixMilli()
	_, err := e.read(ctx, []remoteQuery{{mint: now, maxt: now, matchers: []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, metricName, series.Coverage)}, only: "series"}})
	return err
}

// Append implements series.Store: the samples wait to be sent. The error says how many older ones were lost for lack of room.
func (e *External) Append(_ context.Context, at time.Time, batch []series.Sample) error {
	list := make([]remoteSeries, len(batch))
	for i := range batch {
		list[i] = remoteSeries{labels: labelsOf(&batch[i]), samples: []remoteSample{{at.UnixMilli(), valueOf(&batch[i])}}}
	}
	m := queued{encodeWrite(list), len(batch)}
	e.mu.Lock()
	e.queue, e.bytes = append(e.queue, m), e.bytes+len(m.body)
	lost := 0
	for e.bytes > e.o.MaxQueued && len(e.queue) > 1 { // the first may be on its way
		lost += e.queue[1].samples
		e.bytes -= len(e.queue[1].body)
		e.queue = slices.Delete(e.queue, 1, 2)
	}
	e.lost += uint64(lost)
	health := e.health
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
	if lost > 0 {
		return fmt.Errorf("the external server takes no series: %d samples that waited for it are lost: %w", lost, health)
	}
	return nil
}

// Queue returns the bytes that wait for the server, the samples that were lost since the start, and why the latest request failed; nil
// after a success.
func (e *External) Queue() (bytes int, lost uint64, health error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.bytes, e.lost, e.health
}

// send sends what waits, in order, until the context ends.
func (e *External) send(ctx context.Context) {
	defer close(e.done)
	retry := firstRetry
	for {
		var next <-chan time.Time // nil after a success: there is nothing to repeat
		wake := e.wake
		if e.sendFirst(ctx) == nil {
			retry = firstRetry
		} else {
			wake, next = nil, time.After(retry)
			retry = min(2*retry, lastRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-next:
		}
	}
}

// sendFirst sends until nothing waits or the server fails.
func (e *External) sendFirst(ctx context.Context) error {
	for {
		e.mu.Lock()
		if len(e.queue) == 0 {
			e.mu.Unlock()
			return nil
		}
		first := e.queue[0]
		e.mu.Unlock()
		within, cancel := context.WithTimeout(ctx, e.o.Timeout)
		_, _, err := post(within, e.client, e.base+"/write", e.header(http.Header{"X-Prometheus-Remote-Write-Version": {"0.1.0"}}), first.body)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		status, answered := errors.AsType[*statusError](err)
		refused := answered && status.code/100 == 4 && status.code != http.StatusTooManyRequests && status.code != http.StatusUnauthorized && status.code != http.StatusForbidden && status.code != http.StatusNotFound
		e.mu.Lock()
		changed := (e.health == nil) != (err == nil)
		e.health = err
		if err == nil || refused {
			e.bytes -= len(first.body)
			e.queue = slices.Delete(e.queue, 0, 1)
			if refused {
				e.lost += uint64(first.samples)
			}
		}
		e.mu.Unlock()
		switch {
		case refused:
			e.o.Log.Warn("the external server refused series, which are lost", "samples", first.samples, "error", err.Error())
		case err != nil && changed:
			e.o.Log.Warn("the external server takes no series; they wait", "error", err.Error())
		case changed:
			e.o.Log.Info("the external server takes series again")
		}
		if err != nil && !refused {
			return err
		}
	}
}

// Close sends what waits for up to 5 s.
func (e *External) Close() error {
	e.stop()
	<-e.done
	ctx, cancel := context.WithTimeout(context.Background(), closeFlush)
	defer cancel()
	err := e.sendFirst(ctx)
	left := 0
	e.mu.Lock()
	for _, m := range e.queue {
		left += m.samples
	}
	e.mu.Unlock()
	if left > 0 {
		e.o.Log.Warn("samples that waited for the external server are lost", "samples", left, "error", fmt.Sprint(err))
	}
	return e.engine.Close()
}
