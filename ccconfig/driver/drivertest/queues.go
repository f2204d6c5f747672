package drivertest

import (
	"errors"
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/ibcc"
	"fairlane/subnet/ident"
)

// ClampedBytes is below the upper threshold of every queue of every sample of an Ethernet switch.
const ClampedBytes = 50_000

// roceQueue is marked if a switch does not report its marked queues.
const roceQueue = 3

// queueSamples mark the queues of all ports that already mark: all equally, and, if the switch supports it, with two rules.
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
	return nil
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
	}
}

func queueFields(w *driver.QueueState) []part {
	put := func(n int) func(*driver.Settings) {
		return func(s *driver.Settings) {
			for _, q := range w.Marking[:n] {
				i := slices.IndexFunc(s.Queues.Marking, func(o ecn.QueueMarking) bool { return o.Port == q.Port && o.Queue == q.Queue })
				if i < 0 {
					s.Queues.Marking = append(s.Queues.Marking, q)
				} else {
					s.Queues.Marking[i] = q
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
		put:     put(len(w.Marking)),
		putSome: put(len(w.Marking) / 2),
	}}
}
