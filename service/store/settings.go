package store

import (
	"context"
	"fmt"
	"time"

	"fairlane/service/control"
)

type settingsRow struct {
	ID          int    `gorm:"column:id;primaryKey;autoIncrement:false"`
	Body        []byte `gorm:"column:body"`
	Version     int64  `gorm:"column:version"`
	UpdatedAtUS int64  `gorm:"column:updated_at_us"`
}

func (settingsRow) TableName() string { return "settings" }

var _ control.SettingsRepo = (*repos)(nil)

func (r *repos) StoredSettings(ctx context.Context) ([]byte, int64, time.Time, error) {
	var row settingsRow
	if err := found(r.in(ctx).Where("id = 1").Take(&row).Error, "settings of", "the service"); err != nil {
		return nil, 0, time.Time{}, err
	}
	return row.Body, row.Version, fromMicros(row.UpdatedAtUS), nil
}

func (r *repos) PutSettings(ctx context.Context, text []byte, version int64, at time.Time) error {
	if version == 0 {
		if err := r.in(ctx).Create(&settingsRow{ID: 1, Body: text, Version: 1, UpdatedAtUS: micros(at)}).Error; err != nil {
			return fmt.Errorf("insert settings: %w", err)
		}
		return nil
	}
	res := r.in(ctx).Model(&settingsRow{}).Where("id = 1 AND version = ?", version).
		Updates(map[string]any{"body": text, "version": version + 1, "updated_at_us": micros(at)})
	return changed(res, stale("settings of", "the service", version), "update settings")
}
