// Package p4rt is the driver of WRCC switches: it reads and writes their tables by P4Runtime v1, with the P4Info of package
// p4info.
//
// # Elections
//
// A P4Runtime device accepts writes from one client only, the primary: of the clients with an open stream, the one with the
// highest election id. The driver starts an election before its first write, and keeps the stream. If there is no primary any
// more, it raises its own election id and takes over. If another client is the primary, Apply returns driver.ErrConflict and
// writes nothing, unless Options.TakeOver allows this manager to outbid it. A device that has lost an election, for example
// after a reboot, rejects the write; the driver then starts a new election and repeats the write once. Reads need no election.
//
// # Checks before a write
//
// Every operation reads the cookie of the device's program, and its P4Info if the cookie is new. The driver writes nothing to a
// program without our tables or with different ones: driver.ErrUnsupported names the difference. It never loads programs.
//
// # Order of writing
//
// Data centres are written first, then class weights, then the ports' settings, so that a port does not limit flows before its
// data centre is known. Any other order would be safe too, because a fair rate loses no packet. Each batch is one Write of up
// to Options.BatchSize updates, which the device executes one by one; if it rejects some of them, the receipt has one field for
// each.
//
// The gRPC channel does not repeat requests, because the receipt would not show a repeated write.
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

// Target is the address of a device.
type Target struct {
	Address  string // host:port, of gRPC
	DeviceID uint64 // many devices may share an address
}

// ElectionID is P4Runtime's 128-bit election id. Every manager needs a different one.
type ElectionID struct{ High, Low uint64 }

// String formats the id as "high/low".
func (e ElectionID) String() string { return fmt.Sprintf("%d/%d", e.High, e.Low) }

// next returns the lowest id above e; the highest id is returned unchanged.
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

// Limits and defaults of options.
const (
	MaxBatchSize = 1024

	DefaultBatchSize = 128
	DefaultTimeout   = 5 * time.Second
)

// Options configure a driver.
type Options struct {
	grpclink.Options

	// Target returns the address of a device. It is called for each operation and must be safe for concurrent use.
	Target func(driver.Device) (Target, error)
	// Election is the id for elections; zero means 0/1.
	Election ElectionID
	// TakeOver outbids another primary instead of reporting it, for a manager that has ensured, for example by a lease, that
	// only it may write.
	TakeOver bool
	// BatchSize is the largest number of updates of one Write, up to MaxBatchSize; 0 means DefaultBatchSize.
	BatchSize int
}

// Driver implements driver.Driver for WRCC switches. Call Close when it is no longer used.
type Driver struct {
	o       Options
	links   *grpclink.Pool[ident.PortID, *session]
	streams sync.WaitGroup // which outlive the operations that open them
}

var _ driver.Driver = (*Driver)(nil)

// New returns a driver. It returns an error for options that are missing or out of range.
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

// Format prints only the driver's kind, for any verb. Package fmt would otherwise print keys and certificates.
func (d *Driver) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "WRCC switch driver") }

// Close gives up every election, closes all connections and waits for streams and operations, which fail.
func (d *Driver) Close() error {
	err := d.links.Close() // this ends the streams
	d.streams.Wait()
	return err
}

// Capabilities returns the sizes of the program's tables.
func (d *Driver) Capabilities(ctx context.Context, dev driver.Device) (driver.Capabilities, error) {
	s, release, err := d.begin(ctx, dev)
	if err != nil {
		return driver.Capabilities{}, err
	}
	defer release()
	return driver.Capabilities{WRCC: &driver.WRCCCapabilities{Ports: s.features.Ports, Weights: s.features.Weights, Domains: s.features.Domains}}, nil
}

// Read returns all entries of the device's tables, written by any client.
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

// Apply implements driver.Driver. It sends only differences, in the order of the package comment. It sends nothing at all if
// want is out of range (driver.ErrInvalid) or exceeds the device's capacity (driver.ErrUnsupported).
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

// begin waits for exclusive use of the device, returns its session and checks its program. release ends the use.
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
		case s != nil: // the device has a new address
			s.resign()
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
