package policy

import "testing"

func TestFindingsOfDifferentTenantsAreBothTold(t *testing.T) {
	t.Parallel()
	same := "shortest timers round coarsely"
	got := sortFindings([]Finding{
		{Code: CodeTimerQuantised, Tenants: []string{"green"}, Message: same},
		{Code: CodeTimerQuantised, Tenants: []string{"blue"}, Message: same},
		{Code: CodeTimerQuantised, Tenants: []string{"blue"}, Message: same},
	})
	if len(got) != 2 || got[0].Tenants[0] != "blue" || got[1].Tenants[0] != "green" {
		t.Errorf("findings are %+v, want one of blue and one of green", got)
	}
}
