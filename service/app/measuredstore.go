package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"fairlane/api"
	"fairlane/internal/span"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/service/obs"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// measuredStore counts the transactions of a store, and traces them.
type measuredStore struct {
	control.Store
	m *obs.Metrics
}

var _ control.Store = measuredStore{}

func (s measuredStore) Tx(ctx context.Context, f func(control.Repos) error) error {
	return s.measure(ctx, true, f, s.Store.Tx)
}

func (s measuredStore) View(ctx context.Context, f func(control.Repos) error) error {
	return s.measure(ctx, false, f, s.Store.View)
}

func (s measuredStore) measure(ctx context.Context, write bool, f func(control.Repos) error, run func(context.Context, func(control.Repos) error) error) error {
	name := "store.read"
	if write {
		name = "store.write"
	}
	ctx, sp := span.Start(ctx, name)
	begun := time.Now()
	err := run(ctx, f)
	s.m.Transaction(write, time.Since(begun))
	reason := storeFault(err)
	if reason != "" {
		s.m.StoreFailed(write, reason)
		sp.Fail(reason)
	}
	sp.End(nil)
	return err
}

// storeFault is why a transaction failed, "" when it did not or the caller asked for the impossible.
func storeFault(err error) string {
	var away *control.UnavailableError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &away):
		switch away.Code {
		case "storage-full":
			return "full"
		case "storage-read-only":
			return "read-only"
		case "storage-damaged":
			return "damaged"
		case "storage-unavailable":
			return "lost"
		}
		return "" // what the transaction waited for was no store
	}
	for _, kind := range []error{control.ErrNotFound, control.ErrConflict, control.ErrInvalid, control.ErrPrecondition, control.ErrUnauthorized, control.ErrForbidden} {
		if errors.Is(err, kind) {
			return ""
		}
	}
	return "other"
}

// measuredPorts counts discoveries and measurements.
type measuredPorts struct {
	control.Discoverer
	control.Meter
	control.Rescanner
	m *obs.Metrics
}

var (
	_ control.Discoverer = measuredPorts{}
	_ control.Rescanner  = measuredPorts{}
	_ control.Meter      = measuredPorts{}
)

func (p measuredPorts) Discover(ctx context.Context, source string, o policy.Options) (f *subnet.Fabric, stats control.DiscoverStats, err error) {
	kind, _, _ := strings.Cut(source, ":")
	ctx, sp := span.Start(ctx, "discover", "source", kind)
	begun := time.Now()
	f, stats, err = p.Discoverer.Discover(ctx, source, o)
	p.m.Discovered(time.Since(begun), err)
	sp.Set("mads", stats.MADsSent)
	sp.End(err)
	return f, stats, err
}

func (p measuredPorts) Rescan(ctx context.Context, f control.Fabric, known *subnet.Fabric, manager ident.PortID) (control.Rescan, error) {
	ctx, sp := span.Start(ctx, "rescan", "fabric", f.Name)
	begun := time.Now()
	l, err := p.Rescanner.Rescan(ctx, f, known, manager)
	p.m.Discovered(time.Since(begun), err)
	sp.Set("mads", l.Stats.MADsSent)
	sp.End(err)
	return l, err
}

func (p measuredPorts) Measure(ctx context.Context, t control.Target, window time.Duration) (control.Shares, error) {
	ctx, sp := span.Start(ctx, "measure", "fabric", t.Fabric.Name)
	begun := time.Now()
	shares, err := p.Meter.Measure(ctx, t, window)
	p.m.Measured(time.Since(begun), shares.Complete(), err)
	sp.End(err)
	return shares, err
}

// readings counts what was found of devices that were read to look for drift.
func readings(list []control.DeviceReport) map[string]int {
	out := map[string]int{}
	for i := range list {
		out[string(device.ReadingOf(list[i].State))]++
	}
	return out
}

// watch returns what api.Options.Watch calls.
func watch(m *obs.Metrics) func() func(api.Answered) {
	return func() func(api.Answered) {
		end := m.Begin()
		return func(a api.Answered) {
			end()
			m.Answered(obs.Request(a))
		}
	}
}
