package ether

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/subnet"
)

// Parallel simulates one fabric on several threads. It divides the fabric into parts along links. Each part is a separate
// Network that runs ahead of the others by at most the shortest delay of a cut link, because no packet can arrive from
// another part sooner (conservative synchronisation: Chandy and Misra, 1979). The parts exchange packets over cut links in a
// fixed order when they synchronise. A run is therefore a function of topology, configuration, flows and the number of parts. A
// different number of parts changes only the order of events at the same picosecond.
//
// Its methods are those of Network, with one difference: OnDone is called at the end of RunUntil, not at the instant of the
// completion. A flow added from OnDone cannot start earlier. Traffic whose flows wait for others, such as a collective, would
// therefore run too late, and its timing would depend on the frequency of RunUntil calls. Use a Network for such traffic.
type Parallel struct {
	parts     []*Network
	home      []uint8 // part of each node
	ahead     quantity.Picoseconds
	now       quantity.Picoseconds
	end       quantity.Picoseconds // time up to which the parts may run before they synchronise
	open      bool                 // the parts are running towards end
	source    Source
	next      FlowSpec // next flow of the source, not yet passed to the parts
	more      bool
	freeSlots []int32
	slots     int32
	queued    flowQueue // flows from Add
	onDone    func(Done)
	failed    error
	done      []Done
}

// NewParallel divides a fabric into parts and builds a network for each. make returns the configuration of a part. It must
// return the same configuration each time but with separate algorithm instances, because each part runs in its own goroutine.
// OnDone of the first configuration is called for all flows, in time order, at the end of RunUntil; OnRTT of each is called
// by the part's goroutine. NewParallel returns an error when the fabric has no links to cut: all hosts are at one switch, or
// there are more parts than switches with hosts. It also rejects BiCC switches and algorithms with state shared by flows of
// several hosts (cc.Traits.Shared), because each part would have a separate copy of the state.
func NewParallel(topo *subnet.Fabric, parts int, make func(part int) (Config, error)) (*Parallel, error) {
	if parts < 1 || parts > 64 {
		return nil, fmt.Errorf("parallel fabric: %d parts: want 1 to 64", parts)
	}
	p := &Parallel{}
	for i := range parts {
		cfg, err := make(i)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		if cfg.DCI != nil {
			return nil, errors.New("parallel fabric: BiCC switches keep state of flows from several parts: want one thread")
		}
		for k, a := range cfg.Algorithms {
			if parts > 1 && a.Traits().Shared {
				return nil, fmt.Errorf("parallel fabric: flows of several hosts share state of algorithm %d, and each part would have a separate copy: want one thread", k)
			}
		}
		if i == 0 {
			p.onDone = cfg.OnDone
		}
		n, err := newPart(topo, cfg, p, i, parts)
		if err != nil {
			return nil, err
		}
		p.parts = append(p.parts, n)
	}
	return p, nil
}

func newPart(topo *subnet.Fabric, cfg Config, p *Parallel, i, parts int) (*Network, error) {
	pt := &part{}
	if cfg.OnDone != nil || p.onDone != nil {
		cfg.OnDone = func(d Done) { pt.done = append(pt.done, d) }
	}
	n, err := assemble(topo, cfg, func(n *Network) error {
		if p.home == nil {
			if err := p.divide(n, parts); err != nil {
				return err
			}
		}
		pt.local = make([]bool, len(p.home))
		for node, home := range p.home {
			pt.local[node] = int(home) == i
		}
		pt.cut = make([]int8, len(n.ports))
		for pi := range n.ports {
			pt.cut[pi] = -1
			if q := &n.ports[pi]; q.peer != none && pt.local[q.node] && !pt.local[n.ports[q.peer].node] {
				pt.cut[pi] = int8(p.home[n.ports[q.peer].node])
			}
		}
		pt.out = make([]outbox, parts)
		for k := range pt.out {
			pt.out[k].earliest = sim.Never
		}
		n.part = pt
		return nil
	})
	return n, err
}

