package ibmad_test

import (
	"context"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/ibmad"
	"fairlane/subnet/mad"
)

// arbitraryAnswers is a transport whose answers carry arbitrary data, and sometimes a status.
type arbitraryAnswers struct {
	data []byte
	at   int
}

func (b *arbitraryAnswers) next() byte {
	if len(b.data) == 0 {
		return 0
	}
	b.at++
	return b.data[b.at%len(b.data)]
}

func (b *arbitraryAnswers) Exchange(_ context.Context, _ mad.Target, req *mad.Packet) (mad.Packet, error) {
	resp := *req
	status := mad.StatusOK
	if v := b.next(); v >= 0xf0 {
		status = mad.Status(b.next())
	}
	resp.Respond(status)
	for i := range resp.Data() {
		resp.Data()[i] = b.next()
	}
	return resp, nil
}

// FuzzAnswers feeds the driver arbitrary answers: it must not panic, must end, and must return only states that it
// would also write back.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte{0}, true)
	f.Add([]byte{0xff, 0x0c}, false)
	f.Add([]byte{0, 0, 63, 1, 2, 3}, true)
	f.Add([]byte{0x80, 0xc0, 5}, false)
	f.Fuzz(func(t *testing.T, data []byte, adapter bool) {
		v := leaf(40)
		if adapter {
			v = host()
		}
		d, err := ibmad.New(&arbitraryAnswers{data: data}, ibmad.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Read(t.Context(), v)
		if err == nil {
			if err := got.ValidateRanges(v); err != nil {
				t.Errorf("the state that was read could not be restored: %v", err)
			}
		}
		caps, _ := d.Capabilities(t.Context(), v)
		caps.TableEntries = max(caps.TableEntries, 64)
		for _, want := range append(drivertest.Samples(v, caps), drivertest.Defaults(v)) {
			r, err := d.Apply(t.Context(), v, want)
			for _, f := range r.Fields {
				if err == nil && f.Outcome != driver.OutcomeAcknowledged && f.Outcome != driver.OutcomeUnchanged {
					t.Errorf("success with field %s %s", f.Field, f.Outcome)
				}
			}
		}
	})
}

// FuzzKeys gives arbitrary answers about keys: a change of keys ends, reports only changes that were read back, and
// never writes a device more often than allowed.
func FuzzKeys(f *testing.F) {
	f.Add([]byte{0}, true)
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 0x80}, true)
	f.Add([]byte{0xff, 0x0c}, false)
	f.Fuzz(func(t *testing.T, data []byte, protect bool) {
		d, err := ibmad.New(&arbitraryAnswers{data: data}, ibmad.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := ibmad.KeyChange{
			From: []mad.Key{oldKey}, To: newKey, Protect: protect, LeaseSeconds: 9, TakeOver: true, Failures: 1, Parallel: 1,
			Stored: func(context.Context) error { return nil },
		}
		r, err := d.ChangeKeys(t.Context(), []driver.Device{host(), leaf(40), host()}, c)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, o := range []ibmad.KeyOutcome{ibmad.KeyUnchanged, ibmad.KeyChanged, ibmad.KeyUnsupported, ibmad.KeyFailed, ibmad.KeySkipped} {
			sum += r.Count(o)
		}
		if sum != len(r.Results) || r.Count(ibmad.KeySkipped) > 0 && r.Stopped == nil {
			t.Errorf("%d outcomes for %d devices, stopped by %v", sum, len(r.Results), r.Stopped)
		}
	})
}
