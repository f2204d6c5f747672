package ether

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// dice draws a number from low to high. Random tests and fuzz targets provide different implementations.
type dice func(name string, low, high int) int

// pick draws one of some values.
func pick[T any](d dice, name string, of ...T) T { return of[d(name, 0, len(of)-1)] }

func (d dice) flip(name string) bool { return d(name, 0, 1) == 1 }

// scenario is a small random fabric with its traffic.
type scenario struct {
	topo     *subnet.Fabric
	cfg      Config
	flows    []FlowSpec
	cyclic   bool // routes may form a cycle of waiting ports
	headroom bool // lossless classes may not drop
}

var rates = []quantity.BitRate{
	quantity.Gbps, 7 * quantity.Gbps, 10 * quantity.Gbps, 25 * quantity.Gbps, 100 * quantity.Gbps, 400 * quantity.Gbps,
}

var delays = []quantity.Picoseconds{
	0, 1, 3 * quantity.Nanosecond, 100 * quantity.Nanosecond, quantity.Microsecond, 20 * quantity.Microsecond,
}

// drawTopology builds one of the usual topologies with random rates and delays of its links.
func drawTopology(tb testing.TB, d dice) (f *subnet.Fabric, cyclic bool) {
	tb.Helper()
	var err error
	switch d("shape", 0, 5) {
	case 0:
		f, err = topogen.Star(d("hosts", 2, 6), topogen.Wire{})
	case 1:
		f = chain(tb, make([]quantity.BitRate, d("links", 2, 6))...)
	case 2:
		f, err = topogen.Dumbbell(topogen.DumbbellOptions{Left: d("left", 1, 4), Right: d("right", 1, 4), LeftDomain: "a", RightDomain: "b"})
	case 3:
		f, err = topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: d("leaves", 2, 3), HostsPerLeaf: d("hosts", 1, 3), Spines: d("spines", 1, 3)})
	case 4:
		f, err = topogen.FatTree(topogen.FatTreeOptions{K: 4})
	default:
		f, cyclic = ring(tb, d("switches", 3, 6)), true
	}
	if err != nil {
		tb.Fatal(err)
	}
	alike := d.flip("alike")
	rate, delay := pick(d, "rate", rates...), pick(d, "delay", delays...)
	for i := range f.Links {
		if !alike {
			rate, delay = pick(d, "rate", rates...), pick(d, "delay", delays...)
		}
		f.Links[i].Rate, f.Links[i].Delay = rate, delay
	}
	return f, cyclic
}

