package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// PortWatch reads a few InfiniBand ports often. It only gets counters and clears none, so it does not disturb measurements of shares. These do
// clear 32-bit counters: with Options.Clears, the watch knows when, and without, it gives no count that a clear could explain. It is safe for
// concurrent use; concurrent readings run one after the other.
type PortWatch struct {
	agents

	within time.Duration // limit of a reading of a device

	mu      sync.Mutex
	devices []*watchedDevice // by LID
}

type watchedDevice struct {
	timekeeper

	ports []*watchedPort
}

type watchedPort struct {
	Port

	adapter      bool
	noBECN, noVL bool // the device has no such counters
	seen         bool // last holds the previous reading
	last         watchReading
	out          PortActivity
}

// watchReading is one reading of a port. Counters that its device does not have are zero.
type watchReading struct {
	before, after quantity.Picoseconds // device clock around the counters
	from, to      time.Time            // wall clock around them
	xmit          uint64
	wait          uint32
	becn          [ident.NumSLs]uint32
	congested     [numDataVLs]uint32
}

func (r *watchReading) middle() quantity.Picoseconds { return r.before + (r.after-r.before)/2 }

// NewPortWatch prepares a watch of ports of a fabric. A reading of a device may take within; 0 means no limit. It fails on options out of range,
// without ports, and for a port that is not on the fabric or has no LID.
func NewPortWatch(t mad.Transport, ids []ident.PortID, f *subnet.Fabric, within time.Duration, o Options) (*PortWatch, error) {
	x, err := newAgents(t, o)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, errors.New("no ports to watch: want at least one")
	}
	var ports []Port
	for _, id := range ids {
		p, err := portOf(id, f)
		if err != nil {
			return nil, err
		}
		ports = append(ports, p)
	}
	sortPorts(ports)
	w := &PortWatch{agents: x, within: within}
	for i, p := range ports {
		if i == 0 || ports[i-1].LID != p.LID {
			w.devices = append(w.devices, &watchedDevice{timekeeper: timekeeper{lid: p.LID}})
		}
		ref, _ := f.PortByID(p.ID) // portOf found it
		d := w.devices[len(w.devices)-1]
		d.ports = append(d.ports, &watchedPort{Port: p, adapter: f.Nodes[ref.Node].Kind == subnet.KindCA})
	}
	return w, nil
}

// Format prints the purpose of the watch for every verb, never its key.
func (w *PortWatch) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "watch of the ports of %d devices", len(w.devices))
}

// Read returns what the ports did since the previous reading, by port; the first reading is the baseline. A port that was not read has an error,
// and its next reading is a baseline. It fails only when the context ends.
func (w *PortWatch) Read(ctx context.Context) ([]PortActivity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := each(ctx, w.devices, w.o.Parallel, func(d *watchedDevice) { w.readDevice(ctx, d) }); err != nil {
		return nil, fmt.Errorf("read ports: %w", err)
	}
	var out []PortActivity
	for _, d := range w.devices {
		for _, p := range d.ports {
			out = append(out, p.out)
		}
	}
	slices.SortFunc(out, func(a, b PortActivity) int { return a.Port.Compare(b.Port) })
	return out, nil
}

// readDevice reads the ports of a device, with its clock before, between and after them. An error ends the reading of the device: waiting for
// each of its ports would take too long.
func (w *PortWatch) readDevice(ctx context.Context, d *watchedDevice) {
	if w.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.within)
		defer cancel()
	}
	before, err := w.now(ctx, d)
	for _, p := range d.ports {
		p.out = PortActivity{Port: p.ID, Name: p.Name}
		var r watchReading
		if err == nil {
			r, err = w.readPort(ctx, d, p, before)
			before = r.after
		}
		switch {
		case err != nil:
			p.out.Err, p.seen = unread(err), false
			if silence(err) == nil && ctx.Err() == nil { // the next port may be readable
				before, err = w.now(ctx, d)
			}
			continue
		case p.seen:
			w.activity(p, &r)
		default:
			p.out.Err = ErrUnread
		}
		p.seen, p.last = true, r
	}
}

// now reads the clock of a device. After a jump the ports have new baselines.
func (w *PortWatch) now(ctx context.Context, d *watchedDevice) (quantity.Picoseconds, error) {
	now, jump, err := d.read(ctx, &w.agents)
	if jump != nil {
		for _, p := range d.ports {
			p.seen = false
		}
	}
	return now, err
}

