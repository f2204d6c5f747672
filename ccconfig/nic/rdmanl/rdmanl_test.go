package rdmanl

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// attr is an attribute with its padding.
func attr(typ uint16, payload ...[]byte) []byte {
	p := bytes.Join(payload, nil)
	b := binary.LittleEndian.AppendUint16(nil, uint16(sizeAttr+len(p)))
	b = append(binary.LittleEndian.AppendUint16(b, typ), p...)
	return append(b, make([]byte, align(len(b))-len(b))...)
}

func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

// message returns a message of the kernel with sequence number 7.
func message(typ uint16, flags uint16, attrs ...[]byte) []byte {
	p := bytes.Join(attrs, nil)
	b := binary.LittleEndian.AppendUint32(nil, uint32(sizeHeader+len(p)))
	b = binary.LittleEndian.AppendUint16(b, typ)
	b = binary.LittleEndian.AppendUint16(b, flags)
	return append(append(append(b, u32(7)...), u32(99)...), p...)
}

const statReply = 5<<10 | 17

func set(attrs ...[]byte) []byte {
	return message(statReply, 2, attr(1, u32(4)), attr(77, attr(78, attrs...)))
}

func TestQuestionsByteForByte(t *testing.T) {
	t.Parallel()
	for want, got := range map[string][]byte{
		// length 16, RDMA_NL_GET_TYPE(5, 1) = 0x1401, NLM_F_REQUEST | NLM_F_DUMP, sequence 7, port 0
		`10000000 0114 0103 07000000 00000000`: little().Devices(7),
		// the same with 0x1411; DEV_INDEX 4, PORT_INDEX 1, STAT_RES 19
		`28000000 1114 0103 07000000 00000000  0800 0100 04000000  0800 0300 01000000  0800 4b00 13000000`: little().CounterSets(7, 4, 1),
	} {
		if d := cmp.Diff(unhex(t, want), got); d != "" {
			t.Errorf("%s:\n%s", want, d)
		}
	}
	if got := (Codec{binary.BigEndian}).CounterSets(7, 4, 1); !bytes.Equal(got, unhex(t, `00000028 1411 0301 00000007 00000000  0008 0001 00000004  0008 0003 00000001  0008 004b 00000013`)) {
		t.Errorf("%x", got)
	}
}

// twoSets is a reply in the kernel's form: a device, a set of a process with two queue pairs, a set of the kernel
// that a user bound, and the end.
const twoSets = `
	b4000000 1114 0200 07000000 63000000
	0800 0100 04000000                           DEV_INDEX 4
	0b00 0200 6d6c78355f30 00 00                 DEV_NAME mlx5_0
	9000 4d00                                    STAT_COUNTER
	 8c00 4e00                                   STAT_COUNTER_ENTRY
	  0800 0300 01000000                         PORT_INDEX 1
	  0800 4f00 03000000                         COUNTER_ID 3
	  0800 4a00 01000000                         MODE auto
	  0800 1c00 67120000                         PID 4711
	  1c00 1380                                  RES_QP, nested
	   0c00 1480 0800 1500 11000000              RES_LQPN 17
	   0c00 1480 0800 1500 00286bee              RES_LQPN 4000000000
	  4c00 5080                                  HWCOUNTERS
	   2800 5180                                 ENTRY
	    1200 5200 72646d615f74785f6279746573 00 0000   rdma_tx_bytes
	    0400 0000                                PAD
	    0c00 5300 0000000000010000               2^40
	   2000 5180
	    0f00 5200 6c6966657370616e5f78 00 00     lifespan_x
	    0c00 5300 ffffffffffffffff
	14000000 0300 0200 07000000 63000000 00000000`

// digits removes the comments from a dump.
func digits(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		for _, w := range strings.Fields(line) {
			if _, err := hex.DecodeString(w); err != nil {
				break
			}
			b.WriteString(w)
		}
	}
	return b.String()
}

