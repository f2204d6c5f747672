// Package gnmi is the driver of Ethernet devices with gNMI: NIC ports through host agents, and switches through SONiC's native
// database paths or OpenConfig's QoS model.
//
// # Dialects
//
//	agent       NIC ports     module fairlane-nic of package nicyang, on driver.PlaneRoCE and driver.PlaneWRCC
//	sonic       switches      origin sonic-db, /CONFIG_DB/localhost/TABLE/KEY/FIELD, on driver.PlaneRoCE
//	openconfig  switches      openconfig-qos, on driver.PlaneRoCE
//
// # Writes
//
// Apply reads the affected state, computes the difference and writes it with one Set, which all three kinds of targets execute
// as one transaction. After a lost answer, all fields therefore count as sent and their result is unknown. The driver repeats
// no request, because the receipt would not show a repeated write.
//
// # Concurrent managers
//
// With Options.Election every Set carries an election id of gNMI's master arbitration. A target that has received a higher id
// rejects the Set, which becomes driver.ErrConflict. The next Read shows changes by other clients, as with every driver.
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
	"fairlane/ccconfig/headroom"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet"
)

// Dialect is the data model of a target.
type Dialect string

// Dialects.
const (
	Agent      Dialect = "agent"      // host agent: NIC ports
	SONiC      Dialect = "sonic"      // switch with SONiC's native paths
	OpenConfig Dialect = "openconfig" // switch with openconfig-qos
)

// Target is the address of a device.
type Target struct {
	Address string  // host:port, of gRPC
	Name    string  // prefix.target; may be empty if the address has only one target
	Dialect Dialect // data model of the device
	// Hostname is the switch's host name if it differs from the device's name. A switch with another host name is a different
	// switch: every operation on it returns *driver.IdentityError.
	Hostname string
}

// ElectionID is gNMI's 128-bit election id of a master. Zero means none.
type ElectionID struct{ High, Low uint64 }

// MaxRole is the largest length of a role, bytes.
const MaxRole = 64

// MaxOversubscription is the largest permitted oversubscription of headroom.
const MaxOversubscription = 100

// DefaultTimeout replaces a timeout of 0.
const DefaultTimeout = 10 * time.Second

// maxAnswer is the largest size of an answer, bytes; the tables of a large switch have about 1 MB.
const maxAnswer = 64 << 20

// Options configure a driver.
type Options struct {
	grpclink.Options

	// Target returns the address of a device. It is called for each operation and must be safe for concurrent use.
	Target func(driver.Device) (Target, error)
	// Election is the election id in every Set, for Role. Zero means no election.
	Election ElectionID
	// Role is the group of managers for arbitration, up to MaxRole bytes; empty means the default group.
	Role string
	// Oversubscription is the largest ratio of the headroom that all lossless priority groups of a switch may need to the memory that they
	// share; 0 means headroom.Oversubscription.
	Oversubscription float64
}

// Driver implements driver.Driver for devices with gNMI. Call Close when it is no longer used.
type Driver struct {
	o     Options
	rows  *nicparam.Table // table of all known parameters
	links *grpclink.Pool[Target, *session]
}

var _ driver.Driver = (*Driver)(nil)

// New returns a driver. It returns an error for options that are missing or out of range.
func New(o Options) (*Driver, error) {
	switch {
	case o.Target == nil:
		return nil, errors.New("no way to find a device's address: want Options.Target")
	case len(o.Role) > MaxRole:
		return nil, fmt.Errorf("role of %d bytes: want up to %d", len(o.Role), MaxRole)
	case o.Oversubscription != 0 && !(o.Oversubscription >= 1 && o.Oversubscription <= MaxOversubscription):
		return nil, fmt.Errorf("oversubscription of headroom %g: want 1 to %d", o.Oversubscription, MaxOversubscription)
	}
	if o.Oversubscription == 0 {
		o.Oversubscription = headroom.Oversubscription
	}
	links, err := grpclink.New[Target, *session](o.Options, DefaultTimeout, grpc.MaxCallRecvMsgSize(maxAnswer))
	if err != nil {
		return nil, err
	}
	return &Driver{o: o, rows: nicparam.New(nicparam.Caps{}), links: links}, nil
}

// Format prints only the driver's kind, for any verb. Package fmt would otherwise print keys and certificates.
func (d *Driver) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "gNMI driver") }

// Close closes all connections and waits for the current operations, which fail.
func (d *Driver) Close() error { return d.links.Close() }

// dialect implements the differences between the kinds of targets. It holds the state of one target, for its current exclusive
// user.
type dialect interface {
	capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error)
	read(ctx context.Context, dev driver.Device) (driver.Settings, error)
	// apply applies settings that are in range.
	apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error)
}

// Capabilities returns the settings that the device supports.
func (d *Driver) Capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Capabilities{}, err
	}
	defer release()
	return s.speaks.capabilities(ctx, dev)
}

// Read returns the configuration of the device: for a NIC port every readable parameter, for a switch the marking of every
// queue that marks.
func (d *Driver) Read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Settings{}, err
	}
	defer release()
	return s.speaks.read(ctx, dev)
}

// Apply implements driver.Driver. It sends only differences, in one Set. It sends nothing at all if want is out of range
// (driver.ErrInvalid) or exceeds the device's known capabilities (driver.ErrUnsupported).
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

// begin waits for exclusive use of the device's target, and verifies the device's identity. release ends the use.
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

// serves returns an error for a device that a dialect does not support.
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
