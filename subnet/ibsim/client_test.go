package ibsim_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlane/subnet/ibsim"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dial(t testing.TB, s *server, o ibsim.Options) *ibsim.Client {
	t.Helper()
	c, err := ibsim.Dial(t.Context(), s.addr(), o)
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

func counter(modifier uint32) mad.Packet {
	return mad.NewPerf(mad.MethodGet, mad.AttrPortCounters, modifier)
}

// get exchanges a request with the number n and checks that its own response came back.
func get(t testing.TB, c *ibsim.Client, n uint32) error {
	t.Helper()
	req := counter(n)
	resp, err := c.Exchange(t.Context(), mad.Target{LID: 9}, &req)
	if err == nil && (resp.Modifier() != n || resp.Method() != mad.MethodGetResp) {
		t.Errorf("request %d got %s", n, &resp)
	}
	return err
}

func TestDialAttachesAndReadsTheNodes(t *testing.T) {
	t.Parallel()
	s := serve(t, echoAll)
	s.set(func() { s.stale = true })
	c := dial(t, s, ibsim.Options{NodeID: "host-1", SubnetManager: true})
	if c.NodeID() != "host-1" || c.LID() != 42 || c.NodeInfo().NumPorts != 2 || c.NodeInfo().NodeGUID != 0xabcd {
		t.Errorf("attached to %q, LID %d, %+v", c.NodeID(), c.LID(), c.NodeInfo())
	}
	keys, err := c.PKeys(t.Context())
	if err != nil || len(keys) != 2 || keys[0] != ident.DefaultPKey || keys[1] != 0x8010 {
		t.Errorf("P_Keys %v, error %v: want 0xffff and 0x8010", keys, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node != "host-1" || s.issm != 1 {
		t.Errorf("the server was queried for node %q, subnet manager %d", s.node, s.issm)
	}
	if want := []uint32{1, 7, 8, 10, 2}; len(s.seen) != len(want) || s.seen[0] != 1 || s.seen[4] != 2 {
		t.Errorf("control messages %v: want %v", s.seen, want)
	}
}

func TestEnvelopeEqualsTheCapture(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got [][]byte
	s := serve(t, func(d []byte) [][]byte {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, bytes.Clone(d))
		return echoAll(d)
	})
	c := dial(t, s, ibsim.Options{})
	cc := mad.NewCC(mad.MethodSet, mad.AttrCACongestionSetting, 0, 1)
	if _, err := c.Exchange(t.Context(), mad.Target{LID: 3}, &cc); err != nil {
		t.Fatal(err)
	}
	dr := mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0)
	if _, err := c.Exchange(t.Context(), mad.Target{Path: []ident.PortNum{1, 3}}, &dr); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"\x00\x03\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00\x00\x01" + "\x00\x00\x00\x00",
		"\xff\xff\x00\x00" + "\xff\xff\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00",
	}
	for i, w := range want {
		if len(got[i]) != 288 || string(got[i][:20]) != w || string(got[i][24:32]) != "\x00\x00\x00\x00\x00\x00\x01\x00" {
			t.Errorf("envelope %d is %x: want %x .. 0000000000000100", i, got[i][:32], w)
		}
		if upper, low := binary.BigEndian.Uint32(got[i][40:]), binary.BigEndian.Uint32(got[i][44:]); upper != 0 || low == 0 {
			t.Errorf("transaction ID %08x %08x: want the low half only", upper, low)
		}
	}
	if p := got[1][32:]; p[7] != 2 || p[129] != 1 || p[130] != 3 || p[131] != 0 {
		t.Errorf("directed route %d hops, %v", p[7], p[128:132])
	}
}

func TestManyExchangesInFlightGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	const inFlight = 16
	var held [][]byte
	s := serve(t, func(d []byte) [][]byte {
		held = append(held, echo(d))
		if len(held) < inFlight {
			return nil
		}
		out := make([][]byte, 0, inFlight) // all at once, last first
		for i := range held {
			out = append(out, held[len(held)-1-i])
		}
		held = nil
		return out
	})
	c := dial(t, s, ibsim.Options{InFlight: inFlight, Timeout: 30 * time.Second, Retries: -1})
	var wg sync.WaitGroup
	for n := range uint32(inFlight * 20) {
		wg.Go(func() {
			if err := get(t, c, n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if st := c.Stats(); st.Sent != inFlight*20 || st.Received != st.Sent || st.Retries != 0 {
		t.Errorf("statistics %+v", st)
	}
}

func TestLostRequestsAreSentAgain(t *testing.T) {
	t.Parallel()
	var seen []uint64
	s := serve(t, func(d []byte) [][]byte {
		if seen = append(seen, binary.BigEndian.Uint64(d[40:])); len(seen) < 3 {
			return nil
		}
		return echoAll(d)
	})
	c := dial(t, s, ibsim.Options{Timeout: 5 * time.Millisecond, Retries: 100})
	if err := get(t, c, 1); err != nil {
		t.Fatal(err)
	}
	if st := c.Stats(); st.Sent < 3 || st.Retries != st.Sent-1 || st.Timeouts != 0 {
		t.Errorf("statistics %+v: want at least 3 sent, all but one of them again", st)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	s.stop()
	s.workers.Wait()
	if seen[0] != seen[1] || seen[1] != seen[2] {
		t.Errorf("transaction IDs %x: want the same in each try", seen)
	}
}

func TestMissingResponseIsATimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, func([]byte) [][]byte { return nil })
	c := dial(t, s, ibsim.Options{Timeout: time.Millisecond, Retries: -1})
	if err := get(t, c, 1); !errors.Is(err, mad.ErrTimeout) || !strings.Contains(err.Error(), "in 1 tries") {
		t.Errorf("error %v: want mad.ErrTimeout", err)
	}
	if st := c.Stats(); st.Timeouts != 1 || st.Sent != 1 {
		t.Errorf("statistics %+v", st)
	}
}

func TestUndeliverableIsAnImmediateTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, func(d []byte) [][]byte {
		b := bytes.Clone(d) // the request itself is returned
		b[19] = 110
		return [][]byte{b}
	})
	c := dial(t, s, ibsim.Options{Timeout: time.Hour})
	if err := get(t, c, 1); !errors.Is(err, mad.ErrTimeout) {
		t.Errorf("error %v: want mad.ErrTimeout", err)
	}
	if st := c.Stats(); st.Undeliverable != 1 || st.Retries != 0 {
		t.Errorf("statistics %+v: want one undeliverable", st)
	}
}

func TestForeignDatagramsAreCountedAndDropped(t *testing.T) {
	t.Parallel()
	s := serve(t, func(d []byte) [][]byte {
		good := echo(d)
		otherClass, otherTID, otherPlace, version, length := bytes.Clone(good), bytes.Clone(good), bytes.Clone(good), bytes.Clone(good), bytes.Clone(good)
		otherClass[33] = byte(mad.ClassCongestion)
		otherTID[44] ^= 0x40
		otherPlace[46], otherPlace[47] = 0xff, 0xff
		version[32] = 2
		length[31] = 9
		trap := bytes.Clone(d)
		trap[35] = byte(mad.MethodTrap)
		return [][]byte{otherClass, otherTID, otherPlace, version, length, trap, good[:100], {}, append(bytes.Clone(good), 0), good, good, good}
	})
	c := dial(t, s, ibsim.Options{Timeout: time.Minute})
	for n := range uint32(2) { // the second request finds the duplicates of the first
		if err := get(t, c, n); err != nil {
			t.Fatal(err)
		}
	}
	st := c.Stats()
	if st.Malformed < 5 || st.Unsolicited < 1 || st.Late < 3+2 {
		t.Errorf("statistics %+v: want 5 malformed, 1 unsolicited, 5 late at least", st)
	}
}

