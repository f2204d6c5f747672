package umad_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/umad"
	"fairlane/subnet/umad/umadtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var port = umad.Name{CA: "mlx5_0", Port: 1}

// machine has one port, in the partitions 0x8010 and 0xffff; SL 3 leads to its subnet manager.
func machine(t testing.TB) umad.Options {
	t.Helper()
	sys, dev := umadtest.Machine(t, umadtest.Port{CA: "mlx5_0", Port: 1, LID: 7, SMLID: 1, SMSL: 3, PKeys: []uint16{0x8010, 0, 0xffff}})
	return umad.Options{SysRoot: sys, DevRoot: dev}
}

// open opens the port of a machine with the device as its file.
func open(t testing.TB, d *umadtest.Device, o umad.Options) *umad.Client {
	t.Helper()
	m := machine(t)
	o.SysRoot, o.DevRoot = m.SysRoot, m.DevRoot
	o.OpenDevice = func(path string) (umad.Device, error) {
		if path != m.DevRoot+"/infiniband/umad0" {
			t.Errorf("opened %s", path)
		}
		return d, nil
	}
	c, err := umad.Open(t.Context(), port, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// echo answers every request with itself.
func echo(s umadtest.Sent) []byte {
	s.MAD.Respond(mad.StatusOK)
	return s.MAD[:]
}

func silent(umadtest.Sent) []byte { return nil }

func counter(modifier uint32) mad.Packet {
	return mad.NewPerf(mad.MethodGet, mad.AttrPortCounters, modifier)
}

// get exchanges a request with the number n and checks that its own answer came back.
func get(ctx context.Context, t testing.TB, c *umad.Client, n uint32) error {
	t.Helper()
	req := counter(n)
	resp, err := c.Exchange(ctx, mad.Target{LID: 9}, &req)
	if err == nil && (resp.Modifier() != n || resp.Method() != mad.MethodGetResp) {
		t.Errorf("request %d got %s", n, &resp)
	}
	return err
}

func TestOpenRegistersARequesterForEachClass(t *testing.T) {
	t.Parallel()
	want := map[uint8]umadtest.Agent{
		0x01: {QPN: 0, Class: 0x01, Version: 1},
		0x81: {QPN: 0, Class: 0x81, Version: 1},
		0x03: {QPN: 1, Class: 0x03, Version: 2, RMPP: 1},
		0x04: {QPN: 1, Class: 0x04, Version: 1},
		0x21: {QPN: 1, Class: 0x21, Version: 2},
	}
	for _, old := range []bool{false, true} {
		d := umadtest.New(echo)
		d.Old = old
		c := open(t, d, umad.Options{})
		got := d.Agents()
		if len(got) != len(want) {
			t.Errorf("old kernel %v: agents %+v: want %+v", old, got, want)
		}
		for _, a := range got {
			if a != want[a.Class] {
				t.Errorf("old kernel %v: agent %+v: want %+v", old, a, want[a.Class])
			}
		}
		if err := get(t.Context(), t, c, 1); err != nil { // in P_Key mode on either kernel
			t.Errorf("old kernel %v: %v", old, err)
		}
		if c.LID() != 7 || c.Port().SMLID != 1 || c.Port().Device != "umad0" {
			t.Errorf("port %+v", c.Port())
		}
	}
}

func TestRequestsAreAddressedByTheirClass(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got umadtest.Sent
	d := umadtest.New(func(s umadtest.Sent) []byte {
		mu.Lock()
		defer mu.Unlock()
		got = s
		return echo(s)
	})
	c := open(t, d, umad.Options{Timeout: 250 * time.Millisecond})
	for _, tt := range []struct {
		name string
		to   mad.Target
		req  mad.Packet
		want umadtest.Sent
	}{
		{"directed route", mad.Target{Path: []ident.PortNum{1, 3}}, mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0),
			umadtest.Sent{LID: 0xffff, QPN: 0}},
		{"subnet management by LID", mad.Target{LID: 4, SL: 2}, mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0),
			umadtest.Sent{LID: 4, QPN: 0}},
		{"congestion control on the subnet manager's SL", mad.Target{LID: 5}, mad.NewCC(mad.MethodGet, mad.AttrCongestionInfo, 0, 1),
			umadtest.Sent{LID: 5, QPN: 1, QKey: 0x80010000, SL: 3, PKeyIndex: 2}},
		{"subnet administration on an SL of its own", mad.Target{LID: 1, SL: 6}, mad.NewSA(mad.MethodGet, mad.AttrPathRecord, 0),
			umadtest.Sent{LID: 1, QPN: 1, QKey: 0x80010000, SL: 6, PKeyIndex: 2}},
	} {
		if _, err := c.Exchange(t.Context(), tt.to, &tt.req); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		mu.Lock()
		s := got
		mu.Unlock()
		if d.Agents()[s.Agent].Class != byte(tt.req.Class()) {
			t.Errorf("%s: sent by agent %+v", tt.name, d.Agents()[s.Agent])
		}
		p := s.MAD
		if tt.to.LID == 0 && (p[7] != 2 || p[129] != 1 || p[130] != 3 || binary.BigEndian.Uint32(p[32:]) != 0xffffffff) {
			t.Errorf("%s: %d hops, path %v, LIDs %x", tt.name, p[7], p[128:132], p[32:36])
		}
		if s.Timeout != 250 || s.Retries != 0 {
			t.Errorf("%s: the kernel waits %d ms with %d retries: want 250 ms and none", tt.name, s.Timeout, s.Retries)
		}
		s.Agent, s.Timeout, s.MAD = 0, 0, mad.Packet{}
		if s != tt.want {
			t.Errorf("%s: sent %+v, want %+v", tt.name, s, tt.want)
		}
	}
	vendor := counter(0)
	vendor[1] = 0x0a
	if _, err := c.Exchange(t.Context(), mad.Target{LID: 1}, &vendor); err == nil || !strings.Contains(err.Error(), "no agent for it") {
		t.Errorf("a class without an agent: error %v", err)
	}
}

