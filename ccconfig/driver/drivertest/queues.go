package drivertest

import (
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/qos"
	"fairlane/subnet/ident"
)

// ClampedBytes is below the upper threshold of every queue of every sample of an Ethernet switch.
const ClampedBytes = 50_000

// roceQueue is marked if a switch does not report its marked queues.
const roceQueue = 3

// queueSamples mark the queues of all ports that already mark: all equally, and, if the switch supports it, with two rules. Queues whose
// weights can be written get weights, different in each sample.
func queueSamples(d driver.Device, c driver.Capabilities) []driver.Settings {
	queues := []uint8{roceQueue}
	if c.Queues != nil && len(c.Queues.Marked) > 0 {
		queues = c.Queues.Marked
	}
	sample := func(variant int64, rules int) driver.Settings {
		s := &driver.QueueState{}
		for p := 1; p <= d.Ports; p++ {
			for _, q := range queues {
				m := ecn.Marking{Min: 100_000 * variant, Max: 350_000 * variant, PMaxPct: int(7 * variant)}
				if p%rules == 1 {
					m.Max += 70_000
				}
				s.Marking = append(s.Marking, ecn.QueueMarking{Port: ident.PortNum(p), Queue: q, Marking: m})
			}
		}
		if c.Queues != nil {
			for _, p := range c.Queues.Weighted {
				for i, q := range p.Queues {
					if int(p.Port) <= d.Ports {
						s.Weights = append(s.Weights, qos.QueueWeight{Port: p.Port, Queue: q, Weight: uint8(1 + (int(variant)*17+int(p.Port)*5+i*11)%qos.MaxWeight)})
					}
				}
			}
		}
		s.Sort()
		return driver.Settings{Queues: s}
	}
	out := []driver.Settings{sample(1, 1), sample(2, 1)}
	if c.Queues == nil || c.Queues.Profiles != 1 {
		out = append(out, sample(3, 2))
	}
	return out
}

func checkQueueCapabilities(d driver.Device, c driver.Capabilities) error {
	switch {
	case c.Queues == nil:
		return errors.New("no capabilities of an Ethernet switch")
	case c.Queues.Ports < d.Ports || c.Queues.Queues < 1 || c.Queues.Profiles < 0:
		return fmt.Errorf("%d ports of %d queues with %d profiles, want %d ports", c.Queues.Ports, c.Queues.Queues, c.Queues.Profiles, d.Ports)
	case !slices.IsSorted(c.Queues.Marked):
		return fmt.Errorf("marked queues %v, want them sorted", c.Queues.Marked)
	}
	last := ident.PortNum(0)
	for _, p := range c.Queues.Weighted {
		if p.Port <= last || len(p.Queues) == 0 || !slices.IsSorted(p.Queues) || len(slices.Compact(slices.Clone(p.Queues))) != len(p.Queues) {
			return fmt.Errorf("weighted queues %v of port %d after port %d, want ports and queues ascending", p.Queues, p.Port, last)
		}
		last = p.Port
	}
	return nil
}

// beyondQueues wants another weight of a queue whose weight cannot be written; false if there is none.
func beyondQueues(want *driver.Settings, got driver.Settings, c driver.Capabilities) bool {
	own := map[uint8]bool{}
	for _, p := range c.Queues.Weighted {
		for _, q := range p.Queues {
			own[q] = own[q] || p.Port == 1
		}
	}
	for q := range uint8(qos.MaxQueue + 1) {
		if own[q] {
			continue
		}
		is, _ := got.Queues.Weight(1, q)
		want.Queues.Weights = []qos.QueueWeight{{Port: 1, Queue: q, Weight: is%qos.MaxWeight + 1}}
		return true
	}
	return false
}

