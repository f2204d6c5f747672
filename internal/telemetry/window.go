package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Window is what ports sent between two readings.
type Window struct {
	// Elapsed is the shortest span of device time of all measured ports.
	Elapsed quantity.Picoseconds
	Ports   []PortRate // sorted by agent and port
}

// PortRate is what one port sent.
type PortRate struct {
	Port    Port
	Err     error // why the port was not measured; the rest is then zero
	Elapsed quantity.Picoseconds
	// TimeError bounds the relative error of the rates that comes from not knowing when within
	// a reading the counters were taken.
	TimeError float64
	Wall      bool // timed by the wall clock
	Xmit      quantity.BitRate
	SL        [ident.NumSLs]quantity.BitRate
	SLErr     error // why SL was not measured; SL is then zero
}

// Between subtracts two samples of the same collector, the earlier one first. Ports whose
// counters broke off in between carry the reason.
func Between(a, b *Sample) Window {
	w := Window{Ports: make([]PortRate, 0, len(b.Ports))}
	measured := false
	for i := range b.Ports {
		r := PortRate{Port: b.Ports[i].Port, Err: ErrUnread}
		if i < len(a.Ports) && a.Ports[i].Port.ID == r.Port.ID {
			r = portRate(&a.Ports[i], &b.Ports[i])
		}
		if r.Err == nil && (!measured || r.Elapsed < w.Elapsed) {
			measured, w.Elapsed = true, r.Elapsed
		}
		w.Ports = append(w.Ports, r)
	}
	return w
}

func portRate(a, b *PortSample) PortRate {
	r := PortRate{Port: b.Port}
	span := b.Time - a.Time
	switch {
	case a.Err != nil || b.Err != nil:
		r.Err = fmt.Errorf("%w: %w", ErrUnread, errors.Join(a.Err, b.Err))
	case a.epoch != b.epoch:
		r.Err = b.why
	case a.Wall != b.Wall:
		r.Err = fmt.Errorf("clock of LID %d changed: %w", b.Port.LID, ErrReset)
	case span <= 0:
		r.Err = ErrNoTime
	}
	if r.Err != nil {
		return r
	}
	r.Elapsed, r.Wall = span, b.Wall
	r.TimeError = float64(a.Width+b.Width) / 2 / float64(span)
	r.Xmit = rateOf(b.Xmit-a.Xmit, span)
	if a.NoSL || b.NoSL {
		r.SLErr = ErrNoSLCounters
		return r
	}
	for sl := range r.SL {
		r.SL[sl] = rateOf(b.SL[sl]-a.SL[sl], span)
	}
	return r
}

// errs joins the errors of all ports, or is nil when at least one was measured.
func (w *Window) errs() error {
	var errs []error
	for i := range w.Ports {
		if w.Ports[i].Err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", w.Ports[i].Port.Name, w.Ports[i].Err))
	}
	return errors.Join(errs...)
}

// jumped reports that a TimeStamp moved much further than time can have passed, which is what
// a clock that was set back looks like. The margin lets a simulation run ahead of its pace.
func jumped(ticks uint32, passed quantity.Picoseconds) bool {
	const margin = 60 * quantity.Second
	return ticksOf(ticks) > 16*min(max(passed, 0), 1000*quantity.Second)+margin
}

// widthParts is the part of a window that a reading may take before it is repeated: together the
// two readings of a rate then leave it uncertain by half a percent.
const widthParts = 200

// Measure takes readings until window has passed on the clocks of all devices that can be
// read, often enough for no counter to become ambiguous, and returns the rates over that time.
// The window is device time, from 1 us to 1 h. It fails when no port can be measured, when
// the devices' clocks do not move on at a tenth of the expected pace, and when the context
// ends.
func (c *Collector) Measure(ctx context.Context, window quantity.Picoseconds) (Window, error) {
	if window < quantity.Microsecond || window > 3600*quantity.Second {
		return Window{}, fmt.Errorf("window of %s: want 1 us to 1 h", window)
	}
	width := window / widthParts
	first, err := c.sample(ctx, width)
	if err != nil {
		return Window{}, err
	}
	limit := 10*c.o.wall(window) + 10*time.Second
	begun := time.Now()
	for left := window; ; {
		if err := sleep(ctx, min(max(c.o.wall(left), time.Millisecond), c.Interval())); err != nil {
			return Window{}, fmt.Errorf("measure: %w", err)
		}
		last, err := c.sample(ctx, width)
		if err != nil {
			return Window{}, err
		}
		w := Between(first, last)
		if w.Elapsed >= window {
			return w, nil
		}
		if err := w.errs(); err != nil && !errors.Is(err, ErrNoTime) {
			return w, fmt.Errorf("no port could be measured: %w", err)
		}
		if time.Since(begun) > limit {
			return w, fmt.Errorf("%s of device time in %s, want %s: %w", w.Elapsed, time.Since(begun).Round(time.Millisecond), window, ErrNoTime)
		}
		left = window - w.Elapsed
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
