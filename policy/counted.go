package policy

import "fairlane/internal/phrase"

// What is counted besides places that settings have.
const (
	kindLink      = "link"
	kindFigure    = "figure"
	kindFlow      = "flow"
	kindQueuePair = "queue pair"
)

// counted tells how many there are of a kind.
func counted(n int, kind string) phrase.Text {
	switch kind {
	case kindPort:
		return oneOr(n, phrase.Of("1 port"), phrase.Of("{} ports", n))
	case kindSwitch:
		return oneOr(n, phrase.Of("1 switch"), phrase.Of("{} switches", n))
	case kindSwitchPort:
		return oneOr(n, phrase.Of("1 switch port"), phrase.Of("{} switch ports", n))
	case kindQueue:
		return oneOr(n, phrase.Of("1 queue"), phrase.Of("{} queues", n))
	case kindDomain:
		return oneOr(n, phrase.Of("1 data centre"), phrase.Of("{} data centres", n))
	case kindFabric:
		return oneOr(n, phrase.Of("1 fabric"), phrase.Of("{} fabrics", n))
	case kindPlan:
		return oneOr(n, phrase.Of("1 plan"), phrase.Of("{} plans", n))
	case kindLink:
		return oneOr(n, phrase.Of("1 link"), phrase.Of("{} links", n))
	case kindFigure:
		return oneOr(n, phrase.Of("1 figure"), phrase.Of("{} figures", n))
	case kindFlow:
		return oneOr(n, phrase.Of("1 flow"), phrase.Of("{} flows", n))
	case kindQueuePair:
		return oneOr(n, phrase.Of("1 queue pair"), phrase.Of("{} queue pairs", n))
	}
	return phrase.Of("{} of {}", n, kind)
}

func oneOr(n int, one, many phrase.Text) phrase.Text {
	if n == 1 {
		return one
	}
	return many
}
