package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
)

// claim is a worker's hold on a shard. It records the moves of the shard's devices. Moves that arrive while a transaction
// runs wait for it and then share the next one.
type claim struct {
	e        *Engine
	key      control.ShardKey
	epoch    int64
	ro       control.Rollout // as it was claimed
	plan     cachedPlan
	failures int // devices of the rollout that had failed when the shard was claimed
	// elsewhere is the number of these in other shards.
	elsewhere int
	park      func() // starts no further device; set before the first heartbeat

	mu       sync.Mutex
	rows     []control.RolloutDevice
	byID     map[ident.PortID]int
	began    time.Time // start of the last committed transaction
	err      error     // set when the hold is lost
	leading  bool      // a transaction is running
	waiting  []*record
	receipts map[ident.PortID]*driver.Receipt // of writes whose read-back is not recorded yet
	tried    map[ident.PortID]bool            // devices that this worker has started to write
	// based has the devices with a baseline, true when marked as held. Others are added with their first write.
	based map[ident.PortID]bool
	ours  ours // data that decides the origin of a new baseline
	// leaves has the devices outside of the plan: once verified, they hold no settings of Fairlane any more.
	leaves map[ident.PortID]bool
}

// record is one move that waits to be stored.
type record struct {
	row   control.RolloutDevice
	event *control.Event
	// baseline is stored with the first write to a device.
	baseline *control.Baseline
	letGo    bool // the device holds no settings of Fairlane any more
	done     chan result
}

// result is the result of a record. lead asks its owner to commit the waiting records.
type result struct {
	lead bool
	err  error
}

func (c *claim) index() {
	c.byID = make(map[ident.PortID]int, len(c.rows))
	for i := range c.rows {
		c.byID[c.rows[i].Device.ID] = i
	}
	c.receipts, c.tried = map[ident.PortID]*driver.Receipt{}, map[ident.PortID]bool{}
}

// hold reads the shard in a transaction and fails when this worker no longer holds it.
func (c *claim) hold(ctx context.Context, r control.Repos) (control.Shard, error) {
	s, err := r.LockShard(ctx, c.key)
	if err != nil {
		return s, err
	}
	if s.Epoch != c.epoch || s.State != control.ShardWorking || s.Owner != c.e.d.Name {
		return s, fmt.Errorf("%s: %w", c.key, ErrFenced)
	}
	return s, nil
}

var _ device.Recorder = (*claim)(nil)

func (c *claim) Record(ctx context.Context, ev device.Event) error {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	rec := c.note(ev)
	if rec == nil {
		c.mu.Unlock()
		return nil
	}
	c.waiting = append(c.waiting, rec)
	if c.leading {
		c.mu.Unlock()
		if res := <-rec.done; !res.lead {
			return res.err
		}
		c.mu.Lock()
	}
	c.leading = true
	return c.lead(ctx, rec)
}

