package store

import (
	"context"
	"encoding/hex"
	"fmt"

	"gorm.io/gorm/clause"

	"fairlane/internal/control"
)

// PutToken implements control.TokenRepo.
func (r *repos) PutToken(ctx context.Context, t control.Token) error {
	row := tokenRow{Name: t.Name, Hash: hex.EncodeToString(t.Hash[:]), CreatedAtUS: micros(t.CreatedAt)}
	onName := clause.OnConflict{
		Columns:   []clause.Column{{Name: "name"}},
		DoUpdates: clause.AssignmentColumns([]string{"hash", "created_at_us"}),
	}
	if err := r.in(ctx).Clauses(onName).Create(&row).Error; err != nil {
		return fmt.Errorf("store token %s: %w", t.Name, err)
	}
	return nil
}

// TokenByHash implements control.TokenRepo. The error does not repeat the hash.
func (r *repos) TokenByHash(ctx context.Context, hash [32]byte) (control.Token, error) {
	var row tokenRow
	err := r.in(ctx).Where("hash = ?", hex.EncodeToString(hash[:])).Take(&row).Error
	if err := found(err, "token", "given"); err != nil {
		return control.Token{}, err
	}
	t := control.Token{Name: row.Name, CreatedAt: fromMicros(row.CreatedAtUS)}
	if n, err := hex.Decode(t.Hash[:], []byte(row.Hash)); err != nil || n != len(t.Hash) {
		return control.Token{}, fmt.Errorf("token %s: stored hash is damaged", row.Name)
	}
	return t, nil
}

// CountTokens implements control.TokenRepo.
func (r *repos) CountTokens(ctx context.Context) (int64, error) {
	var n int64
	if err := r.in(ctx).Model(&tokenRow{}).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count tokens: %w", err)
	}
	return n, nil
}
