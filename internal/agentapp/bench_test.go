package agentapp_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"

	"fairlane/ccconfig/nicparam"
	"fairlane/ccconfig/nicyang"
	"fairlane/internal/gnmid"
)

// BenchmarkSetOfAFullPort sets all DCQCN parameters of a port over TLS. The journal is on disk; the device's files are in
// memory where the machine has a place for that.
func BenchmarkSetOfAFullPort(b *testing.B) {
	dir, err := os.MkdirTemp("/dev/shm", "fairlane")
	if err != nil {
		dir = b.TempDir()
	}
	defer os.RemoveAll(dir)
	m, ca := newMachineAt(b, dir), newAuthority(b)
	ca.issue("agent", time.Hour)
	config := m.config(fmt.Sprintf("listen: [127.0.0.1:0]\ntls: {certificate: %s/agent.pem, key: %s/agent.key, client_ca: %s/ca.pem, allowed: [manager]}\nlimits: {sets_per_second: 1000}", ca.dir, ca.dir, ca.dir))
	address, _, stop := start(b, config, nil)
	defer stop()
	c := ca.client(address, ca.issue("manager", time.Hour))
	var requests [2]gnmi.SetRequest
	for _, p := range nicparam.New(nicparam.Caps{}).By(nicparam.Sysfs) {
		if p.Scope != nicparam.ScopePort {
			continue
		}
		at := nicyang.ParamValue(nic, nicparam.Key{Port: 1, Name: p.Name}).Proto()
		for i, v := range []uint64{p.Max, p.Default} {
			requests[i].Update = append(requests[i].Update, &gnmi.Update{Path: at, Val: gnmid.Uint(v).Typed(gnmi.Encoding_PROTO)})
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
