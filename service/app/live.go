package app

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sync/errgroup"

	"fairlane/internal/quantity"
	"fairlane/internal/usage"
	"fairlane/sim/scenario"
	"fairlane/sim/simdev"
)

// live is a simulated fabric that runs and answers the ibsim wire protocol.
type live struct {
	scenario *scenario.Scenario
	devices  *simdev.Devices
	server   *simdev.Server
	group    *errgroup.Group
	stop     context.CancelFunc
	done     context.Context // ends when the fabric does
}

// startLive builds a scenario and serves it at addr until the context ends or close is called.
func startLive(ctx context.Context, s *scenario.Scenario, addr string, o simdev.Options) (*live, error) {
	network, _, err := s.Build()
	if err != nil {
		return nil, err
	}
	devices, err := simdev.New(network, o)
	if err != nil {
		return nil, &usage.Error{Err: err} // it refuses nothing but options
	}
	server, err := simdev.Listen(devices, addr)
	var socket *net.OpError
	switch {
	case errors.As(err, &socket):
		return nil, fmt.Errorf("serve the simulated fabric: %w", err)
	case err != nil:
		return nil, usage.Errorf("serve the simulated fabric: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return devices.Run(ctx) })
	group.Go(func() error { return server.Serve(ctx) })
	return &live{scenario: s, devices: devices, server: server, group: group, stop: stop, done: ctx}, nil
}

// close stops the fabric and waits for it.
func (l *live) close() error {
	l.stop()
	return l.group.Wait()
}

// wait returns when the fabric's own time has advanced by span.
func (l *live) wait(ctx context.Context, span quantity.Picoseconds) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.done, cancel)() // a fabric that died stands still
	return waitFor(ctx, l.devices, l.devices.Now()+span)
}