// queueInvalidations are functions that make settings of an Ethernet switch illegal, by name.
func queueInvalidations(d driver.Device) map[string]func(*driver.Settings) {
	first := func(change func(*ecn.QueueMarking)) func(*driver.Settings) {
		return func(s *driver.Settings) { change(&s.Queues.Marking[0]) }
	}
	last := func(change func(*ecn.QueueMarking)) func(*driver.Settings) {
		return func(s *driver.Settings) { change(&s.Queues.Marking[len(s.Queues.Marking)-1]) }
	}
	return map[string]func(*driver.Settings){
		"nothing":               func(s *driver.Settings) { *s = driver.Settings{} },
		"both halves":           func(s *driver.Settings) { s.Switch = &driver.SwitchState{Ports: make([]ibcc.PortMarking, d.Ports+1)} },
		"of a NIC":              func(s *driver.Settings) { *s = driver.Settings{NIC: &driver.NICState{}} },
		"of an adapter":         func(s *driver.Settings) { *s = driver.Settings{CA: &ibcc.CASettings{Table: make([]ibcc.Entry, 1)}} },
		"port 0":                first(func(q *ecn.QueueMarking) { q.Port = 0 }),
		"a port beyond":         last(func(q *ecn.QueueMarking) { q.Port = ident.PortNum(d.Ports + 1) }),
		"queue 8":               last(func(q *ecn.QueueMarking) { q.Queue = ecn.MaxQueue + 1 }),
		"maximum below minimum": first(func(q *ecn.QueueMarking) { q.Marking.Max = q.Marking.Min - 1 }),
		"below zero":            first(func(q *ecn.QueueMarking) { q.Marking.Min = -1 }),
		"101 percent":           first(func(q *ecn.QueueMarking) { q.Marking.PMaxPct = ecn.MaxPercent + 1 }),
		"a queue twice": func(s *driver.Settings) {
			s.Queues.Marking = append(s.Queues.Marking[:1:1], s.Queues.Marking...)
		},
		"weight 0":         func(s *driver.Settings) { s.Queues.Weights = []qos.QueueWeight{{Port: 1, Queue: 3}} },
		"weight 101":       func(s *driver.Settings) { s.Queues.Weights = []qos.QueueWeight{{Port: 1, Queue: 3, Weight: 101}} },
		"weight of port 0": func(s *driver.Settings) { s.Queues.Weights = []qos.QueueWeight{{Queue: 3, Weight: 1}} },
		"weight of queue 8": func(s *driver.Settings) {
			s.Queues.Weights = []qos.QueueWeight{{Port: 1, Queue: qos.MaxQueue + 1, Weight: 1}}
		},
		"a weight twice": func(s *driver.Settings) {
			s.Queues.Weights = []qos.QueueWeight{{Port: 1, Queue: 3, Weight: 1}, {Port: 1, Queue: 3, Weight: 1}}
		},
	}
}

func queueFields(w *driver.QueueState) []part {
	put := func(n, weights int) func(*driver.Settings) {
		return func(s *driver.Settings) {
			for _, q := range w.Marking[:n] {
				i := slices.IndexFunc(s.Queues.Marking, func(o ecn.QueueMarking) bool { return o.Port == q.Port && o.Queue == q.Queue })
				if i < 0 {
					s.Queues.Marking = append(s.Queues.Marking, q)
				} else {
					s.Queues.Marking[i] = q
				}
			}
			for _, q := range w.Weights[:weights] {
				i := slices.IndexFunc(s.Queues.Weights, func(o qos.QueueWeight) bool { return o.Port == q.Port && o.Queue == q.Queue })
				if i < 0 {
					s.Queues.Weights = append(s.Queues.Weights, q)
				} else {
					s.Queues.Weights[i] = q
				}
			}
			s.Queues.Sort()
		}
	}
	return []part{{
		field: "queues",
		differs: func(s driver.Settings) bool {
			return !(driver.Settings{Queues: w}).Equal(driver.Settings{Queues: s.Queues})
		},
		put:     put(len(w.Marking), len(w.Weights)),
		putSome: put(len(w.Marking)/2, len(w.Weights)/2),
	}}
}

// everyQueue lists all queues of a Fake's switch: each has a scheduler of its own.
func everyQueue(ports int) []driver.PortQueues {
	out := make([]driver.PortQueues, ports)
	for i := range out {
		out[i] = driver.PortQueues{Port: ident.PortNum(i + 1), Queues: []uint8{0, 1, 2, 3, 4, 5, 6, 7}}
	}
	return out
}
