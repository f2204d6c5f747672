package ibsim

import (
	"bytes"
	"encoding/binary"
	"testing"

	"fairlane/subnet/mad"
)

func TestAShortMADIsTakenAndPaddedWithZeros(t *testing.T) {
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

// FuzzDispatch feeds a client datagrams while one request is under way: at most its own
// answer may reach it.
func FuzzDispatch(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint32(1<<indexBits))
	f.Add(bytes.Repeat([]byte{1}, datagramSize), uint32(1<<indexBits))
	f.Fuzz(func(t *testing.T, b []byte, tid uint32) {
		opts, err := Options{InFlight: 4}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(opts, nil)
		r := &c.table[int(tid)%4]
		r.expect(tid, mad.ClassPerf)
		c.dispatch(b)
		c.dispatch(b)
		select {
		case <-r.arrived:
			own := len(b) == datagramSize && r.response.Class() == mad.ClassPerf && uint32(r.response.TID()) == tid
			if !own || tid == 0 {
				t.Fatalf("request %x took %x", tid, b)
			}
		default:
		}
		st := c.Stats()
		if st.Late+st.Malformed+st.Unsolicited == 0 {
			t.Fatal("the second copy was not dropped")
		}
	})
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

func TestTransactionIDsDifferAmongPlacesAndTurns(t *testing.T) {
	t.Parallel()
	seen := map[uint32]bool{}
	for i := range uint32(MaxInFlight) {
		r := request{index: i}
		for range 50 {
			tid := r.nextTID()
			if tid == 0 || seen[tid] {
				t.Fatalf("transaction ID 0x%x is 0 or was used", tid)
			}
			seen[tid] = true
		}
	}
	r := request{turn: 1<<(32-indexBits) - 1}
	if tid := r.nextTID(); tid != 1<<indexBits {
		t.Errorf("after the last turn transaction ID 0x%x: want the first", tid)
	}
}
