package store

import (
	"context"
	"fmt"

	"fairlane/internal/control"
)

// UpdateFabric implements control.FabricRepo.
func (r *repos) UpdateFabric(ctx context.Context, f control.Fabric) (control.Fabric, error) {
	row, err := r.fabric(ctx, f.Name)
	if err != nil {
		return control.Fabric{}, err
	}
	if err := checkVersion("fabric", f.Name, f.Version, row.Version); err != nil {
		return control.Fabric{}, err
	}
	res := r.in(ctx).Model(&fabricRow{}).Where("id = ? AND version = ?", row.ID, row.Version).Updates(map[string]any{
		"source": f.Source, "time_scale": f.TimeScale, "version": row.Version + 1, "updated_at_us": micros(f.UpdatedAt),
	})
	switch {
	case res.Error != nil:
		return control.Fabric{}, fmt.Errorf("update fabric %s: %w", f.Name, res.Error)
	case res.RowsAffected == 0:
		return control.Fabric{}, &control.PreconditionError{Kind: "fabric", Name: f.Name, Want: row.Version, Have: row.Version + 1}
	}
	return r.Fabric(ctx, f.Name)
}
