// Package prereq lists the prerequisites of congestion control on devices, in addition to a plan's own settings. On RoCE, for
// example, DCQCN must be enabled for the priority at both ends, and the traffic must use the queue that marks. The package
// evaluates values that drivers read; it does not access devices.
package prereq

import (
	"cmp"
	"slices"
	"strconv"

	"fairlane/internal/phrase"
)

// Needs holds a plan's assumptions about a device in addition to its settings. Only the part for the device's plane is set.
type Needs struct {
	RoCE       *RoCE
	InfiniBand *InfiniBand
	// Classes are the classes of traffic of a plan that divides links among them. Set, they replace RoCE.
	Classes []RoCE
}

// Traffic returns the assumptions about each class of RoCE traffic; nil on other planes.
func (n *Needs) Traffic() []RoCE {
	switch {
	case len(n.Classes) > 0:
		return n.Classes
	case n.RoCE != nil:
		return []RoCE{*n.RoCE}
	}
	return nil
}

// RoCE holds a plan's assumptions about RoCE traffic on a device.
type RoCE struct {
	DSCP     uint8 // of RoCE traffic, 0 to 63
	Priority uint8 // its priority on NICs, 0 to 7
	Queue    uint8 // its queue on switches, 0 to 7
	Lossless bool  // the priority requires pause
	// Divided means that a plan divides ports among classes: the priority needs the NIC's traffic class of its number.
	Divided bool
}

// ID identifies a prerequisite.
type ID string

// Prerequisites of NIC ports, and of switches.
const (
	Reaction      ID = "reaction-point"     // senders react to notifications
	Notification  ID = "notification-point" // receivers answer marks with notifications
	PriorityMask  ID = "priority-mask"      // the firmware has DCQCN enabled for the priority
	Algorithm     ID = "algorithm"          // DCQCN is the active algorithm
	Trust         ID = "trust"              // the port classifies by DSCP
	DSCPPriority  ID = "dscp-priority"      // the DSCP maps to the priority
	TrafficClass  ID = "traffic-class"      // the priority maps to the traffic class of its number
	Pause         ID = "pause"              // PFC is enabled for the priority
	TypeOfService ID = "type-of-service"    // connections have the DSCP, and are ECN-capable
	CNPDSCP       ID = "cnp-dscp"           // notifications do not queue behind data

	SwitchMap   ID = "switch-map"   // the DSCP maps to the plan's queue
	SwitchPause ID = "switch-pause" // PFC is enabled for the queue

	Readable ID = "readable" // the prerequisites of the device can be read
)

// Scope is the kind of object that has a prerequisite.
type Scope string

// Scopes.
const (
	ScopePort     Scope = "nic-port"
	ScopePriority Scope = "nic-priority"
	ScopeCard     Scope = "nic"
	ScopeQueue    Scope = "switch-queue"
	ScopeDevice   Scope = "device"
)

// State is the evaluated state of a prerequisite.
type State string

// States. The state of a value that could not be read is Unknown, never Met.
const (
	Met     State = "met"
	Wrong   State = "wrong"
	Unknown State = "unknown"
)

// Param is a value of a NIC's parameter, named as in the table of nicparam.
type Param struct {
	Name  string
	Index int
	Value uint64
}

// Item is one evaluated prerequisite of one device.
type Item struct {
	ID    ID
	Scope Scope
	Field string // a parameter such as "rp_enable[3]", or a table of a switch
	State State
	Want  string
	Found string      // the value read; empty if it could not be read
	Why   phrase.Text // reason of the prerequisite; for an Unknown item, the reason of that state
	// Advice is the remedy if Fairlane may not set the value; empty otherwise.
	Advice phrase.Text
	// Advisory means that congestion control works without it, but not with the plan's weights. It does not block a rollout.
	Advisory bool
	// Repair is the value that Fairlane may set; nil if it may not.
	Repair *Param
}

// Sentence describes an item that is not met: the value found, the expected value, and the reason.
func (i *Item) Sentence() phrase.Text {
	if i.State == Unknown {
		return phrase.Of("prereq.unknown", "prerequisite", string(i.ID), "field", i.Field, "reason", i.Why)
	}
	if i.Found == "" && i.Want == "" { // Why is sufficient
		return phrase.Of("prereq.unmet", "prerequisite", string(i.ID), "reason", i.Why)
	}
	s := phrase.Of("prereq.wrong", "prerequisite", string(i.ID), "field", i.Field, "found", i.Found, "want", i.Want, "reason", i.Why)
	if i.Repair != nil {
		return phrase.Of("prereq.repairable", "text", s)
	}
	return phrase.Joined(s, i.Advice)
}

