package embedded_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"fairlane/service/series"
)

// BenchmarkHead fills the memory of the TSDB for an hour and a half, its maximum before it writes a block, with random rates, which compress worst.
// It reports the memory, the time of a restart after a stop and after a kill, and the size of samples on disk. 60,000 series are the default
// selection at 10,000 ports.
func BenchmarkHead(b *testing.B) {
	for _, n := range []int{60_000, 150_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				head(b, n)
			}
		})
	}
}

func head(b *testing.B, n int) {
	const period = 15 * time.Second
	dir := filepath.Join(b.TempDir(), "series")
	d := opened(b, dir)
	batch := make([]series.Sample, n)
	for i := range batch {
		batch[i] = series.Sample{Family: series.LinkUse, Labels: []series.Label{{Name: series.LabelFabric, Value: "lab"}, {Name: series.LabelLink, Value: fmt.Sprintf("sw%d/P%d", i/64, i%64)}}}
	}
	r := rand.New(rand.NewPCG(1, 2))
	at := start
	fill := func(until time.Time) {
		for ; at.Before(until); at = at.Add(period) {
			for i := range batch {
				batch[i].Value = series.Significant(4e11 * r.Float64())
			}
			if err := d.Append(b.Context(), at, batch); err != nil {
				b.Fatal(err)
			}
		}
	}
	// The TSDB moves full chunks to files once a minute, which is once in four rounds of a service.
	fill(start.Add(90*time.Minute - 10*time.Minute))
	time.Sleep(time.Minute + 5*time.Second)
	debug.FreeOSMemory()
	fill(start.Add(90 * time.Minute))
	resident := status(b, "VmRSS")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/float64(n), "heap-B/series")
	b.ReportMetric(resident/float64(n), "resident-B/series")
	b.ReportMetric(resident/(1<<20), "resident-MiB")

	killed := filepath.Join(b.TempDir(), "killed")
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		b.Fatal(err)
	}
	closed(b, d)
	d = nil
	runtime.GC()
	for name, folder := range map[string]string{"restart": dir, "kill": killed} {
		if err := os.RemoveAll(filepath.Join(folder, "lock")); err != nil {
			b.Fatal(err)
		}
		begun, used := time.Now(), processorTime(b)
		again := opened(b, folder)
		b.ReportMetric(time.Since(begun).Seconds(), name+"-s")
		b.ReportMetric((processorTime(b) - used).Seconds(), name+"-cpu-s")
		if name == "restart" {
			d = again
			fill(start.Add(2 * time.Hour))
		}
		closed(b, again)
	}
	b.ReportMetric(sampleSize(b, dir), "B/sample")
}

// status returns a size of this process in bytes (proc_pid_status(5)).
func status(b *testing.B, field string) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, field+": %f kB", &kib); err == nil {
			return kib * 1024
		}
	}
	b.Fatalf("no %s", field)
	return 0
}

// sampleSize returns the mean size of a sample in the blocks of a folder, with their index.
func sampleSize(b *testing.B, dir string) float64 {
	b.Helper()
	metas, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		b.Fatalf("%d blocks, %v", len(metas), err)
	}
	var samples, size float64
	for _, file := range metas {
		var meta struct{ Stats struct{ NumSamples float64 } }
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &meta)
		}
		if err != nil {
			b.Fatal(err)
		}
		samples += meta.Stats.NumSamples
		err = filepath.WalkDir(filepath.Dir(file), func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			size += float64(info.Size())
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return size / samples
}
