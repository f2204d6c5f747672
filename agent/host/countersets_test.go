package host

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"fairlane/agent"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/rdmanl"
)

// attribute returns an attribute of RDMA netlink, padded.
func attribute(typ uint16, payload ...[]byte) []byte {
	p := slices.Concat(payload...)
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(p)))
	b = append(binary.NativeEndian.AppendUint16(b, typ), p...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func word(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// message returns a message of the kernel for the request with dumpSequence.
func message(typ, flags uint16, attrs ...[]byte) []byte {
	p := slices.Concat(attrs...)
	b := word(uint32(16 + len(p)))
	b = binary.NativeEndian.AppendUint16(b, typ)
	b = binary.NativeEndian.AppendUint16(b, flags)
	return slices.Concat(b, word(dumpSequence), word(1), p)
}

const (
	newDevice = 5<<10 | 1
	newSets   = 5<<10 | 17
	end       = 3
	refused   = 2
)

func errno32(n unix.Errno) []byte { return word(uint32(-int32(n))) }

// rdmaKernel answers each request of RDMA netlink on its own socket, in order.
type rdmaKernel struct {
	sockets []*wire
	opened  int
	err     error
}

func (k *rdmaKernel) open() (datagrams, error) {
	if k.err != nil {
		return nil, k.err
	}
	k.opened++
	return k.sockets[k.opened-1], nil
}

// kernel has devices mlx5_7 and mlx5_0, with index 2, and these answers about counter sets.
func kernel(answers ...[][]byte) *rdmaKernel {
	devices := func(index uint32, name string) []byte {
		return message(newDevice, 2, attribute(1, word(index)), attribute(2, append([]byte(name), 0)))
	}
	k := &rdmaKernel{sockets: []*wire{{datagrams: [][]byte{slices.Concat(devices(0, "mlx5_7"), devices(2, "mlx5_0")), message(end, 2, word(0))}}}}
	for _, a := range answers {
		k.sockets = append(k.sockets, &wire{datagrams: a})
	}
	return k
}

func setMessage(id, port uint32, attrs ...[]byte) []byte {
	return message(newSets, 2, attribute(77, attribute(78, attribute(3, word(port)), attribute(79, word(id)), slices.Concat(attrs...))))
}

// withSets returns the meter of a host's only port, with scripted RDMA netlink.
func withSets(t *testing.T, k *rdmaKernel) agent.Meter {
	t.Helper()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	m.file("proc/4711/comm", "trainer")
	h := m.open(nil)
	h.sets = &counterSets{time.Minute, k.open}
	return nics(t, h)[0].Ports[0].Meter
}

func TestCounterSetsOfAPort(t *testing.T) {
	t.Parallel()
	pair := func(n uint32) []byte { return attribute(20, attribute(21, word(n))) }
	counter := func(name string, value ...[]byte) []byte {
		return attribute(81, append([][]byte{attribute(82, append([]byte(name), 0))}, value...)...)
	}
	k := kernel([][]byte{
		setMessage(9, 1, attribute(74, word(2)), attribute(19, pair(40))),
		setMessage(7, 2, attribute(74, word(1))), // another port's
		setMessage(3, 1, attribute(74, word(1)), attribute(28, word(4711)), attribute(19, pair(30), pair(17)),
			attribute(80, counter("rdma_tx_bytes", attribute(83, binary.NativeEndian.AppendUint64(nil, 1<<40))), counter("rdma_rx_bytes"))),
		setMessage(4, 1, attribute(74, word(1)), attribute(28, word(4712))), // a process that has ended
		setMessage(5, 1, attribute(74, word(1)), attribute(29, []byte("ib_core\x00"))),
		message(end, 2, word(0)),
	})
	got, err := withSets(t, k).CounterSets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c := got[0].Counters["rdma_rx_bytes"]; c.Err == nil || c.Value != 0 {
		t.Errorf("a counter without value: %+v", c)
	}
	delete(got[0].Counters, "rdma_rx_bytes")
	none := niccount.Counters{}
	want := []agent.CounterSet{
		{ID: 3, Mode: "auto", PID: 4711, Process: "trainer", QPs: []uint32{17, 30}, QPCount: 2, Counters: niccount.Counters{"rdma_tx_bytes": {Name: "rdma_tx_bytes", Value: 1 << 40}}},
		{ID: 4, Mode: "auto", PID: 4712, Counters: none},
		{ID: 5, Mode: "auto", Process: "ib_core", Counters: none},
		{ID: 9, Mode: "manual", QPs: []uint32{40}, QPCount: 1, Counters: none},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if sent := k.sockets[1].sent; len(sent) != 1 || !slices.Equal(sent[0], rdmanl.Native().CounterSets(dumpSequence, 2, 1)) {
		t.Errorf("the request is %x", sent)
	}
	for i, s := range k.sockets {
		if s.closed != 1 {
			t.Errorf("socket %d was closed %d times", i, s.closed)
		}
	}
}

// An answer without sets is an error.
func TestCounterSetsErrors(t *testing.T) {
	t.Parallel()
	last := message(end, 2, word(0))
	interrupted := [][]byte{message(end, 0x12, word(0))}
	for name, c := range map[string]struct {
		kernel *rdmaKernel
		want   error
		says   string
	}{
		"no queue pair is bound":     {kernel([][]byte{last}), ErrNotBound, "set link mlx5_0/1 auto"},
		"another port's alone":       {kernel([][]byte{setMessage(7, 2), last}), ErrNotBound, ""},
		"a kernel without command":   {kernel([][]byte{message(refused, 0, errno32(unix.EINVAL))}), ErrNotOffered, "invalid argument"},
		"without the permission":     {kernel([][]byte{message(refused, 0, errno32(unix.EPERM))}), ErrNotOffered, "not permitted"},
		"refused at the end":         {kernel([][]byte{message(end, 2, errno32(unix.EOPNOTSUPP))}), ErrNotOffered, "not supported"},
		"broken":                     {kernel([][]byte{message(refused, 0, errno32(unix.EIO))}), unix.EIO, ""},
		"no such device":             {&rdmaKernel{sockets: []*wire{{datagrams: [][]byte{last}}}}, ErrNotOffered, "no device mlx5_0"},
		"no RDMA netlink":            {&rdmaKernel{err: unix.EPROTONOSUPPORT}, ErrNoRDMANetlink, "not offered"},
		"nobody listens":             {&rdmaKernel{sockets: []*wire{{sendErr: unix.ECONNREFUSED}}}, ErrNotOffered, ""},
		"an impossible answer":       {kernel([][]byte{{1, 2, 3}}), nil, "found 3 bytes"},
		"never the same":             {kernel(interrupted, interrupted, interrupted), nil, "does not change"},
		"always too little memory":   {kernel([][]byte{nil}, [][]byte{nil}, [][]byte{nil}), unix.ENOBUFS, ""},
		"two answers without an end": {kernel([][]byte{setMessage(7, 1), nil}, [][]byte{last}), ErrNotBound, ""},
	} {
		got, err := withSets(t, c.kernel).CounterSets(t.Context())
		if err == nil || len(got) != 0 || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v, want %v with %q", name, got, err, c.want, c.says)
		}
	}
}

func TestCounterSetsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	m := withSets(t, &rdmaKernel{sockets: []*wire{{}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.CounterSets(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCounterSetsWaitNoLongerThanAllowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &rdmaKernel{sockets: []*wire{{}}}
		s := &counterSets{time.Minute, k.open}
		began := time.Now()
		if _, err := s.read(t.Context(), "mlx5_0", 1); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if k.sockets[0].closed != 1 {
			t.Error("the socket stays open")
		}
	})
}

func TestQuietHostHasNoCounterSets(t *testing.T) {
	t.Parallel()
	m := newMachine(t, t.TempDir())
	m.nic(0)
	if got, err := nics(t, m.open(nil))[0].Ports[0].Meter.CounterSets(t.Context()); !errors.Is(err, ErrNotOffered) {
		t.Errorf("%v, %v", got, err)
	}
}
