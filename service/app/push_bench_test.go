package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"fairlane/command/demo"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/tenancy"
	"fairlane/service/site"
	"fairlane/service/store/pgtest"
	"fairlane/sim/live"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// BenchmarkPush writes alternating plans to 10,000 simulated ports, through subnet-management datagrams over a
// socket, and reads every one of them back; the devices that a port's settings depend on come with it.
func BenchmarkPush(b *testing.B) {
	for _, engine := range []string{"sqlite", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			database := filepath.Join(b.TempDir(), "fairlane.db")
			if engine == "postgres" {
				database = pgtest.Start(b, pgtest.Options{Durable: true}).Database(b)
			}
			d, plans := pushLab(b, database, 250, 40)
			b.ReportAllocs()
			n, ports := 0, 0
			began := processorTime(b)
			for b.Loop() {
				ro := push(b, d, plans[n%2], control.RolloutOptions{})
				n++
				ports = len(ro.Devices)
			}
			b.ReportMetric(float64(ports), "devices/op")
			b.ReportMetric((processorTime(b)-began).Seconds()/float64(n), "cpu-s/op")
		})
	}
}

// processorTime is what this process, the simulated devices in it, has used; PostgreSQL is another one.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkManagers writes alternating plans to 1,000 simulated ports that take their time to answer: what counts is not
// the processor but how many of them are written at once. Each manager writes four devices of each of eight shards.
func BenchmarkManagers(b *testing.B) {
	for n := 1; n <= 3; n++ {
		b.Run(fmt.Sprintf("managers=%d", n), func(b *testing.B) {
			database := pgtest.Start(b, pgtest.Options{Durable: true}).Database(b)
			d, plans := pushLab(b, database, 25, 40)
			for range n - 1 {
				m, err := openManager(b.Context(), database, &site.Access{}, workOptions{})
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() {
					if err := m.Close(); err != nil {
						b.Error(err)
					}
				})
			}
			d.live.Devices.SetFaults(simdev.Faults{DelayReply: 1, Delay: 50 * time.Millisecond})
			i := 0
			for b.Loop() {
				push(b, d, plans[i%2], control.RolloutOptions{Wave: 1024, Shard: 16, Parallel: 4})
				i++
			}
		})
	}
}

// pushLab puts a fabric under management and makes two plans that differ on every port.
func pushLab(tb testing.TB, database string, leaves, hosts int) (d *rig, plans [2]string) {
	tb.Helper()
	topo, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: leaves, HostsPerLeaf: hosts, Spines: 2})
	if err != nil {
		tb.Fatal(err)
	}
	ctx := tb.Context()
	addr := fmt.Sprintf("unix:fairlane-push-%d-%d", os.Getpid(), time.Now().UnixNano())
	l, err := live.StartInfiniBand(ctx, &scenario.Scenario{Name: "push", Fabric: topo}, addr, simdev.Options{TimeScale: 1e-6})
	if err != nil {
		tb.Fatal(err)
	}
	m, err := openManager(ctx, database, &site.Access{}, workOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	d = newRig(demo.InfiniBand(l), m, 1)
	d.live = l
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	svc := m.service
	if _, err := svc.CreateFabric(ctx, control.Fabric{Name: demo.FabricName, Source: "ibsim:" + l.Server.Addr(), TimeScale: 1}); err != nil {
		tb.Fatal(err)
	}
	if _, err := svc.Discover(ctx, demo.FabricName); err != nil {
		tb.Fatal(err)
	}
	for i := range plans {
		if _, err := svc.ApplyTenants(ctx, demo.FabricName, everyPort(topo, i), false); err != nil {
			tb.Fatal(err)
		}
		p, _, err := svc.CreatePlan(ctx, demo.FabricName, policy.Options{CCTLaw: [...]policy.CCTLaw{policy.CCTGeometric, policy.CCTQuadratic}[i]}, false)
		if err != nil {
			tb.Fatal(err)
		}
		plans[i] = p.Plan.Name
	}
	return d, plans
}

// everyPort is two tenants whose flows pair all hosts.
func everyPort(topo *subnet.Fabric, weight int) tenancy.TenantSet {
	set := tenancy.TenantSet{Flows: []tenancy.FlowInput{}}
	hosts := topo.Hosts()
	for k := range 2 {
		t := tenancy.TenantInput{Name: fmt.Sprintf("t%d", k), Weight: quantity.Weight(1000 * (1 + k*weight)), PKey: [...]ident.PKey{0x8001, 0x8002}[k]}
		for i := k; i < len(hosts); i += 2 {
			dst := (i + len(hosts)/2) % len(hosts)
			t.Attachments = append(t.Attachments, tenancy.AttachmentInput{Port: topo.Nodes[hosts[i]].Name})
			if dst%2 == k {
				set.Flows = append(set.Flows, tenancy.FlowInput{Tenant: t.Name, Src: topo.Nodes[hosts[i]].Name, Dst: topo.Nodes[hosts[dst]].Name, QPs: 1})
			}
		}
		set.Tenants = append(set.Tenants, t)
	}
	return set
}

// push rolls a plan's settings out and waits for the end.
func push(tb testing.TB, d *rig, plan string, o control.RolloutOptions) control.Rollout {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Minute)
	defer cancel()
	ro, err := d.ToEnd(ctx, rollouts.RolloutInput{Plan: plan, Stages: []control.Stage{control.StageSettings}, Options: o})
	if err != nil || ro.State != control.RolloutSucceeded {
		tb.Fatalf("rollout ended as %s: %s (%v)", ro.State, ro.Result, err)
	}
	return ro
}
