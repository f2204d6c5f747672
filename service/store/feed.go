package store

import (
	"context"
	"encoding/json"
	"fmt"

	"fairlane/service/control"
)

type feedRow struct {
	ID          int64  `gorm:"column:id;primaryKey"`
	TenantID    int64  `gorm:"column:tenant_id"`
	Name        string `gorm:"column:name"`
	Ports       []byte `gorm:"column:ports"`             // JSON, as packed returns it
	Claimed     []byte `gorm:"column:claimed"`           // JSON, as packed returns it; nil: none
	ByNode      int    `gorm:"column:functions_by_node"` // 0 or 1
	Count       int    `gorm:"column:count"`
	Actor       string `gorm:"column:actor"`
	Version     int64  `gorm:"column:version"`
	CreatedAtUS int64  `gorm:"column:created_at_us"`
	UpdatedAtUS int64  `gorm:"column:updated_at_us"`
}

func (feedRow) TableName() string { return "tenant_feeds" }

// tenantFeed is a feed with the name of its tenant.
type tenantFeed struct {
	Row    feedRow `gorm:"embedded"`
	Tenant string  `gorm:"column:tenant"`
}

var _ control.FeedRepo = (*repos)(nil)

func (r *repos) Feeds(ctx context.Context, fabric string, tenants ...string) ([]control.Feed, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	q := r.in(ctx).Model(&feedRow{}).Select("tenant_feeds.*, tenants.name AS tenant").
		Joins("JOIN tenants ON tenants.id = tenant_feeds.tenant_id").Where("tenants.fabric_id = ?", f.ID)
	if len(tenants) > 0 {
		q = q.Where("tenants.name IN ?", tenants)
	}
	var rows []tenantFeed
	if err := q.Order("tenant, tenant_feeds.name").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read feeds of %s: %w", fabric, err)
	}
	return tryEach(rows, func(x tenantFeed) (control.Feed, error) {
		out := x.domain(fabric)
		err := unpackJSON(x.Row.Ports, &out.Ports)
		if err == nil && x.Row.Claimed != nil {
			if err = unpackJSON(x.Row.Claimed, &out.Claimed); err == nil && len(out.Claimed) != len(out.Ports) {
				err = fmt.Errorf("found %d claimed rates, want one for each of %d ports", len(out.Claimed), len(out.Ports))
			}
		}
		if err != nil {
			err = fmt.Errorf("read feed %s of tenant %s of %s: %w", out.Name, out.Tenant, fabric, err)
		}
		return out, err
	})
}

// ListFeeds implements control.FeedRepo. The cursor is TENANT/FEED.
func (r *repos) ListFeeds(ctx context.Context, by control.FeedFilter, p control.Page) ([]control.Feed, string, error) {
	f, err := r.fabric(ctx, by.Fabric)
	if err != nil {
		return nil, "", err
	}
	q := r.in(ctx).Model(&feedRow{}).
		Select("tenant_feeds.name, functions_by_node, count, actor, tenant_feeds.version, tenant_feeds.created_at_us, tenant_feeds.updated_at_us, tenants.name AS tenant").
		Joins("JOIN tenants ON tenants.id = tenant_feeds.tenant_id").Where("tenants.fabric_id = ?", f.ID)
	if by.Tenant != "" {
		q = q.Where("tenants.name = ?", by.Tenant)
	}
	if by.Feed != "" {
		q = q.Where("tenant_feeds.name = ?", by.Feed)
	}
	rows, next, err := byName(q, "tenants.name || '/' || tenant_feeds.name", "feeds of "+by.Fabric, p, func(x tenantFeed) string { return x.Tenant + "/" + x.Row.Name })
	return each(rows, func(x tenantFeed) control.Feed { return x.domain(by.Fabric) }), next, err
}

func (r *repos) PutFeed(ctx context.Context, f control.Feed) (control.Feed, error) {
	fabric, err := r.fabric(ctx, f.Fabric)
	if err != nil {
		return control.Feed{}, err
	}
	t, err := r.tenant(ctx, fabric.ID, f.Tenant)
	if err != nil {
		return control.Feed{}, err
	}
	ports, err := packJSON(f.Ports)
	var claims []byte
	if err == nil && f.Claimed != nil {
		claims, err = packJSON(f.Claimed)
	}
	if err != nil {
		return control.Feed{}, fmt.Errorf("encode feed %s of %s: %w", f.Name, f.Tenant, err)
	}
	f.Count, f.Version = len(f.Ports), f.Version+1
	row := feedRow{TenantID: t.ID, Name: f.Name, Ports: ports, Claimed: claims, ByNode: flag(f.NodeFunctions), Count: f.Count, Actor: f.Actor, Version: f.Version, CreatedAtUS: micros(f.CreatedAt), UpdatedAtUS: micros(f.UpdatedAt)}
	if f.Version == 1 {
		if err := r.in(ctx).Create(&row).Error; err != nil {
			return control.Feed{}, fmt.Errorf("insert feed %s of %s: %w", f.Name, f.Tenant, err)
		}
		return f, nil
	}
	res := r.in(ctx).Model(&feedRow{}).Where("tenant_id = ? AND name = ? AND version = ?", t.ID, f.Name, f.Version-1).Updates(map[string]any{
		"ports": row.Ports, "claimed": row.Claimed, "functions_by_node": row.ByNode, "count": row.Count, "actor": row.Actor, "version": row.Version, "updated_at_us": row.UpdatedAtUS})
	return f, changed(res, stale("feed", f.Name, f.Version-1), "update feed %s of %s", f.Name, f.Tenant)
}

// packJSON and unpackJSON store a value as compressed JSON.
func packJSON(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return packed(body)
}

func unpackJSON(b []byte, to any) error {
	body, err := unpacked(b)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, to)
}

func (r *repos) DeleteFeed(ctx context.Context, fabric, tenant, name string) error {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	t, err := r.tenant(ctx, f.ID, tenant)
	if err != nil {
		return err
	}
	res := r.in(ctx).Where("tenant_id = ? AND name = ?", t.ID, name).Delete(&feedRow{})
	return changed(res, &control.NotFoundError{Kind: "feed", Name: name}, "delete feed %s of %s", name, tenant)
}

func (x *tenantFeed) domain(fabric string) control.Feed {
	return control.Feed{Fabric: fabric, Tenant: x.Tenant, Name: x.Row.Name, NodeFunctions: x.Row.ByNode != 0, Count: x.Row.Count, Actor: x.Row.Actor, Version: x.Row.Version,
		CreatedAt: fromMicros(x.Row.CreatedAtUS), UpdatedAt: fromMicros(x.Row.UpdatedAtUS)}
}
