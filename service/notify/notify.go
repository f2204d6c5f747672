// Package notify delivers alerts to receivers: Alertmanagers, webhooks and mail.
//
//	Send ──► Alertmanager feeds (one per URL): the latest state of each alert, repeated while it fires
//	    └──► groups by fabric and alert name ──► queues (one per webhook, one for mail)
//
// An Alertmanager groups, repeats and silences itself, so it gets every alert. Each webhook and the mail receiver get a notification for each
// group. Every receiver has its own worker and its own bounded queue: one that hangs or fails delays no other.
//
// Delivery is at least once while the process runs. An attempt that fails is repeated with growing pauses; a notification that stays
// undelivered for an hour, or that a full queue displaces, is lost and counted. After a restart the alerts that still fire are sent anew.
package notify

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"fairlane/service/series"
	"fairlane/service/webhook"
)

// Kind is a kind of receiver.
type Kind string

// Kinds of receivers.
const (
	KindAlertmanager Kind = "alertmanager"
	KindWebhook      Kind = "webhook"
	KindMail         Kind = "mail"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{KindAlertmanager, KindWebhook, KindMail} }

// Outcome is what became of a notification, or of an alert for an Alertmanager.
type Outcome string

// Outcomes.
const (
	Sent    Outcome = "sent"    // the receiver acknowledged it
	Retried Outcome = "retried" // an attempt failed; another one follows
	Failed  Outcome = "failed"  // given up: the receiver rejects it, or did not take it for an hour
	Dropped Outcome = "dropped" // displaced from a full queue, or undelivered at the end of the process
)

// Options configure a notifier. Without receivers it drops all alerts.
type Options struct {
	Alertmanagers []string // base URLs; every one gets every alert
	Webhooks      []Webhook
	Key           *webhook.Key // signs the deliveries to webhooks; nil: unsigned
	Mail          *Mail        // nil: no mail
	Roots         *x509.CertPool
	ExternalURL   string // of the service, for people; empty: none

	GroupWait      time.Duration // from a group's first alert to its first notification; 0 is DefaultGroupWait, negative none
	GroupInterval  time.Duration // between notifications about changes of a group; 0 is DefaultGroupInterval
	RepeatInterval time.Duration // between notifications about a group that does not change; 0 is DefaultRepeatInterval
	Resend         time.Duration // between repetitions of a firing alert to an Alertmanager; 0 is DefaultResend
	Stale          time.Duration // a firing alert that no Send repeats for this long is removed without a notification; 0 is DefaultStale
	Flush          time.Duration // most time that the end of Run takes to deliver what is queued; 0 is DefaultFlush

	Silenced func(series.Alert) bool                 // nil: none is
	Count    func(kind Kind, outcome Outcome, n int) // may be nil
	Log      *slog.Logger                            // nil: none
}

// Receives reports whether there is a receiver.
func (o *Options) Receives() bool {
	return len(o.Alertmanagers) > 0 || len(o.Webhooks) > 0 || o.Mail != nil
}

// Webhook is a receiver of webhooks. Its name, not its URL, is logged: a URL may hold a secret.
type Webhook struct{ Name, URL string }

// Defaults of Options.
const (
	DefaultGroupWait      = 30 * time.Second
	DefaultGroupInterval  = 5 * time.Minute
	DefaultRepeatInterval = 4 * time.Hour
	DefaultResend         = time.Minute
	DefaultStale          = 10 * time.Minute
	DefaultFlush          = 5 * time.Second
)

// maxAlerts bounds the alerts that are known at a time; further ones are dropped and counted.
const maxAlerts = 10_000

// tick is the interval between two checks of groups and repetitions.
const tick = time.Second

// Notifier delivers alerts. It is safe for concurrent use. A nil notifier drops all alerts.
type Notifier struct {
	o      Options
	feeds  []*feed          // to Alertmanagers
	queues []*receiverQueue // of webhooks and mail

	mu     sync.Mutex
	alerts map[string]*known // for the feeds, by series.Alert's identity
	groups map[string]*group
	ended  map[string]ending // resolutions that were taken, by identity: repetitions are ignored
}

// ending is the resolution of an alert.
type ending struct{ resolved, seen time.Time }

// known is an alert that the feeds repeat.
type known struct {
	alert series.Alert
	seen  time.Time // the latest Send
	fed   time.Time // when it was given to the feeds; zero: it changed since
}

