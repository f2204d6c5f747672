package app

import (
	"context"
	"fmt"
	"time"

	"fairlane/internal/control"
)

// gates judges the health of a fabric by what tenants and links get.
type gates struct{ meter control.Meter }

// Defaults of gates.
const (
	gateWindow        = 100 * time.Millisecond // of the fabric's own time
	defaultShareError = 0.1
)

// Check implements engine.Gate.
func (g gates) Check(ctx context.Context, t control.Target, ro control.Rollout) error {
	o := ro.Options
	window := o.MeasureWindow
	if window == 0 {
		window = gateWindow
	}
	s, err := g.meter.Measure(ctx, t, window)
	if err != nil {
		return fmt.Errorf("shares could not be measured: %w", err)
	}
	if err := unmeasured(s); err != nil {
		return err
	}
	if o.MinUtilisation > 0 {
		if u := utilisation(s); u < o.MinUtilisation {
			return fmt.Errorf("contended links are used to %.1f %%, %.1f %% are wanted", 100*u, 100*o.MinUtilisation)
		}
	}
	bound := o.MaxShareError
	if bound == 0 && o.VerifyShares {
		bound = defaultShareError
	}
	if last := ro.Wave+1 >= ro.Waves; last && bound > 0 && s.MaxShareError > bound {
		return fmt.Errorf("the worst share error is %.1f %%, at most %.1f %% is wanted", 100*s.MaxShareError, 100*bound)
	}
	return nil
}