// Reader returns the current value of a parameter of a NIC port, or of its card; false if it cannot be read.
type Reader func(name string, index int) (value uint64, ok bool)

// nicRule is a prerequisite that depends on one parameter of a NIC.
type nicRule struct {
	id     ID
	scope  Scope
	name   string
	index  int
	met    func(v uint64) bool
	want   string
	set    uint64 // value that Fairlane would write
	repair bool   // Fairlane may set it: it takes effect immediately, and a rollback restores it
	why    phrase.Text
	advice phrase.Text
	unread phrase.Text // reason for which it is unknown
}

// NIC evaluates the prerequisites of DCQCN at a NIC port. lacks reports whether the host does not have a parameter at all, in
// contrast to one that is unreadable now.
func NIC(n RoCE, read Reader, lacks func(name string) bool) []Item {
	return NICClasses([]RoCE{n}, read, lacks)
}

// NICClasses evaluates the prerequisites of several classes of traffic at a NIC port. A parameter on which several depend is one item, of
// the first class whose prerequisite it does not meet. Applications choose their class themselves, so a type of service of any class is legal.
func NICClasses(all []RoCE, read Reader, lacks func(name string) bool) []Item {
	type key struct {
		id    ID
		field string
	}
	var out []Item
	at := map[key]int{}
	for _, n := range all {
		for _, r := range nicRules(n, read, lacks) {
			if len(all) > 1 {
				r.amongClasses(all)
			}
			item := r.judge(read)
			k := key{item.ID, item.Field}
			switch i, seen := at[k]; {
			case !seen:
				at[k] = len(out)
				out = append(out, item)
			case out[i].State == Met:
				out[i] = item
			}
		}
	}
	return out
}

// amongClasses changes a rule of one class to that of a port with several.
func (r *nicRule) amongClasses(all []RoCE) {
	switch r.id {
	case TypeOfService:
		r.want, r.set = "0", 0
		r.met = func(v uint64) bool {
			return v == 0 || (v&3 == ect0 || v&3 == ect1) && slices.ContainsFunc(all, func(n RoCE) bool { return v>>2 == uint64(n.DSCP) })
		}
	case CNPDSCP:
		r.repair = r.repair && !slices.ContainsFunc(all, func(n RoCE) bool { return n.DSCP == stockCNP })
	}
}

func (r *nicRule) judge(read Reader) Item {
	item := Item{ID: r.id, Scope: r.scope, Field: field(r.name, r.index), Want: r.want}
	v, ok := read(r.name, r.index)
	switch {
	case !ok:
		item.State, item.Why = Unknown, r.unread
		return item
	case r.met(v):
		item.State, item.Found = Met, strconv.FormatUint(v, 10)
		return item
	}
	item.State, item.Found, item.Why = Wrong, strconv.FormatUint(v, 10), r.why
	if r.repair {
		item.Repair = &Param{Name: r.name, Index: r.index, Value: r.set}
	} else {
		item.Advice = r.advice
	}
	return item
}

// field formats a parameter as "rp_enable[3]"; index 0 of a parameter with one value is omitted.
func field(name string, index int) string {
	if index == 0 {
		return name
	}
	return name + "[" + strconv.Itoa(index) + "]"
}