func TestPartitionComesFromTheOptions(t *testing.T) {
	t.Parallel()
	var index atomic.Uint32
	d := umadtest.New(func(s umadtest.Sent) []byte {
		index.Store(uint32(s.PKeyIndex) + 1)
		return echo(s)
	})
	c := open(t, d, umad.Options{PKey: 0x0010}) // the table has the full member
	if err := get(t.Context(), t, c, 1); err != nil || index.Load() != 1 {
		t.Errorf("P_Key index %d, error %v: want 0", index.Load()-1, err)
	}
}

// The kernel returns a request without a response after each try's patience, and the client repeats the request.
func TestMissingResponseIsATimeoutAfterEveryAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var tries []uint32
		d := umadtest.New(func(s umadtest.Sent) []byte {
			mu.Lock()
			defer mu.Unlock()
			if tries = append(tries, s.Timeout); len(tries) == 7 {
				return echo(s)
			}
			return nil
		})
		c := open(t, d, umad.Options{Timeout: 100 * time.Millisecond, Retries: 4})
		start := time.Now()
		err := get(t.Context(), t, c, 1)
		if !errors.Is(err, mad.ErrTimeout) || !strings.Contains(err.Error(), "in 5 tries") {
			t.Errorf("error %v: want mad.ErrTimeout after 5 tries", err)
		}
		if took := time.Since(start); took != (100+200+400+800+800)*time.Millisecond {
			t.Errorf("gave up after %s", took)
		}
		synctest.Wait()
		mu.Lock()
		for i, want := range []uint32{100, 200, 400, 800, 800} {
			if tries[i] != want {
				t.Errorf("try %d: %d ms, want %d", i, tries[i], want)
			}
		}
		mu.Unlock()
		if err := get(t.Context(), t, c, 2); err != nil {
			t.Errorf("answered at the second try: %v", err)
		}
		if st := c.Stats(); st.Timeouts != 1 || st.Retries != 5 || st.Sent != 7 || st.Received != 7 || st.Late != 0 {
			t.Errorf("statistics %+v", st)
		}
	})
}

