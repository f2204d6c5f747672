package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fairlane/internal/phrase"
)

// ShareRepo keeps measurements of each fabric, at most so many as the settings say.
type ShareRepo interface {
	// AddShares adds a measurement, as JSON, and takes out the oldest ones beyond keep.
	AddShares(ctx context.Context, fabric string, at time.Time, body []byte, keep int) error
	// ListShares returns measurements, newest first; zero times are no bounds.
	ListShares(ctx context.Context, fabric string, since, until time.Time, p Page) (list [][]byte, next string, err error)
	// ClaimShares reports whether a measurement of the fabric is due, and makes the next one due at next: of
	// several managers that ask, one is told so.
	ClaimShares(ctx context.Context, fabric string, now, next time.Time) (bool, error)
}

// MeasureShares measures as Shares does, and keeps the measurement.
func (s *Service) MeasureShares(ctx context.Context, fabric, plan string, window time.Duration) (Shares, error) {
	sh, err := s.shares(ctx, fabric, plan, window)
	if err != nil {
		return Shares{}, err
	}
	return sh, s.keepShares(ctx, fabric, sh)
}

func (s *Service) keepShares(ctx context.Context, fabric string, sh Shares) error {
	body, err := json.Marshal(sh)
	if err != nil {
		return fmt.Errorf("encode shares: %w", err)
	}
	return s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) error {
		set, err := settings(ctx, r)
		if err != nil {
			return err
		}
		if err := r.AddShares(ctx, fabric, sh.MeasuredAt, body, set.Shares.Keep); err != nil {
			return err
		}
		return s.event(ctx, r, Event{Fabric: fabric, Kind: "shares.measured", Subject: fabric, Said: sh.summary()}, sharesMeasured(sh))
	})
}

// ListShares returns the measurements that were kept, newest first; zero times are no bounds. Who may see single
// tenants only gets their part.
func (s *Service) ListShares(ctx context.Context, fabric string, since, until time.Time, p Page) (list []Shares, next string, err error) {
	var stored [][]byte
	err = s.d.Store.View(ctx, func(r Repos) (err error) {
		stored, next, err = r.ListShares(ctx, fabric, since, until, p)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	names := sight(ctx, fabric)
	for _, st := range stored {
		sh, err := decodeShares(st)
		if err != nil {
			return nil, "", fmt.Errorf("decode a measurement of %s: %w", fabric, err)
		}
		if names != nil {
			sh = sh.reduced(names)
		}
		list = append(list, sh)
	}
	return list, next, nil
}

// LatestShares returns the newest measurement that was kept, or *NotFoundError.
func (s *Service) LatestShares(ctx context.Context, fabric string) (Shares, error) {
	list, _, err := s.ListShares(ctx, fabric, time.Time{}, time.Time{}, Page{Limit: 1})
	if err != nil {
		return Shares{}, err
	}
	if len(list) == 0 {
		return Shares{}, &NotFoundError{Kind: "measurement of", Name: fabric}
	}
	return list[0], nil
}

// SampleShares measures the fabrics that are due by the settings and have a plan in force, one after another, and
// keeps the measurements. Every manager may call it as often as it likes: one of them measures. The error joins those
// of fabrics that could not be measured.
func (s *Service) SampleShares(ctx context.Context) error {
	set, err := s.Settings(ctx)
	if err != nil || set.Shares.Interval == 0 {
		return err
	}
	return s.eachFabric(ctx, "measure shares on", func(fabric string) error { return s.sample(ctx, fabric, set.Shares) })
}

func (s *Service) sample(ctx context.Context, fabric string, set ShareSettings) error {
	err := s.d.Store.View(ctx, func(r Repos) error {
		_, err := inForceName(ctx, r, fabric)
		return err
	})
	if err != nil {
		return err
	}
	now, due := s.now(), false
	err = s.d.Store.Tx(OnFabric(ctx, fabric), func(r Repos) (err error) {
		due, err = r.ClaimShares(ctx, fabric, now, now.Add(time.Duration(set.Interval)*time.Second))
		return err
	})
	if err != nil || !due {
		return err
	}
	_, err = s.MeasureShares(ctx, fabric, "", time.Duration(set.Window)*time.Millisecond)
	return err
}

// decodeShares reads a measurement that was kept. Those from before figures could be absent had 0 for what was not measured.
func decodeShares(body []byte) (Shares, error) {
	var sh Shares
	if err := json.Unmarshal(body, &sh); err != nil {
		return Shares{}, err
	}
	known := false // the share error of some tenant is
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

// Missing counts the tenants and the contended links that were not measured.
func (sh Shares) Missing() (tenants, links int) {
	for _, t := range sh.Tenants {
		if t.Delivered == nil {
			tenants++
		}
	}
	for _, l := range sh.Links {
		if l.Delivered == nil {
			links++
		}
	}
	return tenants, links
}

// Complete reports whether every tenant and every contended link was measured.
func (sh Shares) Complete() bool {
	tenants, links := sh.Missing()
	return tenants+links == 0
}

// summary is a measurement in one sentence, with how much is missing.
func (sh Shares) summary() phrase.Text {
	said := phrase.Of("event.share-error-unmeasured")
	if sh.MaxShareError != nil {
		said = phrase.Of("event.share-error", "error", phrase.PercentOf(*sh.MaxShareError, 1))
	}
	if tenants, links := sh.Missing(); tenants+links > 0 {
		said = phrase.Of("joined", "first", said, "second",
			phrase.Of("event.shares-missing", "tenants", tenants, "all_tenants", len(sh.Tenants), "links", links, "all_links", len(sh.Links)))
	}
	return said
}

// sharesMeasured is the data of an event shares.measured.
func sharesMeasured(sh Shares) map[string]any {
	tenants, links := sh.Missing()
	data := map[string]any{"complete": sh.Complete(), "tenants_not_measured": tenants, "links_not_measured": links}
	if sh.MaxShareError != nil {
		data["max_share_error"] = *sh.MaxShareError
	}
	return data
}
