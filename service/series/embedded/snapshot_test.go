package embedded_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlane/service/series"
	"fairlane/service/series/embedded"
)

// restored copies a snapshot into a new folder and opens it.
func restored(t *testing.T, snapshot string) *embedded.DB {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "restored")
	r, err := embedded.PrepareRestore(t.Context(), snapshot, folder)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := r.Commit(".before")
	if err := errors.Join(err, r.Close()); err != nil || kept != "" {
		t.Fatalf("kept %q, %v", kept, err)
	}
	d := opened(t, folder)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// What was stored when the copy began is in the copy, up to the last sample, although the store keeps appending.
func TestASnapshotTakenWhileSamplesAreAppendedGivesEqualAnswers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "series")
	d := opened(t, dir)
	defer func() { _ = d.Close() }()
	batch := func(i int) []series.Sample {
		return []series.Sample{sample(series.TenantDelivered, "lab", "red", float64(i%97)), sample(series.TenantDelivered, "lab", "blue", float64(i%89))}
	}
	const before = 1500 // six hours: blocks and a log
	for i := range before {
		add(t, d, start.Add(time.Duration(i)*15*time.Second), batch(i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	added := make(chan struct{})
	wg.Go(func() {
		for i := before; ctx.Err() == nil; i++ {
			if err := d.Append(t.Context(), start.Add(time.Duration(i)*15*time.Second), batch(i)); err != nil {
				t.Error(err)
				return
			}
			if i == before+10 {
				close(added)
			}
		}
	})
	<-added
	to := filepath.Join(t.TempDir(), "copy")
	c, err := embedded.Snapshot(t.Context(), dir, to)
	cancel()
	wg.Wait()
	if err != nil || c.Series < 2 || c.Bytes == 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	back := restored(t, to)
	at := start.Add((before + 9) * 15 * time.Second)
	for _, q := range []string{`sum_over_time(fairlane_tenant_delivered_bits_per_second[7h])`, `count_over_time(fairlane_tenant_delivered_bits_per_second[7h])`, `fairlane_tenant_delivered_bits_per_second`} {
		if got, want := instant(t, back, q, at), instant(t, d, q, at); sorted([]byte(got)) != sorted([]byte(want)) {
			t.Errorf("%s: %s, want %s", q, got, want)
		}
	}
	if _, err := embedded.Snapshot(t.Context(), dir, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a copy: %v", err)
	}
	add(t, back, start.Add(30*24*time.Hour), batch(1)) // the restored series continue
}

func TestSnapshotsOfAStoppedServiceAndOfAMissingFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "series")
	to := filepath.Join(t.TempDir(), "copy")
	if _, err := embedded.Snapshot(t.Context(), dir, to); !errors.Is(err, embedded.ErrNoSeries) {
		t.Errorf("without a folder: %v", err)
	}
	for i := range 3 { // a restart leaves a snapshot of the memory in addition to the log
		d := opened(t, dir)
		add(t, d, start.Add(time.Duration(i)*time.Minute), []series.Sample{sample(series.TenantDelivered, "lab", "red", float64(i+1))})
		closed(t, d)
	}
	if _, err := embedded.Snapshot(t.Context(), dir, to); err != nil {
		t.Fatal(err)
	}
	if got := instant(t, restored(t, to), `sum_over_time(fairlane_tenant_delivered_bits_per_second[5m])`, start.Add(2*time.Minute)); !strings.Contains(got, `"6"`) {
		t.Error(got)
	}
}

// Samples that arrived out of order, as after a clock was set back, are in no block until the TSDB compacts them.
func TestASnapshotHasSamplesThatArrivedLate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "series")
	to := filepath.Join(t.TempDir(), "copy")
	d := opened(t, dir)
	defer func() { _ = d.Close() }()
	for _, m := range []int{0, 5, 2, 6, 3} {
		add(t, d, start.Add(time.Duration(m)*time.Minute), []series.Sample{sample(series.TenantDelivered, "lab", "red", float64(m+1))})
	}
	if _, err := embedded.Snapshot(t.Context(), dir, to); err != nil {
		t.Fatal(err)
	}
	if got := instant(t, restored(t, to), `sum_over_time(fairlane_tenant_delivered_bits_per_second[7m])`, start.Add(6*time.Minute)); !strings.Contains(got, `"21"`) {
		t.Error(got)
	}
}

// A block that disappears after the copy listed it was superseded by another one, which the list lacks: the copy begins anew.
func TestASnapshotWithoutAListedBlockFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "series")
	to := filepath.Join(t.TempDir(), "copy")
	d := opened(t, dir)
	add(t, d, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 1)})
	closed(t, d)
	if err := os.Symlink("gone", filepath.Join(dir, "01M8C53Z9Q0000000000000000")); err != nil { // listed, and not there
		t.Fatal(err)
	}
	if _, err := embedded.Snapshot(t.Context(), dir, to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want an error since every attempt misses a block", err)
	}
}

func TestARestoreNeverReplacesSeriesInUse(t *testing.T) {
	t.Parallel()
	dir, to := filepath.Join(t.TempDir(), "series"), filepath.Join(t.TempDir(), "copy")
	d := opened(t, dir)
	add(t, d, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 1)})
	if _, err := embedded.Snapshot(t.Context(), dir, to); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.PrepareRestore(t.Context(), to, dir); !errors.Is(err, embedded.ErrInUse) {
		t.Errorf("while they are open: %v", err)
	}
	add(t, d, start.Add(time.Minute), []series.Sample{sample(series.TenantDelivered, "lab", "red", 2)})
	closed(t, d)
	r, err := embedded.PrepareRestore(t.Context(), to, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Open(dir, embedded.Options{}); err == nil {
		t.Error("the folder was opened during a restore")
	}
	kept, err := r.Commit(".before")
	if err := errors.Join(err, r.Close()); err != nil || kept != dir+".before" {
		t.Fatalf("kept %q, %v", kept, err)
	}
	for folder, want := range map[string]string{dir: `"1"`, kept: `"2"`} {
		d := opened(t, folder)
		if got := instant(t, d, `fairlane_tenant_delivered_bits_per_second`, start.Add(time.Minute-time.Second)); folder == dir && !strings.Contains(got, `[]`) {
			t.Errorf("%s: %s", folder, got)
		}
		if got := instant(t, d, `count_over_time(fairlane_tenant_delivered_bits_per_second[5m])`, start.Add(time.Minute)); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", folder, got, want)
		}
		closed(t, d)
	}
}

// A damaged copy is refused before anything is replaced.
func TestADamagedSnapshotIsRefused(t *testing.T) {
	t.Parallel()
	dir, to := filepath.Join(t.TempDir(), "series"), filepath.Join(t.TempDir(), "copy")
	d := opened(t, dir)
	add(t, d, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 1)})
	closed(t, d)
	if _, err := embedded.Snapshot(t.Context(), dir, to); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(to, "*", "index"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Truncate(files[0], 40); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.PrepareRestore(t.Context(), to, dir); err == nil || !strings.Contains(err.Error(), "corrupted block") {
		t.Errorf("a damaged copy: %v", err)
	}
	if again, err := embedded.Open(dir, embedded.Options{}); err != nil {
		t.Error(err)
	} else if err := again.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(dir + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