// New returns a notifier; Run delivers.
func New(o Options) (*Notifier, error) {
	o = o.withDefaults()
	n := &Notifier{o: o, alerts: map[string]*known{}, groups: map[string]*group{}, ended: map[string]ending{}}
	var faults []error
	for _, base := range o.Alertmanagers {
		f, err := newFeed(base, &n.o)
		faults = append(faults, err)
		n.feeds = append(n.feeds, f)
	}
	for _, r := range receivers(&n.o) {
		n.queues = append(n.queues, newReceiverQueue(r, &n.o))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return n, nil
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.GroupWait, DefaultGroupWait}, {&o.GroupInterval, DefaultGroupInterval}, {&o.RepeatInterval, DefaultRepeatInterval},
		{&o.Resend, DefaultResend}, {&o.Stale, DefaultStale}, {&o.Flush, DefaultFlush},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.Silenced == nil {
		o.Silenced = func(series.Alert) bool { return false }
	}
	if o.Count == nil {
		o.Count = func(Kind, Outcome, int) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// receiver delivers notifications to one place.
type receiver interface {
	kind() Kind
	name() string
	// deliver makes one attempt. The id is the same for each attempt of a notification.
	deliver(ctx context.Context, id string, n *Notification) error
	close()
}

// receivers returns those that get notifications of groups.
func receivers(o *Options) []receiver {
	var list []receiver
	for _, w := range o.Webhooks {
		list = append(list, &hook{named: w.Name, sender: webhook.New(w.URL, o.Key, o.Roots)})
	}
	if o.Mail != nil {
		list = append(list, &mailer{Mail: *o.Mail, roots: o.Roots, external: o.ExternalURL})
	}
	return list
}

// Send takes the present state of alerts: those that fire and those that were resolved. Others are ignored. It never blocks. The caller
// repeats firing alerts more often than Options.Stale; repetitions do not cause notifications by themselves.
func (n *Notifier) Send(_ context.Context, alerts []series.Alert) {
	if n == nil || len(n.feeds)+len(n.queues) == 0 {
		return
	}
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range alerts {
		a := &alerts[i]
		if a.State != series.AlertFiring && a.State != series.AlertResolved {
			continue
		}
		c := *a
		c.Labels, c.Annotations = slices.Clone(a.Labels), slices.Clone(a.Annotations)
		id := identity(&c)
		if c.State == series.AlertResolved {
			if e, ok := n.ended[id]; ok && e.resolved.Equal(c.ResolvedAt) {
				continue
			}
			n.ended[id] = ending{c.ResolvedAt, now}
		}
		if len(n.feeds) > 0 && !n.know(id, c, now) {
			n.o.Count(KindAlertmanager, Dropped, len(n.feeds))
		}
		if len(n.queues) > 0 && !n.join(id, c, now) {
			for _, o := range n.queues {
				n.o.Count(o.kind(), Dropped, 1)
			}
		}
	}
}

// know notes an alert for the feeds; false when there are too many.
func (n *Notifier) know(id string, a series.Alert, now time.Time) bool {
	k := n.alerts[id]
	switch {
	case k == nil && len(n.alerts) >= maxAlerts:
		return false
	case k == nil:
		n.alerts[id] = &known{alert: a, seen: now}
	default:
		if k.alert.State != a.State || !k.alert.FiredAt.Equal(a.FiredAt) {
			k.fed = time.Time{}
		}
		k.alert, k.seen = a, now
	}
	return true
}

// Run delivers until the context ends, then what is queued for at most Options.Flush. Call it once.
func (n *Notifier) Run(ctx context.Context) {
	if n == nil {
		return
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var workers sync.WaitGroup
	for _, f := range n.feeds {
		workers.Go(func() { f.run(work) })
	}
	for _, o := range n.queues {
		workers.Go(func() { o.run(work) })
	}
	beat := time.NewTicker(tick)
	defer beat.Stop()
	for ctx.Err() == nil {
		n.turn(time.Now(), false)
		select {
		case <-ctx.Done():
		case <-beat.C:
		}
	}
	n.turn(time.Now(), true)
	bound := time.AfterFunc(n.o.Flush, stop)
	defer bound.Stop()
	for _, f := range n.feeds {
		f.finish()
	}
	for _, o := range n.queues {
		o.finish()
	}
	workers.Wait()
}

// turn gives the feeds and the outlets what is due; last makes everything that was not notified yet due.
func (n *Notifier) turn(now time.Time, last bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, k := range n.alerts {
		switch {
		case k.alert.State == series.AlertFiring && now.Sub(k.seen) >= n.o.Stale:
			delete(n.alerts, id)
			continue
		case !k.fed.IsZero() && now.Sub(k.fed) < n.o.Resend, n.o.Silenced(k.alert):
		default:
			for _, f := range n.feeds {
				f.put(id, k.alert)
			}
			k.fed = now
		}
		if k.alert.State == series.AlertResolved {
			delete(n.alerts, id)
		}
	}
	maps.DeleteFunc(n.ended, func(_ string, e ending) bool { return now.Sub(e.seen) > keepTrying })
	for key, g := range n.groups {
		if !last && now.Before(g.due) {
			continue
		}
		if note := g.flush(now, &n.o); note != nil {
			for _, o := range n.queues {
				o.put(note)
			}
		}
		if len(g.alerts) == 0 {
			delete(n.groups, key)
		}
	}
}

// Queued returns the number of alerts and notifications that wait to be delivered, by kind of receiver.
func (n *Notifier) Queued() map[Kind]int {
	out := map[Kind]int{}
	if n == nil {
		return out
	}
	for _, f := range n.feeds {
		out[KindAlertmanager] += f.waiting()
	}
	for _, o := range n.queues {
		out[o.kind()] += o.waiting()
	}
	return out
}

// lasting reports whether repeating a delivery is pointless.
func lasting(err error) bool {
	var l interface{ Lasting() bool }
	return errors.As(err, &l) && l.Lasting()
}