// busySystem is a file with a delay for each request; most is the maximum number of concurrent ones.
func busySystem(while func(umadtest.Sent) time.Duration) (d *umadtest.Device, most *atomic.Int32) {
	var underway atomic.Int32
	most = new(atomic.Int32)
	return umadtest.New(func(s umadtest.Sent) []byte {
		if n := underway.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer underway.Add(-1)
		time.Sleep(while(s))
		return echo(s)
	}), most
}

// getMany sends this number of different requests concurrently; all must be answered.
func getMany(t *testing.T, c *umad.Client, requests uint32) {
	t.Helper()
	var wg sync.WaitGroup
	for n := range requests {
		wg.Go(func() {
			if err := get(t.Context(), t, c, n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestManyExchangesInFlightGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, most := busySystem(func(s umadtest.Sent) time.Duration {
			return time.Duration(s.MAD.Modifier()*7919%100) * time.Millisecond // answers overtake one another
		})
		c := open(t, d, umad.Options{InFlight: 16, PerTarget: -1, Timeout: time.Second, Retries: -1})
		getMany(t, c, 320)
		if most.Load() > 16 {
			t.Errorf("%d in flight: want 16 at most", most.Load())
		}
		if st := c.Stats(); st.Sent != 320 || st.Received != 320 || st.Retries != 0 {
			t.Errorf("statistics %+v", st)
		}
	})
}

func TestATargetGetsFourRequestsAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, most := busySystem(func(umadtest.Sent) time.Duration { return 10 * time.Millisecond })
		c := open(t, d, umad.Options{})
		getMany(t, c, 20)
		if most.Load() != umad.DefaultPerTarget {
			t.Errorf("%d at a time: want %d", most.Load(), umad.DefaultPerTarget)
		}
	})
}

func TestCancelledExchangeCountsItsResponseAsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := umadtest.New(func(s umadtest.Sent) []byte {
			if s.MAD.Modifier() == 1 {
				time.Sleep(time.Second)
			}
			return echo(s)
		})
		c := open(t, d, umad.Options{InFlight: 1, Timeout: time.Minute})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("enough"))
		defer cancel()
		if err := get(ctx, t, c, 1); err == nil || err.Error() != "enough" {
			t.Errorf("error %v: want the context's cause", err)
		}
		if err := get(t.Context(), t, c, 2); err != nil { // in the same place, while the kernel still waits for the first
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if st := c.Stats(); st.Late != 1 {
			t.Errorf("statistics %+v: want one late answer", st)
		}
	})
}

func TestCloseEndsExchangesAndTheFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := umadtest.New(silent)
		c := open(t, d, umad.Options{InFlight: 1, Timeout: time.Minute})
		var wg sync.WaitGroup
		for range 3 { // in flight, or waiting for the place
			wg.Go(func() {
				if err := get(context.Background(), t, c, 1); !errors.Is(err, umad.ErrClosed) {
					t.Errorf("error %v: want ErrClosed", err)
				}
			})
		}
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if !d.Closed() {
			t.Error("the file is still open")
		}
		if err := c.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if err := get(t.Context(), t, c, 1); !errors.Is(err, umad.ErrClosed) || errors.Is(err, umad.ErrRemoved) {
			t.Errorf("after Close: error %v: want ErrClosed alone", err)
		}
	})
}

func TestRemovedDeviceIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := umadtest.New(silent)
		c := open(t, d, umad.Options{Timeout: time.Minute})
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := get(t.Context(), t, c, 1); !errors.Is(err, umad.ErrRemoved) || !errors.Is(err, umad.ErrClosed) {
				t.Errorf("under way: error %v: want ErrRemoved and ErrClosed", err)
			}
		})
		synctest.Wait()
		d.Remove()
		wg.Wait()
		if err := get(t.Context(), t, c, 2); !errors.Is(err, umad.ErrRemoved) || !errors.Is(err, syscall.EIO) {
			t.Errorf("afterwards: error %v: want ErrRemoved", err)
		}
	})
}

func TestForeignMessagesAreCountedAndDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d *umadtest.Device
		d = umadtest.New(func(s umadtest.Sent) []byte {
			good := append(make([]byte, 64), echo(s)...)
			otherClass, otherTID, version, request := bytes.Clone(good), bytes.Clone(good), bytes.Clone(good), bytes.Clone(good)
			otherClass[65] = byte(mad.ClassCongestion)
			otherTID[64+13] ^= 0x40
			version[64] = 2
			request[67] = byte(mad.MethodGet)
			for _, b := range [][]byte{otherClass, otherTID, version, request, good[:80], {}} {
				d.Inject(b)
			}
			return echo(s)
		})
		c := open(t, d, umad.Options{})
		if err := get(t.Context(), t, c, 1); err != nil {
			t.Fatal(err)
		}
		if st := c.Stats(); st.Malformed != 3 || st.Unsolicited != 1 || st.Late != 2 {
			t.Errorf("statistics %+v: want 3 malformed, 1 unsolicited, 2 late", st)
		}
	})
}

func TestStatusOtherThanTimeoutIsFinal(t *testing.T) {
	t.Parallel()
	var d *umadtest.Device
	d = umadtest.New(func(s umadtest.Sent) []byte {
		b := append(make([]byte, 64), s.MAD[:]...)
		binary.NativeEndian.PutUint32(b[4:], uint32(syscall.EHOSTUNREACH))
		d.Inject(b)
		return nil
	})
	c := open(t, d, umad.Options{Timeout: time.Hour})
	if err := get(t.Context(), t, c, 1); !errors.Is(err, mad.ErrTimeout) {
		t.Errorf("error %v: want mad.ErrTimeout", err)
	}
}

func TestTrapsReachTheirFunctionOnly(t *testing.T) {
	t.Parallel()
	trap := mad.NewSMP(mad.MethodTrap, mad.AttrNotice, 0)
	got := make(chan ident.LID, 1)
	d := umadtest.New(echo)
	c := open(t, d, umad.Options{Traps: func(from ident.LID, p mad.Packet) {
		if p != trap {
			t.Errorf("trap %s", &p)
		}
		got <- from
	}})
	if !d.Receive(33, &trap) {
		t.Fatal("no agent accepts traps")
	}
	if from := <-got; from != 33 {
		t.Errorf("trap from LID %d, want 33", from)
	}
	if err := get(t.Context(), t, c, 1); err != nil {
		t.Error(err)
	}
	without := umadtest.New(echo)
	open(t, without, umad.Options{})
	if without.Receive(33, &trap) {
		t.Error("a client without a function for traps receives traps meant for others on the machine")
	}
}

func TestOpenReportsTheKernelsRejection(t *testing.T) {
	t.Parallel()
	d := umadtest.New(silent)
	d.Refuse = syscall.ENOMEM
	o := machine(t)
	o.OpenDevice = func(string) (umad.Device, error) { return d, nil }
	if _, err := umad.Open(t.Context(), port, o); !errors.Is(err, syscall.ENOMEM) || !strings.Contains(err.Error(), "register an agent for subnet management") {
		t.Errorf("error %v", err)
	}
	if !d.Closed() {
		t.Error("the file stays open")
	}
	for want, o := range map[string]umad.Options{
		"timeout 1ns: want 1ms":          {Timeout: 1},
		"timeout 2h0m0s: want 1ms to 1h": {Timeout: 2 * time.Hour},
		"tables of 255 bytes: want 256":  {MaxTable: 255},
		"want 1 to 1024":                 {InFlight: 1025},
	} {
		if _, err := umad.Open(t.Context(), port, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
}
