package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/compression"

	"fairlane/service/series"
)

// Options configure a DB. The zero value is the default of each.
type Options struct {
	// Retention is how long samples are kept, at least 2 h; 0 is 28 days.
	Retention time.Duration
	// MaxBytes bounds the blocks on disk: the oldest are deleted first; 0 is no bound.
	MaxBytes int64
	// Interval is the time between two samples of a series, 1 s or more; 0 is 15 s. A value is stale after three intervals.
	Interval time.Duration
	// MaxSeries bounds the series in memory; 0 is 200,000. New series beyond it are rejected with series.ErrTooManySeries.
	MaxSeries int
	Log       *slog.Logger // nil discards
	Peers     PeerOptions
}

// Defaults of Options.
const (
	DefaultRetention = 28 * 24 * time.Hour
	DefaultInterval  = 15 * time.Second
	DefaultMaxSeries = 200_000
	minRetention     = 2 * time.Hour
)

// metricName is the label that holds the name of the family.
const metricName = "__name__"

// outOfOrder is how late a sample may arrive: agents may report late.
const outOfOrder = 10 * time.Minute

// block is the time that a new block covers. A start after a kill replays up to one and a half blocks, so 1 h takes half as long as
// Prometheus' default of 2 h.
const block = time.Hour

// DB keeps series in a folder and answers queries about them. It is safe for concurrent use.
type DB struct {
	reader

	db    *tsdb.DB
	o     Options
	peers *peers         // nil: no other managers
	reads sync.WaitGroup // of the past of fabrics, which end with the context of an evaluation

	mu   sync.Mutex // one batch at a time
	refs map[string]storage.SeriesRef
}

// Open opens the series in a folder, which it creates, and locks it against other processes.
func Open(dir string, o Options) (*DB, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("series: %w", err)
	}
	t := tsdb.DefaultOptions()
	t.RetentionDuration = o.Retention.Milliseconds()
	t.MaxBytes = o.MaxBytes
	t.OutOfOrderTimeWindow = outOfOrder.Milliseconds()
	t.MinBlockDuration = block.Milliseconds()
	t.MaxBlockDuration = max(o.Retention/10, block).Milliseconds()
	t.WALCompression = compression.Snappy
	t.EnableMemorySnapshotOnShutdown = true         // a restart reads it instead of the whole log
	if err := os.MkdirAll(dir, 0o700); err != nil { // the TSDB itself would let others read it
		return nil, fmt.Errorf("open the series: %w", err)
	}
	db, err := tsdb.Open(dir, o.Log, nil, t, nil)
	if err != nil {
		return nil, fmt.Errorf("open the series in %s: %w", dir, err)
	}
	d := &DB{db: db, o: o, refs: map[string]storage.SeriesRef{}, peers: newPeers(&o)}
	d.reader = newReader(&o, d.sources)
	return d, nil
}

func (o *Options) complete() error {
	if o.Retention == 0 {
		o.Retention = DefaultRetention
	}
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	if o.MaxSeries == 0 {
		o.MaxSeries = DefaultMaxSeries
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	switch {
	case o.Retention < minRetention:
		return fmt.Errorf("retention %v: want at least %v", o.Retention, minRetention)
	case o.MaxBytes < 0:
		return fmt.Errorf("size limit of %d bytes: want 0 (none) or more", o.MaxBytes)
	case o.Interval < time.Second:
		return fmt.Errorf("interval %v: want at least 1 s", o.Interval)
	case o.MaxSeries < 1:
		return fmt.Errorf("limit of %d series: want at least 1", o.MaxSeries)
	}
	return nil
}

// Append implements series.Store. The error of series left out has their number.
func (d *DB) Append(ctx context.Context, at time.Time, batch []series.Sample) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	app := d.db.Appender(ctx)
	defer func() {
		if err != nil && !errors.Is(err, series.ErrTooManySeries) {
			err = errors.Join(err, app.Rollback())
		}
	}()
	if len(d.refs) > 2*d.o.MaxSeries { // most are of series that have ended
		clear(d.refs)
	}
	left, room := 0, d.o.MaxSeries-int(d.db.Head().NumSeries())
	var key []byte
	for i := range batch {
		s := &batch[i]
		key = s.AppendKey(key[:0])
		had := d.refs[string(key)]
		ref, err := d.append(app, had, at.UnixMilli(), s, &room)
		switch {
		case errors.Is(err, series.ErrTooManySeries):
			left++
			continue
		case err != nil:
			return fmt.Errorf("append %s: %w", s.Family, err)
		case ref != had:
			d.refs[string(key)] = ref
		}
	}
	if err := app.Commit(); err != nil {
		return fmt.Errorf("append series: %w", err)
	}
	if left > 0 {
		return fmt.Errorf("%w: %d new ones left out, %d kept", series.ErrTooManySeries, left, d.o.MaxSeries)
	}
	return nil
}

// append adds a sample to the series that a reference names, 0 for none, and returns its current reference. room is the number of series
// that may be added.
func (d *DB) append(app storage.Appender, ref storage.SeriesRef, at int64, s *series.Sample, room *int) (storage.SeriesRef, error) {
	if ref != 0 { // labels are needed only for a series that is not in memory
		if ref, err := app.Append(ref, labels.EmptyLabels(), at, valueOf(s)); !errors.Is(err, tsdb.ErrInvalidSample) {
			return ref, err
		}
	}
	ls := labelsOf(s)
	if ref = existing(app, ls); ref == 0 {
		if *room <= 0 {
			return 0, series.ErrTooManySeries
		}
		*room--
	}
	return app.Append(ref, ls, at, valueOf(s))
}

// existing returns the reference of a series that is in memory, as after a restart; 0 for others.
func existing(app storage.Appender, ls labels.Labels) storage.SeriesRef {
	if g, ok := app.(storage.GetRef); ok {
		ref, _ := g.GetRef(ls, ls.Hash())
		return ref
	}
	return 0
}

func valueOf(s *series.Sample) float64 {
	if s.Gap {
		return math.Float64frombits(value.StaleNaN)
	}
	return s.Value
}

func labelsOf(s *series.Sample) labels.Labels {
	b := labels.NewScratchBuilder(1 + len(s.Labels))
	b.Add(metricName, s.Family)
	for _, l := range s.Labels {
		b.Add(l.Name, l.Value)
	}
	b.Sort()
	return b.Labels()
}

// Size returns the number of series in memory and the bytes of blocks on disk.
func (d *DB) Size() (series int, bytes int64) {
	for _, b := range d.db.Blocks() {
		bytes += b.Size()
	}
	return int(d.db.Head().NumSeries()), bytes
}

// Latest returns the time of the latest sample, zero when there is none.
func (d *DB) Latest() time.Time {
	latest := d.db.Head().MaxTime()
	for _, b := range d.db.Blocks() {
		latest = max(latest, b.MaxTime()-1) // blocks end before their maximum
	}
	if latest == math.MinInt64 {
		return time.Time{}
	}
	return time.UnixMilli(latest)
}

// Close writes what is in memory and releases the folder.
func (d *DB) Close() error {
	d.reads.Wait()
	if err := errors.Join(d.engine.Close(), d.db.Close()); err != nil {
		return fmt.Errorf("close the series: %w", err)
	}
	return nil
}
