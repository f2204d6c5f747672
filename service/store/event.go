package store

import (
	"context"
	"fmt"

	"fairlane/service/control"
)

var _ control.EventRepo = (*repos)(nil)

func (r *repos) AddEvent(ctx context.Context, e control.Event) error {
	row := newEventRow(e)
	if r.late {
		r.events = append(r.events, row)
		return nil
	}
	if err := r.in(ctx).Create(&row).Error; err != nil {
		return fmt.Errorf("insert event %s: %w", e.Kind, err)
	}
	return nil
}

func newEventRow(e control.Event) eventRow {
	return eventRow{
		AtUS: micros(e.At), Fabric: e.Fabric, RolloutID: e.Rollout, Actor: e.Actor,
		Kind: e.Kind, Subject: text(e.Subject), Message: text(e.Said.String()), Said: phraseColumn(e.Said), Data: e.Data,
		ByTenant: flag(e.ByTenant),
	}
}

func (r *repos) ListEvents(ctx context.Context, f control.EventFilter, p control.Page) ([]control.Event, string, error) {
	q := r.in(ctx)
	if f.Fabric != "" {
		q = q.Where("fabric = ?", f.Fabric)
	}
	if f.Rollout != 0 {
		q = q.Where("rollout_id = ?", f.Rollout)
	}
	if f.Kind != "" { // kinds consist of lower-case letters, hyphens and dots, none of which is special in LIKE
		q = q.Where("kind LIKE ?", f.Kind+"%")
	}
	if f.Subject != "" {
		q = q.Where("subject = ?", text(f.Subject))
	}
	if f.NoSteps {
		q = q.Where("kind NOT IN ('device.state', 'rollout.progress')")
	}
	if !f.Since.IsZero() {
		q = q.Where("at_us >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		q = q.Where("at_us < ?", micros(f.Until))
	}
	list := oldestFirst[eventRow]
	if f.Newest {
		list = newestFirst
	}
	rows, next, err := list(q, "id", "events", p, func(e eventRow) int64 { return e.ID })
	return each(rows, eventRow.domain), next, err
}

func (r *repos) LastEvent(ctx context.Context) (int64, error) {
	var row eventRow
	if err := r.in(ctx).Select("id").Order("id DESC").Limit(1).Find(&row).Error; err != nil {
		return 0, fmt.Errorf("read the newest event: %w", err)
	}
	return row.ID, nil
}

func (row eventRow) domain() control.Event {
	return control.Event{
		ID: row.ID, At: fromMicros(row.AtUS), Fabric: row.Fabric, Rollout: row.RolloutID, Actor: row.Actor,
		Kind: row.Kind, Subject: row.Subject, Said: said(row.Message, row.Said), Data: row.Data,
		ByTenant: row.ByTenant != 0,
	}
}
