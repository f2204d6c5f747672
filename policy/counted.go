package policy

import "fairlane/internal/phrase"

// What is counted besides places that settings have.
const (
	kindFigure    = "figure"
	kindFlow      = "flow"
	kindQueuePair = "queue pair"
)

// counted tells how many there are of a kind.
func counted(n int, kind string) phrase.Text {
	several, ok := countOf[kind]
	switch {
	case !ok: // of a difference from elsewhere
		return phrase.Of("{} × {}", n, kind)
	case n == 1:
		return oneOf[kind]
	}
	return several(n)
}

var oneOf = map[string]phrase.Text{
	kindPort:       phrase.Of("1 port"),
	kindSwitch:     phrase.Of("1 switch"),
	kindSwitchPort: phrase.Of("1 switch port"),
	kindQueue:      phrase.Of("1 queue"),
	kindDomain:     phrase.Of("1 data centre"),
	kindFabric:     phrase.Of("1 fabric"),
	kindPlan:       phrase.Of("1 plan"),
	kindLink:       phrase.Of("1 link"),
	kindFigure:     phrase.Of("1 figure"),
	kindFlow:       phrase.Of("1 flow"),
	kindQueuePair:  phrase.Of("1 queue pair"),
}

var countOf = map[string]func(n int) phrase.Text{
	kindPort:       func(n int) phrase.Text { return phrase.Of("{} ports", n) },
	kindSwitch:     func(n int) phrase.Text { return phrase.Of("{} switches", n) },
	kindSwitchPort: func(n int) phrase.Text { return phrase.Of("{} switch ports", n) },
	kindQueue:      func(n int) phrase.Text { return phrase.Of("{} queues", n) },
	kindDomain:     func(n int) phrase.Text { return phrase.Of("{} data centres", n) },
	kindFabric:     func(n int) phrase.Text { return phrase.Of("{} fabrics", n) },
	kindPlan:       func(n int) phrase.Text { return phrase.Of("{} plans", n) },
	kindLink:       func(n int) phrase.Text { return phrase.Of("{} links", n) },
	kindFigure:     func(n int) phrase.Text { return phrase.Of("{} figures", n) },
	kindFlow:       func(n int) phrase.Text { return phrase.Of("{} flows", n) },
	kindQueuePair:  func(n int) phrase.Text { return phrase.Of("{} queue pairs", n) },
}
