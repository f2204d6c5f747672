package ether

import (
	"errors"
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/cc"
)

// FlowSpec specifies a flow.
type FlowSpec struct {
	ID       int64 // number of the flow, chosen by the caller and returned in reports
	Src, Dst int32 // hosts, by number
	Bytes    int64 // payload; 0 means unlimited
	Start    quantity.Picoseconds
	// Stop is the time at which a flow stops sending; 0 means never. The flow completes when all sent bytes are acknowledged,
	// and its size is the number of sent bytes. A finite flow that has sent everything by then completes normally.
	Stop      quantity.Picoseconds
	Algorithm uint16 // index into Config.Algorithms
	Class     uint8
	Code      uint8 // DSCP of its packets, 0 to 63; selects the class at ports with a map (SetMap)
	Tenant    uint16
	Entropy   uint32           // input of the path hash, as a UDP source port is
	Weight    float64          // 0 means 1
	Demand    quantity.BitRate // largest rate that the application offers, wire bytes; 0 means no limit
	// Function is the virtual function of Src that sends the flow, as returned by AddFunction; PeerFunction is the function of
	// Dst that receives it. 0 means none; a sender with functions requires one.
	Function, PeerFunction int32

	slot int32 // set by Parallel: slot + 1
}

// Source returns flows in the order of their start, one at a time.
type Source interface {
	Next() (FlowSpec, bool)
}

// Done is a completed flow.
type Done struct {
	ID       int64
	Src, Dst int32
	Bytes    int64
	Tenant   uint16
	Start    quantity.Picoseconds
	FCT      quantity.Picoseconds // time from the start to the arrival of the last acknowledgement
	// Ideal is the base round trip time plus the transmission time of the flow's packets, with transport headers, at the rate
	// of the slowest link. Simulators of the field use this convention; it counts a full packet twice, so a flow of one short
	// packet can be faster than Ideal.
	Ideal quantity.Picoseconds
}

// Slowdown returns FCT divided by Ideal.
func (d *Done) Slowdown() float64 { return float64(d.FCT) / float64(d.Ideal) }

// States of a sender.
const (
	stateFree    uint8 = iota
	stateIdle          // no data to send, or the window is full
	stateWaiting       // waits for its pacing deadline
	stateReady         // in the turn queue of its host
	stateRemote        // another part simulates its sender
)

const pageSize = 256 // flows

// flow holds both halves of a flow in two cache lines: a receiver reads and writes only the second.
type flow struct {
	ctl   cc.Control
	size  int64 // payload bytes; the largest int64 for unlimited flows
	next  int64 // first byte not sent
	una   int64 // first byte not acknowledged
	due   quantity.Picoseconds
	wake  quantity.Picoseconds // time of the valid pacing event, in stateWaiting
	paced float64              // rate used for the last gap; 0 means line rate

	moved  quantity.Picoseconds // last progress, for the retransmission timeout
	next2  int32                // next flow in the turn queue of its host
	src    int32
	dst    int32
	hash   uint32
	back   uint32 // hash of the return path
	demand uint32 // kbit/s that the application offers; 0 means no limit
	wire   uint16 // bytes of the last packet on the wire
	gen    uint16
	algo   uint16
	state  uint8
	cls    uint8

	// The receiver's half.
	expected int64
	cnpAt    quantity.Picoseconds
	held     int32 // the last packet whose acknowledgement is delayed, or none
	packets  uint8 // number of received packets not yet acknowledged
	marked   uint8
	pending  uint8 // bits of pendingGap, pendingAnswer and pendingResend
	quiet    bool  // sender: its algorithm does not need Settle and Sent yet (cc.Traits)
}

// Bits of flow.pending.
const (
	pendingGap    uint8 = 1 << iota // packets above expected were kept (selective repeat)
	pendingAnswer                   // an event checks for an acknowledgement delayed too long
	pendingResend                   // sender: selective repeat is in progress
)

// resends reports whether selective repeat is in progress.
func (f *flow) resends() bool { return f.pending&pendingResend != 0 }

// setResends sets whether selective repeat is in progress.
func (f *flow) setResends(on bool) {
	f.pending &^= pendingResend
	if on {
		f.pending |= pendingResend
	}
}

// info holds the fields of a flow that are used only at its start, at its end and for going back (go-back-N).
type info struct {
	id     int64
	start  quantity.Picoseconds
	top    int64 // one above the highest byte sent before the sender went back
	tenant uint16
	code   uint8
}

// ends are the virtual functions of a flow's sender and receiver, or 0.
type ends struct{ function, peer int32 }

// page contains no pointers, so the garbage collector does not scan it.
type page struct {
	flows [pageSize]flow
	infos [pageSize]info
}

func (n *Network) flow(slot int32) *flow {
	return &n.pages[uint32(slot)/pageSize].flows[uint32(slot)%pageSize]
}

