package scenario

import (
	"math"

	"fairlane/subnet"
)

// Constants of the estimate, measured on the built-in scenarios (docs/simulator.md, Speed).
const (
	bytesPerFlow     = 420 // sender, receiver and congestion control of an active flow
	bytesPerPort     = 700 // a port with its queues
	bytesPerRoute    = 4   // per (switch, host)
	bytesPerPacket   = 64
	packetsPerHost   = 1000 // largest number of packets in queues and on links, a rule of thumb
	hopsPerCPUSecond = 4e6
	secondsPerRoute  = 60e-9 // computation per (switch, host)
	minOnWire        = 64    // bytes of the smallest data packet
)

// Estimate predicts the size and cost of a run.
type Estimate struct {
	Plane    string `json:"plane"`
	Hosts    int    `json:"hosts"`
	Switches int    `json:"switches"`
	Links    int    `json:"links"`
	// Flows, Bytes (payload) and PacketHops are expected values; unlimited flows count with the bytes that their links can
	// carry up to the end of the run. Flows is a whole number; on InfiniBand it counts queue pairs. PacketHops is at most what
	// the links can carry in the duration; Bytes is all offered traffic. Flows of traces count after ReadTraces has read them.
	Flows      float64 `json:"flows"`
	Bytes      float64 `json:"bytes"`
	PacketHops float64 `json:"packet_hops"`
	MeanHops   float64 `json:"mean_hops"` // links between two hosts
	// MemoryBytes and CPUSeconds are rough, within a factor of two or three.
	MemoryBytes float64 `json:"memory_bytes"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	Trace       bool    `json:"trace"` // part of the traffic is read from a file
	// Speeds are the effective settings at each link rate; Ethernet only.
	Speeds []Speed `json:"speeds,omitempty"`
}

// Estimate returns an estimate of a run of the scenario, without running it.
func (s *Scenario) Estimate() Estimate {
	f := s.Fabric
	est := Estimate{
		Plane: s.Plane(), Hosts: len(Hosts(f)), Switches: len(f.Switches()), Links: len(f.Links), MeanHops: meanHops(f),
	}
	var packets, atOnce float64
	if s.Ethernet == nil {
		packets, atOnce = s.estimateInfiniBand(&est)
	} else {
		packets, atOnce = s.estimateEthernet(&est)
	}
	est.Speeds = s.Speeds()
	est.Flows = math.Round(est.Flows)
	packets = s.carried(est.Bytes, packets)
	est.PacketHops = packets * est.MeanHops
	held := min(packets, packetsPerHost*float64(est.Hosts))
	routes := float64(est.Hosts) * float64(est.Switches)
	est.MemoryBytes = 1e6 + bytesPerPacket*held + bytesPerFlow*atOnce + bytesPerPort*2*float64(est.Links) + bytesPerRoute*routes
	est.CPUSeconds = est.PacketHops/hopsPerCPUSecond + secondsPerRoute*routes
	return est
}

// carried returns the number of the given packets, which have the given total bytes, that the links of the hosts can carry in
// the duration.
func (s *Scenario) carried(bytes, packets float64) float64 {
	if packets <= 0 {
		return 0
	}
	var capacity float64
	for _, h := range Hosts(s.Fabric) {
		if l, _ := s.Fabric.Link(h); l != nil {
			capacity += float64(l.Rate) / 8
		}
	}
	return min(packets, capacity*s.Duration.Seconds()/max(minOnWire, bytes/packets))
}

func (s *Scenario) estimateEthernet(est *Estimate) (packets, atOnce float64) {
	e := s.Ethernet
	payload := float64(e.Model.Payload)
	if payload == 0 {
		payload = 1000
	}
	var endless float64
	for i := range e.Flows {
		fl := &e.Flows[i]
		n := float64(fl.Count)
		est.Flows += n
		atOnce += n
		if fl.Bytes == 0 {
			endless++
			continue
		}
		est.Bytes += n * float64(fl.Bytes)
		packets += n * math.Ceil(float64(fl.Bytes)/payload)
	}
	if endless > 0 {
		bytes := s.endlessBytes()
		est.Bytes += bytes
		packets += bytes / payload
	}
	for i := range e.Workload {
		x := s.expect(&e.Workload[i])
		est.Flows += x.flows
		est.Bytes += x.bytes
		atOnce += x.atOnce
		packets += max(x.bytes/payload, x.flows)
		est.Trace = est.Trace || e.Workload[i].Kind == KindTrace
	}
	return packets, atOnce
}

// endlessBytes returns the largest number of bytes that unlimited flows can deliver: the bytes that the links of their
// destinations and of their sources can carry in the time.
func (s *Scenario) endlessBytes() float64 {
	in, out := map[int32]float64{}, map[int32]float64{}
	hosts := Hosts(s.Fabric)
	capacity := func(h int32) float64 {
		l, _ := s.Fabric.Link(hosts[h])
		return float64(l.Rate) / 8
	}
	for i := range s.Ethernet.Flows {
		fl := &s.Ethernet.Flows[i]
		if fl.Bytes > 0 {
			continue
		}
		until := s.Duration
		if fl.Stop > 0 {
			until = min(until, fl.Stop)
		}
		seconds := max(0, until-fl.Start).Seconds()
		in[fl.Dst] = max(in[fl.Dst], capacity(fl.Dst)*seconds)
		out[fl.Src] = max(out[fl.Src], capacity(fl.Src)*seconds)
	}
	sum := func(m map[int32]float64) (total float64) {
		for h := range int32(len(hosts)) {
			total += m[h]
		}
		return total
	}
	return min(sum(in), sum(out))
}

func (s *Scenario) estimateInfiniBand(est *Estimate) (packets, atOnce float64) {
	in := map[subnet.PortRef]float64{}
	for i := range s.Flows {
		fl := &s.Flows[i]
		est.Flows += float64(fl.QPs)
		atOnce += float64(fl.QPs)
		dst, _ := s.Fabric.PortByID(fl.Dst)
		l, _ := s.Fabric.Link(dst)
		if l == nil {
			continue
		}
		if fl.Bytes > 0 {
			est.Bytes += float64(fl.Bytes)
		} else if _, ok := in[dst]; !ok {
			in[dst] = float64(l.Rate) / 8 * s.Duration.Seconds()
			est.Bytes += in[dst]
		}
	}
	mtu := float64(s.Config.MTU)
	if mtu == 0 {
		mtu = 4096
	}
	return est.Bytes / mtu, atOnce
}

// hopSamples is the largest number of source hosts in meanHops.
const hopSamples = 32

// meanHops returns the mean number of links between two hosts, from a sample of sources.
func meanHops(f *subnet.Fabric) float64 {
	hosts := Hosts(f)
	if len(hosts) < 2 {
		return 0
	}
	neighbours := make([][]int32, len(f.Nodes))
	for i := range f.Links {
		a, b := f.Links[i].A.Node, f.Links[i].B.Node
		neighbours[a] = append(neighbours[a], b)
		neighbours[b] = append(neighbours[b], a)
	}
	dist := make([]int32, len(f.Nodes))
	sum, n := 0.0, 0.0
	for i := 0; i < len(hosts); i += max(1, len(hosts)/hopSamples) {
		breadthFirst(neighbours, hosts[i].Node, dist)
		for _, h := range hosts {
			if d := dist[h.Node]; d > 0 {
				sum += float64(d)
				n++
			}
		}
	}
	return sum / max(1, n)
}

// breadthFirst sets the distance of every node in links; -1 means unreachable.
func breadthFirst(neighbours [][]int32, from int32, dist []int32) {
	for i := range dist {
		dist[i] = -1
	}
	dist[from] = 0
	queue := []int32{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, next := range neighbours[at] {
			if dist[next] < 0 {
				dist[next] = dist[at] + 1
				queue = append(queue, next)
			}
		}
	}
}
