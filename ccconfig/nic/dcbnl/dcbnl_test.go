package dcbnl

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// unhex reads hexadecimal digits with blanks anywhere.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func little() Codec { return Codec{binary.LittleEndian} }

// sampleETS has a different number in each field, so that exchanged fields are detected.
func sampleETS() *ETS {
	return &ETS{Willing: true, Cap: 8, TxBW: [8]uint8{1, 2, 3, 4, 5, 6, 7, 72}, RxBW: [8]uint8{11, 12, 13, 14, 15, 16, 17, 2},
		TSA: [8]uint8{2, 2, 2, 2, 0, 0, 1, 255}, PrioTC: [8]uint8{1, 0, 2, 3, 4, 5, 6, 7}, RecoBW: [8]uint8{21, 22, 23, 24, 4, 3, 2, 1},
		RecoTSA: [8]uint8{255, 1, 0, 0, 2, 2, 2, 2}, RecoPrioTC: [8]uint8{7, 6, 5, 4, 3, 2, 1, 0}}
}

func samplePFC() *PFC {
	return &PFC{Cap: 8, Enabled: 0x08, MBC: true, Delay: 0x0164, Requests: [8]uint64{0, 1, 2, 0x0102030405060708},
		Indications: [8]uint64{9, 10, 11, 12, 13, 14, 15, 16}}
}

func sampleBuffer() *Buffer {
	return &Buffer{PrioBuffer: [8]uint8{0, 0, 0, 1, 0, 0, 2, 7}, Size: [8]uint32{0x5000, 0xa000, 0x00010203}, Total: 0x00040000}
}

// Bytes written by hand from the layout, object by object, in both byte orders.
func TestObjectsHaveTheBytesOfTheLayout(t *testing.T) {
	t.Parallel()
	const ets = `01 08 00  0102030405060748  0b0c0d0e0f101102  02020202000001ff  0100020304050607
		1516171804030201  ff01000002020202  0706050403020100`
	for _, c := range []struct {
		title       string
		ieee        IEEE
		little, big string // of the attribute within the nest
	}{
		{"ETS", IEEE{ETS: sampleETS()}, "3f00 0100" + ets + "00", "003f 0001" + ets + "00"},
		{"PFC", IEEE{PFC: samplePFC()},
			`8c00 0200 08 08 01 00 6401 0000 0000000000000000 0100000000000000 0200000000000000 0807060504030201
			 0000000000000000 0000000000000000 0000000000000000 0000000000000000
			 0900000000000000 0a00000000000000 0b00000000000000 0c00000000000000 0d00000000000000 0e00000000000000 0f00000000000000 1000000000000000`,
			`008c 0002 08 08 01 00 0164 0000 0000000000000000 0000000000000001 0000000000000002 0102030405060708
			 0000000000000000 0000000000000000 0000000000000000 0000000000000000
			 0000000000000009 000000000000000a 000000000000000b 000000000000000c 000000000000000d 000000000000000e 000000000000000f 0000000000000010`},
		{"APP", IEEE{Apps: []App{{SelectorDSCP, 3, 26}, {SelectorEtherType, 2, 0x8915}, {SelectorPCP, 4, 5}}},
			"1c00 0380  0800 0100 05 03 1a00  0800 0100 01 02 1589  0800 0200 ff 04 0500",
			"001c 8003  0008 0001 05 03 001a  0008 0001 01 02 8915  0008 0002 ff 04 0005"},
		{"MAXRATE", IEEE{MaxRate: &[8]uint64{10_000_000, 0, 0, 25_000_000, 0, 0, 0, 1 << 40}},
			"4400 0700 8096980000000000 0000000000000000 0000000000000000 40787d0100000000 0000000000000000 0000000000000000 0000000000000000 0000000000010000",
			"0044 0007 0000000000989680 0000000000000000 0000000000000000 00000000017d7840 0000000000000000 0000000000000000 0000000000000000 0000010000000000"},
		{"BUFFER", IEEE{Buffer: sampleBuffer()},
			"3000 0a00 0000000100000207 00500000 00a00000 03020100 00000000 00000000 00000000 00000000 00000000 00000400",
			"0030 000a 0000000100000207 00005000 0000a000 00010203 00000000 00000000 00000000 00000000 00000000 00040000"},
	} {
		for _, o := range []struct {
			codec Codec
			nest  string
		}{{little(), c.little}, {Codec{binary.BigEndian}, c.big}} {
			m := Set("eth0", 7, &c.ieee)
			b, err := o.codec.Encode(&m)
			if err != nil {
				t.Fatal(err)
			}
			const before = sizeHeader + sizeCommand + 12 + sizeAttr // header, command, name, head of the nest
			if d := cmp.Diff(hex.EncodeToString(unhex(t, o.nest)), hex.EncodeToString(b[before:])); d != "" {
				t.Errorf("%s in %s: %s", c.title, o.codec.Order, d)
			}
			back, err := o.codec.Decode(b)
			if err != nil {
				t.Fatalf("%s: %v", c.title, err)
			}
			if d := cmp.Diff(&m, back); d != "" {
				t.Errorf("%s in %s: %s", c.title, o.codec.Order, d)
			}
		}
	}
}

