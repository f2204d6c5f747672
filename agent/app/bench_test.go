package app_test

import (
	"os"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/internal/testkit/tlstest"
)

// BenchmarkSetOfAFullPort sets all DCQCN parameters of a port over TLS. The journal is on disk; the device's files are in
// memory, where the machine supports that.
func BenchmarkSetOfAFullPort(b *testing.B) {
	dir, err := os.MkdirTemp("/dev/shm", "fairlane")
	if err != nil {
		dir = b.TempDir()
	}
	defer os.RemoveAll(dir)
	m, ca := newMachineAt(b, dir), tlstest.New(b)
	config := m.config("limits: {sets_per_second: 1000}\n" + serving(ca))
	address, _, stop := start(b, config, nil)
	defer stop()
	c := client(b, ca, address, "manager", tlstest.Valid())
	var requests [2]gnmi.SetRequest
	for _, p := range nicparam.New(nicparam.Caps{}).By(nicparam.Sysfs) {
		if p.Scope != nicparam.ScopePort {
			continue
		}
		at := nicyang.ParamValue(nic, nicparam.Key{Port: 1, Name: p.Name}).Proto()
		for i, v := range []uint64{p.Max, p.Default} {
			requests[i].Update = append(requests[i].Update, &gnmi.Update{Path: at, Val: gnmitree.Uint(v).Typed(gnmi.Encoding_PROTO)})
		}
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := c.Set(b.Context(), &requests[n%2]); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
