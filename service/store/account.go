package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"fairlane/service/control"
	"fairlane/tenants"
)

type accountRow struct {
	ID           int64  `gorm:"column:id;primaryKey"`
	Kind         string `gorm:"column:kind"`
	Name         string `gorm:"column:name"`
	TenantID     *int64 `gorm:"column:tenant_id"`
	DisplayName  string `gorm:"column:display_name"`
	Password     string `gorm:"column:password"`
	Issuer       string `gorm:"column:issuer"`
	Subject      string `gorm:"column:subject"`
	Disabled     int    `gorm:"column:disabled"`
	Version      int64  `gorm:"column:version"`
	CreatedAtUS  int64  `gorm:"column:created_at_us"`
	UpdatedAtUS  int64  `gorm:"column:updated_at_us"`
	SignedInAtUS *int64 `gorm:"column:signed_in_at_us"`
}

func (accountRow) TableName() string { return "accounts" }

// domainNames are the names of a row's tenant and its fabric; empty without a tenant.
type domainNames struct{ Fabric, Tenant string }

func (n domainNames) domain() tenants.Domain {
	return tenants.Domain{Fabric: n.Fabric, Tenant: n.Tenant}
}

// placedAccount is an account with the names of its home domain.
type placedAccount struct {
	Row   accountRow  `gorm:"embedded"`
	Names domainNames `gorm:"embedded"`
}

// withDomain adds to a query the names of a table's tenant, and for rows without a tenant those of the fabrics in the
// given columns.
func withDomain(q *gorm.DB, table string, fabrics ...string) *gorm.DB {
	return q.Table(table).
		Select(table + ".*, COALESCE(fabrics.name, '') AS fabric, COALESCE(tenants.name, '') AS tenant").
		Joins("LEFT JOIN tenants ON tenants.id = " + table + ".tenant_id").
		Joins("LEFT JOIN fabrics ON fabrics.id = COALESCE(" + strings.Join(append([]string{"tenants.fabric_id", "NULL"}, fabrics...), ", ") + ")")
}

// tenantOf returns the row id of a domain's tenant, nil for the domain of everything.
func (r *repos) tenantOf(ctx context.Context, d tenants.Domain) (*int64, error) {
	if d.All() {
		return nil, nil
	}
	f, err := r.fabric(ctx, d.Fabric)
	if err != nil {
		return nil, err
	}
	t, err := r.tenant(ctx, f.ID, d.Tenant)
	if err != nil {
		return nil, err
	}
	return &t.ID, nil
}

// inTenant limits a query to a tenant's rows, or to rows without a tenant.
func inTenant(q *gorm.DB, table string, id *int64) *gorm.DB {
	if id == nil {
		return q.Where(table + ".tenant_id IS NULL")
	}
	return q.Where(table+".tenant_id = ?", *id)
}

var _ control.AccountRepo = (*repos)(nil)

func (r *repos) CreateAccount(ctx context.Context, a control.Account) (control.Account, error) {
	home, err := r.tenantOf(ctx, a.Domain)
	if err != nil {
		return control.Account{}, err
	}
	row := accountRow{
		Kind: string(a.Kind), Name: a.Name, TenantID: home, DisplayName: a.DisplayName, Password: a.Password,
		Issuer: a.Issuer, Subject: a.Subject, Disabled: flag(a.Disabled), Version: 1,
		CreatedAtUS: micros(a.CreatedAt), UpdatedAtUS: micros(a.CreatedAt), SignedInAtUS: optionalMicros(a.SignedInAt),
	}
	switch err := r.in(ctx).Create(&row).Error; {
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return control.Account{}, exists(string(a.Kind), a.Name)
	case err != nil:
		return control.Account{}, fmt.Errorf("insert account %s: %w", a.Name, err)
	}
	for _, m := range a.Memberships {
		if err := r.addMembership(ctx, row.ID, m); err != nil {
			return control.Account{}, err
		}
	}
	return r.AccountByID(ctx, row.ID)
}

func (r *repos) Account(ctx context.Context, ref control.AccountRef) (control.Account, error) {
	home, err := r.tenantOf(ctx, ref.Domain)
	if err != nil {
		return control.Account{}, err
	}
	q := withDomain(r.in(ctx), "accounts").Where("accounts.kind = ? AND accounts.name = ?", string(ref.Kind), ref.Name)
	return r.oneAccount(ctx, inTenant(q, "accounts", home), string(ref.Kind), ref.Name)
}

func (r *repos) AccountByID(ctx context.Context, id int64) (control.Account, error) {
	return r.oneAccount(ctx, withDomain(r.in(ctx), "accounts").Where("accounts.id = ?", id), "account", fmt.Sprint(id))
}

func (r *repos) AccountBySubject(ctx context.Context, issuer, subject string) (control.Account, error) {
	q := withDomain(r.in(ctx), "accounts").Where("accounts.issuer = ? AND accounts.subject = ? AND accounts.subject <> ''", issuer, subject)
	return r.oneAccount(ctx, q, "account", subject)
}