func TestResponseBytes(t *testing.T) {
	t.Parallel()
	var got Reply
	if err := little().Add(&got, unhex(t, digits(twoSets)), 7); err != nil {
		t.Fatal(err)
	}
	want := Reply{Done: true, Sets: []CounterSet{{
		ID: 3, Port: 1, Mode: ModeAuto, PID: 4711, QPs: []uint32{17, 4000000000}, QPCount: 2,
		Counters: []Counter{{"rdma_tx_bytes", new(uint64(1 << 40))}, {"lifespan_x", new(uint64(1<<64 - 1))}},
	}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestResponseInSeveralDatagrams(t *testing.T) {
	t.Parallel()
	var got Reply
	id := func(v uint32) []byte { return attr(79, u32(v)) }
	for _, b := range [][]byte{
		message(5<<10|1, 2, attr(1, u32(4)), attr(2, []byte("mlx5_0\x00"))),
		set(id(3), attr(74, u32(1)), attr(19)),
		set(id(5), attr(74, u32(2)), attr(29, []byte("ib_core\x00")), attr(80, attr(81, attr(82, []byte("a\x00"))))),
		message(statReply, 0x10, attr(77)),
		append(append([]byte{}, set(id(3), attr(74, u32(2)))...), message(3, 2, u32(0))...), // 3 again, and the end
	} {
		if got.Done {
			t.Error("done too early")
		}
		if err := little().Add(&got, b, 7); err != nil {
			t.Fatal(err)
		}
	}
	want := Reply{
		Devices: []Device{{4, "mlx5_0"}}, Done: true, Interrupted: true,
		Sets: []CounterSet{{ID: 3, Mode: ModeManual}, {ID: 5, Mode: ModeManual, Kernel: "ib_core", Counters: []Counter{{Name: "a"}}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got = Reply{}
	if err := little().Add(&got, set(id(3)), 8); err != nil || len(got.Sets) != 0 {
		t.Errorf("a message for another question: %+v, %v", got, err)
	}
	for _, end := range [][]byte{message(3, 2), message(2, 0, u32(0))} {
		got = Reply{}
		if err := little().Add(&got, end, 7); err != nil || !got.Done {
			t.Errorf("%x: %+v, %v", end, got, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, typ := range []uint16{2, 3} { // a dump's error may come with its end
		var refused *KernelError
		if err := little().Add(&Reply{}, message(typ, 0, u32(0xffffffea)), 7); !errors.As(err, &refused) || refused.Errno != 22 {
			t.Errorf("type %d: %v, want error 22", typ, err)
		}
	}
}

func TestImpossibleMessages(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte{'x'}, MaxName+1)
	id := attr(79, u32(1))
	many := make([][]byte, MaxCounters+1)
	for i := range many {
		many[i] = attr(81, attr(82, []byte("a\x00")))
	}
	for name, c := range map[string]struct {
		b        []byte
		wantText string
	}{
		"short header":         {[]byte{1, 2}, "at least 16"},
		"length of 0":          {make([]byte, 16), "16..16"},
		"length beyond":        {append([]byte{17}, make([]byte, 15)...), "16..16"},
		"another type":         {message(9, 0), "5121"},
		"half an end":          {message(3, 0, []byte{1}), "at least 4"},
		"attribute of 3":       {message(statReply, 0, []byte{3, 0, 1, 0}), "4..4"},
		"attribute beyond":     {message(statReply, 0, []byte{9, 0, 1, 0}), "4..4"},
		"half an attribute":    {message(statReply, 0, []byte{9}), "after the last"},
		"set without id":       {set(attr(74, u32(1))), "no id"},
		"mode of a byte":       {set(id, attr(74, []byte{1})), "1 bytes"},
		"value of 4":           {set(id, attr(80, attr(81, attr(82, []byte("a\x00")), attr(83, u32(1))))), "want 8"},
		"counter without name": {set(id, attr(80, attr(81, attr(83, make([]byte, 8))))), "no name"},
		"name without end":     {set(id, attr(80, attr(81, attr(82, []byte("a"))))), "and a 0"},
		"name too long":        {set(id, attr(29, append(long, 0))), "at most 64"},
		"too many counters":    {set(id, attr(80, many...)), "at most 512"},
		"pair without number":  {set(id, attr(19, attr(20))), "no number"},
		"pair of 2":            {set(id, attr(19, attr(20, attr(21, []byte{1, 2})))), "2 bytes"},
		"device without name":  {message(5<<10|1, 0, attr(1, u32(1))), "without index or name"},
		"device without index": {message(5<<10|1, 0, attr(2, []byte("a\x00"))), "without index or name"},
	} {
		var bad *FormatError
		if err := little().Add(&Reply{}, c.b, 7); !errors.As(err, &bad) || !strings.Contains(err.Error(), c.wantText) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.wantText)
		}
	}
}

func TestStoredQueuePairsAreLimited(t *testing.T) {
	t.Parallel()
	pairs := make([][]byte, MaxQPs+5)
	for i := range pairs {
		pairs[i] = attr(20, attr(21, u32(uint32(i))))
	}
	var got Reply
	if err := little().Add(&got, set(attr(79, u32(1)), attr(19, pairs...)), 7); err != nil || len(got.Sets[0].QPs) != MaxQPs || got.Sets[0].QPCount != MaxQPs+5 {
		t.Errorf("%d of %d, %v", len(got.Sets[0].QPs), got.Sets[0].QPCount, err)
	}
	got = Reply{}
	for i := range MaxSets {
		if err := little().Add(&got, set(attr(79, u32(uint32(i)))), 7); err != nil {
			t.Fatal(err)
		}
	}
	var bad *FormatError
	if err := little().Add(&got, set(attr(79, u32(MaxSets))), 7); !errors.As(err, &bad) {
		t.Errorf("%v, want an error", err)
	}
	got = Reply{Devices: make([]Device, MaxDevices)}
	if err := little().Add(&got, message(5<<10|1, 0, attr(1, u32(1)), attr(2, []byte("a\x00"))), 7); !errors.As(err, &bad) {
		t.Errorf("%v, want an error", err)
	}
	for m, want := range map[Mode]string{ModeNone: "none", ModeAuto: "auto", ModeManual: "manual", 9: "mode 9"} {
		if m.String() != want {
			t.Errorf("%s, want %s", m, want)
		}
	}
}

func FuzzAdd(f *testing.F) {
	f.Add(unhex(f, digits(twoSets)))
	f.Add(message(5<<10|1, 2, attr(1, u32(4)), attr(2, []byte("mlx5_0\x00"))))
	f.Add(message(2, 0, u32(0xffffffea)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Reply
		err := little().Add(&r, b, 7)
		var bad *FormatError
		var refused *KernelError
		if err != nil && !errors.As(err, &bad) && !errors.As(err, &refused) {
			t.Fatalf("%T %v", err, err)
		}
		seen := map[uint32]bool{}
		for i := range r.Sets {
			s := &r.Sets[i]
			if seen[s.ID] || len(s.QPs) > min(MaxQPs, s.QPCount) || len(s.Counters) > MaxCounters || len(s.Kernel) > MaxName {
				t.Fatalf("%+v", s)
			}
			seen[s.ID] = true
		}
	})
}
