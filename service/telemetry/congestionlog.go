package telemetry

import (
	"context"

	"fairlane/subnet"
	"fairlane/subnet/mad"
)

// logDelta is the content of a log since the last reading.
type logDelta struct {
	counted uint64 // events that the device counted
	missed  uint64 // of these, events that the log had already overwritten
	events  []CongestionEvent
	least   bool // counted is a lower bound: the counter is saturated, or wrapped more than once
	err     error
}

// logEnd is the saturated value of a log's counter.
const logEnd = 1<<16 - 1

// logEntry is an entry with the common fields of both log formats.
type logEntry struct {
	stamp uint32
	event CongestionEvent
}

// readLog reads CongestionLog, and advances the device's clock.
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
			// An entry is new when its time lies between the readings; both wrap together.
			if e.stamp != 0 && now-e.stamp < now-d.stamp {
				e.event.At = d.clock.now + ticksOf(e.stamp-d.stamp)
				out.events = append(out.events, e.event)
			}
		}
		// The log is better than a counter that saturated or wrapped more than once.
		if n := uint64(len(out.events)); n > out.counted {
			out.counted, out.least = n, true
		}
		out.missed = out.counted - uint64(len(out.events))
	}
	d.clock.advance(now)
	d.seen, d.counter, d.stamp = true, counter, now
	return out
}

// log reads the log in either format.
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