func (r *repos) oneAccount(ctx context.Context, q *gorm.DB, kind, name string) (control.Account, error) {
	var row placedAccount
	if err := found(q.Take(&row).Error, kind, name); err != nil {
		return control.Account{}, err
	}
	list, err := r.withMemberships(ctx, []placedAccount{row})
	if err != nil {
		return control.Account{}, err
	}
	return list[0], nil
}

func (r *repos) ListAccounts(ctx context.Context, kind control.PrincipalKind, d tenants.Domain, p control.Page) ([]control.Account, string, error) {
	home, err := r.tenantOf(ctx, d)
	if err != nil {
		return nil, "", err
	}
	q := inTenant(withDomain(r.in(ctx), "accounts").Where("accounts.kind = ?", string(kind)), "accounts", home)
	rows, next, err := byName(q, "accounts.name", "accounts", p, func(a placedAccount) string { return a.Row.Name })
	if err != nil {
		return nil, "", err
	}
	list, err := r.withMemberships(ctx, rows)
	return list, next, err
}

func (r *repos) CountAccounts(ctx context.Context, kind control.PrincipalKind, d tenants.Domain) (int64, error) {
	home, err := r.tenantOf(ctx, d)
	if err != nil {
		return 0, err
	}
	var n int64
	if err := inTenant(r.in(ctx).Model(&accountRow{}).Where("kind = ?", string(kind)), "accounts", home).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count accounts in %s: %w", d, err)
	}
	return n, nil
}

// withMemberships reads the memberships of the rows in one query for each batchNames.
func (r *repos) withMemberships(ctx context.Context, rows []placedAccount) ([]control.Account, error) {
	list := make([]control.Account, len(rows))
	at := make(map[int64]*control.Account, len(rows))
	for i, row := range rows {
		list[i] = row.account()
		at[row.Row.ID] = &list[i]
	}
	for part := range slices.Chunk(rows, batchNames) {
		ids := each(part, func(row placedAccount) int64 { return row.Row.ID })
		var found []placedMembership
		err := withDomain(r.in(ctx), "memberships", "memberships.fabric_id").Where("memberships.account_id IN ?", ids).
			Order("memberships.account_id, memberships.id").Scan(&found).Error
		if err != nil {
			return nil, fmt.Errorf("read memberships: %w", err)
		}
		for _, m := range found {
			a := at[m.Row.AccountID]
			a.Memberships = append(a.Memberships, m.membership())
		}
	}
	return list, nil
}

func (r *repos) UpdateAccount(ctx context.Context, a control.Account) (control.Account, error) {
	var row accountRow
	if err := found(r.in(ctx).Where("id = ?", a.ID).Take(&row).Error, string(a.Kind), a.Name); err != nil {
		return control.Account{}, err
	}
	if err := checkVersion(row.Kind, row.Name, a.Version, row.Version); err != nil {
		return control.Account{}, err
	}
	// The version in the condition makes the check hold where writers are not serialised.
	res := r.in(ctx).Model(&accountRow{}).Where("id = ? AND version = ?", row.ID, row.Version).Updates(map[string]any{
		"display_name": a.DisplayName, "password": a.Password, "issuer": a.Issuer, "subject": a.Subject,
		"disabled": flag(a.Disabled), "signed_in_at_us": optionalMicros(a.SignedInAt),
		"version": row.Version + 1, "updated_at_us": micros(a.UpdatedAt),
	})
	if errors.Is(res.Error, gorm.ErrDuplicatedKey) {
		return control.Account{}, exists("account of subject", a.Subject)
	}
	if err := changed(res, stale(row.Kind, row.Name, row.Version), "update account %s", row.Name); err != nil {
		return control.Account{}, err
	}
	return r.AccountByID(ctx, row.ID)
}

// DeleteAccount implements control.AccountRepo. The database deletes the rows that reference the account.
func (r *repos) DeleteAccount(ctx context.Context, id int64) error {
	res := r.in(ctx).Where("id = ?", id).Delete(&accountRow{})
	return changed(res, &control.NotFoundError{Kind: "account", Name: fmt.Sprint(id)}, "delete account %d", id)
}

// deleteAccountsOn removes the service accounts whose only role is on a fabric: otherwise they would have no role.
func (r *repos) deleteAccountsOn(ctx context.Context, fabricID int64) error {
	on := r.in(ctx).Model(&membershipRow{}).Select("account_id").Where("fabric_id = ?", fabricID)
	return r.in(ctx).Where("kind = ? AND id IN (?)", string(control.PrincipalService), on).Delete(&accountRow{}).Error
}

func (p placedAccount) account() control.Account {
	row := p.Row
	return control.Account{
		ID: row.ID, Kind: control.PrincipalKind(row.Kind), Name: row.Name, Domain: p.Names.domain(), DisplayName: row.DisplayName,
		Password: row.Password, Issuer: row.Issuer, Subject: row.Subject, Disabled: row.Disabled != 0, Version: row.Version,
		CreatedAt: fromMicros(row.CreatedAtUS), UpdatedAt: fromMicros(row.UpdatedAtUS), SignedInAt: optionalTime(row.SignedInAtUS),
	}
}
