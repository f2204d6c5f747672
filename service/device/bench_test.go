package device_test

import (
	"context"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/service/device"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// unheard is a Recorder that discards everything.
type unheard struct{}

// Record implements device.Recorder.
func (unheard) Record(context.Context, device.Event) error { return nil }

// BenchmarkWork10000 writes a plan to 10,000 adapters with default settings and reads them back, with devices in memory: it
// measures the cost of the work itself.
func BenchmarkWork10000(b *testing.B) {
	const n = 10000
	ds := make([]driver.Device, n)
	items := make([]device.Item, n)
	for i := range ds {
		ds[i] = driver.Device{Plane: "ib", ID: ident.PortID{Node: ident.GUID(i + 1), Port: 1}, Name: "host", Kind: subnet.KindCA, LID: ident.LID(i + 1)}
		items[i] = device.Item{Target: device.Target{Device: ds[i], Want: wanted(ds[i], 0)}, State: device.Pending}
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		fake := drivertest.NewFake(ds...)
		b.StartTimer()
		if err := device.Work(b.Context(), device.Part{Items: items}, device.Deps{Driver: fake, Recorder: unheard{}}); err != nil {
			b.Fatal(err)
		}
	}
}
