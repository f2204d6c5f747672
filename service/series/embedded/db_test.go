package embedded_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
)

func instant(t *testing.T, d *embedded.DB, q string, at time.Time) string {
	t.Helper()
	a, err := d.Instant(t.Context(), series.Everything, q, at)
	if err != nil {
		t.Fatal(err)
	}
	return string(a.Data)
}

func TestSeriesSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := opened(t, dir)
	for i := range 4 {
		add(t, d, start.Add(time.Duration(i)*15*time.Second), []series.Sample{sample(series.TenantDelivered, "lab", "red", float64(i)*1e9)})
	}
	const q = `sum_over_time(fairlane_tenant_delivered_bits_per_second[1m])`
	at := start.Add(45 * time.Second)
	want := instant(t, d, q, at)
	closed(t, d)
	again := opened(t, dir)
	if got := instant(t, again, q, at); got != want || want != `{"resultType":"vector","result":[{"metric":{"fabric":"lab","tenant":"red"},"value":[1700000045,"6000000000"]}]}` {
		t.Errorf("after a restart: %s, want %s", got, want)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheLatestSampleIsKnownAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, want := range []time.Time{{}, start, start.Add(time.Minute)} {
		d := opened(t, dir)
		if got := d.Latest(); !got.Equal(want) {
			t.Errorf("start %d: %v, want %v", i, got, want)
		}
		add(t, d, start.Add(time.Duration(i)*time.Minute), []series.Sample{sample(series.TenantDelivered, "lab", "red", 1)})
		closed(t, d)
	}
}

func TestAFolderBelongsToOneProcessAndOneUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/series"
	d := opened(t, dir)
	defer func() { _ = d.Close() }()
	if _, err := embedded.Open(dir, embedded.Options{}); err == nil {
		t.Error("the folder was opened twice")
	}
	if at, err := os.Stat(dir); err != nil || at.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, %v: want 0700", at.Mode(), err)
	}
}

// A gap is not bridged by the value before it, and a series that only stops is stale after three intervals.
func TestAGapShowsNoValue(t *testing.T) {
	t.Parallel()
	d := embeddedtest.Open(t, embedded.Options{Interval: 15 * time.Second})
	gap := sample(series.TenantDelivered, "lab", "red", 0)
	gap.Gap = true
	add(t, d, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 5), sample(series.TenantDelivered, "lab", "blue", 7)})
	add(t, d, start.Add(15*time.Second), []series.Sample{gap})
	const q = `count by (tenant) (fairlane_tenant_delivered_bits_per_second)`
	for after, want := range map[time.Duration]string{
		14 * time.Second: `{"resultType":"vector","result":[{"metric":{"tenant":"blue"},"value":[1700000014,"1"]},{"metric":{"tenant":"red"},"value":[1700000014,"1"]}]}`,
		16 * time.Second: `{"resultType":"vector","result":[{"metric":{"tenant":"blue"},"value":[1700000016,"1"]}]}`,
		46 * time.Second: `{"resultType":"vector","result":[]}`,
	} {
		if got := instant(t, d, "sort("+q+")", start.Add(after)); sorted([]byte(got)) != sorted([]byte(want)) {
			t.Errorf("after %v: %s, want %s", after, got, want)
		}
	}
}

func TestNewSeriesBeyondTheLimitAreLeftOutAndCounted(t *testing.T) {
	t.Parallel()
	d := embeddedtest.Open(t, embedded.Options{MaxSeries: 3})
	var batch []series.Sample
	for i := range 5 {
		batch = append(batch, sample(series.TenantDelivered, "lab", fmt.Sprint(i), 1))
	}
	for i := range 2 { // the existing series continue
		err := d.Append(t.Context(), start.Add(time.Duration(i)*time.Second), batch)
		if !errors.Is(err, series.ErrTooManySeries) || err.Error() != "too many series: 2 new ones left out, 3 kept" {
			t.Errorf("round %d: %v", i, err)
		}
	}
	if got := instant(t, d, `count(count_over_time({fabric="lab"}[5s]) == 2)`, start.Add(2*time.Second)); got != `{"resultType":"vector","result":[{"metric":{},"value":[1700000002,"3"]}]}` {
		t.Error(got)
	}
	if n, _ := d.Size(); n != 3 {
		t.Errorf("%d series, want 3", n)
	}
}

// The limit counts series, not what this process has appended: after a restart at the limit the existing series continue.
func TestSeriesAtTheLimitContinueAfterARestart(t *testing.T) {
	t.Parallel()
	dir, batch := t.TempDir(), []series.Sample{sample(series.TenantDelivered, "lab", "red", 1), sample(series.TenantDelivered, "lab", "blue", 1)}
	for i := range 3 {
		d, err := embedded.Open(dir, embedded.Options{MaxSeries: 2})
		if err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			add(t, d, start.Add(time.Duration(2*i+k)*time.Second), batch)
		}
		if err := d.Append(t.Context(), start.Add(time.Duration(2*i+2)*time.Second-time.Millisecond), []series.Sample{sample(series.TenantDelivered, "lab", "green", 1)}); !errors.Is(err, series.ErrTooManySeries) {
			t.Errorf("start %d: a third series: %v", i, err)
		}
		closed(t, d)
	}
}

// A batch is added whole or not at all: after a failure no value of it is there, and the series take later values.
func TestABatchIsAddedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	d := open(t)
	add(t, d, start, []series.Sample{sample(series.TenantDelivered, "lab", "blue", 1)})
	bad := []series.Sample{sample(series.TenantDelivered, "lab", "red", 1), sample(series.TenantDelivered, "lab", "blue", 2)}
	if err := d.Append(t.Context(), start, bad); err == nil {
		t.Fatal("a second value for the same instant was accepted")
	}
	if err := d.Append(t.Context(), start.Add(-time.Hour), bad); err == nil {
		t.Fatal("a value from an hour ago was accepted")
	}
	if got := instant(t, d, `count({fabric="lab"})`, start); got != `{"resultType":"vector","result":[{"metric":{},"value":[1700000000,"1"]}]}` {
		t.Error(got)
	}
	add(t, d, start.Add(time.Minute), bad)
	if got := instant(t, d, `count({fabric="lab"})`, start.Add(time.Minute)); got != `{"resultType":"vector","result":[{"metric":{},"value":[1700000060,"2"]}]}` {
		t.Error(got)
	}
}

func TestOptionsOutOfRangeAreNamed(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]embedded.Options{
		"series: retention 1h0m0s: want at least 2h0m0s":        {Retention: time.Hour},
		"series: size limit of -1 bytes: want 0 (none) or more": {MaxBytes: -1},
		"series: interval 1ms: want at least 1 s":               {Interval: time.Millisecond},
		"series: limit of -3 series: want at least 1":           {MaxSeries: -3},
	} {
		if _, err := embedded.Open(t.TempDir(), o); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}