// ring returns a ring of switches with one host each, on port 1. Ports 2 connect to the next switch, ports 3 to the
// previous one.
func ring(tb testing.TB, switches int) *subnet.Fabric {
	tb.Helper()
	var nodes []subnet.Node
	var links []subnet.Link
	for i := range switches {
		sw, h := ident.GUID(0x1000+0x100*i), ident.GUID(0x100_0000+i)
		nodes = append(nodes,
			subnet.Node{GUID: sw, SystemGUID: sw, Kind: subnet.KindSwitch, Name: fmt.Sprintf("s%d", i), Ports: subnet.NewPorts(3)},
			subnet.Node{GUID: h, SystemGUID: h, Kind: subnet.KindCA, Name: fmt.Sprintf("h%d", i), Ports: subnet.NewPorts(1)})
		links = append(links, wire(2*i, 1, 2*i+1, 1))
	}
	for i := range switches {
		links = append(links, wire(2*i, 2, 2*((i+1)%switches), 3))
	}
	f, err := subnet.New("circle", nodes, links)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func wire(a, pa, b, pb int) subnet.Link {
	return subnet.Link{
		A: subnet.PortRef{Node: int32(a), Port: ident.PortNum(pa)}, B: subnet.PortRef{Node: int32(b), Port: ident.PortNum(pb)},
		Rate: 100 * quantity.Gbps, Delay: quantity.Microsecond,
	}
}

func drawConfig(d dice, cyclic bool) Config {
	c := Config{
		Seed: uint64(d("seed", 0, 1000)), Payload: pick(d, "payload", 64, 256, 1000, 4096), AckEvery: pick(d, "ack every", 1, 1, 2, 16, 255),
		TruncateNs: d("truncate", 0, 3) == 0, GlobalRTT: d.flip("global"), CNPs: d.flip("cnps"), CNPGap: pick(d, "cnp gap", 0, 50*quantity.Microsecond),
		ECN: ECN{
			Min: int64(d("ecn min", 0, 50_000)), PMax: pick(d, "p max", 0.01, 0.2, 1), Off: d("ecn off", 0, 4) == 0, AtEnqueue: d.flip("at enqueue"),
		},
		Buffer: Buffer{
			Bytes: 1 << d("buffer", 12, 22), Reserve: pick[int64](d, "reserve", 0, 1, 500, 4096), Alpha: pick(d, "alpha", 0, 1.0/64, 1, 8),
			Static: pick[int64](d, "static", 0, 0, 2000, 100_000), Resume: pick[int64](d, "resume", 0, 1, 3072), EgressAlpha: pick(d, "egress alpha", 0, 0.5, 1, 16),
		},
		Recovery: Recovery{Mode: RecoveryMode(d("recovery", 0, 1)), NackGap: pick(d, "nack gap", 0, 4*quantity.Microsecond)},
	}
	c.ECN.Max = c.ECN.Min + int64(d("ecn span", 0, 100_000))
	for range d("classes", 1, 4) {
		c.Classes = append(c.Classes, Class{Strict: d("strict", 0, 3) == 0, Weight: pick(d, "weight", 1, 3, 255), Lossy: d("lossy", 0, 2) == 0})
	}
	c.CNPClass = uint8(d("cnp class", 0, len(c.Classes)-1))
	lossy := false
	for _, cl := range c.Classes {
		lossy = lossy || cl.Lossy
	}
	if lossy || d.flip("timeout") {
		c.Recovery.Timeout = pick(d, "timeout", 400*quantity.Microsecond, 2*quantity.Millisecond)
	}
	if d("fair rate", 0, 2) == 0 && !cyclic {
		c.FairRate = &FairRate{Period: 20 * quantity.Microsecond}
	}
	return c
}

// algorithms builds one instance of every congestion control.
func algorithms(tb rapid.TB) []cc.Algorithm {
	tb.Helper()
	var out []cc.Algorithm
	for _, s := range cc.Specs() {
		a, err := s.Build(nil)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

func drawScenario(tb testing.TB, d dice) *scenario {
	tb.Helper()
	s := &scenario{headroom: true}
	s.topo, s.cyclic = drawTopology(tb, d)
	s.cfg = drawConfig(d, s.cyclic)
	hosts := 0
	for i := range s.topo.Nodes {
		if s.topo.Nodes[i].Kind != subnet.KindSwitch {
			hosts++
		}
	}
	for id := range d("flows", 1, 10) {
		src := d("source", 0, hosts-1)
		f := FlowSpec{
			ID: int64(id), Src: int32(src), Dst: int32((src + d("distance", 1, hosts-1)) % hosts),
			Bytes: int64(d("bytes", 1, 200_000)), Start: quantity.Picoseconds(d("start", 0, 100)) * quantity.Microsecond,
			Algorithm: uint16(d("algorithm", 0, len(cc.Specs())-1)), Class: uint8(d("class", 0, len(s.cfg.Classes)-1)),
			Weight: pick(d, "flow weight", 0, 0.5, 4), Demand: pick(d, "demand", 0, 0, 100*quantity.Mbps, 3*quantity.Gbps),
		}
		if d("endless", 0, 4) == 0 {
			f.Bytes, f.Stop = 0, f.Start+quantity.Picoseconds(d("stop", 1, 30))*quantity.Microsecond
		}
		s.flows = append(s.flows, f)
	}
	return s
}

// network builds the scenario's network. It doubles a buffer that is too small until the headroom fits.
func (s *scenario) network(tb rapid.TB, done func(Done)) *Network {
	tb.Helper()
	for {
		cfg := s.cfg
		cfg.Algorithms, cfg.OnDone = algorithms(tb), done
		n, err := New(s.topo, cfg)
		if err == nil {
			for _, f := range s.flows {
				if err := n.Add(f); err != nil {
					tb.Fatal(err)
				}
			}
			return n
		}
		if !strings.Contains(err.Error(), "headroom") || s.cfg.Buffer.Bytes > 1<<32 {
			tb.Fatal(err)
		}
		s.cfg.Buffer.Bytes *= 2
	}
}