func nicRules(n RoCE, read Reader, lacks func(string) bool) []nicRule {
	is := func(want uint64) func(uint64) bool { return func(v uint64) bool { return v == want } }
	prio, dscp := int(n.Priority), int(n.DSCP)
	unread := func(name string) phrase.Text {
		return phrase.Of("prereq.not-offered", "name", name)
	}
	reset := phrase.Of("prereq.mstconfig.fix")
	rules := []nicRule{
		{id: PriorityMask, scope: ScopePort, name: "roce_cc_prio_mask", met: func(v uint64) bool { return v>>n.Priority&1 == 1 },
			want: phrase.Of("prereq.mask", "bit", prio).String(), why: phrase.Of("prereq.dcqcn-off", "priority", prio), advice: reset, unread: unread("roce_cc_prio_mask")},
		{id: Algorithm, scope: ScopeCard, name: "user_programmable_cc", met: is(0), want: "0",
			why: phrase.Of("prereq.programmable-cc"), advice: reset, unread: unread("user_programmable_cc")},
		{id: Algorithm, scope: ScopePort, name: "roce_cc_algorithm", met: is(0), want: "0",
			why: phrase.Of("prereq.qcn"), advice: reset, unread: unread("roce_cc_algorithm")},
		{id: Trust, scope: ScopePort, name: "trust", met: is(1), want: "1", set: 1, repair: true,
			why: phrase.Of("prereq.trust-pcp", "dscp", dscp, "priority", prio), unread: unread("trust")},
		{id: DSCPPriority, scope: ScopePort, name: "dscp2prio", index: dscp, met: is(uint64(n.Priority)), want: strconv.Itoa(prio), set: uint64(n.Priority), repair: true,
			why: phrase.Of("prereq.dscp-priority", "dscp", dscp), unread: unread("dscp2prio")},
		{id: TypeOfService, scope: ScopePort, name: "default_roce_tos", want: strconv.Itoa(dscp<<2 | ect0), set: uint64(n.DSCP)<<2 | ect0, repair: true,
			met: func(v uint64) bool { return v == 0 || v>>2 == uint64(n.DSCP) && (v&3 == ect0 || v&3 == ect1) }, // 0 means that applications choose
			why: phrase.Of("prereq.default-tos", "dscp", dscp), unread: unread("default_roce_tos")},
		{id: CNPDSCP, scope: ScopePort, name: "cnp_dscp", met: func(v uint64) bool { return v != uint64(n.DSCP) }, want: phrase.Of("prereq.other-than", "value", dscp).String(), set: stockCNP, repair: n.DSCP != stockCNP,
			why: phrase.Of("prereq.cnp-dscp", "dscp", dscp), advice: phrase.Of("prereq.cnp-dscp.fix"), unread: unread("cnp_dscp")},
	}
	if n.Lossless {
		rules = append(rules, nicRule{id: Pause, scope: ScopePriority, name: "pfc", index: prio, met: is(1), want: "1", set: 1, repair: true,
			why: phrase.Of("prereq.no-pfc", "priority", prio), unread: unread("pfc")})
	}
	if n.Divided {
		rules = append(rules, nicRule{id: TrafficClass, scope: ScopePriority, name: "prio2tc", index: prio, met: is(uint64(n.Priority)), want: strconv.Itoa(prio), set: uint64(n.Priority), repair: true,
			why: phrase.Of("prereq.traffic-class", "priority", prio), unread: unread("prio2tc")})
	}
	return append(rules, enables(n, read, lacks, unread)...)
}

// enables returns the rules of DCQCN's two enable flags by priority. Only the vendor's driver has these flags; for a host
// without them, only the firmware's mask counts.
func enables(n RoCE, read Reader, lacks func(string) bool, unread func(string) phrase.Text) []nicRule {
	prio := int(n.Priority)
	both := []nicRule{
		{id: Reaction, name: "rp_enable", why: phrase.Of("prereq.no-rp", "priority", prio)},
		{id: Notification, name: "np_enable", why: phrase.Of("prereq.no-np", "priority", prio)},
	}
	var out []nicRule
	_, masked := read("roce_cc_prio_mask", 0)
	for _, r := range both {
		if _, ok := read(r.name, prio); !ok && masked && lacks(r.name) {
			continue
		}
		r.scope, r.index, r.want, r.set, r.repair, r.unread = ScopePriority, prio, "1", 1, true, unread(r.name)
		r.met = func(v uint64) bool { return v == 1 }
		out = append(out, r)
	}
	return out
}

// The two codepoints of ECN-capable transport (RFC 3168, 5).
const (
	ect1 = 1
	ect0 = 2
)

// stockCNP is the vendor's default DSCP of notifications.
const stockCNP = 48

// Count returns the numbers of wrong and of unknown items.
func Count(items []Item) (wrong, unknown int) {
	for i := range items {
		switch items[i].State {
		case Wrong:
			wrong++
		case Unknown:
			unknown++
		case Met:
		}
	}
	return wrong, unknown
}

// Unmet returns the items that are not met, wrong ones first.
func Unmet(items []Item) []Item {
	out := slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return i.State == Met })
	slices.SortStableFunc(out, func(a, b Item) int { return cmp.Compare(b.State, a.State) }) // "wrong" is after "unknown" in alphabetical order
	return out
}

// Repairs returns the values of wrong items that Fairlane may set, and the other wrong items.
func Repairs(items []Item) (set []Param, rest []Item) {
	for i := range items {
		switch it := &items[i]; {
		case it.State != Wrong:
		case it.Repair != nil:
			set = append(set, *it.Repair)
		default:
			rest = append(rest, *it)
		}
	}
	return set, rest
}
