package reproduce

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlane/internal/quantity"
)

func TestZZ(t *testing.T) {
	cs := append([]s3Control{{label: "pidnn", name: "pidnn"}, {label: "pid", name: "pidnn", values: map[string]string{"predictor": "false"}}}, s3Peers()...)
	for _, c := range cs {
		s := time.Now()
		r, err := runIncast(t.Context(), c, s3Sizes())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s %v: %+v pauses %d", c.label, time.Since(s), r.figures(), r.pauses)
	}
}

func TestZZFat(t *testing.T) {
	ms, _ := strconv.Atoi(os.Getenv("ZZMS"))
	span := quantity.Picoseconds(ms) * quantity.Millisecond
	flows, err := s3Traffic(1, 320, span)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(len(flows))
	runtime.GC()
	v := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	cs := append([]s3Control{{label: "pidnn", name: "pidnn"},
		{label: "rttch", name: "pidnn", values: v("rttch", "both")},
		{label: "rttch-run", name: "pidnn", values: v("rttch", "both", "rttch_mean", "running")},
		{label: "rttch-run-win", name: "pidnn", values: v("rttch", "both", "rttch_mean", "running", "window", "variable")},
		{label: "rttch-printed", name: "pidnn", values: v("rttch", "printed")},
		{label: "rttch-win", name: "pidnn", values: v("rttch", "both", "window", "variable")},
		{label: "rttch-fixwin", name: "pidnn", values: v("rttch", "both", "window", "fixed")},
	}, s3Peers()...)
	cs = append(cs, s3Control{label: "dcqcn", name: "dcqcn-peer"})
	if os.Getenv("ZZ100") != "" {
		cs = cs[:7]
		for i := range cs {
			if cs[i].values == nil {
				cs[i].values = v()
			}
			cs[i].values["start_rate"] = "100Gbps"
		}
	}
	for _, c := range cs {
		if only := os.Getenv("ZZONLY"); only != "" && !strings.Contains(c.label, only) {
			continue
		}
		s := time.Now()
		r, err := runSlowdown(t.Context(), c, 1, flows)
		if err != nil {
			t.Fatal(err)
		}
		b := bySize(r.normal)
		t.Logf("%s %v: pauses %d drops %d hops %.1fM end %s flows %d", c.label, time.Since(s), r.pauses, r.dropped, float64(r.hops)/1e6, r.end, len(r.normal))
		for _, x := range b {
			t.Logf("    %d %.3f", x.upTo, x.p95)
		}
	}
}
