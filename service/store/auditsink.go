package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"fairlane/service/audit"
	"fairlane/service/control"
)

type auditSinkRow struct {
	Name    string `gorm:"column:name;primaryKey"`
	Seq     int64  `gorm:"column:seq"`
	Hash    string `gorm:"column:hash"`
	Owner   string `gorm:"column:owner"`
	UntilUS int64  `gorm:"column:until_us"`
}

func (auditSinkRow) TableName() string { return "audit_sinks" }

var _ control.AuditSinkRepo = (*repos)(nil)

func (r *repos) AuditSink(ctx context.Context, name string) (control.AuditSink, error) {
	var row auditSinkRow
	switch err := r.in(ctx).Where("name = ?", name).Take(&row).Error; {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return control.AuditSink{Name: name}, nil
	case err != nil:
		return control.AuditSink{}, fmt.Errorf("read the position of the audit log's sink %s: %w", name, err)
	}
	h, err := audit.ParseHash(row.Hash)
	if err != nil {
		return control.AuditSink{}, fmt.Errorf("read the position of the audit log's sink %s: %w", name, err)
	}
	return control.AuditSink{Name: name, Position: audit.Tail{Seq: row.Seq, Hash: h}, Owner: row.Owner, Until: fromMicros(row.UntilUS)}, nil
}

func (r *repos) ClaimAuditSink(ctx context.Context, name, owner string, now, until time.Time) (control.AuditSink, error) {
	row := auditSinkRow{Name: name, Hash: audit.Hash{}.String(), Owner: owner, UntilUS: micros(until)}
	res := r.in(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
	if res.Error == nil && res.RowsAffected == 0 {
		res = r.in(ctx).Model(&auditSinkRow{}).Where("name = ? AND (owner = ? OR until_us <= ?)", name, owner, micros(now)).
			Updates(map[string]any{"owner": owner, "until_us": micros(until)})
	}
	if res.Error != nil {
		return control.AuditSink{}, fmt.Errorf("claim the audit log's sink %s: %w", name, res.Error)
	}
	return r.AuditSink(ctx, name)
}

func (r *repos) MoveAuditSink(ctx context.Context, name, owner string, position audit.Tail, until time.Time) (bool, error) {
	res := r.in(ctx).Model(&auditSinkRow{}).Where("name = ? AND owner = ?", name, owner).
		Updates(map[string]any{"seq": position.Seq, "hash": position.Hash.String(), "until_us": micros(until)})
	if res.Error != nil {
		return false, fmt.Errorf("move the position of the audit log's sink %s: %w", name, res.Error)
	}
	return res.RowsAffected == 1, nil
}
