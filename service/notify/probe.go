package notify

import (
	"context"
	"sync"
	"time"

	"fairlane/service/series"
	"fairlane/service/webhook"
)

// TestAlert is the name of the alert that Probe sends.
const TestAlert = "FairlaneTest"

// testLasts is how long an Alertmanager shows the test alert.
const testLasts = 5 * time.Minute

// Result is what one receiver did with the test alert.
type Result struct {
	Kind Kind
	Name string
	Err  error // nil: it acknowledged the alert
}

// Probe makes one attempt to deliver a test alert to each receiver, concurrently, and returns the results in the order of the options. The
// text is the alert's annotation "summary".
func Probe(ctx context.Context, o Options, text string) []Result {
	o.Resend = testLasts / expiry
	o = o.withDefaults()
	now := time.Now()
	alert := series.Alert{
		Name: TestAlert, State: series.AlertFiring, Labels: []series.Label{{Name: "severity", Value: "info"}},
		Annotations: []series.Label{{Name: "summary", Value: text}}, Value: 1, ActiveAt: now, FiredAt: now,
	}
	var attempts []func() Result
	for _, base := range o.Alertmanagers {
		attempts = append(attempts, func() Result {
			f, err := newFeed(base, &o)
			if err != nil {
				return Result{KindAlertmanager, base, err}
			}
			defer f.sender.Close()
			return Result{KindAlertmanager, f.named, f.post(ctx, map[string]series.Alert{"": alert})}
		})
	}
	note := newNotification([]series.Label{{Name: labelAlertname, Value: TestAlert}}, []series.Alert{alert}, now, o.ExternalURL)
	for _, r := range receivers(&o) {
		attempts = append(attempts, func() Result {
			defer r.close()
			return Result{r.kind(), r.name(), r.deliver(ctx, webhook.NewID(), note)}
		})
	}
	out := make([]Result, len(attempts))
	var all sync.WaitGroup
	for i, attempt := range attempts {
		all.Go(func() { out[i] = attempt() })
	}
	all.Wait()
	return out
}
