package simdev

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// CCSupport is a device's response to congestion-control requests.
type CCSupport uint8

// Kinds of support in real devices.
const (
	CCSupported   CCSupport = iota
	CCNoAttribute           // every attribute is answered with status 0x0c
	CCNoClass               // every request of the class is answered with status 0x04
	CCSilent                // requests are ignored: the requester times out
)

// Faults are the faults of agents. They are reproducible. The zero value injects no faults. Probabilities are drawn from a
// generator seeded with Seed, one draw per message and fault, so the same messages in the same order get the same faults.
type Faults struct {
	Seed    uint64
	Nodes   []int32     // nodes whose agents have faults; nil means all
	Classes []mad.Class // management classes affected by loss, delay and busy; nil means all

	DropRequest float64 // probability 0..1 that a request is lost before it reaches the agent
	DropReply   float64 // probability that the response is lost after the agent acted
	DelayReply  float64 // probability that the response is delayed by Delay
	Busy        float64 // probability that the agent answers busy (status 0x01) and does nothing

	// Counted faults, used up before probabilities apply: lost requests, lost replies and busy replies.
	LoseRequests int
	LoseReplies  int
	BusyReplies  int

	Delay time.Duration // wall time

	ClampTimer    uint16 // CCTI_Timer is silently limited to this value; 0 means no limit
	ClampIncrease uint8  // CCTI_Increase is silently limited to this value; 0 means no limit
	CC            CCSupport
	// IgnoreControlMap makes CACongestionSetting apply the entries of all SLs, regardless of Control_Map.
	IgnoreControlMap bool
	// IgnoreInvalidElements makes SwitchPortCongestionSetting leave a port's element unchanged when its Valid bit is 0, instead
	// of returning the port to the switch's defaults.
	IgnoreInvalidElements bool
	// Unanswered lists attributes that the agents do not answer, as in partly working firmware. The two classes of subnet management
	// count as one.
	Unanswered []Attribute
	// NodeGUIDs are false node GUIDs that nodes report, independent of Nodes: for example of a cloned board, or a GUID
	// programmed twice.
	NodeGUIDs map[int32]ident.GUID
}

// Attribute is an attribute of a management class.
type Attribute struct {
	Class mad.Class
	Attr  mad.AttrID
}

// injector draws the faults of one message. Callers hold the lock of Devices.
type injector struct {
	Faults
	nodes map[int32]bool // nil means all
	rng   *rand.Rand
}

// faultStream separates the draws from others with the same seed.
const faultStream = 0x6661756c7473

func newInjector(f Faults) *injector {
	i := &injector{Faults: f, rng: rand.New(rand.NewPCG(f.Seed, faultStream))}
	i.Classes, i.Unanswered, i.NodeGUIDs = slices.Clone(f.Classes), slices.Clone(f.Unanswered), maps.Clone(f.NodeGUIDs)
	if f.Nodes != nil {
		i.nodes = make(map[int32]bool, len(f.Nodes))
		for _, n := range f.Nodes {
			i.nodes[n] = true
		}
	}
	return i
}

// affects reports whether the node has faults at all.
func (i *injector) affects(node int32) bool { return i.nodes == nil || i.nodes[node] }

func (i *injector) hits(node int32, c mad.Class) bool {
	return i.affects(node) && (i.Classes == nil || slices.Contains(i.Classes, c))
}

// draw consumes one counted fault if any is left, and otherwise draws by probability.
func (i *injector) draw(counted *int, probability float64) bool {
	if *counted > 0 {
		*counted--
		return true
	}
	return probability > 0 && i.rng.Float64() < probability
}

// before decides on faults of a request, before it reaches the node's agent.
func (i *injector) before(node int32, c mad.Class) (lost, busy bool) {
	if !i.hits(node, c) {
		return false, false
	}
	if i.draw(&i.LoseRequests, i.DropRequest) {
		return true, false
	}
	return false, i.draw(&i.BusyReplies, i.Faults.Busy)
}

// after decides on faults of a response.
func (i *injector) after(node int32, c mad.Class) (lost bool, delay time.Duration) {
	if !i.hits(node, c) {
		return false, 0
	}
	if i.draw(&i.LoseReplies, i.DropReply) {
		return true, 0
	}
	if i.DelayReply > 0 && i.rng.Float64() < i.DelayReply {
		return false, i.Delay
	}
	return false, 0
}

// unanswered reports whether the node leaves the attribute unanswered.
func (i *injector) unanswered(node int32, c mad.Class, a mad.AttrID) bool {
	if len(i.Unanswered) == 0 || !i.affects(node) {
		return false
	}
	return slices.ContainsFunc(i.Unanswered, func(x Attribute) bool {
		return x.Attr == a && (x.Class == c || x.Class.IsSMP() && c.IsSMP())
	})
}

// ccSupport returns the node's response to congestion-control requests.
func (i *injector) ccSupport(node int32) CCSupport {
	if !i.affects(node) {
		return CCSupported
	}
	return i.CC
}
