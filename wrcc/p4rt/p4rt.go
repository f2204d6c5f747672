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
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/driver/grpclink"
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
	MaxBatchSize = 1024

	DefaultBatchSize = 128
	DefaultTimeout   = 5 * time.Second
)

// Options configure a driver.
type Options struct {
	grpclink.Options

	// Target says where a device answers. It is called for each operation and must be safe for concurrent use.
	Target func(driver.Device) (Target, error)
	// Election is the id to arbitrate with; zero is 0/1.
	Election ElectionID
	// Overrule outbids another primary instead of reporting it, for a manager that has made sure, as by a
	// lease, that it alone may write.
	Overrule bool
	// BatchSize bounds the updates of one Write, up to MaxBatchSize; 0 is DefaultBatchSize.
	BatchSize int
}

// Driver implements driver.Driver for WRCC switches. Close it when it is no longer used.
type Driver struct {
	o       Options
	links   *grpclink.Pool[ident.PortID, *session]
	streams sync.WaitGroup // which outlast the operations that open them
}

var _ driver.Driver = (*Driver)(nil)

// New returns a driver. It fails on options that are missing or out of range.
func New(o Options) (*Driver, error) {
	switch {
	case o.Target == nil:
		return nil, errors.New("no way to find a device's address: want Options.Target")
	case o.BatchSize < 0 || o.BatchSize > MaxBatchSize:
		return nil, fmt.Errorf("updates in a batch %d: want up to %d", o.BatchSize, MaxBatchSize)
	}
	if o.Election == (ElectionID{}) {
		o.Election.Low = 1
	}
	if o.BatchSize == 0 {
		o.BatchSize = DefaultBatchSize
	}
	links, err := grpclink.New[ident.PortID, *session](o.Options, DefaultTimeout)
	if err != nil {
		return nil, err
	}
	return &Driver{o: o, links: links}, nil
}

// Format prints the driver's kind, whatever the verb: package fmt would otherwise look into keys and certificates.
func (d *Driver) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "WRCC switch driver") }

// Close gives up every election, closes all connections and waits for operations, which fail, and streams to end.
func (d *Driver) Close() error {
	err := d.links.Close() // which ends the streams
	d.streams.Wait()
	return err
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
		return driver.Receipt{}, driver.Refusef(driver.ErrInvalid, "%w", err)
	}
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Receipt{}, driver.Unsent(err)
	}
	defer release()
	if err := s.fits(want.WRCC); err != nil {
		return driver.Receipt{}, err
	}
	have, err := s.read(ctx)
	if err != nil {
		return driver.Receipt{}, driver.Unsent(err)
	}
	return s.apply(ctx, have, want.WRCC)
}

// begin waits for a turn on the device, finds its session and checks its program. release ends the turn.
func (d *Driver) begin(ctx context.Context, dev driver.Device) (_ *session, release func(), _ error) {
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
	s, release, err := d.links.Begin(ctx, dev, dev.ID, t.Address, func(s *session, conn *grpc.ClientConn) *session {
		switch {
		case s != nil && s.target == t:
			return s
		case s != nil: // the device has moved
			s.hangUp()
		}
		return newSession(d, dev, t, conn)
	})
	if err != nil {
		return nil, nil, err
	}
	if err := s.check(ctx); err != nil {
		release()
		return nil, nil, err
	}
	return s, release, nil
}
