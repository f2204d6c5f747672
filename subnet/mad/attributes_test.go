package mad_test

import (
	"bytes"
	"errors"
	"math/bits"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/subnet/mad"
)

// attribute describes one codec for the common tests.
type attribute struct {
	name string
	size int // bytes
	bits int // of the fields; the rest is reserved
	make func() mad.Attribute
}

func attributes() []attribute {
	return []attribute{
		{"NodeDescription", 64, 512, func() mad.Attribute { return new(mad.NodeDescription) }},
		{"NodeInfo", 40, 320, func() mad.Attribute { return new(mad.NodeInfo) }},
		{"SwitchInfo", 20, 149, func() mad.Attribute { return new(mad.SwitchInfo) }},
		{"GUIDInfo", 64, 512, func() mad.Attribute { return new(mad.GUIDInfo) }},
		{"PortInfo", 64, 495, func() mad.Attribute { return new(mad.PortInfo) }},
		{"PKeyTable", 64, 512, func() mad.Attribute { return new(mad.PKeyTable) }},
		{"SLToVLTable", 8, 64, func() mad.Attribute { return new(mad.SLToVLTable) }},
		{"VLArbitration", 64, 384, func() mad.Attribute { return new(mad.VLArbitration) }},
		{"LinearForwardingTable", 64, 512, func() mad.Attribute { return new(mad.LinearForwardingTable) }},
		{"MulticastForwardingTable", 64, 512, func() mad.Attribute { return new(mad.MulticastForwardingTable) }},
		{"SMInfo", 21, 168, func() mad.Attribute { return new(mad.SMInfo) }},
		{"Notice", 64, 640, func() mad.Attribute { return new(mad.Notice) }},
		{"LinkStateChange", 54, 16, func() mad.Attribute { return new(mad.LinkStateChange) }},
		{"CapabilityChange", 54, 81, func() mad.Attribute { return new(mad.CapabilityChange) }},
		{"CCKeyViolation", 54, 288, func() mad.Attribute { return new(mad.CCKeyViolation) }},
		{"ClassPortInfo", 72, 568, func() mad.Attribute { return new(mad.ClassPortInfo) }},
		{"PathRecord", 64, 461, func() mad.Attribute { return new(mad.PathRecord) }},
		{"PortCounters", 44, 344, func() mad.Attribute { return new(mad.PortCounters) }},
		{"PortCountersExtended", 72, 536, func() mad.Attribute { return new(mad.PortCountersExtended) }},
		{"PortSLCounters", 68, 536, func() mad.Attribute { return new(mad.PortSLCounters) }},
		{"PortVLXmitTimeCong", 64, 504, func() mad.Attribute { return new(mad.PortVLXmitTimeCong) }},
		{"PortRcvConCtrl", 12, 88, func() mad.Attribute { return new(mad.PortRcvConCtrl) }},
		{"PortXmitConCtrl", 8, 56, func() mad.Attribute { return new(mad.PortXmitConCtrl) }},
		{"CongestionInfo", 3, 24, func() mad.Attribute { return new(mad.CongestionInfo) }},
		{"CongestionKeyInfo", 14, 97, func() mad.Attribute { return new(mad.CongestionKeyInfo) }},
		{"CongestionLogSwitch", 224, 313 + 15*68, func() mad.Attribute { return new(mad.CongestionLogSwitch) }},
		{"CongestionLogCA", 224, 73 + 13*104, func() mad.Attribute { return new(mad.CongestionLogCA) }},
		{"SwitchCongestionSetting", 76, 32 + 512 + 16 + 4 + 16 + 12, func() mad.Attribute { return new(mad.SwitchCongestionSetting) }},
		{"SwitchPortCongestionSetting", 128, 32 * 30, func() mad.Attribute { return new(mad.SwitchPortCongestionSetting) }},
		{"CACongestionSetting", 132, 32 + 16*40, func() mad.Attribute { return new(mad.CACongestionSetting) }},
		{"CongestionControlTable", 132, 16 + 64*16, func() mad.Attribute { return new(mad.CongestionControlTable) }},
		{"CongestionLogCA as libibmad", 224, 73 + 13*120, func() mad.Attribute {
			return mad.CCLayout{LibibmadLog: true}.CALog(new(mad.CongestionLogCA))
		}},
		{"SwitchPortCongestionSetting of 48", 192, 48 * 30, func() mad.Attribute {
			return mad.CCLayout{WidePorts: true}.SwitchPorts(make([]mad.SwitchPortElement, 48))
		}},
		{"SwitchPortCongestionSetting of 32", 128, 32 * 30, func() mad.Attribute {
			return mad.CCLayout{}.SwitchPorts(make([]mad.SwitchPortElement, 32))
		}},
		{"CACongestionSetting packed", 84, 32 + 16*40, func() mad.Attribute {
			return mad.CCLayout{PackedCA: true}.CASetting(new(mad.CACongestionSetting))
		}},
		{"MlnxExtPortInfo", 16, 32, func() mad.Attribute { return new(mad.MlnxExtPortInfo) }},
		{"TimeStamp", 4, 32, func() mad.Attribute { return new(mad.TimeStamp) }},
	}
}

