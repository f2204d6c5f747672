package ibmad_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/ibmad"
	"fairlane/sim/simdev"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// A switch has more ports than one block holds, for both block sizes: every port gets its own setting.
func TestPortsBeyondTheFirstBlockInBothLayouts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		layout mad.CCLayout
		fields []string
	}{
		{mad.CCLayout{}, []string{"switch.defaults", "switch.ports[0..31]", "switch.ports[32..63]", "switch.ports[64..95]"}},
		{mad.CCLayout{WidePorts: true}, []string{"switch.defaults", "switch.ports[0..47]", "switch.ports[48..95]"}},
	} {
		t.Run(fmt.Sprint(tt.layout.PortsPerBlock()), func(t *testing.T) {
			t.Parallel()
			n, _, wire, devices := simulated(t, 70, simdev.Options{Layout: tt.layout})
			d, err := ibmad.New(wire, ibmad.Options{Layout: func(driver.Device) mad.CCLayout { return tt.layout }})
			if err != nil {
				t.Fatal(err)
			}
			at, v := n.Topology().Switches()[0], devices[0]
			want := driver.Settings{Switch: &driver.SwitchState{Ports: make([]ibcc.PortMarking, v.Ports+1)}}
			for p := range want.Switch.Ports {
				want.Switch.Ports[p] = ibcc.PortMarking{Valid: true, Threshold: uint8(p % 16), PacketSize: uint8(p), MarkingRate: uint16(1000 + p)}
			}
			r, err := d.Apply(t.Context(), v, want)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range r.Fields {
				if i >= len(tt.fields) || f.Field != tt.fields[i] {
					t.Errorf("field %d is %s, want %v", i, f.Field, tt.fields)
				}
			}
			for p, m := range want.Switch.Ports {
				if got := n.PortMarking(at, ident.PortNum(p)); got != m {
					t.Errorf("port %d has %+v, want %+v", p, got, m)
				}
			}
			if got, err := d.Read(t.Context(), v); err != nil || !got.Switch.Ports[70].Equal(want.Switch.Ports[70]) {
				t.Errorf("read back %v", err)
			}
		})
	}
}

// All combinations of the device's layout and the driver's: with equal layouts the settings read back equal. With
// different layouts an error or the read-back shows the difference, as far as any element is misplaced.
func TestWrongLayoutIsDetected(t *testing.T) {
	t.Parallel()
	annex := mad.CCLayout{}
	for _, tt := range []struct {
		other mad.CCLayout
		ports int // of the switch; 0: an adapter
		last  int // SL that is set last
		shows bool
	}{
		{mad.CCLayout{WidePorts: true}, 31, 0, false}, // one block holds all, in either layout
		{mad.CCLayout{WidePorts: true}, 32, 0, true},
		{mad.CCLayout{WidePorts: true}, 40, 0, true},
		{mad.CCLayout{WidePorts: true}, 48, 0, true},
		{mad.CCLayout{WidePorts: true}, 63, 0, true},
		{mad.CCLayout{WidePorts: true}, 64, 0, true},
		{mad.CCLayout{PackedCA: true}, 0, 9, false}, // where all entries fit into the device's shorter ones
		{mad.CCLayout{PackedCA: true}, 0, 10, true},
		{mad.CCLayout{PackedCA: true}, 0, 15, true},
	} {
		for _, c := range [][2]mad.CCLayout{{annex, annex}, {tt.other, tt.other}, {tt.other, annex}, {annex, tt.other}} {
			device, reported := c[0], c[1]
			_, _, wire, devices := simulated(t, max(tt.ports, 2), simdev.Options{Layout: device})
			d, err := ibmad.New(wire, ibmad.Options{Layout: func(driver.Device) mad.CCLayout { return reported }})
			if err != nil {
				t.Fatal(err)
			}
			v := devices[0]
			want := driver.Settings{Switch: &driver.SwitchState{Ports: make([]ibcc.PortMarking, v.Ports+1)}}
			for p := range want.Switch.Ports {
				want.Switch.Ports[p] = ibcc.PortMarking{Valid: true, Threshold: uint8(p % 16), PacketSize: uint8(p), MarkingRate: uint16(1000 + p)}
			}
			if tt.ports == 0 {
				v, want = devices[1], drivertest.Samples(devices[1], driver.Capabilities{TableEntries: 128, PerSL: true})[0]
				clear(want.CA.SLs[tt.last+1:])
			}
			_, err = d.Apply(t.Context(), v, want)
			got, readErr := d.Read(t.Context(), v)
			shown := err != nil || readErr != nil || len(want.Diff(got)) > 0
			// A device that decodes longer entries than were written misplaces even the first ones.
			shows := device != reported && (tt.shows || tt.ports == 0 && reported.PackedCA)
			if shown != shows {
				t.Errorf("device %+v, given %+v, %d ports, last SL %d: shown %t, want %t: %v, %v, %v", device, reported, tt.ports, tt.last, shown, shows, err, readErr, want.Diff(got))
			}
		}
	}
}

