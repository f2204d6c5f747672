// Package nicyang is the YANG module fairlane-nic, by which host agents and managers speak about RoCE NICs over gNMI: its
// text, its paths, what a path means, and the form of values and errors on both sides.
//
//	/agent/state, /agent/apply             the agent and the last transaction
//	/nics/nic[name]/params                 parameters of the card
//	/nics/nic[name]/ports/port[number]     identity, params, counters, counter sets, functions, wrcc
//
// A manager reads all that a port is configured with by one Get of Port(…) with data type CONFIG, and writes by one Set of
// any number of ParamValue(…) and WRCC(…): that is one transaction.
package nicyang

import (
	_ "embed" // of the module's text
	"strconv"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet/ident"
)

// Name, revision and organisation of the module.
const (
	Module       = "fairlane-nic"
	Revision     = "2026-11-21"
	Organization = "Fairlane"
)

// MaxSetID bounds the name that a manager gives a transaction, in bytes.
const MaxSetID = 64

//go:embed fairlane-nic.yang
var text string

// Text is the module's text.
func Text() string { return text }

// Model is the module as Capabilities tells it.
func Model() gnmitree.Model {
	return gnmitree.Model{Name: Module, Organization: Organization, Version: Revision}
}

// Schema tells which containers of JSON are lists.
func Schema() gnmitree.Schema {
	return gnmitree.Schema{Keys: listKeys, Modules: []string{Module}}
}

func listKeys(list gnmitree.Path) []string {
	switch list.Last() {
	case "param":
		return []string{"index", "name"}
	case "nic", "counter", "sender":
		return []string{"name"}
	case "port":
		return []string{"number"}
	case "counter-set":
		return []string{"id"}
	case "function":
		return []string{"index"}
	case "peer":
		return []string{"port"}
	}
	return nil
}

// AgentState is the path of the agent's state.
func AgentState() gnmitree.Path { return gnmitree.PathOf("agent", "state") }

// ApplyState is the path of what became of the last transaction.
func ApplyState() gnmitree.Path { return gnmitree.PathOf("agent", "apply", "state") }

// SetID is the path of the name that a manager gives a transaction.
func SetID() gnmitree.Path { return gnmitree.PathOf("agent", "apply", "config", "id") }

// NIC is the path of a card, or with gnmitree.Any of all cards.
func NIC(name string) gnmitree.Path {
	return gnmitree.PathOf("nics").Child("nic", gnmitree.Key{Name: "name", Value: name})
}

// Port is the path of a port from 1 on; that of the card for port 0, whose parameters are the card's.
func Port(nic string, port int) gnmitree.Path {
	if port == 0 {
		return NIC(nic)
	}
	return NIC(nic).Child("ports").Child("port", gnmitree.Key{Name: "number", Value: strconv.Itoa(port)})
}

// AllPorts is the pattern of all ports of all cards.
func AllPorts() gnmitree.Path {
	return NIC(gnmitree.Any).Child("ports").Child("port", gnmitree.Key{Name: "number", Value: gnmitree.Any})
}

// Params is the path of the parameters of a port, or of the card for port 0.
func Params(nic string, port int) gnmitree.Path { return Port(nic, port).Child("params") }

// ParamOf is the path of a parameter below that of its port's parameters: for many parameters of one port.
func ParamOf(params gnmitree.Path, k nicparam.Key) gnmitree.Path {
	return params.Child("param", gnmitree.Key{Name: "index", Value: strconv.Itoa(k.Index)}, gnmitree.Key{Name: "name", Value: k.Name})
}

// Param is the path of a parameter.
func Param(nic string, k nicparam.Key) gnmitree.Path { return ParamOf(Params(nic, k.Port), k) }

// ParamValue is the path of the value that a parameter is configured with.
func ParamValue(nic string, k nicparam.Key) gnmitree.Path {
	return Param(nic, k).Child("config").Child("value")
}

// Counters is the path of a port's counters.
func Counters(nic string, port int) gnmitree.Path { return Port(nic, port).Child("counters") }

// Counter is the path of one counter of a port.
func Counter(nic string, port int, name string) gnmitree.Path {
	return Counters(nic, port).Child("counter", gnmitree.Key{Name: "name", Value: name})
}

// MaxQPs is the most numbers of queue pairs that a counter set lists.
const MaxQPs = 256

// CounterSets is the path of the counter sets that a port's queue pairs are bound to.
func CounterSets(nic string, port int) gnmitree.Path { return Port(nic, port).Child("counter-sets") }

// CounterSet is the path of one counter set of a port.
func CounterSet(nic string, port int, id uint32) gnmitree.Path {
	return CounterSets(nic, port).Child("counter-set", gnmitree.Key{Name: "id", Value: strconv.FormatUint(uint64(id), 10)})
}

// Functions is the path of a port's virtual functions.
func Functions(nic string, port int) gnmitree.Path { return Port(nic, port).Child("functions") }

// Function is the path of one virtual function of a port.
func Function(nic string, port, index int) gnmitree.Path {
	return Functions(nic, port).Child("function", gnmitree.Key{Name: "index", Value: strconv.Itoa(index)})
}

// WRCC is the path of a port's senders with weights.
func WRCC(nic string, port int) gnmitree.Path { return Port(nic, port).Child("wrcc") }

// Sender is the path of one sender of a port.
func Sender(nic string, port int, name string) gnmitree.Path {
	return WRCC(nic, port).Child("senders").Child("sender", gnmitree.Key{Name: "name", Value: name})
}

// Peer is the path of a port towards which a sender has another weight.
func Peer(nic string, port int, sender string, peer ident.PortID) gnmitree.Path {
	return Sender(nic, port, sender).Child("peers").Child("peer", gnmitree.Key{Name: "port", Value: peer.String()})
}
