package nicyang

import (
	"fmt"
	"strconv"
	"strings"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet/ident"
)

// Part is the kind of node that a path identifies.
type Part uint8

// Parts. Nodes above configuration leaves are included: their JSON value is split into leaves, and deleting them deletes the
// leaves.
const (
	PartOther      Part = iota // state, or a node above cards
	PartSetID                  // agent/apply/config/id
	PartNICs                   // all cards: the root or nics
	PartNIC                    // a card
	PartPort                   // a port, or all ports of a card if Port is 0
	PartParams                 // all parameters of a port, or of a card if Port is 0
	PartParam                  // a parameter, its config container or its value
	PartParamIndex             // all indices of a parameter: a path without an index
	PartWRCC                   // the complete configuration of senders with weights
	PartWRCCConfig             // the container wrcc/config
	PartWRCCLeaf               // a leaf of wrcc/config
	PartSenders                // all senders
	PartSender                 // a sender
	PartWeight                 // a leaf of a sender's config container, or the container
	PartPeers                  // all peers of a sender
	PartPeer                   // a peer of a sender
	PartPeerWeight             // a leaf of a peer's config container, or the container
)

// Target is the parsed form of a configuration path.
type Target struct {
	Part   Part
	NIC    string
	Key    nicparam.Key // Port for all nodes of a port; name and index for parameters
	Sender string
	Peer   ident.PortID
	Leaf   string // leaf name for PartWRCCLeaf, PartWeight and PartPeerWeight; may be empty
}

// PathError reports a path or a value that can never be valid.
type PathError struct {
	Path    string
	Found   string
	Allowed string
}

// Error contains the path, the value found and the allowed values.
func (e *PathError) Error() string {
	return fmt.Sprintf("%s: found %s, want %s", e.Path, e.Found, e.Allowed)
}

// Parse parses a configuration path. It returns a *PathError for a path of state, or one that the module does not have.
func Parse(p gnmitree.Path) (Target, error) {
	t := Target{}
	fail := func(found, allowed string) (Target, error) {
		return Target{}, &PathError{p.String(), found, allowed}
	}
	all := names(p)
	switch all {
	case "", "nics":
		t.Part = PartNICs
		return t, nil
	case "agent/apply/config/id":
		t.Part = PartSetID
		return t, nil
	}
	rest, ok := strings.CutPrefix(all, "nics/nic")
	if !ok {
		return fail("no configuration", "a node below /nics or /agent/apply/config/id")
	}
	if t.NIC, ok = p.Elems[1].Key("name"); !ok {
		return fail("nic without a name", "nic[name=…]")
	}
	t.Part = PartNIC
	at := 2
	if below, ok := strings.CutPrefix(rest, "/ports"); ok {
		t.Part = PartPort
		at, rest = 3, below
		if below, ok = strings.CutPrefix(rest, "/port"); ok {
			number, _ := p.Elems[3].Key("number")
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > nicparam.MaxPorts || strconv.Itoa(n) != number {
				return fail(fmt.Sprintf("port %q", nicparam.Clip(number)), fmt.Sprintf("port[number=1..%d]", nicparam.MaxPorts))
			}
			t.Key.Port, at, rest = n, 4, below
		}
	}
	switch {
	case rest == "":
		return t, nil
	case rest == "/params" || strings.HasPrefix(rest, "/params/param"):
		if t.Part == PartPort && t.Key.Port == 0 {
			return fail("ports without a port", "port[number=…]")
		}
		return t.param(p, at, rest)
	case strings.HasPrefix(rest, "/wrcc") && t.Key.Port > 0:
		return t.wrcc(p, at, rest)
	}
	return fail("no configuration", "a node of "+Module+" that can be written")
}

// param parses the rest of a path from params on, which is element at.
func (t Target) param(p gnmitree.Path, at int, rest string) (Target, error) {
	t.Part = PartParams
	if rest == "/params" {
		return t, nil
	}
	switch rest {
	case "/params/param", "/params/param/config", "/params/param/config/value":
	default:
		return Target{}, &PathError{p.String(), "no configuration", "config/value of a parameter"}
	}
	e := p.Elems[at+1]
	name, ok := e.Key("name")
	if !ok {
		return Target{}, &PathError{p.String(), "param without a name", "param[name=…][index=…]"}
	}
	t.Part, t.Key.Name = PartParam, name
	index, ok := e.Key("index")
	if !ok {
		t.Part = PartParamIndex
		return t, nil
	}
	n, err := strconv.Atoi(index)
	if err != nil || n < 0 || strconv.Itoa(n) != index {
		return Target{}, &PathError{p.String(), fmt.Sprintf("index %q", nicparam.Clip(index)), "a decimal number from 0"}
	}
	t.Key.Index = n
	return t, nil
}

// wrcc parses the rest of a path from wrcc on, which is element at.
func (t Target) wrcc(p gnmitree.Path, at int, rest string) (Target, error) {
	fail := func(found, allowed string) (Target, error) {
		return Target{}, &PathError{p.String(), found, allowed}
	}
	leaf := ""
	if n := len(p.Elems); n >= 2 && p.Elems[n-2].Name == "config" {
		leaf = p.Last()
		rest = strings.TrimSuffix(rest, "/"+leaf)
	}
	t.Leaf = leaf
	const sender = "/wrcc/senders/sender"
	parts := map[string]Part{"/wrcc": PartWRCC, "/wrcc/config": PartWRCCConfig, "/wrcc/senders": PartSenders, sender: PartSender, sender + "/config": PartWeight,
		sender + "/peers": PartPeers, sender + "/peers/peer": PartPeer, sender + "/peers/peer/config": PartPeerWeight}
	part, ok := parts[rest]
	if !ok {
		return fail("no configuration", "config of wrcc, of a sender or of a peer")
	}
	t.Part = part
	if part == PartWRCCConfig && leaf != "" {
		t.Part = PartWRCCLeaf
	}
	if leaf != "" && !writable(names(p)) {
		return fail("no leaf "+leaf, "a leaf of "+Module)
	}
	if strings.HasPrefix(rest, sender) {
		if t.Sender, ok = p.Elems[at+2].Key("name"); !ok {
			return fail("sender without a name", "sender[name=…]")
		}
	}
	if strings.HasPrefix(rest, sender+"/peers/peer") {
		port, _ := p.Elems[at+4].Key("port")
		id, err := ident.ParsePortID(port)
		if err != nil {
			return fail(fmt.Sprintf("peer %q", nicparam.Clip(port)), "peer[port=0x<node guid>:<port>]")
		}
		t.Peer = id
	}
	return t, nil
}

func writable(names string) bool {
	for _, l := range Leaves() {
		if l.Config && l.Path == names {
			return true
		}
	}
	return false
}
