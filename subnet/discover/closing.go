package discover

import (
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet/mad"
)

// closing is a final query of a sweep. An answer does not identify the responding device, so data of a node that was
// moved during the sweep may belong to another node. The sweep therefore reads the PortStateChange flag of every
// switch once more, and the identity of the nodes behind a switch that reports a change. A subnet manager that clears
// the flag during the sweep hides the change, but no cable is moved that fast.
type closing uint8

const (
	closingNone   closing = iota
	closingSwitch         // did ports change state?
	closingNode           // which node is there?
)

// close queues the final queries.
func (s *sweep) close() {
	for _, n := range s.byGUID() {
		if n.isSwitch() {
			s.push(job{attr: mad.AttrSwitchInfo, path: n.path, from: n, closing: closingSwitch})
		}
	}
}

// learnClosing processes the answer to a final query.
func (s *sweep) learnClosing(j job, data []byte) error {
	if j.closing == closingSwitch {
		var v mad.SwitchInfo
		if err := v.Decode(data); err != nil {
			return err
		}
		if v.PortStateChange {
			s.askBehind(j.from)
		}
		return nil
	}
	var v mad.NodeInfo
	if err := v.Decode(data); err != nil {
		return err
	}
	if v.NodeGUID != j.from.info.NodeGUID {
		s.clearNodeData(j, phrase.Of("discovery.node-now", "node", v.NodeGUID))
	}
	return nil
}

// askBehind queries the identity of the nodes that were found through a switch.
func (s *sweep) askBehind(n *node) {
	for p := range n.ports {
		there := n.ports[p].peer
		if there != nil && len(there.path) == len(n.path)+1 && slices.Equal(there.path[:len(n.path)], n.path) && int(there.path[len(n.path)]) == p {
			s.push(job{attr: mad.AttrNodeInfo, path: there.path, from: there, port: n.ports[p].peerPort, closing: closingNode})
		}
	}
}

// clearNodeData removes data that may belong to another node: the name and the port data.
func (s *sweep) clearNodeData(j job, why phrase.Text) {
	n := j.from
	s.warn(WarnMismatch, n, j.port, j.path, nil, phrase.Of("discovery.changed", "reason", why))
	n.desc, n.named = mad.NodeDescription{}, false
	if n.isSwitch() {
		n.noLFT = true
	}
	for p := range n.ports {
		n.ports[p].known, n.ports[p].info, n.ports[p].tables = false, portFacts{}, tables{}
	}
}
