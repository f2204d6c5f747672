package prereq

import (
	"strconv"

	"fairlane/internal/phrase"
)

// InfiniBand holds a plan's assumptions about an InfiniBand device. The zero value assumes congestion control and the correct
// CC_Key.
type InfiniBand struct {
	TableEntries int    // of a channel adapter's congestion control table; 0 for a switch
	Lanes        []Lane // ports by which tenants' traffic leaves
}

// Lane is an egress port of tenants' service levels on a device.
type Lane struct {
	Out uint8   // port number
	In  []uint8 // on a switch, the possible ingress ports of the traffic; nil for a channel adapter
	SLs []uint8 // 0 to 15, ascending
	// Meet means that the tenants share the link of a switch by their weights. They then need one VL, because a switch marks
	// each VL separately and divides the link between VLs by arbitration.
	Meet bool
}

// Prerequisites of InfiniBand devices, and of the subnet manager.
const (
	Class   ID = "congestion-class" // the device supports congestion control (class 0x21, IBTA vol. 1, annex A10)
	CCKey   ID = "cc-key"           // the device accepts requests with the fabric's CC_Key
	Table   ID = "congestion-table" // the congestion control table is large enough for the plan's table
	Lanes   ID = "lanes"            // tenants' SLs map to operational data VLs
	OneLane ID = "one-lane"         // tenants that share a link use the same VL

	CongestionManager ID = "congestion-manager" // no other manager writes congestion-control settings
	QoS               ID = "qos"                // the subnet manager assigns service levels
)

// Scopes of InfiniBand's prerequisites.
const (
	ScopeIBPort  Scope = "ib-port"
	ScopeManager Scope = "subnet-manager"
)

// Key classifies the visible key of a device's congestion-control agent.
type Key string

// Keys.
const (
	KeyAccepted Key = "accepted" // none, or the fabric's
	KeyOther    Key = "other"    // another key, which the device shows
	KeyUnread   Key = "unread"   // CongestionKeyInfo could not be read
)

// Agent holds the answers of a device's congestion-control agent.
type Agent struct {
	Absent  bool // the device rejects CongestionInfo
	Silent  bool // no answer to the class, while the subnet management agent answers
	Entries int  // of the congestion control table, multiples of 64
	Key     Key
	Reason  string // error of the read of CongestionKeyInfo
}

// Agent evaluates the prerequisites of a device's congestion-control agent.
func (n *InfiniBand) Agent(a Agent, adapter bool) []Item {
	class := Item{ID: Class, Scope: ScopeDevice, Field: "CongestionInfo", State: Met, Want: "answered", Found: "answered"}
	key := Item{ID: CCKey, Scope: ScopeDevice, Field: "CC_Key", State: Met, Want: "that of the fabric", Found: "accepted"}
	switch {
	case a.Absent:
		class.State, class.Found = Wrong, "refused"
		class.Why = phrase.Of("prereq.no-cc-switch")
		if adapter {
			class.Why = phrase.Of("prereq.no-cc-adapter")
		}
		class.Advice = phrase.Of("prereq.no-cc.fix")
		return []Item{class}
	case a.Silent:
		key.State, key.Found = Wrong, "not answered"
		key.Why = phrase.Of("prereq.cc-silent")
		key.Advice = phrase.Of("prereq.cc-silent.fix")
		return []Item{key}
	}
	switch a.Key {
	case KeyOther:
		key.State, key.Found = Wrong, "another one"
		key.Why = phrase.Of("prereq.key-foreign")
		key.Advice = phrase.Of("prereq.key-foreign.fix")
	case KeyUnread:
		key.State, key.Found, key.Why = Unknown, "", phrase.Of("prereq.key-unread", "reason", a.Reason)
	}
	items := []Item{class, key}
	if !adapter {
		return items
	}
	table := Item{ID: Table, Scope: ScopeDevice, Field: "ControlTableCap", State: Met, Want: phrase.Of("prereq.entries", "n", n.TableEntries).String(), Found: phrase.Of("prereq.entries", "n", a.Entries).String()}
	if a.Entries < max(n.TableEntries, 1) {
		table.State = Wrong
		table.Why = phrase.Of("prereq.table-short")
		table.Advice = phrase.Of("prereq.table-short.fix")
	}
	return append(items, table)
}

// VLs are a port's mappings of service levels.
type VLs struct {
	Operational uint8    // number of operational data VLs, 1 to 15
	Tables      []SLToVL // by ingress port, one for a channel adapter; empty if only one VL is operational
	Err         error    // error of the read of PortInfo or a table
}

// SLToVL is the VL of each service level; 15 drops the packet.
type SLToVL [16]uint8

// dropVL is the VL of subnet management, on which no data may be sent: the packet is dropped (IBTA vol. 1, 14.2.5.8).
const dropVL = 15

// Judge evaluates the prerequisites of a port.
func (l *Lane) Judge(v VLs) []Item {
	port := "port " + strconv.Itoa(int(l.Out))
	lanes := Item{ID: Lanes, Scope: ScopeIBPort, Field: "SLtoVLMappingTable of " + port, State: Met, Want: "data VLs in operation", Found: "data VLs in operation"}
	if v.Err != nil {
		lanes.State, lanes.Found, lanes.Why = Unknown, "", phrase.Of("prereq.sl2vl-unread", "reason", v.Err.Error())
		return []Item{lanes}
	}
	used := map[uint8]bool{}
	for _, table := range v.Tables {
		for _, sl := range l.SLs {
			switch vl := table[sl]; {
			case vl == dropVL:
				lanes.State, lanes.Found = Wrong, phrase.Of("prereq.vl15", "sl", sl).String()
				lanes.Why = phrase.Of("prereq.sl-dropped", "sl", sl)
			case vl >= v.Operational:
				lanes.State, lanes.Found = Wrong, phrase.Of("prereq.vl-of-sl", "vl", vl, "sl", sl).String()
				lanes.Why = phrase.Of("prereq.vl-off", "vls", v.Operational, "sl", sl)
			default:
				used[vl] = true
			}
		}
	}
	if lanes.State == Wrong {
		lanes.Advice = phrase.Of("prereq.vl-off.fix")
	}
	items := []Item{lanes}
	if l.Meet {
		one := Item{ID: OneLane, Scope: ScopeIBPort, Advisory: true, Field: "VLs of tenants at " + port, State: Met, Want: "1", Found: strconv.Itoa(max(len(used), 1))}
		if len(used) > 1 {
			one.State = Wrong
			one.Why = phrase.Of("prereq.vl-differ")
			one.Advice = phrase.Of("prereq.vl-differ.fix")
		}
		items = append(items, one)
	}
	return items
}
