package gnmidev

import (
	"sync"

	"fairlane/ccconfig/ecn"
	"fairlane/sim/plane"
)

// NICPlane is the data plane of a NIC port. Its methods are called under the device's lock and must not call the device.
type NICPlane interface {
	// Configure sets the complete state of the port: at the start, after each change and after a reset.
	Configure(p plane.PortState)
	// Measure returns the port's counters since the start of the fabric.
	Measure() plane.PortCounters
}

// SwitchPlane is the data plane of a switch. The rules for calls are those of NICPlane.
type SwitchPlane interface {
	// Configure sets the marking of all queues that mark, by port and queue.
	Configure(queues []ecn.QueueMarking)
	// ConfigurePorts sets the class-of-service settings of all ports, in port order.
	ConfigurePorts(ports []plane.SwitchPort)
	// Measure returns a port's counters since the start of the fabric; they are zero for a port that does not exist.
	Measure(port int) plane.SwitchPortCounters
}

// Still is the data plane of a NIC port without traffic. It stores its configuration and counters for tests.
type Still struct {
	mu         sync.Mutex
	state      plane.PortState
	counters   plane.PortCounters
	configured int
}

var _ NICPlane = (*Still)(nil)

func (s *Still) Configure(p plane.PortState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = p
	s.configured++
}

func (s *Still) Measure() plane.PortCounters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counters
}

// Count sets the port's counters to c.
func (s *Still) Count(c plane.PortCounters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters = c
}

// State returns the port's state, and the number of calls of Configure.
func (s *Still) State() (plane.PortState, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.configured
}

// StillSwitch is the data plane of a switch without traffic. It stores its configuration and counters for tests.
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

// Count sets a port's counters to c.
func (s *StillSwitch) Count(port int, c plane.SwitchPortCounters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counters == nil {
		s.counters = map[int]plane.SwitchPortCounters{}
	}
	s.counters[port] = c
}

// Ports returns the settings of the switch's ports.
func (s *StillSwitch) Ports() []plane.SwitchPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ports
}

// Queues returns the marking of the switch's queues.
func (s *StillSwitch) Queues() []ecn.QueueMarking {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues
}
