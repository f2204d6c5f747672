package collect

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// WatchOptions configure which ports are read more often than their fabric is measured. The zero value is none.
type WatchOptions struct {
	// Ports are "FABRIC/PORT", each with a pattern of path.Match for the port's name: "lab/leaf1/P4", "lab/leaf1/*".
	Ports  []string
	Period time.Duration // between two readings, at least MinPeriod
	By     control.PortWatcher
}

// MaxWatched is the largest number of watched ports of a fabric; more are left out.
const MaxWatched = 64

// Bounds of a watch.
const (
	withinParts = 0.8              // of the period, that a reading of a device may take
	openTime    = 5 * time.Second  // to open a watch
	maxRetry    = 15 * time.Second // between two attempts to open a watch
	barrenReads = 5                // readings without any rate after which a watch is opened again
	faultyReads = 3                // readings of a port with errors before they are logged
)

// watchLoop reads chosen ports of the fabrics that rounds offer it. It has its own sessions and waits for no round. A nil *watchLoop watches nothing.
type watchLoop struct {
	c *Collector
	o WatchOptions

	mu       sync.Mutex
	offers   map[string]watchOffer // by fabric
	unknown  map[string]bool       // entries of o.Ports that match no port
	omitted  map[string]int        // ports beyond MaxWatched, by fabric
	readings map[string][2]int     // ports read and not read at the latest reading, by fabric

	fabrics map[string]*watchedFabric // of run alone
	reads   sync.WaitGroup
}

// watchOffer permits the watch of a fabric.
type watchOffer struct {
	target control.Target
	ports  []ident.PortID
	names  map[string]bool // of the ports
	until  time.Time       // end of the lease
	over   bool            // nothing is in force on the fabric: its series end
}

// watchedFabric is the watch of a fabric. One reading at a time uses it.
type watchedFabric struct {
	busy   atomic.Bool
	offer  watchOffer
	watch  control.PortWatch // nil: not open
	retry  time.Time         // when to open it again
	fails  int               // attempts since the last reading with a rate
	barren int               // readings without a rate
	last   map[string]series.Sample
	faulty map[string]int // consecutive readings with errors, by port
}

func newWatchLoop(c *Collector, o WatchOptions) *watchLoop {
	if len(o.Ports) == 0 {
		return nil
	}
	return &watchLoop{c: c, o: o, offers: map[string]watchOffer{}, unknown: map[string]bool{}, omitted: map[string]int{}, readings: map[string][2]int{},
		fabrics: map[string]*watchedFabric{}}
}

// offer permits the watch of a fabric until the end of a lease. It returns the names of the ports that the watch owns.
func (w *watchLoop) offer(fabric string, t control.Target, until time.Time) map[string]bool {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.offers[fabric]
	if o.over || o.target.Topology != t.Topology || o.names == nil {
		o.ports, o.names = w.choose(fabric, t.Topology)
	}
	o.target, o.until, o.over = t, until, false
	w.offers[fabric] = o
	return o.names
}

// extend prolongs what was offered.
func (w *watchLoop) extend(fabric string, until time.Time) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if o, ok := w.offers[fabric]; ok {
		o.until = until
		w.offers[fabric] = o
	}
}

// withdraw ends the watch of a fabric. over says that its series end; otherwise another manager continues them.
func (w *watchLoop) withdraw(fabric string, over bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.offers[fabric]; ok && over {
		w.offers[fabric] = watchOffer{over: true}
	} else if !over {
		delete(w.offers, fabric)
	}
}

// known ends the watches of fabrics that are deleted, and marks entries for them as unknown.
func (w *watchLoop) known(fabrics []string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.offers {
		if !slices.Contains(fabrics, name) {
			w.offers[name] = watchOffer{over: true}
		}
	}
	for _, entry := range w.o.Ports {
		if fabric, _, _ := strings.Cut(entry, "/"); !slices.Contains(fabrics, fabric) {
			w.match(entry, false)
		}
	}
}

