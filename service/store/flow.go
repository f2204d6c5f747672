package store

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/tenants"
)

var _ control.TenantRepo = (*repos)(nil)

func (r *repos) ReplaceFlows(ctx context.Context, fabric string, version int64, flows []tenants.Flow) (int64, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return 0, err
	}
	if version >= 0 && version != f.FlowsVersion {
		return 0, &control.PreconditionError{Kind: "flows of", Name: fabric, Want: version, Have: f.FlowsVersion}
	}
	var named []tenantRow
	if err := r.in(ctx).Select("id", "name").Where("fabric_id = ?", f.ID).Find(&named).Error; err != nil {
		return 0, fmt.Errorf("read tenants of %s: %w", fabric, err)
	}
	ids := make(map[string]int64, len(named))
	for _, t := range named {
		ids[t.Name] = t.ID
	}
	rows := make([]flowRow, len(flows))
	for i, fl := range flows {
		id, ok := ids[fl.Tenant]
		if !ok {
			return 0, &control.NotFoundError{Kind: "tenant", Name: fl.Tenant}
		}
		rows[i] = flowRow{
			FabricID: f.ID, Position: i, TenantID: id, Class: fl.Class,
			SrcGUID: fl.Src.Node.String(), SrcPort: int(fl.Src.Port),
			DstGUID: fl.Dst.Node.String(), DstPort: int(fl.Dst.Port),
			QPs: fl.QPs, DemandBPS: int64(fl.Demand),
		}
	}
	if err := r.in(ctx).Where("fabric_id = ?", f.ID).Delete(&flowRow{}).Error; err != nil {
		return 0, fmt.Errorf("replace flows of %s: %w", fabric, err)
	}
	if err := insertAll(r.in(ctx), rows); err != nil {
		return 0, fmt.Errorf("insert flows of %s: %w", fabric, err)
	}
	next := f.FlowsVersion + 1
	res := r.in(ctx).Model(&fabricRow{}).Where("id = ? AND flows_version = ?", f.ID, f.FlowsVersion).Update("flows_version", next)
	return next, changed(res, stale("flows of", fabric, f.FlowsVersion), "replace flows of %s", fabric)
}

func (r *repos) Flows(ctx context.Context, fabric string) ([]tenants.Flow, int64, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, 0, err
	}
	flows, err := readFlows(r.in(ctx).Where("flows.fabric_id = ?", f.ID), fabric)
	return flows, f.FlowsVersion, err
}

func (r *repos) CountFlows(ctx context.Context, fabric string, names []string) (map[string]int, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int, len(names))
	for part := range slices.Chunk(names, batchNames) {
		var rows []struct {
			Name  string
			Flows int
		}
		err := r.in(ctx).Table("tenants").Select("tenants.name AS name, COUNT(*) AS flows").Joins("JOIN flows ON flows.tenant_id = tenants.id").
			Where("tenants.fabric_id = ? AND tenants.name IN ?", f.ID, part).Group("tenants.name").Scan(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("count flows of %s: %w", fabric, err)
		}
		for _, row := range rows {
			counts[row.Name] = row.Flows
		}
	}
	return counts, nil
}

// namedFlow is a flow with its tenant's name.
type namedFlow struct {
	Row    flowRow `gorm:"embedded"`
	Tenant string
}

// readFlows reads the flows of a fabric that a query selects.
func readFlows(q *gorm.DB, fabric string) ([]tenants.Flow, error) {
	var rows []namedFlow
	err := q.Table("flows").Select("flows.*, tenants.name AS tenant").
		Joins("JOIN tenants ON tenants.id = flows.tenant_id").Order("flows.position").Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read flows of %s: %w", fabric, err)
	}
	flows := make([]tenants.Flow, len(rows))
	for i, named := range rows {
		row := named.Row
		fl := tenants.Flow{Tenant: named.Tenant, Class: row.Class, QPs: row.QPs, Demand: quantity.BitRate(row.DemandBPS)}
		var err error
		if fl.Src, err = portID(row.SrcGUID, row.SrcPort); err == nil {
			fl.Dst, err = portID(row.DstGUID, row.DstPort)
		}
		if err != nil {
			return nil, fmt.Errorf("read flow %d of %s: %w", i, fabric, err)
		}
		flows[i] = fl
	}
	return flows, nil
}
