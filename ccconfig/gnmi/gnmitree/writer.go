package gnmitree

import (
	"slices"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// Sizes at which a notification is sent, well below the default limit of clients (4 MiB).
const (
	chunkUpdates = 512
	chunkBytes   = 512 << 10
)

// writer sends the results of readings, in notifications with one time and a limited size.
type writer struct {
	*stream
	now time.Time
}

func (w *writer) write(r reading, d difference) error {
	for part := range slices.Chunk(d.deleted, chunkUpdates) {
		prefix, n := w.target.reply(slices.Values(part))
		note := &gnmi.Notification{Timestamp: w.now.UnixNano(), Prefix: prefix, Delete: make([]*gnmi.Path, len(part))}
		for i, p := range part {
			note.Delete[i] = w.target.wire(p, n, r.sub.pattern.Origin)
		}
		if err := w.notify(note); err != nil {
			return err
		}
	}
	for len(d.leaves) > 0 {
		note, taken := w.updates(r, d.leaves)
		if err := w.notify(note); err != nil {
			return err
		}
		d.leaves = d.leaves[taken:]
	}
	return nil
}

// updates returns a notification with the first leaves that have the same time and fit, and their number.
func (w *writer) updates(r reading, leaves []Leaf) (*gnmi.Notification, int) {
	leaves = leaves[:min(len(leaves), chunkUpdates)]
	for i := range leaves {
		if !leaves[i].Time.Equal(leaves[0].Time) {
			leaves = leaves[:i]
			break
		}
	}
	prefix, n := w.target.reply(func(yield func(Path) bool) {
		for i := range leaves {
			if !yield(leaves[i].Path) {
				return
			}
		}
	})
	at := leaves[0].Time
	if at.IsZero() {
		at = w.now
	}
	note := &gnmi.Notification{Timestamp: at.UnixNano(), Prefix: prefix, Update: make([]*gnmi.Update, 0, len(leaves))}
	size := 0
	for i := range leaves {
		v := leaves[i].Value
		size += leafBytes + len(v.text) + leafBytes*len(v.list)
		if size > chunkBytes && i > 0 {
			break
		}
		note.Update = append(note.Update, &gnmi.Update{
			Path: w.target.wire(leaves[i].Path, n, r.sub.pattern.Origin), Val: v.Typed(w.list.GetEncoding()), Duplicates: r.merged,
		})
	}
	return note, len(note.Update)
}

func (w *writer) notify(n *gnmi.Notification) error {
	return w.send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: n}})
}