// readPort reads the counters of a port after the device's time before, and then its clock.
func (w *PortWatch) readPort(ctx context.Context, d *watchedDevice, p *watchedPort, before quantity.Picoseconds) (watchReading, error) {
	r := watchReading{before: before, from: time.Now()}
	ext := mad.PortCountersExtended{PortSelect: p.ID.Port}
	err := w.perf(ctx, d.lid, mad.MethodGet, mad.AttrPortCountersExtended, &ext)
	c := mad.PortCounters{PortSelect: p.ID.Port}
	if err == nil {
		err = w.perf(ctx, d.lid, mad.MethodGet, mad.AttrPortCounters, &c)
	}
	r.xmit, r.wait = ext.XmitData, c.XmitWait
	switch {
	case err != nil:
	case p.adapter && !p.noBECN:
		a := mad.PortSLCounters{PortSelect: p.ID.Port}
		err = w.lanes(ctx, d, mad.AttrPortSLRcvBECN, &a, &p.noBECN)
		r.becn = a.SL
	case !p.adapter && !p.noVL:
		v := mad.PortVLXmitTimeCong{PortSelect: p.ID.Port}
		err = w.lanes(ctx, d, mad.AttrPortVLXmitTimeCong, &v, &p.noVL)
		r.congested = v.VL
	}
	if err != nil {
		return r, err
	}
	r.to = time.Now()
	r.after, err = w.now(ctx, d)
	return r, err
}

// lanes gets counters by lane, and sets lacks when the device has none.
func (w *PortWatch) lanes(ctx context.Context, d *watchedDevice, id mad.AttrID, a mad.Attribute, lacks *bool) error {
	err := w.perf(ctx, d.lid, mad.MethodGet, id, a)
	if unsupported(err) {
		*lacks = true
		return nil
	}
	return err
}

// uncertainParts bounds the uncertainty of a watched rate, as one part in this number of parts: two readings that took longer, compared with the
// time between them, give no rate.
const uncertainParts = 20

// activity sets what the port did between its last reading and r.
func (w *PortWatch) activity(p *watchedPort, r *watchReading) {
	span := r.middle() - p.last.middle()
	most := wordsIn(r.after-p.last.before, p.Rate) // in the longest possible time between the two
	switch {
	case r.before < p.last.after || span <= 0:
		p.out.Err = ErrNoTime
		return
	case (r.after-r.before+p.last.after-p.last.before)/2 > span/uncertainParts:
		p.out.Err = fmt.Errorf("reading the counters took %s and %s in %s: %w", p.last.after-p.last.before, r.after-r.before, span, ErrUnread)
		return
	}
	if moved := r.xmit - p.last.xmit; r.xmit >= p.last.xmit && moved <= most {
		p.out.Sent = new(rateOf(moved, span))
	} else {
		p.out.Err = fmt.Errorf("PortXmitData from %d to %d: %w", p.last.xmit, r.xmit, ErrReset)
	}
	count := func(kind CountKind, id mad.AttrID, last, now []uint32, rule step32) {
		rule.mayClear = w.o.Clears == nil
		if w.o.Clears != nil && w.o.Clears.during(clearKey{p.LID, p.ID.Port, id}, p.last.from, r.to) {
			p.out.Err = cmp.Or(p.out.Err, fmt.Errorf("%s: %w", kind, ErrCleared))
			return
		}
		for lane := range now {
			n, err := rule.moved(last[lane], now[lane])
			if err != nil {
				p.out.Err = cmp.Or(p.out.Err, fmt.Errorf("%s: %w", kind, err))
			} else if n > 0 || !kind.HasLane() { // as in measurements, a lane that counted nothing is left out
				p.out.Counts = append(p.out.Counts, PortCount{kind, lane, float64(n) / span.Seconds()})
			}
		}
	}
	count(CountWait, mad.AttrPortCounters, []uint32{p.last.wait}, []uint32{r.wait}, step32{most: most, sticks: true}) // a tick is at least one word
	if p.adapter && !p.noBECN {
		count(CountBECN, mad.AttrPortSLRcvBECN, p.last.becn[:], r.becn[:], step32{most: most / leastPacketWords})
	}
	if !p.adapter && !p.noVL {
		count(CountCongested, mad.AttrPortVLXmitTimeCong, p.last.congested[:], r.congested[:], step32{most: most})
	}
}

// step32 says how far a counter of 32 bits moved between two readings that did not clear it.
type step32 struct {
	most     uint64 // the largest possible move
	sticks   bool   // it saturates; others may saturate or wrap
	mayClear bool   // a measurement may have cleared it between the readings, from half its range on
}

// moved returns the move from last to v, or why it is ambiguous.
func (s step32) moved(last, v uint32) (uint64, error) {
	switch {
	case last == counterEnd || v == counterEnd:
		return 0, ErrSaturated
	case v < last || uint64(v-last) > s.most: // wrapped, cleared by others, or set
		return 0, fmt.Errorf("from %d to %d: %w", last, v, ErrReset)
	case !s.sticks && s.most > counterEnd:
		return 0, ErrGap
	case s.mayClear && uint64(clearAt-min(last, clearAt))+uint64(v) <= s.most: // it may have moved to half its range, and then from zero to v
		return 0, ErrCleared
	}
	return uint64(v - last), nil
}
