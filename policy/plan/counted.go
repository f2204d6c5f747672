package plan

import "fairlane/internal/phrase"

// Kinds of counted things other than places of settings.
const (
	KindFigure    = "figure"
	KindFlow      = "flow"
	KindQueuePair = "queue pair"
	KindTenant    = "tenant"
	KindContended = "contended link"
	KindPortPair  = "pair of ports"
	KindWeight    = "weight"
)

// counts maps each kind to its words.
var counts = map[string]phrase.Noun{
	KindPort:       phrase.Ports,
	KindSwitch:     phrase.Switches,
	KindSwitchPort: phrase.Noun("count.switch-port"),
	KindQueue:      phrase.Noun("count.queue"),
	KindDomain:     phrase.Noun("count.data-centre"),
	KindFabric:     phrase.Noun("count.fabric"),
	KindPlan:       phrase.Noun("count.plan"),
	KindLink:       phrase.Noun("count.link"),
	KindFigure:     phrase.Noun("count.figure"),
	KindFlow:       phrase.Noun("count.flow"),
	KindTenant:     phrase.Noun("count.tenant"),
	KindContended:  phrase.Noun("count.contended-link"),
	KindPortPair:   phrase.Noun("count.port-pair"),
	KindWeight:     phrase.Noun("count.weight"),
	KindQueuePair:  phrase.Noun("count.queue-pair"),
}

// Counted returns a number with the words of its kind, or with the kind itself if it has none.
func Counted(n int, kind string) phrase.Text {
	words, ok := counts[kind]
	if !ok {
		return phrase.Of("count.other", "n", n, "kind", kind)
	}
	return words.Of(n)
}

// Kinds of places of settings.
const (
	KindPort       = "port"
	KindSwitch     = "switch"
	KindSwitchPort = "switch port"
	KindQueue      = "queue"
	KindDomain     = "data centre"
	KindFabric     = "fabric"
	KindPlan       = "plan"
	KindLink       = "link"
)
