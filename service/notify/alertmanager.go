package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/series"
	"fairlane/service/webhook"
)

// expiry is the number of repetitions that may fail before an Alertmanager takes a firing alert for resolved: when a manager dies, its alerts
// end by themselves.
const expiry = 4

// batch is the most alerts of one request.
const batch = 64

// feed gives one Alertmanager the latest state of each alert. A newer state replaces one that waits, so the queue is as long as there are
// alerts.
type feed struct {
	named  string // scheme and host of the URL
	sender *webhook.Sender
	o      *Options

	mu      sync.Mutex
	pending map[string]series.Alert
	wake    chan struct{} // has room for one
	ending  chan struct{} // closed by finish
	health  health
}

// alertsPath is where Alertmanager's API takes alerts.
const alertsPath = "/api/v2/alerts"

func newFeed(base string, o *Options) (*feed, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, &phrase.Error{Text: phrase.Of("notify.alertmanager-url")}
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+alertsPath, ""
	named := u.Scheme + "://" + u.Host
	return &feed{
		named: named, sender: webhook.New(u.String(), nil, o.Roots), o: o, pending: map[string]series.Alert{},
		wake: make(chan struct{}, 1), ending: make(chan struct{}), health: health{kind: KindAlertmanager, name: named, log: o.Log},
	}, nil
}

// put queues the latest state of an alert.
func (f *feed) put(id string, a series.Alert) {
	f.mu.Lock()
	_, there := f.pending[id]
	full := !there && len(f.pending) >= maxAlerts
	if !full {
		f.pending[id] = a
	}
	f.mu.Unlock()
	if full {
		f.o.Count(KindAlertmanager, Dropped, 1)
		return
	}
	nudge(f.wake)
}

// putBack queues alerts that were not delivered, except where a newer state waits.
func (f *feed) putBack(list map[string]series.Alert) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, a := range list {
		if _, newer := f.pending[id]; !newer {
			f.pending[id] = a
		}
	}
}

// take returns up to a batch of alerts.
func (f *feed) take() map[string]series.Alert {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]series.Alert{}
	for id, a := range f.pending {
		if len(out) == batch {
			break
		}
		out[id] = a
		delete(f.pending, id)
	}
	return out
}

func (f *feed) waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pending)
}

// finish makes run end when nothing waits.
func (f *feed) finish() { close(f.ending) }

// run delivers until the context ends, or nothing waits after finish.
func (f *feed) run(ctx context.Context) {
	defer f.sender.Close()
	failures := 0
	for ctx.Err() == nil {
		list := f.take()
		if len(list) == 0 {
			if !await(ctx, f.wake, f.ending) {
				return
			}
			continue
		}
		err := f.post(ctx, list)
		f.health.note(ctx, err)
		switch {
		case err == nil:
			failures = 0
			f.o.Count(KindAlertmanager, Sent, len(list))
		case ctx.Err() == nil && lasting(err): // repeated at the next resend, if it still fires
			failures = 0
			f.o.Count(KindAlertmanager, Failed, len(list))
		default:
			failures++
			f.putBack(list)
			if ctx.Err() == nil {
				f.o.Count(KindAlertmanager, Retried, len(list))
				rest(ctx, min(pause(failures), f.o.Resend))
			}
		}
	}
	if left := f.waiting(); left > 0 {
		f.o.Count(KindAlertmanager, Dropped, left)
	}
}

// posted is an alert in Alertmanager's API, version 2.
type posted struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// post makes one attempt.
func (f *feed) post(ctx context.Context, list map[string]series.Alert) error {
	now := time.Now()
	out := make([]posted, 0, len(list))
	for _, a := range list {
		ends := a.ResolvedAt
		if a.State == series.AlertFiring {
			ends = now.Add(expiry * f.o.Resend)
		}
		out = append(out, posted{series.Map(labels(&a)), series.Map(a.Annotations), began(&a).UTC(), ends.UTC(), f.o.ExternalURL})
	}
	body, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode alerts: %w", err)
	}
	return f.sender.Post(ctx, "", body)
}
