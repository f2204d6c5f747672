package telemetry

import (
	"context"

	"fairlane/subnet"
	"fairlane/subnet/mad"
)

// logDelta is what a log told since it was last read.
type logDelta struct {
	counted uint64 // events that the device counted
	missed  uint64 // of them that the log held no more
	events  []CongestionEvent
	least   bool // counted is a lower bound: the counter is at its end, or wrapped whole turns
	err     error
}

// logEnd is where the counter of a log stays.
const logEnd = 1<<16 - 1

// logEntry is an entry in the terms that both forms of the log have.
type logEntry struct {
	stamp uint32
	event CongestionEvent
}

// readLog reads CongestionLog. The clock of the device moves on with it.
func (w *CongestionWatch) readLog(ctx context.Context, d *congestedDevice) logDelta {
	if d.noLog {
		return logDelta{}
	}
	counter, now, entries, err := w.log(ctx, d)
	if unsupported(err) {
		d.noLog = true
		return logDelta{}
	}
	if err != nil {
		return logDelta{err: err}
	}
	out := logDelta{least: counter == logEnd}
	if d.seen {
		out.counted = uint64(counter - d.counter) // modulo 2^16, as the counter
		for _, e := range entries {
			// An entry is new when it is of the time between the readings; both wrap together.
			if e.stamp != 0 && now-e.stamp < now-d.stamp {
				e.event.At = d.clock.now + ticksOf(e.stamp-d.stamp)
				out.events = append(out.events, e.event)
			}
		}
		// A counter that sticks at its end, or that wrapped whole turns, tells less than the log.
		if n := uint64(len(out.events)); n > out.counted {
			out.counted, out.least = n, true
		}
		out.missed = out.counted - uint64(len(out.events))
	}
	d.clock.advance(now)
	d.seen, d.counter, d.stamp = true, counter, now
	return out
}

// log gets either form of the log.
func (w *CongestionWatch) log(ctx context.Context, d *congestedDevice) (counter uint16, now uint32, entries []logEntry, err error) {
	if d.kind == subnet.KindSwitch {
		var log mad.CongestionLogSwitch
		if err := w.congestion(ctx, d.lid, mad.AttrCongestionLog, &log); err != nil {
			return 0, 0, nil, err
		}
		for _, e := range log.Events {
			tenant := w.owners[slot{w.lids[e.SLID], e.SL}]
			entries = append(entries, logEntry{e.TimeStamp, CongestionEvent{Port: d.id, Tenant: tenant, SL: e.SL, From: e.SLID, To: e.DLID}})
		}
		return log.EventsCounter, log.CurrentTime, entries, nil
	}
	layout := mad.CCLayout{}
	if w.layout != nil {
		layout = w.layout(d.id)
	}
	var log mad.CongestionLogCA
	if err := w.congestion(ctx, d.lid, mad.AttrCongestionLog, layout.CALog(&log)); err != nil {
		return 0, 0, nil, err
	}
	for _, e := range log.Events {
		tenant := w.owners[slot{d.id, e.SL}]
		entries = append(entries, logEntry{e.TimeStamp, CongestionEvent{Port: d.id, Tenant: tenant, SL: e.SL, To: e.RemoteLID}})
	}
	return log.EventsCounter, log.CurrentTime, entries, nil
}
