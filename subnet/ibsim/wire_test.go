package ibsim

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"fairlane/subnet/mad"
	"fairlane/subnet/madlink"
)

func TestShortMADIsPaddedWithZeros(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		length uint64
		ok     bool
	}{{0, false}, {shortestMAD - 1, false}, {shortestMAD, true}, {120, true}, {mad.Size, true}, {mad.Size + 1, false}, {1 << 63, false}} {
		b := bytes.Repeat([]byte{0xaa}, datagramSize)
		(&envelope{dlid: 3}).encode((*[datagramSize]byte)(b))
		binary.BigEndian.PutUint64(b[24:], c.length)
		b[envelopeSize] = mad.BaseVersion
		_, p, err := decodeDatagram(b)
		if (err == nil) != c.ok {
			t.Errorf("MAD of %d bytes: error %v", c.length, err)
		}
		if err != nil {
			continue
		}
		for i, v := range p {
			if uint64(i) >= c.length && v != 0 {
				t.Fatalf("MAD of %d bytes: byte %d is %#x, want 0", c.length, i, v)
			}
		}
		if c.length > 1 && p[c.length-1] != 0xaa {
			t.Errorf("MAD of %d bytes: its last byte was lost", c.length)
		}
	}
}

func FuzzDecodeDatagram(f *testing.F) {
	var good [datagramSize]byte
	e := envelope{dlid: 3, slid: 4, dqp: 1, sqp: 1}
	e.encode(&good)
	good[envelopeSize] = 1
	f.Add(good[:])
	f.Add(good[:100])
	f.Add(bytes.Repeat([]byte{0xff}, datagramSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, p, err := decodeDatagram(b)
		if err != nil {
			return
		}
		if len(b) != datagramSize || p.BaseVersion() != mad.BaseVersion {
			t.Fatalf("accepted %d bytes with base version %d", len(b), p.BaseVersion())
		}
		var out [datagramSize]byte
		copy(out[envelopeSize:], p[:])
		e.encode(&out)
		again, _, err := decodeDatagram(out[:])
		if err != nil || again != e {
			t.Fatalf("envelope %+v became %+v, error %v", e, again, err)
		}
	})
}

// duplicateWire is a wire that delivers another datagram twice before the answer.
type duplicateWire struct {
	wire
	c     *Client
	other []byte
	flip  uint32 // difference of the other datagram's transaction ID from the request's
	took  bool   // the other datagram is a valid answer
}

func (w *duplicateWire) Send(d []byte, _ time.Duration) error {
	tid := uint32((*mad.Packet)(d[envelopeSize:]).TID())
	if len(w.other) == datagramSize {
		binary.BigEndian.PutUint32(w.other[envelopeSize+12:], tid^w.flip)
	}
	e, p, err := decodeDatagram(bytes.Clone(w.other))
	w.took = err == nil && p.Class() == mad.ClassPerf && (p.IsResponse() || e.status != 0) &&
		uint32(p.TID()) == tid
	w.c.dispatch(bytes.Clone(w.other))
	w.c.dispatch(bytes.Clone(w.other))
	answer := bytes.Clone(d)
	(*mad.Packet)(answer[envelopeSize:]).Respond(mad.StatusOK)
	w.c.dispatch(answer)
	return nil
}

// FuzzDispatch feeds a client datagrams while one request is in flight: at most its own answer may reach it.
func FuzzDispatch(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint32(0))
	f.Add(bytes.Repeat([]byte{1}, datagramSize), uint32(1))
	var good [datagramSize]byte
	e := envelope{dlid: 9, dqp: 1, sqp: 1}
	e.encode(&good)
	reply := mad.NewPerf(mad.MethodGetResp, mad.AttrPortCounters, 77)
	copy(good[envelopeSize:], reply[:])
	f.Add(good[:], uint32(0))
	f.Add(good[:], uint32(1<<10))
	f.Fuzz(func(t *testing.T, b []byte, flip uint32) {
		o, err := madlink.Options{InFlight: 4}.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		w := &duplicateWire{other: bytes.Clone(b), flip: flip}
		w.c = &Client{link: madlink.New(o, envelopeSize, w)}
		req := mad.NewPerf(mad.MethodGet, mad.AttrPortCounters, 5)
		resp, err := w.c.link.Exchange(t.Context(), mad.Target{LID: 9}, &req)
		switch {
		case !w.took && (err != nil || resp.Modifier() != 5 || resp.Method() != mad.MethodGetResp):
			t.Fatalf("got %s, error %v, for %x", &resp, err, b)
		case w.took && err == nil && !bytes.Equal(resp[:], w.mad()):
			t.Fatalf("got %s: want the first answer, of %x", &resp, b)
		}
		st := w.c.link.Stats()
		if st.Late+st.Malformed+st.Unsolicited != 2 || st.Received != 3 {
			t.Fatalf("%+v: want three datagrams received, two of them dropped", st)
		}
	})
}

// mad returns the other datagram's MAD as the client decodes it.
func (w *duplicateWire) mad() []byte {
	_, p, err := decodeDatagram(bytes.Clone(w.other))
	if err != nil {
		return nil
	}
	return p[:]
}

func FuzzDecodeControl(f *testing.F) {
	var good [controlSize]byte
	m := control{client: 5, kind: controlGetPKeys}
	m.encode(&good, 0)
	f.Add(good[:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeControl(b)
		if err != nil {
			return
		}
		var out [controlSize]byte
		m.encode(&out, 0)
		if again, err := decodeControl(out[:]); err != nil || again != m {
			t.Fatalf("message %+v became %+v, error %v", m, again, err)
		}
	})
}