func (n *Network) info(slot int32) *info {
	return &n.pages[uint32(slot)/pageSize].infos[uint32(slot)%pageSize]
}

// SetSource sets a source of flows, in addition to those of Add.
func (n *Network) SetSource(s Source) error {
	n.source = s
	err := n.pull()
	if err != nil {
		n.source = nil
	}
	return err
}

// pull schedules the next flow of the source.
func (n *Network) pull() error {
	if n.source == nil {
		return nil
	}
	spec, ok := n.source.Next()
	if !ok {
		n.source = nil
		return nil
	}
	return n.Add(spec)
}

// Add schedules one flow. A start in the past means now. Add returns an error for hosts, classes or algorithms that do not
// exist, for a flow to itself, when no path exists, and for a path with more switches than the algorithm's packets have
// telemetry records for.
func (n *Network) Add(f FlowSpec) error {
	if err := n.checkFlow(&f); err != nil {
		return fmt.Errorf("flow %d: %w", f.ID, err)
	}
	var at int32
	if k := len(n.freeSpecs); k > 0 {
		at = n.freeSpecs[k-1]
		n.freeSpecs = n.freeSpecs[:k-1]
		n.specs[at] = f
	} else {
		at = int32(len(n.specs))
		n.specs = append(n.specs, f)
	}
	n.upcoming++
	n.eng.Schedule(f.Start, evStart, at, 0)
	return nil
}

func (n *Network) checkFlow(f *FlowSpec) error {
	hosts := int32(len(n.hosts))
	switch {
	case f.Src < 0 || f.Src >= hosts || f.Dst < 0 || f.Dst >= hosts:
		return fmt.Errorf("hosts %d and %d: want 0 to %d", f.Src, f.Dst, hosts-1)
	case f.Src == f.Dst:
		return fmt.Errorf("host %d to itself: want two hosts", f.Src)
	case f.Bytes < 0:
		return fmt.Errorf("%d bytes: want 0 or more", f.Bytes)
	case int(f.Algorithm) >= len(n.cfg.Algorithms):
		return fmt.Errorf("algorithm %d: want 0 to %d", f.Algorithm, len(n.cfg.Algorithms)-1)
	case int(f.Class) >= n.classes:
		return fmt.Errorf("class %d: want 0 to %d", f.Class, n.classes-1)
	case f.Code >= Codes:
		return fmt.Errorf("code %d: want 0 to %d", f.Code, Codes-1)
	case !(f.Weight >= 0) || math.IsInf(f.Weight, 1):
		return fmt.Errorf("weight %g: want more than 0", f.Weight)
	case f.Demand < 0:
		return fmt.Errorf("demand %d bit/s: want 0 (no limit) or more", int64(f.Demand))
	}
	if err := n.checkFunctions(f); err != nil {
		return err
	}
	if !n.reaches(f.Src, f.Dst) {
		return errors.New("no path between its hosts")
	}
	return n.checkPath(f)
}

// checkPath rejects a path with more switches than the packets of the flow's algorithm have telemetry records for, because the
// flow would never be controlled. All paths of a flow have the same length.
func (n *Network) checkPath(f *FlowSpec) error {
	most := n.traits[f.Algorithm].maxHops
	if most == 0 {
		return nil
	}
	if switches := n.walk(f.Src, f.Dst, 0).hops - 1; switches > most {
		return fmt.Errorf("%d switches between its hosts: want at most %d, the telemetry capacity of a packet of its algorithm", switches, most)
	}
	return nil
}

