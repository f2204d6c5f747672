package embedded_test

import (
	"fmt"
	"testing"
	"time"

	"fairlane/service/series"
)

// BenchmarkRangeOfAnotherManager is a range of an hour over 1,000 series that another manager has, and over the same series here.
func BenchmarkRangeOfAnotherManager(b *testing.B) {
	for name, fabric := range map[string]string{"there": "dc2", "here": "lab"} {
		b.Run(name, func(b *testing.B) {
			p := openPair(b)
			for i := range 240 {
				var batch []series.Sample
				for k := range 1000 {
					batch = append(batch, sample(series.TenantDelivered, fabric, fmt.Sprint(k), float64(i*k)))
				}
				d := p.DB
				if fabric == "dc2" {
					d = p.other
				}
				if err := d.Append(b.Context(), start.Add(time.Duration(i)*15*time.Second), batch); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				a, err := p.Range(b.Context(), series.Everything, `sum(fairlane_tenant_delivered_bits_per_second)`, start, start.Add(time.Hour), time.Minute)
				if err != nil || len(a.Warnings) > 0 {
					b.Fatal(err, a.Warnings)
				}
			}
		})
	}
}
