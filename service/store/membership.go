package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"fairlane/service/control"
	"fairlane/tenants"
)

type membershipRow struct {
	ID          int64  `gorm:"column:id;primaryKey"`
	AccountID   int64  `gorm:"column:account_id"`
	TenantID    *int64 `gorm:"column:tenant_id"`
	FabricID    *int64 `gorm:"column:fabric_id"` // for a role on a whole fabric
	Role        string `gorm:"column:role"`
	Source      string `gorm:"column:source"`
	CreatedAtUS int64  `gorm:"column:created_at_us"`
}

func (membershipRow) TableName() string { return "memberships" }

// onFabric is the suffix of the stored role on a fabric. Managers of an earlier release would take a row without a tenant
// for a role on everything; this way they do not know the role and reject its holder.
const onFabric = "@fabric"

// roleText returns the stored form of a grant's role.
func roleText(g tenants.Grant) string {
	if g.Domain.IsFabric() {
		return string(g.Role) + onFabric
	}
	return string(g.Role)
}

type placedMembership struct {
	Row   membershipRow `gorm:"embedded"`
	Names domainNames   `gorm:"embedded"`
}

func (p placedMembership) membership() control.Membership {
	return control.Membership{
		Grant:  tenants.Grant{Role: tenants.Role(strings.TrimSuffix(p.Row.Role, onFabric)), Domain: p.Names.domain()},
		Source: control.Source(p.Row.Source), CreatedAt: fromMicros(p.Row.CreatedAtUS),
	}
}

// place is the row of the fabric or tenant of a role; neither is set for the domain of everything.
type place struct{ fabric, tenant *int64 }

func (r *repos) placeOf(ctx context.Context, d tenants.Domain) (place, error) {
	if d.IsFabric() {
		f, err := r.fabric(ctx, d.Fabric)
		return place{fabric: &f.ID}, err
	}
	t, err := r.tenantOf(ctx, d)
	return place{tenant: t}, err
}

// of limits a query to the memberships of a place.
func (p place) of(q *gorm.DB) *gorm.DB {
	if p.fabric != nil {
		return q.Where("memberships.fabric_id = ?", *p.fabric)
	}
	return inTenant(q.Where("memberships.fabric_id IS NULL"), "memberships", p.tenant)
}

func (r *repos) addMembership(ctx context.Context, account int64, m control.Membership) error {
	at, err := r.placeOf(ctx, m.Domain)
	if err != nil {
		return err
	}
	row := membershipRow{AccountID: account, TenantID: at.tenant, FabricID: at.fabric, Role: roleText(m.Grant), Source: string(m.Source), CreatedAtUS: micros(m.CreatedAt)}
	switch err := r.in(ctx).Create(&row).Error; {
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return exists("membership", m.Domain.String())
	case err != nil:
		return fmt.Errorf("insert membership %s: %w", m.Grant, err)
	}
	return nil
}

var _ control.MembershipRepo = (*repos)(nil)

func (r *repos) SetMemberships(ctx context.Context, account int64, source control.Source, grants []tenants.Grant, at time.Time) error {
	if err := r.in(ctx).Where("account_id = ? AND source = ?", account, string(source)).Delete(&membershipRow{}).Error; err != nil {
		return fmt.Errorf("replace memberships of account %d: %w", account, err)
	}
	for _, g := range grants {
		if err := r.addMembership(ctx, account, control.Membership{Grant: g, Source: source, CreatedAt: at}); err != nil {
			return err
		}
	}
	return nil
}

func (r *repos) PutMembership(ctx context.Context, account int64, g tenants.Grant, at time.Time) error {
	place, err := r.placeOf(ctx, g.Domain)
	if err != nil {
		return err
	}
	q := r.in(ctx).Model(&membershipRow{}).Where("account_id = ? AND source = ?", account, string(control.SourceLocal))
	res := place.of(q).Update("role", roleText(g))
	if res.Error != nil {
		return fmt.Errorf("change membership %s: %w", g, res.Error)
	}
	if res.RowsAffected > 0 {
		return nil
	}
	return r.addMembership(ctx, account, control.Membership{Grant: g, Source: control.SourceLocal, CreatedAt: at})
}

func (r *repos) DeleteMembership(ctx context.Context, account int64, d tenants.Domain) error {
	place, err := r.placeOf(ctx, d)
	if err != nil {
		return err
	}
	q := r.in(ctx).Where("account_id = ? AND source = ?", account, string(control.SourceLocal))
	res := place.of(q).Delete(&membershipRow{})
	return changed(res, &control.NotFoundError{Kind: "membership", Name: d.String()}, "delete membership in %s", d)
}

func (r *repos) CountMembers(ctx context.Context, d tenants.Domain) (int64, error) {
	place, err := r.placeOf(ctx, d)
	if err != nil {
		return 0, err
	}
	var n int64
	q := r.in(ctx).Table("memberships").Joins("JOIN accounts ON accounts.id = memberships.account_id").
		Where("accounts.kind = ? AND memberships.source = ?", string(control.PrincipalUser), string(control.SourceLocal))
	if err := place.of(q).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count members of %s: %w", d, err)
	}
	return n, nil
}

func (r *repos) ListMembers(ctx context.Context, d tenants.Domain, p control.Page) ([]control.Member, string, error) {
	place, err := r.placeOf(ctx, d)
	if err != nil {
		return nil, "", err
	}
	type member struct {
		Row         membershipRow `gorm:"embedded"`
		Name        string
		DisplayName string
	}
	q := r.in(ctx).Table("memberships").Select("memberships.*, accounts.name AS name, accounts.display_name AS display_name").
		Joins("JOIN accounts ON accounts.id = memberships.account_id").Where("accounts.kind = ?", string(control.PrincipalUser))
	// An account has at most one row of each source, so the cursor names both.
	rows, next, err := byName(place.of(q), "accounts.name || '/' || memberships.source", "members of "+d.String(), p,
		func(m member) string { return m.Name + "/" + m.Row.Source })
	return each(rows, func(m member) control.Member {
		placed := placedMembership{Row: m.Row, Names: domainNames(d)}
		return control.Member{User: m.Name, DisplayName: m.DisplayName, Membership: placed.membership()}
	}), next, err
}

func (r *repos) CountHolders(ctx context.Context, role tenants.Role) (int64, error) {
	var n int64
	err := r.in(ctx).Table("memberships").Joins("JOIN accounts ON accounts.id = memberships.account_id").
		Where("memberships.tenant_id IS NULL AND memberships.fabric_id IS NULL").
		Where("memberships.role = ? AND accounts.disabled = 0 AND accounts.kind = ?", string(role), string(control.PrincipalUser)).
		Where("accounts.password <> '' OR accounts.subject <> ''").
		Distinct("accounts.id").Count(&n).Error
	if err != nil {
		return 0, fmt.Errorf("count holders of %s: %w", role, err)
	}
	return n, nil
}
