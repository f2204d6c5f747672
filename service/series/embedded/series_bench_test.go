package embedded_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"fairlane/service/series"
	"fairlane/service/series/embedded"
)

// BenchmarkAppend adds a sample to each of 60,000 series: the default selection at 10,000 ports.
func BenchmarkAppend(b *testing.B) {
	d, err := embedded.Open(b.TempDir(), embedded.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	batch := make([]series.Sample, 60_000)
	for i := range batch {
		batch[i] = series.Sample{Family: series.LinkUse, Labels: []series.Label{{Name: series.LabelFabric, Value: "lab"}, {Name: series.LabelLink, Value: fmt.Sprintf("sw%d/P%d", i/64, i%64)}}}
	}
	round := 0
	b.ReportAllocs()
	for b.Loop() {
		for i := range batch {
			batch[i].Value = float64((i*7919 + round*104729) % 1000)
		}
		if err := d.Append(b.Context(), start.Add(time.Duration(round)*15*time.Second), batch); err != nil {
			b.Fatal(err)
		}
		round++
	}
	b.ReportMetric(float64(len(batch)*round)/b.Elapsed().Seconds(), "samples/s")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/float64(len(batch)), "heap-B/series")
}

// BenchmarkDayOfTenants asks for delivered over entitled of 64 tenants for 24 hours, as a page shows it.
func BenchmarkDayOfTenants(b *testing.B) {
	d, err := embedded.Open(b.TempDir(), embedded.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	var batch []series.Sample
	for i := range 64 {
		t := fmt.Sprintf("tenant%d", i)
		batch = append(batch, sample(series.TenantDelivered, "lab", t, 0), sample(series.TenantEntitled, "lab", t, 1e11))
	}
	for at := 0; at < 24*3600; at += 15 {
		for i := range batch {
			batch[i].Value = 1e11 + float64((i*7919+at)%1000)*1e7
		}
		if err := d.Append(b.Context(), start.Add(time.Duration(at)*time.Second), batch); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		_, err := d.Range(b.Context(), series.Everything, `sum by (tenant) (avg_over_time(fairlane_tenant_delivered_bits_per_second[5m])) / sum by (tenant) (fairlane_tenant_entitled_bits_per_second)`,
			start, start.Add(24*time.Hour), 5*time.Minute)
		if err != nil {
			b.Fatal(err)
		}
	}
}
