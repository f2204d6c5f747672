package series_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"fairlane/service/series"
)

// TestTheClockOfSeriesNeverRunsBack sets the wall clock back by an hour: samples keep their order, the times meet the wall clock after two
// hours, and the log says so once.
func TestTheClockOfSeriesNeverRunsBack(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	wall := time.Unix(1_700_000_000, 0)
	c := series.NewClock(func() time.Time { return wall }, time.Time{}, slog.New(slog.NewTextHandler(&log, nil)))
	last := c.Now()
	step := func(by time.Duration) time.Duration {
		t.Helper()
		wall = wall.Add(by)
		now := c.Now()
		if !now.After(last) {
			t.Fatalf("%v is not after %v", now, last)
		}
		passed := now.Sub(last)
		last = now
		return passed
	}
	step(15 * time.Second)
	step(-time.Hour)
	for range 480 {
		if by := step(15 * time.Second); by < 7490*time.Millisecond || by > 15*time.Second {
			t.Fatalf("15 s are %v of series", by)
		}
	}
	step(15 * time.Second)
	if !last.Equal(wall) {
		t.Errorf("after two hours the clock is at %v, want %v", last, wall)
	}
	if by := step(time.Hour); by != time.Hour {
		t.Errorf("a jump forward of an hour is one of %v", by)
	}
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "seconds=3600") {
		t.Errorf("want two lines:\n%s", log.String())
	}
}

// TestTheClockOfSeriesBeginsAfterTheLatestSample restarts a manager after its clock was set back.
func TestTheClockOfSeriesBeginsAfterTheLatestSample(t *testing.T) {
	t.Parallel()
	wall := time.Unix(1_700_000_000, 0)
	latest := wall.Add(time.Minute)
	if now := series.NewClock(func() time.Time { return wall }, latest, slog.New(slog.DiscardHandler)).Now(); !now.After(latest) || now.Sub(latest) > time.Second {
		t.Errorf("the clock begins at %v, want just after %v", now, latest)
	}
}
