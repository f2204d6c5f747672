package telemetry_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/internal/quantity"
	"fairlane/policy"
	"fairlane/service/telemetry"
	"fairlane/subnet/ident"
)

// fairWorld is a WRCC world whose switch lowers the fair rate of 1000 packets and sends 10 fast notifications per second.
type fairWorld struct {
	*etherWorld

	err     error
	restart bool // the counters begin at zero at the second reading
	bare    bool // the program has only the register
	reads   int
}

func (w *fairWorld) ReadFair(_ context.Context, node ident.GUID) (map[ident.PortNum]telemetry.FairReading, error) {
	w.reads++
	if w.err != nil {
		return nil, w.err
	}
	passed := time.Since(w.start).Seconds() + 5
	if w.restart && w.reads > 1 {
		passed = 0.001
	}
	out := map[ident.PortNum]telemetry.FairReading{}
	for port := range ident.PortNum(5) {
		r := telemetry.FairReading{Rate: new(quantity.BitRate(port) * quantity.Gbps), Wall: time.Now()}
		if !w.bare {
			r.FCNPs, r.Rewrites, r.Pauses = new(uint64(10*passed)), new(uint64(1000*passed)), new(uint64(7))
		}
		out[port] = r
	}
	return out, nil
}

func TestFairRatesOfAMeasurement(t *testing.T) {
	t.Parallel()
	full := map[telemetry.CountKind]float64{telemetry.CountFCNPs: 10, telemetry.CountRewrites: 1000, telemetry.CountPausesSent: 0}
	for name, c := range map[string]struct {
		w    fairWorld
		rate bool
		want map[telemetry.CountKind]float64
	}{
		"all":      {fairWorld{}, true, full},
		"silent":   {fairWorld{err: errors.New("no route")}, false, nil},
		"restart":  {fairWorld{restart: true}, true, map[telemetry.CountKind]float64{telemetry.CountPausesSent: 0}},
		"register": {fairWorld{bare: true}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := c.w
				w.etherWorld = newEtherWorld(t, policy.PlaneWRCC)
				w.rates["h1 red/default"], w.rates["h2 blue/default"], w.rates["h2 green/default"] = 4e9, 2e9, 1e9
				e, err := telemetry.NewEther(w.etherWorld, w.plan, w.topo, w.flows, telemetry.EtherOptions{Fair: &w})
				if err != nil {
					t.Fatal(err)
				}
				r, err := e.Measure(t.Context(), quantity.Second)
				if err != nil {
					t.Fatal(err)
				}
				checked := 0
				for _, l := range r.Links {
					ref, _ := w.topo.PortByID(l.Port)
					if w.topo.Nodes[ref.Node].Name != "sw1" {
						continue
					}
					checked++
					if (l.FairRate != nil) != c.rate || c.rate && *l.FairRate != quantity.BitRate(l.Port.Port)*quantity.Gbps {
						t.Errorf("%s: fair rate %v", l.Name, l.FairRate)
					}
					for _, p := range r.Ports {
						if p.Port == l.Port {
							compareCounts(t, p, c.want, name == "silent")
						}
					}
				}
				if checked == 0 || w.reads != 2 {
					t.Errorf("%d links of the switch, %d readings of it", checked, w.reads)
				}
				for _, p := range r.Ports {
					if p.Name == "h2/P1" && (len(p.Senders) != 2 || p.Senders["blue/default"] != 2*quantity.Gbps) {
						t.Errorf("senders %v", p.Senders)
					}
				}
			})
		})
	}
}

func compareCounts(t *testing.T, p telemetry.PortActivity, want map[telemetry.CountKind]float64, silent bool) {
	t.Helper()
	if len(p.Counts) != len(want) || (p.Err != nil) != silent {
		t.Errorf("%s: %+v", p.Name, p)
	}
	for _, n := range p.Counts {
		if math.Abs(n.PerSecond-want[n.Kind]) > 0.001*want[n.Kind] {
			t.Errorf("%s: %s %v, want %v", p.Name, n.Kind, n.PerSecond, want[n.Kind])
		}
	}
}