// begin starts a scheduled flow.
func (n *Network) begin(at int32) {
	spec := n.specs[at]
	n.freeSpecs = append(n.freeSpecs, at)
	n.upcoming--
	if n.source != nil {
		if err := n.pull(); err != nil && n.failed == nil {
			n.failed = err
			n.source = nil
		}
	}
	slot := n.slotFor(&spec)
	f := n.flow(slot)
	gen := f.gen + 1
	h := n.pathHash(&spec)
	*f = flow{
		size: spec.Bytes, src: spec.Src, dst: spec.Dst, hash: h, back: uint32(sim.Hash(uint64(h))), gen: gen, due: n.eng.Now(), moved: n.eng.Now(),
		state: stateIdle, algo: spec.Algorithm, cls: n.classOf(spec.Src, spec.Code, spec.Class), demand: kbps(spec.Demand), cnpAt: -quantity.Second, held: none,
	}
	*n.info(slot) = info{id: spec.ID, start: n.eng.Now(), tenant: spec.Tenant, code: spec.Code}
	if len(n.functions) > 0 {
		n.ends[slot] = ends{spec.Function, spec.PeerFunction}
	}
	if spec.Bytes == 0 {
		f.size = math.MaxInt64
	}
	if !n.owns(n.hosts[spec.Src].node) {
		f.state = stateRemote
		return
	}
	w := n.walk(spec.Src, spec.Dst, h)
	if spec.Weight == 0 {
		spec.Weight = 1
	}
	rtt := w.rtt
	if n.cfg.GlobalRTT {
		rtt = n.largestRTT()
	}
	tr := &n.traits[f.algo]
	n.flowArg = cc.Flow{
		LineRate: n.ports[n.hosts[f.src].port].rate, BaseRTT: rtt, BDP: bdp(w.rate, rtt),
		Payload: n.cfg.Payload, Wire: n.cfg.Payload + int(tr.data), Hops: w.hops, Host: uint16(f.src), Size: spec.Bytes, Weight: spec.Weight,
		Domain: uint16(n.hosts[f.src].domain), Peer: uint16(n.hosts[f.dst].domain), Seed: sim.Hash(n.cfg.Seed, uint64(spec.ID)),
	}
	f.ctl = n.cfg.Algorithms[f.algo].Start(slot, n.eng.Now(), &n.flowArg)
	f.quiet = tr.quiet
	n.startEdges(slot)
	n.active++
	n.peakActive = max(n.peakActive, n.active)
	if spec.Stop > 0 {
		n.eng.Schedule(spec.Stop, evStop, slot, int32(gen))
	}
	if n.cfg.Recovery.Timeout > 0 {
		n.eng.Schedule(n.eng.Now()+n.cfg.Recovery.Timeout, evTimeout, slot, int32(gen))
	}
	n.consider(slot, f)
	if n.cfg.OnStart != nil {
		n.cfg.OnStart(spec.ID, FlowRef{slot, gen})
	}
}

// kbps returns a demand in kbit/s, at least 1. A demand above 4 Tbit/s is no limit.
func kbps(r quantity.BitRate) uint32 {
	if r <= 0 || r > math.MaxUint32*1000 {
		return 0
	}
	return uint32(max(1, r/1000))
}

// bdp returns the bandwidth-delay product of a path in bytes.
func bdp(rate quantity.BitRate, rtt quantity.Picoseconds) int64 {
	return int64(float64(rate) / 8 * float64(rtt) / 1e12)
}

// slotFor returns the slot of a starting flow: a free slot, or the slot that all parts agreed on.
func (n *Network) slotFor(f *FlowSpec) int32 {
	if f.slot == 0 {
		return n.slot()
	}
	for n.slots < f.slot {
		n.slot()
	}
	return f.slot - 1
}

// recycle frees a slot. The parts of a fabric free slots together, when they synchronise.
func (n *Network) recycle(slot int32) {
	if n.part != nil {
		n.part.ended = append(n.part.ended, slot)
		return
	}
	n.freeSlots = append(n.freeSlots, slot)
}

// slot returns a free slot and allocates its space in all tables.
func (n *Network) slot() int32 {
	if k := len(n.freeSlots); k > 0 {
		s := n.freeSlots[k-1]
		n.freeSlots = n.freeSlots[:k-1]
		return s
	}
	s := n.slots
	if int(s) == len(n.pages)*pageSize {
		n.pages = append(n.pages, new(page))
	}
	if len(n.functions) > 0 {
		n.ends = append(n.ends, ends{})
	}
	if n.slots++; n.slots > n.reserved {
		n.reserved = max(64, n.reserved+n.reserved/4)
		for _, a := range n.cfg.Algorithms {
			a.Reserve(int(n.reserved))
		}
		n.reserveEdges(int(n.reserved))
	}
	return s
}

// finish ends a flow and frees its slot.
func (n *Network) finish(slot int32, f *flow) {
	i := n.info(slot)
	d := Done{ID: i.id, Src: f.src, Dst: f.dst, Bytes: f.size, Tenant: i.tenant, Start: i.start, FCT: n.eng.Now() - i.start}
	d.Ideal = n.ideal(f)
	if f.state == stateReady {
		f.state = stateFree // the turn queue skips it later
	} else {
		f.state = stateFree
		n.recycle(slot)
	}
	delete(n.selective, slot)
	delete(n.nacks, slot)
	n.dropHeld(f)
	n.active--
	n.completed++
	n.lastDone = n.eng.Now()
	if n.cfg.OnDone != nil {
		n.cfg.OnDone(d)
	}
}

// ideal returns the completion time of a flow without competing traffic.
func (n *Network) ideal(f *flow) quantity.Picoseconds {
	w := n.walk(f.src, f.dst, f.hash)
	packets := (f.size + int64(n.cfg.Payload) - 1) / int64(n.cfg.Payload)
	bytes := float64(f.size + packets*int64(n.cfg.Headers.Data))
	return w.rtt + quantity.Picoseconds(bytes*8e12/float64(w.rate))
}
