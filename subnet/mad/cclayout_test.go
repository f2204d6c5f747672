package mad_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/subnet/mad"
)

// One event in the log of a channel adapter is laid out by hand in both layouts.
func TestEventsOfAdaptersInBothLayouts(t *testing.T) {
	t.Parallel()
	event := mad.CALogEvent{LocalQP: 0x010203, RemoteQP: 0x040506, SL: 7, Service: 2, RemoteLID: 0x1122, TimeStamp: 0x55667788}
	withLocal := event
	withLocal.LocalLID = 0x3344
	for _, tt := range []struct {
		name   string
		layout mad.CCLayout
		event  mad.CALogEvent
		bytes  string
	}{
		{"annex", mad.CCLayout{}, event, "010203 00 040506 72 1122 0000 55667788"},
		{"libibmad", mad.CCLayout{LibibmadLog: true}, withLocal, "010203 72 040506 00 3344 1122 55667788"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := mad.CongestionLogCA{LogType: mad.LogTypeCA, EventsCounter: 1}
			log.Events[12] = tt.event
			p := mad.NewCC(mad.MethodGetResp, mad.AttrCongestionLog, 0, 0)
			if err := tt.layout.CALog(&log).Encode(p.Data()); err != nil {
				t.Fatal(err)
			}
			want := unhex(t, tt.bytes)
			if got := p.Data()[12+12*16:][:16]; !bytes.Equal(got, want) {
				t.Errorf("encoded\n%x\nwant\n%x", got, want)
			}
			var back mad.CongestionLogCA
			back.Events[12].LocalLID = 9 // left from an earlier use
			if err := tt.layout.CALog(&back).Decode(p.Data()); err != nil || back != log {
				t.Errorf("%v\n%s", err, cmp.Diff(log, back))
			}
		})
	}
}

func TestSettingsInTheOtherLayouts(t *testing.T) {
	t.Parallel()
	l := mad.CCLayout{WidePorts: true, PackedCA: true}
	ca := mad.CACongestionSetting{PortControl: 1, ControlMap: 2}
	ca.Entries[1] = mad.CACongestionEntry{Timer: 0x0102, Increase: 3, Trigger: 4, Min: 5}
	p := mad.NewCC(mad.MethodSet, mad.AttrCACongestionSetting, 0, 0)
	if err := l.CASetting(&ca).Encode(p.Data()); err != nil {
		t.Fatal(err)
	}
	if want := unhex(t, "00010002 0000000000 0301020405 00"); !bytes.Equal(p.Data()[:15], want) || l.CASettingSize() != 84 {
		t.Errorf("entries of five bytes: %x of %d, want %x", p.Data()[:15], l.CASettingSize(), want)
	}
	ports := make([]mad.SwitchPortElement, 48)
	ports[47] = mad.SwitchPortElement{Valid: true, Threshold: 15, PacketSize: 8, MarkingRate: 100}
	p = mad.NewCC(mad.MethodSet, mad.AttrSwitchPortCongestionSetting, 0, 0)
	if err := l.SwitchPorts(ports).Encode(p.Data()); err != nil {
		t.Fatal(err)
	}
	if want := unhex(t, "8f080064"); !bytes.Equal(p.Data()[188:192], want) {
		t.Errorf("port 47 of a block of 48 at the end of the data: %x, want %x", p.Data()[188:], want)
	}
	if err := (mad.CCLayout{}).SwitchPorts(ports).Encode(p.Data()); err == nil {
		t.Error("48 elements were encoded as a block of 32")
	}
	if err := l.SwitchPorts(ports[:32]).Decode(p.Data()); err == nil {
		t.Error("a block of 48 was decoded into 32 elements")
	}
}

// An attribute that was read and is written back unchanged has the same bytes, including reserved ones; a changed field
// changes nothing else.
func TestOverlayKeepsReservedBits(t *testing.T) {
	t.Parallel()
	for _, a := range attributes() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				p := mad.NewCC(mad.MethodGetResp, mad.AttrCongestionLog, 0, 0) // the longest data area
				copy(p.Data(), rapid.SliceOfN(rapid.Byte(), area, area).Draw(t, "data"))
				before, v := p, a.make()
				if err := v.Decode(p.Data()); err != nil {
					t.Fatal(err)
				}
				if err := p.Overlay(v); err != nil || p != before {
					t.Fatalf("%v: %x became %x", err, before.Data(), p.Data())
				}
				zero := a.make() // every field zero: reserved bits are what remains
				if err := p.Overlay(zero); err != nil {
					t.Fatal(err)
				}
				mask := mad.NewCC(mad.MethodGetResp, mad.AttrCongestionLog, 0, 0)
				ones := a.make()
				if err := ones.Decode(bytes.Repeat([]byte{0xff}, area)); err != nil {
					t.Fatal(err)
				}
				if err := mask.Overlay(ones); err != nil {
					t.Fatal(err)
				}
				for i, b := range p.Data() {
					if want := before.Data()[i] &^ mask.Data()[i]; b != want {
						t.Fatalf("byte %d: 0x%02x, want the reserved bits 0x%02x", i, b, want)
					}
				}
			})
		})
	}
}

func TestRejectedOverlayChangesNothing(t *testing.T) {
	t.Parallel()
	p := mad.NewCC(mad.MethodSet, mad.AttrCongestionControlTable, 0, 0)
	copy(p.Data(), []byte{1, 2, 3, 4})
	before := p
	bad := mad.CongestionControlTable{Limit: 9}
	bad.Entries[63].Shift = 4
	var out *mad.RangeError
	if err := p.Overlay(&bad); !errors.As(err, &out) || p != before {
		t.Errorf("%v; the packet was changed: %t", err, p != before)
	}
}