func TestLateResponseIsNotMatchedToTheNextRequest(t *testing.T) {
	t.Parallel()
	var late []byte
	asked := make(chan struct{}, 1)
	s := serve(t, func(d []byte) [][]byte {
		if late == nil {
			late = echo(d)
			asked <- struct{}{}
			return nil
		}
		return [][]byte{late, echo(d)}
	})
	c := dial(t, s, ibsim.Options{InFlight: 1, Timeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		req := counter(1)
		if _, err := c.Exchange(ctx, mad.Target{LID: 9}, &req); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v: want context.Canceled", err)
		}
	})
	<-asked
	cancel()
	wg.Wait()
	if err := get(t, c, 2); err != nil { // in the same place
		t.Fatal(err)
	}
	if st := c.Stats(); st.Late != 1 {
		t.Errorf("statistics %+v: want one late answer", st)
	}
}

func TestExchangeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	s := serve(t, func([]byte) [][]byte {
		asked <- struct{}{}
		return nil
	})
	c := dial(t, s, ibsim.Options{InFlight: 1, Timeout: time.Hour})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	req := counter(1)
	var wg sync.WaitGroup
	wg.Go(func() { // holds the only place
		if _, err := c.Exchange(ctx, mad.Target{LID: 9}, &req); !errors.Is(err, why) {
			t.Errorf("in flight: error %v: want the context's cause", err)
		}
	})
	<-asked
	waiting, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	if _, err := c.Exchange(waiting, mad.Target{LID: 9}, &req); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a place: error %v: want the deadline", err)
	}
	cancel(why)
	wg.Wait()
}

func TestCloseEndsExchanges(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	s := serve(t, func([]byte) [][]byte {
		asked <- struct{}{}
		return nil
	})
	c := dial(t, s, ibsim.Options{InFlight: 1, Timeout: time.Hour})
	req := counter(1)
	var wg sync.WaitGroup
	for range 2 { // one in flight, one waiting for its place
		wg.Go(func() {
			if _, err := c.Exchange(context.Background(), mad.Target{LID: 9}, &req); !errors.Is(err, ibsim.ErrClosed) {
				t.Errorf("error %v: want ErrClosed", err)
			}
		})
	}
	<-asked
	s.set(func() { s.mute[2] = true }) // Close must not wait for ever for the answer to DISCONNECT
	s.stop()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if _, err := c.Exchange(t.Context(), mad.Target{LID: 9}, &req); !errors.Is(err, ibsim.ErrClosed) {
		t.Errorf("after Close: error %v: want ErrClosed", err)
	}
}

func TestServerThatVanishedIsATimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, echoAll)
	c := dial(t, s, ibsim.Options{})
	if err := get(t, c, 1); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.workers.Wait()
	if err := get(t, c, 2); !errors.Is(err, mad.ErrTimeout) {
		t.Errorf("error %v: want mad.ErrTimeout", err)
	}
}