// The requests were recorded from dcb of iproute2 6.1 on x86, except for the padding after names, which dcb does not
// initialise.
func TestRequestsEqualThoseOfTheDCBTool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title   string
		request Message
		want    string
	}{
		{"show", Get("lo", 0x6b01ba94), `1c000000 4e00 0500 94ba016b 00000000 00 15 0000 0700 0100 6c6f00 00`},
		{"ets set willing off, tc-tsa, tc-bw, prio-tc", Set("lo", 0x6b01ba94, &IEEE{ETS: &ETS{Cap: 8, TxBW: [8]uint8{10, 20, 0, 70},
			TSA: [8]uint8{2, 2, 0, 2}, PrioTC: [8]uint8{1, 0, 2, 3, 4, 5, 6, 7}, RecoBW: [8]uint8{10, 20, 0, 70},
			RecoTSA: [8]uint8{2, 2, 2, 2, 0, 0, 0, 255}, RecoPrioTC: [8]uint8{1, 0, 2, 3, 4, 5, 6, 7}}}),
			`60000000 4f00 0500 94ba016b 00000000 00 14 0000 0700 0100 6c6f00 00 4400 0d80 3f00 0100 000800
			 0a14004600000000 0000000000000000 0202000200000000 0100020304050607 0a14004600000000 02020202000000ff 0100020304050607 00`},
		{"pfc set prio-pfc 3:on delay 100", Set("lo", 0x6b01ba94, &IEEE{PFC: &PFC{Cap: 8, Enabled: 8, MBC: true, Delay: 100,
			Requests: [8]uint64{0, 1, 2, 3, 4, 5, 6, 7}, Indications: [8]uint64{10, 11, 12, 13, 14, 15, 16, 17}}}),
			`ac000000 4f00 0500 94ba016b 00000000 00 14 0000 0700 0100 6c6f00 00 9000 0d80 8c00 0200 08080100 64000000
			 0000000000000000 0100000000000000 0200000000000000 0300000000000000 0400000000000000 0500000000000000 0600000000000000 0700000000000000
			 0a00000000000000 0b00000000000000 0c00000000000000 0d00000000000000 0e00000000000000 0f00000000000000 1000000000000000 1100000000000000`},
		{"app add dscp-prio 26:3 48:6", Set("lo", 0x6b01ba94, &IEEE{Apps: []App{{SelectorDSCP, 3, 26}, {SelectorDSCP, 6, 48}}}),
			`34000000 4f00 0500 94ba016b 00000000 00 14 0000 0700 0100 6c6f00 00 1800 0d80 1400 0380 0800 0100 05031a00 0800 0100 05063000`},
		{"app del dscp-prio 48:6", Delete("lo", 0x6b01ba94, []App{{SelectorDSCP, 6, 48}}),
			`2c000000 4f00 0500 94ba016b 00000000 00 1b 0000 0700 0100 6c6f00 00 1000 0d80 0c00 0380 0800 0100 05063000`},
		{"maxrate set", Set("lo", 0x6b01ba94, &IEEE{MaxRate: &[8]uint64{1_250_000_000, 0, 0, 3_125_000_000}}),
			`64000000 4f00 0500 94ba016b 00000000 00 14 0000 0700 0100 6c6f00 00 4800 0d80 4400 0700
			 807c814a00000000 0000000000000000 0000000000000000 40b743ba00000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000`},
		{"buffer set prio-buffer 3:1 buffer-size 0:20480 1:40960", Set("lo", 0x6b01ba94, &IEEE{Buffer: &Buffer{
			PrioBuffer: [8]uint8{0, 0, 0, 1}, Size: [8]uint32{20480, 40960}, Total: 262144}}),
			`50000000 4f00 0500 94ba016b 00000000 00 14 0000 0700 0100 6c6f00 00 3400 0d80 3000 0a00 0000000100000000
			 00500000 00a00000 00000000 00000000 00000000 00000000 00000000 00000000 00000400`},
		{"dcbx set host ieee", Message{Type: TypeSet, Flags: FlagRequest | FlagAck, Sequence: 0x6b01ba94, Command: CommandSetDCBX, Interface: "lo", DCBX: new(uint8(DCBXHost | DCBXIEEE))},
			`24000000 4f00 0500 94ba016b 00000000 00 17 0000 0700 0100 6c6f00 00 0500 0e00 09 000000`},
	} {
		b, err := little().Encode(&c.request)
		if err != nil {
			t.Fatalf("%s: %v", c.title, err)
		}
		if d := cmp.Diff(hex.EncodeToString(unhex(t, c.want)), hex.EncodeToString(b)); d != "" {
			t.Errorf("%s: %s", c.title, d)
		}
		back, err := little().Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", c.title, err)
		}
		if d := cmp.Diff(&c.request, back); d != "" {
			t.Errorf("%s: %s", c.title, d)
		}
	}
}

