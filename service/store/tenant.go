package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

func (r *repos) CreateTenant(ctx context.Context, t control.Tenant) (control.Tenant, error) {
	f, err := r.fabric(ctx, t.Fabric)
	if err != nil {
		return control.Tenant{}, err
	}
	row := tenantRow{
		FabricID: f.ID, Name: t.Name, WeightMilli: int64(t.Weight), PKey: int(t.PKey), Version: 1,
		Guarantee: int64(t.Guarantee), Cap: int64(t.Cap),
		CreatedAtUS: micros(t.CreatedAt), UpdatedAtUS: micros(t.CreatedAt),
	}
	switch err := r.in(ctx).Create(&row).Error; {
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return control.Tenant{}, exists("tenant", t.Name)
	case err != nil:
		return control.Tenant{}, fmt.Errorf("insert tenant %s: %w", t.Name, err)
	}
	if err := r.insertParts(ctx, row.ID, t.Tenant); err != nil {
		return control.Tenant{}, err
	}
	return r.Tenant(ctx, t.Fabric, t.Name)
}

func (r *repos) insertParts(ctx context.Context, id int64, t tenants.Tenant) error {
	classes := make([]classRow, len(t.Classes))
	for i, c := range t.Classes {
		classes[i] = classRow{TenantID: id, Position: i, Name: c.Name, WeightMilli: int64(c.Weight)}
	}
	attachments := make([]attachmentRow, len(t.Attachments))
	for i, a := range t.Attachments {
		attachments[i] = attachmentRow{TenantID: id, Position: i, NodeGUID: a.Port.Node.String(), PortNum: int(a.Port.Port), FeedOnly: flag(a.FeedOnly), Claimed: int64(a.Claimed), ByNode: flag(a.NodeFunctions)}
		if a.SL != nil {
			attachments[i].SL = new(int(*a.SL))
		}
	}
	if err := insertAll(r.in(ctx), classes); err != nil {
		return fmt.Errorf("insert classes of %s: %w", t.Name, err)
	}
	if err := insertAll(r.in(ctx), attachments); err != nil {
		return fmt.Errorf("insert attachments of %s: %w", t.Name, err)
	}
	return nil
}

// Bounds of one statement. SQLite can bind 32,766 values, but the time for each grows with their number: inserting rows
// of devices was fastest with a hundred at a time.
const (
	batchRows  = 100 // rows in an INSERT
	batchNames = 500 // values in an IN
)

// insertAll inserts rows in batches.
func insertAll[T any](db *gorm.DB, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	return db.CreateInBatches(rows, batchRows).Error
}

func (r *repos) tenant(ctx context.Context, fabricID int64, name string) (tenantRow, error) {
	var row tenantRow
	err := r.in(ctx).Where("fabric_id = ? AND name = ?", fabricID, name).Take(&row).Error
	return row, found(err, "tenant", name)
}

func (r *repos) Tenant(ctx context.Context, fabric, name string) (control.Tenant, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return control.Tenant{}, err
	}
	row, err := r.tenant(ctx, f.ID, name)
	if err != nil {
		return control.Tenant{}, err
	}
	list, err := r.complete(ctx, fabric, []tenantRow{row})
	if err != nil {
		return control.Tenant{}, err
	}
	return list[0], nil
}

// ListTenants implements control.TenantRepo, by name.
func (r *repos) ListTenants(ctx context.Context, fabric string, p control.Page) ([]control.Tenant, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, "", err
	}
	return r.listTenants(ctx, fabric, r.in(ctx).Where("fabric_id = ?", f.ID), p)
}

// listTenants reads a page of the tenants that a query selects.
func (r *repos) listTenants(ctx context.Context, fabric string, q *gorm.DB, p control.Page) ([]control.Tenant, string, error) {
	rows, next, err := byName(q, "name", "tenants of "+fabric, p, func(t tenantRow) string { return t.Name })
	if err != nil {
		return nil, "", err
	}
	list, err := r.complete(ctx, fabric, rows)
	return list, next, err
}

func (r *repos) AllTenants(ctx context.Context, fabric string) ([]control.Tenant, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	var rows []tenantRow
	if err := r.in(ctx).Where("fabric_id = ?", f.ID).Order("name").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list tenants of %s: %w", fabric, err)
	}
	return r.complete(ctx, fabric, rows)
}

// complete adds classes and attachments to the rows: from the cache, and the rest in two queries for each batchNames
// rows.
func (r *repos) complete(ctx context.Context, fabric string, rows []tenantRow) ([]control.Tenant, error) {
	list := make([]control.Tenant, len(rows))
	missing := make(map[int64]int, len(rows))
	var ids []int64
	for i := range rows {
		list[i] = rows[i].domain(fabric)
		if r.gone || !r.kept.find(&rows[i], &list[i].Tenant) {
			missing[rows[i].ID] = i
			ids = append(ids, rows[i].ID)
		}
	}
	for part := range slices.Chunk(ids, batchNames) {
		if err := r.attachParts(ctx, part, list, missing); err != nil {
			return nil, fmt.Errorf("read tenants of %s: %w", fabric, err)
		}
	}
	if r.fresh == nil && len(ids) > 0 {
		r.fresh = make(map[partsKey]parts, len(ids))
	}
	for _, i := range missing {
		r.fresh[rows[i].partsKey()] = parts{slices.Clone(list[i].Classes), slices.Clone(list[i].Attachments)}
	}
	return list, nil
}

