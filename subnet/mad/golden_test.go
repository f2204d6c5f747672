package mad_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"fairlane/subnet/mad"
)

// golden are whole packets as ibccconfig 44.0 sends them, captured on a simulated fabric.
// Bytes that are not listed are zero.
type golden struct {
	name   string
	attr   mad.AttrID
	key    mad.Key
	value  mad.Attribute
	header string         // bytes 0-7
	rest   string         // bytes 16-31
	data   map[int]string // by data byte
}

func goldens() []golden {
	ca := mad.CACongestionSetting{PortControl: mad.PortControlSL, ControlMap: 3}
	for sl := range 2 {
		ca.Entries[sl] = mad.CACongestionEntry{Timer: 150, Increase: 2, Trigger: 9, Min: 1}
	}
	cct := mad.CongestionControlTable{Limit: 3}
	copy(cct.Entries[:], []mad.CCTEntry{{}, {Shift: 1, Multiplier: 2}, {Shift: 2, Multiplier: 3}, {Shift: 3, Multiplier: 16383}})
	sw := mad.SwitchCongestionSetting{
		ControlMap: mad.ControlMapAll, VictimMask: mad.PortMask{0: 6}, Threshold: 12, PacketSize: 8,
		CSThreshold: 5, CSReturnDelay: mad.CCTEntry{Shift: 1, Multiplier: 7}, MarkingRate: 100,
	}
	port := mad.SwitchPortCongestionSetting{13: {Valid: true, Threshold: 15, PacketSize: 8, MarkingRate: 100}}
	key := mad.CongestionKeyInfo{CCKey: 0xaabb, Protect: true, LeasePeriod: 30, Violations: 1}
	return []golden{
		{"CACongestionSetting", mad.AttrCACongestionSetting, 0x1122334455667788, &ca,
			"01 21 02 02 00 00 00 00", "00 16 00 00 00 00 00 00 11 22 33 44 55 66 77 88",
			map[int]string{0: "00 01 00 03 00 96 02 09 01 00 00 00 00 96 02 09 01"}},
		{"CongestionControlTable", mad.AttrCongestionControlTable, 0, &cct,
			"01 21 02 02 00 00 00 00", "00 17 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
			map[int]string{0: "00 03 00 00 00 00 40 02 80 03 ff ff"}},
		{"SwitchCongestionSetting", mad.AttrSwitchCongestionSetting, 0, &sw,
			"01 21 02 02 00 00 00 00", "00 14 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
			map[int]string{0: "00 00 00 1f", 35: "06", 68: "c0 08 50 00 40 07 00 64"}},
		{"SwitchPortCongestionSetting", mad.AttrSwitchPortCongestionSetting, 0, &port,
			"01 21 02 02 00 00 00 00", "00 15 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
			map[int]string{52: "8f 08 00 64"}},
		{"CongestionKeyInfo", mad.AttrCongestionKeyInfo, 0, &key,
			"01 21 02 02 00 00 00 00", "00 12 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
			map[int]string{0: "00 00 00 00 00 00 aa bb 80 00 00 1e 00 01"}},
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (g golden) packet(t *testing.T) mad.Packet {
	t.Helper()
	var p mad.Packet
	copy(p[0:], unhex(t, g.header))
	copy(p[16:], unhex(t, g.rest))
	for at, s := range g.data {
		copy(p[64+at:], unhex(t, s))
	}
	return p
}

func TestSettingsAreEncodedAsIbccconfigSendsThem(t *testing.T) {
	t.Parallel()
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			got, want := mad.NewCC(mad.MethodSet, g.attr, 0, g.key), g.packet(t)
			if err := g.value.Encode(got.Data()); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("encoded\n%x\nwant\n%x", got, want)
			}
			back := newAttribute(t, g.name)
			if err := back.Decode(want.Data()); err != nil {
				t.Fatal(err)
			}
			again := make([]byte, len(want.Data()))
			if err := back.Encode(again); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, want.Data()) {
				t.Errorf("decoded to %+v", back)
			}
		})
	}
}

func TestDirectedRouteRequestThatIbsimAnswered(t *testing.T) {
	t.Parallel()
	p := mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0)
	p[200] = 9 // a path left over from an earlier use
	if err := p.SetRoute(ports(1, 3)); err != nil {
		t.Fatal(err)
	}
	var want mad.Packet
	copy(want[0:], unhex(t, "01 81 01 01 00 00 00 02"))
	copy(want[16:], unhex(t, "00 11"))
	copy(want[32:], unhex(t, "ff ff ff ff"))
	copy(want[128:], unhex(t, "00 01 03"))
	if p != want {
		t.Errorf("packet\n%x\nwant\n%x", p, want)
	}
	copy(p[0:], unhex(t, "01 81 01 81 80 00 00 02"))
	copy(p[192:], unhex(t, "01 01 03"))
	if !p.IsResponse() || !p.Direction() || p.Status() != mad.StatusOK || p.HopCount() != 2 || !bytes.Equal(p.ReturnPath()[:4], []byte{1, 1, 3, 0}) {
		t.Errorf("response read as %s, direction %v, %d hops, return path %v", &p, p.Direction(), p.HopCount(), p.ReturnPath()[:4])
	}
}
