package control

import (
	"context"
	"time"
)

// SeriesManager is a manager that has stored series in a folder of its own, for which the others ask it.
type SeriesManager struct {
	URL   string // of its API, as other managers reach it
	Name  string
	Key   []byte    // signs the requests of the others and its answers; new at each start
	Until time.Time // it measures until then unless it announces itself again
}

// SeriesManagerRepo stores where the managers have their series.
type SeriesManagerRepo interface {
	// AnnounceSeries stores a manager, in place of an earlier one with its URL, and removes those that have measured nothing since forget.
	AnnounceSeries(ctx context.Context, m SeriesManager, forget time.Time) error
	// SeriesManagers returns all managers, by URL.
	SeriesManagers(ctx context.Context) ([]SeriesManager, error)
}
