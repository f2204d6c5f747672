package shares

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/operations"
)

// MeasureShares measures as ReadShares does, and stores the measurement.
func (s *Shares) MeasureShares(ctx context.Context, fabric, plan string, window time.Duration) (control.Shares, error) {
	sh, err := s.measure(ctx, fabric, plan, window)
	if err != nil {
		return control.Shares{}, err
	}
	return sh, s.keepShares(ctx, fabric, sh)
}

func (s *Shares) keepShares(ctx context.Context, fabric string, sh control.Shares) error {
	body, err := json.Marshal(sh)
	if err != nil {
		return fmt.Errorf("encode shares: %w", err)
	}
	return s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) error {
		set, err := operations.StoredSettings(ctx, r)
		if err != nil {
			return err
		}
		if err := r.AddShares(ctx, fabric, sh.MeasuredAt, body, set.Shares.Keep); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Fabric: fabric, Kind: "shares.measured", Subject: fabric, Said: sh.Summary()}, sharesMeasured(sh))
	})
}

// ListShares returns the stored measurements, newest first; zero times are no bounds. Callers limited to single tenants
// receive only those tenants' shares.
func (s *Shares) ListShares(ctx context.Context, fabric string, since, until time.Time, p control.Page) (list []control.Shares, next string, err error) {
	var stored [][]byte
	err = s.Store.View(ctx, func(r control.Repos) (err error) {
		stored, next, err = r.ListShares(ctx, fabric, since, until, p)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	names := control.VisibleTenants(ctx, fabric)
	for _, st := range stored {
		sh, err := decodeShares(st)
		if err != nil {
			return nil, "", fmt.Errorf("decode a measurement of %s: %w", fabric, err)
		}
		if names != nil {
			sh = sh.Reduced(names)
		}
		list = append(list, sh)
	}
	return list, next, nil
}

// LatestShares returns the newest stored measurement, or *NotFoundError.
func (s *Shares) LatestShares(ctx context.Context, fabric string) (control.Shares, error) {
	list, _, err := s.ListShares(ctx, fabric, time.Time{}, time.Time{}, control.Page{Limit: 1})
	if err != nil {
		return control.Shares{}, err
	}
	if len(list) == 0 {
		return control.Shares{}, &control.NotFoundError{Kind: "measurement of", Name: fabric}
	}
	return list[0], nil
}

// SampleShares measures the fabrics that are due by the settings and have a plan in force, one after another, and stores
// the measurements. Every manager may call it at any time: one of them measures. The error joins those of fabrics that
// could not be measured.
func (s *Shares) SampleShares(ctx context.Context) error {
	set, err := s.operations.Settings(ctx)
	if err != nil || set.Shares.Interval == 0 {
		return err
	}
	return s.EachFabric(ctx, "measure shares on", func(fabric string) error { return s.sample(ctx, fabric, set.Shares) })
}

func (s *Shares) sample(ctx context.Context, fabric string, set operations.ShareSettings) error {
	err := s.Store.View(ctx, func(r control.Repos) error {
		_, err := control.InForceName(ctx, r, fabric)
		return err
	})
	if err != nil {
		return err
	}
	now, due := s.Now(), false
	err = s.Store.Tx(control.OnFabric(ctx, fabric), func(r control.Repos) (err error) {
		due, err = r.ClaimShares(ctx, fabric, now, now.Add(time.Duration(set.Interval)*time.Second))
		return err
	})
	if err != nil || !due {
		return err
	}
	_, err = s.MeasureShares(ctx, fabric, "", time.Duration(set.Window)*time.Millisecond)
	return err
}

// decodeShares decodes a stored measurement. Old measurements hold 0 for values that were not measured.
func decodeShares(body []byte) (control.Shares, error) {
	var sh control.Shares
	if err := json.Unmarshal(body, &sh); err != nil {
		return control.Shares{}, err
	}
	known := false // some tenant has a share error
	for i := range sh.Tenants {
		t := &sh.Tenants[i]
		if t.Problem != "" {
			t.Delivered = nil
		}
		if t.Delivered == nil || t.Entitled <= 0 {
			t.ShareError = nil
		}
		known = known || t.ShareError != nil
	}
	for i := range sh.Links {
		l := &sh.Links[i]
		if l.Problem != "" {
			l.Delivered = nil
		}
		if l.Delivered == nil || l.Capacity <= 0 {
			l.Use = nil
		}
	}
	if !known {
		sh.MaxShareError, sh.Jain = nil, nil
	}
	return sh, nil
}

// sharesMeasured returns the data of an event shares.measured.
func sharesMeasured(sh control.Shares) map[string]any {
	tenants, links := sh.Missing()
	data := map[string]any{"complete": sh.Complete(), "tenants_not_measured": tenants, "links_not_measured": links}
	if sh.MaxShareError != nil {
		data["max_share_error"] = *sh.MaxShareError
	}
	return data
}
