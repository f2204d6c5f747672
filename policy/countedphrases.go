package policy

import "fairlane/internal/phrase"

// What is counted besides places that settings have.
const (
	kindFigure    = "figure"
	kindFlow      = "flow"
	kindQueuePair = "queue pair"
	kindTenant    = "tenant"
	kindContended = "contended link"
	kindPortPair  = "pair of ports"
	kindWeight    = "weight"
)

// counts has the words of each kind.
var counts = map[string]phrase.Noun{
	kindPort:       phrase.Ports,
	kindSwitch:     phrase.Switches,
	kindSwitchPort: phrase.NewNoun(phrase.Of("1 switch port"), func(n int) phrase.Text { return phrase.Of("{} switch ports", n) }),
	kindQueue:      phrase.NewNoun(phrase.Of("1 queue"), func(n int) phrase.Text { return phrase.Of("{} queues", n) }),
	kindDomain:     phrase.NewNoun(phrase.Of("1 data centre"), func(n int) phrase.Text { return phrase.Of("{} data centres", n) }),
	kindFabric:     phrase.NewNoun(phrase.Of("1 fabric"), func(n int) phrase.Text { return phrase.Of("{} fabrics", n) }),
	kindPlan:       phrase.NewNoun(phrase.Of("1 plan"), func(n int) phrase.Text { return phrase.Of("{} plans", n) }),
	kindLink:       phrase.NewNoun(phrase.Of("1 link"), func(n int) phrase.Text { return phrase.Of("{} links", n) }),
	kindFigure:     phrase.NewNoun(phrase.Of("1 figure"), func(n int) phrase.Text { return phrase.Of("{} figures", n) }),
	kindFlow:       phrase.NewNoun(phrase.Of("1 flow"), func(n int) phrase.Text { return phrase.Of("{} flows", n) }),
	kindTenant:     phrase.NewNoun(phrase.Of("1 tenant"), func(n int) phrase.Text { return phrase.Of("{} tenants", n) }),
	kindContended:  phrase.NewNoun(phrase.Of("1 contended link"), func(n int) phrase.Text { return phrase.Of("{} contended links", n) }),
	kindPortPair:   phrase.NewNoun(phrase.Of("1 pair of ports"), func(n int) phrase.Text { return phrase.Of("{} pairs of ports", n) }),
	kindWeight:     phrase.NewNoun(phrase.Of("1 weight"), func(n int) phrase.Text { return phrase.Of("{} weights", n) }),
	kindQueuePair:  phrase.NewNoun(phrase.Of("1 queue pair"), func(n int) phrase.Text { return phrase.Of("{} queue pairs", n) }),
}

// counted tells how many there are of a kind, also of one without words.
func counted(n int, kind string) phrase.Text {
	words, ok := counts[kind]
	if !ok {
		return phrase.Of("{} × {}", n, kind)
	}
	return words.Of(n)
}
