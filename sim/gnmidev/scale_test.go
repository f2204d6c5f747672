package gnmidev

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	cgnmi "fairlane/ccconfig/gnmi"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// fleet is a large number of hosts with one NIC port each behind one loopback listener, with a manager's driver for them.
type fleet struct {
	server  *Server
	driver  *cgnmi.Driver
	devices []driver.Device
}

func newFleet(b *testing.B, n int, change func(*CardOptions)) *fleet {
	b.Helper()
	s, err := NewServer(Options{})
	if err != nil {
		b.Fatal(err)
	}
	f := &fleet{server: s}
	for i := range n {
		name := fmt.Sprintf("host-%05d", i)
		o := CardOptions{GUID: testGUID + ident.GUID(i)<<8, Caps: richCaps(), Ports: []PortOptions{{Plane: &Still{}, Speed: 100 * quantity.Gbps, Functions: 2}}}
		if change != nil {
			change(&o)
		}
		if _, err := s.AddHost(name, HostOptions{Cards: []CardOptions{o}}); err != nil {
			b.Fatal(err)
		}
		f.devices = append(f.devices, driver.Device{
			Plane: driver.PlaneRoCE, ID: ident.PortID{Node: o.GUID, Port: 1}, Name: name, Kind: subnet.KindCA,
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Serve(ctx, l); err != nil {
			b.Error(err)
		}
	})
	f.driver, err = cgnmi.New(cgnmi.Options{Options: grpclink.Options{Insecure: true, InFlight: 64}, Target: func(d driver.Device) (cgnmi.Target, error) {
		return cgnmi.Target{Address: l.Addr().String(), Name: d.Name, Dialect: cgnmi.Agent}, nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		f.driver.Close()
		stop()
		done.Wait()
		s.Close()
	})
	return f
}

// each calls do for all devices, many of them concurrently.
func (f *fleet) each(b *testing.B, do func(d driver.Device) error) {
	b.Helper()
	work := make(chan driver.Device)
	var done sync.WaitGroup
	for range 64 {
		done.Go(func() {
			for d := range work {
				if err := do(d); err != nil {
					b.Errorf("%s: %v", d, err)
				}
			}
		})
	}
	for _, d := range f.devices {
		work <- d
	}
	close(work)
	done.Wait()
}

const manyHosts = 10_000

// cpu returns the processor time that this process has used, in seconds. It includes both sides of the connection, the
// devices and garbage collection. On a machine with other load it is more accurate than wall time.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkReadAll reads 10,000 NIC ports with one manager. The first reading, which starts the agents, is not measured.
func BenchmarkReadAll(b *testing.B) {
	before := heap()
	f := newFleet(b, manyHosts, nil)
	still := heap()
	read := func(d driver.Device) error {
		_, err := f.driver.Read(b.Context(), d)
		return err
	}
	f.each(b, read)
	managed := heap()
	b.ReportAllocs()
	used := cpu(b)
	for b.Loop() {
		f.each(b, read)
	}
	b.ReportMetric((cpu(b)-used)/float64(b.N), "cpu-s/op")
	b.ReportMetric((still-before)/manyHosts, "bytes/still-port")
	b.ReportMetric((managed-before)/manyHosts, "bytes/managed-port")
}

// BenchmarkApplyAll writes new values to all DCQCN registers of 10,000 NIC ports and reads them back, with one manager.
func BenchmarkApplyAll(b *testing.B) {
	f := newFleet(b, manyHosts, nil)
	f.each(b, func(d driver.Device) error {
		_, err := f.driver.Read(b.Context(), d)
		return err
	})
	b.ReportAllocs()
	used, n := cpu(b), uint64(0)
	for b.Loop() {
		n++
		want := registers(n)
		f.each(b, func(d driver.Device) error {
			if _, err := f.driver.Apply(b.Context(), d, want); err != nil {
				return err
			}
			got, err := f.driver.Read(b.Context(), d)
			if err == nil && !want.Equal(got) {
				err = fmt.Errorf("%s", want.Diff(got)[0])
			}
			return err
		})
	}
	b.ReportMetric((cpu(b)-used)/float64(b.N), "cpu-s/op")
}

// registers returns settings that give every DCQCN register one of two values, depending on whether n is odd.
func registers(n uint64) driver.Settings {
	var out driver.NICState
	def := dcqcn.Default()
	for _, r := range richCaps().Registers() {
		v := r.Value(&def)
		if r.Name == "rpg_max_rate" {
			v = 100_000 // above the minimum rate
		}
		if v == r.Max {
			v--
		}
		out.Params = append(out.Params, driver.NICParam{Name: r.Name, Value: v + n%2})
	}
	out.Sort()
	return driver.Settings{NIC: &out}
}
