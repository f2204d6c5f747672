package reproduce

import (
	"context"
	"fmt"
	"slices"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/sim/fabric"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// Values in S1's description of its testbed: links limited to 10 Gbit/s, packets of 1024 bytes, a delay applied once per four
// packets, a table of 128 entries and a CCTI_Timer of 150 units.
const (
	linkRate     = 10 * quantity.Gbps
	payloadBytes = 1024
	s1Aggregate  = 4
	tableEntries = 128
	s1Timer      = 150
)

// Values that S1 does not give, with our defaults: the middle of the sixteen thresholds, and one mark in sixteen eligible
// packets. planSensitivity varies both.
const (
	openThreshold = 8
	openMarking   = 16
)

// shallowThreshold is the alternative threshold, at the end of the range. S1 calls it very low, to prevent congestion from
// spreading (4.1). Its results are reported in addition to those of openThreshold. S1 also describes the thresholds as link
// utilizations, 60 % at 15; useReadingsOfS1 uses that reading.
const shallowThreshold = 15

const (
	us = quantity.Microsecond
	ms = quantity.Millisecond
)

// packetTime is the transmission time of a full packet with its headers.
const packetTime = quantity.Picoseconds((payloadBytes + fabric.DataHeader) * 8 * int64(quantity.Second) / int64(linkRate))

// reading converts an injection rate delay of S1, in microseconds, to a rate. S1 allows three contradictory readings.
type reading string

const (
	// readIBTA inserts the delay after every packet (IBTA annex A10), as devices do.
	readIBTA reading = "ibta"
	// readS1 is the formula in S1's experiment E2, (1024·8)/(IRD·4): one packet per four delays.
	readS1 reading = "s1"
	// readAggregate is S1's Algorithm 2 taken literally: four packets start no earlier than one delay after the previous four.
	readAggregate reading = "aggregate"
)

// entry encodes a delay as a table entry of the device: the pause after each packet, as a multiple of the packet's time.
func (r reading) entry(ird quantity.Picoseconds) (ibcc.Entry, error) {
	x := float64(ird) / float64(packetTime)
	switch r {
	case readS1:
		x = max(0, s1Aggregate*x-1)
	case readAggregate:
		x = max(0, x/s1Aggregate-1)
	}
	e, err := ibcc.EntryFromFactor(x)
	if err != nil {
		return ibcc.Entry{}, fmt.Errorf("injection rate delay %s by reading %s: %w", ird, r, err)
	}
	return e, nil
}

// aggregate returns the number of packets between two applications of the delay.
func (r reading) aggregate() int {
	if r == readAggregate {
		return s1Aggregate
	}
	return 1
}

// payloadRate returns the payload rate in bit/s of a flow fixed at a delay, for the reading.
func (r reading) payloadRate(ird quantity.Picoseconds) float64 {
	spacing := ird + packetTime
	switch r {
	case readS1:
		spacing = max(s1Aggregate*ird, packetTime)
	case readAggregate:
		spacing = max(ird/s1Aggregate, packetTime)
	}
	return payloadBytes * 8 / spacing.Seconds()
}

// s1Table returns S1's CCT(i) = 14·i²/1062 us in a reading, with each entry rounded to the nearest encodable value.
func s1Table(r reading) ([]ibcc.Entry, error) {
	table := make([]ibcc.Entry, tableEntries)
	for i := range table {
		var err error
		if table[i], err = r.entry(quantity.Picoseconds(14 * i * i * int(us) / 1062)); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// variant is one choice of all open values of an experiment with congestion control.
type variant struct {
	seed      uint64
	restart   bool // the timer restarts on BECN, as in S1's Algorithm 1
	marking   uint16
	threshold uint8
	reading   reading
	by        fabric.MarkBasis     // quantity that is compared with the threshold
	window    quantity.Picoseconds // averaging time of utilization; 0 means the simulator's default
}

func base(seed uint64, restart bool) variant {
	return variant{seed: seed, restart: restart, marking: openMarking, threshold: openThreshold, reading: readIBTA}
}

// readingsOfS1 returns the variants that S1's experiments run: two queue thresholds for each form of the timer.
func readingsOfS1(seed uint64) []variant {
	var out []variant
	for _, restart := range []bool{false, true} {
		for _, threshold := range []uint8{openThreshold, shallowThreshold} {
			v := base(seed, restart)
			v.threshold = threshold
			out = append(out, v)
		}
	}
	return out
}

func (v variant) timerForm() string {
	if v.restart {
		return "restart-on-becn"
	}
	return "free-running"
}

// label returns the last part of a variant's metric names: for readingsOfS1, the form of the timer, and the threshold unless
// it is openThreshold; otherwise the label for useReadingsOfS1.
func (v variant) label() string {
	switch {
	case v.by == fabric.MarkByUse:
		return v.timerForm() + "." + v.useLabel()
	case v.threshold == openThreshold:
		return v.timerForm()
	}
	return fmt.Sprintf("%s.threshold%d", v.timerForm(), v.threshold)
}

// legend returns the text of label for display.
func (v variant) legend() string {
	form := "free-running"
	if v.restart {
		form = "restarted by BECN"
	}
	if v.by == fabric.MarkByUse {
		return form + ", by use, " + v.useLegend()
	}
	return fmt.Sprintf("%s, threshold %d", form, v.threshold)
}

func (v variant) config() fabric.Config {
	return fabric.Config{Seed: v.seed, TimerRestart: v.restart, Aggregate: v.reading.aggregate(), MarkBy: v.by, UseWindow: v.window}
}

// testbed is a network of S1's two switches and six hosts.
type testbed struct {
	*fabric.Network
}

// newTestbed builds the network; every port has an MTU of 1024 bytes, so that the compiler and the simulator use the same
// packet size.
func newTestbed(cfg fabric.Config) (*testbed, error) {
	f, err := s1Fabric()
	if err != nil {
		return nil, err
	}
	cfg.MTU = payloadBytes
	n, err := fabric.New(f, cfg)
	if err != nil {
		return nil, fmt.Errorf("testbed: %w", err)
	}
	return &testbed{n}, nil
}

func s1Fabric() (*subnet.Fabric, error) {
	f, err := topogen.S1Testbed()
	if err != nil {
		return nil, err
	}
	nodes := slices.Clone(f.Nodes)
	for i := range nodes {
		nodes[i].Ports = slices.Clone(nodes[i].Ports)
		for p := range nodes[i].Ports {
			nodes[i].Ports[p].MTU = payloadBytes
		}
	}
	return subnet.New(f.Name, nodes, f.Links)
}

// host returns the port of a host of the testbed, A to F.
func host(f *subnet.Fabric, name string) (subnet.PortRef, error) {
	nodes := f.NodesByName(name)
	if len(nodes) != 1 {
		return subnet.PortRef{}, fmt.Errorf("testbed: %d hosts named %q, want 1", len(nodes), name)
	}
	return subnet.PortRef{Node: nodes[0], Port: 1}, nil
}

// flow adds an unlimited flow of one queue pair between two hosts.
func (b *testbed) flow(src, dst string, start, stop quantity.Picoseconds) (fabric.FlowID, error) {
	from, err := host(b.Topology(), src)
	if err != nil {
		return 0, err
	}
	to, err := host(b.Topology(), dst)
	if err != nil {
		return 0, err
	}
	return b.AddFlow(fabric.FlowSpec{Name: src + "->" + dst, Src: from, Dst: to, QPs: 1, Start: start, Stop: stop})
}

// congestionControl enables marking and sets S1's table and parameters on every host.
func (b *testbed) congestionControl(v variant, increase uint8) error {
	table, err := s1Table(v.reading)
	if err != nil {
		return err
	}
	topo := b.Topology()
	for _, sw := range topo.Switches() {
		b.SetSwitchCC(sw, ibcc.SwitchSettings{Threshold: v.threshold, MarkingRate: v.marking})
	}
	s := ibcc.CASettings{Limit: tableEntries - 1, Table: table, SLs: allSLs(ibcc.SLParams{Timer: s1Timer, Increase: increase})}
	for _, h := range topo.Hosts() {
		b.ApplyCA(h, 1, s)
	}
	return nil
}

// setIncrease changes CCTI_Increase of hosts during a run.
func (b *testbed) setIncrease(increase uint8, hosts ...string) error {
	for _, name := range hosts {
		p, err := host(b.Topology(), name)
		if err != nil {
			return err
		}
		b.SetCAParams(p.Node, p.Port, false, allSLs(ibcc.SLParams{Timer: s1Timer, Increase: increase}))
	}
	return nil
}

func allSLs(p ibcc.SLParams) (all [ident.NumSLs]ibcc.SLParams) {
	for i := range all {
		all[i] = p
	}
	return all
}

// runTo advances the network in steps of at most 10 ms, so that it returns soon after ctx ends.
func (b *testbed) runTo(ctx context.Context, t quantity.Picoseconds) error {
	for b.Now() < t {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.RunUntil(min(t, b.Now()+10*ms))
	}
	return nil
}

// count holds the totals of a flow.
type count struct {
	payload, wire, becns uint64
}

func (b *testbed) counts(ids []fabric.FlowID) []count {
	out := make([]count, len(ids))
	for i, id := range ids {
		f := b.Flow(id)
		out[i] = count{f.DeliveredPayload, f.DeliveredBytes, f.BECNs}
	}
	return out
}

// pace holds a flow's rates in a window: payload and whole packets in bit/s, BECNs per second.
type pace struct {
	payload, wire, becns float64
}

// measure runs the network to end, and returns the pace of each flow between from and end.
func (b *testbed) measure(ctx context.Context, ids []fabric.FlowID, from, end quantity.Picoseconds) ([]pace, error) {
	if err := b.runTo(ctx, from); err != nil {
		return nil, err
	}
	before := b.counts(ids)
	if err := b.runTo(ctx, end); err != nil {
		return nil, err
	}
	s := (end - from).Seconds()
	out := make([]pace, len(ids))
	for i, now := range b.counts(ids) {
		out[i] = pace{
			payload: float64(now.payload-before[i].payload) * 8 / s,
			wire:    float64(now.wire-before[i].wire) * 8 / s,
			becns:   float64(now.becns-before[i].becns) / s,
		}
	}
	return out, nil
}

func gbit(bps float64) float64 { return bps / float64(quantity.Gbps) }