// The replies contain elements that this package never sends: no nested mark, padding that is not 0, peers, new
// attributes.
func TestRepliesOfKernels(t *testing.T) {
	t.Parallel()
	get := unhex(t, `44000000 4e00 0000 01000000 09000000 00 15 0000  0800 0100 6c6f00 aa
		2000 0d00  0800 0b00 01020304  0600 0400 0102 bbbb  0c00 0300 0800 0100 05031a00
		0800 6300 01020304`)
	m, err := little().Decode(get)
	if err != nil {
		t.Fatal(err)
	}
	want := &Message{Type: TypeGet, Sequence: 1, Port: 9, Command: CommandIEEEGet, Interface: "lo", IEEE: &IEEE{Apps: []App{{SelectorDSCP, 3, 26}}}}
	if d := cmp.Diff(want, m); d != "" {
		t.Error(d)
	}
	for _, c := range []struct {
		title, bytes string
		want         *Message
	}{
		{"status of a set", `1c000000 4f00 0000 01000000 09000000 00 14 0000 0500 0d00 00 000000`,
			&Message{Type: TypeSet, Sequence: 1, Port: 9, Command: CommandIEEESet, Status: new(uint8(0))}},
		{"status of a delete", `1c000000 4f00 0000 01000000 09000000 00 1b 0000 0500 0d00 ea 000000`,
			&Message{Type: TypeSet, Sequence: 1, Port: 9, Command: CommandIEEEDel, Status: new(uint8(0xea))}},
		{"status of a mode", `1c000000 4f00 0000 01000000 09000000 00 17 0000 0500 0e00 01 000000`,
			&Message{Type: TypeSet, Sequence: 1, Port: 9, Command: CommandSetDCBX, Status: new(uint8(1))}},
		{"mode", `1c000000 4e00 0000 01000000 09000000 00 16 0000 0500 0e00 09 000000`,
			&Message{Type: TypeGet, Sequence: 1, Port: 9, Command: CommandGetDCBX, DCBX: new(uint8(9))}},
		{"acknowledgement", `24000000 0200 0001 01000000 09000000 00000000 1c000000 4f000500 01000000 00000000`,
			&Message{Type: TypeError, Flags: 0x100, Sequence: 1, Port: 9, Ack: true}},
	} {
		m, err := little().Decode(unhex(t, c.bytes))
		if err != nil {
			t.Fatalf("%s: %v", c.title, err)
		}
		if d := cmp.Diff(c.want, m); d != "" {
			t.Errorf("%s: %s", c.title, d)
		}
	}
	_, err = little().Decode(unhex(t, `24000000 0200 0000 05000000 09000000 a1ffffff 1c000000 4f000500 05000000 00000000`))
	var refused *KernelError
	if !errors.As(err, &refused) || refused.Errno != 95 || refused.Sequence != 5 || !strings.Contains(err.Error(), "95") {
		t.Errorf("refusal: %v", err)
	}
}