// memory is a transport to a device that keeps whatever bytes are written, reserved bits included.
type memory struct {
	data map[[2]uint32][192]byte
	sets int
}

func (m *memory) Exchange(_ context.Context, _ mad.Target, req *mad.Packet) (mad.Packet, error) {
	resp := *req
	at := [2]uint32{uint32(req.Attr()), req.Modifier()}
	if req.Method() == mad.MethodSet {
		m.sets++
		m.data[at] = [192]byte(req.Data())
	}
	resp.Respond(mad.StatusOK)
	have := m.data[at]
	copy(resp.Data(), have[:])
	return resp, nil
}

// Reserved bits of the attributes belong to the device: no Apply changes them.
func TestApplyKeepsReservedBits(t *testing.T) {
	t.Parallel()
	ones := [192]byte{}
	for i := range ones {
		ones[i] = 0xff
	}
	sizes := map[mad.AttrID]int{
		mad.AttrCACongestionSetting: mad.CACongestionSettingSize, mad.AttrCongestionControlTable: mad.CongestionControlTableSize,
		mad.AttrSwitchCongestionSetting: mad.SwitchCongestionSettingSize, mad.AttrSwitchPortCongestionSetting: mad.SwitchPortCongestionSettingSize,
	}
	attr := map[mad.AttrID]mad.Attribute{
		mad.AttrCACongestionSetting: new(mad.CACongestionSetting), mad.AttrCongestionControlTable: new(mad.CongestionControlTable),
		mad.AttrSwitchCongestionSetting: new(mad.SwitchCongestionSetting), mad.AttrSwitchPortCongestionSetting: new(mad.SwitchPortCongestionSetting),
	}
	reserved := map[mad.AttrID][192]byte{}
	for id, a := range attr {
		if err := a.Decode(ones[:]); err != nil {
			t.Fatal(err)
		}
		var fields [192]byte
		if err := a.Encode(fields[:]); err != nil {
			t.Fatal(err)
		}
		mask := [192]byte{}
		for i := range sizes[id] {
			mask[i] = ^fields[i]
		}
		reserved[id] = mask
	}
	rapid.Check(t, func(t *rapid.T) {
		m := &memory{data: map[[2]uint32][192]byte{}}
		for id := range attr {
			for block := range uint32(2) {
				m.data[[2]uint32{uint32(id), block}] = [192]byte(rapid.SliceOfN(rapid.Byte(), 192, 192).Draw(t, mad.AttrName(mad.ClassCongestion, id)))
			}
		}
		for block := range uint32(2) { // a table of two blocks
			at := [2]uint32{uint32(mad.AttrCongestionControlTable), block}
			b := m.data[at]
			b[0], b[1] = 0, 100
			m.data[at] = b
		}
		m.data[[2]uint32{uint32(mad.AttrCongestionInfo), 0}] = [192]byte{0, 1, 2}
		before := map[[2]uint32][192]byte{}
		for k, v := range m.data {
			before[k] = v
		}
		d, err := ibmad.New(m, ibmad.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []driver.Device{host(), leaf(40)} {
			for _, want := range drivertest.Samples(v, driver.Capabilities{TableEntries: 128, PortMarking: true, PerSL: true, PerQP: true}) {
				if _, err := d.Apply(context.Background(), v, want); err != nil {
					t.Fatal(err)
				}
			}
		}
		for k, now := range m.data {
			mask := reserved[mad.AttrID(k[0])]
			for i := range now {
				if now[i]&mask[i] != before[k][i]&mask[i] {
					t.Fatalf("%s block %d byte %d: reserved bits 0x%02x became 0x%02x",
						mad.AttrName(mad.ClassCongestion, mad.AttrID(k[0])), k[1], i, before[k][i]&mask[i], now[i]&mask[i])
				}
			}
		}
		if m.sets < 4 {
			t.Fatalf("%d writes: want some of every attribute", m.sets)
		}
	})
}

// A change of keys also preserves the reserved bits that were read.
func TestAKeyKeepsReservedBits(t *testing.T) {
	t.Parallel()
	at := [2]uint32{uint32(mad.AttrCongestionKeyInfo), 0}
	// No key, no protection, a lease of 5 s, and every reserved bit set.
	before := [192]byte{8: 0x7f, 9: 0xff, 11: 5, 13: 0}
	m := &memory{data: map[[2]uint32][192]byte{at: before}}
	d, err := ibmad.New(m, ibmad.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.ChangeKeys(t.Context(), []driver.Device{host()}, ibmad.KeyChange{
		To: newKey, Protect: true, LeaseSeconds: 600, Stored: func(context.Context) error { return nil },
	})
	if err != nil || r.Count(ibmad.KeyChanged) != 1 || m.sets != 1 {
		t.Fatalf("%d changed by %d writes: %v, %v", r.Count(ibmad.KeyChanged), m.sets, err, r.Stopped)
	}
	if got := m.data[at]; got[8] != 0xff || got[9] != 0xff || got[10] != 2 || got[11] != 0x58 {
		t.Errorf("protection, reserved bits and lease are % x, want ff ff 02 58", got[8:12])
	}
}
