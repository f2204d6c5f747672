package notify

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/service/series"
)

func TestWebhooksHaveTheFormOfAlertmanager(t *testing.T) {
	t.Parallel()
	key := testKey(t)
	in := newInbox(t, key)
	var c counts
	n, stop := start(t, Options{Webhooks: []Webhook{{"oncall", in.URL}}, Key: key, GroupWait: -1, GroupInterval: time.Second, ExternalURL: "https://fairlane.example", Count: c.add})
	red, blue := alert("ShareError", "red"), alert("ShareError", "blue")
	n.Send(t.Context(), []series.Alert{red, blue, {Name: "Pending", State: series.AlertPending}})
	eventually(t, "a notification", func() bool { return len(in.all()) == 1 })
	ended := resolved(red)
	n.Send(t.Context(), []series.Alert{ended, blue})
	eventually(t, "a second notification", func() bool { return len(in.all()) == 2 })
	stop()
	all := in.all()
	want := message{
		Version: "4", GroupKey: `{}:{alertname="ShareError", fabric="lab"}`, Status: "firing", Receiver: "oncall",
		GroupLabels:       map[string]string{"alertname": "ShareError", "fabric": "lab"},
		CommonLabels:      map[string]string{"alertname": "ShareError", "fabric": "lab"},
		CommonAnnotations: map[string]string{}, ExternalURL: "https://fairlane.example",
		Alerts: []messageAlert{
			{"firing", map[string]string{"alertname": "ShareError", "fabric": "lab", "tenant": "blue"}, map[string]string{"summary": "blue gets too little"}, blue.FiredAt.UTC(), time.Time{}, "https://fairlane.example", fingerprint(&blue)},
			{"firing", map[string]string{"alertname": "ShareError", "fabric": "lab", "tenant": "red"}, map[string]string{"summary": "red gets too little"}, red.FiredAt.UTC(), time.Time{}, "https://fairlane.example", fingerprint(&red)},
		},
	}
	if d := cmp.Diff(want, all[0].body); d != "" {
		t.Errorf("the first (-want +got):\n%s", d)
	}
	want.Alerts[1].Status, want.Alerts[1].EndsAt = "resolved", ended.ResolvedAt.UTC()
	if d := cmp.Diff(want, all[1].body); d != "" {
		t.Errorf("the second (-want +got):\n%s", d)
	}
	if all[0].id == "" || all[0].id == all[1].id {
		t.Errorf("ids are %q and %q", all[0].id, all[1].id)
	}
	if got := c.of(KindWebhook, Sent); got != 2 {
		t.Errorf("%d sent", got)
	}
}

func TestAFailedDeliveryIsRepeatedUnderTheSameID(t *testing.T) {
	t.Parallel()
	in := newInbox(t, nil, http.StatusInternalServerError, http.StatusServiceUnavailable)
	var c counts
	n, _ := start(t, Options{Webhooks: []Webhook{{"oncall", in.URL}}, GroupWait: -1, Count: c.add})
	n.Send(t.Context(), []series.Alert{alert("A", "red")})
	eventually(t, "delivered", func() bool { return c.of(KindWebhook, Sent) == 1 })
	all := in.all()
	if len(all) != 3 || all[0].id != all[2].id || c.of(KindWebhook, Retried) != 2 {
		t.Errorf("%d attempts, ids %s and %s, counts %v", len(all), all[0].id, all[len(all)-1].id, c.n)
	}
}

