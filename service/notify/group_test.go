package notify

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/service/series"
)

// timeline runs a notifier with a fake receiver in virtual time. Each step happens at its time; the result lists what was notified and when.
func timeline(t *testing.T, o Options, steps map[time.Duration]func(*Notifier), end time.Duration) []string {
	t.Helper()
	var r recorder
	synctest.Test(t, func(t *testing.T) {
		r.begun = time.Now()
		n, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		n.queues = []*receiverQueue{newReceiverQueue(&r, &n.o)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { n.Run(ctx); close(done) }()
		for at, step := range steps {
			go func() { time.Sleep(at); step(n) }()
		}
		time.Sleep(end)
		cancel()
		<-done
	})
	return r.out
}

// recorder is a receiver that notes notifications as lines of text.
type recorder struct {
	begun time.Time
	mu    sync.Mutex
	out   []string
}

func (*recorder) kind() Kind   { return KindWebhook }
func (*recorder) name() string { return "recorder" }
func (*recorder) close()       {}
func (r *recorder) deliver(_ context.Context, _ string, n *Notification) error {
	var parts []string
	for i := range n.Alerts {
		parts = append(parts, n.Alerts[i].Label("tenant")+" "+string(n.Alerts[i].State))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = append(r.out, fmt.Sprintf("%v %s: %s", time.Since(r.begun).Round(10*time.Second), n.value("alertname"), strings.Join(parts, ", ")))
	return nil
}

// firing repeats alerts each minute from the start of the step on, for a time.
func firing(last time.Duration, alerts ...func() series.Alert) func(*Notifier) {
	return func(n *Notifier) {
		var list []series.Alert
		for _, a := range alerts {
			list = append(list, a())
		}
		for begun := time.Now(); time.Since(begun) < last; time.Sleep(time.Minute) {
			n.Send(context.Background(), list)
		}
		for i := range list {
			list[i] = resolved(list[i])
		}
		for range 15 { // an evaluator may repeat resolutions
			n.Send(context.Background(), list)
			time.Sleep(time.Minute)
		}
	}
}

func of(name, tenant string) func() series.Alert {
	return func() series.Alert { return alert(name, tenant) }
}

func TestGroupsWaitAndRepeat(t *testing.T) {
	t.Parallel()
	got := timeline(t, Options{}, map[time.Duration]func(*Notifier){
		0:                firing(9*time.Hour, of("A", "red")),
		10 * time.Second: firing(6*time.Minute, of("A", "blue")),
		time.Minute:      firing(2*time.Hour, of("B", "red")),
	}, 12*time.Hour)
	want := []string{
		"30s A: blue firing, red firing", "1m30s B: red firing", "10m30s A: blue resolved, red firing", "2h1m30s B: red resolved",
		"4h10m30s A: red firing", "8h10m30s A: red firing", "9h0m30s A: red resolved",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("notified (-want +got):\n%s", d)
	}
}

func TestAnAlertThatEndsBeforeItsGroupIsNotifiedSendsNothing(t *testing.T) {
	t.Parallel()
	if got := timeline(t, Options{GroupWait: 5 * time.Minute}, map[time.Duration]func(*Notifier){0: firing(2*time.Minute, of("A", "red"))}, time.Hour); len(got) != 0 {
		t.Errorf("notified: %v", got)
	}
}

func TestAResolutionAfterARestartIsNotifiedOnce(t *testing.T) {
	t.Parallel()
	got := timeline(t, Options{}, map[time.Duration]func(*Notifier){0: firing(0, of("A", "red"))}, time.Hour)
	if d := cmp.Diff([]string{"30s A: red resolved"}, got); d != "" {
		t.Errorf("notified (-want +got):\n%s", d)
	}
}

func TestAlertsThatAreNotRepeatedAreDropped(t *testing.T) {
	t.Parallel()
	got := timeline(t, Options{RepeatInterval: time.Minute}, map[time.Duration]func(*Notifier){
		0: func(n *Notifier) { n.Send(context.Background(), []series.Alert{alert("A", "red")}) },
	}, 3*time.Hour)
	if d := cmp.Diff([]string{"30s A: red firing", "5m30s A: red firing"}, got); d != "" {
		t.Errorf("notified (-want +got):\n%s", d)
	}
}

func TestSilencedAlertsAreNotSentUntilTheSilenceEnds(t *testing.T) {
	t.Parallel()
	var muted bool // steps of one timeline run one at a time
	set := func(v bool) func(*Notifier) { return func(n *Notifier) { n.mu.Lock(); defer n.mu.Unlock(); muted = v } }
	silenced := func(a series.Alert) bool { return muted && a.Label("tenant") == "red" }
	got := timeline(t, Options{Silenced: silenced}, map[time.Duration]func(*Notifier){
		0:           firing(50*time.Minute, of("A", "red"), of("A", "blue")),
		time.Second: set(true), 21 * time.Minute: set(false),
	}, 2*time.Hour)
	want := []string{"30s A: blue firing", "25m30s A: blue firing, red firing", "50m30s A: blue resolved, red resolved"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("notified (-want +got):\n%s", d)
	}
	muted = true
	if got := timeline(t, Options{Silenced: silenced}, map[time.Duration]func(*Notifier){0: firing(time.Hour, of("A", "red"))}, 3*time.Hour); len(got) != 0 {
		t.Errorf("notified although silenced: %v", got)
	}
}

func TestKnownAlertsAreBounded(t *testing.T) {
	t.Parallel()
	var c counts
	n, err := New(Options{Alertmanagers: []string{"http://127.0.0.1:1"}, Webhooks: []Webhook{{"x", "http://127.0.0.1:1"}}, Count: c.add})
	if err != nil {
		t.Fatal(err)
	}
	list := make([]series.Alert, maxAlerts+7)
	for i := range list {
		list[i] = alert("A", fmt.Sprint(i))
	}
	n.Send(t.Context(), list)
	if len(n.alerts) != maxAlerts || c.of(KindAlertmanager, Dropped) != 7 || c.of(KindWebhook, Dropped) != 7 {
		t.Errorf("%d known, counts %v", len(n.alerts), c.n)
	}
	note := newNotification(nil, list, time.Now(), "")
	if len(note.Alerts) != maxListed || note.Left != len(list)-maxListed || note.Firing != len(list) {
		t.Errorf("%d listed, %d left, %d firing", len(note.Alerts), note.Left, note.Firing)
	}
}

func TestPausesGrowAndStayBounded(t *testing.T) {
	t.Parallel()
	for attempts, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 100: lastPause} {
		for range 100 {
			if d := pause(attempts); d < most/2 || d > most {
				t.Errorf("after %d attempts %v", attempts, d)
			}
		}
	}
}
