package gnmidev

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"fairlane/agent"
	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/qos"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Driver selects the driver of a card, and so the location of its parameters.
type Driver uint8

// Drivers.
const (
	VendorDriver       Driver = iota // files below ecn of the network device
	VendorDriverParams               // as VendorDriver, with a directory "params" between role and parameter
	KernelDriver                     // files below the debugfs directory cc_params
	BothDrivers                      // both kinds of files, as in vendor releases with debugfs
)

// HostOptions describe a host.
type HostOptions struct {
	Cards []CardOptions // at least one
	// Classes provisions the ports for classes of traffic, at most 7: trust, dscp2prio, prio2tc, pfc and equal shares of traffic classes. Empty means
	// one class, DSCP 26 with priority 3.
	Classes []qos.TrafficClass
}

// CardOptions describe a NIC.
type CardOptions struct {
	Name string     // name on the host; empty selects mlx5_0, mlx5_1, …
	GUID ident.GUID // node GUID; with the port number, the identity of the port for managers
	// Caps are the capabilities of the firmware. Cards with the same capabilities share their table of parameters.
	Caps   nicparam.Caps
	Driver Driver
	// Virtual makes the card a virtual function passed through to the host: it has counters but no parameters.
	Virtual bool
	Ports   []PortOptions // ports from port 1 on; 1 to nicparam.MaxPorts
}

// PortOptions describe a port of a NIC.
type PortOptions struct {
	Number int      // number on the card, from 1; 0 means the previous number plus one
	Plane  NICPlane // nil means no traffic
	Speed  quantity.BitRate
	// Functions is the number of virtual functions; they have shares if Caps.Switchdev is set.
	Functions int
	// Senders is the capacity of the port for WRCC senders with weights; 0 means no WRCC.
	Senders int
}

// Host is a simulated host. Its methods are safe for concurrent use.
type Host struct {
	gate
	server *Server
	name   string
	cards  []*card
	tree   *gated
	dcb    *dcbnl.IEEE // DCB state of unchanged ports; nil means the layout's

	skew atomic.Int64 // offset of the clock, ns

	mu      sync.Mutex
	boots   int
	running *running // nil until the first request
	tenants func(ident.PortID) map[int]string
	closed  bool
	journal memoryJournal
}

// AddHost adds a host to the server. It returns an error for a name that is in use and for options out of range.
func (s *Server) AddHost(name string, o HostOptions) (*Host, error) {
	h := &Host{server: s, name: name}
	h.tree = &gated{&hostTree{host: h}, &h.gate}
	if len(o.Cards) == 0 {
		return nil, fmt.Errorf("host %q: no cards: want at least one", name)
	}
	if err := checkClasses(o.Classes); err != nil {
		return nil, fmt.Errorf("host %q: %w", name, err)
	}
	if len(o.Classes) > 0 {
		h.dcb = classDCB(o.Classes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range o.Cards {
		c, err := newCard(h, i, &o.Cards[i], s.layoutOf(o.Cards[i].Caps))
		if err != nil {
			return nil, fmt.Errorf("host %q: %w", name, err)
		}
		h.cards = append(h.cards, c)
	}
	if err := s.add(map[string]opener{name: h}, name); err != nil {
		return nil, err
	}
	s.hosts, s.agents = append(s.hosts, h), true
	return h, nil
}

// memoryJournal is a journal that survives the host's reboots.
type memoryJournal struct {
	mu       sync.Mutex
	document []byte
}

var _ agent.Journal = (*memoryJournal)(nil)

func (j *memoryJournal) Load(context.Context) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.document, nil
}

func (j *memoryJournal) Save(_ context.Context, document []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.document = append([]byte(nil), document...)
	return nil
}

// clear deletes the document.
func (j *memoryJournal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.document = nil
}