// TestReceiversThatMisbehaveDelayNoOther has one receiver for each way to misbehave, and a good one.
func TestReceiversThatMisbehaveDelayNoOther(t *testing.T) {
	t.Parallel()
	hanging := make(chan struct{})
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch strings.TrimSuffix(r.URL.Path, alertsPath) {
		case "/hangs":
			<-hanging
		case "/fails":
			w.WriteHeader(http.StatusInternalServerError)
		case "/redirects":
			http.Redirect(w, r, "/good", http.StatusFound)
		case "/endless":
			w.WriteHeader(http.StatusBadGateway)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/closes":
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = c.Close()
			}
		}
	}))
	defer bad.Close()
	defer close(hanging)
	in := newInbox(t, nil)
	for _, path := range []string{"/hangs", "/fails", "/redirects", "/endless", "/closes"} {
		t.Run(path, func(t *testing.T) {
			var c counts
			n, stop := start(t, Options{
				Webhooks: []Webhook{{"bad", bad.URL + path}, {"good", in.URL}}, Alertmanagers: []string{bad.URL + path}, GroupWait: -1, Flush: 50 * time.Millisecond, Count: c.add,
			})
			before, begun := len(in.all()), time.Now()
			n.Send(t.Context(), []series.Alert{alert("A", "red")})
			eventually(t, "the good one has it", func() bool { return len(in.all()) == before+1 })
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			switch path {
			case "/hangs":
				// The good one leaves the queue with its answer, a little after its request is in the inbox.
				eventually(t, "one waits", func() bool { return n.Queued()[KindWebhook] == 1 })
			case "/redirects":
				eventually(t, "given up", func() bool { return c.of(KindWebhook, Failed) == 1 && c.of(KindAlertmanager, Failed) == 1 })
			default:
				eventually(t, "tried again", func() bool { return c.of(KindWebhook, Retried) > 0 && c.of(KindAlertmanager, Retried) > 0 })
			}
			begun = time.Now()
			stop()
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("the end took %v", took)
			}
			if path != "/redirects" && (c.of(KindWebhook, Dropped) != 1 || c.of(KindAlertmanager, Dropped) != 1) {
				t.Errorf("what was lost at the end is not counted: %v", c.n)
			}
		})
	}
}

func TestAFullQueueDropsTheOldestAndCounts(t *testing.T) {
	t.Parallel()
	var c counts
	o := Options{Count: c.add}.withDefaults()
	out := newReceiverQueue(&fake{}, &o)
	for i := range maxQueue + 10 {
		out.put(&Notification{Key: fmt.Sprint(i)})
	}
	if out.waiting() != maxQueue || out.first().note.Key != "10" || c.of(KindWebhook, Dropped) != 10 {
		t.Errorf("%d wait, the first is %s, counts %v", out.waiting(), out.first().note.Key, c.n)
	}
	displaced := &parcel{}
	out.done(displaced, Sent)
	if out.waiting() != maxQueue || c.of(KindWebhook, Sent) != 0 {
		t.Error("a displaced notification was counted again")
	}
}

func TestShutdownDeliversQueuedNotifications(t *testing.T) {
	t.Parallel()
	in := newInbox(t, nil)
	n, stop := start(t, Options{Webhooks: []Webhook{{"oncall", in.URL}}, GroupWait: time.Hour})
	n.Send(t.Context(), []series.Alert{alert("A", "red")})
	stop()
	if len(in.all()) != 1 {
		t.Error("the notification of a group that waits is lost")
	}
}

// fake is a receiver that keeps what it gets.
type fake struct{ got []*Notification }

func (*fake) kind() Kind   { return KindWebhook }
func (*fake) name() string { return "fake" }
func (*fake) close()       {}
func (f *fake) deliver(_ context.Context, _ string, n *Notification) error {
	f.got = append(f.got, n)
	return nil
}

func TestNothingHappensWithoutReceivers(t *testing.T) {
	t.Parallel()
	var none *Notifier
	none.Send(t.Context(), []series.Alert{alert("A", "red")})
	none.Run(t.Context())
	if len(none.Queued()) != 0 {
		t.Error("something is queued")
	}
	n, stop := start(t, Options{})
	n.Send(t.Context(), []series.Alert{alert("A", "red")})
	stop()
	if _, err := New(Options{Alertmanagers: []string{"localhost:9093"}}); err == nil {
		t.Error("an address without a scheme is taken")
	}
}
