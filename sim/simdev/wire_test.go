package simdev

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

func TestDatagramRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := Message{
			DLID: ident.LID(rapid.Uint16().Draw(t, "dlid")), SLID: ident.LID(rapid.Uint16().Draw(t, "slid")),
			DQP: ident.QPN(rapid.Uint32().Draw(t, "dqp")), SQP: ident.QPN(rapid.Uint32().Draw(t, "sqp")),
			Length: rapid.IntRange(1, mad.Size).Draw(t, "length"),
		}
		copy(want.MAD[:], rapid.SliceOfN(rapid.Byte(), mad.Size, mad.Size).Draw(t, "mad"))
		var b [datagramSize]byte
		encodeDatagram(b[:], &want, 0)
		var got Message
		if err := decodeDatagram(b[:], &got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// The envelope that ibccconfig 44.0 sends to LID 3 through libumad2sim. The padding is arbitrary.
func TestDatagramOfAToolDecodes(t *testing.T) {
	t.Parallel()
	envelope, err := hex.DecodeString("00030000" + "00000000" + "00000001" + "00000001" + "00000000" + "deadbeef" + "0000000000000100")
	if err != nil {
		t.Fatal(err)
	}
	var m Message
	if err := decodeDatagram(append(envelope, make([]byte, mad.Size)...), &m); err != nil {
		t.Fatal(err)
	}
	if want := (Message{DLID: 3, DQP: 1, SQP: 1, Length: mad.Size}); m != want {
		t.Errorf("got %+v, want %+v", m, want)
	}
}

func TestDatagramLengthIsBounded(t *testing.T) {
	t.Parallel()
	var b [datagramSize]byte
	for i := 24; i < 32; i++ {
		b[i] = 0xff
	}
	var m Message
	if err := decodeDatagram(b[:], &m); err != nil || m.Length != mad.Size {
		t.Errorf("length %d, error %v: want %d", m.Length, err, mad.Size)
	}
}

func TestMalformedDatagramsAreRefused(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, envelopeSize, datagramSize - 1, datagramSize + 1} {
		var m Message
		if err := decodeDatagram(make([]byte, n), &m); err == nil {
			t.Errorf("%d bytes were accepted", n)
		}
	}
}

func TestControlRoundTrip(t *testing.T) {
	t.Parallel()
	want := control{client: 7, kind: ctlConnect}
	clientInfo{id: 4711, isSM: true, node: "h1 HCA-1"}.encode(&want)
	b := want.encode()
	var got control
	if err := decodeControl(b[:], &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(control{})); diff != "" {
		t.Error(diff)
	}
	if info := decodeClientInfo(&got.data); info != (clientInfo{id: 4711, isSM: true, node: "h1 HCA-1"}) {
		t.Errorf("client info %+v", info)
	}
	// The connect request of process 4711, as a little-endian client writes it.
	if head := hex.EncodeToString(b[:20]); head != "efbeadde"+"07000000"+"01000000"+"2c000000"+"67120000" {
		t.Errorf("the encoding starts with %s", head)
	}
}

func TestLongNodeNameIsTruncatedOnTheWire(t *testing.T) {
	t.Parallel()
	var c control
	clientInfo{node: "a name of more than thirty-one bytes"}.encode(&c)
	if got := decodeClientInfo(&c.data).node; got != "a name of more than thirty-one " {
		t.Errorf("got %q", got)
	}
}

func TestMalformedControlIsRefused(t *testing.T) {
	t.Parallel()
	good := (&control{kind: ctlConnect}).encode()
	bad := good
	bad[0] ^= 1
	for _, b := range [][]byte{nil, good[:79], append(bytes.Clone(good[:]), 0), bad[:]} {
		var c control
		if err := decodeControl(b, &c); err == nil {
			t.Errorf("% x was accepted", b)
		}
	}
}

func FuzzDatagram(f *testing.F) {
	f.Add(make([]byte, datagramSize))
	f.Add(make([]byte, 5))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Message
		if decodeDatagram(b, &m) != nil {
			return
		}
		var again [datagramSize]byte
		encodeDatagram(again[:], &m, 0)
		var n Message
		if err := decodeDatagram(again[:], &n); err != nil {
			t.Fatal(err)
		}
		if m.Length == 0 {
			m.Length = mad.Size // length 0 means all bytes
		}
		if n != m {
			t.Fatalf("%+v became %+v", m, n)
		}
	})
}

func FuzzControl(f *testing.F) {
	seed := (&control{client: 1, kind: ctlSetIsSM}).encode()
	f.Add(seed[:])
	f.Fuzz(func(t *testing.T, b []byte) {
		var c control
		if decodeControl(b, &c) != nil {
			return
		}
		if again := c.encode(); !bytes.Equal(again[:], b) {
			t.Fatalf("% x became % x", b, again)
		}
		if info := decodeClientInfo(&c.data); len(info.node) > nodeIDSize {
			t.Fatalf("node name of %d bytes", len(info.node))
		}
	})
}