// choose returns the ports of a fabric that entries match, in the order of the entries. The caller holds the lock.
func (w *watchLoop) choose(fabric string, topo *subnet.Fabric) (ids []ident.PortID, names map[string]bool) {
	names = map[string]bool{}
	w.omitted[fabric] = 0
	if topo == nil {
		return nil, names
	}
	for _, entry := range w.o.Ports {
		of, pattern, _ := strings.Cut(entry, "/")
		if of != fabric {
			continue
		}
		found := false
		for n := range topo.Nodes {
			for num := 1; num < len(topo.Nodes[n].Ports); num++ {
				ref := subnet.PortRef{Node: int32(n), Port: ident.PortNum(num)}
				name := topo.PortName(ref)
				if ok, _ := path.Match(pattern, name); !ok && pattern != name {
					continue
				}
				found = true
				switch {
				case names[name]:
				case len(ids) == MaxWatched:
					w.omitted[fabric]++
				default:
					ids = append(ids, topo.PortID(ref))
					names[name] = true
				}
			}
		}
		w.match(entry, found)
	}
	if n := w.omitted[fabric]; n > 0 {
		w.c.o.Log.Warn("series.watch.ports matches too many ports of a fabric: the others are not watched", "fabric", fabric, "watched", len(ids), "omitted", n)
	}
	return ids, names
}

// match records whether an entry matches a port, and logs the first time that it does not. The caller holds the lock.
func (w *watchLoop) match(entry string, found bool) {
	if !found && !w.unknown[entry] {
		w.c.o.Log.Warn("an entry of series.watch.ports matches no port", "entry", entry)
	}
	if found {
		delete(w.unknown, entry)
	} else {
		w.unknown[entry] = true
	}
}

// counts returns the number of watched ports by state.
func (w *watchLoop) counts() map[string]int {
	out := map[string]int{"read": 0, "unread": 0, "omitted": 0, "unknown": 0}
	if w == nil {
		return out
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.readings {
		out["read"] += n[0]
		out["unread"] += n[1]
	}
	for _, n := range w.omitted {
		out["omitted"] += n
	}
	out["unknown"] = len(w.unknown)
	return out
}

// run reads until the context ends.
func (w *watchLoop) run(ctx context.Context) {
	tick := time.NewTicker(w.o.Period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			w.reads.Wait()
			for _, f := range w.fabrics {
				f.close()
			}
			return
		case <-tick.C:
			w.step(ctx)
		}
	}
}

// step begins a reading of each fabric whose latest one has ended.
func (w *watchLoop) step(ctx context.Context) {
	now := w.c.use.Now()
	w.mu.Lock()
	maps.DeleteFunc(w.offers, func(_ string, o watchOffer) bool { return !o.over && !now.Before(o.until) }) // the lease has ended: another manager continues
	offers := maps.Clone(w.offers)
	w.mu.Unlock()
	for name, o := range offers {
		switch f := w.fabrics[name]; {
		case f == nil && len(o.ports) > 0:
			w.fabrics[name] = &watchedFabric{last: map[string]series.Sample{}, faulty: map[string]int{}}
		case f == nil && o.over:
			w.drop(name)
		}
	}
	for name, f := range w.fabrics {
		if !f.busy.CompareAndSwap(false, true) {
			continue // late: this reading is left out
		}
		o, offered := offers[name]
		if offered && len(o.ports) > 0 {
			w.reads.Go(func() {
				defer f.busy.Store(false)
				w.read(ctx, name, f, &o)
			})
			continue
		}
		f.close()
		delete(w.fabrics, name)
		if o.over || !offered {
			w.drop(name)
		}
		if offered {
			w.append(ctx, name, f, nil)
		}
	}
}

// drop forgets a fabric that is not watched any more.
func (w *watchLoop) drop(fabric string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.readings, fabric)
	if w.offers[fabric].over {
		delete(w.offers, fabric)
	}
	if _, ok := w.offers[fabric]; !ok {
		delete(w.omitted, fabric)
	}
}

func (f *watchedFabric) close() {
	if f.watch != nil {
		_ = f.watch.Close() // it only read
	}
	f.watch = nil
}

