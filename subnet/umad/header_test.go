package umad

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"fairlane/subnet/mad"
)

// bytesOf parses hexadecimal digits with spaces.
func bytesOf(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHeaderHasTheBytesOfTheLayout(t *testing.T) {
	t.Parallel()
	h := header{
		agent: 0x01020304, status: 110, timeoutMS: 0x05060708, retries: 3, length: 320,
		qpn: 1, qkey: qkeyGSI, lid: 0x1234, sl: 5, pathBits: 6, pkeyIndex: 0x0708,
	}
	// Agent, status, timeout, retries and length are in host byte order; QPN, Q_Key and LID are in network byte
	// order.
	wire := "00000001 80010000 1234 05 06" + strings.Repeat("00", 4+16+4)
	for _, c := range []struct {
		order binary.ByteOrder
		want  string
	}{
		{binary.LittleEndian, "04030201 6e000000 08070605 03000000 40010000" + wire + "0807 000000000000"},
		{binary.BigEndian, "01020304 0000006e 05060708 00000003 00000140" + wire + "0708 000000000000"},
	} {
		b := bytes.Repeat([]byte{0xee}, headerSize+1)
		h.encode(b, c.order)
		if want := append(bytesOf(t, c.want), 0xee); !bytes.Equal(b, want) {
			t.Errorf("%s: %x, want %x", c.order, b, want)
		}
		if back, err := decodeHeader(b, c.order); err != nil || back != h {
			t.Errorf("%s: read back %+v, error %v", c.order, back, err)
		}
	}
	if _, err := decodeHeader(make([]byte, headerSize-1), binary.LittleEndian); err == nil {
		t.Error("63 bytes were accepted as a header")
	}
}

func TestRegistrationsHaveTheBytesOfTheLayout(t *testing.T) {
	t.Parallel()
	sa := registration{class: mad.ClassSubnAdm, rmpp: 1}
	traps := registration{class: mad.ClassSubnLID, methods: [2]uint64{1 << mad.MethodTrap, 0x0102030405060708}}
	zeros := strings.Repeat("00", 16)
	for _, c := range []struct {
		name  string
		r     registration
		order binary.ByteOrder
		v1    string // id, mask, QPN, class, version, OUI, RMPP, padding
		v2    string // id, QPN, class, version, reserved, flags, mask, OUI, RMPP, reserved
	}{
		{"subnet administration", sa, binary.LittleEndian,
			"00000000" + zeros + "01 03 02 000000 01 00",
			"00000000 01000000 03 02 0000 00000000" + zeros + "00000000 01 000000"},
		{"subnet administration", sa, binary.BigEndian,
			"00000000" + zeros + "01 03 02 000000 01 00",
			"00000000 00000001 03 02 0000 00000000" + zeros + "00000000 01 000000"},
		{"traps", traps, binary.LittleEndian,
			"00000000 2000000000000000 0807060504030201 00 01 01 000000 00 00",
			"00000000 00000000 01 01 0000 00000000 2000000000000000 0807060504030201 00000000 00 000000"},
		{"traps", traps, binary.BigEndian,
			"00000000 0000000000000020 0102030405060708 00 01 01 000000 00 00",
			"00000000 00000000 01 01 0000 00000000 0000000000000020 0102030405060708 00000000 00 000000"},
	} {
		var v1 [registrationSize]byte
		var v2 [registration2Size]byte
		v1[0], v2[39] = 0xee, 0xee
		c.r.encode(&v1, c.order)
		c.r.encode2(&v2, c.order)
		if want := bytesOf(t, c.v1); !bytes.Equal(v1[:], want) {
			t.Errorf("%s, %s: first form %x, want %x", c.name, c.order, v1, want)
		}
		if want := bytesOf(t, c.v2); !bytes.Equal(v2[:], want) {
			t.Errorf("%s, %s: second form %x, want %x", c.name, c.order, v2, want)
		}
	}
}

// The numbers encode direction, length, magic and order (Linux, include/uapi/asm-generic/ioctl.h).
func TestIoctlNumbersCarryTheLengthsOfTheirArguments(t *testing.T) {
	t.Parallel()
	const in, out = 1 << 30, 2 << 30
	for _, c := range []struct{ got, direction, size, number uint32 }{
		{ioctlRegister, in | out, registrationSize, 1},
		{ioctlUnregister, in, 4, 2},
		{ioctlEnablePKey, 0, 0, 3},
		{ioctlRegister2, in | out, registration2Size, 4},
	} {
		if want := c.direction | c.size<<16 | 0x1b<<8 | c.number; c.got != want {
			t.Errorf("request %d is 0x%08x, want 0x%08x", c.number, c.got, want)
		}
	}
}

func TestAShortMessageIsPaddedWithZeros(t *testing.T) {
	t.Parallel()
	b := bytes.Repeat([]byte{1}, messageSize)
	_, p, err := decodeMessage(b, headerSize+24, binary.LittleEndian)
	if err != nil || p[23] != 1 || p[24] != 0 || p[255] != 0 {
		t.Errorf("a MAD of 24 bytes: %x, error %v", p, err)
	}
	for _, n := range []int{0, headerSize, headerSize + 23, messageSize + 1} {
		if _, _, err := decodeMessage(b, n, binary.LittleEndian); err == nil {
			t.Errorf("a message of %d bytes in a buffer of %d was accepted", n, len(b))
		}
	}
	b[headerSize] = 2
	if _, _, err := decodeMessage(b, len(b), binary.LittleEndian); err == nil || !strings.Contains(err.Error(), "base version 2") {
		t.Errorf("base version 2: error %v", err)
	}
}

func FuzzDecodeMessage(f *testing.F) {
	good := make([]byte, messageSize)
	h := header{agent: 1, length: messageSize, lid: 7}
	h.encode(good, binary.LittleEndian)
	good[headerSize] = 1
	f.Add(good, messageSize, false)
	f.Add(good, headerSize+shortestMAD, true)
	f.Add([]byte{}, 5, false)
	f.Fuzz(func(t *testing.T, in []byte, n int, big bool) {
		var order binary.ByteOrder = binary.LittleEndian
		if big {
			order = binary.BigEndian
		}
		b := make([]byte, max(len(in), messageSize)) // the size of the reader's buffer
		copy(b, in)
		was := bytes.Clone(b)
		h, p, err := decodeMessage(b, n, order)
		if err != nil {
			return
		}
		if n < headerSize+shortestMAD || n > len(b) || p.BaseVersion() != 1 {
			t.Fatalf("accepted %d bytes with base version %d", n, p.BaseVersion())
		}
		used := min(n-headerSize, mad.Size)
		if !bytes.Equal(p[:used], was[headerSize:headerSize+used]) || !bytes.Equal(p[used:], make([]byte, mad.Size-used)) {
			t.Fatalf("the MAD of %d bytes became %x", used, p)
		}
		out := make([]byte, headerSize)
		h.encode(out, order)
		if again, err := decodeHeader(out, order); err != nil || again != h {
			t.Fatalf("header %+v became %+v, error %v", h, again, err)
		}
	})
}

func FuzzSplitRecords(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), 4, 8)
	f.Add([]byte{}, 0, 0)
	f.Fuzz(func(t *testing.T, data []byte, at, size int) {
		at = max(0, min(at, len(data)))
		size = max(0, min(size, 0xffff*8))
		records, err := splitRecords(data[:at], data[at:], size)
		if size == 0 {
			if (err == nil) != (len(data) == 0) {
				t.Fatalf("%d bytes without a size: error %v", len(data), err)
			}
			return
		}
		joined := bytes.Join(records, nil)
		if err != nil || len(records) != len(data)/size || !bytes.Equal(joined, data[:len(records)*size]) {
			t.Fatalf("%d bytes in records of %d: %d records, error %v", len(data), size, len(records), err)
		}
	})
}
