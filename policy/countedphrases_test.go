package policy

import "testing"

func TestEveryKindOfPlaceIsCountedInWords(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][2]string{
		kindPort: {"1 port", "2 ports"}, kindSwitch: {"1 switch", "2 switches"}, kindSwitchPort: {"1 switch port", "2 switch ports"},
		kindQueue: {"1 queue", "2 queues"}, kindDomain: {"1 data centre", "2 data centres"}, kindFabric: {"1 fabric", "2 fabrics"},
		kindPlan: {"1 plan", "2 plans"}, kindLink: {"1 link", "2 links"}, kindFigure: {"1 figure", "2 figures"}, kindFlow: {"1 flow", "2 flows"},
		kindQueuePair: {"1 queue pair", "2 queue pairs"}, "odd thing": {"1 × odd thing", "2 × odd thing"},
	} {
		if one, two := counted(1, kind).String(), counted(2, kind).String(); one != want[0] || two != want[1] {
			t.Errorf("%s: %q and %q, want %q", kind, one, two, want)
		}
	}
}
