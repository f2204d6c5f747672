package embedded_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/service/series"
)

// paused is what managers see of a tenant whose every contended second is bad and of a drifted device, a sample a minute.
func paused(minute int) []series.Sample {
	return slices.Concat(judged("lab", "red", float64(minute*60), float64(minute*60), 0.99),
		[]series.Sample{{Family: "fairlane_drifted_devices", Value: 2, Labels: []series.Label{{Name: "instance", Value: "m1"}, {Name: "job", Value: "fairlane"}}}})
}

// TestAJumpOfTheClockNeitherEndsNorFiresAlerts runs the clock for 20 minutes, with a firing alert and one that is pending for ten of 15
// minutes, and then forward by an hour or back by one, as package series gives the times.
func TestAJumpOfTheClockNeitherEndsNorFiresAlerts(t *testing.T) {
	t.Parallel()
	for jump, most := range map[time.Duration]int{time.Hour: 8, -time.Hour: 14} {
		d := open(t)
		var ended []series.Alert
		r := evaluator(t, d, func(_ context.Context, list []series.Alert) {
			ended = append(ended, slices.DeleteFunc(list, func(a series.Alert) bool { return a.State != series.AlertResolved })...)
		})
		wall := start
		c := series.NewClock(func() time.Time { return wall }, time.Time{}, slog.New(slog.DiscardHandler))
		round := func(minute int) (burns, drift series.AlertState) {
			wall = wall.Add(time.Minute)
			at := c.Now()
			add(t, d, at, paused(minute)[:3+min(minute/10, 1)]) // the device drifts from minute 10 on
			r.Evaluate(t.Context(), at)
			for _, a := range r.Alerts(series.Everything) {
				switch a.Name {
				case "FairlaneShareBudgetBurn":
					burns = a.State
				case "FairlaneDrift":
					drift = a.State
				}
			}
			return burns, drift
		}
		for m := range 20 {
			round(m)
		}
		wall = wall.Add(jump)
		fired := -1
		for m := 20; m < 40; m++ {
			burns, drift := round(m)
			if burns != series.AlertFiring {
				t.Fatalf("%v: minute %d: the burning budget is %q", jump, m, burns)
			}
			if drift == series.AlertFiring && fired < 0 {
				fired = m - 20
			}
		}
		// At half speed the five minutes that are left last ten.
		if fired < 5 || fired > most || len(ended) > 0 {
			t.Errorf("%v: the drift fires %d minutes after the jump, want 5 to %d; resolved: %+v", jump, fired, most, ended)
		}
		if got := instant(t, d, `max(increase(fairlane_tenant_contended_seconds_total[2h])) < bool 3000`, c.Now()); !strings.Contains(got, `"1"]`) {
			t.Errorf("%v: the jump counts as contended: %s", jump, got)
		}
	}
}
