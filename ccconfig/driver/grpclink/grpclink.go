// Package grpclink implements the common parts of drivers with gRPC: connections by address, one operation at a time on each
// device, limits of concurrent operations, and the mapping of errors to the kinds of package driver.
//
// The channels do not repeat requests, because no receipt would show a repeated write.
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

// Limits and defaults of options.
const (
	MaxInFlight     = 65536
	MaxTimeout      = 5 * time.Minute
	DefaultInFlight = 64
)

// Options are common to all drivers with gRPC.
type Options struct {
	// TLS secures the connections, with a client certificate if devices require one. It is required unless Insecure is set.
	TLS *tls.Config
	// Insecure disables encryption, for devices on the same machine.
	Insecure bool
	// Timeout is the limit of each request, up to MaxTimeout; 0 selects the driver's default. The context of an operation
	// limits it too.
	Timeout time.Duration
	// InFlight is the largest number of concurrent operations over all devices, up to MaxInFlight; 0 selects DefaultInFlight.
	// Each device has at most one operation at a time.
	InFlight int
	// Dial opens connections; nil selects TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Meter counts requests; nil counts none.
	Meter *Meter
}

// Pool holds the connections of a driver, and a session S for each K. Call Close when it is no longer used.
type Pool[K comparable, S any] struct {
	o     Options
	calls []grpc.CallOption
	slots chan struct{}

	mu       sync.Mutex
	closed   bool
	conns    map[string]*grpc.ClientConn // by address
	sessions map[K]*session[S]
	under    sync.WaitGroup // current operations
}

// session is a session, with a token for its exclusive use.
type session[S any] struct {
	token   chan struct{} // token for one operation at a time
	session S
}

// New returns a pool whose calls have options. It returns an error for options that are missing or out of range; timeout is the
// default of Timeout.
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
	return &Pool[K, S]{o: o, calls: calls, slots: make(chan struct{}, o.InFlight), conns: map[string]*grpc.ClientConn{}, sessions: map[K]*session[S]{}}, nil
}

// Close closes all connections and waits for the current operations, which fail.
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

// Begin waits for exclusive use of the session of a key, for an operation on a device at an address. It then calls open with
// the session of the previous operation, initially the zero value, and the connection to the address. open returns the session
// to use. release ends the use.
func (p *Pool[K, S]) Begin(ctx context.Context, dev driver.Device, key K, address string, open func(before S, conn *grpc.ClientConn) S) (s S, release func(), err error) {
	at, conn, err := p.session(dev, key, address)
	if err != nil {
		return s, nil, err
	}
	defer func() {
		if err != nil {
			p.under.Done()
		}
	}()
	for _, c := range []chan struct{}{at.token, p.slots} {
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
	return at.session, func() { <-p.slots; <-at.token; p.under.Done() }, nil
}

// session returns the seat of a key and the connection to an address, and counts a current operation.
func (p *Pool[K, S]) session(dev driver.Device, key K, address string) (*session[S], *grpc.ClientConn, error) {
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
	at := p.sessions[key]
	if at == nil {
		at = &session[S]{token: make(chan struct{}, 1)}
		p.sessions[key] = at
	}
	p.under.Add(1)
	return at, conn, nil
}

func (p *Pool[K, S]) dial(address string) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if p.o.TLS != nil {
		creds = credentials.NewTLS(p.o.TLS)
	}
	// No name service and no proxy: the address is that of the device.
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds), grpc.WithDisableRetry(), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDefaultCallOptions(p.calls...),
	}
	if p.o.Dial != nil {
		opts = append(opts, grpc.WithContextDialer(p.o.Dial))
	}
	if p.o.Meter != nil {
		opts = append(opts, grpc.WithStatsHandler(counting{p.o.Meter}))
	}
	return grpc.NewClient("passthrough:///"+address, opts...)
}

// Request returns a context with the time limit of one request.
func (p *Pool[K, S]) Request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, p.o.Timeout)
}
