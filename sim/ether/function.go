package ether

import (
	"errors"
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// A NIC divides its port among virtual functions as the embedded switch of such NICs does: first functions below their
// minimum rate, then all functions by weight. No function exceeds its maximum rate. If no function of a port has a weight,
// minimum rates also act as weights, as in mlx5: functions divide the remaining capacity in proportion to their minimum
// rates, and a function without one counts as the average of the others. Flows of a function alternate. Acknowledgements and
// notifications are not limited; they count as octets of their function.

// FunctionShare is a virtual function's share of its port's sending rate.
type FunctionShare struct {
	Weight uint32           // 0 means 1 if another function of the port has a weight, and otherwise a weight derived from Min
	Min    quantity.BitRate // wire bytes, served before weights apply; 0 means none
	Max    quantity.BitRate // wire bytes; 0 means no limit
}

// FunctionStats are the counters of a virtual function: the octets that it sent and received on the wire, with headers, and those
// events of its host that concern its flows.
type FunctionStats struct {
	TxOctets, RxOctets   uint64
	TxPackets, RxPackets uint64
	HostStats
}

// shapeCredit is the waiting time for which a function, or a port, with a maximum rate may compensate; minCredit is the same
// for a minimum rate.
const (
	shapeCredit = 20 * quantity.Microsecond
	minCredit   = 100 * quantity.Microsecond
)

// shares holds the state of a host with functions.
type shares struct {
	functions []int32 // into Network.functions
	served    float64 // virtual time of the port: the least spent of the functions with ready flows
	max       quantity.BitRate
	due       quantity.Picoseconds // with max: earliest time of the port's next packet
	wake      quantity.Picoseconds // time of the valid evShape, or sim.Never
	waiting   [MaxClasses]int32    // functions with ready flows
}

// function is one virtual function.
type function struct {
	FunctionShare
	weight float64 // effective weight
	host   int32
	ready  uint8   // bit mask of the classes with ready flows
	spent  float64 // virtual time: octets divided by weight
	minDue quantity.Picoseconds
	maxDue quantity.Picoseconds
	turns  [MaxClasses]turns
	stats  FunctionStats
}

func (s *FunctionShare) check() error {
	switch {
	case s.Min < 0 || s.Min > quantity.MaxBitRate || s.Max < 0 || s.Max > quantity.MaxBitRate:
		return fmt.Errorf("rates of a function: minimum %d, maximum %d bit/s: want 0 to %d", int64(s.Min), int64(s.Max), int64(quantity.MaxBitRate))
	case s.Max != 0 && s.Min > s.Max:
		return fmt.Errorf("minimum rate of a function %s: want at most its maximum rate, %s", s.Min, s.Max)
	}
	return nil
}

// AddFunction adds a virtual function to a host and returns its number for FlowSpec. Add the first function of a host before
// any flow.
func (n *Network) AddFunction(host int32, s FunctionShare) (int32, error) {
	if err := n.checkHost(host); err != nil {
		return 0, err
	}
	if err := s.check(); err != nil {
		return 0, err
	}
	h := &n.hosts[host]
	if h.shares == nil {
		if n.slots > 0 || len(n.specs) > 0 {
			return 0, errors.New("the network has flows: want the first function of a host before any flow")
		}
		h.shares = &shares{wake: sim.Never}
	}
	if len(n.functions) == 0 {
		n.functions = append(n.functions, function{})
	}
	f := function{host: host}
	for c := range f.turns {
		f.turns[c] = turns{none, none}
	}
	f.FunctionShare = s
	f.spent = h.shares.served
	at := int32(len(n.functions))
	n.functions = append(n.functions, f)
	h.shares.functions = append(h.shares.functions, at)
	n.weigh(h.shares)
	return at, nil
}

// weigh computes the effective weights on a host.
func (n *Network) weigh(sh *shares) {
	weighed, sum, least := false, 0.0, 0
	for _, at := range sh.functions {
		f := &n.functions[at]
		weighed = weighed || f.Weight > 0
		if f.Min > 0 {
			sum += float64(f.Min)
			least++
		}
	}
	for _, at := range sh.functions {
		f := &n.functions[at]
		switch {
		case weighed:
			f.weight = float64(max(1, f.Weight))
		case f.Min > 0:
			f.weight = float64(f.Min) * float64(least) / sum
		default:
			f.weight = 1
		}
	}
}

// SetFunction changes the share of a function from now on.
func (n *Network) SetFunction(number int32, s FunctionShare) error {
	if err := n.checkFunction(number); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	f := &n.functions[number]
	if f.FunctionShare == s {
		return nil
	}
	now := n.eng.Now()
	f.FunctionShare = s
	f.minDue, f.maxDue = now, now
	f.spent = n.hosts[f.host].shares.served
	n.weigh(n.hosts[f.host].shares)
	n.kick(n.hosts[f.host].port, &n.ports[n.hosts[f.host].port])
	return nil
}

// SetMaxRate limits the data rate of a host with functions; 0 removes the limit.
func (n *Network) SetMaxRate(host int32, rate quantity.BitRate) error {
	if err := n.checkHost(host); err != nil {
		return err
	}
	h := &n.hosts[host]
	switch {
	case rate < 0 || rate > quantity.MaxBitRate:
		return fmt.Errorf("maximum rate of host %d, %d bit/s: want 0 to %d", host, int64(rate), int64(quantity.MaxBitRate))
	case h.shares == nil && rate != 0:
		return fmt.Errorf("maximum rate of host %d: want a host with functions", host)
	case h.shares == nil || h.shares.max == rate:
		return nil
	}
	h.shares.max, h.shares.due = rate, n.eng.Now()
	n.kick(h.port, &n.ports[h.port])
	return nil
}

// Function returns the counters of a function, all zero for a number that AddFunction did not return.
func (n *Network) Function(number int32) FunctionStats {
	if n.checkFunction(number) != nil {
		return FunctionStats{}
	}
	return n.functions[number].stats
}

func (n *Network) checkFunction(number int32) error {
	if number < 1 || int(number) >= len(n.functions) {
		return fmt.Errorf("function %d: want 1 to %d", number, len(n.functions)-1)
	}
	return nil
}

func (n *Network) checkHost(host int32) error {
	if host < 0 || int(host) >= len(n.hosts) {
		return fmt.Errorf("host %d: want 0 to %d", host, len(n.hosts)-1)
	}
	return nil
}

// checkFunctions rejects a flow whose functions do not belong to its hosts.
func (n *Network) checkFunctions(f *FlowSpec) error {
	for _, e := range [2]struct{ host, number int32 }{{f.Src, f.Function}, {f.Dst, f.PeerFunction}} {
		if e.number == 0 {
			continue
		}
		if err := n.checkFunction(e.number); err != nil {
			return err
		}
		if of := n.functions[e.number].host; of != e.host {
			return fmt.Errorf("function %d of host %d: want a function of host %d", e.number, of, e.host)
		}
	}
	if f.Function == 0 && n.hosts[f.Src].shares != nil {
		return fmt.Errorf("host %d has functions: want the function that sends the flow", f.Src)
	}
	return nil
}

// joinFunction returns the turn queue of a flow's function and class, which the flow is about to join.
func (n *Network) joinFunction(slot int32, f *flow) *turns {
	fn, sh := &n.functions[n.ends[slot].function], n.hosts[f.src].shares
	if fn.ready == 0 { // an idle function accumulates no credit
		fn.spent = max(fn.spent, sh.served)
	}
	if fn.ready>>f.cls&1 == 0 {
		fn.ready |= 1 << f.cls
		sh.waiting[f.cls]++
	}
	return &fn.turns[f.cls]
}

// sendFunction starts a packet of the function next in turn in a class. sent reports whether it started one; otherwise, wait
// reports whether all functions of the class are held back.
func (n *Network) sendFunction(pi int32, p *port, cls int) (sent, wait bool) {
	h := &n.hosts[p.host]
	sh := h.shares
	at := n.chooseFunction(sh, cls, p.host)
	if at == none {
		return false, true
	}
	fn := &n.functions[at]
	t := &fn.turns[cls]
	slot := t.head
	if t.head = n.flow(slot).next2; t.head == none {
		t.tail = none
		fn.ready &^= 1 << cls
		if sh.waiting[cls]--; sh.waiting[cls] == 0 {
			h.flowsReady &^= 1 << cls
		}
	}
	before := p.tx
	if !n.emit(pi, p, slot) {
		return false, false
	}
	wire, now := p.tx-before, n.eng.Now()
	fn.stats.TxOctets += wire
	fn.stats.TxPackets++
	fn.spent += float64(wire) / fn.weight
	if fn.Min > 0 {
		fn.minDue = max(fn.minDue, now-minCredit) + transmission(int(wire), fn.Min)
	}
	if fn.Max > 0 {
		fn.maxDue = max(fn.maxDue, now-shapeCredit) + transmission(int(wire), fn.Max)
	}
	if sh.max > 0 {
		sh.due = max(sh.due, now-shapeCredit) + transmission(int(wire), sh.max)
	}
	return true, false
}

// chooseFunction returns the function next in turn in a class. If no function may send yet, it returns none and schedules the
// next check.
func (n *Network) chooseFunction(sh *shares, cls int, host int32) int32 {
	now := n.eng.Now()
	if sh.max > 0 && sh.due > now {
		n.wakeAt(sh, host, sh.due)
		return none
	}
	best, owed, wake := none, false, sim.Never
	least, behind := math.Inf(1), math.Inf(1)
	for _, at := range sh.functions {
		fn := &n.functions[at]
		if fn.ready>>cls&1 == 0 {
			continue
		}
		if fn.Max > 0 && fn.maxDue > now {
			wake = min(wake, fn.maxDue)
			fn.spent = max(fn.spent, sh.served) // a function at its limit does not accumulate credit
			continue
		}
		behind = min(behind, fn.spent)
		key, first := fn.spent, fn.Min > 0 && fn.minDue <= now
		if first {
			key = float64(fn.minDue)
		}
		if first && !owed || first == owed && key < least {
			best, owed, least = at, first, key
		}
	}
	if best == none {
		n.wakeAt(sh, host, wake)
		return none
	}
	sh.served = max(sh.served, behind)
	return best
}

// wakeAt schedules a host's check for packets to send.
func (n *Network) wakeAt(sh *shares, host int32, at quantity.Picoseconds) {
	if at < sh.wake {
		sh.wake = at
		n.eng.Schedule(at, evShape, host, 0)
	}
}

// shaped handles the time at which a function of a host may send again.
func (n *Network) shaped(host int32, at quantity.Picoseconds) {
	h := &n.hosts[host]
	if h.shares.wake != at {
		return
	}
	h.shares.wake = sim.Never
	n.kick(h.port, &n.ports[h.port])
}

// countIn counts a received packet for its function.
func (n *Network) countIn(k *packet) {
	e := n.ends[k.flow]
	at := e.function
	if k.kind == kindData {
		at = e.peer
	}
	s := &n.functions[at].stats
	s.RxOctets += uint64(k.wire)
	s.RxPackets++
}

// sending returns the counters of the function that sends a flow; a sink for a flow without one.
func (n *Network) sending(slot int32) *HostStats {
	if len(n.functions) == 0 {
		return &n.sink
	}
	return &n.functions[n.ends[slot].function].stats.HostStats
}

// receiving is sending for the function that receives the flow.
func (n *Network) receiving(slot int32) *HostStats {
	if len(n.functions) == 0 {
		return &n.sink
	}
	return &n.functions[n.ends[slot].peer].stats.HostStats
}

// countReply counts an acknowledgement or notification that a host is about to send.
func (n *Network) countReply(pk int32) {
	k := n.pool.at(pk)
	if n.flow(k.flow).gen != k.gen {
		return
	}
	s := &n.functions[n.ends[k.flow].peer].stats
	s.TxOctets += uint64(k.wire)
	s.TxPackets++
}
