// Package live runs simulated fabrics that answer the protocols of real devices: management datagrams over the wire protocol of
// ibsim, gNMI and P4Runtime.
package live

import (
	"context"
	"errors"
	"net"

	"golang.org/x/sync/errgroup"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/usage"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
)

// InfiniBand is a live simulated fabric that answers the ibsim wire protocol.
type InfiniBand struct {
	Scenario *scenario.Scenario
	Devices  *simdev.Devices
	Server   *simdev.Server
	group    *errgroup.Group
	stop     context.CancelFunc
	done     context.Context // ends with the fabric
}

// StartInfiniBand builds a scenario and serves it at addr until the context ends or Close is called. It rejects an Ethernet
// scenario.
func StartInfiniBand(ctx context.Context, s *scenario.Scenario, addr string, o simdev.Options) (*InfiniBand, error) {
	if s.Ethernet != nil {
		return nil, wrongPlane(s, scenario.PlaneInfiniBand)
	}
	network, _, err := s.Build()
	if err != nil {
		return nil, err
	}
	devices, err := simdev.New(network, o)
	if err != nil {
		return nil, usage.Wrap(err) // New returns errors for invalid options only
	}
	server, err := simdev.Listen(devices, addr)
	var socket *net.OpError
	switch {
	case errors.As(err, &socket):
		return nil, phrase.Because(err, phrase.Of("scenario.serve", "reason", err))
	case err != nil:
		return nil, usage.Wrap(phrase.Because(err, phrase.Of("scenario.serve", "reason", err)))
	}
	ctx, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return devices.Run(ctx) })
	group.Go(func() error { return server.Serve(ctx) })
	return &InfiniBand{Scenario: s, Devices: devices, Server: server, group: group, stop: stop, done: ctx}, nil
}

// Reconnect makes applications of the fabric reconnect periodically, as keepReconnecting describes.
func (l *InfiniBand) Reconnect() {
	l.group.Go(func() error { return l.keepReconnecting(l.done, reconnectPeriod) })
}

// Ended returns a channel that is closed when the fabric has ended for any reason; Close returns the error.
func (l *InfiniBand) Ended() <-chan struct{} { return l.done.Done() }

// Close stops the fabric and waits for its end.
func (l *InfiniBand) Close() error {
	l.stop()
	return l.group.Wait()
}

// Wait returns when the fabric's own time has advanced by span.
func (l *InfiniBand) Wait(ctx context.Context, span quantity.Picoseconds) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.done, cancel)() // the time of an ended fabric does not advance
	return waitFor(ctx, l.Devices, l.Devices.Now()+span)
}
