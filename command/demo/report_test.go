package demo

import (
	"strings"
	"testing"

	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/internal/quantity"
	"fairlane/policy"
)

func TestTableOfADemoShowsWhatWasNotMeasuredAsSuch(t *testing.T) {
	t.Parallel()
	r := Report{Plane: string(policy.PlaneIB), Tenants: []tenantReport{
		{Name: "gold", Weight: 4, Flows: 1, Entitled: 80 * quantity.Gbps, Before: new(20 * quantity.Gbps), Delivered: new(100 * quantity.Gbps), ShareError: new(0.25)},
		{Name: "bronze", Weight: 0.5, Flows: 16, Entitled: 20 * quantity.Gbps},
	}, Findings: []policy.Finding{{Code: "x-code", Message: "x message"}}}
	a := &app{App: cmdlinetest.App(t, "en")}
	var out strings.Builder
	if err := a.printReport(&out, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	gold, bronze := lines[1], lines[2]
	if strings.Count(gold, "█") != 18 || strings.Count(gold, "░") != 14 || strings.Count(gold, "▒") != 4 || !strings.HasSuffix(gold, "25.0 %") {
		t.Errorf("gold is %q", gold)
	}
	if strings.Count(bronze, "░") != 4 || strings.Count(bronze, a.T("demo.not-measured")) != 2 || !strings.HasSuffix(bronze, "-") || !strings.Contains(bronze, "0.5") {
		t.Errorf("bronze is %q", bronze)
	}
	if strings.Contains(out.String(), "DCQCN") || !strings.Contains(out.String(), "x message") {
		t.Errorf("the report is\n%s", out.String())
	}
	r.Tenants[0].DCQCN, r.Tenants[0].DCQCNWeighted = 30*quantity.Gbps, 60*quantity.Gbps
	out.Reset()
	if err := a.printReport(&out, r); err != nil {
		t.Fatal(err)
	}
	_, rival, _ := strings.Cut(out.String(), a.T("demo.rival.head")[:6]) // the first table has the same first heading
	_, rival, found := strings.Cut(rival, "DCQCN")
	if !found || !strings.Contains(rival, "30.0") || !strings.Contains(rival, "60.0") {
		t.Errorf("with a rival the report is\n%s", out.String())
	}
}

func TestPaceGrowsWithThePlansPeriods(t *testing.T) {
	t.Parallel()
	plan := func(period quantity.Picoseconds) *policy.Plan {
		return &policy.Plan{WRCC: &policy.WRCCPlan{Domains: []policy.WRCCDomainPlan{{Period: 1}, {Period: period}}}}
	}
	for period, want := range map[quantity.Picoseconds]quantity.Picoseconds{
		quantity.Microsecond:       250 * quantity.Millisecond, // at least
		500 * quantity.Microsecond: 512 * quantity.Millisecond,
		quantity.Millisecond:       quantity.Second, // at most
	} {
		if got := paceOf(plan(period)).Settle; got != want {
			t.Errorf("a period of %d: it settles for %d, want %d", period, got, want)
		}
	}
	few := &policy.Plan{Tenants: []policy.TenantShare{{Entitled: quantity.Gbps}, {Entitled: 0}, {Entitled: 50 * quantity.Gbps}}}
	many := &policy.Plan{Tenants: []policy.TenantShare{{Entitled: 50 * quantity.Gbps}}}
	if a, b := becnTime(few), becnTime(many); a <= b || a/b != 50 && a/b != 49 {
		t.Errorf("a tenant with a 50th of the rate needs %d, one with all of it %d", a, b)
	}
	if got := becnTime(&policy.Plan{}); got != 0 {
		t.Errorf("without tenants it takes %d", got)
	}
	if p := paceOf(few); p.Final != min(max(becnTime(few), 400*quantity.Millisecond), 4*quantity.Second) || p.Round != 100*quantity.Millisecond {
		t.Errorf("the pace is %+v", p)
	}
}
