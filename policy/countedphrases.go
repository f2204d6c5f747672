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
	kindSwitchPort: phrase.Noun("count.switch-port"),
	kindQueue:      phrase.Noun("count.queue"),
	kindDomain:     phrase.Noun("count.data-centre"),
	kindFabric:     phrase.Noun("count.fabric"),
	kindPlan:       phrase.Noun("count.plan"),
	kindLink:       phrase.Noun("count.link"),
	kindFigure:     phrase.Noun("count.figure"),
	kindFlow:       phrase.Noun("count.flow"),
	kindTenant:     phrase.Noun("count.tenant"),
	kindContended:  phrase.Noun("count.contended-link"),
	kindPortPair:   phrase.Noun("count.port-pair"),
	kindWeight:     phrase.Noun("count.weight"),
	kindQueuePair:  phrase.Noun("count.queue-pair"),
}

// counted tells how many there are of a kind, also of one without words.
func counted(n int, kind string) phrase.Text {
	words, ok := counts[kind]
	if !ok {
		return phrase.Of("count.other", "n", n, "kind", kind)
	}
	return words.Of(n)
}

// Kinds of places that settings have.
const (
	kindPort       = "port"
	kindSwitch     = "switch"
	kindSwitchPort = "switch port"
	kindQueue      = "queue"
	kindDomain     = "data centre"
	kindFabric     = "fabric"
	kindPlan       = "plan"
	kindLink       = "link"
)