// divide assigns every node to a part. Switches at the same distance from the hosts are divided evenly, with neighbours in one
// part; hosts belong to the part of their switch.
func (p *Parallel) divide(n *Network, parts int) error {
	nodes := len(n.first) - 1
	p.home = make([]uint8, nodes)
	level := make([]int, nodes) // links to the nearest host
	place := make([]float64, nodes)
	var layer []int32
	for i := range n.hosts {
		place[n.hosts[i].node] = float64(i)
		layer = append(layer, n.hosts[i].node)
	}
	for depth := 1; len(layer) > 0; depth++ {
		layer = n.above(layer, level, place, depth)
		slices.SortStableFunc(layer, func(a, b int32) int {
			switch {
			case place[a] < place[b]:
				return -1
			case place[a] > place[b]:
				return 1
			}
			return 0
		})
		for i, node := range layer {
			p.home[node] = uint8(i * parts / len(layer))
		}
		if depth == 1 && len(layer) < parts {
			return fmt.Errorf("parallel fabric: %d parts: want at most %d, the number of switches with hosts", parts, len(layer))
		}
	}
	for i := range n.hosts {
		if peer := n.ports[n.hosts[i].port].peer; n.ports[peer].sw != none {
			p.home[n.hosts[i].node] = p.home[n.ports[peer].node]
		}
	}
	return p.lookAhead(n, parts)
}

// above returns the switches next to a layer that are in no layer yet, and places each at the mean position of its
// neighbours in that layer.
func (n *Network) above(layer []int32, level []int, place []float64, depth int) []int32 {
	count := make(map[int32]int)
	var out []int32
	for _, node := range layer {
		for pi := n.first[node]; pi < n.first[node+1]; pi++ {
			peer := n.ports[pi].peer
			if peer == none || n.ports[peer].sw == none {
				continue
			}
			up := n.ports[peer].node
			if level[up] != 0 && level[up] != depth {
				continue
			}
			if level[up] == 0 {
				level[up] = depth
				out = append(out, up)
			}
			count[up]++
			place[up] += place[node]
		}
	}
	for _, node := range out {
		place[node] /= float64(count[node])
	}
	return out
}

func (p *Parallel) lookAhead(n *Network, parts int) error {
	p.ahead = sim.Never
	for pi := range n.ports {
		q := &n.ports[pi]
		if q.peer != none && p.home[q.node] != p.home[n.ports[q.peer].node] {
			p.ahead = min(p.ahead, q.delay)
		}
	}
	if parts == 1 {
		p.ahead = quantity.Millisecond // flows are announced this far ahead
	}
	if p.ahead <= 0 || p.ahead == sim.Never {
		return errors.New("parallel fabric: a link between parts has no delay: want a delay above 0")
	}
	return nil
}

// SetSource sets a source of flows, in addition to those of Add.
func (p *Parallel) SetSource(s Source) error {
	p.source = s
	p.next, p.more = s.Next()
	return nil
}

// Add schedules one flow.
func (p *Parallel) Add(f FlowSpec) error {
	if err := p.parts[0].checkFlow(&f); err != nil {
		return fmt.Errorf("flow %d: %w", f.ID, err)
	}
	if p.open && f.Start <= p.end {
		p.give(f)
		return nil
	}
	p.queued.push(&f)
	return nil
}

// RunUntil processes all events up to and including t; it has no effect if t is in the past.
func (p *Parallel) RunUntil(t quantity.Picoseconds) {
	if t < p.now {
		return
	}
	var wg sync.WaitGroup
	r := &round{p: p, limit: t, bar: newBarrier(len(p.parts))}
	for i := 1; i < len(p.parts); i++ {
		wg.Go(func() { r.work(i) })
	}
	r.work(0)
	wg.Wait()
	p.now = t
	for _, n := range p.parts {
		n.RunUntil(t)
	}
	p.report()
}

// round is one call of RunUntil. The first part coordinates while the others wait.
type round struct {
	p     *Parallel
	limit quantity.Picoseconds
	bar   *barrier
	met   bool // the parts have just synchronised
	over  bool
}

func (r *round) work(i int) {
	n := r.p.parts[i]
	for {
		if i == 0 {
			r.met, r.over = r.p.meet(r.limit)
		}
		r.bar.wait()
		if r.over {
			return
		}
		if r.met {
			for from, q := range r.p.parts {
				if from != i {
					n.take(&q.part.out[i])
				}
			}
			r.bar.wait() // no part writes to an outbox while it is emptied
		}
		n.RunUntil(min(r.p.end, r.limit))
		r.bar.wait()
	}
}

