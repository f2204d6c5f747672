package nicyang

import (
	"fmt"
	"slices"
	"strconv"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/wrcc"
)

// WRCCLeaves returns the configuration of a port's senders as leaves.
func WRCCLeaves(nic string, port int, c *wrcc.NICConfig) []gnmitree.Leaf {
	base := WRCC(nic, port)
	config := base.Child("config")
	var out []gnmitree.Leaf
	add := func(at gnmitree.Path, name string, v gnmitree.Value) {
		out = append(out, gnmitree.Leaf{Path: at.Child(name), Value: v, Class: gnmitree.ClassConfig})
	}
	add(config, "domain", gnmitree.Uint32(uint32(c.Domain)))
	add(config, "t1-us", gnmitree.Uint32(uint32(c.T1Us)))
	add(config, "min-rate-mbps", gnmitree.Uint32(c.MinRateMbps))
	add(config, "increase", gnmitree.String(c.Increase))
	weight := func(at gnmitree.Path, w wrcc.FixedWeight) {
		at = at.Child("config")
		add(at, "multiplier", gnmitree.Uint32(uint32(w.Multiplier)))
		add(at, "shift", gnmitree.Uint32(uint32(w.Shift)))
	}
	for _, s := range c.Senders {
		weight(Sender(nic, port, s.Name), s.Weight)
		for _, p := range s.Peers {
			weight(Peer(nic, port, s.Name, p.Port), p.Weight)
		}
	}
	return out
}

// WRCCValue returns the configuration of a port's senders as a JSON value for a Set that replaces WRCC(…).
func WRCCValue(c *wrcc.NICConfig) gnmitree.Value {
	return gnmitree.JSON(gnmitree.Compose(WRCC("", 1), WRCCLeaves("", 1, c), gnmitree.EncodingJSONIETF, ""))
}

// SetWRCC sets one leaf of a configuration; t is its parsed path. Missing senders and peers are created with weight 1. The
// result may be invalid, so call Validate.
func SetWRCC(c *wrcc.NICConfig, t Target, v gnmitree.Value) error {
	bad := func(err error) error {
		return &PathError{Path: "wrcc " + t.Leaf, Found: v.String(), Allowed: err.Error()}
	}
	if t.Part == PartWRCCLeaf && t.Leaf == "increase" {
		s, err := v.AsString()
		if err != nil {
			return bad(err)
		}
		c.Increase = s
		return nil
	}
	n, err := v.AsUint()
	if err != nil {
		return bad(err)
	}
	fits := func(most uint64) error {
		if n <= most {
			return nil
		}
		return bad(fmt.Errorf("at most %s", strconv.FormatUint(most, 10)))
	}
	switch t.Part {
	case PartWRCCLeaf:
		switch t.Leaf {
		case "domain":
			c.Domain, err = uint16(n), fits(1<<16-1)
		case "t1-us":
			c.T1Us, err = uint16(n), fits(1<<16-1)
		case "min-rate-mbps":
			c.MinRateMbps, err = uint32(n), fits(1<<32-1)
		}
		return err
	case PartWeight, PartPeerWeight:
		w := weightOf(c, t)
		if t.Leaf == "shift" {
			w.Shift, err = uint8(n), fits(1<<8-1)
			return err
		}
		w.Multiplier, err = uint16(n), fits(1<<16-1)
		return err
	}
	return &PathError{Path: "wrcc", Found: "no leaf", Allowed: "a leaf"}
}

// weightOf returns the weight of a sender or a peer, and creates it if it is missing.
func weightOf(c *wrcc.NICConfig, t Target) *wrcc.FixedWeight {
	one := wrcc.FixedWeight{Multiplier: 1}
	i, ok := slices.BinarySearchFunc(c.Senders, wrcc.SenderWeight{Name: t.Sender}, wrcc.SenderWeight.Compare)
	if !ok {
		c.Senders = slices.Insert(c.Senders, i, wrcc.SenderWeight{Name: t.Sender, Weight: one})
	}
	s := &c.Senders[i]
	if t.Part == PartWeight {
		return &s.Weight
	}
	j, ok := slices.BinarySearchFunc(s.Peers, wrcc.PeerWeight{Port: t.Peer}, wrcc.PeerWeight.Compare)
	if !ok {
		s.Peers = slices.Insert(s.Peers, j, wrcc.PeerWeight{Port: t.Peer, Weight: one})
	}
	return &s.Peers[j].Weight
}

// DropWRCC removes the target's entry from a configuration: a sender, all senders, a peer, or all peers of a sender. It returns
// false for other targets.
func DropWRCC(c *wrcc.NICConfig, t Target) bool {
	at := slices.IndexFunc(c.Senders, func(s wrcc.SenderWeight) bool { return s.Name == t.Sender })
	switch t.Part {
	case PartSenders:
		c.Senders = nil
	case PartSender:
		if at >= 0 {
			c.Senders = slices.Delete(c.Senders, at, at+1)
		}
	case PartPeers:
		if at >= 0 {
			c.Senders[at].Peers = nil
		}
	case PartPeer:
		if at >= 0 {
			c.Senders[at].Peers = slices.DeleteFunc(c.Senders[at].Peers, func(p wrcc.PeerWeight) bool { return p.Port == t.Peer })
		}
	default:
		return false
	}
	return true
}
