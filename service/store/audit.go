package store

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm/clause"

	"fairlane/service/audit"
	"fairlane/service/control"
)

type auditRow struct {
	Seq       int64   `gorm:"column:seq;primaryKey;autoIncrement:false"`
	AtUS      int64   `gorm:"column:at_us"`
	Actor     string  `gorm:"column:actor"`
	ActorKind string  `gorm:"column:actor_kind"`
	Token     string  `gorm:"column:token"`
	Addr      string  `gorm:"column:addr"`
	RequestID string  `gorm:"column:request_id"`
	Fabric    string  `gorm:"column:fabric"`
	Action    string  `gorm:"column:action"`
	Object    string  `gorm:"column:object"`
	Outcome   string  `gorm:"column:outcome"`
	Detail    string  `gorm:"column:detail"`
	Said      *string `gorm:"column:said"`
	Before    []byte  `gorm:"column:before"`
	After     []byte  `gorm:"column:after"`
	Prev      string  `gorm:"column:prev"`
	Hash      string  `gorm:"column:hash"`
}

func (auditRow) TableName() string { return "audit" }

type auditTailRow struct {
	ID   int    `gorm:"column:id;primaryKey;autoIncrement:false"`
	Seq  int64  `gorm:"column:seq"`
	Hash string `gorm:"column:hash"`
}

func (auditTailRow) TableName() string { return "audit_tail" }

// AppendAudit implements control.AuditRepo. It locks the tail row until the transaction ends; on PostgreSQL this also
// stops writers that bypass Store.Tx. SQLite has one writer anyway.
func (r *repos) AppendAudit(ctx context.Context, e audit.Entry) (audit.Entry, error) {
	if r.late {
		r.audits = append(r.audits, e)
		return e, nil
	}
	tail, err := r.auditTail(ctx, true)
	if err != nil {
		return audit.Entry{}, err
	}
	for _, s := range []*string{&e.Actor, &e.ActorKind, &e.Token, &e.Addr, &e.RequestID, &e.Fabric, &e.Action, &e.Object, &e.Outcome, &e.Detail} {
		*s = text(*s)
	}
	if e, err = tail.Append(e); err != nil {
		return audit.Entry{}, err
	}
	row := auditRow{
		Seq: e.Seq, AtUS: micros(e.At), Actor: e.Actor, ActorKind: e.ActorKind, Token: e.Token, Addr: e.Addr, RequestID: e.RequestID,
		Fabric: e.Fabric, Action: e.Action, Object: e.Object, Outcome: e.Outcome, Detail: e.Detail, Said: phraseColumn(e.Said),
		Before: e.Before, After: e.After, Prev: e.Prev.String(), Hash: e.Hash.String(),
	}
	if err := r.in(ctx).Create(&row).Error; err != nil {
		return audit.Entry{}, fmt.Errorf("insert audit entry %d: %w", e.Seq, err)
	}
	res := r.in(ctx).Model(&auditTailRow{}).Where("id = 1 AND seq = ?", tail.Seq).
		Updates(map[string]any{"seq": e.Seq, "hash": row.Hash})
	moved := fmt.Errorf("move the end of the audit log to %d: the end moved meanwhile", e.Seq)
	if err := changed(res, moved, "move the end of the audit log to %d", e.Seq); err != nil {
		return audit.Entry{}, err
	}
	return e, nil
}

var _ control.AuditRepo = (*repos)(nil)

func (r *repos) AuditTail(ctx context.Context) (audit.Tail, error) { return r.auditTail(ctx, false) }

func (r *repos) auditTail(ctx context.Context, hold bool) (audit.Tail, error) {
	q := r.in(ctx)
	if hold {
		q = q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
	}
	var row auditTailRow
	if err := q.Where("id = 1").Take(&row).Error; err != nil {
		return audit.Tail{}, fmt.Errorf("read the end of the audit log: %w", err)
	}
	h, err := audit.ParseHash(row.Hash)
	if err != nil {
		return audit.Tail{}, fmt.Errorf("read the end of the audit log: %w", err)
	}
	return audit.Tail{Seq: row.Seq, Hash: h}, nil
}

func (r *repos) ListAudit(ctx context.Context, f control.AuditFilter, p control.Page) ([]audit.Entry, string, error) {
	q := r.in(ctx)
	if f.Seq != 0 {
		q = q.Where("seq = ?", f.Seq)
	}
	for column, value := range map[string]string{"actor": f.Actor, "object": f.Object, "fabric": f.Fabric, "outcome": f.Outcome} {
		if value != "" {
			q = q.Where(column+" = ?", text(value))
		}
	}
	switch action := text(f.Action); {
	case strings.HasSuffix(action, "."): // "/" is the character after "."
		q = q.Where("action >= ? AND action < ?", action, strings.TrimSuffix(action, ".")+"/")
	case action != "":
		q = q.Where("action = ?", action)
	}
	if !f.Since.IsZero() {
		q = q.Where("at_us >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		q = q.Where("at_us < ?", micros(f.Until))
	}
	list := newestFirst[auditRow]
	if f.Oldest {
		list = oldestFirst
	}
	rows, next, err := list(q, "seq", "audit entries", p, func(a auditRow) int64 { return a.Seq })
	return each(rows, auditRow.domain), next, err
}

func (r *repos) PruneAudit(ctx context.Context, through int64, limit int) (int64, audit.Tail, error) {
	var rows []auditRow
	err := r.in(ctx).Select("seq", "hash").Where("seq <= ?", through).Order("seq").Limit(limit).Find(&rows).Error
	if err != nil {
		return 0, audit.Tail{}, fmt.Errorf("read old audit entries: %w", err)
	}
	if len(rows) == 0 {
		return 0, audit.Tail{}, nil
	}
	last := rows[len(rows)-1]
	if err := r.in(ctx).Where("seq <= ?", last.Seq).Delete(&auditRow{}).Error; err != nil {
		return 0, audit.Tail{}, fmt.Errorf("take out audit entries to %d: %w", last.Seq, err)
	}
	return int64(len(rows)), audit.Tail{Seq: last.Seq, Hash: last.domain().Hash}, nil
}

// domain returns the entry as stored, even if damaged: an unreadable hash becomes the zero hash, which no content has, so
// that the verification of the chain names the entry.
func (row auditRow) domain() audit.Entry {
	e := audit.Entry{
		Seq: row.Seq, At: fromMicros(row.AtUS), Actor: row.Actor, ActorKind: row.ActorKind, Token: row.Token, Addr: row.Addr, RequestID: row.RequestID,
		Fabric: row.Fabric, Action: row.Action, Object: row.Object, Outcome: row.Outcome, Detail: row.Detail, Said: said(row.Detail, row.Said),
		Before: row.Before, After: row.After,
	}
	e.Prev, _ = audit.ParseHash(row.Prev)
	e.Hash, _ = audit.ParseHash(row.Hash)
	return e
}
