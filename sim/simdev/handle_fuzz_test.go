package simdev

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// FuzzHandle passes arbitrary datagrams to the devices. They must not crash, an answer must match its request, and the
// devices must stay usable.
func FuzzHandle(f *testing.F) {
	seed := func(p mad.Packet, dlid ident.LID) {
		m := Message{DLID: dlid, SLID: 0, DQP: 1, SQP: 1, MAD: p}
		var b [datagramSize]byte
		encodeDatagram(b[:], &m, 0)
		f.Add(b[:], byte(0))
	}
	for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodGetTable, mad.MethodGetResp} {
		for a := mad.AttrID(0x10); a < 0x21; a++ {
			seed(mad.NewDirected(method, a, 0), ident.PermissiveLID)
			seed(mad.NewSMP(method, a, 1), 1)
			seed(mad.NewCC(method, a, 0, 0), 3)
		}
		for a := mad.AttrID(0x30); a < 0x38; a++ {
			seed(mad.NewPerf(method, a, 0), 1)
			seed(mad.NewSA(method, a, 0), 3)
		}
		seed(mad.NewPerf(method, mad.AttrPortCounters, 0), 1)
		seed(mad.NewCC(method, mad.AttrNotice, 0, 0), 3)
		seed(mad.NewCC(method, mad.AttrCongestionLog, 0, 7), 3)
		seed(mad.NewPerf(method, mad.AttrPortCountersExtended, 0), 1)
	}
	locked := mad.NewDirected(mad.MethodSet, mad.AttrPortInfo, 0)
	if err := (&mad.PortInfo{MKey: 1, MKeyProtect: 2, LinkWidthEnabled: 255}).Encode(locked.Data()); err != nil {
		f.Fatal(err)
	}
	seed(locked, ident.PermissiveLID)
	f.Fuzz(func(t *testing.T, b []byte, sm byte) {
		o := Options{}
		if sm&2 != 0 {
			o = Options{ReversedControlMap: true, Layout: mad.CCLayout{LibibmadLog: true, WidePorts: true, PackedCA: true}}
		}
		r := newRig(t, o)
		if sm&4 != 0 {
			for _, node := range []int32{leaf1, host3} {
				if err := errors.Join(r.dev.GuardCC(node, 7, sm&8 != 0, 1), r.dev.GuardSM(node, 7, 2, 1)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if sm&1 != 0 {
			r.dev.SetSM(subnet.PortRef{Node: host1, Port: 1}, true)
		}
		var m Message
		if decodeDatagram(b, &m) != nil {
			return
		}
		asked := m
		switch v := r.dev.Handle(r.from, &m); v.Outcome {
		case Replied:
			if !m.MAD.IsResponse() || m.MAD.TID() != asked.MAD.TID() || m.MAD.Attr() != asked.MAD.Attr() || m.DQP != asked.SQP {
				t.Fatalf("%s was answered with %s", asked.MAD.String(), m.MAD.String())
			}
		case Forwarded:
			if m.MAD.Class() == mad.ClassCongestion {
				t.Fatal("class 0x21 was forwarded")
			}
		case Dropped, Undeliverable:
		}
		r.dev.SetSM(subnet.PortRef{Node: host1, Port: 1}, false)
		again := r.directed(mad.MethodGet, mad.AttrNodeInfo, 0)
		again.SetMKey(r.dev.port(r.from).key.key) // The datagram may have set a key with protection.
		if m, v := r.send(0, again); v.Outcome != Replied || m.MAD.Status() != 0 {
			t.Fatalf("afterwards the local node's NodeInfo is %s", v.Outcome)
		}
	})
}

// A Get returns the values that a Set wrote and the device accepted. Only a Set changes them.
func TestSettingsReadBackAsWritten(t *testing.T) {
	t.Parallel()
	topo := testTopology(t)
	rapid.Check(t, func(t *rapid.T) {
		n, err := fabric.New(topo, fabric.Config{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := New(n, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{net: n, dev: d, from: subnet.PortRef{Node: host1, Port: 1}}
		for range 10 {
			kind := rapid.SampledFrom([]struct {
				attr mad.AttrID
				node int32
				size int
			}{
				{mad.AttrCACongestionSetting, host3, 132}, {mad.AttrCongestionControlTable, host3, 132},
				{mad.AttrSwitchCongestionSetting, leaf2, 76}, {mad.AttrSwitchPortCongestionSetting, leaf2, 128},
			}).Draw(t, "attribute")
			p := mad.NewCC(mad.MethodSet, kind.attr, 0, 0)
			copy(p.Data(), rapid.SliceOfN(rapid.Byte(), kind.size, kind.size).Draw(t, "data"))
			set, v := r.send(r.lid(kind.node), p)
			if v.Outcome != Replied {
				t.Fatalf("Set: %s", v.Outcome)
			}
			get, v := r.send(r.lid(kind.node), mad.NewCC(mad.MethodGet, kind.attr, 0, 0))
			if v.Outcome != Replied || get.MAD.Status() != mad.StatusOK {
				t.Fatalf("Get: %s, %s", v.Outcome, get.MAD.Status())
			}
			if set.MAD.Status() != mad.StatusOK {
				continue
			}
			a, b := set.MAD.Data()[:kind.size], get.MAD.Data()[:kind.size]
			for i := range a {
				if a[i] != b[i] && !controlMapByte(kind.attr, i) {
					t.Fatalf("%s: byte %d: Set answers %02x, Get %02x", mad.AttrName(mad.ClassCongestion, kind.attr), i, a[i], b[i])
				}
			}
		}
	})
}

// controlMapByte reports whether a byte belongs to Control_Map, which only a Set contains.
func controlMapByte(a mad.AttrID, i int) bool {
	return a == mad.AttrCACongestionSetting && (i == 2 || i == 3) || a == mad.AttrSwitchCongestionSetting && i < 4
}

// Messages of class 0x21 never reach a subnet manager, with any method. An unsolicited one would crash it.
func TestCongestionControlNeverReachesASubnetManager(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.dev.SetSM(subnet.PortRef{Node: host1, Port: 1}, true)
	if _, v := r.send(r.lid(host1), mad.NewSA(mad.MethodGet, mad.AttrPathRecord, 0)); v.Outcome != Forwarded {
		t.Fatalf("the outcome of a request to the subnet manager is %s: the test uses the wrong port", v.Outcome)
	}
	for method := range 256 {
		if _, v := r.send(r.lid(host1), mad.NewCC(mad.Method(method), mad.AttrNotice, 0, 0)); v.Outcome == Forwarded {
			t.Errorf("class 0x21, method %#x: forwarded", method)
		}
	}
}
