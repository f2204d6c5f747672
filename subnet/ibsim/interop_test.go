package ibsim_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fairlane/subnet/ibsim"
	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

func TestDebianIbsimAnswersDirectedRoutes(t *testing.T) {
	t.Parallel()
	net := filepath.Join(ibsimtest.NetExamples, "net")
	ibsimtest.RequireFile(t, net)
	srv := ibsimtest.Start(t, net)
	c, err := ibsim.Dial(t.Context(), srv.Addr(), ibsim.Options{NodeID: "Hca1"})
	if err != nil {
		t.Fatal(err)
	}
	if c.NodeID() != "Hca1" || c.NodeInfo().NodeType != mad.NodeTypeCA {
		t.Errorf("attached to %q of type %d, want the channel adapter Hca1", c.NodeID(), c.NodeInfo().NodeType)
	}
	tests := []struct {
		path []ident.PortNum
		want string
	}{
		{nil, "Hca1"},
		{[]ident.PortNum{1}, "Switch1"},
		{[]ident.PortNum{1, 3}, "Switch2"},
		{[]ident.PortNum{1, 2}, "Hca2"},
	}
	for _, tt := range tests {
		req := mad.NewDirected(mad.MethodGet, mad.AttrNodeDescription, 0)
		resp, err := mad.Call(t.Context(), c, mad.Target{Path: tt.path}, &req)
		if err != nil {
			t.Fatal(err)
		}
		var d mad.NodeDescription
		if err := d.Decode(resp.Data()); err != nil {
			t.Fatal(err)
		}
		if d.String() != tt.want {
			t.Errorf("node at %v has the description %q, want %q", tt.path, d.String(), tt.want)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestDebianIbsimReturnsUndeliverableDatagrams(t *testing.T) {
	t.Parallel()
	c := dialExample(t, "net")
	req := mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0)
	_, err := c.Exchange(t.Context(), mad.Target{Path: []ident.PortNum{1, 8}}, &req) // nothing is plugged in there
	if !errors.Is(err, mad.ErrTimeout) {
		t.Errorf("error %v: want mad.ErrTimeout", err)
	}
	smp := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
	if _, err := c.Exchange(t.Context(), mad.Target{LID: 0x99}, &smp); !errors.Is(err, mad.ErrTimeout) {
		t.Errorf("unknown LID: error %v: want mad.ErrTimeout", err)
	}
	if st := c.Stats(); st.Undeliverable != 2 || st.Retries != 0 {
		t.Errorf("statistics %+v: want two undeliverable and no retry", st)
	}
}

func TestDebianIbsimSlotsAreReleased(t *testing.T) {
	t.Parallel()
	srv := ibsimtest.Start(t, example(t, "net"))
	for i := range 25 { // ibsim has ten slots
		c, err := ibsim.Dial(t.Context(), srv.Addr(), ibsim.Options{})
		if err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ibsim.Dial(t.Context(), srv.Addr(), ibsim.Options{NodeID: "nobody"}); !errors.Is(err, ibsim.ErrRefused) {
		t.Errorf("unknown node: error %v: want ErrRefused", err)
	}
}

func TestDebianIbsimAnswersConcurrentRequests(t *testing.T) {
	t.Parallel()
	c := dialExample(t, "net.2sw2path4hca2port")
	var g sync.WaitGroup
	for i := range 2000 {
		g.Go(func() {
			req := mad.NewDirected(mad.MethodGet, mad.AttrPortInfo, uint32(i%9))
			resp, err := mad.Call(t.Context(), c, mad.Target{Path: []ident.PortNum{1}}, &req)
			if err != nil {
				t.Error(err)
				return
			}
			if resp.Modifier() != uint32(i%9) {
				t.Errorf("asked for port %d, got %d", i%9, resp.Modifier())
			}
		})
	}
	g.Wait()
	if st := c.Stats(); st.Received != st.Sent || st.Late+st.Malformed+st.Timeouts > 0 {
		t.Errorf("statistics %+v: want an answer each", st)
	}
}

func TestOpenSMRunsOnDebianIbsimAndItsLIDsCarryRequests(t *testing.T) {
	t.Parallel()
	srv := ibsimtest.Start(t, example(t, "net"))
	srv.OpenSM(t, "Hca1")
	c, err := ibsim.Dial(t.Context(), srv.Addr(), ibsim.Options{NodeID: "Hca1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	p, err := c.PortInfo(t.Context())
	if err != nil || p.State != mad.StateActive || !p.LID.IsUnicast() || p.LID != c.LID() {
		t.Fatalf("port info %+v, error %v: want an active port with a LID", p, err)
	}
	smp := mad.NewSMP(mad.MethodGet, mad.AttrNodeDescription, 0)
	resp, err := mad.Call(t.Context(), c, mad.Target{LID: p.LID}, &smp)
	if err != nil {
		t.Fatal(err)
	}
	var d mad.NodeDescription
	if err := d.Decode(resp.Data()); err != nil || d.String() != "Hca1" {
		t.Errorf("LID %d has the description %q, error %v: want Hca1", p.LID, d.String(), err)
	}
	perf := mad.NewPerf(mad.MethodGet, mad.AttrPortCounters, 0)
	sel := mad.PortCounters{PortSelect: p.LocalPort}
	if err := sel.Encode(perf.Data()); err != nil {
		t.Fatal(err)
	}
	if resp, err = mad.Call(t.Context(), c, mad.Target{LID: p.LID}, &perf); err != nil {
		t.Fatal(err)
	}
	var got mad.PortCounters
	if err := got.Decode(resp.Data()); err != nil || got.PortSelect != p.LocalPort {
		t.Errorf("counters %+v, error %v: want those of port %d", got, err, p.LocalPort)
	}
}

func example(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(ibsimtest.NetExamples, name)
	ibsimtest.RequireFile(t, path)
	return path
}

func dialExample(t *testing.T, name string) *ibsim.Client {
	t.Helper()
	srv := ibsimtest.Start(t, example(t, name))
	c, err := ibsim.Dial(t.Context(), srv.Addr(), ibsim.Options{NodeID: "Hca1", Timeout: 10 * time.Second, Retries: -1})
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
