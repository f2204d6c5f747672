package gnmi_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/ccconfig/gnmi"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/testkit/grpctest"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// messageFaults holds the faults of the messages of one target.
type messageFaults struct {
	after, lose        int // writes that pass before requests are lost; negative lose is all
	losing             bool
	replyAfter         int
	replying, mute     bool
	busy               int
	disabled           bool
	sets, gets         int
	failSets, failGets error
	lastSet            *gpb.SetRequest
}

// rig is a set of targets behind one listener, with injected faults.
type rig struct {
	registry gnmitree.Registry
	dial     grpctest.Dial

	mu            sync.Mutex
	messageFaults map[string]*messageFaults
}

func newRig(t testing.TB, o ...grpc.ServerOption) *rig {
	t.Helper()
	r := &rig{messageFaults: map[string]*messageFaults{}}
	s, err := gnmitree.NewServer(gnmitree.Options{Targets: &r.registry})
	if err != nil {
		t.Fatal(err)
	}
	r.dial = grpctest.Serve(t, func(ctx context.Context, l net.Listener) error {
		return s.Serve(ctx, l, append(o, grpc.UnaryInterceptor(r.intercept))...)
	})
	return r
}

func (r *rig) add(t testing.TB, name string, tree gnmitree.Tree) {
	t.Helper()
	if err := r.registry.Add(name, tree); err != nil {
		t.Fatal(err)
	}
	if s, ok := tree.(fake); ok {
		s.call(name)
	}
	r.messageFaults[name] = &messageFaults{}
}

func (r *rig) with(name string, f func(*messageFaults)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.messageFaults[name])
}

func (r *rig) sets(name string) (n int) {
	r.with(name, func(w *messageFaults) { n = w.sets })
	return n
}

var errBroken = status.Error(codes.Unavailable, "the connection broke")

func (r *rig) intercept(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	name, write := "", false
	switch q := req.(type) {
	case *gpb.GetRequest:
		name = q.GetPrefix().GetTarget()
	case *gpb.SetRequest:
		name, write = q.GetPrefix().GetTarget(), true
	}
	var before, after error
	r.mu.Lock()
	if w := r.messageFaults[name]; w != nil {
		before, after = w.arrive(write)
		if s, ok := req.(*gpb.SetRequest); ok {
			w.lastSet = s
		}
	}
	r.mu.Unlock()
	if before != nil {
		return nil, before
	}
	a, err := handle(ctx, req)
	if after != nil {
		return nil, after
	}
	return a, err
}

// arrive determines the faults of a message: before replaces the message by an error, after replaces its answer.
func (w *messageFaults) arrive(write bool) (before, after error) {
	if write {
		w.sets++
	} else {
		w.gets++
	}
	switch {
	case w.disabled:
		return status.Error(codes.Unimplemented, "gNMI is off here"), nil
	case w.busy > 0:
		w.busy--
		return status.Error(codes.ResourceExhausted, "too many requests"), nil
	case w.losing && w.after == 0 && w.lose != 0:
		w.lose--
		return errBroken, nil
	case w.mute:
		return nil, errBroken
	case write && w.failSets != nil:
		return w.failSets, nil
	case !write && w.failGets != nil:
		return w.failGets, nil
	case write && w.replying && w.replyAfter == 0:
		w.mute = true
		return nil, errBroken
	}
	if write {
		w.after = max(w.after-1, 0)
		w.replyAfter = max(w.replyAfter-1, 0)
	}
	return nil, nil
}

// driver returns a driver. The target of a device is the part of its name before a slash.
func (r *rig) driver(t testing.TB, dialect gnmi.Dialect, change ...func(*gnmi.Options)) *gnmi.Driver {
	t.Helper()
	o := gnmi.Options{Options: grpclink.Options{Dial: r.dial}, Target: func(d driver.Device) (gnmi.Target, error) {
		name, _, _ := strings.Cut(d.Name, "/")
		return gnmi.Target{Address: "targets", Name: name, Dialect: dialect}, nil
	}}
	for _, c := range change {
		c(&o)
	}
	o.Insecure = o.TLS == nil
	d, err := gnmi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	grpctest.CloseAtEnd(t, d)
	return d
}

func nicDevice(plane subnet.Plane, id ident.PortID, name string) driver.Device {
	return driver.Device{Plane: plane, ID: id, Name: name, Kind: subnet.KindCA}
}

func switchDevice(name string, ports int) driver.Device {
	return driver.Device{Plane: driver.PlaneRoCE, ID: ident.PortID{Node: 0x99}, Name: name, Kind: subnet.KindSwitch, Ports: ports}
}

// faults has the methods of drivertest.Faults that concern messages.
type faults struct{ r *rig }

func host(d driver.Device) string {
	name, _, _ := strings.Cut(d.Name, "/")
	return name
}

func (f faults) Writes(d driver.Device) int { return f.r.sets(host(d)) }
func (f faults) LoseRequests(d driver.Device, after, n int) {
	f.r.with(host(d), func(w *messageFaults) { w.losing, w.after, w.lose = true, after, n })
}
func (f faults) LoseReply(d driver.Device, after int) {
	f.r.with(host(d), func(w *messageFaults) { w.replying, w.replyAfter = true, after })
}
func (f faults) Busy(d driver.Device, n int) {
	f.r.with(host(d), func(w *messageFaults) { w.busy = n })
}
func (f faults) Disable(d driver.Device) {
	f.r.with(host(d), func(w *messageFaults) { w.disabled = true })
}
func (f faults) Heal(d driver.Device) {
	f.r.with(host(d), func(w *messageFaults) { *w = messageFaults{sets: w.sets, gets: w.gets} })
}

// fields lists a receipt's fields with an outcome.
func fields(r driver.Receipt, o driver.Outcome) (out []string) {
	for _, f := range r.Fields {
		if f.Outcome == o {
			out = append(out, f.Field)
		}
	}
	slices.Sort(out)
	return out
}
