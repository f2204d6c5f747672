package simdev

import (
	"slices"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// trapBacklog is the largest number of traps waiting for a slow server; further traps are lost; traps are unreliable by
// specification.
const trapBacklog = 256

// trap is a message to the subnet manager at a port.
type trap struct {
	to  subnet.PortRef
	msg Message
}

// trapQueue passes traps to the servers. The lock of Devices guards it.
type trapQueue struct {
	subscribers []chan trap
	tid         uint32
}

// subscribe returns a channel that receives all traps from now on.
func (d *Devices) subscribe() chan trap {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan trap, trapBacklog)
	d.traps.subscribers = append(d.traps.subscribers, c)
	return c
}

func (d *Devices) unsubscribe(c chan trap) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.traps.subscribers = slices.DeleteFunc(d.traps.subscribers, func(x chan trap) bool { return x == c })
}

// trapLinkChange sends trap 128 (IBTA vol. 1, 14.2.5.1) from a switch to its subnet manager, if one is attached there.
func (d *Devices) trapLinkChange(at int32) {
	lid, _ := d.net.LID(at, 0)
	smLID := d.nodes[at].ports[0].smLID
	if lid == 0 || smLID == 0 {
		return
	}
	n := mad.Notice{
		Generic: true, Type: mad.NoticeUrgent, Producer: uint32(subnet.KindSwitch),
		TrapNumber: mad.TrapLinkStateChange, IssuerLID: lid,
	}
	detail := mad.LinkStateChange{LID: lid}
	if detail.Encode(n.Details[:]) != nil {
		return
	}
	for to := range d.sms {
		if !d.owns(to, smLID) {
			continue
		}
		d.traps.tid++
		t := trap{to: to, msg: Message{DLID: smLID, SLID: lid}}
		t.msg.MAD = mad.NewSMP(mad.MethodTrap, mad.AttrNotice, 0)
		t.msg.MAD.SetTID(uint64(d.traps.tid))
		if n.Encode(t.msg.MAD.Data()) != nil {
			return
		}
		for _, c := range d.traps.subscribers {
			select {
			case c <- t:
			default:
			}
		}
	}
}

// owns reports whether the end port has the LID.
func (d *Devices) owns(ref subnet.PortRef, lid ident.LID) bool {
	base, lmc := d.net.LID(ref.Node, ref.Port)
	return base != 0 && lid >= base && int(lid) < int(base)+1<<lmc
}
