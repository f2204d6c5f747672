package gnmidev

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/quantity"
	"fairlane/internal/testkit/grpctest"
	"fairlane/subnet/ident"
)

// clock is a clock that the test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a server with a plain client.
type rig struct {
	*Server
	clock  *clock
	client gnmi.GNMIClient
	dial   grpctest.Dial
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{clock: newClock()}
	s, err := NewServer(Options{Clock: r.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	r.Server = s
	t.Cleanup(s.Close)
	r.dial = grpctest.Serve(t, func(ctx context.Context, l net.Listener) error { return s.Serve(ctx, l) })
	r.client = gnmi.NewGNMIClient(grpctest.Connect(t, r.dial))
	return r
}

const testGUID ident.GUID = 0x0c42a10300a1b2c0

func portID(n ident.PortNum) ident.PortID { return ident.PortID{Node: testGUID, Port: n} }

// richCaps returns the capabilities of a card with all features.
func richCaps() nicparam.Caps {
	return nicparam.Caps{Limits: dcqcn.Limits{Rate32: true, UndocumentedGD: true}, GeneralCC: true, NewNV: true, Switchdev: true, TCRates: true}
}

// host adds a host with a card of two ports.
func (r *rig) host(t testing.TB, change func(*CardOptions)) *Host {
	t.Helper()
	o := CardOptions{
		GUID: testGUID, Caps: richCaps(), Driver: KernelDriver,
		Ports: []PortOptions{{Plane: &Still{}, Speed: 100 * quantity.Gbps, Functions: 2, Senders: 8}, {Plane: &Still{}, Speed: 100 * quantity.Gbps}},
	}
	if change != nil {
		change(&o)
	}
	h, err := r.AddHost("host-1", HostOptions{Cards: []CardOptions{o}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// sonic adds a switch of four ports.
func (r *rig) sonic(t testing.TB, change func(*SwitchOptions)) *Switch {
	t.Helper()
	o := SwitchOptions{Plane: &StillSwitch{}}
	for range 4 {
		o.Ports = append(o.Ports, SwitchPort{Speed: 100 * quantity.Gbps})
	}
	if change != nil {
		change(&o)
	}
	w, err := r.AddSwitch("leaf-1", o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func wirePath(t testing.TB, text string) *gnmi.Path {
	t.Helper()
	p, err := gnmitree.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p.Proto()
}

// get requests one path and returns the value of the only update, as JSON.
func (r *rig) get(t testing.TB, target, path string) (string, error) {
	t.Helper()
	out, err := r.client.Get(t.Context(), &gnmi.GetRequest{
		Prefix: &gnmi.Path{Target: target}, Path: []*gnmi.Path{wirePath(t, path)}, Encoding: gnmi.Encoding_JSON_IETF,
	})
	if err != nil {
		return "", err
	}
	if n := len(out.GetNotification()); n != 1 || len(out.GetNotification()[0].GetUpdate()) != 1 {
		t.Fatalf("get %s: %d notifications: %s", path, n, out)
	}
	return string(out.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal()), nil
}

// must calls get and fails the test on an error.
func (r *rig) must(t testing.TB, target, path string) string {
	t.Helper()
	s, err := r.get(t, target, path)
	if err != nil {
		t.Fatalf("get %s: %v", path, err)
	}
	return s
}

// request returns a Set request from lines such as "delete PATH", "replace PATH VALUE" and "update PATH VALUE".
func request(t testing.TB, target string, words ...string) *gnmi.SetRequest {
	t.Helper()
	r := &gnmi.SetRequest{Prefix: &gnmi.Path{Target: target}}
	for _, w := range words {
		op, rest, _ := strings.Cut(w, " ")
		path, value, _ := strings.Cut(rest, " ")
		u := &gnmi.Update{Path: wirePath(t, path), Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(value)}}}
		switch op {
		case "delete":
			r.Delete = append(r.Delete, u.Path)
		case "replace":
			r.Replace = append(r.Replace, u)
		case "update":
			r.Update = append(r.Update, u)
		default:
			t.Fatalf("operation %q", op)
		}
	}
	return r
}

func (r *rig) set(t testing.TB, target string, words ...string) error {
	t.Helper()
	_, err := r.client.Set(t.Context(), request(t, target, words...))
	return err
}

// wantCode fails the test unless err has the code and contains the words.
func wantCode(t testing.TB, what string, err error, code codes.Code, words ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("%s: error %v, want code %s", what, err, code)
		return
	}
	for _, w := range words {
		if err != nil && !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %q does not contain %q", what, err, w)
		}
	}
}
