// Package silences has the use cases about silences: which alerts are not sent to receivers, from when until when, and why.
package silences

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/silence"
)

// Silences are the use cases of this package. They are safe for concurrent use.
type Silences struct{ *control.Base }

// New returns the use cases over the shared base.
func New(b *control.Base) *Silences { return &Silences{b} }

// Bounds of silences.
const (
	maxComment = 500                  // characters
	maxLength  = 366 * 24 * time.Hour // of the period
	maxOpen    = 1000                 // silences that have not expired
	keptFor    = 90 * 24 * time.Hour  // after the end; the audit log keeps its own record
)

// Input is a requested silence.
type Input struct {
	Matchers []string
	StartsAt time.Time // zero, and every time before now, means now
	EndsAt   time.Time
	Comment  string
}

// check returns the silence that the input asks for.
func (in Input) check(now time.Time) (silence.Silence, error) {
	var bad control.InvalidError
	s := silence.Silence{StartsAt: in.StartsAt, EndsAt: in.EndsAt, Comment: strings.TrimSpace(in.Comment), CreatedAt: now}
	var err error
	if s.Matchers, err = silence.ParseAll(in.Matchers); err != nil {
		bad.AddFrom("/matchers", err)
	}
	if s.StartsAt.Before(now) {
		s.StartsAt = now
	}
	switch length := s.EndsAt.Sub(s.StartsAt); {
	case length <= 0:
		bad.Add("/ends_at", phrase.Of("silence.period", "ends", s.EndsAt.UTC().Format(time.RFC3339), "after", s.StartsAt.UTC().Format(time.RFC3339)))
	case length > maxLength:
		bad.Add("/ends_at", phrase.Of("silence.too-long", "found", length.Round(time.Second).String(), "max", int(maxLength/(24*time.Hour))))
	}
	if n := utf8.RuneCountInString(s.Comment); n == 0 || n > maxComment {
		bad.Add("/comment", phrase.Of("silence.comment", "max", maxComment))
	}
	return s, bad.OrNil()
}

// AddSilence adds a silence with the caller as its author.
func (s *Silences) AddSilence(ctx context.Context, in Input) (out silence.Silence, err error) {
	now := s.Now()
	made, err := in.check(now)
	if err != nil {
		return out, err
	}
	made.Author = control.Actor(ctx)
	err = s.Store.Tx(ctx, func(r control.Repos) error {
		n, err := r.CountSilences(ctx, now)
		if err != nil {
			return err
		}
		if n >= maxOpen {
			return &control.ConflictError{Code: "too-many-silences", Said: phrase.Of("silence.too-many", "n", n)}
		}
		if err := r.PruneSilences(ctx, now.Add(-keptFor)); err != nil {
			return err
		}
		if out, err = r.CreateSilence(ctx, made); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{
			Kind: "silence.created", Subject: number(out.ID),
			Said: phrase.Of("event.silence-created", "id", out.ID, "matchers", out.Matchers.Texts(), "ends", out.EndsAt.Format(time.RFC3339)),
		}, control.Change{After: record(&out)})
	})
	return out, err
}

// ListSilences returns silences, the newest first; expired ones only when asked for.
func (s *Silences) ListSilences(ctx context.Context, expired bool, p control.Page) (list []silence.Silence, next string, err error) {
	var after time.Time
	if !expired {
		after = s.Now()
	}
	err = s.Store.View(ctx, func(r control.Repos) (err error) { list, next, err = r.ListSilences(ctx, after, p); return err })
	return list, next, err
}

// ExpireSilence ends a silence now. One that has expired stays as it is.
func (s *Silences) ExpireSilence(ctx context.Context, id int64) error {
	return s.Store.Tx(ctx, func(r control.Repos) error {
		now := s.Now()
		before, err := r.Silence(ctx, id)
		if err != nil || before.State(now) == silence.Expired {
			return err
		}
		after := before
		after.EndsAt = now
		if now.Before(after.StartsAt) {
			after.StartsAt = now
		}
		if err := r.SetSilencePeriod(ctx, id, after.StartsAt, after.EndsAt); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Kind: "silence.expired", Subject: number(id), Said: phrase.Of("event.silence-expired", "id", id)},
			control.Change{Before: record(&before), After: record(&after)})
	})
}

func number(id int64) string { return strconv.FormatInt(id, 10) }

// recorded is a silence in events and in the audit log.
type recorded struct {
	Matchers []string  `json:"matchers"`
	StartsAt time.Time `json:"starts_at"`
	EndsAt   time.Time `json:"ends_at"`
	Author   string    `json:"author"`
	Comment  string    `json:"comment"`
}

func record(s *silence.Silence) recorded {
	return recorded{s.Matchers.Texts(), s.StartsAt, s.EndsAt, s.Author, s.Comment}
}