// read reads the ports of a fabric once and keeps what they did.
func (w *watchLoop) read(ctx context.Context, fabric string, f *watchedFabric, o *watchOffer) {
	if f.watch != nil && !f.offer.same(o) {
		f.close()
		f.retry = time.Time{}
	}
	f.offer = *o
	r, err := w.reading(ctx, f, o)
	if ctx.Err() != nil {
		return // the series go on after a restart, or by another manager
	}
	rates := 0
	for i := range r.Ports {
		if p := &r.Ports[i]; p.Err == nil {
			rates++
		}
		w.judge(fabric, f, &r.Ports[i])
	}
	w.mu.Lock()
	w.readings[fabric] = [2]int{rates, len(o.ports) - rates}
	w.mu.Unlock()
	f.barren++
	if slices.ContainsFunc(r.Ports, func(p control.PortActivity) bool { return p.Sent != nil }) {
		f.barren, f.fails = 0, 0
	}
	if f.watch != nil && (err != nil || f.barren >= barrenReads) {
		f.close()
		w.retryLater(f)
	}
	b := batch{fabric: fabric}
	b.ports(r.Ports, o.target.Plan)
	if r.Cost != (control.Cost{}) {
		b.cost("ports", r.Cost, w.o.Period)
	}
	w.append(ctx, fabric, f, b.out)
}

// reading opens the watch if it is not open, and reads. Without an open watch there are no ports.
func (w *watchLoop) reading(ctx context.Context, f *watchedFabric, o *watchOffer) (r control.PortReading, err error) {
	now := w.c.use.Now()
	if f.watch == nil {
		if now.Before(f.retry) {
			return r, nil
		}
		within, cancel := context.WithTimeout(ctx, openTime)
		defer cancel()
		f.barren = 0
		f.watch, err = w.o.By.WatchPorts(within, o.target, o.ports, time.Duration(withinParts*float64(w.o.Period)))
		if err != nil {
			f.watch = nil
			if f.fails == 0 && ctx.Err() == nil {
				w.c.o.Log.Warn("the watched ports of a fabric could not be read", "fabric", o.target.Fabric.Name, "error", err.Error())
			}
			w.retryLater(f)
			return r, nil
		}
	}
	return f.watch.Read(ctx)
}

// retryLater sets when to open the watch again: each time later.
func (w *watchLoop) retryLater(f *watchedFabric) {
	f.retry = w.c.use.Now().Add(min(w.o.Period<<min(f.fails, 8), maxRetry))
	f.fails++
}

// judge logs when readings of a port begin to fail, and when they succeed again.
func (w *watchLoop) judge(fabric string, f *watchedFabric, p *control.PortActivity) {
	before := f.faulty[p.Name]
	if p.Err == nil {
		delete(f.faulty, p.Name)
		if before >= faultyReads {
			w.c.o.Log.Info("a watched port is measured again", "fabric", fabric, "port", p.Name)
		}
		return
	}
	f.faulty[p.Name] = before + 1
	if before+1 == faultyReads {
		w.c.o.Log.Warn("a watched port is not measured, or not completely", "fabric", fabric, "port", p.Name, "error", p.Err.Error())
	}
}

// append keeps samples, and ends the series that have none now.
func (w *watchLoop) append(ctx context.Context, fabric string, f *watchedFabric, samples []series.Sample) {
	samples, f.last = withGaps(samples, f.last)
	if len(samples) == 0 {
		return
	}
	if err := w.c.keep.Append(ctx, w.c.o.Clock(), samples); err != nil && ctx.Err() == nil {
		w.c.o.Failed()
		w.c.o.Log.Debug("the series of watched ports were not stored", "fabric", fabric, "error", err.Error())
	}
}

// same reports whether a watch that is open for an offer serves another.
func (o *watchOffer) same(b *watchOffer) bool {
	x, y := &o.target.Fabric, &b.target.Fabric
	return o.target.Topology == b.target.Topology && o.target.Plan.Plane == b.target.Plan.Plane && slices.Equal(o.ports, b.ports) &&
		x.Source == y.Source && x.TimeScale == y.TimeScale && x.Counters == y.Counters
}

// withoutWatched removes ports that a watch owns from a measurement.
func withoutWatched(ports []control.PortActivity, owned map[string]bool) []control.PortActivity {
	return slices.DeleteFunc(ports, func(p control.PortActivity) bool { return owned[p.Name] })
}

// leaveWatched makes a round end no series of ports that a watch owns.
func leaveWatched(last map[string]series.Sample, owned map[string]bool) {
	if len(owned) == 0 {
		return
	}
	maps.DeleteFunc(last, func(_ string, x series.Sample) bool {
		return slices.ContainsFunc(x.Labels, func(l series.Label) bool { return l.Name == series.LabelPort && owned[l.Value] })
	})
}
