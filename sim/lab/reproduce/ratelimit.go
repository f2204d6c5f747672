package reproduce

import (
	"context"
	"fmt"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
)

// limit is one fixed delay of S1's experiment E2 with the rate printed in S1.
type limit struct {
	ird     quantity.Picoseconds
	printed float64 // bit/s
}

func s1Limits() []limit {
	return []limit{{2048 * quantity.Nanosecond, 1e9}, {20480 * quantity.Nanosecond, 1e8}, {204800 * quantity.Nanosecond, 1e7}}
}

// planRateLimit keeps one queue pair at CCTI 1 by means of CCTI_Min and sets entry 1 of its table to a delay, for each
// reading of the delay.
func planRateLimit(seed uint64) ([]job, func() []Row) {
	limits := s1Limits()
	readings := []reading{readS1, readIBTA, readAggregate}
	got := make([]float64, len(limits)*len(readings))
	var jobs []job
	for i, r := range readings {
		for k, l := range limits {
			jobs = append(jobs, func(ctx context.Context) (err error) {
				got[i*len(limits)+k], err = limitedRate(ctx, seed, r, l.ird)
				return err
			})
		}
	}
	return jobs, func() []Row {
		var rows []Row
		for i, r := range readings {
			for k, l := range limits {
				rows = append(rows, published(fmt.Sprintf("rate-%gus.%s", float64(l.ird)/float64(us), r), l.printed/1e6,
					got[i*len(limits)+k]/1e6, "Mbit/s", r.note()))
			}
		}
		return rows
	}
}

// note returns a description of the reading for display.
func (r reading) note() string {
	switch r {
	case readS1:
		return "calibration s1, the printed formula: one 1024-byte packet per 4 IRD"
	case readAggregate:
		return "S1's Algorithm 2 taken literally: four packets per IRD"
	default:
		return "IBTA: IRD inserted after every packet"
	}
}

// limitedRate measures the payload rate, in bit/s, over a thousand packets at S1's printed rate.
func limitedRate(ctx context.Context, seed uint64, r reading, ird quantity.Picoseconds) (float64, error) {
	b, err := newTestbed(fabric.Config{Seed: seed, Aggregate: r.aggregate()})
	if err != nil {
		return 0, err
	}
	e, err := r.entry(ird)
	if err != nil {
		return 0, err
	}
	src, err := host(b.Topology(), "D")
	if err != nil {
		return 0, err
	}
	b.ApplyCA(src.Node, src.Port, ibcc.CASettings{Limit: 1, Table: []ibcc.Entry{{}, e}, SLs: allSLs(ibcc.SLParams{Min: 1})})
	id, err := b.flow("D", "B", 0, 0)
	if err != nil {
		return 0, err
	}
	p, err := b.measure(ctx, []fabric.FlowID{id}, 4*s1Aggregate*ird, 1004*s1Aggregate*ird)
	if err != nil {
		return 0, err
	}
	return p[0].payload, nil
}
