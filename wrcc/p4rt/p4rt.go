// Package p4rt is the driver of WRCC switches: it reads and writes their tables by P4Runtime v1, in terms of the
// P4Info of package p4info.
//
// # Who may write
//
// A P4Runtime device takes writes from one client alone, the primary: of the clients whose stream is open, the one
// with the highest election id. The driver arbitrates when it first has something to write, and keeps the stream.
// Where no primary is left it raises its own election id and takes over. Where another client is the
// primary, Apply fails with driver.ErrConflict and writes nothing, unless Options.Overrule says that this manager
// has the right to outbid it. A device that has forgotten an election, as after a reboot, refuses the write; the driver
// then arbitrates again and repeats it once. Reads need no election.
//
// # What is checked before a write
//
// Every operation asks for the cookie of the device's program, and for its P4Info when the cookie is a new one. Nothing
// is written to a program that lacks our tables or has them differently: driver.ErrUnsupported names the difference.
// Programs are never loaded.
//
// # Order of writing
//
// Data centres first, then class weights, then the ports' settings: a port does not begin to limit flows before it
// is known whose data centre it is in. Any other order would be safe too, because a fair rate
// loses no packet. Each batch is one Write of up to Options.BatchSize updates, which the device carries out one by one; when it
// refuses some of them, the receipt has one field for each.
//
// A gRPC channel repeats no request of its own here: a repeated write would be a write that the
// receipt does not show.
package p4rt

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
	"fairlane/subnet/ident"
)

// Target is where a device answers.
type Target struct {
	Address  string // host:port, of gRPC
	DeviceID uint64 // many devices may share an address
}

// ElectionID is P4Runtime's 128-bit election id. Every manager needs its own.
type ElectionID struct{ High, Low uint64 }

// String prints the id as "high/low".
func (e ElectionID) String() string { return fmt.Sprintf("%d/%d", e.High, e.Low) }

// next is the least id above e; the highest stays as it is.
func (e ElectionID) next() ElectionID {
	switch {
	case e.Low+1 != 0:
		e.Low++
	case e.High+1 != 0:
		e = ElectionID{High: e.High + 1}
	}
	return e
}

func (e ElectionID) less(o ElectionID) bool {
	return e.High < o.High || e.High == o.High && e.Low < o.Low
}

// Limits of options, and what stands in for 0.
const (
	MaxInFlight  = 65536
	MaxBatchSize = 1024
	MaxTimeout   = 5 * time.Minute

	DefaultInFlight  = 64
	DefaultBatchSize = 128
	DefaultTimeout   = 5 * time.Second
)

// Options configure a driver.
type Options struct {
	// Target says where a device answers. It is called for each operation and must be safe for concurrent use.
	Target func(driver.Device) (Target, error)
	// TLS secures the connections, with a client certificate where devices ask for one. It is required unless Insecure is set.
	TLS *tls.Config
	// Insecure sends everything in plain text: for devices on the same machine.
	Insecure bool
	// Election is the id to arbitrate with; zero is 0/1.
	Election ElectionID
	// Overrule outbids another primary instead of reporting it, for a manager that has made sure, as by a
	// lease, that it alone may write.
	Overrule bool
	// Timeout bounds each request, up to MaxTimeout; 0 is DefaultTimeout. The context of an operation bounds it as well.
	Timeout time.Duration
	// InFlight bounds the operations under way over all devices, up to MaxInFlight; 0 is DefaultInFlight. On one
	// device there is never more than one.
	InFlight int
	// BatchSize bounds the updates of one Write, up to MaxBatchSize; 0 is DefaultBatchSize.
	BatchSize int
	// Dial opens connections; nil is TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Driver implements driver.Driver for WRCC switches. Close it when it is no longer used.
type Driver struct {
	o     Options
	slots chan struct{}
	life  context.Context // of the streams, which outlast the operations that open them
	end   context.CancelFunc

	mu       sync.Mutex
	closed   bool
	conns    map[string]*grpc.ClientConn // by address
	sessions map[ident.PortID]*session
	streams  sync.WaitGroup
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
	case o.BatchSize < 0 || o.BatchSize > MaxBatchSize:
		return nil, fmt.Errorf("updates in a batch %d: want up to %d", o.BatchSize, MaxBatchSize)
	}
	if o.Election == (ElectionID{}) {
		o.Election.Low = 1
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.InFlight == 0 {
		o.InFlight = DefaultInFlight
	}
	if o.BatchSize == 0 {
		o.BatchSize = DefaultBatchSize
	}
	d := &Driver{o: o, slots: make(chan struct{}, o.InFlight), conns: map[string]*grpc.ClientConn{}, sessions: map[ident.PortID]*session{}}
	d.life, d.end = context.WithCancel(context.Background())
	return d, nil
}

// Format prints the driver's kind, whatever the verb: package fmt would otherwise look into keys and certificates.
func (d *Driver) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "WRCC switch driver") }

