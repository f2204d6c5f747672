package prereq

import (
	"strconv"

	"fairlane/internal/phrase"
)

// InfiniBand is what a plan assumes about an InfiniBand device. The zero value assumes congestion control and the right CC_Key.
type InfiniBand struct {
	TableEntries int    // of a channel adapter's congestion control table; 0 for a switch
	Lanes        []Lane // ports by which tenants' traffic leaves
}

// Lane is a port by which service levels of tenants leave a device.
type Lane struct {
	Out uint8   // port number
	In  []uint8 // of a switch, the ports by which the traffic may enter; nil for a channel adapter
	SLs []uint8 // 0 to 15, ascending
	// Meet says that the tenants share the link of a switch by their weights: they need one VL, since a switch marks each VL by itself
	// and divides the link between VLs by arbitration.
	Meet bool
}

// Prerequisites of InfiniBand devices, and of the subnet manager.
const (
	Class   ID = "congestion-class" // the device has congestion control (class 0x21, IBTA vol. 1, annex A10)
	CCKey   ID = "cc-key"           // the device accepts requests with the fabric's CC_Key
	Table   ID = "congestion-table" // the congestion control table has room for the plan's
	Lanes   ID = "lanes"            // tenants' SLs lead to data VLs in operation
	OneLane ID = "one-lane"         // tenants that share a link share a VL

	CongestionManager ID = "congestion-manager" // no other manager writes congestion-control settings
	QoS               ID = "qos"                // the subnet manager assigns service levels
)

// Scopes of InfiniBand's prerequisites.
const (
	ScopeIBPort  Scope = "ib-port"
	ScopeManager Scope = "subnet-manager"
)

// Key is what a device shows of the key that guards its congestion-control agent.
type Key string

// Keys.
const (
	KeyAccepted Key = "accepted" // none, or the fabric's
	KeyOther    Key = "other"    // another one, which the device shows
	KeyUnread   Key = "unread"   // CongestionKeyInfo could not be read
)

// Agent is what the congestion-control agent of a device answers.
type Agent struct {
	Absent  bool // the device refuses CongestionInfo
	Silent  bool // no answer to the class, while the subnet management agent answers
	Entries int  // of the congestion control table, multiples of 64
	Key     Key
	Reason  string // why CongestionKeyInfo could not be read
}

// Agent judges the congestion-control agent of a device.
func (n *InfiniBand) Agent(a Agent, adapter bool) []Item {
	class := Item{ID: Class, Scope: ScopeDevice, Field: "CongestionInfo", State: Met, Want: "answered", Found: "answered"}
	key := Item{ID: CCKey, Scope: ScopeDevice, Field: "CC_Key", State: Met, Want: "that of the fabric", Found: "accepted"}
	switch {
	case a.Absent:
		class.State, class.Found = Wrong, "refused"
		class.Why = phrase.Of("the switch has no congestion control, so that it marks no packet")
		if adapter {
			class.Why = phrase.Of("the channel adapter has no congestion control, so that no flow is slowed down there")
		}
		class.Advice = phrase.Of("update its firmware or enable congestion control there, or take its tenants to other ports")
		return []Item{class}
	case a.Silent:
		key.State, key.Found = Wrong, "not answered"
		key.Why = phrase.Of("the device answers subnet management and no congestion-control request: it has another CC_Key, or firmware without the class")
		key.Advice = phrase.Of("give the service the device's key (cc_key_file); fairlane device cc-key show finds which one it is")
		return []Item{key}
	}
	switch a.Key {
	case KeyOther:
		key.State, key.Found = Wrong, "another one"
		key.Why = phrase.Of("the device drops writes with the fabric's CC_Key: another manager has set its own")
		key.Advice = phrase.Of("set one key on the whole fabric: fairlane device cc-key rotate")
	case KeyUnread:
		key.State, key.Found, key.Why = Unknown, "", phrase.Of("CongestionKeyInfo could not be read: {}", a.Reason)
	}
	items := []Item{class, key}
	if !adapter {
		return items
	}
	table := Item{ID: Table, Scope: ScopeDevice, Field: "ControlTableCap", State: Met, Want: phrase.Of("{} entries", n.TableEntries).String(), Found: phrase.Of("{} entries", a.Entries).String()}
	if a.Entries < max(n.TableEntries, 1) {
		table.State = Wrong
		table.Why = phrase.Of("the congestion control table of the port is shorter than the plan's, so that no flow is slowed down far enough")
		table.Advice = phrase.Of("update its firmware, or compile a plan for a profile with a shorter table")
	}
	return append(items, table)
}

// VLs are what a port does with service levels.
type VLs struct {
	Operational uint8    // data VLs in operation, 1 to 15
	Tables      []SLToVL // by port of entry, one for a channel adapter; none where one VL operates
	Err         error    // why PortInfo or a table could not be read
}

// SLToVL is the VL of each service level; 15 drops the packet.
type SLToVL [16]uint8

// dropVL is the VL of the subnet manager, to which no data may go: the packet is dropped (IBTA vol. 1, 14.2.5.8).
const dropVL = 15

// Judge judges a port.
func (l *Lane) Judge(v VLs) []Item {
	port := "port " + strconv.Itoa(int(l.Out))
	lanes := Item{ID: Lanes, Scope: ScopeIBPort, Field: "SLtoVLMappingTable of " + port, State: Met, Want: "data VLs in operation", Found: "data VLs in operation"}
	if v.Err != nil {
		lanes.State, lanes.Found, lanes.Why = Unknown, "", phrase.Of("SL to VL tables could not be read: {}", v.Err.Error())
		return []Item{lanes}
	}
	used := map[uint8]bool{}
	for _, table := range v.Tables {
		for _, sl := range l.SLs {
			switch vl := table[sl]; {
			case vl == dropVL:
				lanes.State, lanes.Found = Wrong, phrase.Of("VL 15 for SL {}", sl).String()
				lanes.Why = phrase.Of("the port drops every packet of tenants on SL {}", sl)
			case vl >= v.Operational:
				lanes.State, lanes.Found = Wrong, phrase.Of("VL {} for SL {}", vl, sl).String()
				lanes.Why = phrase.Of("the port has {} data VLs in operation and drops every packet of tenants on SL {}", v.Operational, sl)
			default:
				used[vl] = true
			}
		}
	}
	if lanes.State == Wrong {
		lanes.Advice = phrase.Of("map the SL to a VL in operation, or raise their number, in the subnet manager's options (sl2vl, max_vls)")
	}
	items := []Item{lanes}
	if l.Meet {
		one := Item{ID: OneLane, Scope: ScopeIBPort, Advisory: true, Field: "VLs of tenants at " + port, State: Met, Want: "1", Found: strconv.Itoa(max(len(used), 1))}
		if len(used) > 1 {
			one.State = Wrong
			one.Why = phrase.Of("a switch marks each VL by itself, so that arbitration and not the weights divides the link between tenants on different VLs")
			one.Advice = phrase.Of("map the tenants' SLs to one VL on switches (qos_swe_sl2vl)")
		}
		items = append(items, one)
	}
	return items
}
