package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm/clause"

	"fairlane/service/control"
)

type shareRow struct {
	FabricID     int64  `gorm:"column:fabric_id;primaryKey;autoIncrement:false"`
	MeasuredAtUS int64  `gorm:"column:measured_at_us;primaryKey;autoIncrement:false"`
	Body         []byte `gorm:"column:body"`
}

func (shareRow) TableName() string { return "share_samples" }

type shareTurnRow struct {
	FabricID int64 `gorm:"column:fabric_id;primaryKey;autoIncrement:false"`
	DueAtUS  int64 `gorm:"column:due_at_us"`
}

func (shareTurnRow) TableName() string { return "share_turns" }

// collectorRow is the lease of the manager that collects a fabric's series.
type collectorRow struct {
	FabricID int64  `gorm:"column:fabric_id;primaryKey"`
	Owner    string `gorm:"column:owner"`
	UntilUS  int64  `gorm:"column:until_us"`
}

func (collectorRow) TableName() string { return "collectors" }

var _ control.ShareRepo = (*repos)(nil)

func (r *repos) AddShares(ctx context.Context, fabric string, at time.Time, body []byte, keep int) error {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	row := shareRow{FabricID: f.ID, MeasuredAtUS: micros(at), Body: body}
	// An equal time means that the clock stands still: the later measurement is stored.
	if err := r.in(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("insert measurement of %s: %w", fabric, err)
	}
	old := r.in(ctx).Model(&shareRow{}).Select("measured_at_us").Where("fabric_id = ?", f.ID).Order("measured_at_us DESC").Offset(keep).Limit(1)
	if err := r.in(ctx).Where("fabric_id = ? AND measured_at_us <= (?)", f.ID, old).Delete(&shareRow{}).Error; err != nil {
		return fmt.Errorf("take out old measurements of %s: %w", fabric, err)
	}
	return nil
}

func (r *repos) ListShares(ctx context.Context, fabric string, since, until time.Time, p control.Page) ([][]byte, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, "", err
	}
	q := r.in(ctx).Where("fabric_id = ?", f.ID)
	if !since.IsZero() {
		q = q.Where("measured_at_us >= ?", micros(since))
	}
	if !until.IsZero() {
		q = q.Where("measured_at_us < ?", micros(until))
	}
	rows, next, err := newestFirst(q, "measured_at_us", "measurements of "+fabric, p, func(s shareRow) int64 { return s.MeasuredAtUS })
	return each(rows, func(s shareRow) []byte { return s.Body }), next, err
}

func (r *repos) ClaimShares(ctx context.Context, fabric string, now, next time.Time) (bool, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return false, err
	}
	row := shareTurnRow{FabricID: f.ID, DueAtUS: micros(next)}
	res := r.in(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
	if res.Error == nil && res.RowsAffected == 0 {
		res = r.in(ctx).Model(&shareTurnRow{}).Where("fabric_id = ? AND due_at_us <= ?", f.ID, micros(now)).Update("due_at_us", micros(next))
	}
	if res.Error != nil {
		return false, fmt.Errorf("claim the measurement of %s: %w", fabric, res.Error)
	}
	return res.RowsAffected == 1, nil
}

func (r *repos) ClaimCollection(ctx context.Context, fabric, owner string, now, until time.Time) (bool, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return false, err
	}
	row := collectorRow{FabricID: f.ID, Owner: owner, UntilUS: micros(until)}
	res := r.in(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
	if res.Error == nil && res.RowsAffected == 0 {
		res = r.in(ctx).Model(&collectorRow{}).Where("fabric_id = ? AND (owner = ? OR until_us <= ?)", f.ID, owner, micros(now)).
			Updates(map[string]any{"owner": owner, "until_us": micros(until)})
	}
	if res.Error != nil {
		return false, fmt.Errorf("claim the collection of %s: %w", fabric, res.Error)
	}
	return res.RowsAffected == 1, nil
}
