package p4rt_test

import (
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"

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

// TestASwitchThatPadsItsAnswers sends padded byte strings, which P4Runtime allows and clients must accept.
func TestASwitchThatPadsItsAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, p4dev.Options{}, p4rt.Options{}, grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return next(srv, padder{ss})
	}))
	for n := range 2 {
		want := r.sample(t, n)
		if _, err := r.drv.Apply(t.Context(), r.dev, want); err != nil {
			t.Fatal(err)
		}
		got, err := r.drv.Read(t.Context(), r.dev)
		if err != nil || !want.Equal(got) {
			t.Errorf("%v, %v", want.Diff(got), err)
		}
	}
}
