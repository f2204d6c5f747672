package fabric

import (
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibprofile"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Profile returns the profile of a node's device.
func (n *Network) Profile(node int32) *ibprofile.Profile { return n.profiles[node] }

// CCTEntries returns the number of congestion control table entries in each port of a node.
func (n *Network) CCTEntries(node int32) int {
	if p := n.profiles[node]; !p.Generic() {
		return p.Adapter.TableEntries
	}
	return n.cfg.CCTBlocks * ibcc.BlockEntries
}

// CCTBlocks returns CCTEntries in blocks (ControlTableCap).
func (n *Network) CCTBlocks(node int32) int {
	return (n.CCTEntries(node) + ibcc.BlockEntries - 1) / ibcc.BlockEntries
}

// timerOf returns the unit of a node's CCTI_Timer, and whether a BECN restarts it.
func (n *Network) timerOf(node int32) (unit quantity.Picoseconds, restart bool) {
	p := n.profiles[node]
	if p.Generic() {
		return ibcc.TimerUnitPicoseconds, n.cfg.TimerRestart
	}
	return p.Adapter.TimerUnit, p.Adapter.TimerRestart
}

// held returns the parameters as the node's device stores them.
func (n *Network) held(node int32, params [ident.NumSLs]ibcc.SLParams) [ident.NumSLs]ibcc.SLParams {
	a := &n.profiles[node].Adapter
	for sl := range params {
		params[sl].Timer = min(params[sl].Timer, a.MaxTimer)
		params[sl].Increase = min(params[sl].Increase, a.MaxIncrease)
	}
	return params
}

// modeOf returns the mode that a node's device enters when the given mode is requested.
func (n *Network) modeOf(node int32, perSL bool) bool {
	a := &n.profiles[node].Adapter
	return perSL && a.PerSL || !a.PerQP
}

// heldEntries returns table entries as the node's device stores them. It changes the entries in place.
func (n *Network) heldEntries(node int32, entries []ibcc.Entry) []ibcc.Entry {
	a := &n.profiles[node].Adapter
	for i, e := range entries {
		if e.Shift > a.MaxShift || e.Multiplier > a.MaxMultiplier {
			entries[i] = a.Entry(e)
		}
	}
	return entries
}

// heldDefaults returns the switch's marking settings as the device stores them.
func (n *Network) heldDefaults(node int32, s ibcc.SwitchSettings) ibcc.SwitchSettings {
	m := n.heldMarking(node, ibcc.PortMarking{Valid: true, PacketSize: s.PacketSize, MarkingRate: s.MarkingRate})
	s.PacketSize, s.MarkingRate = m.PacketSize, m.MarkingRate
	return s
}

// heldMarking returns a port's marking as the switch stores it. A rate of 0 has the effect of 1 (IBTA annex A10).
func (n *Network) heldMarking(node int32, m ibcc.PortMarking) ibcc.PortMarking {
	s := &n.profiles[node].Switch
	if !m.Valid || m.CreditStarvation {
		return m
	}
	m.PacketSize = min(m.PacketSize, s.MaxPacketSize)
	if m.MarkingRate > s.MaxMarkingRate || max(1, m.MarkingRate) < s.MinMarkingRate {
		m.MarkingRate = s.Marking(int(m.MarkingRate))
	}
	return m
}

// thresholdBytes returns the queue length above which a switch port marks; -1 means never.
func (n *Network) thresholdBytes(p *port) int {
	if profile := n.profiles[p.node]; p.threshold > 0 && !profile.Generic() {
		return profile.Switch.Thresholds[min(p.threshold, ibcc.MaxThreshold)]
	}
	return n.cfg.ThresholdBytes(p.threshold)
}
