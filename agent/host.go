package agent

import (
	"context"
	"errors"

	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/ccalgo"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// Host is the machine, as far as the agent needs it. Its methods are called by one goroutine at a time, concurrently with
// the devices, meters and senders of its cards.
type Host interface {
	// BootID identifies the boot: it changes with each reboot.
	BootID(ctx context.Context) (string, error)
	// NICs lists the present cards, by name. It is called at the start, after events and at each sweep, so it should be
	// cheap; an unchanged card keeps its Device.
	NICs(ctx context.Context) ([]NIC, error)
	// Events receives when something about the cards may have changed, such as after a driver reload. It may be nil: then
	// the sweeps detect changes.
	Events() <-chan struct{}
}

// NIC is one card of a host. A card that is visible but not reachable has only its name and its Problem.
type NIC struct {
	// Name is the card's name on its host, 1 to 64 bytes, unchanged by reboots.
	Name     string
	PCI      string // address of its first function
	Vendor   string
	Model    string
	Firmware string
	Driver   string
	NodeGUID ident.GUID
	// Incarnation changes when values that last only until a driver reload or a firmware reset may be lost. Reboots need
	// not change it: BootID reports them.
	Incarnation string
	Table       *nicparam.Table
	Device      *nicfiles.Device
	// NV reads all stages of the non-volatile configuration; nil where it cannot be read.
	NV interface {
		Query(ctx context.Context) (*adopt.State, error)
		// Answered returns the device's back end for the non-volatile configuration, as if a Query had returned that
		// result.
		Answered(s *adopt.State, err error) nicfiles.Accessor
	}
	Ports   []Port // by number
	Problem string

	known string // identity of the card in the journal; empty: its own
}

// Port is one port of a card.
type Port struct {
	Number   int          // on the card, from 1
	ID       ident.PortID // identity of the port for managers
	NetDev   string
	RDMA     string // RDMA device, such as "mlx5_0"
	RDMAPort int    // of that
	Meter    Meter  // its counters; nil without any
	WRCC     WRCC   // senders with weights; nil without any
	// Functions is the number of virtual functions that can have shares.
	Functions int
	// Algorithm is its congestion-control algorithm; the zero value: not known.
	Algorithm ccalgo.State
}

// Link is the part of a port's state that changes without a Set.
type Link struct {
	MAC       string
	SpeedMbps uint64 // 0 while it is down or unknown
	Up        bool
}

// Meter reads a port's counters and link. Several goroutines may call it.
type Meter interface {
	Link(ctx context.Context) (Link, error)
	// Counters reads all counters. A counter that cannot be read has an error. In addition to the counters, the error
	// reports sources whose counters could not be listed.
	Counters(ctx context.Context) (niccount.Counters, error)
	// Functions reads the virtual functions, by index.
	Functions(ctx context.Context) ([]Function, error)
	// CounterSets reads the counter sets with bound queue pairs, by id. Without any, the error gives the reason, even
	// if just no queue pair is bound.
	CounterSets(ctx context.Context) ([]CounterSet, error)
}

// Function is the traffic of a virtual function.
type Function struct {
	Index    int
	Name     string // its representor or network device
	TxOctets niccount.Counter
	RxOctets niccount.Counter
	// RDMA is its RDMA device, such as "mlx5_2"; empty while that is in another network namespace.
	RDMA string
	// Counters are those of the RDMA device, as in Meter.Counters; Problem is the reason if it has none.
	Counters niccount.Counters
	Problem  error
}

// ErrFunctionElsewhere means that the RDMA device of a function can be read only where it was moved to.
var ErrFunctionElsewhere = errors.New("the function has no RDMA device in the network namespace of the agent: a container or a guest has it, or no driver is bound")

// WRCC are the weighted senders of a port. One goroutine at a time writes a device.
type WRCC interface {
	Read(ctx context.Context) (*wrcc.NICConfig, error)
	// Write writes the whole configuration, all or nothing.
	Write(ctx context.Context, c *wrcc.NICConfig) error
	// Sent returns the octets that each sender has sent, by name.
	Sent(ctx context.Context) (niccount.Counters, error)
	// MaxSenders returns the maximum number of senders of the device.
	MaxSenders() int
}
