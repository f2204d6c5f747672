package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"fairlane/service/control"
)

type policyRow struct {
	FabricID    int64   `gorm:"column:fabric_id;primaryKey;autoIncrement:false"`
	Number      int64   `gorm:"column:number;primaryKey;autoIncrement:false"`
	Label       string  `gorm:"column:label"`
	Message     string  `gorm:"column:message"`
	Said        *string `gorm:"column:said"`
	Actor       string  `gorm:"column:actor"`
	Restores    int64   `gorm:"column:restores"`
	Tenants     int     `gorm:"column:tenants"`
	Flows       int     `gorm:"column:flows"`
	CreatedAtUS int64   `gorm:"column:created_at_us"`
}

func (policyRow) TableName() string { return "policies" }

type policyPartRow struct {
	FabricID int64  `gorm:"column:fabric_id;primaryKey;autoIncrement:false"`
	Kind     string `gorm:"column:kind;primaryKey"`
	Name     string `gorm:"column:name;primaryKey"`
	Since    int64  `gorm:"column:since;primaryKey;autoIncrement:false"`
	Until    *int64 `gorm:"column:until"`
	Body     []byte `gorm:"column:body"`
}

func (policyPartRow) TableName() string { return "policy_parts" }

var _ control.PolicyRepo = (*repos)(nil)

func (r *repos) AddPolicy(ctx context.Context, p control.Policy, parts []control.PolicyPart) (control.Policy, error) {
	f, err := r.fabric(ctx, p.Fabric)
	if err != nil {
		return control.Policy{}, err
	}
	var last policyRow
	if err := r.in(ctx).Where("fabric_id = ?", f.ID).Order("number DESC").Limit(1).Find(&last).Error; err != nil {
		return control.Policy{}, fmt.Errorf("number the policy of %s: %w", p.Fabric, err)
	}
	row := policyRow{
		FabricID: f.ID, Number: last.Number + 1, Label: p.Label, Message: text(p.Said.String()), Said: phraseColumn(p.Said), Actor: p.Actor, Restores: p.Restores,
		Flows: p.Flows, CreatedAtUS: micros(p.CreatedAt),
	}
	if p.Flows < 0 {
		row.Flows = last.Flows
	}
	if err := r.addParts(ctx, f.ID, row.Number, parts); err != nil {
		return control.Policy{}, fmt.Errorf("insert policy %d of %s: %w", row.Number, p.Fabric, err)
	}
	var count int64
	err = r.in(ctx).Model(&policyPartRow{}).Where("fabric_id = ? AND kind = ? AND until IS NULL", f.ID, control.PartTenant).Count(&count).Error
	if err == nil {
		row.Tenants = int(count)
		err = r.in(ctx).Create(&row).Error
	}
	if err != nil {
		return control.Policy{}, fmt.Errorf("insert policy %d of %s: %w", row.Number, p.Fabric, err)
	}
	return row.domain(p.Fabric), nil
}

// addParts ends the replaced parts and inserts the new ones.
func (r *repos) addParts(ctx context.Context, fabricID, number int64, parts []control.PolicyPart) error {
	var rows []policyPartRow
	names := map[string][]string{}
	for _, p := range parts {
		names[string(p.Kind)] = append(names[string(p.Kind)], p.Name)
		if p.Body == nil {
			continue
		}
		body, err := packed(p.Body)
		if err != nil {
			return err
		}
		rows = append(rows, policyPartRow{FabricID: fabricID, Kind: string(p.Kind), Name: p.Name, Since: number, Body: body})
	}
	for kind, list := range names {
		for part := range slices.Chunk(list, batchNames) {
			err := r.in(ctx).Model(&policyPartRow{}).
				Where("fabric_id = ? AND kind = ? AND name IN ? AND until IS NULL", fabricID, kind, part).
				Update("until", number).Error
			if err != nil {
				return err
			}
		}
	}
	return insertAll(r.in(ctx), rows)
}

func (r *repos) Policy(ctx context.Context, fabric string, number int64) (control.Policy, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return control.Policy{}, err
	}
	q := r.in(ctx).Where("fabric_id = ?", f.ID)
	if number != 0 {
		q = q.Where("number = ?", number)
	}
	var row policyRow
	if err := found(q.Order("number DESC").Limit(1).Take(&row).Error, "policy", strconv.FormatInt(number, 10)); err != nil {
		return control.Policy{}, err
	}
	return row.domain(fabric), nil
}

func (r *repos) PolicyParts(ctx context.Context, fabric string, number int64, kinds ...control.PartKind) ([]control.PolicyPart, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	q := r.in(ctx).Where("fabric_id = ? AND since <= ? AND (until IS NULL OR until > ?)", f.ID, number, number)
	if len(kinds) > 0 {
		q = q.Where("kind IN ?", kinds)
	}
	var rows []policyPartRow
	if err := q.Order("kind, name").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read policy %d of %s: %w", number, fabric, err)
	}
	return tryEach(rows, func(row policyPartRow) (control.PolicyPart, error) {
		body, err := unpacked(row.Body)
		if err != nil {
			err = fmt.Errorf("read %s %s of policy %d of %s: %w", row.Kind, row.Name, number, fabric, err)
		}
		return control.PolicyPart{Kind: control.PartKind(row.Kind), Name: row.Name, Since: row.Since, Body: body}, err
	})
}

// ListPolicies implements control.PolicyRepo, newest first.
func (r *repos) ListPolicies(ctx context.Context, fabric string, p control.Page) ([]control.Policy, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := newestFirst(r.in(ctx).Where("fabric_id = ?", f.ID), "number", "policies of "+fabric, p, func(p policyRow) int64 { return p.Number })
	return each(rows, func(p policyRow) control.Policy { return p.domain(fabric) }), next, err
}

func (r *repos) LabelPolicy(ctx context.Context, fabric string, number int64, label string) error {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	res := r.in(ctx).Model(&policyRow{}).Where("fabric_id = ? AND number = ?", f.ID, number).Update("label", label)
	return changed(res, &control.NotFoundError{Kind: "policy", Name: strconv.FormatInt(number, 10)}, "label policy %d of %s", number, fabric)
}

func (row policyRow) domain(fabric string) control.Policy {
	return control.Policy{
		Fabric: fabric, Number: row.Number, Label: row.Label, Said: said(row.Message, row.Said), Actor: row.Actor, Restores: row.Restores,
		Tenants: row.Tenants, Flows: row.Flows, CreatedAt: fromMicros(row.CreatedAtUS),
	}
}

// packSize is the size from which a part is compressed. Plain parts start with a character of JSON, which gzip data never
// does.
const packSize = 4 << 10

func packed(b []byte) ([]byte, error) {
	if len(b) < packSize {
		return b, nil
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	err := w.Close() // writes the trailer
	return out.Bytes(), err
}

// maxPart bounds the unpacked size of a part, so that a damaged row cannot fill the memory.
const maxPart = 1 << 30

func unpacked(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxPart))
}