// lead commits all waiting records, including its own, and passes the lead on. The caller holds the lock of the claim;
// lead releases it.
func (c *claim) lead(ctx context.Context, own *record) error {
	err := c.err
	c.mu.Unlock()
	var batch []*record
	if err == nil {
		batch, err = c.commit(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		batch, c.waiting = append(batch, c.waiting...), nil
	}
	for _, rec := range batch {
		if rec != own {
			rec.done <- result{err: err}
		}
	}
	if c.leading = len(c.waiting) > 0; c.leading {
		c.waiting[0].done <- result{lead: true}
	}
	return err
}

// take removes and returns all waiting records.
func (c *claim) take() []*record {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.waiting
	c.waiting = nil
	return batch
}

// note updates the row of a device and returns what to commit now. That a device is being read back is stored only with
// the result, since nothing depends on it.
func (c *claim) note(ev device.Event) *record {
	row := &c.rows[c.byID[ev.Device.ID]]
	if ev.To == device.Verifying {
		row.State = ev.To
		c.receipts[ev.Device.ID] = ev.Receipt
		return nil
	}
	if ev.To == device.Applying {
		c.tried[ev.Device.ID] = true
	}
	row.State, row.Note, row.UpdatedAt = ev.To, ev.Said, c.e.d.Clock.Now().UTC()
	row.Touched = ev.Touched && ev.To != device.RolledBack
	switch {
	case ev.Error.ID != "":
		row.Error = ev.Error
	case ev.To == device.InSync:
		row.Error = phrase.Text{}
	}
	if ev.Before != nil {
		row.Before = ev.Before
	}
	out := *row
	// Only changed values are stored: a nil keeps the stored value.
	out.Wanted, out.Observed, out.Receipt = ev.Want, nil, c.receipts[ev.Device.ID]
	if ev.Receipt != nil {
		out.Receipt = ev.Receipt
	}
	delete(c.receipts, ev.Device.ID)
	if ev.To != device.Applying && (ev.To != device.InSync || row.Touched) {
		out.Before = nil // it was stored before the first write
	}
	if ev.To != device.InSync && ev.To != device.RolledBack {
		out.Observed = ev.Observed // for those two, the observed settings equal known ones
	}
	rec := &record{row: out, event: c.stateEvent(ev), done: make(chan result, 1)}
	if ev.To == device.Applying && ev.Before != nil && !c.based[ev.Device.ID] {
		c.based[ev.Device.ID] = true // a failed commit ends this claim, and the next claim reads based again
		rec.baseline = c.baseline(ev.Device, *ev.Before)
	}
	if ev.To == device.InSync && c.leaves[ev.Device.ID] {
		c.based[ev.Device.ID], rec.letGo = false, true
	}
	return rec
}

// stateEvent returns the event of a move; starting on a device has none.
func (c *claim) stateEvent(ev device.Event) *control.Event {
	if ev.To == device.Pending {
		return nil
	}
	data, err := json.Marshal(map[string]string{"device": ev.Device.ID.String(), "from": string(ev.From), "to": string(ev.To), "error": ev.Error.String(), "manager": c.e.d.Name})
	if err != nil {
		data = nil // four strings always encode
	}
	e := c.e.event(c.ro, "device.state", ev.Said)
	e.Subject, e.Data = ev.Device.Name, data
	return &e
}

// commit writes the waiting records under the fence and returns them. It takes the records only when its transaction has
// its turn, so that more of them share it. It also reads the operator's requests.
func (c *claim) commit(ctx context.Context) (batch []*record, err error) {
	began := c.e.d.Clock.Now()
	request := control.RequestRun
	err = c.e.d.Store.Tx(c.e.on(ctx, c.key.Rollout), func(r control.Repos) error {
		s, err := c.hold(ctx, r)
		if err != nil {
			return err
		}
		s.Beat++
		if err := r.PutShard(ctx, s); err != nil {
			return err
		}
		batch = c.take()
		rows := make([]control.RolloutDevice, len(batch))
		var events []control.Event
		var based []control.Baseline
		var gone []ident.PortID
		for i, rec := range batch {
			rows[i] = rec.row
			if rec.baseline != nil {
				based = append(based, *rec.baseline)
			}
			if rec.letGo {
				gone = append(gone, rec.row.Device.ID)
			}
			if rec.event != nil {
				events = append(events, *rec.event)
			}
		}
		if len(rows) > 0 {
			if err := r.PutRolloutDevices(ctx, c.key.Rollout, rows); err != nil {
				return err
			}
		}
		if len(based) > 0 {
			if err := r.AddBaselines(ctx, c.ro.Fabric, based); err != nil {
				return err
			}
		}
		if len(gone) > 0 {
			if err := r.LetGo(ctx, c.ro.Fabric, gone); err != nil {
				return err
			}
		}
		if len(events) > 0 {
			if err := r.AddEvents(ctx, events); err != nil {
				return err
			}
		}
		request, err = r.RolloutRequest(ctx, c.key.Rollout)
		return err
	})
	if err != nil {
		return batch, err
	}
	c.mu.Lock()
	if began.After(c.began) {
		c.began = began
	}
	c.mu.Unlock()
	if c.parks(request) {
		c.park()
	}
	return batch, nil
}

// renew sends a heartbeat when the last one is old enough. The error, which sticks, says that the hold is lost.
func (c *claim) renew(ctx context.Context) error {
	c.mu.Lock()
	age := c.e.d.Clock.Now().Sub(c.began)
	switch {
	case c.err != nil:
		defer c.mu.Unlock()
		return c.err
	case age >= c.e.d.Lease:
		c.err = fmt.Errorf("%s: no heartbeat could be written for %s: %w", c.key, age, ErrFenced)
		defer c.mu.Unlock()
		return c.err
	case age < c.e.d.Lease/3 || c.leading:
		c.mu.Unlock()
		return nil
	}
	c.leading = true
	return c.lead(ctx, nil)
}

// guard lets a driver act only while the hold lasts, and bounds each operation by it.
type guard struct {
	driver.Driver
	c *claim
}

// Unwrap returns the wrapped driver.
func (g *guard) Unwrap() driver.Driver { return g.Driver }

// bound returns the context of one operation on a device.
func (g *guard) bound(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := g.c.renew(ctx); err != nil {
		return nil, nil, err
	}
	g.c.mu.Lock()
	until := g.c.began.Add(g.c.e.d.Lease)
	g.c.mu.Unlock()
	ctx, cancel := g.c.e.d.Clock.Deadline(ctx, until)
	return ctx, cancel, nil
}

var _ driver.Driver = (*guard)(nil)

func (g *guard) Read(ctx context.Context, d driver.Device) (driver.Settings, error) {
	bound, cancel, err := g.bound(ctx)
	if err != nil {
		return driver.Settings{}, err
	}
	defer cancel()
	got, err := g.Driver.Read(bound, d)
	return got, cut(ctx, err)
}

func (g *guard) Apply(ctx context.Context, d driver.Device, want driver.Settings) (driver.Receipt, error) {
	bound, cancel, err := g.bound(ctx)
	if err != nil {
		return driver.Receipt{}, driver.Unsent(err)
	}
	defer cancel()
	receipt, err := g.Driver.Apply(bound, d, want)
	return receipt, cut(ctx, err)
}

// cut distinguishes an operation that the end of the lease interrupted from one that the device rejected. In the first
// case the device is slow, and worth a retry if the hold was renewed meanwhile; otherwise the next operation fails.
func cut(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: no answer within the lease: %w", driver.ErrUnreachable, err)
	}
	return err
}
