package control

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Devices reads every device of a plan back and compares; plan "" is that of the latest
// successful rollout. It returns the plan's name with the reports, by device.
func (s *Service) Devices(ctx context.Context, fabric, plan string) (name string, list []DeviceReport, err error) {
	t, err := s.target(ctx, fabric, plan)
	if err != nil {
		return "", nil, err
	}
	list, err = s.d.Observer.Observe(ctx, t)
	if err != nil {
		return "", nil, &UnavailableError{Code: "devices-unreachable", Detail: fmt.Sprintf("the devices of fabric %q could not be read", fabric), Err: err}
	}
	slices.SortFunc(list, func(a, b DeviceReport) int { return a.Device.ID.Compare(b.Device.ID) })
	return t.Plan.Name, list, nil
}

// Bounds of a measurement.
const (
	MinWindow = time.Millisecond
	MaxWindow = time.Minute
	// maxWall bounds the time that a request may wait for a slow, simulated fabric.
	maxWall = 4 * time.Minute
)

// Shares measures what tenants get over a window of the fabric's own time, from MinWindow to
// MaxWindow; plan "" is that of the latest successful rollout.
func (s *Service) Shares(ctx context.Context, fabric, plan string, window time.Duration) (Shares, error) {
	names := sight(ctx, fabric)
	if names == nil {
		return s.shares(ctx, fabric, plan, window)
	}
	if plan != "" {
		return Shares{}, &NotFoundError{Kind: "plan", Name: plan}
	}
	sh, err := s.shares(ctx, fabric, "", window)
	return sh.reduced(names), reducedFault(err)
}

func (s *Service) shares(ctx context.Context, fabric, plan string, window time.Duration) (Shares, error) {
	if window < MinWindow || window > MaxWindow {
		return Shares{}, Invalid("window_ms", "window %s: want %s to %s", window, MinWindow, MaxWindow)
	}
	t, err := s.target(ctx, fabric, plan)
	if err != nil {
		return Shares{}, err
	}
	if wall := time.Duration(float64(window) / t.Fabric.TimeScale); wall > maxWall {
		return Shares{}, Invalid("window_ms", "window %s: takes %s at the fabric's time scale of %v, want at most %s",
			window, wall.Round(time.Second), t.Fabric.TimeScale, maxWall)
	}
	sh, err := s.d.Meter.Measure(ctx, t, window)
	if err != nil {
		return Shares{}, &UnavailableError{Code: "measurement-failed", Detail: fmt.Sprintf("shares on fabric %q could not be measured", fabric), Err: err}
	}
	sh.Plan, sh.MeasuredAt = t.Plan.Name, s.now()
	if sh.Window == 0 {
		sh.Window = window
	}
	return sh, nil
}
