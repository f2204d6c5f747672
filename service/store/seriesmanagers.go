package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm/clause"

	"fairlane/service/control"
)

// seriesManagerRow is a manager with series of its own.
type seriesManagerRow struct {
	URL     string `gorm:"column:url;primaryKey"`
	Name    string `gorm:"column:name"`
	Key     []byte `gorm:"column:key"`
	UntilUS int64  `gorm:"column:until_us"`
}

func (seriesManagerRow) TableName() string { return "series_managers" }

var _ control.SeriesManagerRepo = (*repos)(nil)

func (r *repos) AnnounceSeries(ctx context.Context, m control.SeriesManager, forget time.Time) error {
	row := seriesManagerRow{URL: m.URL, Name: m.Name, Key: m.Key, UntilUS: micros(m.Until)}
	if err := r.in(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("announce the series of %s: %w", m.Name, err)
	}
	if err := r.in(ctx).Where("until_us < ?", micros(forget)).Delete(&seriesManagerRow{}).Error; err != nil {
		return fmt.Errorf("remove managers without series: %w", err)
	}
	return nil
}

func (r *repos) SeriesManagers(ctx context.Context) ([]control.SeriesManager, error) {
	var rows []seriesManagerRow
	if err := r.in(ctx).Order("url").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list managers with series: %w", err)
	}
	return each(rows, func(m seriesManagerRow) control.SeriesManager {
		return control.SeriesManager{URL: m.URL, Name: m.Name, Key: m.Key, Until: fromMicros(m.UntilUS)}
	}), nil
}
