package device

import (
	"context"
	"errors"
	"golang.org/x/sync/errgroup"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/prereq"
	"fairlane/internal/fieldwise"
)

// Observation is one device compared with its desired settings. Nothing was written.
type Observation struct {
	Device      driver.Device          `json:"device"`
	State       State                  `json:"state"`                 // InSync, Drifted, Unsupported, Failed when it could not be read, or Unknown
	Observed    *driver.Settings       `json:"observed,omitempty"`    // nil when it could not be read
	Differences []fieldwise.Difference `json:"differences,omitempty"` // wanted against observed
	// Unmet are the prerequisites that are wrong or unknown. With one of them a device is never InSync: it is Drifted
	// when one is wrong, else Unknown. When the settings of an InfiniBand device could not be read, Unmet holds the wrong
	// ones, which may be the cause.
	Unmet []prereq.Item `json:"-"`
	Err   error         `json:"-"`
}

// Observe reads every target's device, up to parallel (at least one) concurrently, and compares it with the desired
// settings. It writes nothing and retries nothing. The observations are in the order of the targets; those not reached
// before the context ended are Unknown with the context's error.
func Observe(ctx context.Context, targets []Target, d driver.Driver, parallel int) []Observation {
	out := make([]Observation, len(targets))
	var g errgroup.Group
	g.SetLimit(max(parallel, 1))
	for i := range targets {
		g.Go(func() error {
			out[i] = observeOne(ctx, &targets[i], d)
			return nil
		})
	}
	_ = g.Wait() // the goroutines return no errors: each observation carries its own
	return out
}

func observeOne(ctx context.Context, t *Target, d driver.Driver) Observation {
	o := Observation{Device: t.Device, State: Unknown}
	got, err := driver.Settings{}, ctx.Err()
	if err == nil {
		got, err = d.Read(ctx, t.Device)
	}
	if err != nil {
		o.Err = err
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, driver.ErrUnsupported):
			o.State = Unsupported
		default:
			o.State = Failed
		}
		if ctx.Err() == nil && t.Needs != nil && t.Needs.InfiniBand != nil {
			o.Unmet = slices.DeleteFunc(driver.Examine(ctx, d, t.Device, got, t.Needs), func(i prereq.Item) bool { return i.State != prereq.Wrong })
		}
		return o
	}
	o.Observed, o.Differences = &got, t.Want.Diff(got)
	o.Unmet = prereq.Unmet(driver.Examine(ctx, d, t.Device, got, t.Needs))
	switch wrong, unknown := prereq.Count(o.Unmet); {
	case len(o.Differences) > 0 || wrong > 0:
		o.State = Drifted
	case unknown > 0:
		o.State = Unknown
	default:
		o.State = InSync
	}
	return o
}
