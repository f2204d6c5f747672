package simdev

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// ccKeyState protects the congestion-control agent (IBTA annex A10.4.2).
type ccKeyState struct {
	key        mad.Key
	protect    bool
	lease      uint16 // seconds
	violations uint16
	expires    quantity.Picoseconds // end of the running lease; 0 means no lease
	last       mad.CCKeyViolation   // valid while notices is above 0
	notices    uint16               // violations not yet reported by a Get of Notice
	toggle     bool
}

// trapCCKeyViolation is the number of the notice about a wrong CC_Key (IBTA annex A10.4.3). The text of the annex was not
// available; the number counts from zero, as in other optional classes.
const trapCCKeyViolation uint16 = 0

// noNotice is the type of an empty Notice (IBTA vol. 1, 13.4.8.2).
const noNotice uint8 = 0x7f

// ccKeyAllows checks the CC_Key: Sets always require it, Gets only while the protect bit is set. A violation increments the
// counter and starts the lease, the correct key stops it. At the end of the lease the protect bit is cleared, so that the key
// can be read.
func (d *Devices) ccKeyAllows(r ccRequest) bool {
	k := &d.port(r.at).cc
	now := d.net.Now()
	if k.expires != 0 && now >= k.expires {
		k.protect, k.expires = false, 0
	}
	if k.key == 0 || r.p.CCKey() == k.key {
		k.expires = 0
		return true
	}
	if !r.set && !k.protect {
		return true
	}
	k.violations = saturate16(uint64(k.violations) + 1)
	k.notices = min(k.notices+1, 1<<15-1)
	k.last = mad.CCKeyViolation{
		SourceLID: r.from, Method: r.p.Method(), Attr: r.p.Attr(), Modifier: r.p.Modifier(), QP: 1, CCKey: r.p.CCKey(),
	}
	if k.protect && k.lease != 0 && k.expires == 0 {
		k.expires = now + quantity.Picoseconds(k.lease)*quantity.Second
	}
	return false
}

func (d *Devices) congestionKeyInfo(r ccRequest) mad.Status {
	k := &d.port(r.at).cc
	if r.set {
		var want mad.CongestionKeyInfo
		if err := want.Decode(r.p.Data()); err != nil {
			return mad.StatusInvalidAttrValue
		}
		k.key, k.protect, k.lease, k.expires = want.CCKey, want.Protect, want.LeasePeriod, 0
		if want.Violations == 0 {
			k.violations = 0
		}
	}
	info := mad.CongestionKeyInfo{CCKey: k.key, Protect: k.protect, LeasePeriod: k.lease, Violations: k.violations}
	clear(r.p.Data())
	return done(info.Encode(r.p.Data()))
}

// ccNotice serves the notices of the class (IBTA vol. 1, 13.4.8.2): a Get returns the last key violation, a Set clears it. No
// trap is sent, because subnet managers crash on an unsolicited trap of this class.
func (d *Devices) ccNotice(r ccRequest) mad.Status {
	k := &d.port(r.at).cc
	if r.set && k.notices > 0 {
		k.notices, k.toggle = 0, !k.toggle
	}
	n := mad.Notice{Generic: true, Type: noNotice}
	if k.notices > 0 {
		lid, _ := d.net.LID(r.at.Node, r.at.Port)
		n = mad.Notice{
			Generic: true, Type: mad.NoticeSecurity, Producer: uint32(d.nodes[r.at.Node].info.Kind),
			TrapNumber: trapCCKeyViolation, IssuerLID: lid, Toggle: k.toggle, Count: k.notices, IssuerGID: d.gid(r.at),
		}
		if err := k.last.Encode(n.Details[:]); err != nil {
			return mad.StatusInvalidAttrValue
		}
	}
	clear(r.p.Data())
	return done(n.Encode(r.p.Data()))
}

// GuardCC sets the CC_Key of all end ports of a node (0 means unchecked), and whether Gets also require it. leaseSeconds is
// the simulated time after a violation for which Gets still require it; 0 means forever. The violation counter restarts at
// zero.
func (d *Devices) GuardCC(node int32, key mad.Key, protect bool, leaseSeconds uint16) error {
	return d.guard(node, func(p *port) { p.cc = ccKeyState{key: key, protect: protect, lease: leaseSeconds} })
}

// GuardSM sets the M_Key of all end ports of a node (0 means unchecked) and the protection level, 0 to 3 (IBTA vol. 1,
// 14.2.4). Without the key, all attributes including the key can be read at level 0, all except the key at level 1, and none
// from level 2 on. The level drops to 0 the given seconds of simulated time after a violation; 0 means never.
func (d *Devices) GuardSM(node int32, key mad.Key, level uint8, leaseSeconds uint16) error {
	if level > 3 {
		return fmt.Errorf("protection level %d: want 0 to 3", level)
	}
	return d.guard(node, func(p *port) { p.key = mkeyState{key: key, protect: level, lease: leaseSeconds} })
}

func (d *Devices) guard(node int32, set func(*port)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if node < 0 || int(node) >= len(d.nodes) {
		return fmt.Errorf("node %d: want 0 to %d", node, len(d.nodes)-1)
	}
	for num := range d.nodes[node].ports {
		if ref := (subnet.PortRef{Node: node, Port: ident.PortNum(num)}); d.topo.Valid(ref) && d.endPort(ref) {
			set(d.port(ref))
		}
	}
	return nil
}
