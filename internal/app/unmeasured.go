package app

import (
	"errors"
	"fmt"

	"fairlane/internal/control"
)

// unmeasured lists what of a measurement could not be measured: who judges by shares must not take silence for health.
func unmeasured(s control.Shares) error {
	var errs []error
	for _, t := range s.Tenants {
		if t.Problem != "" {
			errs = append(errs, fmt.Errorf("share of tenant %s: %s", t.Tenant, t.Problem))
		}
	}
	for _, l := range s.Links {
		if l.Problem != "" {
			errs = append(errs, fmt.Errorf("use of link %s: %s", l.Name, l.Problem))
		}
	}
	return errors.Join(errs...)
}
