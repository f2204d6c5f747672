package gnmidev

import (
	"sync"

	"fairlane/ccconfig/ecn"
	"fairlane/sim/plane"
)

// NICPlane is what sends and receives the packets of a NIC port. Its methods are called under the device's lock and must
// not call the device.
type NICPlane interface {
	// Configure hands over all that the port goes by: at the start, after each change and after a reset.
	Configure(p plane.PortState)
	// Measure returns what the port has counted since the fabric began.
	Measure() plane.PortCounters
}

// SwitchPlane is what forwards the packets of a switch, with the rules of NICPlane.
type SwitchPlane interface {
	// Configure hands over the marking of all queues that mark, by port and queue.
	Configure(queues []ecn.QueueMarking)
	// ConfigurePorts hands over what all ports do by class of service, in their order.
	ConfigurePorts(ports []plane.SwitchPort)
	// Measure returns what a port has counted since the fabric began; nothing for one that does not exist.
	Measure(port int) plane.SwitchPortCounters
}

// Still is the data plane of a NIC port without traffic. It remembers what it was told, for tests.
type Still struct {
	mu       sync.Mutex
	state    plane.PortState
	counters plane.PortCounters
	told     int
}

var _ NICPlane = (*Still)(nil)

func (s *Still) Configure(p plane.PortState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = p
	s.told++
}

func (s *Still) Measure() plane.PortCounters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counters
}

// Count makes the port have counted c.
func (s *Still) Count(c plane.PortCounters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters = c
}

// State returns what the port goes by, and how often it was told.
func (s *Still) State() (plane.PortState, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.told
}

// StillSwitch is the data plane of a switch without traffic. It remembers what it was told, for tests.
type StillSwitch struct {
	mu       sync.Mutex
	queues   []ecn.QueueMarking
	ports    []plane.SwitchPort
	counters map[int]plane.SwitchPortCounters
}

var _ SwitchPlane = (*StillSwitch)(nil)

func (s *StillSwitch) Configure(queues []ecn.QueueMarking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = queues
}

func (s *StillSwitch) ConfigurePorts(ports []plane.SwitchPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ports = ports
}

func (s *StillSwitch) Measure(port int) plane.SwitchPortCounters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counters[port]
}

// Count makes a port have counted c.
func (s *StillSwitch) Count(port int, c plane.SwitchPortCounters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counters == nil {
		s.counters = map[int]plane.SwitchPortCounters{}
	}
	s.counters[port] = c
}

// Ports returns what the ports of the switch go by.
func (s *StillSwitch) Ports() []plane.SwitchPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ports
}

// Queues returns the marking that the switch goes by.
func (s *StillSwitch) Queues() []ecn.QueueMarking {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues
}
