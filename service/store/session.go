package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"fairlane/service/audit"
	"fairlane/service/control"
)

type sessionRow struct {
	ID          int64  `gorm:"column:id;primaryKey"`
	Hash        string `gorm:"column:hash"`
	AccountID   int64  `gorm:"column:account_id"`
	Method      string `gorm:"column:method"`
	CreatedAtUS int64  `gorm:"column:created_at_us"`
	SeenAtUS    int64  `gorm:"column:seen_at_us"`
	ExpiresAtUS int64  `gorm:"column:expires_at_us"`
}

func (sessionRow) TableName() string { return "sessions" }

type signinFailureRow struct {
	NameSHA256    string `gorm:"column:name_sha256;primaryKey"`
	Failures      int    `gorm:"column:failures"`
	LastAtUS      int64  `gorm:"column:last_at_us"`
	LockedUntilUS int64  `gorm:"column:locked_until_us"`
}

func (signinFailureRow) TableName() string { return "signin_failures" }

var _ control.SessionRepo = (*repos)(nil)

func (r *repos) CreateSession(ctx context.Context, s control.Session) (control.Session, error) {
	row := sessionRow{
		Hash: hex.EncodeToString(s.Hash[:]), AccountID: s.Account, Method: s.Method,
		CreatedAtUS: micros(s.CreatedAt), SeenAtUS: micros(s.SeenAt), ExpiresAtUS: micros(s.ExpiresAt),
	}
	if err := r.in(ctx).Create(&row).Error; err != nil {
		return control.Session{}, fmt.Errorf("insert session of account %d: %w", s.Account, err)
	}
	s.ID = row.ID
	return s, nil
}

// SessionByHash implements control.SessionRepo. The error does not repeat the hash.
func (r *repos) SessionByHash(ctx context.Context, hash [32]byte) (control.Session, error) {
	return session(r.in(ctx).Where("hash = ?", hex.EncodeToString(hash[:])), "given")
}

func (r *repos) SessionByID(ctx context.Context, id int64) (control.Session, error) {
	return session(r.in(ctx).Where("id = ?", id), fmt.Sprint(id))
}

func session(q *gorm.DB, name string) (control.Session, error) {
	var row sessionRow
	if err := found(q.Take(&row).Error, "session", name); err != nil {
		return control.Session{}, err
	}
	hash, err := audit.ParseHash(row.Hash)
	if err != nil {
		return control.Session{}, fmt.Errorf("session %d: the stored hash is damaged: %w", row.ID, err)
	}
	return control.Session{
		ID: row.ID, Hash: hash, Account: row.AccountID, Method: row.Method,
		CreatedAt: fromMicros(row.CreatedAtUS), SeenAt: fromMicros(row.SeenAtUS), ExpiresAt: fromMicros(row.ExpiresAtUS),
	}, nil
}

func (r *repos) TouchSession(ctx context.Context, id int64, at time.Time) error {
	if err := r.in(ctx).Model(&sessionRow{}).Where("id = ?", id).Update("seen_at_us", micros(at)).Error; err != nil {
		return fmt.Errorf("touch session %d: %w", id, err)
	}
	return nil
}

func (r *repos) DeleteSession(ctx context.Context, id int64) error {
	if err := r.in(ctx).Where("id = ?", id).Delete(&sessionRow{}).Error; err != nil {
		return fmt.Errorf("delete session %d: %w", id, err)
	}
	return nil
}

func (r *repos) DeleteSessionsOf(ctx context.Context, account, but int64) error {
	if err := r.in(ctx).Where("account_id = ? AND id <> ?", account, but).Delete(&sessionRow{}).Error; err != nil {
		return fmt.Errorf("delete sessions of account %d: %w", account, err)
	}
	return nil
}

func (r *repos) DeleteStaleSessions(ctx context.Context, expiredBy, idleSince time.Time) error {
	err := r.in(ctx).Where("expires_at_us <= ? OR seen_at_us <= ?", micros(expiredBy), micros(idleSince)).Delete(&sessionRow{}).Error
	if err != nil {
		return fmt.Errorf("delete stale sessions: %w", err)
	}
	return nil
}

var _ control.SigninRepo = (*repos)(nil)

func (r *repos) SigninFailures(ctx context.Context, name [32]byte) (control.SigninFailures, error) {
	var row signinFailureRow
	err := r.in(ctx).Where("name_sha256 = ?", hex.EncodeToString(name[:])).Take(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return control.SigninFailures{}, nil
	case err != nil:
		return control.SigninFailures{}, fmt.Errorf("read failed sign-ins: %w", err)
	}
	return control.SigninFailures{Failures: row.Failures, LastAt: fromMicros(row.LastAtUS), LockedUntil: fromMicros(row.LockedUntilUS)}, nil
}

func (r *repos) PutSigninFailures(ctx context.Context, name [32]byte, f control.SigninFailures) error {
	row := signinFailureRow{NameSHA256: hex.EncodeToString(name[:]), Failures: f.Failures, LastAtUS: micros(f.LastAt), LockedUntilUS: micros(f.LockedUntil)}
	onName := clause.OnConflict{
		Columns:   []clause.Column{{Name: "name_sha256"}},
		DoUpdates: clause.AssignmentColumns([]string{"failures", "last_at_us", "locked_until_us"}),
	}
	if err := r.in(ctx).Clauses(onName).Create(&row).Error; err != nil {
		return fmt.Errorf("store failed sign-in: %w", err)
	}
	return nil
}

func (r *repos) ClearSigninFailures(ctx context.Context, name [32]byte) error {
	if err := r.in(ctx).Where("name_sha256 = ?", hex.EncodeToString(name[:])).Delete(&signinFailureRow{}).Error; err != nil {
		return fmt.Errorf("clear failed sign-ins: %w", err)
	}
	return nil
}

func (r *repos) ForgetSigninFailures(ctx context.Context, before time.Time) error {
	if err := r.in(ctx).Where("last_at_us < ?", micros(before)).Delete(&signinFailureRow{}).Error; err != nil {
		return fmt.Errorf("forget failed sign-ins: %w", err)
	}
	return nil
}