// Close gives up every election, closes all connections and waits for the streams to end. Operations that are under way fail.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	conns := d.conns
	d.conns = nil
	d.mu.Unlock()
	d.end()
	var errs []error
	for _, c := range conns {
		errs = append(errs, c.Close())
	}
	d.streams.Wait()
	return errors.Join(errs...)
}

// Capabilities asks for the sizes of the program's tables.
func (d *Driver) Capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Capabilities{}, err
	}
	defer release()
	return driver.Capabilities{WRCC: &driver.WRCCCapabilities{Ports: s.features.Ports, Weights: s.features.Weights, Domains: s.features.Domains}}, nil
}

// Read returns all entries of the device's tables, whoever wrote them.
func (d *Driver) Read(ctx context.Context, dev driver.Device) (driver.Settings, error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Settings{}, err
	}
	defer release()
	c, err := s.read(ctx)
	if err != nil {
		return driver.Settings{}, err
	}
	return driver.Settings{WRCC: c}, nil
}

// Apply brings the device to want, sending only what differs, in the order of the package comment. Nothing at all is
// sent when want is out of range (driver.ErrInvalid) or beyond what the device can hold (driver.ErrUnsupported).
func (d *Driver) Apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	if err := want.ValidateRanges(dev); err != nil {
		return driver.Receipt{}, fmt.Errorf("%w: nothing was sent: %w", driver.ErrInvalid, err)
	}
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Receipt{}, err
	}
	defer release()
	if err := s.fits(want.WRCC); err != nil {
		return driver.Receipt{}, err
	}
	have, err := s.read(ctx)
	if err != nil {
		return driver.Receipt{}, err
	}
	return s.apply(ctx, have, want.WRCC)
}

// begin waits for a turn on the device, finds its session and checks its program. release ends the turn.
func (d *Driver) begin(ctx context.Context, dev driver.Device) (_ *session, release func(), err error) {
	if err := dev.Validate(); err != nil {
		return nil, nil, errors.Join(driver.ErrInvalid, err)
	}
	if dev.Plane != driver.PlaneWRCC {
		return nil, nil, fmt.Errorf("%w: %s: plane %q, want %q", driver.ErrInvalid, dev, dev.Plane, driver.PlaneWRCC)
	}
	t, err := d.o.Target(dev)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: address of %s: %w", driver.ErrInvalid, dev, err)
	}
	s, err := d.session(dev, t)
	if err != nil {
		return nil, nil, err
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
	if err := s.check(ctx); err != nil {
		return nil, nil, err
	}
	return s, func() { <-d.slots; <-s.turn }, nil
}

// session returns the device's session; a device that has moved gets a new one.
func (d *Driver) session(dev driver.Device, t Target) (*session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("%w: %s: the driver is closed", driver.ErrUnreachable, dev)
	}
	if s := d.sessions[dev.ID]; s != nil {
		if s.target == t {
			return s, nil
		}
		s.hangUp()
	}
	conn := d.conns[t.Address]
	if conn == nil {
		var err error
		if conn, err = d.dial(t.Address); err != nil {
			return nil, fmt.Errorf("%w: address %q of %s: %w", driver.ErrInvalid, t.Address, dev, err)
		}
		d.conns[t.Address] = conn
	}
	s := newSession(d, dev, t, conn)
	d.sessions[dev.ID] = s
	return s, nil
}

func (d *Driver) dial(address string) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if d.o.TLS != nil {
		creds = credentials.NewTLS(d.o.TLS)
	}
	// No name service, no proxy: an address is where the device is.
	opts := []grpc.DialOption{grpc.WithTransportCredentials(creds), grpc.WithDisableRetry(), grpc.WithNoProxy(), grpc.WithDisableServiceConfig()}
	if d.o.Dial != nil {
		opts = append(opts, grpc.WithContextDialer(d.o.Dial))
	}
	return grpc.NewClient("passthrough:///"+address, opts...)
}
