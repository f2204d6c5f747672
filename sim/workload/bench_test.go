package workload_test

import (
	"bytes"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/workload"
)

func BenchmarkPoissonHadoop(b *testing.B) {
	o := fatTree320(b, 1)
	o.Until = 0
	p := must[*workload.Poisson](b)(workload.NewPoisson(o))
	b.ReportAllocs()
	for b.Loop() {
		p.Next()
	}
}

func BenchmarkMergeOf64Tenants(b *testing.B) {
	sources := make([]workload.Source, 64)
	for i := range sources {
		o := fatTree320(b, uint64(i))
		o.Until, o.Load = 0, 0.005
		sources[i] = must[*workload.Poisson](b)(workload.NewPoisson(o))
	}
	m := workload.Merge(sources...)
	b.ReportAllocs()
	for b.Loop() {
		m.Next()
	}
}

// BenchmarkRingAllReduce measures a whole all-reduce among 256 ranks, 130,560 flows.
func BenchmarkRingAllReduce(b *testing.B) {
	job := must[*workload.Collective](b)(workload.NewCollective(workload.CollectiveOptions{
		Kind: workload.RingAllReduce, Hosts: workload.HostRange(0, 256), Bytes: 1 << 30, Rounds: 1_000_000,
	}))
	next := append([]workload.Arrival(nil), job.Start()...)
	var after []workload.Arrival
	b.ReportAllocs()
	for b.Loop() {
		for flows := int64(0); flows < job.Flows(); next, after = after, next[:0] {
			for _, a := range next {
				after = append(after, job.Done(a.Flow, a.At+quantity.Microsecond)...)
				flows++
			}
		}
	}
	b.ReportMetric(float64(job.Flows()), "flows/op")
}

func BenchmarkTrace(b *testing.B) {
	const flows = 10_000
	o := fatTree320(b, 1)
	o.Until, o.Count = 0, flows
	var text bytes.Buffer
	if _, err := writeTrace(&text, must[*workload.Poisson](b)(workload.NewPoisson(o))); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := len(take(must[*workload.Trace](b)(workload.NewTrace(bytes.NewReader(text.Bytes()), 320)), 0)); n != flows {
			b.Fatal(n)
		}
	}
	b.ReportMetric(flows, "flows/op")
}
