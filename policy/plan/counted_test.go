package plan

import "testing"

func TestEveryKindOfPlaceHasACountedNoun(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][2]string{
		KindPort: {"1 port", "2 ports"}, KindSwitch: {"1 switch", "2 switches"}, KindSwitchPort: {"1 switch port", "2 switch ports"},
		KindQueue: {"1 queue", "2 queues"}, KindDomain: {"1 data centre", "2 data centres"}, KindFabric: {"1 fabric", "2 fabrics"},
		KindPlan: {"1 plan", "2 plans"}, KindLink: {"1 link", "2 links"}, KindFigure: {"1 figure", "2 figures"}, KindFlow: {"1 flow", "2 flows"},
		KindQueuePair: {"1 queue pair", "2 queue pairs"}, "odd thing": {"1 × odd thing", "2 × odd thing"},
	} {
		if one, two := Counted(1, kind).String(), Counted(2, kind).String(); one != want[0] || two != want[1] {
			t.Errorf("%s: %q and %q, want %q", kind, one, two, want)
		}
	}
}
