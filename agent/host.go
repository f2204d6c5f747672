package agent

import (
	"context"

	"fairlane/ccconfig/nic/adopt"
	"fairlane/ccconfig/nic/niccount"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// Host is the machine, as far as the agent needs it. Its methods are called by one goroutine at a time, and beside them the
// devices, meters and senders of its cards.
type Host interface {
	// BootID names the boot: it is another one after each reboot.
	BootID(ctx context.Context) (string, error)
	// NICs lists the cards that are there now, by name. It is called at the start, after events and at each sweep, so it
	// should be cheap: the Device of a card that has not changed stays the same one.
	NICs(ctx context.Context) ([]NIC, error)
	// Events receives when something about the cards may have changed, such as a driver that was loaded again. It may be
	// nil: then the sweeps find out.
	Events() <-chan struct{}
}

// NIC is one card of a host. A card that can be seen and not be reached has its Problem and nothing else but its name.
type NIC struct {
	// Name is the card's on its host, 1 to 64 bytes, the same after each reboot.
	Name     string
	PCI      string // address of its first function
	Vendor   string
	Model    string
	Firmware string
	Driver   string
	NodeGUID ident.GUID
	// Incarnation is another one once values that live only until a driver reload or a firmware reset may be gone. Reboots
	// need not change it: the boot's name tells of them.
	Incarnation string
	Table       *nicparam.Table
	Device      *nicfiles.Device
	// NV asks for all stages of the non-volatile configuration; nil where there is no way to it.
	NV interface {
		Query(ctx context.Context) (*adopt.State, error)
		// Answered is the device's way to it as a Query with that result has it.
		Answered(s *adopt.State, err error) nicfiles.Way
	}
	Ports   []Port // by number
	Problem string

	known string // identity that the journal has of the card; empty: its own
}

// Port is one port of a card.
type Port struct {
	Number   int          // on the card, from 1
	ID       ident.PortID // by which managers know it
	NetDev   string
	RDMA     string // RDMA device, such as "mlx5_0"
	RDMAPort int    // of that
	Meter    Meter  // what it counts; nil when nothing
	WRCC     WRCC   // senders with weights; nil when it has none
	// Functions is the number of virtual functions that can have shares.
	Functions int
}

// Link is what of a port changes without anybody's doing.
type Link struct {
	MAC       string
	SpeedMbps uint64 // 0 while it is down or not known
	Up        bool
}

// Meter reads what a port counts and how its link is. It may be called by several goroutines.
type Meter interface {
	Link(ctx context.Context) (Link, error)
	// Counters reads all counters. One that cannot be read is there with its error. Beside those that were read, an error
	// tells of sources that could not be asked for the names of theirs.
	Counters(ctx context.Context) (niccount.Counters, error)
	// Functions reads the virtual functions, by index.
	Functions(ctx context.Context) ([]Function, error)
	// CounterSets reads the counter sets that queue pairs are bound to, by id. An error says why there are none, also where
	// nothing is bound to any.
	CounterSets(ctx context.Context) ([]CounterSet, error)
}

// Function is what a virtual function has sent and received.
type Function struct {
	Index    int
	Name     string // its representor or network device
	TxOctets niccount.Counter
	RxOctets niccount.Counter
}

// WRCC is senders with weights of a port. A device is written by one goroutine at a time.
type WRCC interface {
	Read(ctx context.Context) (*wrcc.NICConfig, error)
	// Write gives the device the whole configuration, all or nothing.
	Write(ctx context.Context, c *wrcc.NICConfig) error
	// Sent is the octets that each sender has sent, by name.
	Sent(ctx context.Context) (niccount.Counters, error)
	// MaxSenders is the most that the device holds.
	MaxSenders() int
}