// meet exchanges state between the parts when they have reached the end of their window, and sets the next window. It
// ends before the first event plus the look-ahead, the earliest arrival of a packet from another part. The synchronisation
// times do not depend on limit, so a run does not depend on the frequency of RunUntil calls.
func (p *Parallel) meet(limit quantity.Picoseconds) (met, over bool) {
	if p.open {
		if p.now >= limit && p.now < p.end {
			return false, true
		}
		if p.now < p.end {
			p.now = min(p.end, limit)
			return false, false
		}
		p.open = false
	}
	p.settle()
	first := p.first()
	if first > limit {
		return false, true
	}
	p.open = true
	p.end = first + p.ahead - 1
	p.announce(p.end)
	p.now = min(p.end, limit)
	return true, false
}

// first returns the time of the next event in any part.
func (p *Parallel) first() quantity.Picoseconds {
	first := sim.Never
	for _, n := range p.parts {
		first = min(first, n.eng.NextAt())
		for k := range n.part.out {
			first = min(first, n.part.out[k].earliest)
		}
	}
	if p.more {
		first = min(first, max(p.next.Start, p.now))
	}
	return min(first, max(p.queued.nextAt(), p.now))
}

// announce passes all flows that start at or before end to every part.
func (p *Parallel) announce(end quantity.Picoseconds) {
	for p.queued.nextAt() <= end {
		p.give(p.queued.pop())
	}
	for p.more && p.next.Start <= end {
		f := p.next
		if p.next, p.more = p.source.Next(); !p.more {
			p.source = nil
		}
		p.give(f)
	}
}

func (p *Parallel) give(f FlowSpec) {
	if k := len(p.freeSlots); k > 0 {
		f.slot = p.freeSlots[k-1] + 1
		p.freeSlots = p.freeSlots[:k-1]
	} else {
		p.slots++
		f.slot = p.slots
	}
	for _, n := range p.parts {
		if err := n.Add(f); err != nil && p.failed == nil {
			p.failed = err
			p.more, p.source = false, nil
		}
	}
}

// settle frees the ended flows in every part.
func (p *Parallel) settle() {
	for _, n := range p.parts {
		for _, slot := range n.part.ended {
			for _, m := range p.parts {
				m.removeFlow(slot)
			}
			p.freeSlots = append(p.freeSlots, slot)
		}
		n.part.ended = n.part.ended[:0]
	}
}

// report calls OnDone for the completed flows, in time order.
func (p *Parallel) report() {
	if p.onDone == nil {
		return
	}
	p.done = p.done[:0]
	for _, n := range p.parts {
		p.done = append(p.done, n.part.done...)
		n.part.done = n.part.done[:0]
	}
	slices.SortStableFunc(p.done, func(a, b Done) int { return cmp.Compare(a.Start+a.FCT, b.Start+b.FCT) })
	for _, d := range p.done {
		p.onDone(d)
	}
}

// removeFlow deletes a part's state of a flow that ended in another part.
func (n *Network) removeFlow(slot int32) {
	if slot < n.slots {
		n.flow(slot).state = stateFree
		n.dropHeld(n.flow(slot))
		delete(n.kept, slot)
		delete(n.nacks, slot)
	}
}

// barrier synchronises goroutines. Synchronisations are microseconds apart, so goroutines spin for a while before they sleep.
type barrier struct {
	size  int32
	count atomic.Int32
	turn  atomic.Int32
	mu    sync.Mutex
	moved sync.Cond
}

const spins = 1 << 12

func newBarrier(size int) *barrier {
	b := &barrier{size: int32(size)}
	b.moved.L = &b.mu
	return b
}

func (b *barrier) wait() {
	turn := b.turn.Load()
	if b.count.Add(1) == b.size {
		b.count.Store(0)
		b.mu.Lock()
		b.turn.Add(1)
		b.mu.Unlock()
		b.moved.Broadcast()
		return
	}
	for range spins {
		if b.turn.Load() != turn {
			return
		}
	}
	b.mu.Lock()
	for b.turn.Load() == turn {
		b.moved.Wait()
	}
	b.mu.Unlock()
}
