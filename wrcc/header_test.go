package wrcc_test

import (
	"bytes"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

func TestHeaderBytes(t *testing.T) {
	t.Parallel()
	h := wrcc.Header{Domain: 0x0102, FBDP: 1, FairRate: 100_000, RTT: 12}
	want := []byte{1, 2, 0, 1, 0, 1, 0x86, 0xa0, 0, 0, 0, 12}
	if got := h.AppendTo([]byte{9}); !bytes.Equal(got[1:], want) || got[0] != 9 {
		t.Errorf("header % x, want % x", got[1:], want)
	}
	f := wrcc.FCNP{Domain: 0x0102, PSN: 0xabcdef, FairRate: 100_000}
	want = []byte{1, 2, 0xff, 0xff, 0, 1, 0x86, 0xa0, 0, 0xab, 0xcd, 0xef}
	if got, err := f.AppendTo(nil); err != nil || !bytes.Equal(got, want) {
		t.Errorf("FCNP % x (%v), want % x", got, err, want)
	}
}

func TestBurstMark(t *testing.T) {
	t.Parallel()
	for fbdp, want := range map[uint16]bool{0: false, 1: true, 2: true, 0xffff: false} {
		if got := (wrcc.Header{FBDP: fbdp}).Burst(); got != want {
			t.Errorf("FBDP %d: burst %v, want %v", fbdp, got, want)
		}
	}
}

func TestDecodersRefuse(t *testing.T) {
	t.Parallel()
	fcnp := []byte{1, 2, 0xff, 0xff, 0, 1, 0x86, 0xa0, 0, 0xab, 0xcd, 0xef}
	_, short := wrcc.DecodeHeader(fcnp[:11])
	_, other := wrcc.DecodeHeader(fcnp)
	_, shortF := wrcc.DecodeFCNP(fcnp[:11])
	_, data := wrcc.DecodeFCNP(make([]byte, 12))
	fcnp[8] = 1
	_, reserved := wrcc.DecodeFCNP(fcnp)
	_, wide := wrcc.FCNP{PSN: 1 << 24}.AppendTo(nil)
	for want, err := range map[string]error{
		"header of 11 bytes: want at least 12": short, "that is an FCNP": other, "FCNP of 11 bytes: want at least 12": shortF,
		"FCNP with FBDP 0x0: want 0xffff": data, "reserved byte 0x1: want 0": reserved, "PSN 16777216: want at most 16777215": wide,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func FuzzDecodeHeader(f *testing.F) {
	f.Add([]byte{1, 2, 0, 1, 0, 1, 0x86, 0xa0, 0, 0, 0, 12})
	f.Add([]byte{1, 2, 0xff, 0xff, 0, 1, 0x86, 0xa0, 0, 0xab, 0xcd, 0xef, 5})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, errH := wrcc.DecodeHeader(b)
		n, errF := wrcc.DecodeFCNP(b)
		if errH == nil && errF == nil {
			t.Fatal("both a header and an FCNP")
		}
		if errH == nil {
			if got := h.AppendTo(nil); !bytes.Equal(got, b[:wrcc.HeaderSize]) {
				t.Fatalf("% x was read back as % x", b, got)
			}
		}
		if errF == nil {
			if got, err := n.AppendTo(nil); err != nil || !bytes.Equal(got, b[:wrcc.FCNPSize]) {
				t.Fatalf("% x was read back as % x, %v", b, got, err)
			}
		}
		if len(b) >= wrcc.HeaderSize && errH != nil && errF != nil && b[8] == 0 {
			t.Fatalf("neither: %v, %v", errH, errF)
		}
	})
}

func TestGatePassesOneFCNPPerPeriod(t *testing.T) {
	t.Parallel()
	g, err := wrcc.NewGate(24*us, 16)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		flow uint32
		at   quantity.Picoseconds
		want bool
	}{
		{3, 0, true}, {3, 1, false}, {4, 1, true}, {3, 24*us - 1, false}, {3, 24 * us, true}, {3, 47 * us, false},
		{19, 47 * us, true}, // same row as flow 3
		{3, 47 * us, true},
	} {
		if got := g.Allow(c.flow, c.at); got != c.want {
			t.Errorf("step %d: flow %d at %s: %v", i, c.flow, c.at, got)
		}
	}
}

func TestGateRejectsInvalidSizes(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, -4, 3, 1 << 21} {
		if _, err := wrcc.NewGate(24*us, rows); err == nil || !strings.Contains(err.Error(), "power of two") {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
	if _, err := wrcc.NewGate(0, 16); err == nil || !strings.Contains(err.Error(), "WRCCT 0 ps") {
		t.Errorf("no period: %v", err)
	}
}
