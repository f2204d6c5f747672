package app

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlane/command/demo"
	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/collect"
	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
	"fairlane/subnet/ident"
	"fairlane/wrcc/p4info"
)

// fairTruth is what the simulator says of a WRCC switch port.
type fairTruth struct {
	low, high       float64 // fair rates that the port had, bit/s
	at              float64 // seconds
	rewrites, fcnps uint64
	sum             p4info.Count
}

// TestFairRatesAndSendersAreSeries measures a WRCC fabric by its devices. The fair rates lie between those that the simulator had meanwhile, counts and
// rates of senders agree with its own, and all can be queried.
func TestFairRatesAndSendersAreSeries(t *testing.T) {
	t.Parallel()
	d := etherLab(t, policy.PlaneWRCC)
	svc, ctx := d.manager.service, t.Context()
	plan, _, err := svc.CreatePlan(ctx, demo.FabricName, policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if ro := rollToEnd(t, d, plan.Plan.Name); ro.State != control.RolloutSucceeded {
		t.Fatalf("rollout %s: %s", ro.State, ro.Result)
	}
	db := embeddedtest.Open(t, embedded.Options{})
	meter := &recordingMeter{Meter: svc.Meter}
	c, err := collect.New(svc, meter, db, collect.Options{Name: "m1", Period: 15 * time.Second, AllPorts: true})
	if err != nil {
		t.Fatal(err)
	}
	truth := func(id ident.PortID) fairTruth {
		sw, err := d.ether.Fabric.FairSwitch(id.Node)
		if err != nil {
			t.Error(err)
			return fairTruth{}
		}
		m := sw.Measure(uint16(id.Port))
		rate := float64(m.FairRateMbps) * 1e6
		return fairTruth{low: rate, high: rate, at: d.ether.Fabric.Now().Seconds(), rewrites: m.Rewrites, fcnps: m.FCNPs, sum: m.FairRateSum}
	}
	var links []ident.PortID
	before := map[ident.PortID]fairTruth{}
	for i := range plan.Plan.Links {
		id := plan.Plan.Links[i].Port
		links = append(links, id)
		before[id] = truth(id)
	}
	senders := d.senders(t)
	stop, during := make(chan struct{}), map[ident.PortID]fairTruth{}
	var look sync.WaitGroup
	look.Go(func() {
		for {
			for _, id := range links {
				now := truth(id)
				if x, ok := during[id]; ok {
					now.low, now.high = min(now.low, x.low), max(now.high, x.high)
				}
				during[id] = now
			}
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	err = c.Round(ctx)
	close(stop)
	look.Wait()
	if err != nil {
		t.Fatal(err)
	}
	after := d.senders(t)
	if len(meter.last.Links) == 0 {
		t.Fatal("no contended link")
	}
	for _, l := range meter.last.Links {
		a, b := before[l.Port], during[l.Port]
		if l.FairRate == nil || float64(*l.FairRate) < 0.99*b.low || float64(*l.FairRate) > 1.01*b.high || b.high == 0 {
			t.Errorf("%s: fair rate %v, the simulator had %.4g to %.4g", l.Name, l.FairRate, b.low, b.high)
		}
		for kind, want := range map[string]uint64{"rewrites": b.rewrites - a.rewrites, "fcnps-sent": b.fcnps - a.fcnps} {
			got, found := countOfPort(meter.last.Ports, l.Port, kind)
			// The window lies in the time in which the simulator counted. Switches report no time, so a busy machine makes it uncertain.
			if n := got * meter.last.Window.Seconds(); !found || n > 3*float64(want)+5 {
				t.Errorf("%s: %s %v times in %s, the simulator counted %d around it", l.Name, kind, n, meter.last.Window, want)
			}
		}
	}
	sums := map[string]quantity.BitRate{}
	for _, p := range meter.last.Ports {
		for name, rate := range p.Senders {
			a, b := senders[p.Port.String()+name], after[p.Port.String()+name]
			if sent := float64(rate) / 8 * meter.last.Window.Seconds(); sent > 1.02*float64(b.octets-a.octets) || b.octets == 0 {
				t.Errorf("%s on %s sent %.4g octets in %s, the simulator counted %d around it", name, p.Name, sent, meter.last.Window, b.octets-a.octets)
			}
			tenant, _, _ := strings.Cut(name, "/")
			sums[tenant] += rate
		}
	}
	for _, x := range meter.last.Tenants {
		if x.Delivered == nil || sums[x.Tenant] != *x.Delivered {
			t.Errorf("the senders of %s sent %s, the tenant received %v", x.Tenant, sums[x.Tenant], x.Delivered)
		}
	}
	for _, family := range []string{series.LinkFairRate, series.PortRewrites, series.PortFCNPs, series.PortPausesSent, series.PortSender} {
		answer, err := db.Instant(ctx, series.Everything, family, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Result []any }
		if err := json.Unmarshal(answer.Data, &list); err != nil || len(list.Result) == 0 {
			t.Errorf("%s has no series: %s, %v", family, answer.Data, err)
		}
	}
}

func countOfPort(ports []control.PortActivity, id ident.PortID, kind string) (float64, bool) {
	for _, p := range ports {
		if p.Port != id {
			continue
		}
		for _, n := range p.Counts {
			if n.Kind == kind {
				return n.PerSecond, true
			}
		}
	}
	return 0, false
}

// senders returns what the senders of a WRCC fabric have sent by the simulator, by port and name.
func (d *rig) senders(t *testing.T) map[string]sentOf {
	t.Helper()
	out := map[string]sentOf{}
	for _, f := range d.ether.Case.Flows {
		nic, err := d.ether.Fabric.NIC(f.Src)
		if err != nil {
			t.Fatal(err)
		}
		c := nic.Measure()
		for _, s := range c.Senders {
			out[f.Src.String()+s.Name] = sentOf{s.TxOctets, c.At.Seconds()}
		}
	}
	return out
}
