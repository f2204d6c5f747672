package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"fairlane/service/control"
)

type taskRow struct {
	ID           int64   `gorm:"column:id;primaryKey"`
	Kind         string  `gorm:"column:kind"`
	Request      []byte  `gorm:"column:request"`
	State        string  `gorm:"column:state"`
	Progress     float64 `gorm:"column:progress"`
	Result       []byte  `gorm:"column:result"`
	Error        string  `gorm:"column:error"`
	ErrorSaid    *string `gorm:"column:error_said"`
	Actor        string  `gorm:"column:actor"`
	Attempt      int64   `gorm:"column:attempt"`
	Cancel       int     `gorm:"column:cancel"`
	BeatAtUS     int64   `gorm:"column:beat_at_us"`
	CreatedAtUS  int64   `gorm:"column:created_at_us"`
	StartedAtUS  *int64  `gorm:"column:started_at_us"`
	FinishedAtUS *int64  `gorm:"column:finished_at_us"`
}

func (taskRow) TableName() string { return "tasks" }

var _ control.TaskRepo = (*repos)(nil)

func (r *repos) CreateTask(ctx context.Context, t control.Task) (control.Task, error) {
	request, err := json.Marshal(t.Request)
	if err != nil {
		return control.Task{}, fmt.Errorf("encode the request of a task: %w", err)
	}
	row := taskRow{
		Kind: string(t.Kind), Request: request, State: string(t.State), Actor: t.Actor, Attempt: t.Attempt,
		BeatAtUS: micros(t.CreatedAt), CreatedAtUS: micros(t.CreatedAt),
	}
	if err := r.in(ctx).Create(&row).Error; err != nil {
		return control.Task{}, fmt.Errorf("insert %s: %w", t.Kind, err)
	}
	return row.domain()
}

func (r *repos) Task(ctx context.Context, kind control.TaskKind, id int64) (control.Task, error) {
	var row taskRow
	if err := found(r.in(ctx).Where("id = ? AND kind = ?", id, kind).Take(&row).Error, string(kind), strconv.FormatInt(id, 10)); err != nil {
		return control.Task{}, err
	}
	return row.domain()
}

func (r *repos) TaskToWork(ctx context.Context, id int64) (control.Task, error) {
	var row taskRow
	if err := found(r.in(ctx).Where("id = ?", id).Take(&row).Error, "task", strconv.FormatInt(id, 10)); err != nil {
		return control.Task{}, err
	}
	return row.domain()
}

func (r *repos) ListTasks(ctx context.Context, kind control.TaskKind, p control.Page) ([]control.Task, string, error) {
	q := r.in(ctx).Omit("result").Where("kind = ?", kind)
	rows, next, err := newestFirst(q, "id", string(kind)+"s", p, func(t taskRow) int64 { return t.ID })
	if err != nil {
		return nil, "", err
	}
	list, err := tryEach(rows, taskRow.domain)
	return list, next, err
}

func (r *repos) CountOpenTasks(ctx context.Context) (n int64, err error) {
	if err := r.in(ctx).Model(&taskRow{}).Where("finished_at_us IS NULL").Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count tasks: %w", err)
	}
	return n, nil
}

func (r *repos) PutTask(ctx context.Context, t control.Task, beat time.Time) error {
	values := map[string]any{
		"state": string(t.State), "progress": t.Progress, "error": text(t.Error.String()), "error_said": phraseColumn(t.Error), "attempt": t.Attempt, "cancel": flag(t.Cancel),
		"beat_at_us": micros(beat), "started_at_us": optionalMicros(t.StartedAt), "finished_at_us": optionalMicros(t.FinishedAt),
	}
	if t.Result != nil {
		values["result"] = []byte(t.Result)
	}
	if err := r.in(ctx).Model(&taskRow{}).Where("id = ?", t.ID).Updates(values).Error; err != nil {
		return fmt.Errorf("update task %d: %w", t.ID, err)
	}
	return nil
}

func (r *repos) SilentTasks(ctx context.Context, since time.Time) ([]control.Task, error) {
	var rows []taskRow
	err := r.in(ctx).Where("finished_at_us IS NULL AND state = ? AND beat_at_us < ?", control.TaskRunning, micros(since)).Order("id").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list silent tasks: %w", err)
	}
	return tryEach(rows, taskRow.domain)
}

func (r *repos) PruneTasks(ctx context.Context, kind control.TaskKind, keep int) error {
	old := r.in(ctx).Model(&taskRow{}).Select("id").Where("kind = ? AND finished_at_us IS NOT NULL", kind).Order("id DESC").Offset(keep).Limit(1)
	if err := r.in(ctx).Where("kind = ? AND finished_at_us IS NOT NULL AND id <= (?)", kind, old).Delete(&taskRow{}).Error; err != nil {
		return fmt.Errorf("take out old %ss: %w", kind, err)
	}
	return nil
}

func (row taskRow) domain() (control.Task, error) {
	t := control.Task{
		ID: row.ID, Kind: control.TaskKind(row.Kind), State: control.TaskState(row.State), Progress: row.Progress, Result: row.Result, Error: said(row.Error, row.ErrorSaid),
		Actor: row.Actor, Attempt: row.Attempt, Cancel: row.Cancel != 0, CreatedAt: fromMicros(row.CreatedAtUS),
		StartedAt: optionalTime(row.StartedAtUS), FinishedAt: optionalTime(row.FinishedAtUS),
	}
	if err := json.Unmarshal(row.Request, &t.Request); err != nil {
		return t, fmt.Errorf("decode the request of task %d: %w", row.ID, err)
	}
	return t, nil
}