// area is a data area long enough for every attribute.
const area = 224

// checkCodec checks a codec with one content of the data area: decoding reads every field and nothing else, encoding
// zeroes the reserved bits and touches nothing beyond the attribute, and the two are inverse.
func checkCodec(t interface{ Fatalf(string, ...any) }, a attribute, in []byte) {
	first, second := a.make(), a.make()
	if err := first.Decode(in); err != nil {
		t.Fatalf("decode %d bytes: %v", len(in), err)
	}
	out := bytes.Repeat([]byte{0xa5}, len(in))
	if err := first.Encode(out); err != nil {
		t.Fatalf("encoding the decoded attribute: %v", err)
	}
	size := a.size
	if a.name == "Notice" && len(in) >= mad.NoticeGIDSize {
		size = mad.NoticeGIDSize
	}
	for i := range out {
		if i >= size && out[i] != 0xa5 {
			t.Fatalf("byte %d beyond the %d of the attribute was written", i, size)
		}
		if i < size && out[i]&^in[i] != 0 {
			t.Fatalf("byte %d is 0x%02x: has bits that 0x%02x lacks", i, out[i], in[i])
		}
	}
	if err := second.Decode(out); err != nil {
		t.Fatalf("decoding the encoded attribute: %v", err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Fatalf("encode and decode changed the value:\n%s", cmp.Diff(first, second))
	}
}

func TestEveryAttributeRoundTrips(t *testing.T) {
	t.Parallel()
	for _, a := range attributes() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				checkCodec(t, a, rapid.SliceOfN(rapid.Byte(), area, area).Draw(t, "data"))
			})
		})
	}
}

func TestEveryFieldBitIsKeptAndEveryReservedBitIsZeroed(t *testing.T) {
	t.Parallel()
	for _, a := range attributes() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			v, out := a.make(), make([]byte, area)
			if err := v.Decode(bytes.Repeat([]byte{0xff}, area)); err != nil {
				t.Fatal(err)
			}
			if err := v.Encode(out); err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, b := range out {
				n += bits.OnesCount8(b)
			}
			if n != a.bits {
				t.Errorf("the fields have %d bits: want %d", n, a.bits)
			}
		})
	}
}

func TestShortBuffersAreRejectedUnchanged(t *testing.T) {
	t.Parallel()
	for _, a := range attributes() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{0, a.size - 1} {
				var short *mad.ShortError
				if err := a.make().Decode(make([]byte, n)); !errors.As(err, &short) {
					t.Fatalf("decode from %d bytes: error %v: want a ShortError", n, err)
				}
				dst := bytes.Repeat([]byte{7}, n)
				if err := a.make().Encode(dst); !errors.As(err, &short) || short.Len != n || short.Want != a.size {
					t.Fatalf("encode to %d bytes: error %v: want a ShortError that wants %d", n, err, a.size)
				}
				if bytes.Count(dst, []byte{7}) != n {
					t.Errorf("encode to %d bytes wrote %x", n, dst)
				}
			}
		})
	}
}

