package evaluate

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlane/ccconfig/qos"
	"fairlane/policy"
)

func TestTryClasses(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("TRY"))
	if n == 0 {
		t.Skip()
	}
	seed := uint64(20261129)
	if v, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = v
	}
	k := 7
	if v, err := strconv.Atoi(os.Getenv("K")); err == nil {
		k = v
	}
	for i := range n {
		if only := os.Getenv("ONLY"); only != "" && !slices.Contains(strings.Split(only, ","), strconv.Itoa(i)) {
			continue
		}
		c, err := Generate(seed, i, policy.PlaneRoCE)
		if err != nil {
			t.Fatal(err)
		}
		for _, lever := range strings.Split(os.Getenv("LEVERS"), ",") {
			lever := policy.Lever(lever)
			in := c.Input
			if in.Options.Lever = lever; in.Options.Divides() {
				for q := range uint8(k) {
					in.Options.Classes = append(in.Options.Classes, qos.TrafficClass{DSCP: 8 * q, Queue: q})
				}
			}
			p, err := policy.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Simulate(context.Background(), in, p, Options{Seed: c.Traffic(), MaxHops: hopBudget})
			if err != nil {
				t.Fatal(err)
			}
			worstP, use := 0.0, 1.0
			for _, x := range s.Tenants {
				worstP = max(worstP, x.PredictionError)
			}
			for _, l := range s.Links {
				use = min(use, l.Use)
			}
			fmt.Printf("%3d %-24s %-10s sh=%v T=%2d %-8s share %.3f pred %.3f use %.3f findings", i, c.Kind, c.Form, c.Shared, len(in.Tenants), lever, s.MaxShareError, worstP, use)
			codes := map[string]int{}
			for _, f := range p.Findings {
				codes[f.Code]++
			}
			fmt.Print(codes)
			fmt.Println()
			if os.Getenv("V") != "" {
				for _, x := range s.Tenants {
					for _, y := range p.Tenants {
						if y.Tenant == x.Tenant {
							fmt.Printf("      %s w=%v qps=%d ent=%v pred=%v bound=%.3f got=%v drift %.3f\n", x.Tenant, y.Weight, y.QPs, y.Entitled, y.Predicted, y.Bound, x.Delivered, x.Drift)
						}
					}
				}
			}
		}
	}
}
