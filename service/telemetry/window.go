package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Window is the traffic of ports between two readings.
type Window struct {
	// Elapsed is the shortest measured time of a port, by its own device's clock.
	Elapsed quantity.Picoseconds
	// Coverage is the smallest fraction of the window that a measured counter covers, 0 to 1; 0 when none was measured.
	Coverage float64
	Ports    []PortRate // sorted by agent and port
}

// Rate is a measured rate, or the reason why it was not measured. The zero value is not measured.
type Rate struct {
	bps quantity.BitRate
	ok  bool
	err error
}

// Measured returns the measured rate bps.
func Measured(bps quantity.BitRate) Rate { return Rate{bps: bps, ok: true} }

// Unmeasured returns a rate that was not measured, for the reason err.
func Unmeasured(err error) Rate { return Rate{err: err} }

// Value returns the rate, or the reason why there is none.
func (r Rate) Value() (quantity.BitRate, error) {
	if !r.ok {
		return 0, cmp.Or(r.err, ErrUnread)
	}
	return r.bps, nil
}

// PortRate is the rate of one port.
type PortRate struct {
	Port Port
	Err  error // why nothing is known of the port
	// Elapsed is how long the port was measured, and Coverage that time as a fraction of the window. Time in which a
	// counter may have been cleared, was saturated or wrapped unnoticed is excluded.
	Elapsed  quantity.Picoseconds
	Coverage float64
	// TimeError bounds the relative error of the rates that results from the unknown instant within a reading at which the
	// counters were taken.
	TimeError float64
	Wall      bool // timed by the wall clock
	Xmit      Rate
	SL        [ident.NumSLs]Rate

	span quantity.Picoseconds // of the window by the port's device
}

// leastParts sets the minimum for a measured rate: one part in this number of parts of the window. It is more than one in maxSpans
// windows, so that another turn can make up for an interrupted window of one turn.
const leastParts = 3

// Between subtracts two samples of the same collector, the earlier one first. A rate measured for less than a third of
// the time between them is replaced by the reason.
func Between(a, b *Sample) Window {
	w := Window{Ports: make([]PortRate, 0, len(b.Ports))}
	for i := range b.Ports {
		r := PortRate{Port: b.Ports[i].Port, Err: ErrUnread}
		if i < len(a.Ports) && a.Ports[i].Port.ID == r.Port.ID {
			r = portRate(&a.Ports[i], &b.Ports[i])
		}
		if r.Elapsed > 0 {
			if w.Elapsed == 0 {
				w.Elapsed, w.Coverage = r.Elapsed, 1
			}
			w.Elapsed, w.Coverage = min(w.Elapsed, r.Elapsed), min(w.Coverage, r.Coverage)
		}
		w.Ports = append(w.Ports, r)
	}
	return w
}

func portRate(a, b *PortSample) PortRate {
	r := PortRate{Port: b.Port, Wall: b.Wall, span: b.Time - a.Time}
	switch {
	case a.Err != nil || b.Err != nil:
		r.Err = unread(cmp.Or(b.Err, a.Err))
	case a.Wall != b.Wall:
		r.Err = phrase.Because(ErrReset, phrase.Of("measure.clock-reset-at", "lid", b.Port.LID))
	case r.span <= 0:
		r.Err = ErrNoTime
	}
	if r.Err != nil {
		return r
	}
	var least, most quantity.Picoseconds // measured time of a counter
	rate := func(a, b *tally) Rate {
		t := b.time - a.time
		if t == 0 || t < r.span/leastParts {
			return Unmeasured(cmp.Or(b.why, ErrUnread))
		}
		if most == 0 {
			least = t
		}
		least, most = min(least, t), max(most, t)
		return Measured(rateOf(b.words-a.words, t))
	}
	r.Xmit = rate(&a.totals.port, &b.totals.port)
	if !b.NoSL {
		most = 0 // the port counts as measured by the counters that distinguish tenants
	}
	for sl := range r.SL {
		if b.NoSL {
			r.SL[sl] = Unmeasured(ErrNoSLCounters)
		} else {
			r.SL[sl] = rate(&a.totals.sl[sl], &b.totals.sl[sl])
		}
	}
	if r.Elapsed = most; most > 0 {
		r.Coverage = min(float64(least)/float64(r.span), 1)
		r.TimeError = float64(b.totals.edges-a.totals.edges+(a.Width+b.Width)/2) / float64(least)
	}
	return r
}

// unread returns ErrUnread with a reason.
func unread(err error) error {
	return phrase.Because(errors.Join(ErrUnread, err), phrase.Of("labelled", "label", ErrUnread, "text", err))
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

// jumped reports whether a TimeStamp moved much further than time can have passed, as when a clock was set back. The
// margin allows a simulation to run ahead of its pace.
func jumped(ticks uint32, passed quantity.Picoseconds) bool {
	const margin = 60 * quantity.Second
	return ticksOf(ticks) > 16*min(max(passed, 0), 1000*quantity.Second)+margin
}

// readingFraction bounds the duration of a reading before it is repeated, as one part in this number of parts of the window: together the
// two readings of a rate then leave it uncertain by half a percent.
const readingFraction = 200

// maxSpans bounds how long Measure continues for interrupted counters, in windows.
const maxSpans = 2

// left returns how much of a window remains to be measured on the slowest port, or 0.
func (w *Window) left(window quantity.Picoseconds) (left quantity.Picoseconds) {
	moving := false // some clock moves
	for i := range w.Ports {
		if r := &w.Ports[i]; r.Err == nil {
			moving = true
			if r.span < maxSpans*window {
				left = max(left, window-r.Elapsed)
			}
		}
	}
	if !moving {
		return window
	}
	return left
}

// Measure takes readings until every readable port was measured for window on the clock of its device, often enough for
// no counter to become ambiguous, and returns the rates over that time. It makes up for interrupted time, up to twice the
// window. The window is device time, from 1 us to 1 h. It fails when no port can be read, when the devices' clocks stand
// still or are far too slow, and when the context ends.
func (c *Collector) Measure(ctx context.Context, window quantity.Picoseconds) (Window, error) {
	if window < quantity.Microsecond || window > 3600*quantity.Second {
		return Window{}, fmt.Errorf("window of %s: want 1 us to 1 h", window)
	}
	width := window / readingFraction
	first, err := c.sample(ctx, width)
	if err != nil {
		return Window{}, err
	}
	p := c.o.patience(window, maxSpans)
	for left := window; ; {
		if err := sleep(ctx, min(max(c.o.wall(left), time.Millisecond), c.Interval())); err != nil {
			return Window{}, fmt.Errorf("measure: %w", err)
		}
		last, err := c.sample(ctx, width)
		if err != nil {
			return Window{}, err
		}
		w := Between(first, last)
		if err := w.errs(); err != nil && !errors.Is(err, ErrNoTime) {
			return w, fmt.Errorf("no port could be measured: %w", err)
		}
		if left = w.left(window); left <= 0 {
			return w, nil
		}
		if err := p.lost(left); err != nil {
			return w, err
		}
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