func TestSplitSeparatesMessages(t *testing.T) {
	t.Parallel()
	a, b := Get("lo", 1), Get("ethernet15bytes", 2)
	var all []byte
	for _, m := range []*Message{&a, &b} {
		e, err := little().Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e...)
	}
	parts, err := little().Split(all)
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d parts, error %v", len(parts), err)
	}
	for i, p := range parts {
		m, err := little().Decode(p)
		if err != nil || m.Sequence != uint32(i+1) {
			t.Errorf("part %d: %+v, error %v", i, m, err)
		}
	}
	if _, err := little().Split(all[:len(all)-1]); err == nil {
		t.Error("a truncated message was split")
	}
	if parts, err := little().Split(nil); err != nil || len(parts) != 0 {
		t.Errorf("nothing: %v, error %v", parts, err)
	}
}

func TestDecodeRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	const head = `00000000 4e00 0000 01000000 09000000 00 15 0000`
	for _, c := range []struct{ title, bytes, want string }{
		{"empty", ``, "at least 16"},
		{"short header", `10000000 4e00`, "at least 16"},
		{"length below header", `0f000000 4e00 0000 01000000 09000000`, "message length: found 15"},
		{"length beyond bytes", `ff000000 4e00 0000 01000000 09000000`, "message length: found 255"},
		{"no command", `10000000 4e00 0000 01000000 09000000`, "at least 20"},
		{"type", `14000000 5000 0000 01000000 09000000 00150000`, "type: found 80"},
		{"attribute cut", head + `0400`, "after the last attribute"},
		{"attribute of length 0", head + `0000 0100`, "length 0"},
		{"attribute beyond", head + `0900 0100 6c6f0000`, "length 9"},
		{"name without end", head + `0800 0100 6c6f6c6f`, "interface"},
		{"name too long", head + `1500 0100 61616161 61616161 61616161 61616161 00 000000`, "interface"},
		{"two names", head + `0800 0100 6c6f0000 0800 0100 6c6f0000`, "found two of them"},
		{"mode of 2 bytes", head + `0600 0e00 0101 0000`, "DCBX: found 2 bytes, want 1"},
		{"ETS of 4 bytes", head + `0c00 0d00 0800 0100 00000000`, "ETS: found 4 bytes, want 59"},
		{"PFC of 4 bytes", head + `0c00 0d00 0800 0200 00000000`, "PFC: found 4 bytes, want 136"},
		{"MAXRATE of 4 bytes", head + `0c00 0d00 0800 0700 00000000`, "MAXRATE: found 4 bytes, want 64"},
		{"BUFFER of 4 bytes", head + `0c00 0d00 0800 0a00 00000000`, "BUFFER: found 4 bytes, want 44"},
		{"entry of 3 bytes", head + `1000 0d00 0c00 0300 0700 0100 050300 00`, "entry: found 3 bytes, want 4"},
		{"entry in the wrong attribute", head + `1000 0d00 0c00 0300 0800 0200 05031a00`, "selector 5 in attribute 2"},
		{"status of no bytes", `18000000 4f00 0000 01000000 09000000 00 14 0000 0400 0d00`, "status: found 0 bytes"},
	} {
		b := unhex(t, c.bytes)
		if len(b) >= 4 && binary.LittleEndian.Uint32(b) == 0 {
			binary.LittleEndian.PutUint32(b, uint32(len(b)))
		}
		m, err := little().Decode(b)
		var fe *FormatError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, error %v, want %q", c.title, m, err, c.want)
		}
	}
}

func TestEncodeRejectsUnrepresentableValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title string
		m     Message
	}{
		{"type", Message{Type: 16}},
		{"long name", Get("sixteen-bytes-ab", 1)},
		{"name with a 0", Get("a\x00b", 1)},
		{"too many entries", Set("lo", 1, &IEEE{Apps: make([]App, MaxApps+1)})},
		{"status of a request", Message{Type: TypeSet, Flags: FlagRequest, Command: CommandIEEESet, Status: new(uint8(0))}},
		{"status of a get", Message{Type: TypeGet, Command: CommandIEEEGet, Status: new(uint8(0))}},
		{"objects in a reply to a set", Message{Type: TypeSet, Command: CommandIEEESet, IEEE: &IEEE{}}},
		{"mode in a reply to a set", Message{Type: TypeSet, Command: CommandSetDCBX, DCBX: new(uint8(0))}},
		{"acknowledgement with a name", Message{Type: TypeError, Ack: true, Interface: "lo"}},
		{"acknowledgement of another type", Message{Type: TypeSet, Ack: true}},
	} {
		var fe *FormatError
		if b, err := little().Encode(&c.m); !errors.As(err, &fe) {
			t.Errorf("%s: %x, error %v", c.title, b, err)
		}
	}
	most := Set("lo", 1, &IEEE{Apps: make([]App, MaxApps)})
	b, err := little().Encode(&most)
	if err != nil {
		t.Fatal(err)
	}
	back, err := little().Decode(b)
	if err != nil || len(back.IEEE.Apps) != MaxApps {
		t.Fatalf("%d entries survived, error %v", MaxApps, err)
	}
}

