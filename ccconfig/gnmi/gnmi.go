// Package gnmi is the driver of Ethernet devices that answer gNMI: NIC ports by host agents, and switches by the native
// database paths of SONiC or by OpenConfig's QoS model.
//
// # Dialects
//
//	agent       NIC ports     module fairlane-nic of package nicyang, on driver.PlaneRoCE and driver.PlaneWRCC
//	sonic       switches      origin sonic-db, /CONFIG_DB/localhost/TABLE/KEY/FIELD, on driver.PlaneRoCE
//	openconfig  switches      openconfig-qos, on driver.PlaneRoCE
//
// # How a device is written
//
// Apply reads what it is about, works out what differs and writes that by one Set, which all three kinds of targets carry
// out as one transaction. A lost answer therefore leaves all of its fields sent and none known. No request is
// repeated: a repeated write would be a write that the receipt does not show.
//
// # Who may write
//
// With Options.Election every Set carries a claim by gNMI's master arbitration; a target that has heard of a higher
// election id refuses it, which is driver.ErrConflict. Values that somebody else changed between two operations show in
// the next Read, as with every driver.
package gnmi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet"
)

// Dialect is how a target names what we set.
type Dialect string

// Dialects.
const (
	Agent      Dialect = "agent"      // host agent: NIC ports
	SONiC      Dialect = "sonic"      // switch with SONiC's native paths
	OpenConfig Dialect = "openconfig" // switch with openconfig-qos
)

// Target is where a device answers.
type Target struct {
	Address string  // host:port, of gRPC
	Name    string  // prefix.target; empty where the address has one target alone
	Dialect Dialect // of the device
	// Hostname is what a switch calls itself where that is not the device's name. One that says another name is another switch:
	// every operation on it ends with *driver.IdentityError.
	Hostname string
}

// ElectionID is gNMI's 128-bit election id of a master. Zero is none.
type ElectionID struct{ High, Low uint64 }

// MaxRole bounds a role, bytes.
const MaxRole = 64

// DefaultTimeout stands in for a timeout of 0.
const DefaultTimeout = 10 * time.Second

// maxAnswer bounds an answer, bytes: the tables of a large switch have about one.
const maxAnswer = 64 << 20

// Options configure a driver.
type Options struct {
	grpclink.Options

	// Target says where a device answers. It is called for each operation and must be safe for concurrent use.
	Target func(driver.Device) (Target, error)
	// Election is claimed by every Set, for Role. Zero claims nothing.
	Election ElectionID
	// Role is the group of managers that arbitrate among themselves, up to MaxRole bytes; empty is the default one.
	Role string
}

// Driver implements driver.Driver for devices that answer gNMI. Close it when it is no longer used.
type Driver struct {
	o     Options
	rows  *nicparam.Table // of all parameters that there are
	links *grpclink.Pool[Target, *session]
}

var _ driver.Driver = (*Driver)(nil)

// New returns a driver. It fails on options that are missing or out of range.
func New(o Options) (*Driver, error) {
	switch {
	case o.Target == nil:
		return nil, errors.New("no way to find a device's address: want Options.Target")
	case len(o.Role) > MaxRole:
		return nil, fmt.Errorf("role of %d bytes: want up to %d", len(o.Role), MaxRole)
	}
	links, err := grpclink.New[Target, *session](o.Options, DefaultTimeout, grpc.MaxCallRecvMsgSize(maxAnswer))
	if err != nil {
		return nil, err
	}
	return &Driver{o: o, rows: nicparam.New(nicparam.Caps{}), links: links}, nil
}

// Format prints the driver's kind, whatever the verb: package fmt would otherwise look into keys and certificates.
func (d *Driver) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "gNMI driver") }

// Close closes all connections and waits for the operations that are under way, which fail.
func (d *Driver) Close() error { return d.links.Close() }

// dialect is what differs between the kinds of targets. It holds what is known of one target, and belongs to whoever has
// the turn on it.
type dialect interface {
	capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error)
	read(ctx context.Context, dev driver.Device) (driver.Settings, error)
	// apply gets settings in range.
	apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error)
}

// Capabilities asks what the device can be told.
func (d *Driver) Capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Capabilities{}, err
	}
	defer release()
	return s.speaks.capabilities(ctx, dev)
}

// Read returns what the device is configured with: of a NIC port every parameter that can be read, of a switch the
// marking of every queue that marks.
func (d *Driver) Read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Settings{}, err
	}
	defer release()
	return s.speaks.read(ctx, dev)
}

// Apply brings the device to want, sending only what differs in one Set. Nothing at all is sent when want is out of range
// (driver.ErrInvalid) or beyond what the device is known to hold (driver.ErrUnsupported).
func (d *Driver) Apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	if err := want.Validate(dev); err != nil {
		return driver.Receipt{}, driver.Refusef(driver.ErrInvalid, "%w", err)
	}
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Receipt{}, driver.Unsent(err)
	}
	defer release()
	return s.speaks.apply(ctx, dev, want)
}

// begin waits for a turn on the device's target, and makes sure that it is the device. release ends the turn.
func (d *Driver) begin(ctx context.Context, dev driver.Device) (_ *session, release func(), _ error) {
	if err := dev.Validate(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", driver.ErrInvalid, err)
	}
	if dev.Plane != driver.PlaneRoCE && dev.Plane != driver.PlaneWRCC {
		return nil, nil, fmt.Errorf("%w: %s: plane %q, want %q or %q", driver.ErrInvalid, dev, dev.Plane, driver.PlaneRoCE, driver.PlaneWRCC)
	}
	t, err := d.o.Target(dev)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: address of %s: %w", driver.ErrInvalid, dev, err)
	}
	if err := serves(t.Dialect, dev); err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", driver.ErrInvalid, dev, err)
	}
	s, release, err := d.links.Begin(ctx, dev, t, t.Address, func(s *session, conn *grpc.ClientConn) *session {
		if s == nil {
			s = newSession(d, t, conn)
		}
		return s
	})
	if err != nil {
		return nil, nil, err
	}
	if err := s.verify(ctx, dev); err != nil {
		release()
		return nil, nil, err
	}
	return s, release, nil
}

// serves is an error for a device that a dialect does not speak of.
func serves(speaks Dialect, dev driver.Device) error {
	isSwitch := dev.Kind == subnet.KindSwitch
	switch {
	case speaks != Agent && speaks != SONiC && speaks != OpenConfig:
		return fmt.Errorf("dialect %q, want %q, %q or %q", speaks, Agent, SONiC, OpenConfig)
	case speaks == Agent && isSwitch:
		return fmt.Errorf("a host agent has NIC ports, not switches: want dialect %q or %q", SONiC, OpenConfig)
	case speaks != Agent && !isSwitch:
		return fmt.Errorf("the target is a switch: want dialect %q for a NIC port", Agent)
	case isSwitch && dev.Plane != driver.PlaneRoCE:
		return fmt.Errorf("plane %q: switches that answer gNMI are on %q", dev.Plane, driver.PlaneRoCE)
	}
	return nil
}
