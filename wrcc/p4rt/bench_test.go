package p4rt_test

import (
	"errors"
	"sync"
	"testing"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/drivertest"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/sim/p4dev"
	"fairlane/wrcc/p4rt"
)

// BenchmarkApplyAndVerify changes 1,000 switches of 32 ports from one configuration to another with one driver, every entry of
// every port different, and reads all of them back.
func BenchmarkApplyAndVerify(b *testing.B) {
	const switches, ports = 1000, 32
	s := p4dev.NewServer()
	devices := make([]driver.Device, switches)
	for i := range devices {
		devices[i] = switchDevice(uint64(i+1), "")
		devices[i].Ports = ports
		if _, err := s.Add(uint64(i+1), p4dev.Options{Ports: ports}); err != nil {
			b.Fatal(err)
		}
	}
	drv := newDriver(b, p4rt.Options{Options: grpclink.Options{Dial: listen(b, s)}})
	caps, err := drv.Capabilities(b.Context(), devices[0])
	if err != nil {
		b.Fatal(err)
	}
	samples := drivertest.Samples(devices[0], caps)
	apply := func(want driver.Settings) error {
		var wg sync.WaitGroup
		errs := make([]error, switches)
		for i, d := range devices {
			wg.Go(func() {
				_, err := drv.Apply(b.Context(), d, want)
				if err == nil {
					var got driver.Settings
					if got, err = drv.Read(b.Context(), d); err == nil && !want.Equal(got) {
						err = errors.New("read back another state")
					}
				}
				errs[i] = err
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	if err := apply(samples[0]); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		if err := apply(samples[n%2]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n*switches), "us/switch")
}
