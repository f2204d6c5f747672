package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"fairlane/service/audit"
	"fairlane/service/control"
)

type tokenRow struct {
	ID          int64  `gorm:"column:id;primaryKey"`
	AccountID   *int64 `gorm:"column:account_id"`
	Name        string `gorm:"column:name"`
	Hash        string `gorm:"column:hash"`
	Scopes      string `gorm:"column:scopes"`
	CreatedAtUS int64  `gorm:"column:created_at_us"`
	ExpiresAtUS *int64 `gorm:"column:expires_at_us"`
	UsedAtUS    *int64 `gorm:"column:used_at_us"`
}

func (tokenRow) TableName() string { return "tokens" }

var _ control.TokenRepo = (*repos)(nil)

func (r *repos) PutToken(ctx context.Context, t control.Token) error {
	res := r.in(ctx).Model(&tokenRow{}).Where("account_id IS NULL AND name = ?", t.Name).
		Updates(map[string]any{"hash": hex.EncodeToString(t.Hash[:]), "created_at_us": micros(t.CreatedAt)})
	if res.Error != nil {
		return fmt.Errorf("store token %s: %w", t.Name, res.Error)
	}
	if res.RowsAffected > 0 {
		return nil
	}
	t.Account = 0
	_, err := r.CreateToken(ctx, t)
	return err
}

func (r *repos) CreateToken(ctx context.Context, t control.Token) (control.Token, error) {
	row := tokenRow{
		Name: t.Name, Hash: hex.EncodeToString(t.Hash[:]), Scopes: joinScopes(t.Scopes),
		CreatedAtUS: micros(t.CreatedAt), ExpiresAtUS: optionalMicros(t.ExpiresAt),
	}
	if t.Account != 0 {
		row.AccountID = &t.Account
	}
	switch err := r.in(ctx).Create(&row).Error; {
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return control.Token{}, exists("token", t.Name)
	case err != nil:
		return control.Token{}, fmt.Errorf("store token %s: %w", t.Name, err)
	}
	return row.domain()
}

// TokenByHash implements control.TokenRepo. The error does not repeat the hash.
func (r *repos) TokenByHash(ctx context.Context, hash [32]byte) (control.Token, error) {
	var row tokenRow
	err := r.in(ctx).Where("hash = ?", hex.EncodeToString(hash[:])).Take(&row).Error
	if err := found(err, "token", "given"); err != nil {
		return control.Token{}, err
	}
	return row.domain()
}

func (r *repos) ListTokens(ctx context.Context, account int64) ([]control.Token, error) {
	var rows []tokenRow
	if err := r.in(ctx).Where("account_id = ?", account).Order("name").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list tokens of account %d: %w", account, err)
	}
	return tryEach(rows, tokenRow.domain)
}

func (r *repos) TouchToken(ctx context.Context, id int64, at time.Time) error {
	if err := r.in(ctx).Model(&tokenRow{}).Where("id = ?", id).Update("used_at_us", micros(at)).Error; err != nil {
		return fmt.Errorf("touch token %d: %w", id, err)
	}
	return nil
}

func (r *repos) DeleteToken(ctx context.Context, account int64, name string) error {
	res := r.in(ctx).Where("account_id = ? AND name = ?", account, name).Delete(&tokenRow{})
	return changed(res, &control.NotFoundError{Kind: "token", Name: name}, "delete token %s", name)
}

func (r *repos) CountTokens(ctx context.Context) (int64, error) {
	var n int64
	if err := r.in(ctx).Model(&tokenRow{}).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count tokens: %w", err)
	}
	return n, nil
}

func (row tokenRow) domain() (control.Token, error) {
	t := control.Token{ID: row.ID, Name: row.Name, CreatedAt: fromMicros(row.CreatedAtUS), ExpiresAt: optionalTime(row.ExpiresAtUS), UsedAt: optionalTime(row.UsedAtUS)}
	if row.AccountID != nil {
		t.Account = *row.AccountID
	}
	hash, err := audit.ParseHash(row.Hash)
	if err != nil {
		return control.Token{}, fmt.Errorf("token %s: stored hash is damaged: %w", row.Name, err)
	}
	t.Hash = hash
	for text := range strings.FieldsSeq(row.Scopes) {
		s, err := control.ParseScope(text)
		if err != nil {
			return control.Token{}, fmt.Errorf("token %s: stored scopes are damaged: %w", row.Name, err)
		}
		t.Scopes = append(t.Scopes, s)
	}
	return t, nil
}

func joinScopes(list []control.Scope) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = s.String()
	}
	return strings.Join(parts, " ")
}