func bytes8(t *rapid.T, label string) (out [8]uint8) {
	copy(out[:], rapid.SliceOfN(rapid.Uint8(), 8, 8).Draw(t, label))
	return out
}

func drawIEEE(t *rapid.T) *IEEE {
	o := &IEEE{}
	if rapid.Bool().Draw(t, "ets") {
		o.ETS = &ETS{Willing: rapid.Bool().Draw(t, "willing"), Cap: rapid.Uint8().Draw(t, "cap"), CBS: rapid.Bool().Draw(t, "cbs")}
		for _, row := range o.ETS.rows() {
			*row = bytes8(t, "row")
		}
	}
	if rapid.Bool().Draw(t, "pfc") {
		o.PFC = &PFC{Enabled: rapid.Uint8().Draw(t, "enabled"), MBC: rapid.Bool().Draw(t, "mbc"), Delay: rapid.Uint16().Draw(t, "delay")}
		for i := range 8 {
			o.PFC.Requests[i], o.PFC.Indications[i] = rapid.Uint64().Draw(t, "requests"), rapid.Uint64().Draw(t, "indications")
		}
	}
	for range rapid.IntRange(0, 5).Draw(t, "apps") {
		o.Apps = append(o.Apps, App{rapid.Uint8().Draw(t, "selector"), rapid.Uint8().Draw(t, "priority"), rapid.Uint16().Draw(t, "protocol")})
	}
	if rapid.Bool().Draw(t, "maxrate") {
		o.MaxRate = &[8]uint64{}
		for i := range o.MaxRate {
			o.MaxRate[i] = rapid.Uint64().Draw(t, "rate")
		}
	}
	if rapid.Bool().Draw(t, "buffer") {
		o.Buffer = &Buffer{PrioBuffer: bytes8(t, "buffers"), Total: rapid.Uint32().Draw(t, "total")}
		for i := range o.Buffer.Size {
			o.Buffer.Size[i] = rapid.Uint32().Draw(t, "size")
		}
	}
	return o
}

func TestEncodeDecodeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		codec := Codec{rapid.SampledFrom([]binary.ByteOrder{binary.LittleEndian, binary.BigEndian}).Draw(t, "order")}
		m := Set(rapid.StringMatching(`[a-z0-9]{1,15}`).Draw(t, "name"), rapid.Uint32().Draw(t, "sequence"), drawIEEE(t))
		b, err := codec.Encode(&m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&m, back); d != "" {
			t.Fatal(d)
		}
	})
}

// Any bytes are either rejected or decode to a message that is equal after encoding and decoding.
func FuzzDecode(f *testing.F) {
	m := Set("eth0", 7, &IEEE{ETS: sampleETS(), PFC: samplePFC(), Apps: []App{{5, 3, 26}, {255, 1, 2}}, MaxRate: &[8]uint64{1}, Buffer: sampleBuffer()})
	b, err := little().Encode(&m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(unhex(f, `1c000000 4f00 0000 01000000 09000000 00 14 0000 0500 0d00 00 000000`))
	f.Add(unhex(f, `24000000 0200 0000 05000000 09000000 a1ffffff 1c000000 4f000500 05000000 00000000`))
	f.Add(unhex(f, `24000000 0200 0001 01000000 09000000 00000000 1c000000 4f000500 01000000 00000000`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if parts, err := little().Split(in); err == nil {
			for _, p := range parts {
				_, _ = little().Decode(p)
			}
		}
		m, err := little().Decode(in)
		if err != nil {
			return
		}
		out, err := little().Encode(m)
		if err != nil {
			t.Fatalf("%+v decoded but not encoded: %v", m, err)
		}
		back, err := little().Decode(out)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, back); d != "" {
			t.Fatal(d)
		}
	})
}
