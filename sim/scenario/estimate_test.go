package scenario

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"fairlane/internal/quantity"
)

func TestEstimateIsLimitedByLinkCapacity(t *testing.T) {
	t.Parallel()
	est := parse(t, "duration: 1ms\nworkload: [{kind: permutation, bytes: 1_000_000_000_000}]\n").Estimate()
	// Four hosts at 100 Gbit/s for 1 ms: 50 MB in packets of 1000 bytes over two links each.
	closeTo(t, "hops", est.PacketHops, 4*12_500*2, 1e-9)
	closeTo(t, "bytes offered", est.Bytes, 4e12, 1e-9)

	s := parse(t, "duration: 1ms\nflows: [{src: h1, dst: h2, bytes: 1000}]\n")
	fl := &s.Ethernet.Flows[0]
	fl.Bytes, fl.Count = math.MaxInt64, math.MaxInt32
	est = s.Estimate()
	closeTo(t, "bytes beyond an integer", est.Bytes, math.MaxInt64*float64(math.MaxInt32), 1e-9)
	closeTo(t, "hops beyond an integer", est.PacketHops, 4*12_500*2, 1e-9)

	fl.Bytes, fl.Count = 1, 1_000_000
	if hops, most := s.Estimate().PacketHops, 4*1e-3*100e9/8/64*2; hops != min(2e6, most) {
		t.Errorf("%g hops of packets of one byte, want at most %g", hops, most)
	}
}

func TestEstimateCountsTheSetUp(t *testing.T) {
	t.Parallel()
	est := parse(t, "fabric: {topology: fat-tree, k: 16}\nflows: [{src: host-0001, dst: host-0002, bytes: 1}]\n").Estimate()
	closeTo(t, "seconds of computation for 1024 hosts and 320 switches", est.CPUSeconds, 1024*320*60e-9, 0.01)
}

func TestEstimateCountsQueuePairs(t *testing.T) {
	t.Parallel()
	s := load(t, "ib16")
	want := 0
	for i := range s.Flows {
		want += s.Flows[i].QPs
	}
	if got := s.Estimate().Flows; got != float64(want) || want <= len(s.Flows) {
		t.Errorf("%g flows, want %d of %d entries", got, want, len(s.Flows))
	}
}

func TestEstimateHasWholeFlows(t *testing.T) {
	t.Parallel()
	est := parse(t, "duration: 10ms\nworkload: [{kind: poisson, sizes: 1777, load: 0.3}]\n").Estimate()
	data, err := json.Marshal(est)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Flows json.Number `json:"flows"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if n, err := got.Flows.Int64(); err != nil || n <= 0 {
		t.Errorf("flows %s: %v", got.Flows, err)
	}
}

// The listed values of an active flow depend on the flow, not on the interval of the run.
func TestListedFlowsInProgress(t *testing.T) {
	t.Parallel()
	var first []EtherFlowResult
	for _, interval := range []string{"100us", "370us", "2ms"} {
		r := runEther(t, parse(t, "duration: 2ms\ninterval: "+interval+`
flows:
  - {src: h1, dst: h2}
  - {src: h3, dst: h4, start: 1234us}
`), EtherOptions{})
		if len(r.Listed) != 2 || r.Listed[0].StartS != 0 {
			t.Fatalf("interval %s: %+v", interval, r.Listed)
		}
		closeTo(t, "start", r.Listed[1].StartS, 1234e-6, 1e-12)
		for _, f := range r.Listed {
			if f.DeliveredBps > 100*quantity.Gbps || f.DeliveredBps < 90*quantity.Gbps {
				t.Errorf("interval %s: flow %d at %s on a link of 100 Gbit/s", interval, f.ID, f.DeliveredBps)
			}
			if first != nil && !reflect.DeepEqual(f, first[f.ID]) {
				t.Errorf("interval %s: %+v, before %+v", interval, f, first[f.ID])
			}
		}
		if first == nil {
			first = r.Listed
		}
	}
}

func TestContendedTimeBeginsWithTheFlows(t *testing.T) {
	t.Parallel()
	const tenants = "tenants: [{name: a, weight: 1}, {name: b, weight: 1}]\n"
	for _, c := range []struct {
		name, text string
		want       float64 // ms
	}{
		{"from the start", "flows: [{tenant: a, src: h1, dst: h3}, {tenant: b, src: h2, dst: h3}]", 2},
		{"one interval", "interval: 2ms\nflows: [{tenant: a, src: h1, dst: h3}, {tenant: b, src: h2, dst: h3}]", 2},
		{"start within the first interval", "interval: 500us\nflows: [{tenant: a, src: h1, dst: h3}, {tenant: b, src: h2, dst: h3, start: 100us}]", 1.5},
		{"start within a later interval", "interval: 500us\nflows: [{tenant: a, src: h1, dst: h3}, {tenant: b, src: h2, dst: h3, start: 600us}]", 1},
		{"warm-up within an interval", "interval: 500us\nwarmup: 700us\nflows: [{tenant: a, src: h1, dst: h3}, {tenant: b, src: h2, dst: h3}]", 1.3},
	} {
		r := runEther(t, parse(t, "duration: 2ms\n"+tenants+c.text+"\n"), EtherOptions{})
		if math.Abs(r.ContendedS*1e3-c.want) > 1e-9 {
			t.Errorf("%s: %g ms, want %g", c.name, r.ContendedS*1e3, c.want)
		}
	}
}

// Lost packets count with the links that they have traversed.
func TestMeanHopsIsOfPacketsSent(t *testing.T) {
	t.Parallel()
	s := parse(t, strings.TrimSpace(`
duration: 2ms
model: {buffer: {bytes: 20_000}, classes: [{lossy: true}]}
flows: [{src: h1, dst: h4}, {src: h2, dst: h4}, {src: h3, dst: h4}]
`)+"\n")
	r, err := RunEthernet(context.Background(), s, EtherOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tot := &r.Totals
	if tot.Dropped == 0 || tot.SentPackets < tot.Packets+tot.Dropped {
		t.Fatalf("%+v", tot)
	}
	closeTo(t, "mean hops", tot.MeanHops, float64(tot.Hops)/float64(tot.SentPackets), 1e-12)
	if tot.MeanHops >= 2 {
		t.Errorf("mean of %g hops over two links with losses on the second", tot.MeanHops)
	}
}
