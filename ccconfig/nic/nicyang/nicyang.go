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

	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/gnmid"
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
func Model() gnmid.Model {
	return gnmid.Model{Name: Module, Organization: Organization, Version: Revision}
}

// Schema tells which containers of JSON are lists.
func Schema() gnmid.Schema {
	return gnmid.Schema{Keys: listKeys, Modules: []string{Module}}
}

func listKeys(list gnmid.Path) []string {
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
func AgentState() gnmid.Path { return gnmid.PathOf("agent", "state") }

// ApplyState is the path of what became of the last transaction.
func ApplyState() gnmid.Path { return gnmid.PathOf("agent", "apply", "state") }

// SetID is the path of the name that a manager gives a transaction.
func SetID() gnmid.Path { return gnmid.PathOf("agent", "apply", "config", "id") }

// NIC is the path of a card, or with gnmid.Any of all cards.
func NIC(name string) gnmid.Path {
	return gnmid.PathOf("nics").Child("nic", gnmid.Key{Name: "name", Value: name})
}

// Port is the path of a port from 1 on; that of the card for port 0, whose parameters are the card's.
func Port(nic string, port int) gnmid.Path {
	if port == 0 {
		return NIC(nic)
	}
	return NIC(nic).Child("ports").Child("port", gnmid.Key{Name: "number", Value: strconv.Itoa(port)})
}

// AllPorts is the pattern of all ports of all cards.
func AllPorts() gnmid.Path {
	return NIC(gnmid.Any).Child("ports").Child("port", gnmid.Key{Name: "number", Value: gnmid.Any})
}

// Params is the path of the parameters of a port, or of the card for port 0.
func Params(nic string, port int) gnmid.Path { return Port(nic, port).Child("params") }

// ParamOf is the path of a parameter below that of its port's parameters: for many parameters of one port.
func ParamOf(params gnmid.Path, k nicparam.Key) gnmid.Path {
	return params.Child("param", gnmid.Key{Name: "index", Value: strconv.Itoa(k.Index)}, gnmid.Key{Name: "name", Value: k.Name})
}

// Param is the path of a parameter.
func Param(nic string, k nicparam.Key) gnmid.Path { return ParamOf(Params(nic, k.Port), k) }

// ParamValue is the path of the value that a parameter is configured with.
func ParamValue(nic string, k nicparam.Key) gnmid.Path {
	return Param(nic, k).Child("config").Child("value")
}

// Counters is the path of a port's counters.
func Counters(nic string, port int) gnmid.Path { return Port(nic, port).Child("counters") }

// Counter is the path of one counter of a port.
func Counter(nic string, port int, name string) gnmid.Path {
	return Counters(nic, port).Child("counter", gnmid.Key{Name: "name", Value: name})
}

// MaxQPs is the most numbers of queue pairs that a counter set lists.
const MaxQPs = 256

// CounterSets is the path of the counter sets that a port's queue pairs are bound to.
func CounterSets(nic string, port int) gnmid.Path { return Port(nic, port).Child("counter-sets") }

// CounterSet is the path of one counter set of a port.
func CounterSet(nic string, port int, id uint32) gnmid.Path {
	return CounterSets(nic, port).Child("counter-set", gnmid.Key{Name: "id", Value: strconv.FormatUint(uint64(id), 10)})
}

// Functions is the path of a port's virtual functions.
func Functions(nic string, port int) gnmid.Path { return Port(nic, port).Child("functions") }

// Function is the path of one virtual function of a port.
func Function(nic string, port, index int) gnmid.Path {
	return Functions(nic, port).Child("function", gnmid.Key{Name: "index", Value: strconv.Itoa(index)})
}

// WRCC is the path of a port's senders with weights.
func WRCC(nic string, port int) gnmid.Path { return Port(nic, port).Child("wrcc") }

// Sender is the path of one sender of a port.
func Sender(nic string, port int, name string) gnmid.Path {
	return WRCC(nic, port).Child("senders").Child("sender", gnmid.Key{Name: "name", Value: name})
}

// Peer is the path of a port towards which a sender has another weight.
func Peer(nic string, port int, sender string, peer ident.PortID) gnmid.Path {
	return Sender(nic, port, sender).Child("peers").Child("peer", gnmid.Key{Name: "port", Value: peer.String()})
}
