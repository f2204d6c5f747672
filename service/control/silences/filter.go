package silences

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/service/silence"
)

// refresh is how often a filter reads the silences: the longest time until one acts on every manager.
const refresh = 5 * time.Second

// Filter decides which alerts are silenced, by a copy of the stored silences.
type Filter struct {
	s    *Silences
	log  *slog.Logger
	list atomic.Pointer[[]silence.Silence]
}

// NewFilter returns a filter that silences nothing before Run has read the silences.
func (s *Silences) NewFilter(log *slog.Logger) *Filter { return &Filter{s: s, log: log} }

// Run keeps the copy fresh until the context ends. While the store does not answer, the copy stays.
func (f *Filter) Run(ctx context.Context) {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	failed := false
	for {
		err := f.Refresh(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			f.log.Warn("silences could not be read; those read before stay in force", "error", err.Error())
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Refresh reads the silences once.
func (f *Filter) Refresh(ctx context.Context) error {
	var all []silence.Silence
	p := control.Page{Limit: control.MaxPageLimit}
	for {
		list, next, err := f.s.ListSilences(ctx, false, p)
		if err != nil {
			return err
		}
		all = append(all, list...)
		if p.After = next; next == "" {
			f.list.Store(&all)
			return nil
		}
	}
}

// Silenced reports whether an alert is silenced now.
func (f *Filter) Silenced(a series.Alert) bool {
	list := f.list.Load()
	if list == nil {
		return false
	}
	now := f.s.Now()
	for i := range *list {
		if (*list)[i].Mutes(&a, now) {
			return true
		}
	}
	return false
}