// attachParts reads the parts of the tenants with the given ids into list; where maps ids to positions.
func (r *repos) attachParts(ctx context.Context, ids []int64, list []control.Tenant, where map[int64]int) error {
	var classes []classRow
	if err := r.in(ctx).Where("tenant_id IN ?", ids).Order("tenant_id, position").Find(&classes).Error; err != nil {
		return err
	}
	for _, c := range classes {
		t := &list[where[c.TenantID]]
		t.Classes = append(t.Classes, tenants.Class{Name: c.Name, Weight: quantity.Weight(c.WeightMilli)})
	}
	var attachments []attachmentRow
	if err := r.in(ctx).Where("tenant_id IN ?", ids).Order("tenant_id, position").Find(&attachments).Error; err != nil {
		return err
	}
	for _, a := range attachments {
		port, err := portID(a.NodeGUID, a.PortNum)
		if err != nil {
			return err
		}
		att := tenants.Attachment{Port: port, FeedOnly: a.FeedOnly != 0, Claimed: quantity.BitRate(a.Claimed), NodeFunctions: a.ByNode != 0}
		if a.SL != nil {
			att.SL = new(ident.SL(*a.SL))
		}
		t := &list[where[a.TenantID]]
		t.Attachments = append(t.Attachments, att)
	}
	return nil
}

func portID(guid string, num int) (ident.PortID, error) {
	g, err := ident.ParseGUID(guid)
	return ident.PortID{Node: g, Port: ident.PortNum(num)}, err
}

func (r *repos) UpdateTenant(ctx context.Context, t control.Tenant) (control.Tenant, error) {
	f, err := r.fabric(ctx, t.Fabric)
	if err != nil {
		return control.Tenant{}, err
	}
	row, err := r.tenant(ctx, f.ID, t.Name)
	if err != nil {
		return control.Tenant{}, err
	}
	if err := checkVersion("tenant", t.Name, t.Version, row.Version); err != nil {
		return control.Tenant{}, err
	}
	// The version in the condition makes the check hold where writers are not serialised.
	res := r.in(ctx).Model(&tenantRow{}).Where("id = ? AND version = ?", row.ID, row.Version).Updates(map[string]any{
		"weight_milli": int64(t.Weight), "pkey": int(t.PKey),
		"guarantee_bps": int64(t.Guarantee), "cap_bps": int64(t.Cap),
		"version": row.Version + 1, "updated_at_us": micros(t.UpdatedAt),
	})
	if err := changed(res, stale("tenant", t.Name, row.Version), "update tenant %s", t.Name); err != nil {
		return control.Tenant{}, err
	}
	for _, part := range []any{&classRow{}, &attachmentRow{}} {
		if err := r.in(ctx).Where("tenant_id = ?", row.ID).Delete(part).Error; err != nil {
			return control.Tenant{}, fmt.Errorf("update tenant %s: %w", t.Name, err)
		}
	}
	if err := r.insertParts(ctx, row.ID, t.Tenant); err != nil {
		return control.Tenant{}, err
	}
	return r.Tenant(ctx, t.Fabric, t.Name)
}

// DeleteTenant implements control.TenantRepo. A tenant with declared flows is not deleted.
func (r *repos) DeleteTenant(ctx context.Context, fabric, name string, version int64) error {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	row, err := r.tenant(ctx, f.ID, name)
	if err != nil {
		return err
	}
	if err := checkVersion("tenant", name, version, row.Version); err != nil {
		return err
	}
	switch err := r.in(ctx).Delete(&row).Error; {
	case errors.Is(err, gorm.ErrForeignKeyViolated):
		return &control.ConflictError{Code: "in-use", Said: phrase.Of("problem.tenant-flows", "tenant", name)}
	case err != nil:
		return fmt.Errorf("delete tenant %s: %w", name, err)
	}
	r.gone = true
	return nil
}

func (row tenantRow) domain(fabric string) control.Tenant {
	return control.Tenant{
		Tenant: tenants.Tenant{Name: row.Name, Weight: quantity.Weight(row.WeightMilli), PKey: ident.PKey(row.PKey),
			Guarantee: quantity.BitRate(row.Guarantee), Cap: quantity.BitRate(row.Cap)},
		Fabric:  fabric,
		Version: row.Version, CreatedAt: fromMicros(row.CreatedAtUS), UpdatedAt: fromMicros(row.UpdatedAtUS),
	}
}
