// Package nicyang is the YANG module fairlane-nic, the gNMI model for RoCE NICs between managers and host agents: its text, its
// paths, their meaning, and the encoding of values and errors for both ends.
//
//	/agent/state, /agent/apply             the agent and the last transaction
//	/nics/nic[name]/params                 parameters of the card
//	/nics/nic[name]/ports/port[number]     identity, params, counters, counter sets, functions, wrcc
//
// A manager reads the complete configuration of a port with one Get of Port(…) with data type CONFIG, and writes with one Set
// of any number of ParamValue(…) and WRCC(…), which is one transaction.
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

// MaxSetID is the largest length of a manager's name for a transaction, in bytes.
const MaxSetID = 64

//go:embed fairlane-nic.yang
var text string

// Text returns the module's text.
func Text() string { return text }

// Model returns the module for Capabilities.
func Model() gnmitree.Model {
	return gnmitree.Model{Name: Module, Organization: Organization, Version: Revision}
}

// Schema returns the schema, with which the server finds the JSON containers that are lists.
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

// AgentState returns the path of the agent's state.
func AgentState() gnmitree.Path { return gnmitree.PathOf("agent", "state") }

// ApplyState returns the path of the last transaction's result.
func ApplyState() gnmitree.Path { return gnmitree.PathOf("agent", "apply", "state") }

// SetID returns the path of a manager's name for a transaction.
func SetID() gnmitree.Path { return gnmitree.PathOf("agent", "apply", "config", "id") }

// NIC returns the path of a card, or with gnmitree.Any of all cards.
func NIC(name string) gnmitree.Path {
	return gnmitree.PathOf("nics").Child("nic", gnmitree.Key{Name: "name", Value: name})
}

// Port returns the path of a port, from 1; for port 0 it returns the path of the card, for the card's parameters.
func Port(nic string, port int) gnmitree.Path {
	if port == 0 {
		return NIC(nic)
	}
	return NIC(nic).Child("ports").Child("port", gnmitree.Key{Name: "number", Value: strconv.Itoa(port)})
}

// AllPorts returns the pattern of all ports of all cards.
func AllPorts() gnmitree.Path {
	return NIC(gnmitree.Any).Child("ports").Child("port", gnmitree.Key{Name: "number", Value: gnmitree.Any})
}

// Params returns the path of the parameters of a port, or of the card for port 0.
func Params(nic string, port int) gnmitree.Path { return Port(nic, port).Child("params") }

// ParamOf returns the path of a parameter below the path of its port's parameters, for many parameters of one port.
func ParamOf(params gnmitree.Path, k nicparam.Key) gnmitree.Path {
	return params.Child("param", gnmitree.Key{Name: "index", Value: strconv.Itoa(k.Index)}, gnmitree.Key{Name: "name", Value: k.Name})
}

// Param returns the path of a parameter.
func Param(nic string, k nicparam.Key) gnmitree.Path { return ParamOf(Params(nic, k.Port), k) }

// ParamValue returns the path of a parameter's configured value.
func ParamValue(nic string, k nicparam.Key) gnmitree.Path {
	return Param(nic, k).Child("config").Child("value")
}

// Counters returns the path of a port's counters.
func Counters(nic string, port int) gnmitree.Path { return Port(nic, port).Child("counters") }

// Counter returns the path of one counter of a port.
func Counter(nic string, port int, name string) gnmitree.Path {
	return Counters(nic, port).Child("counter", gnmitree.Key{Name: "name", Value: name})
}

// MaxQPs is the largest number of queue pairs listed for a counter set.
const MaxQPs = 256

// CounterSets returns the path of the counter sets to which a port's queue pairs are bound.
func CounterSets(nic string, port int) gnmitree.Path { return Port(nic, port).Child("counter-sets") }

// CounterSet returns the path of one counter set of a port.
func CounterSet(nic string, port int, id uint32) gnmitree.Path {
	return CounterSets(nic, port).Child("counter-set", gnmitree.Key{Name: "id", Value: strconv.FormatUint(uint64(id), 10)})
}

// Functions returns the path of a port's virtual functions.
func Functions(nic string, port int) gnmitree.Path { return Port(nic, port).Child("functions") }

// Function returns the path of one virtual function of a port.
func Function(nic string, port, index int) gnmitree.Path {
	return Functions(nic, port).Child("function", gnmitree.Key{Name: "index", Value: strconv.Itoa(index)})
}

// FunctionCounters returns the path of the counters of a virtual function's RDMA device.
func FunctionCounters(nic string, port, index int) gnmitree.Path {
	return Function(nic, port, index).Child("counters")
}

// WRCC returns the path of a port's senders with weights.
func WRCC(nic string, port int) gnmitree.Path { return Port(nic, port).Child("wrcc") }

// Sender returns the path of one sender of a port.
func Sender(nic string, port int, name string) gnmitree.Path {
	return WRCC(nic, port).Child("senders").Child("sender", gnmitree.Key{Name: "name", Value: name})
}

// Peer returns the path of a peer port for which a sender has a separate weight.
func Peer(nic string, port int, sender string, peer ident.PortID) gnmitree.Path {
	return Sender(nic, port, sender).Child("peers").Child("peer", gnmitree.Key{Name: "port", Value: peer.String()})
}
