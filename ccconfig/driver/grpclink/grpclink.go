// Package grpclink is what drivers by gRPC have in common: connections by address, one operation at a time on each
// device, bounds of what is under way, and what became of a request in the error kinds of package driver.
//
// No channel repeats a request of its own: a repeated write would be a write that no receipt shows.
package grpclink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"fairlane/ccconfig/driver"
)

// Limits of options, and what stands in for 0.
const (
	MaxInFlight     = 65536
	MaxTimeout      = 5 * time.Minute
	DefaultInFlight = 64
)

// Options are those of every driver by gRPC.
type Options struct {
	// TLS secures the connections, with a client certificate where devices ask for one. It is required unless Insecure is set.
	TLS *tls.Config
	// Insecure sends everything in plain text: for devices on the same machine.
	Insecure bool
	// Timeout bounds each request, up to MaxTimeout; 0 is the driver's default. The context of an operation bounds it as well.
	Timeout time.Duration
	// InFlight bounds the operations under way over all devices, up to MaxInFlight; 0 is DefaultInFlight. On one
	// device there is never more than one.
	InFlight int
	// Dial opens connections; nil is TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Pool is the connections of a driver, and a session S for each K. Close it when it is no longer used.
type Pool[K comparable, S any] struct {
	o     Options
	calls []grpc.CallOption
	slots chan struct{}

	mu     sync.Mutex
	closed bool
	conns  map[string]*grpc.ClientConn // by address
	seats  map[K]*seat[S]
	under  sync.WaitGroup // operations under way
}

// seat is a session, which belongs to whoever has the turn.
type seat[S any] struct {
	turn    chan struct{} // one operation at a time
	session S
}

// New returns a pool whose calls have options. It fails on options that are missing or out of range; timeout stands in for
// a Timeout of 0.
func New[K comparable, S any](o Options, timeout time.Duration, calls ...grpc.CallOption) (*Pool[K, S], error) {
	switch {
	case (o.TLS == nil) != o.Insecure:
		return nil, errors.New("want either TLS or, for plain text, Insecure")
	case o.Timeout < 0 || o.Timeout > MaxTimeout:
		return nil, fmt.Errorf("timeout of a request %s: want up to %s", o.Timeout, MaxTimeout)
	case o.InFlight < 0 || o.InFlight > MaxInFlight:
		return nil, fmt.Errorf("operations in flight %d: want up to %d", o.InFlight, MaxInFlight)
	}
	if o.Timeout == 0 {
		o.Timeout = timeout
	}
	if o.InFlight == 0 {
		o.InFlight = DefaultInFlight
	}
	return &Pool[K, S]{o: o, calls: calls, slots: make(chan struct{}, o.InFlight), conns: map[string]*grpc.ClientConn{}, seats: map[K]*seat[S]{}}, nil
}

// Close closes all connections and waits for the operations that are under way, which fail.
func (p *Pool[K, S]) Close() error {
	p.mu.Lock()
	p.closed = true
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	var errs []error
	for _, c := range conns {
		errs = append(errs, c.Close())
	}
	p.under.Wait()
	return errors.Join(errs...)
}

// Begin waits for the turn on the session of a key, for an operation on a device that answers at an address. open is called
// with the turn: it is given the session of the operation before, at first the zero value, and the connection to the
// address, and returns the session to work with. release ends the turn.
func (p *Pool[K, S]) Begin(ctx context.Context, dev driver.Device, key K, address string, open func(before S, conn *grpc.ClientConn) S) (s S, release func(), err error) {
	at, conn, err := p.seat(dev, key, address)
	if err != nil {
		return s, nil, err
	}
	defer func() {
		if err != nil {
			p.under.Done()
		}
	}()
	for _, c := range []chan struct{}{at.turn, p.slots} {
		select {
		case c <- struct{}{}:
			defer func() {
				if err != nil {
					<-c
				}
			}()
		case <-ctx.Done():
			return s, nil, fmt.Errorf("%s: %w", dev, ctx.Err())
		}
	}
	if err := ctx.Err(); err != nil {
		return s, nil, fmt.Errorf("%s: %w", dev, err)
	}
	at.session = open(at.session, conn)
	return at.session, func() { <-p.slots; <-at.turn; p.under.Done() }, nil
}

// seat returns that of a key and the connection to an address, and counts an operation under way.
func (p *Pool[K, S]) seat(dev driver.Device, key K, address string) (*seat[S], *grpc.ClientConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, fmt.Errorf("%w: %s: the driver is closed", driver.ErrUnreachable, dev)
	}
	conn := p.conns[address]
	if conn == nil {
		var err error
		if conn, err = p.dial(address); err != nil {
			return nil, nil, fmt.Errorf("%w: address %q of %s: %w", driver.ErrInvalid, address, dev, err)
		}
		p.conns[address] = conn
	}
	at := p.seats[key]
	if at == nil {
		at = &seat[S]{turn: make(chan struct{}, 1)}
		p.seats[key] = at
	}
	p.under.Add(1)
	return at, conn, nil
}

func (p *Pool[K, S]) dial(address string) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if p.o.TLS != nil {
		creds = credentials.NewTLS(p.o.TLS)
	}
	// No name service, no proxy: an address is where the device is.
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds), grpc.WithDisableRetry(), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDefaultCallOptions(p.calls...),
	}
	if p.o.Dial != nil {
		opts = append(opts, grpc.WithContextDialer(p.o.Dial))
	}
	return grpc.NewClient("passthrough:///"+address, opts...)
}

// Request bounds one request.
func (p *Pool[K, S]) Request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, p.o.Timeout)
}
