package p4rt_test

import (
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"

	"fairlane/ccconfig/driver/drivertest"
	"fairlane/sim/p4dev"
	"fairlane/wrcc/p4rt"
)

// padder puts a leading zero before each byte string of the answers to a Read.
type padder struct{ grpc.ServerStream }

func (p padder) SendMsg(m any) error {
	if r, ok := m.(*p4v1.ReadResponse); ok {
		for _, e := range r.GetEntities() {
			for _, f := range e.GetTableEntry().GetMatch() {
				x := f.GetExact()
				x.Value = append([]byte{0}, x.GetValue()...)
			}
			for _, a := range e.GetTableEntry().GetAction().GetAction().GetParams() {
				a.Value = append([]byte{0}, a.GetValue()...)
			}
		}
	}
	return p.ServerStream.SendMsg(m)
}

// TestASwitchThatPadsItsAnswers sends what P4Runtime allows, and no client may mind.
func TestASwitchThatPadsItsAnswers(t *testing.T) {
	t.Parallel()
	s := p4dev.NewServer()
	if _, err := s.Add(0x11, p4dev.Options{Ports: 5}); err != nil {
		t.Fatal(err)
	}
	drv := newDriver(t, p4rt.Options{Dial: listen(t, s, grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return next(srv, padder{ss})
	}))})
	dev := switchDevice(0x11, "dci-1")
	caps, err := drv.Capabilities(t.Context(), dev)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range drivertest.Samples(dev, caps) {
		if _, err := drv.Apply(t.Context(), dev, want); err != nil {
			t.Fatal(err)
		}
		got, err := drv.Read(t.Context(), dev)
		if err != nil || !want.Equal(got) {
			t.Errorf("%v, %v", want.Diff(got), err)
		}
	}
}
