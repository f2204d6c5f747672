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
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/nicparam"
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
}

// ElectionID is gNMI's 128-bit election id of a master. Zero is none.
type ElectionID struct{ High, Low uint64 }

// Limits of options, and what stands in for 0.
const (
	MaxInFlight = 65536
	MaxTimeout  = 5 * time.Minute
	MaxRole     = 64 // bytes

	DefaultInFlight = 64
	DefaultTimeout  = 10 * time.Second
)

// maxAnswer bounds an answer, bytes: the tables of a large switch have about one.
const maxAnswer = 64 << 20

// Options configure a driver.
type Options struct {
	// Target says where a device answers. It is called for each operation and must be safe for concurrent use.
	Target func(driver.Device) (Target, error)
	// TLS secures the connections, with a client certificate where targets ask for one. It is required unless Insecure is set.
	TLS *tls.Config
	// Insecure sends everything in plain text: for targets on the same machine.
	Insecure bool
	// Election is claimed by every Set, for Role. Zero claims nothing.
	Election ElectionID
	// Role is the group of managers that arbitrate among themselves, up to MaxRole bytes; empty is the default one.
	Role string
	// Timeout bounds each request, up to MaxTimeout; 0 is DefaultTimeout. The context of an operation bounds it as well.
	Timeout time.Duration
	// InFlight bounds the operations under way over all devices, up to MaxInFlight; 0 is DefaultInFlight. On one
	// target there is never more than one.
	InFlight int
	// Dial opens connections; nil is TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Driver implements driver.Driver for devices that answer gNMI. Close it when it is no longer used.
type Driver struct {
	o     Options
	slots chan struct{}
	rows  *nicparam.Table // of all parameters that there are

	mu       sync.Mutex
	closed   bool
	conns    map[string]*grpc.ClientConn // by address
	sessions map[Target]*session
	under    sync.WaitGroup // operations under way
}

var _ driver.Driver = (*Driver)(nil)

// New returns a driver. It fails on options that are missing or out of range.
func New(o Options) (*Driver, error) {
	switch {
	case o.Target == nil:
		return nil, errors.New("no way to find a device's address: want Options.Target")
	case (o.TLS == nil) != o.Insecure:
		return nil, errors.New("want either TLS or, for plain text, Insecure")
	case o.Timeout < 0 || o.Timeout > MaxTimeout:
		return nil, fmt.Errorf("timeout of a request %s: want up to %s", o.Timeout, MaxTimeout)
	case o.InFlight < 0 || o.InFlight > MaxInFlight:
		return nil, fmt.Errorf("operations in flight %d: want up to %d", o.InFlight, MaxInFlight)
	case len(o.Role) > MaxRole:
		return nil, fmt.Errorf("role of %d bytes: want up to %d", len(o.Role), MaxRole)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.InFlight == 0 {
		o.InFlight = DefaultInFlight
	}
	return &Driver{o: o, slots: make(chan struct{}, o.InFlight), rows: nicparam.New(nicparam.Caps{}), conns: map[string]*grpc.ClientConn{}, sessions: map[Target]*session{}}, nil
}

// Format prints the driver's kind, whatever the verb: package fmt would otherwise look into keys and certificates.
func (d *Driver) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "gNMI driver") }

// Close closes all connections and waits for the operations that are under way, which fail.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	conns := d.conns
	d.conns = nil
	d.mu.Unlock()
	var errs []error
	for _, c := range conns {
		errs = append(errs, c.Close())
	}
	d.under.Wait()
	return errors.Join(errs...)
}

// dialect is what differs between the kinds of targets. It holds what is known of one target, and belongs to whoever has
// the turn on it.
type dialect interface {
	// serves is an error for a device that the dialect does not speak of.
	serves(dev driver.Device) error
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
		return driver.Receipt{}, fmt.Errorf("%w: nothing was sent: %w", driver.ErrInvalid, err)
	}
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Receipt{}, err
	}
	defer release()
	return s.speaks.apply(ctx, dev, want)
}

// begin waits for a turn on the device's target. release ends the turn.
func (d *Driver) begin(ctx context.Context, dev driver.Device) (_ *session, release func(), err error) {
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
	s, err := d.session(dev, t)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			d.under.Done()
		}
	}()
	if err := s.speaks.serves(dev); err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", driver.ErrInvalid, dev, err)
	}
	for _, c := range []chan struct{}{s.turn, d.slots} {
		select {
		case c <- struct{}{}:
			defer func() {
				if err != nil {
					<-c
				}
			}()
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("%s: %w", dev, ctx.Err())
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dev, err)
	}
	return s, func() { <-d.slots; <-s.turn; d.under.Done() }, nil
}

// session returns the target's session, and counts an operation under way.
func (d *Driver) session(dev driver.Device, t Target) (*session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("%w: %s: the driver is closed", driver.ErrUnreachable, dev)
	}
	s := d.sessions[t]
	if s == nil {
		conn := d.conns[t.Address]
		if conn == nil {
			var err error
			if conn, err = d.dial(t.Address); err != nil {
				return nil, fmt.Errorf("%w: address %q of %s: %w", driver.ErrInvalid, t.Address, dev, err)
			}
			d.conns[t.Address] = conn
		}
		var err error
		if s, err = newSession(d, t, conn); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", driver.ErrInvalid, dev, err)
		}
		d.sessions[t] = s
	}
	d.under.Add(1)
	return s, nil
}

func (d *Driver) dial(address string) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if d.o.TLS != nil {
		creds = credentials.NewTLS(d.o.TLS)
	}
	// No name service, no proxy: an address is where the target is.
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds), grpc.WithDisableRetry(), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
	}
	if d.o.Dial != nil {
		opts = append(opts, grpc.WithContextDialer(d.o.Dial))
	}
	return grpc.NewClient("passthrough:///"+address, opts...)
}
