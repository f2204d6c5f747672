package simdev

import (
	"fmt"

	"fairlane/ccconfig/ibcc"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Reboot returns a node to its power-on state: congestion control off, counters at zero, partition tables with the default
// entry only, keys as in Options. With a subnet manager, the node also loses its LIDs, routes and lanes, and its ports go to
// INIT; a Configured fabric without a subnet manager restores these immediately. The links of the neighbours change state.
func (d *Devices) Reboot(at int32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at < 0 || int(at) >= len(d.nodes) {
		return fmt.Errorf("node %d: want 0 to %d", at, len(d.nodes)-1)
	}
	nd := &d.nodes[at]
	d.resetCC(at)
	if nd.info.Name != nd.desc.String() {
		if desc, err := mad.NewNodeDescription(nd.info.Name); err == nil {
			nd.desc = desc
		}
	}
	if d.replacesSM() {
		for num := range nd.ports {
			if ref := (subnet.PortRef{Node: at, Port: ident.PortNum(num)}); d.topo.Valid(ref) {
				d.restart(ref)
			}
		}
		return nil
	}
	d.unconfigure(at)
	for num := range nd.ports {
		ref := subnet.PortRef{Node: at, Port: ident.PortNum(num)}
		if !d.topo.Valid(ref) {
			continue
		}
		d.clearCounters(ref)
		if peer, ok := d.topo.Peer(ref); ok && d.net.LinkUp(at, ref.Port) {
			d.retrain(ref)
			d.port(peer).downed++
			if d.nodes[peer.Node].sw != nil {
				d.trapLinkChange(peer.Node)
			}
		}
	}
	return nil
}

// restart re-initializes a port. It preserves the configuration that a subnet manager would otherwise write.
func (d *Devices) restart(ref subnet.PortRef) {
	old := *d.port(ref)
	d.initPort(ref)
	p := d.port(ref)
	p.smLID, p.state, p.mtu, p.opVLs, p.highLimit = old.smLID, old.state, old.mtu, old.opVLs, old.highLimit
	p.disabled = old.disabled
	if peer, ok := d.topo.Peer(ref); ok && d.net.LinkUp(ref.Node, ref.Port) {
		d.train(ref, peer)
	}
	d.clearCounters(ref)
}

// clearCounters resets every counter of the port to zero.
func (d *Devices) clearCounters(ref subnet.PortRef) {
	now, p := d.net.Counters(ref.Node, ref.Port), d.port(ref)
	b := &counterBase{short: now, long: now, downed: p.downed}
	b.long.XmitTimeCongVL[0] = sumLanes(&now)
	p.base = b
}

// resetCC turns congestion control off, its initial state.
func (d *Devices) resetCC(at int32) {
	if d.nodes[at].sw != nil {
		d.net.SetSwitchCC(at, ibcc.SwitchSettings{})
		for num := range d.nodes[at].ports {
			d.net.SetPortMarking(at, ident.PortNum(num), ibcc.PortMarking{})
		}
		return
	}
	for num := 1; num < len(d.nodes[at].ports); num++ {
		for block := range d.net.CCTBlocks(at) {
			d.net.SetCCTBlock(at, ident.PortNum(num), 0, block, [ibcc.BlockEntries]ibcc.Entry{})
		}
		d.net.SetCAParams(at, ident.PortNum(num), false, [ident.NumSLs]ibcc.SLParams{})
	}
}

// OverwriteCA changes the settings of a channel-adapter port as a second manager does. It returns an error for a port that is
// not on a channel adapter.
func (d *Devices) OverwriteCA(ref subnet.PortRef, s ibcc.CASettings) error {
	if !d.topo.Valid(ref) || d.nodes[ref.Node].sw != nil {
		return fmt.Errorf("node %d port %d: want a channel adapter's port", ref.Node, ref.Port)
	}
	if err := s.ValidateRanges(); err != nil {
		return fmt.Errorf("overwrite %s: %w", d.topo.PortName(ref), err)
	}
	d.With(func(n *fabric.Network) { n.ApplyCA(ref.Node, ref.Port, s) })
	return nil
}

// OverwriteSwitch changes the settings of a switch as a second manager does. It returns an error for a node that is not a
// switch.
func (d *Devices) OverwriteSwitch(at int32, s ibcc.SwitchSettings) error {
	if at < 0 || int(at) >= len(d.nodes) || d.nodes[at].sw == nil {
		return fmt.Errorf("node %d: want a switch", at)
	}
	if err := s.Validate(); err != nil {
		return fmt.Errorf("overwrite switch %d: %w", at, err)
	}
	d.With(func(n *fabric.Network) { n.SetSwitchCC(at, s) })
	return nil
}
