package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"fairlane/service/control"
	"fairlane/service/silence"
)

type silenceRow struct {
	ID          int64  `gorm:"column:id;primaryKey"`
	Matchers    []byte `gorm:"column:matchers"`
	StartsAtUS  int64  `gorm:"column:starts_at_us"`
	EndsAtUS    int64  `gorm:"column:ends_at_us"`
	Author      string `gorm:"column:author"`
	Comment     string `gorm:"column:comment"`
	CreatedAtUS int64  `gorm:"column:created_at_us"`
}

func (silenceRow) TableName() string { return "silences" }

var _ control.SilenceRepo = (*repos)(nil)

func (r *repos) CreateSilence(ctx context.Context, s silence.Silence) (silence.Silence, error) {
	matchers, err := json.Marshal(s.Matchers.Texts())
	if err != nil {
		return silence.Silence{}, fmt.Errorf("encode the matchers of a silence: %w", err)
	}
	row := silenceRow{
		Matchers: matchers, StartsAtUS: micros(s.StartsAt), EndsAtUS: micros(s.EndsAt), Author: text(s.Author), Comment: text(s.Comment), CreatedAtUS: micros(s.CreatedAt),
	}
	if err := r.in(ctx).Create(&row).Error; err != nil {
		return silence.Silence{}, fmt.Errorf("insert a silence: %w", err)
	}
	return row.domain()
}

func (r *repos) Silence(ctx context.Context, id int64) (silence.Silence, error) {
	var row silenceRow
	if err := found(r.in(ctx).Where("id = ?", id).Take(&row).Error, "silence", strconv.FormatInt(id, 10)); err != nil {
		return silence.Silence{}, err
	}
	return row.domain()
}

func (r *repos) ListSilences(ctx context.Context, endAfter time.Time, p control.Page) ([]silence.Silence, string, error) {
	q := r.in(ctx)
	if !endAfter.IsZero() {
		q = q.Where("ends_at_us > ?", micros(endAfter))
	}
	rows, next, err := newestFirst(q, "id", "silences", p, func(s silenceRow) int64 { return s.ID })
	if err != nil {
		return nil, "", err
	}
	list, err := tryEach(rows, silenceRow.domain)
	return list, next, err
}

func (r *repos) CountSilences(ctx context.Context, endAfter time.Time) (n int64, err error) {
	if err := r.in(ctx).Model(&silenceRow{}).Where("ends_at_us > ?", micros(endAfter)).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count silences: %w", err)
	}
	return n, nil
}

func (r *repos) SetSilencePeriod(ctx context.Context, id int64, starts, ends time.Time) error {
	res := r.in(ctx).Model(&silenceRow{}).Where("id = ?", id).Updates(map[string]any{"starts_at_us": micros(starts), "ends_at_us": micros(ends)})
	return changed(res, &control.NotFoundError{Kind: "silence", Name: strconv.FormatInt(id, 10)}, "update silence %d", id)
}

func (r *repos) PruneSilences(ctx context.Context, endedBefore time.Time) error {
	if err := r.in(ctx).Where("ends_at_us < ?", micros(endedBefore)).Delete(&silenceRow{}).Error; err != nil {
		return fmt.Errorf("delete old silences: %w", err)
	}
	return nil
}

func (row silenceRow) domain() (silence.Silence, error) {
	s := silence.Silence{
		ID: row.ID, StartsAt: fromMicros(row.StartsAtUS), EndsAt: fromMicros(row.EndsAtUS), Author: row.Author, Comment: row.Comment, CreatedAt: fromMicros(row.CreatedAtUS),
	}
	var texts []string
	err := json.Unmarshal(row.Matchers, &texts)
	if err == nil {
		s.Matchers, err = silence.ParseAll(texts)
	}
	if err != nil {
		return s, fmt.Errorf("decode the matchers of silence %d: %w", row.ID, err)
	}
	return s, nil
}