func TestDecodingDoesNotAllocate(t *testing.T) {
	in := bytes.Repeat([]byte{0x5a}, area)
	for _, a := range attributes() {
		v := a.make()
		if n := testing.AllocsPerRun(20, func() {
			if err := v.Decode(in); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a decode: want none", a.name, n)
		}
	}
}

func TestValuesOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		field string
		max   uint64
		value mad.Attribute
	}{
		{"LMC", 7, &mad.PortInfo{LMC: 8}},
		{"port state", 15, &mad.PortInfo{State: 16}},
		{"M_Key protect bits", 3, &mad.PortInfo{MKeyProtect: 4}},
		{"master SM SL", 15, &mad.PortInfo{MasterSMSL: 16}},
		{"link round trip latency", 1<<24 - 1, &mad.PortInfo{LinkRoundTrip: 1 << 24}},
		{"extended link speed enabled", 31, &mad.PortInfo{LinkSpeedExtEnabled: 32}},
		{"vendor ID", 1<<24 - 1, &mad.NodeInfo{VendorID: 1 << 24}},
		{"lifetime value", 31, &mad.SwitchInfo{LifeTimeValue: 32}},
		{"VL", 15, &mad.SLToVLTable{5: 16}},
		{"VL", 15, &mad.VLArbitration{31: {VL: 16}}},
		{"priority", 15, &mad.SMInfo{Priority: 16}},
		{"producer", 1<<24 - 1, &mad.Notice{Producer: 1 << 24}},
		{"count", 1<<15 - 1, &mad.Notice{Count: 1 << 15}},
		{"QP", 1<<24 - 1, &mad.CCKeyViolation{QP: 1 << 24}},
		{"flow label", 1<<20 - 1, &mad.ClassPortInfo{Trap: mad.ClassAddress{FlowLabel: 1 << 20}}},
		{"capability mask 2", 1<<27 - 1, &mad.ClassPortInfo{CapabilityMask2: 1 << 27}},
		{"QoS class", 1<<12 - 1, &mad.PathRecord{QoSClass: 1 << 12}},
		{"SL", 15, &mad.PathRecord{SL: 16}},
		{"local link integrity errors", 15, &mad.PortCounters{LocalLinkIntegrity: 16}},
		{"threshold", 15, &mad.SwitchCongestionSetting{Threshold: 16}},
		{"credit starvation threshold", 15, &mad.SwitchCongestionSetting{CSThreshold: 16}},
		{"CCT multiplier", 1<<14 - 1, &mad.SwitchCongestionSetting{CSReturnDelay: mad.CCTEntry{Multiplier: 1 << 14}}},
		{"threshold", 15, &mad.SwitchPortCongestionSetting{31: {Threshold: 16}}},
		{"CCT shift", 3, &mad.CongestionControlTable{Entries: [64]mad.CCTEntry{63: {Shift: 4}}}},
		{"CCT multiplier", 1<<14 - 1, &mad.CongestionControlTable{Entries: [64]mad.CCTEntry{0: {Multiplier: 1 << 14}}}},
		{"SL", 15, &mad.CongestionLogSwitch{Events: [15]mad.SwitchLogEvent{14: {SL: 16}}}},
		{"remote QP", 1<<24 - 1, &mad.CongestionLogCA{Events: [13]mad.CALogEvent{12: {RemoteQP: 1 << 24}}}},
	}
	for _, tt := range tests {
		var r *mad.RangeError
		err := tt.value.Encode(make([]byte, area))
		if !errors.As(err, &r) {
			t.Errorf("%T %s: error %v: want a RangeError", tt.value, tt.field, err)
			continue
		}
		if r.Field != tt.field || r.Max != tt.max || r.Value != tt.max+1 {
			t.Errorf("%T: error %q: want field %s, value %d, up to %d", tt.value, err, tt.field, tt.max+1, tt.max)
		}
	}
}

// FuzzDecode feeds every decoder; the first byte chooses the attribute.
func FuzzDecode(f *testing.F) {
	for i := range attributes() {
		f.Add(append([]byte{byte(i)}, bytes.Repeat([]byte{0xff}, area)...))
		f.Add([]byte{byte(i), 1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) == 0 {
			return
		}
		all := attributes()
		a := all[int(in[0])%len(all)]
		in = in[1:]
		if len(in) < a.size {
			if err := a.make().Decode(in); err == nil {
				t.Fatalf("%s decoded from %d bytes: want an error", a.name, len(in))
			}
			return
		}
		checkCodec(t, a, in)
	})
}
