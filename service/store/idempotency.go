package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"gorm.io/gorm/clause"

	"fairlane/service/audit"
	"fairlane/service/control"
)

type idempotencyRow struct {
	Actor       string `gorm:"column:actor;primaryKey"`
	Word        string `gorm:"column:word;primaryKey"`
	Request     string `gorm:"column:request"`
	Status      int    `gorm:"column:status"`
	Header      []byte `gorm:"column:header"`
	Body        []byte `gorm:"column:body"`
	ExpiresAtUS int64  `gorm:"column:expires_at_us"`
}

func (idempotencyRow) TableName() string { return "idempotency_keys" }

var _ control.IdempotencyRepo = (*repos)(nil)

func (r *repos) ReserveIdempotencyKey(ctx context.Context, k control.IdempotencyKey, now time.Time) (bool, error) {
	old := "DELETE FROM idempotency_keys WHERE expires_at_us <= ?"
	if r.db.Name() == "postgres" { // do not wait for rows that another transaction is deleting
		old = "DELETE FROM idempotency_keys WHERE (actor, word) IN (SELECT actor, word FROM idempotency_keys WHERE expires_at_us <= ? FOR UPDATE SKIP LOCKED)"
	}
	if err := r.in(ctx).Exec(old, micros(now)).Error; err != nil {
		return false, fmt.Errorf("forget idempotency keys: %w", err)
	}
	row := idempotencyRow{Actor: k.Actor, Word: k.Key, Request: hex.EncodeToString(k.Request[:]), ExpiresAtUS: micros(now.Add(control.IdempotencyTTL))}
	res := r.in(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
	if res.Error != nil {
		return false, fmt.Errorf("take idempotency key: %w", res.Error)
	}
	return res.RowsAffected == 1, nil
}

func (r *repos) KeepIdempotentAnswer(ctx context.Context, k control.IdempotencyKey, a control.IdempotentAnswer) error {
	header, err := json.Marshal(a.Header)
	if err != nil {
		return fmt.Errorf("encode headers of an answer: %w", err)
	}
	err = r.in(ctx).Model(&idempotencyRow{}).Where("actor = ? AND word = ?", k.Actor, k.Key).
		Updates(map[string]any{"status": a.Status, "header": header, "body": a.Body}).Error
	if err != nil {
		return fmt.Errorf("keep the answer of an idempotency key: %w", err)
	}
	return nil
}

func (r *repos) IdempotencyKey(ctx context.Context, actor, key string, now time.Time) (control.IdempotencyKey, control.IdempotentAnswer, error) {
	var row idempotencyRow
	err := r.in(ctx).Where("actor = ? AND word = ? AND expires_at_us > ?", actor, key, micros(now)).Take(&row).Error
	if err := found(err, "idempotency key", key); err != nil {
		return control.IdempotencyKey{}, control.IdempotentAnswer{}, err
	}
	request, err := audit.ParseHash(row.Request)
	k := control.IdempotencyKey{Actor: row.Actor, Key: row.Word, Request: request}
	if err != nil {
		return k, control.IdempotentAnswer{}, fmt.Errorf("decode idempotency key: %w", err)
	}
	a := control.IdempotentAnswer{Status: row.Status, Header: http.Header{}, Body: row.Body}
	if len(row.Header) > 0 {
		if err := json.Unmarshal(row.Header, &a.Header); err != nil {
			return k, a, fmt.Errorf("decode headers of an answer: %w", err)
		}
	}
	return k, a, nil
}