func TestDialFails(t *testing.T) {
	t.Parallel()
	quick := ibsim.Options{Timeout: 5 * time.Millisecond}
	tests := []struct {
		name     string
		prepare  func(s *server) string // address
		opts     ibsim.Options
		want     error
		wantText string
	}{
		{"no server", func(s *server) string { return s.addr() + "-not" }, quick, nil, "reach the server's control socket"},
		{"connect refused", func(s *server) string { s.set(func() { s.refuse[1] = true }); return s.addr() }, ibsim.Options{}, ibsim.ErrRefused, "connect: refused by the server"},
		{"connect unanswered", func(s *server) string { s.set(func() { s.mute[1] = true }); return s.addr() }, quick, mad.ErrTimeout, "connect: no response"},
		{"node info refused", func(s *server) string { s.set(func() { s.refuse[7] = true }); return s.addr() }, ibsim.Options{}, ibsim.ErrRefused, "get node info"},
		{"node id too long", func(s *server) string { return s.addr() }, ibsim.Options{NodeID: strings.Repeat("x", 32)}, nil, "want at most 31 bytes"},
		{"unknown scheme", func(*server) string { return "tcp:x" }, quick, nil, "want unix:NAME or udp:HOST:PORT"},
		{"empty name", func(*server) string { return "unix:" }, quick, nil, "want unix:NAME"},
		{"long name", func(*server) string { return "unix:" + strings.Repeat("x", 81) }, quick, nil, "1 to 80 bytes"},
		{"bad port", func(*server) string { return "udp:localhost:99999" }, quick, nil, "port 99999: want 1 to 65534"},
		{"no port number", func(*server) string { return "udp:localhost:x" }, quick, nil, `port "x": want 1 to 65534`},
		{"in flight", func(s *server) string { return s.addr() }, ibsim.Options{InFlight: 1025}, nil, "want 1 to 1024"},
		{"timeout", func(s *server) string { return s.addr() }, ibsim.Options{Timeout: -1}, nil, "want more than 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := ibsim.Dial(t.Context(), tt.prepare(serve(t, echoAll)), tt.opts)
			if err == nil {
				t.Error("want an error")
				_ = c.Close()
				return
			}
			if tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.wantText) {
				t.Errorf("error %q: want %v saying %q", err, tt.want, tt.wantText)
			}
		})
	}
}

func TestRequestsThatDoNotFitTheirTargetAreRefused(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, echoAll), ibsim.Options{})
	dr, smp := mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0), mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
	tests := []struct {
		to  mad.Target
		req mad.Packet
	}{
		{mad.Target{}, smp},
		{mad.Target{LID: 4}, dr},
		{mad.Target{LID: ident.PermissiveLID}, smp},
		{mad.Target{Path: make([]ident.PortNum, 64)}, dr},
	}
	for _, tt := range tests {
		if _, err := c.Exchange(t.Context(), tt.to, &tt.req); err == nil || errors.Is(err, mad.ErrTimeout) {
			t.Errorf("%s to %s: error %v: want a refusal", tt.req.Class(), tt.to, err)
		}
	}
	if st := c.Stats(); st.Sent != 0 {
		t.Errorf("%d datagrams sent: want none", st.Sent)
	}
	if err := get(t, c, 1); err != nil { // every place is free again
		t.Error(err)
	}
}

func TestUDP(t *testing.T) {
	t.Parallel()
	// A control port and the port of slot 0 next to it, as the protocol requires.
	ctl, slot := udpPair(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 80)
		fake := &server{t: t}
		for {
			_, from, err := ctl.ReadFromUDP(buf)
			if err != nil {
				return
			}
			fake.fill(binary.LittleEndian.Uint32(buf[8:]), buf[16:])
			if buf[8] == 1 {
				binary.LittleEndian.PutUint32(buf[16:], 0) // slot
			}
			if _, err := ctl.WriteToUDP(buf, from); err != nil {
				return
			}
		}
	})
	wg.Go(func() {
		buf := make([]byte, 288)
		for {
			n, from, err := slot.ReadFromUDP(buf)
			if err != nil {
				return
			}
			if _, err := slot.WriteToUDP(echo(buf[:n]), from); err != nil {
				return
			}
		}
	})
	c, err := ibsim.Dial(t.Context(), "udp:"+ctl.LocalAddr().String(), ibsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := get(t, c, 5); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	_ = ctl.Close()
	_ = slot.Close()
	wg.Wait()
}

func udpPair(t *testing.T) (a, b *net.UDPConn) {
	t.Helper()
	loopback := net.IPv4(127, 0, 0, 1)
	for range 50 {
		a, err := net.ListenUDP("udp", &net.UDPAddr{IP: loopback})
		if err != nil {
			t.Fatal(err)
		}
		b, err = net.ListenUDP("udp", &net.UDPAddr{IP: loopback, Port: a.LocalAddr().(*net.UDPAddr).Port + 1})
		if err == nil {
			return a, b
		}
		_ = a.Close()
	}
	t.Fatal("no two free UDP ports next to each other")
	return nil, nil
}
